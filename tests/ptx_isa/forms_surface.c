/* SPDX-License-Identifier: Apache-2.0
 *
 * suld.b, sust.b, sust.p, suq in every spelling: PTX ISA 9.7.11. A thread has a place of 16 bytes in the surface, which is
 * also read and written as plain memory, so that addresses are judged too. With .clamp and .zero some threads' coordinates
 * are outside.
 */
#include "form.h"
#include "texture_model.h"

#include <stdlib.h>
#include <string.h>

enum { NGEOMETRIES = 5, NSURFACES = NGEOMETRIES + 9, THREADS = 32, CELL = 16 };

static const struct {
	const char *name;
	unsigned dims, width, height, depth, layers; /* width in bytes */
} geometries[NGEOMETRIES] = {
	{"1d", 1, 512, 1, 1, 0}, {"2d", 2, 64, 8, 1, 0},  {"3d", 3, 64, 4, 2, 0},
	{"a1d", 1, 64, 1, 1, 8}, {"a2d", 2, 64, 2, 1, 4},
};

static struct texture_case cases[NSURFACES];
static struct dev_texture table[NSURFACES];
static uint64_t used_bytes;

static struct texture_case *add_case(unsigned i, unsigned g, enum dev_texel texel, unsigned channels,
				     unsigned bytes)
{
	struct texture_case *t = &cases[i];

	memset(t, 0, sizeof(*t));
	t->d.handle = 90 + i;
	t->d.kind = DEV_SURFACE;
	t->d.state = DEV_TEXTURE_LIVE;
	t->d.dims = (uint8_t)geometries[g].dims;
	t->d.texel = (uint8_t)texel;
	t->d.channels = (uint8_t)channels;
	texture_place(t, geometries[g].width / bytes, geometries[g].height, geometries[g].depth,
		      geometries[g].layers, 1, &used_bytes);
	table[i] = t->d;
	return t;
}

/* A thread's place: x in bytes, y, z or layer. */
static void place_of(unsigned g, unsigned t, unsigned *at)
{
	unsigned columns = geometries[g].width / CELL, rows = geometries[g].height;

	at[0] = t % columns * CELL;
	at[1] = t / columns % rows;
	at[2] = t / columns / rows;
}

enum { TRAP, CLAMP, ZERO };
static const char *const modes[] = {".trap", ".clamp", ".zero"};

/* k[0] geometry, k[1] bytes of an element, k[2] elements, k[3] mode, k[4] store */
static bool is_outside(const struct form *f, unsigned t)
{
	return f->k[3] != TRAP && t >= THREADS - 4;
}

/* inputs: old contents (2), x, y, z or layer, address of the place, new value (2). Threads outside are so in y; where there
 * is no y in x, and then only the last. */
static void fill_surface(const struct form *f, unsigned t, uint64_t *in)
{
	const struct texture_case *x = f->arg;
	const struct dev_texture_level *v = &x->d.level[0];
	unsigned at[3], g = (unsigned)f->k[0];
	uint64_t h = (t + 1) * 0x9e3779b97f4a7c15ull;

	place_of(g, t, at);
	in[0] = h;
	in[1] = h ^ h >> 31;
	in[5] = v->base + at[2] * v->slice + at[1] * v->row + at[0];
	in[6] = ~h * 3;
	in[7] = h * 5 + 1;
	if (is_outside(f, t)) {
		if (geometries[g].dims > 1 && at[1] == geometries[g].height - 1)
			at[1] = t & 1 ? 1000 : geometries[g].height;
		else if (t == THREADS - 1)
			at[0] = 5000 / CELL * CELL;
	}
	in[2] = at[0];
	in[3] = at[1];
	in[4] = at[2];
}

static bool lies_outside(const struct form *f, const uint64_t *in)
{
	unsigned g = (unsigned)f->k[0];

	return in[2] >= geometries[g].width || in[3] >= geometries[g].height;
}

/* Where an access ends up within the thread's place: clamping in x goes to the last that fits "sized appropriately". */
static unsigned offset_of(const struct form *f, const uint64_t *in)
{
	unsigned bytes = (unsigned)(f->k[1] * f->k[2]);

	return f->k[3] == CLAMP && in[2] >= geometries[f->k[0]].width ? CELL - bytes : 0;
}

