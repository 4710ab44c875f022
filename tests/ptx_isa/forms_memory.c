/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: ld and st of every width with extension and truncation (9.4.1, 9.7.9.8, 9.7.9.12), vectors, state
 * spaces, cvta, isspacep, mov of vectors (9.7.9.4), initialised variables (5.4.4).
 */
#include "form.h"

#include <string.h>

static const char *const types[] = {"b8",  "u8",  "s8",  "b16", "u16", "s16", "b32",
				    "u32", "s32", "b64", "u64", "s64", "f32", "f64"};

static unsigned type_bits(const char *t)
{
	return t[1] == '8' ? 8 : t[1] == '1' ? 16 : t[1] == '3' ? 32 : 64;
}

static uint64_t extended(const char *type, uint64_t v, unsigned to)
{
	unsigned n = type_bits(type);

	v = low_bits(v, n);
	if (type[0] == 's' && v >> (n - 1) & 1)
		v |= ~low_bits(UINT64_MAX, n);
	return low_bits(v, to);
}

static unsigned reg_bits(char letter)
{
	return letter == 'h' ? 16 : letter == 'w' ? 32 : 64;
}

/* The input's memory, byte k[0] on, as arg. */
static void ref_load(const struct form *f, const uint64_t *in, struct want *out)
{
	out->bits = extended(f->arg, in[0] >> (8 * f->k[0]), reg_bits(f->outs[0]));
}

/* 64 bits of ones, of which k[0]... are overwritten. */
static void ref_store(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = type_bits(f->arg), at = 8 * (unsigned)f->k[0];
	uint64_t hole = low_bits(UINT64_MAX, n) << at;

	out->bits = ~hole | low_bits(in[0], n) << at;
}

static bool is_float(const char *t)
{
	return t[0] == 'f';
}

struct space {
	const char *name, *dot;
	/* Copies the 64-bit input %1 to a place of that space; its address is left in `a`. */
	const char *place;
};

static const struct space spaces[] = {
	{"global", ".global", "mov.b64 a, inp;"},
	{"generic", "", "cvta.global.u64 a, inp;"},
	{"shared", ".shared",
	 "mov.u64 a, shbuf; mov.u32 t, %tid.x; mul.wide.u32 b, t, 16; add.u64 a, a, b; st.shared.b64 [a], "
	 "%1;"},
	{"generic shared", "",
	 "mov.u64 a, shbuf; mov.u32 t, %tid.x; mul.wide.u32 b, t, 16; add.u64 a, a, b; st.shared.b64 [a], "
	 "%1; cvta.shared.u64 a, a;"},
	{"local", ".local", "mov.u64 a, lbuf; st.local.b64 [a+8], %1; add.u64 a, a, 8;"},
	{"generic local", "",
	 "mov.u64 a, lbuf; st.local.b64 [a+8], %1; cvta.local.u64 a, a; add.u64 a, a, 8;"},
};

#define TEMPS "{ .reg .b64 a, b; .reg .b32 t; .local .align 8 .b8 lbuf[16];\n\t"

static void add_loads(struct suite *s)
{
	for (unsigned sp = 0; sp < sizeof(spaces) / sizeof(spaces[0]); sp++)
		for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			for (const char *r = "hwd"; *r; r++) {
				unsigned n = type_bits(types[i]), offset = (8 - n / 8) / (n / 8) * (n / 8);
				char sig[4] = {*r, '=', 'd', 0};
				struct form *f;

				if (n > reg_bits(*r) || (is_float(types[i]) && n != reg_bits(*r)))
					continue;
				/* other spaces than global: one register width */
				if (sp && reg_bits(*r) != (n == 64 ? 64 : 32))
					continue;
				f = form_add(s, sig, ref_load,
					     text_of(TEMPS "%s ld%s.%s %%0, [a+%u]; }", spaces[sp].place,
						     spaces[sp].dot, types[i], offset),
					     "ld.%s.%s to %u bits at +%u", spaces[sp].name, types[i],
					     reg_bits(*r), offset);
				f->arg = types[i];
				f->k[0] = (long)offset;
			}
}

