/* SPDX-License-Identifier: Apache-2.0
 *
 * The device library's arithmetic, compiled for the host, against MPFR: every rounding of every operation, of random
 * operands and of those at the edges, bit for bit.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MPFR_USE_INTMAX_T
#include <mpfr.h>

#include "zluda_core/compiler/device_library/device_library.h"

enum { RANDOM = 200000, NEAR = 60 };

struct format {
	unsigned exponent, mantissa;
};
static const struct format f64 = {11, 52}, f32 = {8, 23}, f16 = {5, 10}, bf16 = {8, 7}, tf32 = {8, 10};
static const struct format e4m3 = {4, 3}, e5m2 = {5, 2}, e2m1 = {2, 1}, e2m3 = {2, 3}, e3m2 = {3, 2};

static const struct {
	uint32_t mode;
	mpfr_rnd_t mpfr;
	const char *name;
} modes[] = {{CT_RN, MPFR_RNDN, "rn"},
	     {CT_RZ, MPFR_RNDZ, "rz"},
	     {CT_RM, MPFR_RNDD, "rm"},
	     {CT_RP, MPFR_RNDU, "rp"}};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static float f32_of(uint32_t u)
{
	float f;
	memcpy(&f, &u, 4);
	return f;
}

static double f64_of(uint64_t u)
{
	double f;
	memcpy(&f, &u, 8);
	return f;
}

static uint32_t f32_bits(float f)
{
	uint32_t u;
	memcpy(&u, &f, 4);
	return u;
}

static uint64_t f64_bits(double f)
{
	uint64_t u;
	memcpy(&u, &f, 8);
	return u;
}

/* Any pattern; an edge; exponents near each other, or so that the result is near an end of the range; few bits. */
static uint64_t operand(struct format f, uint64_t other)
{
	uint64_t v = next(), mantissa = (1ull << f.mantissa) - 1, top = (1ull << f.exponent) - 1;
	uint64_t sign = v >> 63 << (f.exponent + f.mantissa), low = next() & mantissa;

	switch (v % 8) {
	case 0: /* zero, infinity, the largest number; their neighbours */
		if (v >> 8 & 2)
			return sign | ((top << f.mantissa) - 1 - (v >> 10 & 1));
		return sign | (v >> 8 & 1 ? top << f.mantissa : 0) | (v >> 10 & 1);
	case 1: return sign | (v >> 8 & 1 ? 1ull << f.mantissa : 0) | (v >> 9 & 3);
	case 2: return sign | low >> v % f.mantissa;
	case 3: return sign | (top - 1 - (v >> 8 & 1)) << f.mantissa | low;
	case 4: return sign | ((other >> f.mantissa & top) ^ (v >> 8 & 3)) << f.mantissa | low;
	case 5: return sign | ((top - (other >> f.mantissa & top)) ^ (v >> 8 & 7)) << f.mantissa | low;
	case 6:
		return sign | (top / 2 + (v >> 8) % NEAR - NEAR / 2) % top << f.mantissa |
		       (low & ~(mantissa >> 4));
	default: return sign | (v >> 8) % top << f.mantissa | low;
	}
}

/* x, rounded to odd with more bits than the format's, as its bits; NaN: UINT64_MAX. */
static uint64_t bits_of(struct format f, mpfr_t x, int ternary, mpfr_rnd_t mode)
{
	long bias = (1l << (f.exponent - 1)) - 1;
	mpfr_t r;

	if (mpfr_nan_p(x))
		return UINT64_MAX;
	mpfr_init2(r, f.mantissa + 1);
	mpfr_set_emin(2 - bias - (long)f.mantissa);
	mpfr_set_emax(bias + 1);
	assert_int_equal(ternary, 0);
	int t = mpfr_set(r, x, mode);
	t = mpfr_check_range(r, t, mode);
	mpfr_subnormalize(r, t, mode);
	uint64_t sign = (uint64_t)(mpfr_signbit(r) != 0) << (f.exponent + f.mantissa), v = 0;
	mpfr_set_emin(-100000);
	mpfr_set_emax(100000);
	if (mpfr_inf_p(r)) {
		v = ((1ull << f.exponent) - 1) << f.mantissa;
	} else if (!mpfr_zero_p(r)) {
		long e = mpfr_get_exp(r) - 1, least = 1 - bias, unit = e > least ? e : least;
		mpfr_abs(r, r, MPFR_RNDN);
		mpfr_mul_2si(r, r, (long)f.mantissa - unit, MPFR_RNDN);
		v = mpfr_get_uj(r, MPFR_RNDN) + ((uint64_t)(unit - least) << f.mantissa);
	}
	mpfr_clear(r);
	return sign | v;
}

