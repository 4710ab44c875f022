/* SPDX-License-Identifier: Apache-2.0
 *
 * sm_100a: cvt to and from 4- and 6-bit formats and ue8m0 (9.7.9.21; formats as published by OCP for
 * microscaling: e2m1 up to 6, e2m3 up to 7.5, e3m2 up to 28, no infinities, no NaN; ue8m0 is 2^(x-127), 0xff
 * a NaN), redux.sync of f32 (9.7.13.12), 32-byte vectors (9.7.9.8).
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <string.h>

static const struct tiny {
	const char *name;
	enum float_format fmt;
	unsigned at; /* position of the second element */
} tiny[] = {{"e2m1x2", FORMAT_E2M1, 4}, {"e2m3x2", FORMAT_E2M3, 8}, {"e3m2x2", FORMAT_E3M2, 8}};

/* k[0]: index in `tiny`, k[1]: .relu */
static void ref_to_tiny(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct tiny *t = &tiny[f->k[0]];
	uint64_t sign = sign_bit(t->fmt);
	mpfr_t x;

	mpfr_init2(x, 53);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t v;

		decode(FORMAT_F32, in[1 - i], x);
		/* NaN becomes the largest positive number */
		v = mpfr_nan_p(x) ? sign - 1 : encode(t->fmt, x, MPFR_RNDN);
		if (f->k[1] && v == sign)
			out->mask &= ~(sign << (t->at * i)); /* -0 under .relu: either zero */
		if (f->k[1] && v & sign)
			v = 0;
		out->bits |= v << (t->at * i);
	}
	mpfr_clear(x);
}

/* k[0]: index in `tiny`, k[1]: .relu */
static void ref_from_tiny(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct tiny *t = &tiny[f->k[0]];
	mpfr_t x;

	mpfr_init2(x, 53);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t v;

		decode(t->fmt, low_bits(in[0] >> (t->at * i), format_info(t->fmt)->bits), x);
		v = encode(FORMAT_F16, x, MPFR_RNDN);
		out->bits |= (f->k[1] && v & 0x8000 ? 0 : v) << (16 * i);
	}
	if (f->k[1])
		out->kind = WANT_ZERO;
	mpfr_clear(x);
}

static void fill_tiny_bytes(const struct form *f, unsigned t, uint64_t *in)
{
	uint64_t a = t & 0xff, b = (t * 37 + 11) & 0xff;

	in[0] = f->k[0] == 0 ? a : (a & 0x3f) << 8 | (b & 0x3f);
}

/* Values of the format, midpoints, neighbours, and beyond. */
static void fill_tiny_f32(const struct form *f, unsigned t, uint64_t *in)
{
	const struct tiny *y = &tiny[f->k[0]];
	unsigned n = 1u << format_info(y->fmt)->bits;

	for (unsigned i = 0; i < 2; i++) {
		unsigned k = i ? t * 13 + 5 : t;
		uint32_t step = 1u << (23 - format_info(y->fmt)->mantissa);
		mpfr_t x;

		mpfr_init2(x, 53);
		decode(y->fmt, k / 5 % n, x);
		in[i] = (uint32_t)encode(FORMAT_F32, x, MPFR_RNDN);
		mpfr_clear(x);
		in[i] = (uint32_t)(in[i] + (uint32_t[]){0, 1, step / 2, step / 2 - 1, step / 2 + 1}[k % 5]);
		if (k % 31 == 0)
			in[i] = (uint32_t[]){0x7fc00000, 0xff800000, 0x7f7fffff, 0x00000001,
					     0x80000000}[k / 31 % 5];
	}
}

static void add_tiny(struct suite *s)
{
	for (long i = 0; i < 3; i++)
		for (long relu = 0; relu < 2; relu++) {
			const char *n = tiny[i].name, *r = relu ? ".relu" : "";
			struct form *f;

			f = form_add(s, i ? "h=ff" : "w=ff", ref_to_tiny,
				     i ? text_of("cvt.rn.satfinite%s.%s.f32 %%0, %%1, %%2;", r, n)
				       : text_of("{ .reg .b8 r; cvt.rn.satfinite%s.%s.f32 r, %%1, %%2; "
						 "cvt.u32.u8 %%0, r; }",
						 r, n),
				     "cvt.rn.satfinite%s.%s.f32", r, n);
			f->k[0] = i;
			f->k[1] = relu;
			f->fill = fill_tiny_f32;
			f->ntuples = 2048;
			f = form_add(
				s, i ? "E=h" : "E=w", ref_from_tiny,
				i ? text_of("cvt.rn%s.f16x2.%s %%0, %%1;", r, n)
				  : text_of("{ .reg .b8 r; cvt.u8.u32 r, %%1; cvt.rn%s.f16x2.%s %%0, r; }", r,
					    n),
				"cvt.rn%s.f16x2.%s", r, n);
			f->k[0] = i;
			f->k[1] = relu;
			f->fill = fill_tiny_bytes;
			f->ntuples = 256;
		}
}

