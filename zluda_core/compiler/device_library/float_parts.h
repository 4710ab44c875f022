/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits of floating-point numbers, and sums that lose nothing, for the files of the device library.
 */
#ifndef CUTRACE_DEVICE_LIBRARY_FLOAT_PARTS_H
#define CUTRACE_DEVICE_LIBRARY_FLOAT_PARTS_H

#include "zluda_core/compiler/device_library/device_library.h"

static inline uint32_t f32_bits(float v)
{
	union {
		float f;
		uint32_t u;
	} x = {.f = v};
	return x.u;
}

static inline float f32_of(uint32_t bits)
{
	union {
		uint32_t u;
		float f;
	} x = {.u = bits};
	return x.f;
}

static inline uint64_t f64_bits(double v)
{
	union {
		double f;
		uint64_t u;
	} x = {.f = v};
	return x.u;
}

static inline double f64_of(uint64_t bits)
{
	union {
		uint64_t u;
		double f;
	} x = {.u = bits};
	return x.f;
}

/* Exact, and subnormals keep their value whatever the mode of f32. */
static inline double f64_of_f32_bits(uint32_t bits)
{
	double normal = (double)f32_of(bits), tiny = (double)(bits & 0x7fffff) * 0x1p-149;

	tiny = bits >> 31 ? -tiny : tiny;
	return bits & 0x7f800000 ? normal : tiny;
}

/* To nearest even, likewise. */
static inline uint32_t f32_bits_of_f64(double v)
{
	double size = __builtin_fabs(v);

	if (size < 0x1p-126)
		return (uint32_t)__builtin_rint(size * 0x1p149) | (uint32_t)(f64_bits(v) >> 32 & 0x80000000);
	return f32_bits((float)v);
}

static inline bool is_finite(double v)
{
	return __builtin_fabs(v) < __builtin_inf();
}

/* The error of a sum to nearest is a number of the same format (Dekker, "A Floating-Point Technique for Extending the Available
 * Precision", 1971). Nothing overflows but the sum itself; in Knuth's steps, which compare nothing, a difference does when an
 * operand is the largest number (Boldo, Graillat, Muller, "On the Robustness of the 2Sum and Fast2Sum Algorithms", 2017). */
static inline double sum_error(double a, double b, double sum)
{
	bool swap = __builtin_fabs(a) < __builtin_fabs(b);
	double larger = swap ? b : a, smaller = swap ? a : b;

	return smaller - (sum - larger);
}

static inline float sum_error_f32(float a, float b, float sum)
{
	bool swap = __builtin_fabsf(a) < __builtin_fabsf(b);
	float larger = swap ? b : a, smaller = swap ? a : b;

	return smaller - (sum - larger);
}

/* Rounded to odd: what the sum loses is still seen when it is rounded again, to a format with two bits less. */
static inline double odd_sum(double a, double b)
{
	double sum = a + b, error = sum_error(a, b, sum);
	uint64_t bits = f64_bits(sum);

	if (!(error < 0) && !(error > 0))
		return sum;
	return f64_of(bits & 1 ? bits : (error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

#endif
