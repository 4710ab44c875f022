/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#define N      4096
#define BLOCK  128
#define BLOCKS (N / BLOCK)
#define BINS   8

static uint32_t in[N];
static CUdeviceptr din;

static void compact(void)
{
	static uint32_t out[N], expected[N];
	uint32_t kept = 0, ends[BLOCKS + 1] = {1}, last;

	for (int i = 0; i < N; i++) {
		if (in[i] % 2 == 1)
			expected[kept++] = in[i];
	}
	CUfunction keep = host_kernel("keep_odd");
	CUdeviceptr dout = host_buffer(NULL, sizeof(out)), dends = host_buffer(ends, sizeof(ends));

	CU(cuMemsetD32_v2(dout, 0, N));
	host_launch(keep, "keep_odd", (struct dim){BLOCKS, 1, 1}, (struct dim){BLOCK, 1, 1}, 0, NULL,
		    (void *[]){&din, &dout, &dends});
	host_read(&last, dends + BLOCKS * sizeof(last), sizeof(last));
	host_read(out, dout, sizeof(out));
	kept++;
	host_compare_u32("kept", &last, &kept, 1);
	host_compare_u32("word", out, expected, N);
	CU(cuMemFree_v2(dout));
	CU(cuMemFree_v2(dends));
}

static void count(void)
{
	uint32_t mask = BINS - 1, bins[BINS] = {0}, expected[BINS] = {0};
	uint32_t alike[N / 32], expected_alike[N / 32];

	for (int i = 0; i < N; i++) {
		if (i % 32 == 0)
			expected_alike[i / 32] = 1;
		expected[in[i] & mask]++;
		expected_alike[i / 32] &= (in[i] & mask) == (in[i / 32 * 32] & mask);
	}
	CUfunction matched = host_kernel("count_matched");
	CUdeviceptr dbins = host_buffer(bins, sizeof(bins)), dalike = host_buffer(NULL, sizeof(alike));

	host_launch(matched, "count_matched", (struct dim){BLOCKS, 1, 1}, (struct dim){BLOCK, 1, 1}, 0, NULL,
		    (void *[]){&din, &mask, &dbins, &dalike});
	host_read(bins, dbins, sizeof(bins));
	host_read(alike, dalike, sizeof(alike));
	host_compare_u32("bin", bins, expected, BINS);
	host_compare_u32("alike", alike, expected_alike, N / 32);
	CU(cuMemFree_v2(dbins));
	CU(cuMemFree_v2(dalike));
}

int main(void)
{
	uint32_t seed = 26;

	/* Every fourth warp has words that are all alike. */
	for (int i = 0; i < N; i++)
		in[i] = i / 32 % 4 == 3 ? in[i - 1] : host_random(&seed);
	host_start();
	din = host_buffer(in, sizeof(in));
	compact();
	count();
	CU(cuMemFree_v2(din));
	return host_finish();
}