/* Positive normal numbers, infinity and NaN; what becomes of others isn't said. k[0]: .rp, k[1]: .satfinite
 */
static void ref_to_ue8m0(const struct form *f, const uint64_t *in, struct want *out)
{
	for (unsigned i = 0; i < 2; i++) {
		uint64_t v = in[1 - i], e = v >> 23 & 0xff, m = v & 0x7fffff;

		if (is_nan(FORMAT_F32, v))
			e = 0xff;
		else if (v >> 31 || e == 0 || (e == 0xff && !f->k[1]) ||
			 (e == 0xfe && m && f->k[0] && !f->k[1]))
			out->mask &= ~(0xffull << (8 * i));
		else
			e += f->k[0] && m;
		if (!is_nan(FORMAT_F32, v) && e > 0xfe)
			e = 0xfe;
		out->bits |= e << (8 * i);
	}
}

static void ref_from_ue8m0(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t x = in[0] >> (8 * i) & 0xff;

		/* 2^-127 is a subnormal bf16 */
		out->bits |= (x == 0xff ? 0x7fff : x ? x << 7 : 0x40) << (16 * i);
	}
}

static void ref_bf16x2_to_ue8m0(const struct form *f, const uint64_t *in, struct want *out)
{
	const uint64_t wide[2] = {in[0] >> 16 << 16, (in[0] & 0xffff) << 16};

	ref_to_ue8m0(f, wide, out);
}

/* tf32 with .satfinite: what would become infinite is the largest number. k[0] rounding, k[1] .relu */
static void ref_tf32_finite(const struct form *f, const uint64_t *in, struct want *out)
{
	mpfr_t x;

	mpfr_init2(x, 53);
	decode(FORMAT_F32, in[0], x);
	bool away = f->k[0] == MPFR_RNDNA && mpfr_number_p(x);
	/* ties away from zero on the bits: adding half a unit of magnitude can't do wrong */
	uint64_t v = away ? (in[0] + 0x1000) >> 13 & 0x7ffff
			  : encode(FORMAT_TF32, x, f->k[0] == MPFR_RNDNA ? MPFR_RNDN : (mpfr_rnd_t)f->k[0]);

	if (is_inf(FORMAT_TF32, v))
		v--;
	if (f->k[1] && v >> 18 && !is_nan(FORMAT_TF32, v)) {
		out->kind = is_zero(FORMAT_TF32, v) ? WANT_ZERO : out->kind;
		v = 0;
	}
	out->bits = v << 13;
	/* the 13 lower bits are not said */
	out->mask = ~0x1fffull;
	mpfr_clear(x);
}

static void add_tf32(struct suite *s)
{
	static const char *const modes[] = {"rn", "rz", "rna"};

	for (unsigned m = 0; m < 3; m++)
		for (unsigned relu = 0; relu < (m == 2 ? 1u : 2u); relu++) {
			struct form *f =
				form_add(s, "f=f", ref_tf32_finite,
					 text_of("cvt.%s.satfinite%s.tf32.f32 %%0, %%1;", modes[m],
						 relu ? ".relu" : ""),
					 "cvt.%s.satfinite%s.tf32.f32", modes[m], relu ? ".relu" : "");

			f->k[0] = m == 2 ? MPFR_RNDNA : rounding_of(modes[m]);
			f->k[1] = relu;
		}
}

static void fill_bytes(const struct form *f, unsigned t, uint64_t *in)
{
	(void)f;
	in[0] = (t & 0xff) << 8 | ((t * 37 + 11) & 0xff);
}

