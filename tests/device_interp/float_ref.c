/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/device_interp/float_ref.h"

#include <string.h>

#include "tests/device_interp/op_runner.h"

/* MPFR's values are 0.1xxx * 2^e: e of the smallest subnormal and of the largest number. */
const struct fmt fmt_f16 = {"f16", 16, 5, 11, -23, 16};
const struct fmt fmt_bf16 = {"bf16", 16, 8, 8, -132, 128};
const struct fmt fmt_f32 = {"f32", 32, 8, 24, -148, 128};
const struct fmt fmt_f64 = {"f64", 64, 11, 53, -1073, 1024};

static uint64_t exp_mask(const struct fmt *f)
{
	return ((1ull << f->exp_bits) - 1) << (f->bits - 1 - f->exp_bits);
}

static uint64_t sign_bit(const struct fmt *f)
{
	return 1ull << (f->bits - 1);
}

bool ref_is_nan(const struct fmt *f, uint64_t bits)
{
	return (bits & (sign_bit(f) - 1)) > exp_mask(f);
}

uint64_t ref_flush(const struct fmt *f, uint64_t bits)
{
	return bits & exp_mask(f) ? bits : bits & sign_bit(f);
}

void ref_decode(mpfr_t x, const struct fmt *f, uint64_t bits)
{
	const unsigned man_bits = f->bits - 1 - f->exp_bits;
	uint64_t man = bits & ((1ull << man_bits) - 1), e = (bits & exp_mask(f)) >> man_bits;
	int sign = bits & sign_bit(f) ? -1 : 1;

	if (e == (1ull << f->exp_bits) - 1) {
		if (man)
			mpfr_set_nan(x);
		else
			mpfr_set_inf(x, sign);
		return;
	}
	mpfr_set_ui_2exp(x, e ? man | 1ull << man_bits : man,
			 (mpfr_exp_t)(e ? e : 1) - (1 << (f->exp_bits - 1)) + 1 - man_bits, MPFR_RNDN);
	mpfr_setsign(x, x, sign < 0, MPFR_RNDN);
}

/* x is a value of the format. */
static uint64_t encode_exact(mpfr_t x, const struct fmt *f)
{
	const unsigned man_bits = f->bits - 1 - f->exp_bits;
	uint64_t sign = mpfr_signbit(x) ? sign_bit(f) : 0;
	mpfr_t m;

	if (mpfr_nan_p(x))
		return sign_bit(f) - 1;
	if (mpfr_inf_p(x))
		return sign | exp_mask(f);
	if (mpfr_zero_p(x))
		return sign;
	mpfr_exp_t e = mpfr_get_exp(x) - 1 + (1 << (f->exp_bits - 1)) - 1; /* biased */

	if (e < 1)
		e = 1;
	mpfr_init2(m, 64);
	mpfr_mul_2si(m, x, man_bits + (1 << (f->exp_bits - 1)) - 1 - e, MPFR_RNDN);
	mpfr_abs(m, m, MPFR_RNDN);
	uint64_t man = mpfr_get_uj(m, MPFR_RNDN);

	mpfr_clear(m);
	return sign | (man >> man_bits ? ((uint64_t)e << man_bits) + (man - (1ull << man_bits)) : man);
}

