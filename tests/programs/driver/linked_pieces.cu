/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels; what they call lies in linked_pieces_rules.cu. */
#include "device.h"

extern __device__ u32 rule_apply(u32 which, u32 value);
extern __device__ u32 rule_collatz(u32 value);
extern __device__ u32 rule_uses[4];

/* A function and a variable of this file only: the other file has others of the same names. */
static __device__ u32 offset = 1000;
static __device__ __attribute__((noinline)) u32 mix(u32 value)
{
	return value * 3 + offset;
}

__global__ void apply_rules(const u32 *in, u32 *out, u32 n)
{
	u32 i = global_x();

	if (i < n)
		out[i] = mix(rule_apply(i & 3, in[i]));
}

__global__ void collatz(const u32 *in, u32 *out, u32 n)
{
	u32 i = global_x();

	if (i < n)
		out[i] = rule_collatz(in[i] % 97 + 1);
}

__global__ void read_uses(u32 *out)
{
	out[thread_x()] = rule_uses[thread_x()] + offset;
}
