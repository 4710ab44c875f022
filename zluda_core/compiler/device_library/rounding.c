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

/* The same for an exact result that an f64 holds, or holds rounded to odd. */
static float narrowed(double v, uint32_t mode)
{
	float r = (float)v;
	double have = __builtin_fabs((double)r), want = __builtin_fabs(v);

	return directed_f32(r, have<want, have> want, mode);
}

/* A sum of zero is -0 in .rm, but for +0 + +0 (IEEE 754, 6.3). */
static float zero_sum(float a, float b, float sum, uint32_t mode)
{
	return sum == 0 && mode == CT_RM ? f32_of((f32_bits(a) | f32_bits(b)) & 0x80000000) : sum;
}

/* The error of a sum is a number of the same format (Knuth, TAOCP 2, 4.2.2, theorem B). It is none only when the sum
 * overflows. */
float ct_add_f32(float a, float b, uint32_t mode)
{
	float sum = a + b, t = sum - a, error = (a - (sum - t)) + (b - t);
	bool positive = sum > 0, overflow = error != error && sum == sum;

	overflow =
		overflow && __builtin_fabsf(a) != __builtin_inff() && __builtin_fabsf(b) != __builtin_inff();
	return zero_sum(a, b,
			directed_f32(sum, positive ? error > 0 : error < 0,
				     overflow || (positive ? error < 0 : error > 0), mode),
			mode);
}

float ct_mul_f32(float a, float b, uint32_t mode)
{
	return narrowed((double)a * (double)b, mode);
}

/* To odd: what is lost of the sum is still seen when it is rounded again. */
static double odd_sum(double a, double b)
{
	double sum = a + b, t = sum - a, error = (a - (sum - t)) + (b - t);
	uint64_t bits = f64_bits(sum);

	if (!(error < 0) && !(error > 0))
		return sum;
	return f64_of(bits & 1 ? bits : (error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

float ct_fma_f32(float a, float b, float c, uint32_t mode)
{
	double product = (double)a * (double)b, sum = odd_sum(product, c);

	if (sum == 0 && mode == CT_RM)
		return f32_of((uint32_t)(f64_bits(product) >> 32 | f32_bits(c)) & 0x80000000);
	return narrowed(sum, mode);
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