static void ref_suld(const struct form *f, const uint64_t *in, struct want *out)
{
	bool zero = f->k[3] == ZERO && lies_outside(f, in);

	for (long i = 0; i < f->k[2]; i++) {
		uint64_t v = 0;

		memcpy(&v, (const char *)in + offset_of(f, in) + i * f->k[1], (size_t)f->k[1]);
		out[i].bits = zero ? 0 : v;
	}
}

static void ref_sust(const struct form *f, const uint64_t *in, struct want *out)
{
	uint8_t cell[CELL];

	memcpy(cell, in, CELL);
	if (f->k[3] != ZERO || !lies_outside(f, in))
		for (long i = 0; i < f->k[2]; i++)
			memcpy(cell + offset_of(f, in) + i * f->k[1], (const char *)&in[6] + i * f->k[1],
			       (size_t)f->k[1]);
	memcpy(&out[0].bits, cell, 8);
	memcpy(&out[1].bits, cell + 8, 8);
}

static char *coordinates(unsigned g, unsigned x)
{
	switch (g) {
	case 0: return text_of("{v%u}", x);
	case 1: return text_of("{v%u, v%u}", x, x + 1);
	case 2: return text_of("{v%u, v%u, v%u, v%u}", x, x + 1, x + 2, x);
	case 3: return text_of("{v%u, v%u}", x + 2, x);
	default: return text_of("{v%u, v%u, v%u, v%u}", x + 2, x, x + 1, x);
	}
}

static char *list(const char *name, unsigned n)
{
	char *s = text_of("%s0", name);

	for (unsigned i = 1; i < n; i++)
		s = text_of("%s, %s%u", s, name, i);
	return n > 1 ? text_of("{%s}", s) : s;
}

static const char *const vectors[] = {"", ".v2", ".v4"};

static void finish(struct form *f, const struct texture_case *t, unsigned g, unsigned bytes, unsigned n,
		   unsigned mode)
{
	f->arg = t;
	f->k[0] = (long)g;
	f->k[1] = (long)bytes;
	f->k[2] = (long)n;
	f->k[3] = (long)mode;
	f->fill = fill_surface;
	f->ntuples = THREADS;
}

static void add_load(struct suite *s, unsigned g, const char *cop, unsigned vec, unsigned bytes,
		     unsigned mode)
{
	unsigned n = 1u << vec;
	char sig[32] = {0};
	char *name =
		text_of("suld.b.%s%s%s.b%u%s", geometries[g].name, cop, vectors[vec], bytes * 8, modes[mode]);

	memset(sig, bytes <= 2 ? 'h' : bytes == 4 ? 'w' : 'd', n);
	strcat(sig, "=ddwwwddd");
	finish(form_add(s, sig, ref_suld,
			text_of("{ .reg .b64 h; mov.u64 h, %llu; st.global.v2.b64 [v%u], {v%u, v%u}; "
				"bar.sync 0;\n"
				"\t%s %s, [h, %s]; }",
				(unsigned long long)cases[g].d.handle, n + 5, n, n + 1, name, list("v", n),
				coordinates(g, n + 2)),
			"%s", name),
	       &cases[g], g, bytes, n, mode);
}

static void add_store(struct suite *s, unsigned g, const char *cop, unsigned vec, unsigned bytes,
		      unsigned mode)
{
	unsigned n = 1u << vec;
	char *name =
		text_of("sust.b.%s%s%s.b%u%s", geometries[g].name, cop, vectors[vec], bytes * 8, modes[mode]);
	char *elements = text_of(".reg .b%u e<4>; .reg .b64 u;", bytes <= 2 ? 16 : bytes * 8);

	for (unsigned i = 0; i < n; i++)
		elements = text_of("%s shr.u64 u, v%u, %u; %s e%u, u;", elements, 8 + i * bytes / 8,
				   i * bytes % 8 * 8,
				   bytes == 8   ? "mov.b64"
				   : bytes == 4 ? "cvt.u32.u64"
						: "cvt.u16.u64",
				   i);
	finish(form_add(s, "dd=ddwwwddd", ref_sust,
			text_of("{ .reg .b64 h; %s mov.u64 h, %llu; st.global.v2.b64 [v7], {v2, v3}; "
				"bar.sync 0;\n"
				"\t%s [h, %s], %s; bar.sync 0; ld.global.v2.b64 {v0, v1}, [v7]; }",
				elements, (unsigned long long)cases[g].d.handle, name, coordinates(g, 4),
				list("e", n)),
			"%s", name),
	       &cases[g], g, bytes, n, mode);
}

