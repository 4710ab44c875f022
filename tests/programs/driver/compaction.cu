/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#define ALL_LANES 0xffffffffu

/* Keeps the odd words in their order: votes rank inside a warp, shared memory between the warps of a block; blocks wait
 * for their predecessor's count (blocks are given out in order, so the one waited for has started). */
__global__ void keep_odd(const u32 *in, u32 *out, u32 *ends)
{
	__shared__ u32 warp_start[32];
	u32 t = thread_x(), lane = t % 32, warp = t / 32, word = in[global_x()];
	u32 kept = __nvvm_vote_ballot_sync(ALL_LANES, word & 1);

	if (lane == 0)
		warp_start[warp] = __builtin_popcount(kept);
	barrier();
	if (t == 0) {
		volatile u32 *before = ends + block_x();
		u32 sum;

		/* ends[b] is 1 + the number of words that the blocks before b keep; 0: not known yet. */
		while ((sum = *before) == 0)
			;
		for (u32 w = 0; w < block_width() / 32; w++) {
			u32 count = warp_start[w];

			warp_start[w] = sum - 1;
			sum += count;
		}
		fence();
		atomic_exchange(&ends[block_x() + 1], sum);
	}
	barrier();
	if (word & 1)
		out[warp_start[warp] + __builtin_popcount(kept & __nvvm_read_ptx_sreg_lanemask_lt())] = word;
}

/* Counts words by their low bits with one atomic for all lanes of a warp that have the same bin. `alike` gets, for
 * each warp, 1 when all its lanes have one bin. */
__global__ void count_matched(const u32 *in, u32 mask, u32 *bins, u32 *alike)
{
	u32 bin = in[global_x()] & mask;
	u32 peers = __nvvm_match_any_sync_i32(ALL_LANES, bin);

	if ((peers & __nvvm_read_ptx_sreg_lanemask_lt()) == 0)
		atomic_add(&bins[bin], __builtin_popcount(peers));
	if (thread_x() % 32 == 0)
		alike[global_x() / 32] = peers == ALL_LANES;
}
