/* SPDX-License-Identifier: Apache-2.0 */
#include "linked_files.h"

__constant__ float weights[4] = {1, 1, 1, 1};
__device__ operation table[3] = {add, multiply, larger};

static __device__ __noinline__ float note(float v)
{
	return clamped(v, -64.0f, 64.0f);
}

__device__ float weigh(float v, unsigned i)
{
	return note(v * weights[i % 4]);
}