enum op { ADD, MUL, FMA, DIV, SQRT, OPS };
static const char *const op_names[] = {"add", "mul", "fma", "div", "sqrt"};

/* Correctly rounded: MPFR computes into the format itself, range and subnormals included. */
static uint64_t expected(enum op op, struct format f, const double *v, mpfr_rnd_t mode)
{
	long bias = (1l << (f.exponent - 1)) - 1;
	mpfr_t r, x[3];
	int t = 0;

	mpfr_init2(r, f.mantissa + 1);
	for (unsigned k = 0; k < 3; k++) {
		mpfr_init2(x[k], 53);
		mpfr_set_d(x[k], v[k], MPFR_RNDN);
	}
	mpfr_set_emin(2 - bias - (long)f.mantissa);
	mpfr_set_emax(bias + 1);
	switch (op) {
	case ADD: t = mpfr_add(r, x[0], x[1], mode); break;
	case MUL: t = mpfr_mul(r, x[0], x[1], mode); break;
	case FMA: t = mpfr_fma(r, x[0], x[1], x[2], mode); break;
	case DIV: t = mpfr_div(r, x[0], x[1], mode); break;
	default: t = mpfr_sqrt(r, x[0], mode); break;
	}
	mpfr_subnormalize(r, t, mode);
	mpfr_set_emin(-100000);
	mpfr_set_emax(100000);
	uint64_t bits = bits_of(f, r, 0, mode);
	mpfr_clears(r, x[0], x[1], x[2], NULL);
	return bits;
}

static uint64_t got_f32(enum op op, const double *v, uint32_t mode)
{
	float a = (float)v[0], b = (float)v[1], c = (float)v[2], r;

	switch (op) {
	case ADD: r = ct_add_f32(a, b, mode); break;
	case MUL: r = ct_mul_f32(a, b, mode); break;
	case FMA: r = ct_fma_f32(a, b, c, mode); break;
	case DIV: r = ct_div_f32(a, b, mode); break;
	default: r = ct_sqrt_f32(a, mode); break;
	}
	return r != r ? UINT64_MAX : f32_bits(r);
}

static uint64_t got_f64(enum op op, const double *v, uint32_t mode)
{
	double r;

	switch (op) {
	case ADD: r = ct_add_f64(v[0], v[1], mode); break;
	case MUL: r = ct_mul_f64(v[0], v[1], mode); break;
	case FMA: r = ct_fma_f64(v[0], v[1], v[2], mode); break;
	case DIV: r = ct_div_f64(v[0], v[1], mode); break;
	default: r = ct_sqrt_f64(v[0], mode); break;
	}
	return r != r ? UINT64_MAX : f64_bits(r);
}

static void check_operation(enum op op, struct format f, uint64_t (*got)(enum op, const double *, uint32_t))
{
	unsigned wrong = 0;

	for (unsigned n = 0; n < RANDOM; n++) {
		uint64_t u[3] = {operand(f, next())};
		double v[3];
		u[1] = operand(f, u[0]);
		u[2] = operand(f, n & 1 ? u[0] : u[1]);
		for (unsigned k = 0; k < 3; k++)
			v[k] = f.mantissa == 52 ? f64_of(u[k]) : (double)f32_of((uint32_t)u[k]);
		/* sums that cancel: c near -(a * b) */
		if (op == FMA && n % 4 == 3)
			v[2] = f.mantissa == 52 ? -(v[0] * v[1]) : (double)-(float)(v[0] * v[1]);
		uint32_t m = n % MODES;
		uint64_t want = expected(op, f, v, modes[m].mpfr), have = got(op, v, modes[m].mode);
		if (want != have && !wrong++)
			print_error("%s.%s %a %a %a gives %llx, not %llx\n", op_names[op], modes[m].name,
				    v[0], v[1], v[2], (unsigned long long)have, (unsigned long long)want);
	}
	assert_int_equal(wrong, 0);
}

