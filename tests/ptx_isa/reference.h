/* SPDX-License-Identifier: Apache-2.0
 *
 * reference: floating-point arithmetic by MPFR, rounded once to a format in any rounding mode,
 * with subnormals, flushing and saturation as the PTX ISA words them. Bit formats: IEEE 754
 * (f16, f32, f64), bfloat16, and OCP's 8-bit formats.
 */
#ifndef TESTS_PTX_ISA_REFERENCE_H
#define TESTS_PTX_ISA_REFERENCE_H

#include "form.h"

#include <mpfr.h>

enum float_format {
	FORMAT_NONE,
	FORMAT_F16,
	FORMAT_BF16,
	FORMAT_F32,
	FORMAT_F64,
	FORMAT_E4M3,
	FORMAT_E5M2,
	FORMAT_TF32,
	FORMAT_E2M1,
	FORMAT_E2M3,
	FORMAT_E3M2
};

struct format_info {
	unsigned bits, mantissa, exponent;
	int bias;
	uint64_t canonical_nan;
};
const struct format_info *format_info(enum float_format f);

bool is_nan(enum float_format f, uint64_t v);
bool is_inf(enum float_format f, uint64_t v);
bool is_subnormal(enum float_format f, uint64_t v);
bool is_zero(enum float_format f, uint64_t v);
static inline uint64_t sign_bit(enum float_format f)
{
	return 1ull << (format_info(f)->bits - 1);
}
/* Subnormal to zero of the same sign. */
uint64_t flush(enum float_format f, uint64_t v);
/* Exact value; NaN and infinities too. x must have at least 53 bits. */
void decode(enum float_format f, uint64_t v, mpfr_t x);
double to_double(enum float_format f, uint64_t v);
/* Bits of x, which was rounded to any precision with ternary value `t` toward `rnd` from the exact result; or
 * is exact (t = 0) with more bits. Rounds once. A NaN becomes the canonical one. */
uint64_t encode(enum float_format f, const mpfr_t x, mpfr_rnd_t rnd);

enum float_op { OP_ADD, OP_SUB, OP_MUL, OP_FMA, OP_DIV, OP_RCP, OP_SQRT, OP_MOVE };
struct float_mods {
	mpfr_rnd_t rnd;
	bool ftz, sat, relu;
};
/* One operation on operands of format `src`, result in `dst` (the same but for conversions and mixed
 * precision; c has format `dst`). Flushing applies to operands and results in f16 and f32 only. */
void float_op(enum float_op op, enum float_format dst, enum float_format src, const struct float_mods *m,
	      const uint64_t *in, struct want *w);
/* ".rn" -> MPFR_RNDN and so on; also integer rounding names. */
mpfr_rnd_t rounding_of(const char *name);

#endif
