/* SPDX-License-Identifier: Apache-2.0
 *
 * What linked_pieces.cu calls: rules behind a table of function pointers, counted, and a recursion. */
#include "device.h"

__device__ u32 rule_uses[4];

static __device__ u32 offset = 7;
static __device__ __attribute__((noinline)) u32 mix(u32 value)
{
	return value ^ offset;
}

__device__ u32 rule_double(u32 value)
{
	return value + value;
}
__device__ u32 rule_square(u32 value)
{
	return value * value;
}
__device__ u32 rule_mix(u32 value)
{
	return mix(value);
}
__device__ u32 rule_same(u32 value)
{
	return value;
}

__device__ u32 (*rules[4])(u32) = {rule_double, rule_square, rule_mix, rule_same};

__device__ u32 rule_apply(u32 which, u32 value)
{
	atomic_add(&rule_uses[which], 1);
	return rules[which](value);
}

/* Steps to 1, by recursion. */
__device__ __attribute__((noinline)) u32 rule_collatz(u32 value)
{
	if (value == 1)
		return 0;
	return 1 + rule_collatz(value & 1 ? 3 * value + 1 : value / 2);
}