static void add_stores(struct suite *s)
{
	static const struct space to[] = {
		{"global", ".global", "mov.b64 a, outp;"},
		{"generic", "", "cvta.global.u64 a, outp;"},
		{"shared", ".shared",
		 "mov.u64 a, shbuf; mov.u32 t, %tid.x; mul.wide.u32 b, t, 16; add.u64 a, a, b;"},
		{"local", ".local", "mov.u64 a, lbuf;"},
	};

	for (unsigned sp = 0; sp < 4; sp++)
		for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			for (const char *r = "hwd"; *r; r++) {
				unsigned n = type_bits(types[i]), offset = n < 64 ? n / 8 : 0;
				char sig[4] = {'d', '=', *r, 0};
				struct form *f;

				if (n > reg_bits(*r) || (is_float(types[i]) && n != reg_bits(*r)))
					continue;
				f = form_add(s, sig, ref_store,
					     text_of(TEMPS "%s st%s.b64 [a], 0xffffffffffffffff; st%s.%s "
							   "[a+%u], %%1; ld%s.b64 %%0, [a]; }",
						     to[sp].place, to[sp].dot, to[sp].dot, types[i], offset,
						     to[sp].dot),
					     "st.%s.%s of %u bits", to[sp].name, types[i], reg_bits(*r));
				f->arg = types[i];
				f->k[0] = (long)offset;
			}
}

/* Vector of k[0] elements of type arg from the inputs' memory. */
static void ref_vector_load(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = type_bits(f->arg);

	for (unsigned i = 0; i < (unsigned)f->k[0]; i++)
		out[i].bits = extended(f->arg, in[i * n / 64] >> (i * n % 64), reg_bits(f->outs[0]));
}

/* Stored as a vector over zeros in two 64-bit cells. */
static void ref_vector_store(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = type_bits(f->arg);

	for (unsigned i = 0; i < (unsigned)f->k[0]; i++)
		out[i * n / 64].bits |= low_bits(in[i], n) << (i * n % 64);
}

static char *list(unsigned first, unsigned n)
{
	return n == 2 ? text_of("{%%%u, %%%u}", first, first + 1)
		      : text_of("{%%%u, %%%u, %%%u, %%%u}", first, first + 1, first + 2, first + 3);
}

static void add_vectors(struct suite *s)
{
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (unsigned n = 2; n <= 4; n += 2) {
			unsigned bits = type_bits(types[i]);
			char r = bits == 64 ? 'd' : 'w', sig[8] = {0};
			struct form *f;

			if (bits * n > 128)
				continue;
			memset(sig, r, n);
			strcat(sig, "=dd");
			/* inputs are 16-byte cells, aligned */
			f = form_add(s, sig, ref_vector_load,
				     text_of("ld.global.v%u.%s %s, [inp];", n, types[i], list(0, n)),
				     "ld.global.v%u.%s", n, types[i]);
			f->arg = types[i];
			f->k[0] = n;
			strcpy(sig, "dd=");
			memset(sig + 3, r, n);
			f = form_add(s, sig, ref_vector_store,
				     text_of("st.global.v2.b64 [outp], {0, 0}; st.global.v%u.%s [outp], %s;\n"
					     "\tld.global.v2.b64 {%%0, %%1}, [outp];",
					     n, types[i], list(2, n)),
				     "st.global.v%u.%s", n, types[i]);
			f->arg = types[i];
			f->k[0] = n;
		}
}

/* Elements of k[0] bits packed, lowest first. */
static void ref_mov_pack(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; f->ins[i]; i++)
		out->bits |= in[i] << ((unsigned)f->k[0] * i);
}

static void ref_mov_unpack(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; f->outs[i]; i++)
		out[i].bits = low_bits(in[0] >> ((unsigned)f->k[0] * i), (unsigned)f->k[0]);
}

static void ref_identity(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; f->outs[i]; i++) {
		out[i].bits = in[i];
		out[i].kind = WANT_CANONICAL;
	}
}

static void ref_swap(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out[0].bits = in[1];
	out[1].bits = in[0];
}

