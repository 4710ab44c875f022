/* SPDX-License-Identifier: Apache-2.0
 *
 * wmma: PTX ISA 9.7.14.4. What a fragment's registers hold is unspecified, so a form loads A, B and C from memory,
 * multiplies, and stores D over C; memory before and after is what is judged. A warp has 3072 bytes: A at 0, B at 1024,
 * C and D at 2048.
 */
#include "elements.h"
#include "form.h"

#include <string.h>

#define AT_B  1024
#define AT_C  2048
#define CELLS 12 /* of 8 bytes, a lane */
#define BYTES (CELLS * 8 * 32)

struct wmma {
	unsigned m, n, k;
	const struct etype *a, *b, *c, *d;
	bool a_col, b_col, c_col, d_col, sat;
	char bit_op;
	mpfr_rnd_t rnd;
};

static struct wmma pool[1024];
static unsigned used;

/* Index of an element in memory: rows (or columns) follow each other without gaps. */
static unsigned index_of(unsigned rows, unsigned cols, bool col_major, unsigned r, unsigned c)
{
	return col_major ? c * rows + r : r * cols + c;
}

static void put(uint8_t *base, const struct etype *t, unsigned index, uint64_t v)
{
	if (t->bits >= 8) {
		memcpy(base + index * t->bits / 8, &v, t->bits / 8);
		return;
	}
	unsigned bit = index * t->bits;

	base[bit / 8] &= (uint8_t) ~(low_bits(~0ull, t->bits) << bit % 8);
	base[bit / 8] |= (uint8_t)(low_bits(v, t->bits) << bit % 8);
}

static uint64_t get(const uint8_t *base, const struct etype *t, unsigned index)
{
	uint64_t v = 0;

	if (t->bits >= 8) {
		memcpy(&v, base + index * t->bits / 8, t->bits / 8);
		return v;
	}
	return low_bits((uint64_t)base[index * t->bits / 8] >> index * t->bits % 8, t->bits);
}

static uint64_t pick(const struct wmma *x, char which, const struct etype *t, unsigned warp, unsigned i)
{
	uint64_t h = hash_of(warp, (uint64_t)which, i, 7);

	if (x->a->bits == 64 && warp & 1 && which == 'c')
		return etype_bits(t, h & 1 ? 1.0L : -3.0L, MPFR_RNDN, false);
	if (x->a->bits == 64 && warp & 1 &&
	    which == 'a') /* one product a row, far below C: shows the rounding */
		return i % (x->k + 1) == 0 ? etype_bits(t, h & 1 ? 0x1p-60L : -0x1p-60L, MPFR_RNDN, false)
					   : 0;
	if (x->sat && which == 'c')
		return warp & 1 && x->b->is_signed ? 0x80000000u + h % 60000 : 0x7fffffffu - h % 60000;
	if (x->sat && t->is_signed) /* products of one sign, so that no partial sum decides */
		return low_bits(h, t->bits - 1) | (which == 'b' && warp & 1 ? 1ull << (t->bits - 1) : 0);
	if (which == 'c' && t->format != FORMAT_NONE)
		return etype_bits(t, (long double)((int)(h % 101) - 50), MPFR_RNDN, false);
	return etype_pick(t, h);
}

static void make_memory(const struct wmma *x, unsigned warp, uint8_t *mem)
{
	for (unsigned i = 0; i < BYTES; i++)
		mem[i] = (uint8_t)hash_of(warp, 'm', i, 0);
	for (unsigned i = 0; i < x->m * x->k; i++)
		put(mem, x->a, i, pick(x, 'a', x->a, warp, i));
	for (unsigned i = 0; i < x->k * x->n; i++)
		put(mem + AT_B, x->b, i, pick(x, 'b', x->b, warp, i));
	for (unsigned i = 0; i < x->m * x->n; i++)
		put(mem + AT_C, x->c, i, pick(x, 'c', x->c, warp, i));
}

