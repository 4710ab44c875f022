/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt between integers, f16, bf16, f32, f64, and cvt.pack: PTX ISA 6.5, 9.4.1, 9.7.9.21, 9.7.9.22.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <string.h>

static const char *const int_names[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
static const char *const int_modes[] = {"rni", "rzi", "rmi", "rpi"};
static const char *const float_modes[] = {"rn", "rz", "rm", "rp"};

static const struct float_type {
	const char *name;
	char letter;
	enum float_format fmt;
} floats[] = {{"f16", 'e', FORMAT_F16},
	      {"bf16", 'g', FORMAT_BF16},
	      {"f32", 'f', FORMAT_F32},
	      {"f64", 'D', FORMAT_F64}};

/* An integer of the form's type in a register as wide as the operand letter says: extended by the type's
 * sign. */
static void set_int(const struct form *f, i128 v, struct want *out)
{
	out->bits = low_bits((uint64_t)as_int(f->type, (uint64_t)v), letter_bits(f->outs[0]));
}

/* arg: source type; k[0]: .sat */
static void ref_int_int(const struct form *f, const uint64_t *in, struct want *out)
{
	i128 v = as_int(f->arg, in[0]);

	set_int(f, f->k[0] ? clamp_to(f->type, v) : v, out);
}

static char natural(const struct int_type *t)
{
	return t->bits == 8 ? 'b' : t->bits == 16 ? 'h' : t->bits == 32 ? 'w' : 'd';
}

static bool narrows(const struct int_type *d, const struct int_type *a)
{
	return type_min(a) < type_min(d) || type_max(a) > type_max(d);
}

static void add_int_int(struct suite *s, const struct int_type *d, const struct int_type *a, char dreg,
			bool sat)
{
	char sig[4] = {dreg, '=', natural(a), 0};
	struct form *f = form_add(
		s, sig, ref_int_int, text_of("cvt%s.%s.%s %%0, %%1;", sat ? ".sat" : "", d->name, a->name),
		"cvt%s.%s.%s to %u bits", sat ? ".sat" : "", d->name, a->name, letter_bits(dreg));

	f->type = d;
	f->arg = a;
	f->k[0] = sat;
}

static void add_ints(struct suite *s)
{
	for (unsigned i = 0; i < 8; i++)
		for (unsigned j = 0; j < 8; j++) {
			const struct int_type *d = int_type_find(int_names[i]),
					      *a = int_type_find(int_names[j]);

			for (unsigned sat = 0; sat < (narrows(d, a) ? 2u : 1u); sat++) {
				add_int_int(s, d, a, natural(d), sat);
				if (d->bits < 64)
					add_int_int(s, d, a, 'd', sat);
				if (d->bits == 16)
					add_int_int(s, d, a, 'w', sat);
				if (d->bits == 8)
					add_int_int(s, d, a, 'h', sat);
			}
		}
}

static mpfr_rnd_t int_rounding(long mode)
{
	static const mpfr_rnd_t r[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};

	return r[mode];
}

static i128 to_i128(const mpfr_t x)
{
	mpfr_t y;
	i128 v;

	if (mpfr_cmpabs_ui(x, 0) == 0)
		return 0;
	if (mpfr_inf_p(x) || mpfr_get_exp(x) > 100)
		return mpfr_signbit(x) ? -((i128)1 << 100) : (i128)1 << 100;
	/* 53 bits: an integer mantissa and a shift. */
	mpfr_init2(y, 64);
	mpfr_abs(y, x, MPFR_RNDN);
	mpfr_exp_t e = mpfr_get_exp(y);
	long shift = e > 63 ? e - 63 : 0;

	mpfr_mul_2si(y, y, -shift, MPFR_RNDN);
	v = (i128)mpfr_get_uj(y, MPFR_RNDN) << shift;
	mpfr_clear(y);
	return mpfr_signbit(x) ? -v : v;
}

/* NaN: "zero if source is not .f64 and destination is not .s64, .u64; otherwise 1 << (BitWidth(dst) - 1)". */
static uint64_t nan_to_int(const struct form *f, enum float_format src)
{
	return src != FORMAT_F64 && f->type->bits != 64 ? 0 : 1ull << (f->type->bits - 1);
}

/* k[0]: integer rounding, k[1]: .ftz */
static void ref_float_int(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format src = letter_format(f->ins[0]);
	uint64_t a = f->k[1] ? flush(src, in[0]) : in[0];
	mpfr_t x;

	if (is_nan(src, a)) {
		set_int(f, (i128)nan_to_int(f, src), out);
		return;
	}
	mpfr_init2(x, 64);
	decode(src, a, x);
	mpfr_rint(x, x, int_rounding(f->k[0]));
	set_int(f, clamp_to(f->type, to_i128(x)), out);
	mpfr_clear(x);
}

static void add_float_int(struct suite *s)
{
	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < 8; j++)
			for (unsigned m = 0; m < 16; m++) {
				const struct int_type *d = int_type_find(int_names[j]);
				char sig[4] = {natural(d), '=', floats[i].letter, 0};
				const char *ftz = m & 4 ? ".ftz" : "", *sat = m & 8 ? ".sat" : "";
				struct form *f;

				/* the vendor's assembler has no bf16 with 8-bit integers */
				if ((m & 4 && floats[i].fmt != FORMAT_F32) ||
				    (floats[i].fmt == FORMAT_BF16 && (d->bits == 8 || m & 8)))
					continue;
				f = form_add(s, sig, ref_float_int,
					     text_of("cvt.%s%s%s.%s.%s %%0, %%1;", int_modes[m & 3], ftz, sat,
						     d->name, floats[i].name),
					     "cvt.%s%s%s.%s.%s", int_modes[m & 3], ftz, sat, d->name,
					     floats[i].name);
				f->type = d;
				f->k[0] = m & 3;
				f->k[1] = !!(m & 4);
				f->most = m & 8 ? 512 : 0; /* results are clamped anyway */
			}
}