/* k[4]: operation */
enum { ADD, MIN, MAX, AND, OR };
static const char *const reductions[] = {"add", "min", "max", "and", "or"};

static void ref_sured(const struct form *f, const uint64_t *in, struct want *out)
{
	uint8_t cell[CELL];
	uint64_t old = 0, v = low_bits(in[6], f->type->bits);

	memcpy(cell, in, CELL);
	memcpy(&old, cell + offset_of(f, in), (size_t)f->k[1]);
	switch (f->k[4]) {
	case ADD: v += old; break;
	case MIN: v = as_int(f->type, old) < as_int(f->type, v) ? old : v; break;
	case MAX: v = as_int(f->type, old) > as_int(f->type, v) ? old : v; break;
	case AND: v &= old; break;
	default: v |= old; break;
	}
	if (f->k[3] != ZERO || !lies_outside(f, in))
		memcpy(cell + offset_of(f, in), &v, (size_t)f->k[1]);
	memcpy(&out[0].bits, cell, 8);
	memcpy(&out[1].bits, cell + 8, 8);
}

static void add_reduction(struct suite *s, unsigned g, int op, const char *type, unsigned mode)
{
	const struct int_type *t = int_type_find(type);
	char *name = text_of("sured.b.%s.%s.%s%s", reductions[op], geometries[g].name, type, modes[mode]);
	struct form *f = form_add(s, "dd=ddwwwddd", ref_sured,
				  text_of("{ .reg .b64 h; .reg .b%u e; %s e, v8; mov.u64 h, %llu; "
					  "st.global.v2.b64 [v7], {v2, v3}; bar.sync 0;\n"
					  "\t%s [h, %s], e; bar.sync 0; ld.global.v2.b64 {v0, v1}, [v7]; }",
					  t->bits, t->bits == 64 ? "mov.b64" : "cvt.u32.u64",
					  (unsigned long long)cases[g].d.handle, name, coordinates(g, 4)),
				  "%s", name);

	finish(f, &cases[g], g, t->bits / 8, 1, mode);
	f->k[4] = op;
	f->type = t;
}

static void add_reductions(struct suite *s)
{
	static const char *const types[] = {"u32", "s32", "u64", "s64", "b32"};

	for (unsigned g = 0; g < 3; g++)
		for (int op = ADD; op <= OR; op++)
			for (unsigned t = 0; t < 5; t++)
				for (unsigned mode = 0; mode < 3; mode++)
					if ((op >= AND) == (t == 4) && !(op == ADD && t == 3))
						add_reduction(s, g, op, types[t], mode);
}

static void ref_constant(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)in;
	out->bits = (uint64_t)f->k[0];
}

static void add_query(struct suite *s, unsigned which, const char *query, uint64_t v)
{
	struct form *f = form_add(s, "w=w", ref_constant,
				  text_of("{ .reg .b64 h; mov.u64 h, %llu; suq.%s.b32 %%0, [h]; }",
					  (unsigned long long)cases[which].d.handle, query),
				  "suq.%s.b32 of surface %u", query, which);

	f->k[0] = (long)v;
	f->most = 32;
}

/* sust.p: coordinates in samples; each value is converted to the surface's format, here 16 bits unsigned: its low half. The
 * values of a surface with n channels are the first n of those stored (9.7.11.2). */
static void ref_formatted(const struct form *f, const uint64_t *in, struct want *out)
{
	uint64_t v = 0;

	for (long k = 0; k < f->k[2]; k++)
		v |= (in[k] & 0xffff) << 16 * k;
	out->bits = v;
}

enum { FORMATTED_COLUMNS = 8 };