static void fill_wmma(const struct form *f, unsigned t, uint64_t *in)
{
	static uint8_t mem[BYTES];
	static const struct wmma *whose;
	static unsigned warp = ~0u;

	if (warp != t / 32 || whose != f->arg) {
		warp = t / 32;
		whose = f->arg;
		make_memory(whose, warp, mem);
	}
	memcpy(in, mem + t % 32 * CELLS * 8, CELLS * 8);
}

static uint64_t element_d(const struct wmma *x, const uint8_t *mem, unsigned r, unsigned c)
{
	long double sum = etype_value(x->c, get(mem + AT_C, x->c, index_of(x->m, x->n, x->c_col, r, c)));

	for (unsigned k = 0; k < x->k; k++) {
		uint64_t a = get(mem, x->a, index_of(x->m, x->k, x->a_col, r, k)),
			 b = get(mem + AT_B, x->b, index_of(x->k, x->n, x->b_col, k, c));

		sum += x->bit_op == 'x'   ? (long double)(a ^ b)
		       : x->bit_op == 'a' ? (long double)(a & b)
					  : etype_value(x->a, a) * etype_value(x->b, b);
	}
	return etype_bits(x->d, sum, x->rnd, x->sat);
}

/* out: the 32 bytes of C's memory that are the lane's. Zeros may have either sign. */
static void ref_wmma(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct wmma *x = f->arg;
	uint8_t mem[BYTES], after[BYTES];

	memcpy(mem, in, BYTES);
	memcpy(after, mem, BYTES);
	for (unsigned r = 0; r < x->m; r++)
		for (unsigned c = 0; c < x->n; c++)
			put(after + AT_C, x->d, index_of(x->m, x->n, x->d_col, r, c),
			    element_d(x, mem, r, c));
	for (unsigned i = 0; i < 32 * 4; i++) {
		uint64_t v, mask = ~0ull;

		memcpy(&v, after + AT_C + i * 8, 8);
		for (unsigned b = 0; x->d->format != FORMAT_NONE && b < 64; b += x->d->bits) {
			uint64_t sign = 1ull << (b + x->d->bits - 1);

			if (!(low_bits(v >> b, x->d->bits - 1)) &&
			    i * 8 + b / 8 < x->m * x->n * x->d->bits / 8)
				mask &= ~sign;
		}
		out[i].bits = v;
		out[i].mask = mask;
	}
}

static unsigned registers_ab(const struct wmma *x, const struct etype *t, bool is_a)
{
	if (t->format == FORMAT_F16)
		return 8;
	return (is_a ? x->m : x->n) * x->k * t->bits / 32 / (t->bits == 64 ? 64 : 32);
}

static unsigned registers_cd(const struct wmma *x, const struct etype *t)
{
	return x->m * x->n * t->bits / 32 / (t->bits == 64 ? 64 : 32);
}

static char *list(const char *name, unsigned n)
{
	char *s = text_of("{%s0", name);

	for (unsigned i = 1; i < n; i++)
		s = text_of("%s, %s%u", s, name, i);
	return text_of("%s}", s);
}

static const char *reg_type(const struct etype *t)
{
	return t->bits == 64 ? "f64" : t->format == FORMAT_F32 && strcmp(t->name, "tf32") ? "f32" : "b32";
}

static const char *major(bool col)
{
	return col ? "col" : "row";
}

static unsigned stride_of(bool col, unsigned rows, unsigned cols)
{
	return col ? rows : cols;
}