static void add_moves(struct suite *s)
{
	static const struct {
		const char *pack, *unpack, *type;
		unsigned n, bits;
	} rows[] = {{"w=hh", "hh=w", "b32", 2, 16},
		    {"d=ww", "ww=d", "b64", 2, 32},
		    {"d=hhhh", "hhhh=d", "b64", 4, 16}};

	for (unsigned i = 0; i < 3; i++) {
		form_add(s, rows[i].pack, ref_mov_pack,
			 text_of("mov.%s %%0, %s;", rows[i].type, list(1, rows[i].n)), "mov.%s packs %u",
			 rows[i].type, rows[i].n)
			->k[0] = rows[i].bits;
		form_add(s, rows[i].unpack, ref_mov_unpack,
			 text_of("mov.%s %s, %%%u;", rows[i].type, list(0, rows[i].n), rows[i].n),
			 "mov.%s unpacks %u", rows[i].type, rows[i].n)
			->k[0] = rows[i].bits;
	}
	form_add(s, "dd=dd", ref_swap, "{ .reg .b128 q; mov.b128 q, {%3, %2}; mov.b128 {%0, %1}, q; }",
		 "mov.b128 packs and unpacks");
	form_add(s, "f=f", ref_identity, "mov.f32 %0, %1;", "mov.f32");
	form_add(s, "D=D", ref_identity, "mov.f64 %0, %1;", "mov.f64");
	form_add(s, "p=p", ref_identity, "mov.pred %0, %1;", "mov.pred");
	form_add(s, "h=h", ref_identity, "mov.u16 %0, %1;", "mov.u16");
	form_add(s, "w=d", ref_mov_unpack, "mov.b64 {_, %0}, %1;", "mov.b64 with a sink")->k[0] = 32;
	s->forms[s->n - 1].ref = NULL;
}

/* mov.b64 {_, d}, a: the upper half. */
static void ref_upper(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	out->bits = in[0] >> 32;
}

/* k[..]: expected constants */
static void ref_constants(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)in;
	for (unsigned i = 0; f->outs[i]; i++)
		out[i].bits = (uint64_t)f->k[i];
}

static void constants(struct suite *s, const char *sig, const char *text, const char *name, const char *decl,
		      long a, long b, long c, long d)
{
	struct form *f = form_add(s, sig, ref_constants, text, "%s", name);

	f->decl = decl;
	f->k[0] = a;
	f->k[1] = b;
	f->k[2] = c;
	f->k[3] = d;
}

static void add_spaces(struct suite *s)
{
	constants(
		s, "www=d",
		"{ .reg .b64 g; .reg .pred p; cvta.global.u64 g, inp;\n"
		"\tisspacep.global p, g; selp.u32 %0, 1, 0, p; isspacep.shared p, g; selp.u32 %1, 1, 0, p;\n"
		"\tisspacep.local p, g; selp.u32 %2, 1, 0, p; }",
		"isspacep of a global address", NULL, 1, 0, 0, 0);
	constants(
		s, "www=d",
		"{ .reg .b64 g; .reg .pred p; mov.u64 g, shbuf; cvta.shared.u64 g, g;\n"
		"\tisspacep.global p, g; selp.u32 %0, 1, 0, p; isspacep.shared p, g; selp.u32 %1, 1, 0, p;\n"
		"\tisspacep.local p, g; selp.u32 %2, 1, 0, p; }",
		"isspacep of a shared address", NULL, 0, 1, 0, 0);
	constants(
		s, "www=d",
		"{ .reg .b64 g; .reg .pred p; .local .b32 lv; mov.u64 g, lv; cvta.local.u64 g, g;\n"
		"\tisspacep.global p, g; selp.u32 %0, 1, 0, p; isspacep.shared p, g; selp.u32 %1, 1, 0, p;\n"
		"\tisspacep.local p, g; selp.u32 %2, 1, 0, p; }",
		"isspacep of a local address", NULL, 0, 0, 1, 0);
	constants(s, "w=d",
		  "{ .reg .b64 g; .reg .pred p; cvta.const.u64 g, ctable; isspacep.const p, g; selp.u32 %0, "
		  "1, 0, p; }",
		  "isspacep.const of a constant address", NULL, 1, 0, 0, 0);
	constants(s, "www=d",
		  "{ .reg .b64 g, h, i; .reg .pred p; .local .b32 lv;\n"
		  "\tmov.u64 h, shbuf; cvta.shared.u64 g, h; cvta.to.shared.u64 i, g; setp.eq.u64 p, h, i; "
		  "selp.u32 %0, 1, 0, p;\n"
		  "\tmov.u64 h, lv; cvta.local.u64 g, h; cvta.to.local.u64 i, g; setp.eq.u64 p, h, i; "
		  "selp.u32 %1, 1, 0, p;\n"
		  "\tmov.u64 h, gtable; cvta.global.u64 g, h; cvta.to.global.u64 i, g; setp.eq.u64 p, h, i; "
		  "selp.u32 %2, 1, 0, p; }",
		  "cvta and cvta.to are inverse", NULL, 1, 1, 1, 0);
}

