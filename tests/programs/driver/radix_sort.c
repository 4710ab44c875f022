/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorts keys with their places: the order must be that of qsort with the place as a tie breaker (a stable sort). */
#include <stdlib.h>

#include "host.h"

#define N      4096
#define BLOCK  256
#define BLOCKS (N / BLOCK)
#define DIGITS 16

struct pair {
	uint32_t key, place;
};

static int by_key_then_place(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Keys of 16 bits, so that many are equal, in the upper and the lower half alike. */
static void make_keys(uint32_t *keys, uint32_t *places, uint32_t *expected_keys, uint32_t *expected_places)
{
	static struct pair pairs[N];
	uint32_t seed = 21;

	for (uint32_t i = 0; i < N; i++) {
		uint32_t random = host_random(&seed);

		pairs[i] = (struct pair){(random & 0xff0000ff) | (random & 0x100) << 4, i};
		keys[i] = pairs[i].key;
		places[i] = i;
	}
	qsort(pairs, N, sizeof(*pairs), by_key_then_place);
	for (uint32_t i = 0; i < N; i++) {
		expected_keys[i] = pairs[i].key;
		expected_places[i] = pairs[i].place;
	}
}

static void sort(CUdeviceptr keys[2], CUdeviceptr values[2], CUdeviceptr counts)
{
	CUfunction count = host_kernel("radix_count"), scan = host_kernel("radix_scan");
	CUfunction scatter = host_kernel("radix_scatter");
	struct dim blocks = {BLOCKS, 1, 1}, one = {1, 1, 1}, threads = {BLOCK, 1, 1};

	for (uint32_t pass = 0; pass < 8; pass++) {
		uint32_t shift = 4 * pass, from = pass % 2, to = 1 - from;

		host_launch(count, "radix_count", blocks, threads, 0, NULL,
			    (void *[]){&keys[from], &shift, &counts});
		host_launch(scan, "radix_scan", one, threads, BLOCK * sizeof(uint32_t), NULL,
			    (void *[]){&counts});
		host_launch(scatter, "radix_scatter", blocks, threads, 0, NULL,
			    (void *[]){&keys[from], &values[from], &shift, &counts, &keys[to], &values[to]});
	}
}

int main(void)
{
	static uint32_t keys[N], places[N], expected_keys[N], expected_places[N];
	_Static_assert(DIGITS * BLOCKS == BLOCK, "the scan has one thread per count");

	make_keys(keys, places, expected_keys, expected_places);
	host_start();
	CUdeviceptr dkeys[2] = {host_buffer(keys, sizeof(keys)), host_buffer(NULL, sizeof(keys))};
	CUdeviceptr dvalues[2] = {host_buffer(places, sizeof(places)), host_buffer(NULL, sizeof(places))};
	CUdeviceptr dcounts = host_buffer(NULL, DIGITS * BLOCKS * sizeof(uint32_t));

	sort(dkeys, dvalues, dcounts);
	host_read(keys, dkeys[0], sizeof(keys));
	host_read(places, dvalues[0], sizeof(places));
	host_compare_u32("key", keys, expected_keys, N);
	host_compare_u32("place", places, expected_places, N);
	for (int i = 0; i < 2; i++) {
		CU(cuMemFree_v2(dkeys[i]));
		CU(cuMemFree_v2(dvalues[i]));
	}
	CU(cuMemFree_v2(dcounts));
	return host_finish();
}