/* `in_shared`, else the inputs themselves in global memory; `space` is what the instructions say. */
static void add(struct suite *s, const struct wmma *model, const char *mma, const char *space, bool in_shared,
		bool strides)
{
	struct wmma *x = &pool[used++ % 1024];
	char *shape = text_of("m%un%uk%u", model->m, model->n, model->k), *copy = text_of("%s", ""), *read;
	char *base = in_shared ? "mov.u64 p, wmmash;" : "mul.wide.u32 o, lane, 96; sub.u64 p, inp, o;";
	const char *at = in_shared ? "shared" : "global";
	struct form *f;

	*x = *model;
	for (unsigned i = 0; in_shared && i < CELLS; i++)
		copy = text_of("%s st.shared.b64 [q+%u], v%u;", copy, i * 8, 4 + i);
	if (in_shared)
		copy = text_of("mul.wide.u32 o, lane, 96; add.u64 q, p, o;%s bar.warp.sync 0xffffffff; ",
			       copy);
	if (!*space)
		copy = text_of("%scvta.%s.u64 g, p;", copy, at);
	else
		copy = text_of("%smov.u64 g, p;", copy);
	read = text_of("mul.wide.u32 o, lane, 32; add.u64 q, p, o;");
	for (unsigned i = 0; i < 4; i++)
		read = text_of("%s ld.%s.b64 v%u, [q+%u];", read, at, i, AT_C + i * 8);
#define STRIDE(col, rows, cols) strides ? text_of(", %u", stride_of(col, rows, cols)) : ""
	f = form_add(s, "dddd=dddddddddddd", NULL,
		     text_of("{ .reg .b64 p, q, g, o; .reg .b32 lane; .reg .%s a<8>, b<8>; .reg .%s c<8>; "
			     ".reg .%s d<8>;\n"
			     "\tmov.u32 lane, %%tid.x; %s %s\n"
			     "\twmma.load.a.sync.aligned.%s.%s%s.%s %s, [g]%s;\n"
			     "\twmma.load.b.sync.aligned.%s.%s%s.%s %s, [g+%u]%s;\n"
			     "\twmma.load.c.sync.aligned.%s.%s%s.%s %s, [g+%u]%s;\n"
			     "\t%s %s, %s, %s, %s;\n"
			     "\twmma.store.d.sync.aligned.%s.%s%s.%s [g+%u], %s%s;\n"
			     "\tbar.warp.sync 0xffffffff; %s }",
			     reg_type(x->a), reg_type(x->c), reg_type(x->d), base, copy, major(x->a_col),
			     shape, space, x->a->name, list("a", registers_ab(x, x->a, true)),
			     STRIDE(x->a_col, x->m, x->k), major(x->b_col), shape, space, x->b->name,
			     list("b", registers_ab(x, x->b, false)), AT_B, STRIDE(x->b_col, x->k, x->n),
			     major(x->c_col), shape, space, x->c->name, list("c", registers_cd(x, x->c)),
			     AT_C, STRIDE(x->c_col, x->m, x->n), mma, list("d", registers_cd(x, x->d)),
			     list("a", registers_ab(x, x->a, true)), list("b", registers_ab(x, x->b, false)),
			     list("c", registers_cd(x, x->c)), major(x->d_col), shape, space, x->d->name,
			     AT_C, list("d", registers_cd(x, x->d)), STRIDE(x->d_col, x->m, x->n), read),
		     "%s, c %s, d %s, %s in %s memory", mma, major(x->c_col), major(x->d_col),
		     *space ? space : "generic", at);
	f->arg = x;
	f->gref = ref_wmma;
	f->fill = fill_wmma;
	f->ntuples = 32 * 4;
}

static void each_space(struct suite *s, struct wmma *x, const char *mma)
{
	static unsigned turn;
	unsigned i = turn++;

	for (unsigned sp = 0; sp < 4; sp++) {
		x->c_col = (i >> (sp & 1)) & 1;
		x->d_col = (i >> (1 + (sp & 1))) & 1;
		add(s, x, mma, sp == 0 ? ".global" : sp == 1 ? ".shared" : "", sp & 1, i & 4);
	}
}