static int compute(enum ref_op op, mpfr_t r, mpfr_t x, mpfr_t y, mpfr_t z, mpfr_rnd_t rnd)
{
	switch (op) {
	case REF_ADD: return mpfr_add(r, x, y, rnd);
	case REF_SUB: return mpfr_sub(r, x, y, rnd);
	case REF_MUL: return mpfr_mul(r, x, y, rnd);
	case REF_FMA: return mpfr_fma(r, x, y, z, rnd);
	case REF_DIV: return mpfr_div(r, x, y, rnd);
	case REF_RCP: return mpfr_ui_div(r, 1, x, rnd);
	case REF_SQRT: return mpfr_sqrt(r, x, rnd);
	case REF_RSQRT: /* PTX ISA: of -0 it is -infinity */
		if (mpfr_zero_p(x)) {
			mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
			return 0;
		}
		return mpfr_rec_sqrt(r, x, rnd);
	case REF_SIN: return mpfr_sin(r, x, rnd);
	case REF_COS: return mpfr_cos(r, x, rnd);
	case REF_EX2: return mpfr_exp2(r, x, rnd);
	case REF_LG2: return mpfr_log2(r, x, rnd);
	case REF_TANH: return mpfr_tanh(r, x, rnd);
	default: return mpfr_set(r, x, rnd);
	}
}

uint64_t ref_compute(enum ref_op op, const struct fmt *from, const struct fmt *to, mpfr_rnd_t rnd,
		     const uint64_t v[3])
{
	mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
	mpfr_t s[3], r;

	for (unsigned k = 0; k < 3; k++) {
		mpfr_init2(s[k], from->prec);
		ref_decode(s[k], from, v[k]);
	}
	mpfr_init2(r, to->prec);
	mpfr_set_emin(to->emin);
	mpfr_set_emax(to->emax);
	int t = compute(op, r, s[0], s[1], s[2], rnd);

	t = mpfr_check_range(r, t, rnd);
	mpfr_subnormalize(r, t, rnd);
	mpfr_set_emin(emin);
	mpfr_set_emax(emax);
	uint64_t bits = encode_exact(r, to);

	for (unsigned k = 0; k < 3; k++)
		mpfr_clear(s[k]);
	mpfr_clear(r);
	return bits;
}

uint64_t ref_encode(mpfr_t x, const struct fmt *f, mpfr_rnd_t rnd)
{
	mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
	mpfr_t r;

	mpfr_init2(r, f->prec);
	mpfr_set_emin(f->emin);
	mpfr_set_emax(f->emax);
	int t = mpfr_set(r, x, rnd);

	t = mpfr_check_range(r, t, rnd);
	mpfr_subnormalize(r, t, rnd);
	mpfr_set_emin(emin);
	mpfr_set_emax(emax);
	uint64_t bits = encode_exact(r, f);

	mpfr_clear(r);
	return bits;
}

uint64_t ref_distance(const struct fmt *f, uint64_t a, uint64_t b)
{
	uint64_t ma = a & (sign_bit(f) - 1), mb = b & (sign_bit(f) - 1);

	if (ref_is_nan(f, a) || ref_is_nan(f, b))
		return ref_is_nan(f, a) && ref_is_nan(f, b) ? 0 : UINT64_MAX;
	if ((a ^ b) & sign_bit(f))
		return ma + mb;
	return ma > mb ? ma - mb : mb - ma;
}

uint64_t ref_value(const struct fmt *f, uint32_t n)
{
	const unsigned man = f->bits - 1 - f->exp_bits;
	const uint64_t one = ((1ull << (f->exp_bits - 1)) - 1) << man, inf = exp_mask(f), min = 1ull << man,
		       s = sign_bit(f);
	const uint64_t edges[REF_EDGES] = {
		0,
		s,
		one,
		s | one,
		1,
		s | 1,
		min - 1,
		s | (min - 1),
		min,
		s | min,
		min + 1,
		inf - 1,
		s | (inf - 1),
		inf,
		s | inf,
		inf | 1ull << (man - 1),
		s | inf | 5,
		one + 1,
		one - 1,
		one + min,
		one - min,
		one + min * 10 + 3,
		s | (one + min * 3 + 1),
		one - min * 9,
	};
	uint64_t r;

	if (n < REF_EDGES)
		return edges[n];
	r = op_mask(op_random(), f->bits);
	if (n & 1) /* near one, so that sums cancel and round */
		r = (r & ~inf) | (one + (op_random() % 9) * min - 4 * min);
	return r;
}
