/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic rounded towards zero, down or up (.rz, .rm, .rp; PTX ISA 9.7.3). The mode of AMD's hardware is the wave's,
 * not the instruction's, and stays "to nearest": the nearest result is found first, then on which side of it the exact
 * one lies, and the neighbour is taken where the mode says so.
 */
#include "zluda_core/compiler/device_library/float_parts.h"

/* Whether the mode rounds results of this sign away from zero. */
static bool rounds_away(bool negative, uint32_t mode)
{
	return mode == (negative ? CT_RM : CT_RP);
}

/* r is nearest to the exact result, which is farther from zero or nearer to it. Infinity's neighbour is the largest
 * finite number, zero's the smallest one with zero's sign. */
static float directed_f32(float r, bool farther, bool nearer, uint32_t mode)
{
	uint32_t bits = f32_bits(r);
	bool away = rounds_away(bits >> 31, mode);

	if (mode == CT_RN)
		return r;
	return f32_of(bits + (away && farther) - (!away && nearer));
}

static double directed_f64(double r, bool farther, bool nearer, uint32_t mode)
{
	uint64_t bits = f64_bits(r);
	bool away = rounds_away(bits >> 63, mode);

	if (mode == CT_RN)
		return r;
	return f64_of(bits + (away && farther) - (!away && nearer));
}

/* An exact zero as the sum of operands with these signs is -0 in .rm, but for +0 + +0 (IEEE 754, 6.3). */
static float zero_sum(float a, float b, float sum, uint32_t mode)
{
	return sum == 0 && mode == CT_RM ? f32_of((f32_bits(a) | f32_bits(b)) & 0x80000000) : sum;
}

/* A sum's error is a number of the same format, and none only when the sum overflows. */
float ct_add_f32(float a, float b, uint32_t mode)
{
	float sum = a + b, error = sum_error_f32(a, b, sum);
	bool overflow = is_finite((double)a) && is_finite((double)b) && !is_finite((double)sum);
	bool farther = sum > 0 ? error > 0 : error<0, nearer = sum> 0 ? error < 0 : error > 0;

	return zero_sum(a, b, directed_f32(sum, farther, overflow || nearer, mode), mode);
}

float ct_sub_f32(float a, float b, uint32_t mode)
{
	return ct_add_f32(a, -b, mode);
}

/* v is exact, or rounded to odd. */
float ct_f32_of_f64(double v, uint32_t mode)
{
	float r = (float)v;
	double have = __builtin_fabs((double)r), want = __builtin_fabs(v);

	return directed_f32(r, have<want, have> want, mode);
}

float ct_odd_f32(double v)
{
	float r = ct_f32_of_f64(v, CT_RZ);

	return f32_of(f32_bits(r) | ((double)r != v && v == v));
}

float ct_mul_f32(float a, float b, uint32_t mode)
{
	return ct_f32_of_f64((double)a * (double)b, mode);
}

float ct_fma_f32(float a, float b, float c, uint32_t mode)
{
	double product = (double)a * (double)b, sum = odd_sum(product, (double)c);

	if (sum == 0 && mode == CT_RM)
		return f32_of((uint32_t)(f64_bits(product) >> 32 | f32_bits(c)) & 0x80000000);
	return ct_f32_of_f64(sum, mode);
}

/* The quotient times the divisor is exact in f64. */
float ct_div_f32(float a, float b, uint32_t mode)
{
	float q = a / b;
	double have = __builtin_fabs((double)q * (double)b), want = __builtin_fabs((double)a);

	return directed_f32(q, have<want, have> want, mode);
}

float ct_sqrt_f32(float a, uint32_t mode)
{
	float r = __builtin_sqrtf(a);
	double have = (double)r * (double)r;

	return directed_f32(r, have<(double)a, have>(double) a, mode);
}