static void arithmetic_of_f32(void **unused)
{
	(void)unused;
	for (enum op op = 0; op < OPS; op++)
		check_operation(op, f32, got_f32);
}

static void arithmetic_of_f64(void **unused)
{
	(void)unused;
	for (enum op op = 0; op < OPS; op++)
		check_operation(op, f64, got_f64);
}

/* Divisors whose significand is all ones. */
static void quotients_by_ones(void **unused)
{
	(void)unused;
	for (unsigned n = 0; n < RANDOM; n++) {
		uint64_t a = operand(f64, next()), b = operand(f64, a) | ((1ull << 52) - 1);
		double v[3] = {f64_of(a), f64_of(b), 0};
		double r = ct_quotient(v[0], v[1]);
		uint64_t want = expected(DIV, f64, v, MPFR_RNDN), have = r != r ? UINT64_MAX : f64_bits(r);
		if (want != have)
			fail_msg("%a / %a is %a", v[0], v[1], r);
	}
}

static double bf16_value(uint64_t bits)
{
	return (double)f32_of((uint32_t)bits << 16);
}

static uint64_t got_bf16(enum op op, const double *v)
{
	uint32_t r = op == MUL   ? ct_mul_bf16((float)v[0], (float)v[1])
		     : op == FMA ? ct_fma_bf16((float)v[0], (float)v[1], (float)v[2])
				 : ct_bf16((float)(v[0] + v[1]));

	return (r & 0x7fff) > 0x7f80 ? UINT64_MAX : r;
}

static void arithmetic_of_bf16(void **unused)
{
	(void)unused;
	for (unsigned n = 0; n < 4 * RANDOM; n++) {
		uint64_t a = operand(bf16, next()), b = operand(bf16, a), c = operand(bf16, n & 1 ? a : b);
		double v[3] = {bf16_value(a), bf16_value(b), bf16_value(c)};
		/* a product that lies between two of bf16, and something small */
		if (n % 4 == 3) {
			v[0] = bf16_value((a & 0xff80) | 0x40);
			v[1] = bf16_value((b & 0xff80) | (b & 0x3f) | 1);
		}
		enum op op = n % 3;
		uint64_t want = expected(op, bf16, v, MPFR_RNDN), have = got_bf16(op, v);
		if (want != have)
			fail_msg("%s.bf16 %a %a %a gives %llx, not %llx", op_names[op], v[0], v[1], v[2],
				 (unsigned long long)have, (unsigned long long)want);
	}
}

static void f64_to_f32(void **unused)
{
	(void)unused;
	for (unsigned n = 0; n < RANDOM; n++) {
		double v = f64_of(operand(f64, next()));
		if (n & 1) /* within f32's range */
			v = (double)f32_of((uint32_t)operand(f32, next())) *
			    (1 + (double)(next() % 8) * 0x1p-30);
		mpfr_t x;
		mpfr_init2(x, 53);
		mpfr_set_d(x, v, MPFR_RNDN);
		uint64_t want = bits_of(f32, x, 0, modes[n % MODES].mpfr);
		float r = ct_f32_of_f64(v, modes[n % MODES].mode);
		if (r == r ? f32_bits(r) != want : want != UINT64_MAX)
			fail_msg("cvt.%s.f32.f64 %a gives %a", modes[n % MODES].name, v, (double)r);
		/* to odd, and on to bf16 */
		want = bits_of(bf16, x, 0, MPFR_RNDN);
		uint32_t narrow = ct_narrow(ct_odd_f32(v), CT_BF16, CT_RN, 0);
		if (v == v && narrow != want)
			fail_msg("bf16 of %a is %x, not %llx", v, narrow, (unsigned long long)want);
		mpfr_clear(x);
	}
}

