/* SPDX-License-Identifier: Apache-2.0
 *
 * exact: the exact result of an operation as 64 bits and a sticky bit, from which every format and rounding
 * mode is made with integers alone. One MPFR evaluation, rounded toward zero to 64 bits, thus serves all modes.
 * exact_agrees_with_mpfr checks this rounding against MPFR's own.
 */
#ifndef TESTS_SWEEP_EXACT_H
#define TESTS_SWEEP_EXACT_H

#include "tests/ptx_isa/reference.h"

enum rounding { RN, RZ, RM, RP, RNA };

/* (-1)^negative * (m + a bit less than 1 if sticky) * 2^exponent; m's top bit is set, or it is 0 for zero. */
struct exact {
	uint64_t m;
	int exponent;
	bool negative, sticky, nan, inf;
};

struct exact exact_of_bits(enum float_format f, uint64_t bits);
struct exact exact_of_int(i128 v);
/* r has 64 bits, rounded toward zero, with ternary value t. */
struct exact exact_of_mpfr(const mpfr_t r, int t);
/* Bits of the format. *tiny, if not NULL: the value before rounding is below the smallest normal number. Overflow of
 * formats without infinities gives their largest number. */
uint64_t exact_round(enum float_format f, const struct exact *x, enum rounding mode, bool *tiny);
/* The integer, clamped to +-2^100. */
i128 exact_to_int(const struct exact *x, enum rounding mode);
long double exact_value(const struct exact *x);
/* 0, or a number of disagreements over `samples` seeded values. */
unsigned exact_agrees_with_mpfr(unsigned samples);

#endif