static void fill_formatted(const struct form *f, unsigned t, uint64_t *in)
{
	const struct dev_texture_level *v = &((const struct texture_case *)f->arg)->d.level[0];
	unsigned height = geometries[f->k[0]].height, column = t % FORMATTED_COLUMNS,
		 row = t / FORMATTED_COLUMNS;

	for (unsigned k = 0; k < 4; k++)
		in[k] = (t * 2654435761u >> k) & 0x7fff;
	if (geometries[f->k[0]].dims == 1) {
		column = t;
		row = 0;
	}
	in[4] = column;
	in[5] = row % height;
	in[6] = row / height;
	in[7] = v->base + in[6] * v->slice + in[5] * v->row + column * 2 * (uint64_t)f->k[2];
}

static void add_formatted(struct suite *s, unsigned g, unsigned vec, unsigned mode)
{
	static const char *const loads[] = {"ld.global.u16 %0, [v8];", "ld.global.u32 %0, [v8];",
					    "ld.global.u64 %0, [v8];"};
	unsigned n = 1u << vec, which = NGEOMETRIES + 3 * g + vec;
	char *name = text_of("sust.p.%s%s.b32%s", geometries[g].name, vectors[vec], modes[mode]);
	struct form *f =
		form_add(s,
			 vec == 0   ? "h=wwwwwwwd"
			 : vec == 1 ? "w=wwwwwwwd"
				    : "d=wwwwwwwd",
			 ref_formatted,
			 text_of("{ .reg .b64 h; mov.u64 h, %llu; %s [h, %s], %s; bar.sync 0;\n\t%s }",
				 (unsigned long long)cases[which].d.handle, name, coordinates(g, 5),
				 n == 1   ? "v1"
				 : n == 2 ? "{v1, v2}"
					  : "{v1, v2, v3, v4}",
				 loads[vec]),
			 "%s", name);

	f->arg = &cases[which];
	f->fill = fill_formatted;
	f->ntuples = THREADS;
	f->k[0] = (long)g;
	f->k[2] = (long)n;
}

void forms_surface(struct suite *s)
{
	static const char *const load_ops[] = {"", ".ca", ".cg", ".cs", ".cv"}, *const store_ops[] = {
											"", ".wb", ".cg",
											".cs", ".wt"};
	static const uint8_t sizes[] = {1, 2, 4, 8};

	used_bytes = 0;
	for (unsigned g = 0; g < NGEOMETRIES; g++)
		add_case(g, g, DEV_TEXEL_U8, 1, 1);
	for (unsigned g = 0; g < 3; g++)
		for (unsigned vec = 0; vec < 3; vec++)
			add_case(NGEOMETRIES + 3 * g + vec, g, DEV_TEXEL_U16, 1u << vec, 2u << vec);
	for (unsigned g = 0; g < NGEOMETRIES; g++)
		for (unsigned op = 0; op < 5; op++)
			for (unsigned vec = 0; vec < 3; vec++)
				for (unsigned b = 0; b < 4 && (sizes[b] << vec) <= CELL; b++)
					for (unsigned mode = 0; mode < 3; mode++) {
						add_load(s, g, load_ops[op], vec, sizes[b], mode);
						add_store(s, g, store_ops[op], vec, sizes[b], mode);
					}
	add_reductions(s);
	for (unsigned g = 0; g < 3; g++)
		for (unsigned vec = 0; vec < 3; vec++)
			for (unsigned mode = 0; mode < 3; mode++)
				add_formatted(s, g, vec, mode);
	add_query(s, 1, "width", 64);
	add_query(s, 1, "height", 8);
	add_query(s, 2, "depth", 2);
	add_query(s, 4, "array_size", 4);
	/* OpenCL's numbers (5.3.3): u8, and u16 of one, two and four channels */
	for (unsigned vec = 0; vec < 3; vec++) {
		add_query(s, NGEOMETRIES + 3 + vec, "channel_data_type", 0x10db);
		add_query(s, NGEOMETRIES + 3 + vec, "channel_order",
			  vec == 0   ? 0x10b0
			  : vec == 1 ? 0x10b2
				     : 0x10b5);
	}
	add_query(s, 1, "channel_data_type", 0x10da);
	s->textures = table;
	s->ntextures = NSURFACES;
}
