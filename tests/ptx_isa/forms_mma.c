/* SPDX-License-Identifier: Apache-2.0
 *
 * mma and mma.sp in every shape and type: PTX ISA 9.7.14.5 and 9.7.14.6. Fragments are those of the ISA's row and
 * column formulas, which all follow one rule: with E elements to a register, register r of A holds columns
 * t * E ... of row g (+ 8 in odd registers), the next pair of registers 4 * E columns further on.
 */
#include "elements.h"
#include "form.h"

#include <string.h>

struct mma {
	unsigned m, n, k;
	const struct etype *a, *b, *c, *d;
	bool sparse, ordered, sat, quad; /* quad: m8n8k4 with f16, four products a warp */
	bool a_col, b_row;
	char bit_op; /* x, a: b1 */
	unsigned selector;
	mpfr_rnd_t rnd;
};

static struct mma pool[1024];
static unsigned used;

struct place {
	unsigned row, col;
};

static unsigned reg_bits(const struct etype *t)
{
	return t->bits == 64 ? 64 : 32;
}

static unsigned per_reg(const struct etype *t)
{
	return reg_bits(t) / t->bits;
}

static unsigned stored_k(const struct mma *x)
{
	return x->sparse ? x->k / 2 : x->k;
}

static unsigned a_regs(const struct mma *x)
{
	return x->quad ? 2 : x->m * stored_k(x) * x->a->bits / (32 * reg_bits(x->a));
}

static unsigned b_regs(const struct mma *x)
{
	return x->quad ? 2 : x->k * x->n * x->b->bits / (32 * reg_bits(x->b));
}

static unsigned c_regs(const struct mma *x, const struct etype *t)
{
	return x->quad ? 8 / per_reg(t) : x->m * x->n * t->bits / (32 * reg_bits(t));
}

/* Element j of register r. In quads the column or row of the product follows from the lane's group of four. */
static struct place place_a(const struct mma *x, unsigned lane, unsigned r, unsigned j)
{
	unsigned e = per_reg(x->a), i = r * e + j, high = lane < 16 ? 0 : 4;

	if (x->quad)
		return x->a_col ? (struct place){i % 4 + high, lane % 4} : (struct place){lane % 4 + high, i};
	return (struct place){lane / 4 + (x->m == 16 && r & 1 ? 8 : 0),
			      lane % 4 * e + j + (x->m == 16 ? r / 2 : r) * 4 * e};
}

static struct place place_b(const struct mma *x, unsigned lane, unsigned r, unsigned j)
{
	unsigned e = per_reg(x->b), i = r * e + j, high = lane < 16 ? 0 : 4;

	if (x->quad)
		return x->b_row ? (struct place){lane % 4, i + high} : (struct place){i, lane % 4 + high};
	return (struct place){lane % 4 * e + j + r * 4 * e, lane / 4};
}

static struct place place_c(const struct mma *x, const struct etype *t, unsigned lane, unsigned r, unsigned j)
{
	unsigned e = per_reg(t), i = r * e + j, high = lane < 16 ? 0 : 4;

