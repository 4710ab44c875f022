/* SPDX-License-Identifier: Apache-2.0
 *
 * Bits of floating-point numbers, for the files of the device library.
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

#endif
