/* SPDX-License-Identifier: Apache-2.0
 *
 * bf16 by way of f32, which has its exponents and 16 bits more: PTX ISA 9.7.4. Rounding twice is wrong only where the
 * first result lies exactly between two of bf16; there the exact one is looked at.
 */
#include "zluda_core/compiler/device_library/float_parts.h"

enum { NAN_BF16 = 0x7fff };

/* To nearest even. */
uint32_t ct_bf16(float v)
{
	uint32_t bits = f32_bits(v);

	return v != v ? NAN_BF16 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static bool lies_between(float v)
{
	return (f32_bits(v) & 0xffff) == 0x8000;
}

/* sum = product + c, rounded to f32; the one of them that is larger less the sum is exact. */
static float towards_exact(float sum, double product, double c)
{
	double first = __builtin_fabs(product) > __builtin_fabs(c) ? product : c;
	double error = (first - (double)sum) + (first == product ? c : product);
	uint32_t bits = f32_bits(sum);

	if (!(error < 0) && !(error > 0))
		return sum;
	return f32_of((error < 0) == (bits >> 31) ? bits + 1 : bits - 1);
}

/* The product of two has 16 bits: f32 holds it but for subnormal ones. */
uint32_t ct_mul_bf16(float a, float b)
{
	float product = a * b;

	if (lies_between(product))
		product = towards_exact(product, (double)a * (double)b, 0);
	return ct_bf16(product);
}

uint32_t ct_fma_bf16(float a, float b, float c)
{
	float sum = __builtin_fmaf(a, b, c);

	if (lies_between(sum))
		sum = towards_exact(sum, (double)a * (double)b, (double)c);
	return ct_bf16(sum);
}
