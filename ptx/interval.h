/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/interval: sets of integers as intervals, for values of 1 to 64 bits. An interval says of a value of n bits: it is
 * congruent, modulo 2^n, to a number in [low, high]. Sums and products are therefore right whatever wraps around; what
 * depends on the sign (comparisons, shifts to the right, wider results) asks for the numbers of a type first, by
 * interval_as. Private to ptx/.
 */
#ifndef CUTRACE_PTX_INTERVAL_H
#define CUTRACE_PTX_INTERVAL_H

#include "ptx/ir.h"

struct interval {
	int64_t low, high; /* low > high: no value at all */
};

#define INTERVAL_NONE ((struct interval){1, 0})
#define INTERVAL_ALL  ((struct interval){INT64_MIN, INT64_MAX})

struct interval interval_one(int64_t x);
bool interval_is_none(struct interval a);
bool interval_is_all(struct interval a);
bool interval_is_one(struct interval a);
bool interval_same(struct interval a, struct interval b);
struct interval interval_union(struct interval a, struct interval b);
struct interval interval_meet(struct interval a, struct interval b);
/* The same values as numbers that a type of that many bits has; *lost is set when they don't lie together there. Of 64
 * unsigned bits the upper half isn't told apart. */
struct interval interval_as(struct interval a, unsigned bits, bool is_signed, bool *lost);

struct interval interval_add(struct interval a, struct interval b);
struct interval interval_subtract(struct interval a, struct interval b);
struct interval interval_multiply(struct interval a, struct interval b);
/* Of numbers: the operands come from interval_as. */
struct interval interval_multiply_high(struct interval a, struct interval b, unsigned bits);
struct interval interval_divide(struct interval a, struct interval b);
struct interval interval_remainder(struct interval a, struct interval b);
struct interval interval_shift_right(struct interval a, struct interval by);
struct interval interval_and(struct interval a, struct interval b, unsigned bits);
struct interval interval_or(struct interval a, struct interval b);
struct interval interval_xor(struct interval a, struct interval b);
/* Those of a for which there is one in b so that "a cmp b". */
struct interval interval_where(struct interval a, enum ptx_cmp cmp, struct interval b);

#endif