static void integers(void **unused)
{
	(void)unused;
	for (unsigned n = 0; n < RANDOM; n++) {
		uint64_t v = next() >> (n / 8) % 64, m = n % MODES;
		mpfr_t x;
		mpfr_init2(x, 64);
		mpfr_set_uj(x, v, MPFR_RNDN);
		assert_true(f64_bits(ct_f64_of_u64(v, modes[m].mode)) == bits_of(f64, x, 0, modes[m].mpfr));
		assert_true(f32_bits(ct_f32_of_f64(ct_odd_f64_of_u64(v), modes[m].mode)) ==
			    bits_of(f32, x, 0, modes[m].mpfr));
		mpfr_set_sj(x, (int64_t)v, MPFR_RNDN);
		assert_true(f64_bits(ct_f64_of_s64((int64_t)v, modes[m].mode)) ==
			    bits_of(f64, x, 0, modes[m].mpfr));
		assert_true(f32_bits(ct_f32_of_f64(ct_odd_f64_of_s64((int64_t)v), modes[m].mode)) ==
			    bits_of(f32, x, 0, modes[m].mpfr));
		mpfr_clear(x);
	}
}

static const struct {
	const char *name;
	uint32_t format;
	const struct format *layout;
	uint32_t largest, infinity, nan; /* infinity 0: none */
} narrow_formats[] = {
	{"f16", CT_F16, &f16, 0x7bff, 0x7c00, 0x7fff},
	{"bf16", CT_BF16, &bf16, 0x7f7f, 0x7f80, 0x7fff},
	{"tf32", CT_TF32, &tf32, 0x3fbff, 0x3fc00, 0x3ffff},
	{"e4m3", CT_E4M3, &e4m3, 0x7e, 0, 0x7f},
	{"e5m2", CT_E5M2, &e5m2, 0x7b, 0x7c, 0x7f},
	{"e2m1", CT_E2M1, &e2m1, 0x7, 0, 0},
	{"e2m3", CT_E2M3, &e2m3, 0x1f, 0, 0},
	{"e3m2", CT_E3M2, &e3m2, 0x1f, 0, 0},
};
enum { FORMATS = sizeof(narrow_formats) / sizeof(narrow_formats[0]) };

/* Of a finite v. Formats without infinities use the encodings of their largest exponent for numbers: MPFR rounds with one bit
 * of exponent more, and what is above the largest number becomes it. */
static uint32_t narrow_expected(unsigned k, float v, unsigned m)
{
	struct format f = *narrow_formats[k].layout;
	uint32_t largest = narrow_formats[k].largest, r, sign = f32_bits(v) >> 31;
	bool away = modes[m].mode == CT_RN || modes[m].mode == (sign ? CT_RM : CT_RP);
	mpfr_t x, unit;

	mpfr_init2(x, 24);
	mpfr_init2(unit, 64);
	mpfr_set_flt(x, v, MPFR_RNDN);
	mpfr_abs(x, x, MPFR_RNDN);
	/* the unit of the last place: 2^(max(e, least) - mantissa) */
	long least = 2 - (1l << (f.exponent - 1)), e = mpfr_zero_p(x) ? least : mpfr_get_exp(x) - 1;
	e = e < least ? least : e;
	mpfr_mul_2si(unit, x, (long)f.mantissa - e, MPFR_RNDN);
	mpfr_rnd_t mode = modes[m].mode == CT_RN ? MPFR_RNDN : away ? MPFR_RNDU : MPFR_RNDD;
	mpfr_rint(unit, unit, mode == MPFR_RNDN ? MPFR_RNDN : mode);
	r = (uint32_t)mpfr_get_uj(unit, MPFR_RNDN);
	bool above = e - least > 300;
	r += above ? 0 : (uint32_t)(e - least) << f.mantissa;
	if (above || r > largest)
		r = narrow_formats[k].infinity && away ? narrow_formats[k].infinity : largest;
	mpfr_clears(x, unit, NULL);
	return sign << (f.exponent + f.mantissa) | r;
}

