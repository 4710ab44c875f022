/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "host.h"

#define N    2048
#define TILE 512

static int compare_words(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Tiles are sorted in shared memory; then, for each run length k, the distances that reach across
 * tiles are single steps and the rest is merged in shared memory again. */
static void sort_on_device(CUdeviceptr v)
{
	CUfunction tiles = host_kernel("bitonic_sort_tiles"), step = host_kernel("bitonic_step");
	CUfunction merge = host_kernel("bitonic_merge_tiles");
	struct dim grid = {N / TILE, 1, 1}, block = {TILE / 2, 1, 1};

	host_launch(tiles, "bitonic_sort_tiles", grid, block, 0, NULL, (void *[]){&v});
	for (uint32_t k = 2 * TILE; k <= N; k *= 2) {
		for (uint32_t j = k / 2; j >= TILE; j /= 2)
			host_launch(step, "bitonic_step", grid, block, 0, NULL, (void *[]){&v, &k, &j});
		host_launch(merge, "bitonic_merge_tiles", grid, block, 0, NULL, (void *[]){&v, &k});
	}
}

int main(void)
{
	static uint32_t v[N], expected[N];
	uint32_t seed = 5;

	for (int i = 0; i < N; i++)
		v[i] = expected[i] = host_random(&seed);
	qsort(expected, N, sizeof(*expected), compare_words);
	host_start();
	CUdeviceptr dv = host_buffer(v, sizeof(v));

	sort_on_device(dv);
	host_read(v, dv, sizeof(v));
	host_compare_u32("v", v, expected, N);
	CU(cuMemFree_v2(dv));
	return host_finish();
}