enum { FTZ = 1, SAT = 2, RELU = 4, SATFINITE = 8 };

static void clamp_unit(enum float_format dst, struct want *w)
{
	uint64_t one = (uint64_t)format_info(dst)->bias << format_info(dst)->mantissa;

	if (is_nan(dst, w->bits)) {
		w->bits = 0;
	} else if (w->bits & sign_bit(dst)) {
		w->kind = is_zero(dst, w->bits) ? WANT_ZERO : w->kind; /* whether -0 is clamped isn't said */
		w->bits = 0;
	} else if (w->bits > one) {
		w->bits = one;
	}
}

static void clamp_negative(enum float_format dst, struct want *w)
{
	if (is_nan(dst, w->bits)) {
		w->bits = format_info(dst)->canonical_nan;
		w->kind = WANT_CANONICAL;
	} else if (w->bits & sign_bit(dst)) {
		w->kind = is_zero(dst, w->bits) ? WANT_ZERO : w->kind;
		w->bits = 0;
	}
}

static void round_value(enum float_format dst, const mpfr_t x, mpfr_rnd_t rnd, long mods, struct want *out)
{
	uint64_t min_normal = 1ull << format_info(dst)->mantissa;

	out->bits = encode(dst, x, rnd);
	if (mods & FTZ && dst == FORMAT_F32) {
		/* Rounded up to the smallest normal number: whether it counts as subnormal isn't said. */
		if ((out->bits & ~sign_bit(dst)) == min_normal && !mpfr_nan_p(x) &&
		    mpfr_get_exp(x) - 1 < 1 - format_info(dst)->bias)
			out->kind = WANT_ANY;
		out->bits = flush(dst, out->bits);
	}
	if (mods & SATFINITE && is_inf(dst, out->bits))
		out->bits--; /* the largest finite one has the preceding encoding */
	if (mods & SAT)
		clamp_unit(dst, out);
	if (mods & RELU)
		clamp_negative(dst, out);
}

