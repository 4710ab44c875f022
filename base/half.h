/* SPDX-License-Identifier: Apache-2.0
 *
 * half: floats as the integers of their bits. binary16 (IEEE 754-2019, 3.6) and bfloat16 (the upper half of a
 * binary32; PTX ISA, "Alternate Floating-Point Data Formats") travel as float, which holds all of them exactly;
 * the way back rounds once, to nearest even, and gives the NaN that PTX gives.
 */
#ifndef CUTRACE_BASE_HALF_H
#define CUTRACE_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static inline float f32_from(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline uint64_t f64_bits(double f)
{
	uint64_t u;

	memcpy(&u, &f, 8);
	return u;
}

static inline double f64_from(uint64_t u)
{
	double f;

	memcpy(&f, &u, 8);
	return f;
}

/* The compiler's type: one instruction where the machine has it. */
static inline float f16_to_f32(uint16_t h)
{
	_Float16 v;

	memcpy(&v, &h, 2);
	return (float)v;
}

static inline float bf16_to_f32(uint16_t h)
{
	return f32_from((uint32_t)h << 16);
}

static inline uint16_t f16_nan_or(_Float16 v)
{
	uint16_t h;

	memcpy(&h, &v, 2);
	return (h & 0x7fff) > 0x7c00 ? 0x7fff : h;
}

static inline uint16_t f16_from_f32(float f)
{
	return f16_nan_or((_Float16)f);
}

static inline uint16_t f16_from_f64(double f)
{
	return f16_nan_or((_Float16)f);
}

static inline uint16_t bf16_from_f32(float f)
{
	uint32_t u = f32_bits(f);

	if (f != f)
		return 0x7fff;
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