static void add_types(struct suite *s, struct wmma x, const char *d, const char *a, const char *c,
		      const char *tail, bool short_types)
{
	x.d = etype_find(d);
	x.a = x.b = etype_find(a);
	x.c = etype_find(c);
	each_space(s, &x,
		   short_types ? text_of("wmma.mma.sync.aligned.%s.%s.m%un%uk%u.%s.%s%s", major(x.a_col),
					 major(x.b_col), x.m, x.n, x.k, d, c, tail)
			       : text_of("wmma.mma.sync.aligned.%s.%s.m%un%uk%u.%s.%s.%s.%s%s",
					 major(x.a_col), major(x.b_col), x.m, x.n, x.k, d, a, a, c, tail));
}

static void add_layouts(struct suite *s, struct wmma x)
{
	static const char *const halves[][2] = {
		{"f16", "f16"}, {"f16", "f32"}, {"f32", "f16"}, {"f32", "f32"}};

	for (unsigned layout = 0; layout < 4; layout++) {
		x.a_col = layout & 1;
		x.b_col = layout & 2;
		if (x.k == 8) {
			add_types(s, x, "f32", "tf32", "f32", "", false);
			continue;
		}
		for (unsigned i = 0; i < 4; i++)
			add_types(s, x, halves[i][0], "f16", halves[i][1], "", true);
		add_types(s, x, "f32", "bf16", "f32", "", false);
		for (unsigned sat = 0; sat < 2; sat++) {
			x.sat = sat;
			add_types(s, x, "s32", "u8", "s32", sat ? ".satfinite" : "", false);
			add_types(s, x, "s32", "s8", "s32", sat ? ".satfinite" : "", false);
		}
		x.sat = false;
	}
}

static void add_doubles(struct suite *s)
{
	static const struct {
		const char *name;
		mpfr_rnd_t rnd;
	} modes[] = {{"", MPFR_RNDN},
		     {".rn", MPFR_RNDN},
		     {".rz", MPFR_RNDZ},
		     {".rm", MPFR_RNDD},
		     {".rp", MPFR_RNDU}};

	for (unsigned i = 0; i < 20; i++) {
		struct wmma x = {8, 8, 4, .rnd = modes[i / 4].rnd, .a_col = i & 1, .b_col = i & 2};

		x.a = x.b = x.c = x.d = etype_find("f64");
		each_space(s, &x,
			   text_of("wmma.mma.sync.aligned.%s.%s.m8n8k4%s.f64.f64.f64.f64", major(x.a_col),
				   major(x.b_col), modes[i / 4].name));
	}
}

static void add_small(struct suite *s)
{
	struct wmma x = {8, 8, 32, .rnd = MPFR_RNDN, .b_col = true};

	for (unsigned i = 0; i < 4; i++) {
		x.sat = i & 2;
		add_types(s, x, "s32", i & 1 ? "s4" : "u4", "s32", x.sat ? ".satfinite" : "", false);
	}
	x.sat = false;
	x.k = 128;
	x.a = x.b = etype_find("b1");
	x.c = x.d = etype_find("s32");
	for (unsigned i = 0; i < 2; i++) {
		x.bit_op = i ? 'a' : 'x';
		each_space(s, &x,
			   text_of("wmma.mma.%s.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32",
				   i ? "and" : "xor"));
	}
}

/* What no turn has. */
static void add_row_store(struct suite *s)
{
	struct wmma x = {16, 16, 8, .rnd = MPFR_RNDN, .b_col = true};

	x.a = x.b = etype_find("tf32");
	x.c = x.d = etype_find("f32");
	add(s, &x, "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", ".shared", true, false);
}

void forms_wmma(struct suite *s)
{
	static const unsigned shapes[][3] = {{16, 16, 16}, {8, 32, 16}, {32, 8, 16}, {16, 16, 8}};

	used = 0;
	for (unsigned i = 0; i < 4; i++)
		add_layouts(s, (struct wmma){shapes[i][0], shapes[i][1], shapes[i][2], .rnd = MPFR_RNDN});
	add_doubles(s);
	for (unsigned round = 0; round < 3; round++) /* layouts of C and D take turns */
		add_small(s);
	add_row_store(s);
	s->forms[0].decl = ".shared .align 256 .b8 wmmash[3072];";
}