/* k[0]: rounding, k[1]: modifiers, k[2]: integral rounding (+1) */
static void ref_float_float(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format dst = letter_format(f->outs[0]), src = letter_format(f->ins[0]);
	bool ftz = f->k[1] & FTZ && src == FORMAT_F32;
	mpfr_t x;

	mpfr_init2(x, 64);
	decode(src, ftz ? flush(src, in[0]) : in[0], x);
	if (f->k[2])
		mpfr_rint(x, x, int_rounding(f->k[2] - 1));
	round_value(dst, x, (mpfr_rnd_t)f->k[0], f->k[1], out);
	mpfr_clear(x);
}

/* Two f32 into halves: the first operand goes to the upper one. */
static void ref_pack_halves(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format dst = letter_format(f->outs[0]);
	struct want w[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	mpfr_t x;

	mpfr_init2(x, 53);
	for (unsigned i = 0; i < 2; i++) {
		decode(FORMAT_F32, in[1 - i], x);
		round_value(dst, x, (mpfr_rnd_t)f->k[0], f->k[1], &w[i]);
	}
	out->bits = w[1].bits << 16 | w[0].bits;
	out->kind = w[0].kind == WANT_ZERO || w[1].kind == WANT_ZERO ? WANT_ZERO
		    : w[0].kind > w[1].kind                          ? w[0].kind
								     : w[1].kind;
	mpfr_clear(x);
}

/* arg: integer source type; k[0]: rounding; k[1]: modifiers */
static void ref_int_float(const struct form *f, const uint64_t *in, struct want *out)
{
	i128 v = as_int(f->arg, in[0]);
	mpfr_t x;

	mpfr_init2(x, 64);
	if (v < 0) {
		mpfr_set_uj(x, (uint64_t)-v, MPFR_RNDN);
		mpfr_neg(x, x, MPFR_RNDN);
	} else {
		mpfr_set_uj(x, (uint64_t)v, MPFR_RNDN);
	}
	round_value(letter_format(f->outs[0]), x, (mpfr_rnd_t)f->k[0], f->k[1], out);
	mpfr_clear(x);
}

static void add_int_float(struct suite *s)
{
	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < 8; j++)
			for (unsigned m = 0; m < 8; m++) {
				const struct int_type *a = int_type_find(int_names[j]);
				char sig[4] = {floats[i].letter, '=', natural(a), 0};
				const char *sat = m & 4 ? ".sat" : "";
				struct form *f;

				if (floats[i].fmt == FORMAT_BF16 && (a->bits == 8 || m & 4))
					continue;
				f = form_add(s, sig, ref_int_float,
					     text_of("cvt.%s%s.%s.%s %%0, %%1;", float_modes[m & 3], sat,
						     floats[i].name, a->name),
					     "cvt.%s%s.%s.%s", float_modes[m & 3], sat, floats[i].name,
					     a->name);

				f->arg = a;
				f->k[0] = rounding_of(float_modes[m & 3]);
				f->k[1] = m & 4 ? SAT : 0;
			}
}

static void add_ff(struct suite *s, char d, char a, const char *mods, const char *types, mpfr_rnd_t rnd,
		   long bits, long integral)
{
	char sig[4] = {d, '=', a, 0};
	struct form *f = form_add(s, sig, ref_float_float, text_of("cvt%s.%s %%0, %%1;", mods, types),
				  "cvt%s.%s", mods, types);

	f->k[0] = rnd;
	f->k[1] = bits;
	f->k[2] = integral;
}

static const char *modifier_text(const char *rounding, long bits)
{
	return text_of("%s%s%s%s%s%s", rounding ? "." : "", rounding ? rounding : "",
		       bits & FTZ ? ".ftz" : "", bits & SAT ? ".sat" : "", bits & RELU ? ".relu" : "",
		       bits & SATFINITE ? ".satfinite" : "");
}