static void add_variables(struct suite *s)
{
	constants(s, "wwww=d",
		  "ld.const.u16 %0, [ctable+4]; ld.const.s16 %1, [ctable+4]; ld.const.u32 %2, [ctable]; "
		  "ld.const.u16 %3, [ctable+6];",
		  "ld.const of an initialised array", NULL, 0xfffe, 0xfffffffe, 0x00020001, 0);
	constants(s, "wwww=d",
		  "ld.global.u32 %0, [gtable]; ld.global.u32 %1, [gtable+8]; ld.global.f32 %2, [gfloat]; "
		  "ld.global.u8 %3, [gbytes+2];",
		  "ld.global of initialised variables", NULL, 10, 30, 0x3fc00000, 3);
	constants(s, "dw=d", "ld.global.f64 %0, [gdouble]; ld.global.s8 %1, [gbytes+3];",
		  "ld.global of a double and a signed byte", NULL, 0x3fb999999999999a, 0xffffffff, 0, 0);
	constants(s, "ww=d",
		  "{ .reg .b64 g; ld.global.u64 g, [gpointer]; ld.u32 %0, [g]; ld.global.u64 g, "
		  "[gpointer+8]; ld.u32 %1, [g]; }",
		  "initialiser with generic addresses", NULL, 20, 0x00020001, 0, 0);
	constants(s, "wwww=d",
		  "{ .reg .b64 g; mov.u64 g, gmatrix; ld.global.u32 %0, [g+4]; ld.global.u32 %1, [g+8]; "
		  "ld.global.u32 %2, [g+12]; "
		  "ld.global.u32 %3, [gmatrix+16]; }",
		  "two-dimensional initialiser with missing elements", NULL, 2, 0, 4, 5);
	constants(s, "www=d", "ld.param.u32 %0, [pin]; ld.param.u32 %1, [pin+4]; ld.param.u16 %2, [pout+4];",
		  "ld.param of parts", NULL, 0, 0x5500, 0x5500, 0);
}

static void add_qualified(struct suite *s)
{
	static const char *const loads[] = {"ld.volatile.global",
					    "ld.relaxed.gpu.global",
					    "ld.acquire.sys.global",
					    "ld.global.nc",
					    "ld.global.ca",
					    "ld.global.cg",
					    "ld.global.cs",
					    "ld.global.cv",
					    "ld.weak.global",
					    "ld.global.L1::evict_last",
					    "ld.global.L2::128B",
					    "ldu.global",
					    "ld.global.nc.L1::no_allocate"};
	static const char *const stores[] = {
		"st.volatile.global", "st.relaxed.gpu.global", "st.release.sys.global", "st.global.wb",
		"st.global.cg",       "st.global.cs",          "st.global.wt",          "st.weak.global"};

	for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		form_add(s, "d=d", ref_identity, text_of("%s.b64 %%0, [inp];", loads[i]), "%s.b64", loads[i]);
	for (unsigned i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
		form_add(s, "d=d", ref_identity,
			 text_of("%s.b64 [outp], %%1; ld.global.b64 %%0, [outp];", stores[i]), "%s.b64",
			 stores[i]);
	form_add(s, "d=d", ref_identity, "add.u64 inp, inp, 24; ld.global.b64 %0, [inp+-24];",
		 "address with a negative offset");
	form_add(s, "d=d", ref_identity, "sub.u64 inp, inp, 0x7fff; ld.global.b64 %0, [inp+0x7fff];",
		 "address with a large offset");
}

void forms_memory(struct suite *s)
{
	add_loads(s);
	s->forms[0].decl = ".shared .align 16 .b8 shbuf[1024];\n"
			   ".const .align 8 .u16 ctable[4] = { 1, 2, 0xfffe };\n"
			   ".global .align 4 .u32 gtable[3] = { 10, 20, 30 };\n"
			   ".global .f32 gfloat = 1.5;\n.global .f64 gdouble = 0.1;\n"
			   ".global .align 4 .s8 gbytes[4] = { 1, 2, 3, -1 };\n"
			   ".global .u64 gpointer[2] = { generic(gtable) + 4, generic(ctable) };\n"
			   ".global .u32 gmatrix[3][2] = { { 1, 2 }, { 0, 4 }, { 5 } };\n";
	add_stores(s);
	add_vectors(s);
	add_moves(s);
	s->forms[s->n - 1].ref = ref_upper;
	add_spaces(s);
	add_variables(s);
	add_qualified(s);
}
