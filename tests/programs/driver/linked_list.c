/* SPDX-License-Identifier: Apache-2.0
 *
 * Device addresses inside device buffers, made on both sides: one list is linked by a kernel, the
 * array of heads (pointers to its nodes) by the host. */
#include <stdint.h>

#include "host.h"

#define N     300
#define HEADS 4

struct node {
	uint64_t next, value;
};

/* A permutation of 0..N-1 (Fisher-Yates). */
static void shuffle(uint32_t *order)
{
	uint32_t seed = 7;

	for (uint32_t i = 0; i < N; i++)
		order[i] = i;
	for (uint32_t i = N - 1; i > 0; i--) {
		uint32_t j = host_random(&seed) % (i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
}

static void check(const uint64_t *out, const uint32_t *order, const uint32_t *starts)
{
	for (int h = 0; h < HEADS; h++) {
		uint64_t mix = 0;

		for (uint32_t i = starts[h]; i < N; i++)
			mix = mix * 31 + (uint64_t)order[i] * order[i];
		if (out[2 * h] != mix || out[2 * h + 1] != N - starts[h])
			host_wrong("list %d: mix %llx length %llu, expected %llx and %u", h,
				   (unsigned long long)out[2 * h], (unsigned long long)out[2 * h + 1],
				   (unsigned long long)mix, N - starts[h]);
	}
}

int main(void)
{
	static const uint32_t starts[HEADS] = {0, 1, 150, 299};
	uint32_t order[N], n = N;
	uint64_t heads[HEADS], out[2 * HEADS];

	shuffle(order);
	host_start();
	CUfunction link = host_kernel("list_link"), walk = host_kernel("list_walk");
	CUdeviceptr nodes = host_buffer(NULL, N * sizeof(struct node)),
		    dorder = host_buffer(order, sizeof(order));

	host_launch(link, "list_link", (struct dim){(N + 127) / 128, 1, 1}, (struct dim){128, 1, 1}, 0, NULL,
		    (void *[]){&nodes, &dorder, &n});
	for (int h = 0; h < HEADS; h++)
		heads[h] = nodes + order[starts[h]] * sizeof(struct node);
	CUdeviceptr dheads = host_buffer(heads, sizeof(heads)), dout = host_buffer(NULL, sizeof(out));

	host_launch(walk, "list_walk", (struct dim){1, 1, 1}, (struct dim){HEADS, 1, 1}, 0, NULL,
		    (void *[]){&dheads, &dout});
	host_read(out, dout, sizeof(out));
	check(out, order, starts);
	CU(cuMemFree_v2(nodes));
	CU(cuMemFree_v2(dorder));
	CU(cuMemFree_v2(dheads));
	CU(cuMemFree_v2(dout));
	return host_finish();
}
