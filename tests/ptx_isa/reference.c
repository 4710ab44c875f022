/* SPDX-License-Identifier: Apache-2.0
 *
 * reference: see reference.h. MPFR computes at the format's precision with unbounded exponents; the exponent
 * range and the subnormals are applied with the ternary value, so that there is one rounding only.
 */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

static const struct format_info infos[] = {
	[FORMAT_F16] = {16, 10, 5, 15, 0x7fff},
	[FORMAT_BF16] = {16, 7, 8, 127, 0x7fff},
	[FORMAT_F32] = {32, 23, 8, 127, 0x7fffffff},
	[FORMAT_F64] = {64, 52, 11, 1023, 0x7fffffffffffffff},
	[FORMAT_E4M3] = {8, 3, 4, 7, 0x7f},
	[FORMAT_E5M2] = {8, 2, 5, 15, 0x7f},
	[FORMAT_TF32] = {19, 10, 8, 127, 0x3ffff},
	[FORMAT_E2M1] = {4, 1, 2, 1, 0},
	[FORMAT_E2M3] = {6, 3, 2, 1, 0},
	[FORMAT_E3M2] = {6, 2, 3, 3, 0},
};

const struct format_info *format_info(enum float_format f)
{
	return &infos[f];
}

static uint64_t exponent_of(enum float_format f, uint64_t v)
{
	return v >> infos[f].mantissa & ((1ull << infos[f].exponent) - 1);
}

static uint64_t mantissa_of(enum float_format f, uint64_t v)
{
	return low_bits(v, infos[f].mantissa);
}

/* Formats whose top exponent holds ordinary numbers. */
static bool is_finite_only(enum float_format f)
{
	return f == FORMAT_E4M3 || f == FORMAT_E2M1 || f == FORMAT_E2M3 || f == FORMAT_E3M2;
}

static bool has_top_exponent(enum float_format f, uint64_t v)
{
	return exponent_of(f, v) == (1ull << infos[f].exponent) - 1;
}

bool is_nan(enum float_format f, uint64_t v)
{
	if (f == FORMAT_E4M3) /* no infinities; one NaN of each sign */
		return (v & 0x7f) == 0x7f;
	return !is_finite_only(f) && has_top_exponent(f, v) && mantissa_of(f, v);
}

bool is_inf(enum float_format f, uint64_t v)
{
	return !is_finite_only(f) && has_top_exponent(f, v) && !mantissa_of(f, v);
}

bool is_subnormal(enum float_format f, uint64_t v)
{
	return !exponent_of(f, v) && mantissa_of(f, v);
}

bool is_zero(enum float_format f, uint64_t v)
{
	return !low_bits(v, infos[f].bits - 1);
}

uint64_t flush(enum float_format f, uint64_t v)
{
	return is_subnormal(f, v) ? v & sign_bit(f) : v;
}

void decode(enum float_format f, uint64_t v, mpfr_t x)
{
	const struct format_info *i = &infos[f];
	long e = (long)exponent_of(f, v);
	uint64_t m = mantissa_of(f, v);

	v = low_bits(v, i->bits);
	if (is_nan(f, v)) {
		mpfr_set_nan(x);
		return;
	}
	if (is_inf(f, v)) {
		mpfr_set_inf(x, 1);
	} else {
		if (e)
			m |= 1ull << i->mantissa;
		else
			e = 1;
		mpfr_set_uj_2exp(x, m, e - i->bias - (long)i->mantissa, MPFR_RNDN);
	}
	if (v & sign_bit(f))
		mpfr_neg(x, x, MPFR_RNDN);
}

double to_double(enum float_format f, uint64_t v)
{
	mpfr_t x;
	double d;

	mpfr_init2(x, 53);
	decode(f, v, x);
	d = mpfr_get_d(x, MPFR_RNDN);
	mpfr_clear(x);
	return d;
}

static uint64_t pack(enum float_format f, const mpfr_t r)
{
	const struct format_info *i = &infos[f];
	uint64_t sign = mpfr_signbit(r) ? sign_bit(f) : 0, m;
	uint64_t top = ((1ull << i->exponent) - 1) << i->mantissa;
	long e;
	mpfr_t x;

	if (mpfr_nan_p(r))
		return i->canonical_nan;
	if (mpfr_inf_p(r)) /* without infinities: the largest encoding */
		return sign | (is_finite_only(f) ? sign_bit(f) - 1 : top);
	if (mpfr_zero_p(r))
		return sign;
	e = mpfr_get_exp(r) - 1;
	mpfr_init2(x, 64);
	mpfr_abs(x, r, MPFR_RNDN);
	if (e >= 1 - i->bias) {
		mpfr_mul_2si(x, x, (long)i->mantissa - e, MPFR_RNDN);
		m = mpfr_get_uj(x, MPFR_RNDN) - (1ull << i->mantissa);
		m |= (uint64_t)(e + i->bias) << i->mantissa;
	} else {
		mpfr_mul_2si(x, x, (long)i->mantissa + i->bias - 1, MPFR_RNDN);
		m = mpfr_get_uj(x, MPFR_RNDN);
	}
	mpfr_clear(x);
	return sign | m;
}

