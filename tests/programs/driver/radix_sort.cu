/* SPDX-License-Identifier: Apache-2.0
 *
 * Least significant digit first, 4 bits a pass: count digits per block, scan the counts, scatter. Equal digits keep
 * their order: ranks inside a warp come from votes, between warps from shared counts, between blocks from the scan. */
#include "device.h"

#define DIGITS 16
#define WARPS  8

/* Lanes of this warp whose digit is the same as this lane's. */
DEVICE_INLINE u32 same_digit(u32 digit)
{
	u32 mask = 0xffffffffu;

	for (u32 bit = 0; bit < 4; bit++) {
		u32 set = __nvvm_vote_ballot_sync(0xffffffffu, digit >> bit & 1);

		mask &= digit >> bit & 1 ? set : ~set;
	}
	return mask;
}

/* counts[digit * blocks + block]: digit-major, so that one scan over all gives each block's places. */
__global__ void radix_count(const u32 *keys, u32 shift, u32 *counts)
{
	__shared__ u32 count[DIGITS];
	u32 t = thread_x();

	if (t < DIGITS)
		count[t] = 0;
	barrier();
	u32 digit = keys[global_x()] >> shift & (DIGITS - 1), peers = same_digit(digit);

	if ((peers & __nvvm_read_ptx_sreg_lanemask_lt()) == 0)
		atomic_add(&count[digit], __builtin_popcount(peers));
	barrier();
	if (t < DIGITS)
		counts[t * grid_width() + block_x()] = count[t];
}

/* Exclusive prefix sum in place by one block of a power of two of threads, one element each. */
__global__ void radix_scan(u32 *counts)
{
	extern __shared__ u32 sums[];
	u32 t = thread_x(), own = counts[t];

	sums[t] = own;
	barrier();
	for (u32 distance = 1; distance < block_width(); distance *= 2) {
		u32 left = t >= distance ? sums[t - distance] : 0;

		barrier();
		sums[t] += left;
		barrier();
	}
	counts[t] = sums[t] - own;
}

__global__ void radix_scatter(const u32 *keys, const u32 *values, u32 shift, const u32 *places, u32 *keys_out,
			      u32 *values_out)
{
	__shared__ u32 before[WARPS][DIGITS];
	u32 t = thread_x(), warp = t / 32, key = keys[global_x()], digit = key >> shift & (DIGITS - 1);
	u32 peers = same_digit(digit), rank = __builtin_popcount(peers & __nvvm_read_ptx_sreg_lanemask_lt());

	if (t < WARPS * DIGITS)
		before[t / DIGITS][t % DIGITS] = 0;
	barrier();
	if (rank == 0)
		before[warp][digit] = __builtin_popcount(peers);
	barrier();
	if (t < DIGITS) {
		u32 sum = places[t * grid_width() + block_x()];

		for (u32 w = 0; w < WARPS; w++) {
			u32 count = before[w][t];

			before[w][t] = sum;
			sum += count;
		}
	}
	barrier();
	u32 place = before[warp][digit] + rank;

	keys_out[place] = key;
	values_out[place] = values[global_x()];
}
