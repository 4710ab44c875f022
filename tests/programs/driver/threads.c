/* SPDX-License-Identifier: Apache-2.0
 *
 * Four threads, each with a stream and a buffer of its own, in one context. What they launch is said after
 * all have ended, so that the text does not depend on who was first; a trace has to show all of it, in any
 * order. */
#include <pthread.h>
#include <stdio.h>

#include "host.h"

#define THREADS 4
#define ROUNDS  5
#define N       512

static const struct dim grid = {N / 128, 1, 1}, block = {128, 1, 1};
static CUfunction step;

static void *work(void *arg)
{
	uint32_t me = *(uint32_t *)arg, factor = 2 * me + 3, v[N], expected[N];
	CUstream stream;

	for (uint32_t i = 0; i < N; i++) {
		v[i] = expected[i] = i ^ me;
		for (int r = 0; r < ROUNDS; r++)
			expected[i] = expected[i] * factor + i;
	}
	host_enter_thread();
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CUdeviceptr dv = host_buffer(NULL, sizeof(v));

	CU(cuMemcpyHtoDAsync_v2(dv, v, sizeof(v), stream));
	for (int r = 0; r < ROUNDS; r++)
		CU(cuLaunchKernel(step, grid.x, 1, 1, block.x, 1, 1, 0, stream, (void *[]){&dv, &factor},
				  NULL));
	CU(cuMemcpyDtoHAsync_v2(v, dv, sizeof(v), stream));
	CU(cuStreamSynchronize(stream));
	host_compare_u32("v", v, expected, N);
	CU(cuMemFree_v2(dv));
	CU(cuStreamDestroy_v2(stream));
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];
	uint32_t index[THREADS];

	host_start();
	step = host_kernel("step");
	for (uint32_t t = 0; t < THREADS; t++) {
		index[t] = t;
		if (pthread_create(&thread[t], NULL, work, &index[t]) != 0)
			host_wrong("pthread_create failed");
	}
	for (uint32_t t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	for (int i = 0; i < THREADS * ROUNDS; i++)
		host_say_launch("step", grid, block);
	return host_finish();
}
