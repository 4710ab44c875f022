/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies from pinned memory in one stream, work in another, events between them. The staging buffer is
 * overwritten as soon as its event says that the copy is done, and the result buffer is reused by the next
 * copy: whoever looks at the buffers when a call is made, or at the end, sees the wrong bytes. */
#include <string.h>

#include "host.h"

#define N      1024
#define BYTES  (N * sizeof(uint32_t))
#define ROUNDS 5

struct pipeline {
	CUfunction delay, accumulate;
	CUstream copy, work;
	CUevent copied, consumed;
	CUdeviceptr in, sum, sink;
	uint32_t *staging, *result;
};

static void create(struct pipeline *p)
{
	p->delay = host_kernel("delay");
	p->accumulate = host_kernel("accumulate");
	CU(cuStreamCreate(&p->copy, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&p->work, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&p->copied, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&p->consumed, CU_EVENT_DISABLE_TIMING));
	p->in = host_buffer(NULL, BYTES);
	p->sum = host_buffer(NULL, BYTES);
	p->sink = host_buffer(NULL, 32 * sizeof(uint32_t));
	CU(cuMemHostAlloc((void **)&p->staging, BYTES, 0));
	CU(cuMemHostAlloc((void **)&p->result, BYTES, 0));
	CU(cuMemsetD32Async(p->sum, 0, N, p->work));
}

/* One round; `expected` is brought up to date with it. */
static void run_round(struct pipeline *p, uint32_t factor, uint32_t *expected)
{
	uint32_t rounds = 2000;

	for (uint32_t i = 0; i < N; i++) {
		p->staging[i] = i * 7 + factor;
		expected[i] += p->staging[i] * factor;
	}
	host_launch(p->delay, "delay", (struct dim){1, 1, 1}, (struct dim){32, 1, 1}, 0, p->copy,
		    (void *[]){&p->sink, &rounds});
	if (factor > 1)
		CU(cuStreamWaitEvent(p->copy, p->consumed, 0));
	CU(cuMemcpyHtoDAsync_v2(p->in, p->staging, BYTES, p->copy));
	CU(cuEventRecord(p->copied, p->copy));
	CU(cuStreamWaitEvent(p->work, p->copied, 0));
	host_launch(p->accumulate, "accumulate", (struct dim){N / 256, 1, 1}, (struct dim){256, 1, 1}, 0,
		    p->work, (void *[]){&p->in, &p->sum, &factor});
	CU(cuEventRecord(p->consumed, p->work));
	CU(cuMemcpyDtoHAsync_v2(p->result, p->sum, BYTES, p->work));
	CU(cuEventSynchronize(p->copied));
	memset(p->staging, 0xee, BYTES);
}

static void destroy(struct pipeline *p)
{
	CU(cuMemFreeHost(p->staging));
	CU(cuMemFreeHost(p->result));
	CU(cuMemFree_v2(p->in));
	CU(cuMemFree_v2(p->sum));
	CU(cuMemFree_v2(p->sink));
	CU(cuEventDestroy_v2(p->copied));
	CU(cuEventDestroy_v2(p->consumed));
	CU(cuStreamDestroy_v2(p->copy));
	CU(cuStreamDestroy_v2(p->work));
}

int main(void)
{
	static uint32_t expected[N];
	struct pipeline p;

	host_start();
	create(&p);
	for (uint32_t factor = 1; factor <= ROUNDS; factor++)
		run_round(&p, factor, expected);
	CU(cuStreamSynchronize(p.work));
	host_compare_u32("result", p.result, expected, N);
	destroy(&p);
	return host_finish();
}