static void narrow(void **unused)
{
	(void)unused;
	for (unsigned n = 0; n < 4 * RANDOM; n++) {
		unsigned k = n % FORMATS, m = n / FORMATS % MODES;
		struct format f = *narrow_formats[k].layout;
		/* near the format's own values: few bits below its last place */
		uint32_t pattern = (uint32_t)operand(f32, next());
		if (n & 64) {
			long bias = (1l << (f.exponent - 1)) - 1;
			uint32_t e = (uint32_t)(127 - bias + (long)(next() % (1ull << f.exponent)) - 6) & 255;
			pattern = (pattern & 0x807fffff) | e << 23;
			pattern &= ~0u << (20 - f.mantissa);
		}
		float v = f32_of(pattern);
		uint32_t got = ct_narrow(v, narrow_formats[k].format, modes[m].mode,
					 narrow_formats[k].infinity ? 0 : CT_SATFINITE);
		if (narrow_formats[k].format == CT_TF32) {
			assert_true(v != v || !(got & 0x1fff));
			got >>= 13;
		}
		if (v != v || v - v != 0)
			continue;
		uint32_t want = narrow_expected(k, v, m);
		if (got != want)
			fail_msg("%s.%s of %a is %x, not %x", narrow_formats[k].name, modes[m].name,
				 (double)v, got, want);
	}
}

static const struct {
	float v;
	uint32_t format, mode, flags, want;
} specials[] = {
	{__builtin_nanf(""), CT_F16, CT_RN, CT_RELU, 0x7fff},
	{__builtin_nanf(""), CT_E4M3, CT_RN, CT_SATFINITE, 0x7f},
	{__builtin_nanf(""), CT_E2M1, CT_RN, CT_SATFINITE, 0x7},
	{__builtin_nanf(""), CT_TF32, CT_RNA, 0, 0x7fffffff},
	{__builtin_inff(), CT_F16, CT_RZ, 0, 0x7c00},
	{-__builtin_inff(), CT_F16, CT_RZ, CT_SATFINITE, 0xfbff},
	{-__builtin_inff(), CT_BF16, CT_RN, CT_RELU, 0},
	{__builtin_inff(), CT_E4M3, CT_RN, CT_SATFINITE, 0x7e},
	{-1e9f, CT_E5M2, CT_RN, CT_SATFINITE, 0xfb},
	{-0.0f, CT_F16, CT_RN, CT_RELU, 0},
	{-0.0f, CT_F16, CT_RN, 0, 0x8000},
	{1.00048828125f, CT_TF32, CT_RNA, 0, 0x3f802000}, /* 1 + 2^-11: half a unit, away from zero */
	{1.00048828125f, CT_TF32, CT_RN, 0, 0x3f800000},
	{3.0f, CT_UE8M0, CT_RZ, 0, 128},
	{3.0f, CT_UE8M0, CT_RP, 0, 129},
	{-2.0f, CT_UE8M0, CT_RP, 0, 128},
	{0.0f, CT_UE8M0, CT_RP, 0, 0},
	{0x1p-127f, CT_UE8M0, CT_RZ, 0, 0},
	{0x1.8p-127f, CT_UE8M0, CT_RP, 0, 1},
	{0x1.8p127f, CT_UE8M0, CT_RP, 0, 255},
	{0x1.8p127f, CT_UE8M0, CT_RP, CT_SATFINITE, 254},
	{__builtin_nanf(""), CT_UE8M0, CT_RZ, CT_SATFINITE, 255},
};

static void special_values(void **unused)
{
	(void)unused;
	for (size_t k = 0; k < sizeof(specials) / sizeof(specials[0]); k++) {
		uint32_t got =
			ct_narrow(specials[k].v, specials[k].format, specials[k].mode, specials[k].flags);
		if (got != specials[k].want)
			fail_msg("row %zu gives %x, not %x", k, got, specials[k].want);
	}
}

