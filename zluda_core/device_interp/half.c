/* SPDX-License-Identifier: Apache-2.0
 *
 * The general rounding routine behind the rarer conversions and the small
 * formats. Formats: IEEE 754 for f16 and f32; OCP 8-bit, 6-bit and 4-bit floats
 * (OCP MX 1.0, section 5.3); bf16 and tf32 as in the PTX ISA, 5.2.3.
 */
#include "zluda_core/device_interp/half.h"

#include <math.h>

const struct float_format float_formats[FMT_COUNT] = {
	[FMT_F16] = {5, 10, true, true, 0x7fff},      [FMT_BF16] = {8, 7, true, true, 0x7fff},
	[FMT_TF32] = {8, 10, true, true, 0x7fffffff}, [FMT_F32] = {8, 23, true, true, 0x7fffffff},
	[FMT_E4M3] = {4, 3, false, true, 0x7f},       [FMT_E5M2] = {5, 2, true, true, 0x7f},
	[FMT_E2M1] = {2, 1, false, false, 0x7},       [FMT_E2M3] = {2, 3, false, false, 0x1f},
	[FMT_E3M2] = {3, 2, false, false, 0x1f},
};

/* Does the part below the unit (half: the first dropped bit; rest: anything below it) round up the magnitude?
 */
static bool round_up(bool sign, bool odd, bool half, bool rest, unsigned rnd)
{
	switch (rnd) {
	case PTX_RZ:
	case PTX_RZI: return false;
	case PTX_RM:
	case PTX_RMI: return sign && (half || rest);
	case PTX_RP:
	case PTX_RPI: return !sign && (half || rest);
	case PTX_RNA: return half;
	default: return half && (rest || odd);
	}
}

/* Shifts the significand right by n with rounding. */
static uint64_t shift_round(const struct big_float *v, int n, unsigned rnd)
{
	if (n <= 0)
		return v->sig << -n;
	if (n > 64)
		return round_up(v->sign, false, false, v->sig || v->sticky, rnd);
	uint64_t kept = n == 64 ? 0 : v->sig >> n;
	bool half = v->sig >> (n - 1) & 1;
	bool rest = (v->sig & ((1ull << (n - 1)) - 1)) || v->sticky;

	return kept + round_up(v->sign, kept & 1, half, rest, rnd);
}

static bool overflow_to_max(bool sign, unsigned rnd)
{
	return rnd == PTX_RZ || (rnd == PTX_RM && !sign) || (rnd == PTX_RP && sign);
}

/* Exponent and mantissa bits as one number; a carry out of the mantissa goes into the exponent by itself. */
static uint64_t pack(int exp_bits, int man_bits, const struct big_float *v, unsigned rnd)
{
	int bias = (1 << (exp_bits - 1)) - 1, top = 63 - __builtin_clzll(v->sig);
	int e = v->exp + top; /* value = 1.xxx * 2^e */
	int emin = 1 - bias;

	if (e < emin)
		return shift_round(v, emin - man_bits - v->exp,
				   rnd); /* subnormal: unit 2^(emin - man_bits) */
	if (e > bias + 2)
		return UINT64_MAX;
	return shift_round(v, top - man_bits, rnd) + ((uint64_t)(e - emin) << man_bits);
}

uint32_t float_pack(const struct float_format *f, const struct big_float *v, unsigned rnd, bool satfinite)
{
	uint32_t sign = (uint32_t)v->sign << (f->exp_bits + f->man_bits);
	uint32_t inf = ((1u << f->exp_bits) - 1) << f->man_bits;
	uint32_t max = f->has_inf ? inf - 1 : (1u << (f->exp_bits + f->man_bits)) - (f->has_nan ? 2 : 1);

	if (!v->sig)
		return sign | (v->sticky && round_up(v->sign, false, false, true, rnd));
	uint64_t r = pack(f->exp_bits, f->man_bits, v, rnd);

	if (r <= max)
		return sign | (uint32_t)r;
	if (satfinite || !f->has_nan || overflow_to_max(v->sign, rnd))
		return sign | max;
	return f->has_inf ? sign | inf : f->nan | sign;
}

uint64_t float_pack64(const struct big_float *v, unsigned rnd)
{
	uint64_t sign = (uint64_t)v->sign << 63, inf = 0x7ffull << 52;

	if (!v->sig)
		return sign;
	uint64_t r = pack(11, 52, v, rnd);

	if (r < inf)
		return sign | r;
	return sign | (overflow_to_max(v->sign, rnd) ? inf - 1 : inf);
}

struct big_float big_from_f64(double d)
{
	uint64_t u = f64_bits(d), man = u & ((1ull << 52) - 1);
	int e = (int)(u >> 52 & 0x7ff);

	return (struct big_float){
		.sign = u >> 63, .sig = e ? man | 1ull << 52 : man, .exp = (e ? e : 1) - 1075};
}

uint32_t float_round(enum small_format f, double v, unsigned rnd, bool satfinite)
{
	const struct float_format *fmt = &float_formats[f];

	if (v != v)
		return fmt->nan;
	if (isinf(v)) {
		struct big_float big = {.sign = v < 0, .sig = 1, .exp = 2000};
		return float_pack(fmt, &big, PTX_RN, satfinite);
	}
	struct big_float big = big_from_f64(v);
	uint32_t r = float_pack(fmt, &big, rnd, satfinite);

	return r;
}

double float_value(enum small_format f, uint32_t bits)
{
	const struct float_format *fmt = &float_formats[f];
	uint32_t man = bits & ((1u << fmt->man_bits) - 1), top = (1u << fmt->exp_bits) - 1;
	uint32_t e = bits >> fmt->man_bits & top;
	bool sign = bits >> (fmt->man_bits + fmt->exp_bits) & 1;
	int bias = (1 << (fmt->exp_bits - 1)) - 1;
	double r;

	if (e == top && fmt->has_inf)
		r = man ? NAN : INFINITY;
	else if (e == top && fmt->has_nan && man == (1u << fmt->man_bits) - 1)
		r = NAN;
	else if (e)
		r = ldexp((double)(man | 1u << fmt->man_bits), (int)e - bias - fmt->man_bits);
	else
		r = ldexp((double)man, 1 - bias - fmt->man_bits);
	return sign ? -r : r;
}
