/* SPDX-License-Identifier: Apache-2.0
 *
 * Approximations without an instruction of AMD's (PTX ISA 9.7.3): tanh, and the reciprocals of f64 that look at, and
 * give, the upper 32 bits only.
 */
#include "zluda_core/compiler/device_library/float_parts.h"

/* Coefficients of Taylor's series: x (1 + c[0] x^2 + c[1] x^4 ...). */
static const float taylor[] = {-0x1.555556p-2f, 0x1.111112p-3f,  -0x1.ba1ba2p-5f,
			       0x1.664f48p-6f,  -0x1.226e36p-7f, 0x1.d6d3dp-9f};
enum { TERMS = sizeof(taylor) / sizeof(taylor[0]) };

/* 1 - 2 / (e^2x + 1); near 0, where that cancels, the series. */
float ct_tanh(float v)
{
	float x = __builtin_fabsf(v), square = x * x, sum = taylor[TERMS - 1];

	if (x >= 0.5f)
		return __builtin_copysignf(1 - 2 / (__builtin_exp2f(x * 0x1.715476p+1f) + 1),
					   v); /* 2 / ln 2 */
	for (int k = TERMS - 2; k >= 0; k--)
		sum = taylor[k] + square * sum;
	return __builtin_copysignf(x + x * square * sum, v);
}

/* ---- the canonical NaN is 0x7fffffff00000000; subnormals are zeros */

static double flushed(double v)
{
	uint64_t bits = f64_bits(v);

	return f64_of(bits & 0x7ff0000000000000 ? bits : bits & 1ull << 63);
}

static double upper_half(double v)
{
	return f64_of(v != v ? 0x7fffffff00000000 : f64_bits(v) & 0xffffffff00000000);
}

static double operand(double v)
{
	return flushed(f64_of(f64_bits(v) & 0xffffffff00000000));
}

double ct_rcp_gross(double v)
{
	return upper_half(v != v ? v : flushed(1 / operand(v)));
}

double ct_rsqrt_gross(double v)
{
	return upper_half(v != v ? v : flushed(1 / __builtin_sqrt(operand(v))));
}