/* Conversions that lose precision take a rounding mode, others must not. */
static void add_float_float(struct suite *s)
{
	static const struct {
		char d, a;
		const char *types;
		bool rounds;
		long allowed;
	} rows[] = {
		{'e', 'f', "f16.f32", true, FTZ | SAT}, {'e', 'D', "f16.f64", true, SAT},
		{'f', 'D', "f32.f64", true, FTZ | SAT}, {'f', 'e', "f32.f16", false, FTZ | SAT},
		{'D', 'e', "f64.f16", false, SAT},      {'D', 'f', "f64.f32", false, FTZ | SAT},
		{'g', 'f', "bf16.f32", true, 0},        {'g', 'D', "bf16.f64", true, 0},
		{'g', 'e', "bf16.f16", true, 0},        {'e', 'g', "f16.bf16", true, 0},
		{'f', 'g', "f32.bf16", false, FTZ},     {'D', 'g', "f64.bf16", false, 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned m = 0; m < (rows[i].rounds ? 4u : 1u); m++)
			for (long bits = 0; bits < 4; bits++)
				if (!(bits & ~rows[i].allowed))
					add_ff(s, rows[i].d, rows[i].a,
					       modifier_text(rows[i].rounds ? float_modes[m] : NULL, bits),
					       rows[i].types,
					       rows[i].rounds ? rounding_of(float_modes[m]) : MPFR_RNDN, bits,
					       0);
	for (long bits = 0; bits < 4; bits++)
		add_ff(s, 'f', 'f', modifier_text(NULL, bits), "f32.f32", MPFR_RNDN, bits, 0);
	for (long bits = 0; bits < 4; bits += SAT) {
		add_ff(s, 'D', 'D', modifier_text(NULL, bits), "f64.f64", MPFR_RNDN, bits, 0);
		add_ff(s, 'e', 'e', modifier_text(NULL, bits), "f16.f16", MPFR_RNDN, bits, 0);
	}
	for (long m = 0; m < 4; m++) {
		add_ff(s, 'g', 'g', modifier_text(int_modes[m], 0), "bf16.bf16", MPFR_RNDN, 0, m + 1);
		for (long bits = 0; bits < 4; bits++)
			add_ff(s, 'f', 'f', modifier_text(int_modes[m], bits), "f32.f32", MPFR_RNDN, bits,
			       m + 1);
		for (long bits = 0; bits < 4; bits += SAT) {
			add_ff(s, 'D', 'D', modifier_text(int_modes[m], bits), "f64.f64", MPFR_RNDN, bits,
			       m + 1);
			add_ff(s, 'e', 'e', modifier_text(int_modes[m], bits), "f16.f16", MPFR_RNDN, bits,
			       m + 1);
		}
	}
	add_ff(s, 'f', 'f', ".sat", "f32.f32", MPFR_RNDN, SAT, 0);
	add_ff(s, 'f', 'f', ".ftz", "f32.f32", MPFR_RNDN, FTZ, 0);
	add_ff(s, 'f', 'f', ".ftz.sat", "f32.f32", MPFR_RNDN, FTZ | SAT, 0);
	add_ff(s, 'D', 'D', ".sat", "f64.f64", MPFR_RNDN, SAT, 0);
	add_ff(s, 'e', 'e', ".sat", "f16.f16", MPFR_RNDN, SAT, 0);
}

static void add_halves(struct suite *s)
{
	static const char types[2][2][12] = {{"f16.f32", "bf16.f32"}, {"f16x2.f32", "bf16x2.f32"}};

	for (unsigned b = 0; b < 2; b++)
		for (unsigned m = 0; m < 2; m++)
			for (long bits = 0; bits <= (RELU | SATFINITE); bits += RELU) {
				const char *mods = modifier_text(float_modes[m], bits);
				struct form *f;

				if (bits)
					add_ff(s, b ? 'g' : 'e', 'f', mods, types[0][b],
					       rounding_of(float_modes[m]), bits, 0);
				f = form_add(s, b ? "G=ff" : "E=ff", ref_pack_halves,
					     text_of("cvt%s.%s %%0, %%1, %%2;", mods, types[1][b]),
					     "cvt%s.%s", mods, types[1][b]);
				f->k[0] = rounding_of(float_modes[m]);
				f->k[1] = bits;
			}
}

/* tf32 is f32 with 10 bits of mantissa; what the 13 lower bits become isn't said. */
static void ref_tf32(const struct form *f, const uint64_t *in, struct want *out)
{
	struct want w = {.mask = UINT64_MAX};
	mpfr_t x;

	mpfr_init2(x, 53);
	decode(FORMAT_F32, in[0], x);
	if (f->k[0] == MPFR_RNDNA && !mpfr_nan_p(x) && !mpfr_inf_p(x) && !mpfr_zero_p(x)) {
		/* Ties away from zero on the bits: adding half a unit of magnitude can't do wrong. */
		w.bits = ((in[0] + 0x1000) >> 13) & 0x7ffff;
	} else {
		round_value(FORMAT_TF32, x, f->k[0] == MPFR_RNDNA ? MPFR_RNDN : (mpfr_rnd_t)f->k[0], f->k[1],
			    &w);
	}
	if (f->k[1] & SATFINITE && is_inf(FORMAT_TF32, w.bits))
		w.bits--;
	out->bits = w.bits << 13;
	out->mask = 0xffffe000;
	out->kind = w.kind;
	if (is_nan(FORMAT_TF32, w.bits))
		out->kind = WANT_BITS;
	mpfr_clear(x);
}

static void add_tf32(struct suite *s)
{
	static const struct {
		const char *mods;
		mpfr_rnd_t rnd;
		long bits;
	} rows[] = {{".rna", MPFR_RNDNA, 0},
		    {".rn", MPFR_RNDN, 0},
		    {".rz", MPFR_RNDZ, 0},
		    {".rn.relu", MPFR_RNDN, RELU},
		    {".rz.relu", MPFR_RNDZ, RELU}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct form *f =
			form_add(s, "f=f", ref_tf32, text_of("cvt%s.tf32.f32 %%0, %%1;", rows[i].mods),
				 "cvt%s.tf32.f32", rows[i].mods);

		f->k[0] = rows[i].rnd;
		f->k[1] = rows[i].bits;
	}
}

/* k[0]: bits of an element, k[1]: signed; c only for less than 16 bits */
static void ref_pack(const struct form *f, const uint64_t *in, struct want *out)
{
	struct int_type t = {"", (uint8_t)f->k[0], f->k[1]};
	const struct int_type *s32 = int_type_find("s32");
	uint64_t a = (uint64_t)clamp_to(&t, as_int(s32, in[0])),
		 b = (uint64_t)clamp_to(&t, as_int(s32, in[1]));
	unsigned n = t.bits;

	out->bits = low_bits(a, n) << n | low_bits(b, n);
	if (n < 16)
		out->bits |= (uint32_t)(in[2] << (2 * n));
}

static void add_packs(struct suite *s)
{
	static const struct {
		const char *name;
		unsigned bits;
	} types[] = {{"u16", 16}, {"s16", 16}, {"u8", 8}, {"s8", 8},
		     {"u4", 4},   {"s4", 4},   {"u2", 2}, {"s2", 2}};

	for (unsigned i = 0; i < 8; i++) {
		bool c = types[i].bits < 16;
		struct form *f = form_add(s, c ? "w=www" : "w=ww", ref_pack,
					  text_of("cvt.pack.sat.%s.s32%s %%0, %%1, %%2%s;", types[i].name,
						  c ? ".b32" : "", c ? ", %3" : ""),
					  "cvt.pack.sat.%s.s32", types[i].name);

		f->k[0] = types[i].bits;
		f->k[1] = types[i].name[0] == 's';
	}
}

void forms_convert(struct suite *s)
{
	add_ints(s);
	add_float_int(s);
	add_int_float(s);
	add_float_float(s);
	add_halves(s);
	add_tf32(s);
	add_packs(s);
}
