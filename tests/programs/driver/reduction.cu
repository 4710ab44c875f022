/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* Unsigned sum: shuffles inside a warp, shared memory between warps, one atomic per block. */
__global__ void reduce_sum(u32 n, const u32 *in, u32 *total)
{
	__shared__ u32 warp_sum[32];
	u32 lane = thread_x() % 32, warp = thread_x() / 32, sum = 0;

	for (u32 i = global_x(); i < n; i += grid_width() * block_width())
		sum += in[i];
	for (u32 delta = 16; delta > 0; delta /= 2)
		sum += shuffle_down(sum, delta);
	if (lane == 0)
		warp_sum[warp] = sum;
	barrier();
	if (warp == 0) {
		sum = lane < block_width() / 32 ? warp_sum[lane] : 0;
		for (u32 delta = 16; delta > 0; delta /= 2)
			sum += shuffle_down(sum, delta);
		if (lane == 0)
			atomic_add(total, sum);
	}
}

/* Float sum of each block by a binary tree in dynamic shared memory; the order is fixed, so the
 * host can add in the same order and expect the same bits. */
extern __shared__ float tree[];

__global__ void reduce_tree(const float *in, float *block_sum)
{
	u32 t = thread_x();

	tree[t] = in[global_x()];
	barrier();
	for (u32 half = block_width() / 2; half > 0; half /= 2) {
		if (t < half)
			tree[t] = tree[t] + tree[t + half];
		barrier();
	}
	if (t == 0)
		block_sum[block_x()] = tree[0];
}