static void add_ue8m0(struct suite *s)
{
	struct form *f;

	for (long p = 0; p < 2; p++)
		for (long sat = 0; sat < 2; sat++) {
			f = form_add(s, "h=ff", ref_to_ue8m0,
				     text_of("cvt.%s%s.ue8m0x2.f32 %%0, %%1, %%2;", p ? "rp" : "rz",
					     sat ? ".satfinite" : ""),
				     "cvt.%s%s.ue8m0x2.f32", p ? "rp" : "rz", sat ? ".satfinite" : "");
			f->k[0] = p;
			f->k[1] = sat;
		}
	for (long p = 0; p < 2; p++)
		for (long sat = 0; sat < 2; sat++) {
			f = form_add(s, "h=G", ref_bf16x2_to_ue8m0,
				     text_of("cvt.%s%s.ue8m0x2.bf16x2 %%0, %%1;", p ? "rp" : "rz",
					     sat ? ".satfinite" : ""),
				     "cvt.%s%s.ue8m0x2.bf16x2", p ? "rp" : "rz", sat ? ".satfinite" : "");
			f->k[0] = p;
			f->k[1] = sat;
		}
	f = form_add(s, "G=h", ref_from_ue8m0, "cvt.rn.bf16x2.ue8m0x2 %0, %1;", "cvt.rn.bf16x2.ue8m0x2");
	f->fill = fill_bytes;
	f->ntuples = 256;
}

/* k[0]: max, k[1]: .abs, k[2]: .NaN */
static void ref_redux(const struct form *f, const uint64_t *in, struct want *out)
{
	bool any_nan = false, first = true;
	uint64_t best = 0x7fffffff;
	int64_t best_key = 0;

	for (unsigned i = 0; i < 32; i++) {
		uint64_t v = f->k[1] ? in[i] & 0x7fffffff : in[i];
		int64_t key = v & 0x80000000 ? -(int64_t)(v & 0x7fffffff) - 1 : (int64_t)v;

		if (is_nan(FORMAT_F32, v)) {
			any_nan = true;
			continue;
		}
		if (first || (f->k[0] ? key > best_key : key < best_key)) {
			best = v;
			best_key = key;
		}
		first = false;
	}
	if (any_nan && f->k[2])
		best = 0x7fffffff;
	for (unsigned i = 0; i < 32; i++) {
		out[i].bits = best;
		out[i].kind = WANT_CANONICAL;
	}
}

/* Warps without NaN, with some, with only NaN, of zeros of both signs. */
static void fill_redux(const struct form *f, unsigned t, uint64_t *in)
{
	unsigned warp = t / 32, lane = t % 32;

	values_of(f->ins, t * 7 + 1024, 2048, in);
	if (is_nan(FORMAT_F32, in[0]) && warp % 4 != 1)
		in[0] = 0x40000000 + lane;
	if (warp % 4 == 2)
		in[0] = 0x7fc00000 + lane;
	if (warp % 4 == 3)
		in[0] = (lane * 2654435761u >> (warp % 8)) & 0x80000000;
}

static void add_redux(struct suite *s)
{
	for (unsigned k = 0; k < 8; k++) {
		struct form *f =
			form_add(s, "f=f", NULL,
				 text_of("redux.sync.%s%s%s.f32 %%0, %%1, 0xffffffff;", k & 1 ? "max" : "min",
					 k & 2 ? ".abs" : "", k & 4 ? ".NaN" : ""),
				 "redux.sync.%s%s%s.f32", k & 1 ? "max" : "min", k & 2 ? ".abs" : "",
				 k & 4 ? ".NaN" : "");

		f->gref = ref_redux;
		f->k[0] = k & 1;
		f->k[1] = !!(k & 2);
		f->k[2] = !!(k & 4);
		f->fill = fill_redux;
		f->ntuples = 64 * 32;
	}
}

static void ref_words(const struct form *f, const uint64_t *in, struct want *out)
{
	unsigned n = 64u / (unsigned)f->k[0];

	for (unsigned i = 0; f->outs[i]; i++)
		out[i].bits = low_bits(in[i / n] >> (i % n * (unsigned)f->k[0]), (unsigned)f->k[0]);
}

static void add_wide_vectors(struct suite *s)
{
	form_add(s, "wwwwwwww=dddd", ref_words, "ld.global.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [inp];",
		 "ld.global.v8.b32")
		->k[0] = 32;
	form_add(s, "dddd=dddd", ref_words, "ld.global.v4.b64 {%0, %1, %2, %3}, [inp];", "ld.global.v4.b64")
		->k[0] = 64;
	form_add(s, "dddd=dddd", ref_words,
		 "st.global.v4.b64 [outp], {%4, %5, %6, %7}; ld.global.b64 %0, [outp]; ld.global.b64 %1, "
		 "[outp+8];\n"
		 "\tld.global.b64 %2, [outp+16]; ld.global.b64 %3, [outp+24];",
		 "st.global.v4.b64")
		->k[0] = 64;
}

void forms_tiny(struct suite *s)
{
	add_tiny(s);
	add_ue8m0(s);
	add_tf32(s);
	add_redux(s);
	add_wide_vectors(s);
}
