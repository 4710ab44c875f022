/* SPDX-License-Identifier: Apache-2.0
 *
 * half: what base/half.h has not of small float formats: rounding in any of PTX's
 * modes, tf32 and the floats of 8 bits and less. Values travel as float or double,
 * which hold them all exactly; the way back is one correctly rounded step.
 */
#ifndef CUTRACE_INTERP_HALF_H
#define CUTRACE_INTERP_HALF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/half.h"
#include "ptx/ir.h"

/* .ftz: subnormals become a zero of the same sign. */
static inline float flush32(float f)
{
	uint32_t u = f32_bits(f);

	return f32_from(u & 0x7f800000 ? u : u & 0x80000000);
}

static inline uint16_t f16_flush(uint16_t h)
{
	return h & 0x7c00 ? h : h & 0x8000;
}

static inline float f16_to_f32_ftz(uint16_t h)
{
	return f16_to_f32(f16_flush(h));
}

/* A binary format for the general rounding routine. */
struct float_format {
	uint8_t exp_bits, man_bits;
	bool has_inf; /* exponent all ones: infinity and NaN; otherwise (e4m3) only all ones everywhere is NaN
		       */
	bool has_nan; /* e2m1, e2m3, e3m2 have none */
	uint32_t nan; /* the NaN that conversions give */
};
enum small_format {
	FMT_F16,
	FMT_BF16,
	FMT_TF32,
	FMT_F32,
	FMT_E4M3,
	FMT_E5M2,
	FMT_E2M1,
	FMT_E2M3,
	FMT_E3M2,
	FMT_COUNT
};
extern const struct float_format float_formats[FMT_COUNT];

/* value = (-1)^sign * sig * 2^exp, plus something smaller than one unit of sig when sticky. Rounds once, in
 * any of PTX's modes (enum ptx_rounding), overflow to infinity or the largest number as the mode says;
 * satfinite: to the largest. */
struct big_float {
	bool sign, sticky;
	uint64_t sig;
	int exp;
};
uint32_t float_pack(const struct float_format *f, const struct big_float *v, unsigned rnd, bool satfinite);
uint64_t float_pack64(const struct big_float *v, unsigned rnd);                    /* to f64 */
struct big_float big_from_f64(double d);                                           /* finite */
uint32_t float_round(enum small_format f, double v, unsigned rnd, bool satfinite); /* any value */
double float_value(enum small_format f, uint32_t bits);

#endif