/* The values of OCP's formats (OCP MX 1.0, tables 1 to 5), and of a whole format against its own narrowing. */
static void widened(void **unused)
{
	(void)unused;
	assert_true(ct_widen(0x7e, CT_E4M3) == 448 && ct_widen(0x01, CT_E4M3) == 0x1p-9f);
	assert_true(ct_widen(0x7b, CT_E5M2) == 57344 && ct_widen(0x81, CT_E5M2) == -0x1p-16f);
	assert_true(ct_widen(0x7, CT_E2M1) == 6 && ct_widen(0x1, CT_E2M1) == 0.5f);
	assert_true(ct_widen(0x1f, CT_E2M3) == 7.5f && ct_widen(0x1, CT_E2M3) == 0.125f);
	assert_true(ct_widen(0x1f, CT_E3M2) == 28 && ct_widen(0x1, CT_E3M2) == 0.0625f);
	assert_true(ct_widen(0x7c, CT_E5M2) == __builtin_inff() &&
		    ct_widen(0xff, CT_E4M3) != ct_widen(0xff, CT_E4M3));
	assert_true(ct_widen(0, CT_UE8M0) == 0x1p-127f && ct_widen(254, CT_UE8M0) == 0x1p127f);
	for (unsigned k = 0; k < FORMATS; k++) {
		unsigned bits = 1 + narrow_formats[k].layout->exponent + narrow_formats[k].layout->mantissa;
		for (uint32_t v = 0; bits <= 8 && v < 1u << bits; v++) {
			float wide = ct_widen(v, narrow_formats[k].format);
			if (wide == wide && wide - wide == 0)
				assert_int_equal(
					ct_narrow(wide, narrow_formats[k].format, CT_RN, CT_SATFINITE), v);
		}
	}
}

/* tanh.approx: a relative error of 2^-11 (ISA 9.7.3.23); it is much smaller here. */
static void tanh_is_close(void **unused)
{
	mpfr_t x, r;

	(void)unused;
	mpfr_inits2(60, x, r, NULL);
	for (unsigned n = 0; n < RANDOM; n++) {
		float v = f32_of((uint32_t)operand(f32, next()));
		if (v != v || v == 0)
			continue;
		mpfr_set_flt(x, v, MPFR_RNDN);
		mpfr_tanh(r, x, MPFR_RNDN);
		double want = mpfr_get_d(r, MPFR_RNDN), error = ((double)ct_tanh(v) - want) / want;
		if (!(error < 0x1p-21 && error > -0x1p-21) && !(want == 0))
			fail_msg("tanh %a is %a", (double)v, (double)ct_tanh(v));
	}
	assert_true(f32_bits(ct_tanh(-0.0f)) == 0x80000000 && ct_tanh(-__builtin_inff()) == -1);
	assert_true(ct_tanh(__builtin_nanf("")) != ct_tanh(__builtin_nanf("")));
	mpfr_clears(x, r, NULL);
}

static void gross_reciprocals(void **unused)
{
	(void)unused;
	assert_true(f64_bits(ct_rcp_gross(3)) == 0x3fd5555500000000);
	assert_true(f64_bits(ct_rcp_gross(f64_of(0x8000000000000001))) == 0xfff0000000000000);
	assert_true(f64_bits(ct_rcp_gross(__builtin_nan(""))) == 0x7fffffff00000000);
	assert_true(f64_bits(ct_rcp_gross(-0x1p1023)) == 0x8000000000000000);
	assert_true(f64_bits(ct_rsqrt_gross(4)) == 0x3fe0000000000000);
	assert_true(f64_bits(ct_rsqrt_gross(-4)) == 0x7fffffff00000000);
}

/* The loop of the ISA's text (9.7.1.17). */
static uint32_t find_nth_set(uint32_t mask, uint32_t base, int32_t offset)
{
	int32_t pos = (int32_t)base, step = offset > 0 ? 1 : -1;
	int64_t count = offset > 0 ? offset : -(int64_t)offset;

	if (offset == 0)
		return mask >> base & 1 ? base : UINT32_MAX;
	for (; pos >= 0 && pos < 32; pos += step)
		if (mask >> pos & 1 && --count == 0)
			return (uint32_t)pos;
	return UINT32_MAX;
}

static void nth_set_bit(void **unused)
{
	(void)unused;
	for (unsigned n = 0; n < RANDOM; n++) {
		uint32_t mask = (uint32_t)next(), base = next() % 32;
		int32_t offset = (int32_t)(next() % 80) - 40;
		mask &= n & 1 ? (uint32_t)next() : UINT32_MAX;
		assert_int_equal(ct_fns(mask, base, offset), find_nth_set(mask, base, offset));
	}
	assert_int_equal(ct_fns(UINT32_MAX, 31, INT32_MIN), UINT32_MAX);
}

