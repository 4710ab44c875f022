/* SPDX-License-Identifier: Apache-2.0
 *
 * float_ref: what IEEE 754 says, by MPFR: decode bits, compute with a format's
 * precision and exponent range (subnormals included), encode.
 */
#ifndef CUTRACE_TEST_FLOAT_REF_H
#define CUTRACE_TEST_FLOAT_REF_H

#include <stdbool.h>
#include <stdint.h>

#include <mpfr.h> /* needs the above */

struct fmt {
	const char *name;
	unsigned bits, exp_bits;
	mpfr_prec_t prec;
	mpfr_exp_t emin, emax;
};
extern const struct fmt fmt_f16, fmt_bf16, fmt_f32, fmt_f64;

enum ref_op {
	REF_ADD,
	REF_SUB,
	REF_MUL,
	REF_FMA,
	REF_DIV,
	REF_RCP,
	REF_SQRT,
	REF_RSQRT,
	REF_SIN,
	REF_COS,
	REF_EX2,
	REF_LG2,
	REF_TANH,
	REF_MOVE
};

bool ref_is_nan(const struct fmt *f, uint64_t bits);
uint64_t ref_flush(const struct fmt *f, uint64_t bits); /* subnormals to zero of the same sign */
/* NaN results: all ones of exponent and mantissa, positive. */
uint64_t ref_compute(enum ref_op op, const struct fmt *from, const struct fmt *to, mpfr_rnd_t rnd,
		     const uint64_t v[3]);
void ref_decode(mpfr_t x, const struct fmt *f, uint64_t bits);
/* Rounds x, which has any precision, to the format. */
uint64_t ref_encode(mpfr_t x, const struct fmt *f, mpfr_rnd_t rnd);
/* Number of representable values between two results of one sign; large for anything else. */
uint64_t ref_distance(const struct fmt *f, uint64_t a, uint64_t b);
/* Interesting values, random ones after those. */
uint64_t ref_value(const struct fmt *f, uint32_t n);
#define REF_EDGES 24

#endif
