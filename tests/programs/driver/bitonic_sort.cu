/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#define TILE 512 /* elements a block holds in shared memory, twice its threads */

/* Puts the pair (i, i + j) in order; ascending where bit k of i is clear. */
DEVICE_INLINE void order_pair(u32 *v, u32 i, u32 j, bool ascending)
{
	u32 a = v[i], b = v[i + j];

	if ((a > b) == ascending) {
		v[i] = b;
		v[i + j] = a;
	}
}

/* Lower index of the pair that thread t orders at distance j. */
DEVICE_INLINE u32 pair_index(u32 t, u32 j)
{
	return 2 * t - (t & (j - 1));
}

__global__ void bitonic_sort_tiles(u32 *v)
{
	__shared__ u32 tile[TILE];
	u32 t = thread_x(), base = block_x() * TILE;

	tile[t] = v[base + t];
	tile[t + TILE / 2] = v[base + t + TILE / 2];
	for (u32 k = 2; k <= TILE; k *= 2) {
		for (u32 j = k / 2; j > 0; j /= 2) {
			u32 i = pair_index(t, j);

			barrier();
			order_pair(tile, i, j, ((base + i) & k) == 0);
		}
	}
	barrier();
	v[base + t] = tile[t];
	v[base + t + TILE / 2] = tile[t + TILE / 2];
}

__global__ void bitonic_step(u32 *v, u32 k, u32 j)
{
	u32 i = pair_index(global_x(), j);

	order_pair(v, i, j, (i & k) == 0);
}

__global__ void bitonic_merge_tiles(u32 *v, u32 k)
{
	__shared__ u32 tile[TILE];
	u32 t = thread_x(), base = block_x() * TILE;

	tile[t] = v[base + t];
	tile[t + TILE / 2] = v[base + t + TILE / 2];
	for (u32 j = TILE / 2; j > 0; j /= 2) {
		u32 i = pair_index(t, j);

		barrier();
		order_pair(tile, i, j, (base & k) == 0);
	}
	barrier();
	v[base + t] = tile[t];
	v[base + t + TILE / 2] = tile[t + TILE / 2];
}