double ct_add_f64(double a, double b, uint32_t mode)
{
	double sum = a + b, error = sum_error(a, b, sum);
	bool overflow = is_finite(a) && is_finite(b) && !is_finite(sum);
	bool farther = sum > 0 ? error > 0 : error<0, nearer = sum> 0 ? error < 0 : error > 0;

	if (sum == 0 && mode == CT_RM)
		return f64_of((f64_bits(a) | f64_bits(b)) & 1ull << 63);
	return directed_f64(sum, farther, overflow || nearer, mode);
}

/* A NaN stays as it is. */
double ct_sub_f64(double a, double b, uint32_t mode)
{
	return b != b ? b + a : ct_add_f64(a, -b, mode);
}

/* ---- f64 products, quotients, roots: compared with the exact result where nothing under- or overflows */

/* v = scaled * 2^exponent with 1 <= |scaled| < 2; 0 is itself. */
static double scaled(double v, int *exponent)
{
	bool subnormal = __builtin_fabs(v) < 0x1p-1022;
	uint64_t bits = f64_bits(subnormal ? v * 0x1p54 : v);

	*exponent = (int)(bits >> 52 & 2047) - (subnormal ? 1023 + 54 : 1023);
	return v == 0 ? v : f64_of((bits & ~(2047ull << 52)) | 1023ull << 52);
}

/* Which of |r| and the exact |result| = |r| - difference * sign(r) is farther from zero; difference = r - result. */
static double by_difference(double r, double difference, uint32_t mode)
{
	bool positive = !(f64_bits(r) >> 63);

	return directed_f64(r, positive ? difference < 0 : difference > 0,
			    positive ? difference > 0 : difference < 0, mode);
}

enum { FAR = 300 }; /* binary places: what lies so far below decides only by its sign */

/* v * 2^-e of a nonzero term, not less than 2^-FAR. */
static double term(double v, int exponent)
{
	return exponent < -FAR ? __builtin_copysign(0x1p-300, v) : __builtin_ldexp(v, exponent);
}

/* The sign of the sum of four: an expansion grows by one term after the other (Shewchuk, "Adaptive Precision
 * Floating-Point Arithmetic", 1997, GROW-EXPANSION); its largest part that isn't zero has the sum's sign. */
static double sign_of_sum(const double terms[4])
{
	double parts[4] = {terms[0]};
	double sign = 0;

	for (int n = 1; n < 4; n++) {
		double carried = terms[n];
		for (int k = 0; k < n; k++) {
			double sum = carried + parts[k];
			parts[k] = sum_error(carried, parts[k], sum);
			carried = sum;
		}
		parts[n] = carried;
	}
	for (int k = 0; k < 4; k++)
		sign = parts[k] != 0 ? parts[k] : sign;
	return sign;
}

/* r - (a * b + c), up to a positive factor; all are finite, a and b not zero. */
static double fma_difference(double a, double b, double c, double r)
{
	int ea, eb, ec, er;
	double ma = scaled(a, &ea), mb = scaled(b, &eb), mc = scaled(c, &ec), mr = scaled(r, &er);
	double product = ma * mb, error = __builtin_fma(ma, mb, -product);
	int top = c != 0 && ec > ea + eb ? ec : ea + eb, shift = ea + eb - top;
	const double terms[4] = {shift < -FAR ? 0 : __builtin_ldexp(error, shift), term(product, shift),
				 c != 0 ? term(mc, ec - top) : 0,
				 r != 0 ? -__builtin_ldexp(mr, er - top) : 0};

	return -sign_of_sum(terms);
}

double ct_mul_f64(double a, double b, uint32_t mode)
{
	double r = a * b;

	if (mode == CT_RN || a == 0 || b == 0 || !is_finite(a) || !is_finite(b))
		return r;
	if (!is_finite(r))
		return directed_f64(r, false, true, mode);
	return by_difference(r, fma_difference(a, b, 0, r), mode);
}

double ct_fma_f64(double a, double b, double c, uint32_t mode)
{
	double r = __builtin_fma(a, b, c), difference;

	if (mode == CT_RN || !is_finite(a) || !is_finite(b) || !is_finite(c))
		return r;
	if (!is_finite(r))
		return directed_f64(r, false, true, mode);
	difference = a == 0 || b == 0 ? 0 : fma_difference(a, b, c, r);
	if (r == 0 && difference == 0 && mode == CT_RM)
		return f64_of(((f64_bits(a) ^ f64_bits(b)) | f64_bits(c)) & 1ull << 63);
	return by_difference(r, difference, mode);
}

