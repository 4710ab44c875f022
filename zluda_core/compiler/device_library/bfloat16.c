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

/* exact: v with all its bits, or rounded to odd. v's rounding to f32 must not be rounded again. */
static uint32_t rounded_once(float v, double exact)
{
	return ct_bf16((double)v == exact || v != v ? v : ct_odd_f32(exact));
}

static bool lies_between(float v)
{
	return (f32_bits(v) & 0xffff) == 0x8000;
}

/* The product of two has 16 bits: f32 holds it but for subnormal ones. */
uint32_t ct_mul_bf16(float a, float b)
{
	float product = a * b;

	return lies_between(product) ? rounded_once(product, (double)a * (double)b) : ct_bf16(product);
}

uint32_t ct_fma_bf16(float a, float b, float c)
{
	float sum = __builtin_fmaf(a, b, c);

	return lies_between(sum) ? rounded_once(sum, odd_sum((double)a * (double)b, (double)c))
				 : ct_bf16(sum);
}
