/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* Keeps a stream busy, so that copies behind it are in flight when their call returns. */
__global__ void delay(u32 *sink, u32 rounds)
{
	u32 x = thread_x();

	for (u32 i = 0; i < rounds; i++)
		x = x * 1664525u + 1013904223u;
	sink[thread_x()] = x;
}

__global__ void accumulate(const u32 *in, u32 *sum, u32 factor)
{
	u32 i = global_x();

	sum[i] += in[i] * factor;
}