static double f16_value(uint64_t bits)
{
	double m = (double)(bits & 0x3ff);
	int e = bits >> 10 & 31;
	double v = e == 31 ? m ? NAN : INFINITY : e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);

	return bits >> 15 & 1 ? -v : v;
}

/* The lesser, -0 before +0; the number of two of which one is a NaN (9.7.13.5: as min and max do). */
static uint64_t lesser(double (*value)(uint64_t), uint64_t x, uint64_t y)
{
	double a = value(x), b = value(y);

	if (a != a || b != b)
		return a == a ? x : b == b ? y : 0x7fff;
	return a < b || (a == b && signbit(a)) ? x : y;
}

/* The value that has -x for x: minima of it are maxima. */
static double (*negated_value)(uint64_t);
static double negated(uint64_t bits)
{
	return -negated_value(bits);
}

static void check_half(const char *name, uint32_t got, uint64_t want, uint32_t x, uint32_t y)
{
	want = want == UINT64_MAX ? 0x7fff : want; /* the NaN of arithmetic */
	if (got != want)
		fail_msg("%s %08x %08x gives %x, not %llx", name, x, y, got, (unsigned long long)want);
}

/* Functions of pairs of halves. */
static void check_pairs(struct format f, double (*value)(uint64_t),
			uint32_t (*const got[3])(uint32_t, uint32_t))
{
	static const char *const names[] = {"add", "min", "max"};

	for (unsigned n = 0; n < RANDOM; n++) {
		uint32_t x = 0, y = 0;
		for (unsigned half = 0; half < 2; half++) {
			uint64_t a = operand(f, next());
			x |= (uint32_t)a << 16 * half;
			y |= (uint32_t)operand(f, a) << 16 * half;
		}
		for (unsigned k = 0; k < 3; k++) {
			uint32_t r = got[k](x, y);
			for (unsigned at = 0; at < 32; at += 16) {
				uint64_t a = x >> at & 0xffff, b = y >> at & 0xffff;
				double v[3] = {value(a), value(b), 0};
				negated_value = value;
				check_half(names[k], r >> at & 0xffff,
					   k == 0   ? expected(ADD, f, v, MPFR_RNDN)
					   : k == 1 ? lesser(value, a, b)
						    : lesser(negated, a, b),
					   x, y);
			}
		}
	}
}

static void atomics_of_halves(void **unused)
{
	(void)unused;
	check_pairs(f16, f16_value,
		    (uint32_t(*const[])(uint32_t, uint32_t)){ct_atomic_add_f16x2, ct_atomic_min_f16x2,
							     ct_atomic_max_f16x2});
	check_pairs(bf16, bf16_value,
		    (uint32_t(*const[])(uint32_t, uint32_t)){ct_atomic_add_bf16x2, ct_atomic_min_bf16x2,
							     ct_atomic_max_bf16x2});
}

static float flushed(float v)
{
	return fabsf(v) < 0x1p-126f ? copysignf(0, v) : v;
}

static void atomic_sums_of_f32(void **unused)
{
	(void)unused;
	for (unsigned n = 0; n < RANDOM; n++) {
		uint32_t a = (uint32_t)operand(f32, next()), b = (uint32_t)operand(f32, a);
		bool flush = n & 1;
		float x = f32_of(a), y = f32_of(b);
		volatile float sum = (flush ? flushed(x) : x) + (flush ? flushed(y) : y);
		uint32_t want = sum != sum ? 0x7fffffff : f32_bits(flush ? flushed(sum) : sum);
		assert_int_equal(ct_atomic_sum_f32(a, b, flush), want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(arithmetic_of_f32),
					   cmocka_unit_test(arithmetic_of_f64),
					   cmocka_unit_test(quotients_by_ones),
					   cmocka_unit_test(arithmetic_of_bf16),
					   cmocka_unit_test(f64_to_f32),
					   cmocka_unit_test(integers),
					   cmocka_unit_test(narrow),
					   cmocka_unit_test(special_values),
					   cmocka_unit_test(widened),
					   cmocka_unit_test(tanh_is_close),
					   cmocka_unit_test(gross_reciprocals),
					   cmocka_unit_test(nth_set_bit),
					   cmocka_unit_test(atomics_of_halves),
					   cmocka_unit_test(atomic_sums_of_f32)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