double ct_div_f64(double a, double b, uint32_t mode)
{
	double r = a / b;
	int ea, eb, er;

	if (mode == CT_RN || a == 0 || b == 0 || !is_finite(a) || !is_finite(b))
		return r;
	if (r == 0 || !is_finite(r))
		return directed_f64(r, r == 0, r != 0, mode);
	double ma = scaled(a, &ea), mb = scaled(b, &eb), mr = scaled(r, &er);
	double remainder =
		__builtin_fma(mr, mb, -__builtin_ldexp(ma, ea - eb - er)); /* (r - a / b) * b, scaled */
	return by_difference(r, mb < 0 ? -remainder : remainder, mode);
}

double ct_sqrt_f64(double a, uint32_t mode)
{
	double r = __builtin_sqrt(a);
	int ea, er;

	if (mode == CT_RN || !(a > 0) || !is_finite(a))
		return r;
	double ma = scaled(a, &ea), mr = scaled(r, &er);
	return by_difference(r, __builtin_fma(mr, mr, -__builtin_ldexp(ma, ea - 2 * er)), mode);
}

/* a / b for a divisor of 1.11...1 * 2^e: a * 2^-(e+1) * (1 + 2^-53 + 2^-106 ...), or 4 * significand + 3 with a bit for
 * what is smaller, rounded once. */
static double quotient_by_ones(double a, double b)
{
	int ea, eb;
	uint64_t significand = (f64_bits(scaled(a, &ea)) & ((1ull << 52) - 1)) | 1ull << 52;
	uint64_t v = 4 * significand + 3, sign = (f64_bits(a) ^ f64_bits(b)) & 1ull << 63;

	scaled(b, &eb);
	int exponent = ea - eb - 1 + 1023, drop = exponent > 0 ? 2 : 3 - exponent;
	drop = drop > 62 ? 62 : drop;
	uint64_t kept = v >> drop, rest = v & ((1ull << drop) - 1), half = 1ull << (drop - 1);
	kept += rest > half || (rest == half && kept & 1);
	kept += exponent > 0 ? (uint64_t)(exponent - 1) << 52 : 0;
	return f64_of(sign | (kept > 2047ull << 52 ? 2047ull << 52 : kept));
}

/* The steps that LLVM makes of a division end in the nearest quotient, unless the divisor's significand is all ones: its
 * reciprocal lies so near to the middle of two numbers that the steps miss it (Markstein, "Computation of Elementary
 * Functions on the IBM RISC System/6000 Processor", 1990). */
double ct_quotient(double a, double b)
{
	const uint64_t ones = (1ull << 52) - 1;
	bool normal = is_finite(b) && __builtin_fabs(b) >= 0x1p-1022;

	if ((f64_bits(b) & ones) == ones && normal && is_finite(a) && a != 0)
		return quotient_by_ones(a, b);
	return a / b;
}

/* ---- integers of 64 bits: their halves are exact */

double ct_odd_f64_of_u64(uint64_t v)
{
	return odd_sum((double)(uint32_t)(v >> 32) * 0x1p32, (double)(uint32_t)v);
}

double ct_odd_f64_of_s64(int64_t v)
{
	return odd_sum((double)(int32_t)(v >> 32) * 0x1p32, (double)(uint32_t)v);
}

/* 0 is +0 in every mode. */
double ct_f64_of_u64(uint64_t v, uint32_t mode)
{
	return v ? ct_add_f64((double)(uint32_t)(v >> 32) * 0x1p32, (double)(uint32_t)v, mode) : 0;
}

double ct_f64_of_s64(int64_t v, uint32_t mode)
{
	return v ? ct_add_f64((double)(int32_t)(v >> 32) * 0x1p32, (double)(uint32_t)v, mode) : 0;
}