	if (x->quad && e == 2)
		return (struct place){lane % 4 + high, i};
	if (x->quad)
		return (struct place){(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
	return (struct place){lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2};
}

/* Which product of a quad a lane belongs to. */
static unsigned product_of(const struct mma *x, unsigned lane)
{
	return x->quad ? lane / 4 % 4 : 0;
}

static unsigned chunk_of(const struct mma *x)
{
	return x->a->bits == 32 ? 2 : x->a->bits == 4 ? 8 : 4;
}

/* The four bits of metadata for a chunk of a row: two positions of two bits. */
static unsigned metadata(const struct mma *x, unsigned warp, unsigned row, unsigned chunk)
{
	static const uint8_t ordered[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe},
			     reversed[] = {0x1, 0x2, 0x6, 0x3, 0x7, 0xb};
	uint64_t h = hash_of(warp, 'e', row, chunk);

	if (x->a->bits == 32)
		return h & 1 ? 0xe : 0x4;
	return !x->ordered && h >> 32 & 1 ? reversed[h % 6] : ordered[h % 6];
}

/* Of 8-bit elements with k 64 and 4-bit ones with k 128, from another source than the rest: CUTLASS's layout ELayout of these
 * shapes (cute/atom/mma_traits_sm120_sparse.hpp), from a lane (2, 2, 8) and the number of an element to the element's place
 * in A, column by column. */
static uint32_t metadata_of_all_lanes(const struct mma *x, unsigned warp, unsigned lane)
{
	static const unsigned shape[] = {2, 2, 8};
	unsigned stride[] = {8, 16 * x->k / 2, 1}, place = 0, rest = lane, chunk = chunk_of(x);
	uint32_t e = 0;

	for (unsigned i = 0; i < 3; rest /= shape[i], i++)
		place += rest % shape[i] * stride[i];
	for (unsigned v = 0; v < x->k / 2; v += chunk)
		e |= metadata(x, warp, (place + 16 * v) % 16, (place + 16 * v) / 16 / chunk)
		     << 4 * (v / chunk);
	return e;
}

/* A group of four lanes holds the metadata of its two rows (figures 119 to 147; where they can't be had as text: the order
 * in which CUTLASS, host_reorder.h, lays metadata out for ldmatrix). With 16 and 32-bit elements a lane has four chunks of
 * each row, with smaller ones eight chunks of one row. */
static uint32_t metadata_register(const struct mma *x, unsigned warp, unsigned lane)
{
	unsigned chunks = x->k / chunk_of(x), lanes = chunks / 4,
		 base = lanes == 1 ? x->selector : x->selector * 2, at = lane % 4 - base;
	uint32_t e = 0;

	if (lanes == 4)
		return metadata_of_all_lanes(x, warp, lane);
	if (lane % 4 < base || at >= lanes)
		return (uint32_t)hash_of(warp, 'g', lane, 0); /* not this lane's: must not matter */
	for (unsigned c = 0; x->a->bits <= 8 && c < 8; c++)
		e |= metadata(x, warp, lane / 4 + 8 * (at & 1), at / 2 * 8 + c) << (4 * c);
	for (unsigned half = 0; x->a->bits > 8 && half < 2; half++)
		for (unsigned c = 0; c < 4; c++)
			e |= metadata(x, warp, lane / 4 + 8 * half, at * 4 + c) << (16 * half + 4 * c);
	return e;
}

/* Column of the full matrix at which a stored element of a sparse row belongs. */
static unsigned sparse_column(const struct mma *x, unsigned warp, unsigned row, unsigned stored)
{
	unsigned chunk = chunk_of(x), half = chunk / 2, c = stored / half, i = stored % half,
		 e = metadata(x, warp, row, c);

	if (chunk == 2)
		return c * 2 + (e == 0xe);
	if (chunk == 4)
		return c * 4 + (e >> (2 * i) & 3);
	return c * 8 + (e >> (i / 2 * 2) & 3) * 2 + i % 2;
}

/* Rounding of f64 shows when one product is far below C: odd warps have such. */
static bool is_rounding_warp(const struct mma *x, unsigned warp)
{
	return x->a->bits == 64 && warp & 1;
}

static uint64_t element_a(const struct mma *x, unsigned warp, unsigned q, struct place p)
{
	uint64_t h = hash_of(warp * 4 + q, 'a', p.row, p.col);

	if (is_rounding_warp(x, warp))
		return p.col == p.row % x->k
			       ? etype_bits(x->a, h & 1 ? 0x1p-60L : -0x1p-60L, MPFR_RNDN, false)
			       : 0;
	/* saturation: all products of one sign, so that no partial sum decides */
	return x->sat && x->a->is_signed ? low_bits(h, x->a->bits - 1) : etype_pick(x->a, h);
}

static uint64_t element_b(const struct mma *x, unsigned warp, unsigned q, struct place p)
{
	uint64_t h = hash_of(warp * 4 + q, 'b', p.row, p.col), v = etype_pick(x->b, h);

	if (!x->sat || !x->b->is_signed)
		return v;
	v = low_bits(h, x->b->bits - 1);
	return warp & 1 ? v | 1ull << (x->b->bits - 1) : v;
}

static uint64_t element_c(const struct mma *x, unsigned warp, unsigned q, struct place p)
{
	uint64_t h = hash_of(warp * 4 + q, 'c', p.row, p.col);

	if (is_rounding_warp(x, warp))
		return etype_bits(x->c, h & 1 ? 1.0L : -3.0L, MPFR_RNDN, false);
	if (x->sat)
		return warp & 1 && x->b->is_signed ? 0x80000000u + h % 60000 : 0x7fffffffu - h % 60000;
	if (x->c->format == FORMAT_NONE)
		return low_bits(h, 32);
	return etype_bits(x->c, (long double)((int)(h % 101) - 50), MPFR_RNDN, false);
}

static uint64_t pack(const struct mma *x, char which, unsigned warp, unsigned lane, unsigned r)
{
	const struct etype *t = which == 'a' ? x->a : which == 'b' ? x->b : x->c;
	unsigned q = product_of(x, lane);
	uint64_t v = 0;

	for (unsigned j = 0; j < per_reg(t); j++)
		v |= (which == 'a'   ? element_a(x, warp, q, place_a(x, lane, r, j))
		      : which == 'b' ? element_b(x, warp, q, place_b(x, lane, r, j))
				     : element_c(x, warp, q, place_c(x, x->c, lane, r, j)))
		     << (j * t->bits);
	return v;
}

static void fill_mma(const struct form *f, unsigned t, uint64_t *in)
{
	const struct mma *x = f->arg;
	unsigned warp = t / 32, lane = t % 32;

	for (unsigned r = 0; r < a_regs(x); r++)
		*in++ = pack(x, 'a', warp, lane, r);
	for (unsigned r = 0; r < b_regs(x); r++)
		*in++ = pack(x, 'b', warp, lane, r);
	for (unsigned r = 0; r < c_regs(x, x->c); r++)
		*in++ = pack(x, 'c', warp, lane, r);
	if (x->sparse)
		*in = metadata_register(x, warp, lane);
}

static long double product(const struct mma *x, uint64_t a, uint64_t b)
{
	if (x->bit_op)
		return x->bit_op == 'x' ? (long double)(a ^ b) : (long double)(a & b);
	return etype_value(x->a, a) * etype_value(x->b, b);
}

static uint64_t element_d(const struct mma *x, unsigned warp, unsigned q, struct place p)
{
	long double sum = etype_value(x->c, element_c(x, warp, q, p));

	for (unsigned s = 0; s < stored_k(x); s++) {
		unsigned k = x->sparse ? sparse_column(x, warp, p.row, s) : s;

		sum += product(x, element_a(x, warp, q, (struct place){p.row, s}),
			       element_b(x, warp, q, (struct place){k, p.col}));
	}
	return etype_bits(x->d, sum, x->rnd, x->sat);
}

static void ref_mma(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct mma *x = f->arg;
	unsigned n = c_regs(x, x->d), warp = (unsigned)(in - f->inputs) / (32 * (unsigned)strlen(f->ins));

	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned r = 0; r < n; r++) {
			struct want *w = &out[lane * n + r];

			w->kind = x->d->format == FORMAT_NONE ? WANT_BITS : WANT_ZERO;
			for (unsigned j = 0; j < per_reg(x->d); j++)
				w->bits |=
					element_d(x, warp, product_of(x, lane), place_c(x, x->d, lane, r, j))
					<< (j * x->d->bits);
		}
}

static char letter_of(const struct etype *t)
{
	return t->format == FORMAT_F64   ? 'D'
	       : t->format == FORMAT_F32 ? 'f'
	       : t->format == FORMAT_F16 ? 'E'
					 : 'w';
}

static char *list(unsigned first, unsigned n)
{
	char *s = text_of("{%%%u", first);

	for (unsigned i = 1; i < n; i++)
		s = text_of("%s, %%%u", s, first + i);
	return text_of("%s}", s);
}

static void add(struct suite *s, const struct mma *model, const char *opcode)
{
	struct mma *x = &pool[used++ % 1024];
	char sig[MAX_OPERANDS * 2] = {0};
	unsigned nd, na, nb, nc, at = 0;
	struct form *f;

	*x = *model;
	nd = c_regs(x, x->d);
	na = a_regs(x);
	nb = b_regs(x);
	nc = c_regs(x, x->c);
	memset(sig, letter_of(x->d), nd);
	sig[at = nd] = '=';
	memset(sig + at + 1, x->a->bits == 64 ? 'd' : 'w', na + nb);
	memset(sig + at + 1 + na + nb, x->c->bits == 64 ? 'd' : 'w', nc);
	if (x->sparse)
		sig[strlen(sig)] = 'w';
	f = form_add(s, sig, NULL,
		     text_of("%s %s, %s, %s, %s%s;", opcode, list(0, nd), list(nd, na), list(nd + na, nb),
			     list(nd + na + nb, nc),
			     x->sparse ? text_of(", %%%u, %u", nd + na + nb + nc, x->selector) : ""),
		     x->sparse ? "%s selector %u" : "%s", opcode, x->selector);
	f->arg = x;
	f->gref = ref_mma;
	f->fill = fill_mma;
	f->ntuples = 32 * 8;
}

static void dense(struct suite *s, struct mma x, const char *d, const char *a, const char *b, const char *c,
		  const char *mods, const char *tail)
{
	x.d = etype_find(d);
	x.a = etype_find(a);
	x.b = etype_find(b);
	x.c = etype_find(c);
	add(s, &x,
	    text_of("mma.sync.aligned.m%un%uk%u.%s.%s%s.%s.%s.%s.%s%s", x.m, x.n, x.k,
		    x.a_col ? "col" : "row", x.b_row ? "row" : "col", mods, d, a, b, c, tail));
}

#define SHAPE(m, n, k)                    \
	(struct mma)                      \
	{                                 \
		m, n, k, .rnd = MPFR_RNDN \
	}

static void add_halves(struct suite *s)
{
	for (unsigned k = 8; k <= 16; k += 8) {
		dense(s, SHAPE(16, 8, k), "f16", "f16", "f16", "f16", "", "");
		dense(s, SHAPE(16, 8, k), "f32", "f16", "f16", "f32", "", "");
		dense(s, SHAPE(16, 8, k), "f32", "bf16", "bf16", "f32", "", "");
		dense(s, SHAPE(16, 8, k / 2), "f32", "tf32", "tf32", "f32", "", "");
	}
	for (unsigned layout = 0; layout < 4; layout++) {
		struct mma x = SHAPE(8, 8, 4);

		x.quad = true;
		x.a_col = layout & 1;
		x.b_row = layout & 2;
		dense(s, x, "f16", "f16", "f16", "f16", "", "");
		dense(s, x, "f32", "f16", "f16", "f16", "", "");
		dense(s, x, "f32", "f16", "f16", "f32", "", "");
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
	static const unsigned shapes[][2] = {{8, 4}, {16, 4}, {16, 8}, {16, 16}};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned m = 0; m < 5; m++) {
			struct mma x = SHAPE(shapes[i][0], 8, shapes[i][1]);

			x.rnd = modes[m].rnd;
			dense(s, x, "f64", "f64", "f64", "f64", modes[m].name, "");
		}
}

static void add_integers(struct suite *s, const char *u, const char *i, const unsigned (*shapes)[2])
{
	const char *types[] = {u, i};

	for (unsigned k = 0; k < 3; k++)
		for (unsigned t = 0; t < 8; t++) {
			struct mma x = SHAPE(shapes[k][0], 8, shapes[k][1]);

			x.sat = t & 4;
			dense(s, x, "s32", types[t & 1], types[t >> 1 & 1], "s32", x.sat ? ".satfinite" : "",
			      "");
		}
}

static void add_bits(struct suite *s)
{
	static const unsigned shapes[][2] = {{8, 128}, {16, 128}, {16, 256}};

	for (unsigned k = 0; k < 3; k++)
		for (unsigned op = 0; op < 2; op++) {
			struct mma x = SHAPE(shapes[k][0], 8, shapes[k][1]);

			x.bit_op = op ? 'a' : 'x';
			dense(s, x, "s32", "b1", "b1", "s32", "", op ? ".and.popc" : ".xor.popc");
		}
}

static const char *const f8[] = {"e4m3", "e5m2"};

static void sparse(struct suite *s, struct mma x, const char *d, const char *a, const char *b,
		   const char *mods)
{
	x.sparse = true;
	x.d = x.c = etype_find(d);
	x.a = etype_find(a);
	x.b = etype_find(b);
	unsigned lanes = x.k / chunk_of(&x) / 4;

	for (unsigned ordered = 0; ordered < 2; ordered++)
		for (x.selector = 0; x.selector < 4 / lanes; x.selector++) {
			x.ordered = ordered;
			add(s, &x,
			    text_of("mma.sp%s.sync.aligned.m%un%uk%u.row.col%s.%s.%s.%s.%s",
				    ordered ? "::ordered_metadata" : "", x.m, x.n, x.k, mods, d, a, b, d));
		}
}

static void add_sparse_integers(struct suite *s, const char *u, const char *i, unsigned k)
{
	const char *types[] = {u, i};

	for (unsigned wide = 0; wide < 2; wide++)
		for (unsigned t = 0; t < 8; t++) {
			struct mma x = SHAPE(16, 8, k << wide);

			x.sat = t & 4;
			sparse(s, x, "s32", types[t & 1], types[t >> 1 & 1], x.sat ? ".satfinite" : "");
		}
}

void forms_mma(struct suite *s)
{
	static const unsigned bytes[][2] = {{8, 16}, {16, 16}, {16, 32}},
			      nibbles[][2] = {{8, 32}, {16, 32}, {16, 64}};

	used = 0;
	add_halves(s);
	add_doubles(s);
	add_integers(s, "u8", "s8", bytes);
	add_integers(s, "u4", "s4", nibbles);
	add_bits(s);
	for (unsigned i = 0; i < 4; i++)
		dense(s, SHAPE(16, 8, 32), "f32", f8[i & 1], f8[i >> 1], "f32", "", "");
}

void forms_mma_sparse(struct suite *s)
{
	used = 0;
	for (unsigned k = 16; k <= 32; k += 16) {
		sparse(s, SHAPE(16, 8, k), "f16", "f16", "f16", "");
		sparse(s, SHAPE(16, 8, k), "f32", "f16", "f16", "");
		sparse(s, SHAPE(16, 8, k), "f32", "bf16", "bf16", "");
		sparse(s, SHAPE(16, 8, k / 2), "f32", "tf32", "tf32", "");
	}
	for (unsigned i = 0; i < 4; i++)
		sparse(s, SHAPE(16, 8, 64), "f32", f8[i & 1], f8[i >> 1], "");
	add_sparse_integers(s, "u8", "s8", 32);
	add_sparse_integers(s, "u4", "s4", 64);
}

/* Shapes and types of sm_120: 8-bit formats with f16 and in m16n8k16, and those of 6 and 4 bits, in bytes. */
void forms_mma_narrow(struct suite *s)
{
	static const char *const all[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};

	used = 0;
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 16; k <= 32; k += 16) {
			dense(s, SHAPE(16, 8, k), "f16", f8[i & 1], f8[i >> 1], "f16", "", "");
			if (k == 16)
				dense(s, SHAPE(16, 8, k), "f32", f8[i & 1], f8[i >> 1], "f32", "", "");
		}
	for (unsigned i = 0; i < 25; i++) {
		dense(s, SHAPE(16, 8, 32), "f32", all[i % 5], all[i / 5], "f32", ".kind::f8f6f4", "");
		dense(s, SHAPE(16, 8, 32), "f16", all[i % 5], all[i / 5], "f16", ".kind::f8f6f4", "");
	}
}
