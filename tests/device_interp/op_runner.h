/* SPDX-License-Identifier: Apache-2.0
 *
 * op_runner: runs one PTX operation over arrays of operands. Values travel as
 * 64-bit words whose low bits are the operand.
 *
 * shape: one letter an operand, destination first: "t:tt". t = the operation's
 * type, 2 = twice as wide, h = half as wide, 8 4 d = 8, 32 or 64 bits, w = 16 bits,
 * p = predicate (as a word 0 or 1).
 */
#ifndef CUTRACE_TEST_OP_RUNNER_H
#define CUTRACE_TEST_OP_RUNNER_H

#include "tests/device_interp/driver.h"

#define OP_SOURCES 4

/* `text` is the instruction with operands d, a, b, c, e (several instructions are fine); bits = width of t.
 */
void op_run(struct test_device *t, const char *text, const char *shape, unsigned bits,
	    const uint64_t *const src[OP_SOURCES], uint64_t *dst, uint32_t n);
/* 0, or the error when the kernel is refused. */
int op_try(struct test_device *t, const char *text, const char *shape, unsigned bits,
	   const uint64_t *const src[OP_SOURCES], uint64_t *dst, uint32_t n, struct diag *d);
unsigned op_width(char shape, unsigned bits);

/* Interesting values of a width, and pseudo-random ones after those. */
uint64_t op_integer(unsigned bits, uint32_t n);
uint64_t op_random(void);
#define OP_EDGES 24

static inline uint64_t op_mask(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static inline int64_t op_sign(uint64_t v, unsigned bits)
{
	return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
}

#endif