/* r has the format's precision and ternary value t. */
static uint64_t finish(enum float_format f, mpfr_t r, int t, mpfr_rnd_t rnd)
{
	const struct format_info *i = &infos[f];
	mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
	long top = is_finite_only(f) ? (1 << i->exponent) - 1 - i->bias : i->bias;

	mpfr_set_emin(2 - i->bias - (long)i->mantissa);
	mpfr_set_emax(top + 1);
	t = mpfr_check_range(r, t, rnd);
	mpfr_subnormalize(r, t, rnd);
	mpfr_set_emin(emin);
	mpfr_set_emax(emax);
	return pack(f, r);
}

uint64_t encode(enum float_format f, const mpfr_t x, mpfr_rnd_t rnd)
{
	uint64_t v;
	mpfr_t r;
	int t;

	mpfr_init2(r, infos[f].mantissa + 1);
	t = mpfr_set(r, x, rnd);
	v = finish(f, r, t, rnd);
	mpfr_clear(r);
	return v;
}

static int compute(enum float_op op, mpfr_t r, mpfr_t *x, mpfr_rnd_t rnd)
{
	switch (op) {
	case OP_ADD: return mpfr_add(r, x[0], x[1], rnd);
	case OP_SUB: return mpfr_sub(r, x[0], x[1], rnd);
	case OP_MUL: return mpfr_mul(r, x[0], x[1], rnd);
	case OP_FMA: return mpfr_fma(r, x[0], x[1], x[2], rnd);
	case OP_DIV: return mpfr_div(r, x[0], x[1], rnd);
	case OP_RCP: return mpfr_ui_div(r, 1, x[0], rnd);
	case OP_SQRT: return mpfr_sqrt(r, x[0], rnd);
	default: return mpfr_set(r, x[0], rnd);
	}
}

static bool flushes(enum float_format f, const struct float_mods *m)
{
	return m->ftz && (f == FORMAT_F32 || f == FORMAT_F16);
}

/* True when the result before rounding to the format is below the smallest normal number and the rounded one
 * is not: whether such a result "is subnormal" and flushed isn't said. */
static bool is_borderline(enum float_format f, uint64_t v, const mpfr_t r, int t)
{
	uint64_t min_normal = 1ull << infos[f].mantissa;

	if ((v & ~sign_bit(f)) != min_normal || mpfr_nan_p(r))
		return false;
	return mpfr_get_exp(r) - 1 < 1 - infos[f].bias || t * mpfr_sgn(r) > 0;
}

static void saturate(enum float_format f, const struct float_mods *m, struct want *w)
{
	uint64_t one = (uint64_t)infos[f].bias << infos[f].mantissa;
	bool negative = w->bits & sign_bit(f);

	if (m->sat && is_nan(f, w->bits)) {
		w->bits = 0;
	} else if (m->relu && is_nan(f, w->bits)) {
		w->bits = infos[f].canonical_nan;
		w->kind = WANT_CANONICAL;
	} else if ((m->sat || m->relu) && negative) {
		/* Whether -0 is clamped isn't said. */
		w->kind = is_zero(f, w->bits) ? WANT_ZERO : w->kind;
		w->bits = 0;
	} else if (m->sat && w->bits > one) {
		w->bits = one;
	}
}

void float_op(enum float_op op, enum float_format dst, enum float_format src, const struct float_mods *m,
	      const uint64_t *in, struct want *w)
{
	static const unsigned char arity[] = {2, 2, 2, 3, 2, 1, 1, 1};
	mpfr_t x[3], r;
	int t;

	mpfr_inits2(53, x[0], x[1], x[2], (mpfr_ptr)0);
	mpfr_init2(r, infos[dst].mantissa + 1);
	for (unsigned i = 0; i < arity[op]; i++) {
		/* Mixed precision: the addend has the result's format. */
		enum float_format f = i + 1 == arity[op] && i ? dst : src;

		decode(f, flushes(f, m) ? flush(f, in[i]) : in[i], x[i]);
	}
	t = compute(op, r, x, m->rnd);
	if (flushes(dst, m)) {
		mpfr_t u;

		mpfr_init2(u, infos[dst].mantissa + 1);
		mpfr_set(u, r, MPFR_RNDN);
		w->bits = finish(dst, r, t, m->rnd);
		if (is_borderline(dst, w->bits, u, t))
			w->kind = WANT_ANY;
		w->bits = flush(dst, w->bits);
		mpfr_clear(u);
	} else {
		w->bits = finish(dst, r, t, m->rnd);
	}
	saturate(dst, m, w);
	mpfr_clears(x[0], x[1], x[2], r, (mpfr_ptr)0);
}

mpfr_rnd_t rounding_of(const char *name)
{
	if (!strncmp(name, "rna", 3))
		return MPFR_RNDNA;
	switch (name[1]) {
	case 'z': return MPFR_RNDZ;
	case 'm': return MPFR_RNDD;
	case 'p': return MPFR_RNDU;
	default: return MPFR_RNDN;
	}
}
