/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#define N      8192
#define BLOCK  256
#define BLOCKS 8

__device__ unsigned block_total[BLOCKS];

__device__ unsigned warp_sum(unsigned v)
{
	for (int delta = 16; delta > 0; delta /= 2)
		v += __shfl_xor_sync(0xffffffffu, v, delta);
	return v;
}

extern "C" __global__ void reduce_shuffle(const unsigned *in, int n)
{
	__shared__ unsigned partial[BLOCK / 32];
	unsigned sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	sum = warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		partial[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 32) {
		sum = threadIdx.x < BLOCK / 32 ? partial[threadIdx.x] : 0;
		sum = warp_sum(sum);
		if (threadIdx.x == 0)
			block_total[blockIdx.x] = sum;
	}
}

/* Which lanes hold an even number, with a vote, and the smallest lane that does. */
extern "C" __global__ void vote_even(const unsigned *in, unsigned *mask, unsigned *first)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned ballot = __ballot_sync(0xffffffffu, in[i] % 2 == 0);

	if (threadIdx.x % 32 == 0) {
		mask[i / 32] = ballot;
		first[i / 32] = ballot ? __ffs(ballot) - 1 : 32;
	}
}

static void check_sums(const unsigned *in, const unsigned *din)
{
	unsigned totals[BLOCKS], expected[BLOCKS] = {};

	for (int i = 0; i < N; i++)
		expected[i / BLOCK % BLOCKS] += in[i];
	LAUNCH(reduce_shuffle, dim3(BLOCKS), dim3(BLOCK), 0, 0, din, N);
	CU(cudaMemcpyFromSymbol(totals, block_total, sizeof(totals)));
	compare("block_total", totals, expected, BLOCKS);
}

static void check_votes(const unsigned *in, const unsigned *din)
{
	static unsigned masks[N / 32], firsts[N / 32], expected_masks[N / 32], expected_firsts[N / 32];
	unsigned *dmask, *dfirst;

	for (int w = 0; w < N / 32; w++) {
		expected_firsts[w] = 32;
		for (int lane = 31; lane >= 0; lane--) {
			if (in[w * 32 + lane] % 2 == 0) {
				expected_masks[w] |= 1u << lane;
				expected_firsts[w] = lane;
			}
		}
	}
	CU(cudaMalloc(&dmask, sizeof(masks)));
	CU(cudaMalloc(&dfirst, sizeof(firsts)));
	LAUNCH(vote_even, dim3(N / BLOCK), dim3(BLOCK), 0, 0, din, dmask, dfirst);
	CU(cudaMemcpy(masks, dmask, sizeof(masks), cudaMemcpyDeviceToHost));
	CU(cudaMemcpy(firsts, dfirst, sizeof(firsts), cudaMemcpyDeviceToHost));
	compare("mask", masks, expected_masks, N / 32);
	compare("first", firsts, expected_firsts, N / 32);
	CU(cudaFree(dmask));
	CU(cudaFree(dfirst));
}

int main()
{
	static unsigned in[N];
	unsigned *din;
	uint32_t seed = 13;

	for (int i = 0; i < N; i++)
		in[i] = next_random(&seed);
	CU(cudaMalloc(&din, sizeof(in)));
	CU(cudaMemcpy(din, in, sizeof(in), cudaMemcpyHostToDevice));
	check_sums(in, din);
	check_votes(in, din);
	CU(cudaFree(din));
	return finish();
}
