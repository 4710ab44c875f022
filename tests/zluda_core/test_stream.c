/* SPDX-License-Identifier: Apache-2.0
 *
 * Order: streams, the default streams' rules, events, host functions, stream memory operations. A host
 * function that waits for a gate holds a stream; what ran meanwhile shows the order.
 */
#include "core_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int gate, step;

struct mark {
	int order; /* 1, 2, ... in the order in which marks ran */
};

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static void wait_gate(void *arg)
{
	(void)arg;
	while (!atomic_load(&gate))
		sleep_ms(1);
}

static void take_mark(void *arg)
{
	((struct mark *)arg)->order = atomic_fetch_add(&step, 1) + 1;
}

static void reset(void)
{
	atomic_store(&gate, 0);
	atomic_store(&step, 0);
}

static void fifo(void **state)
{
	struct mark m[50];
	CUstream s;

	(void)state;
	reset();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	for (int i = 0; i < 50; i++)
		OK(cuLaunchHostFunc(s, take_mark, &m[i]));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	assert_int_equal(atomic_load(&step), 0);
	atomic_store(&gate, 1);
	OK(cuStreamSynchronize(s));
	OK(cuStreamQuery(s));
	for (int i = 0; i < 50; i++)
		assert_int_equal(m[i].order, i + 1);
	OK(cuStreamDestroy(s));
}

/* Work in the legacy default stream waits for blocking streams, and they for it; non-blocking ones don't
 * care. */
static void legacy(void **state)
{
	struct mark in_legacy = {0}, after = {0}, free_runner = {0};
	CUstream a, b, n;

	(void)state;
	reset();
	OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&n, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(a, wait_gate, NULL));
	OK(cuLaunchHostFunc(NULL, take_mark, &in_legacy));
	OK(cuLaunchHostFunc(b, take_mark, &after));
	OK(cuLaunchHostFunc(n, take_mark, &free_runner));
	OK(cuStreamSynchronize(n));
	assert_int_equal(free_runner.order, 1);
	sleep_ms(20);
	assert_int_equal(atomic_load(&step), 1); /* the two others are held */
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
	atomic_store(&gate, 1);
	OK(cuCtxSynchronize());
	assert_int_equal(in_legacy.order, 2);
	assert_int_equal(after.order, 3);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	OK(cuStreamDestroy(n));
}

/* Two blocking streams are independent of each other, and of the per-thread default stream. */
static void independent(void **state)
{
	struct mark m = {0}, own = {0};
	CUstream a, b;

	(void)state;
	reset();
	OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
	OK(cuLaunchHostFunc(a, wait_gate, NULL));
	OK(cuLaunchHostFunc(b, take_mark, &m));
	OK(cuStreamSynchronize(b));
	assert_int_equal(m.order, 1);
	OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, take_mark, &own));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	assert_int_equal(own.order, 2);
	atomic_store(&gate, 1);
	OK(cuStreamDestroy(a)); /* its work goes on */
	OK(cuStreamDestroy(b));
}

/* A synchronous copy is in the legacy stream: it waits for blocking streams. */
static void synchronous_copy_waits(void **state)
{
	uint32_t value = 0, *pinned;
	CUdeviceptr p;
	CUstream a;

	(void)state;
	reset();
	OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	OK(cuMemAlloc(&p, 4));
	OK(cuMemAllocHost((void **)&pinned, 4));
	*pinned = 17;
	atomic_store(&gate, 1);
	OK(cuLaunchHostFunc(a, wait_gate, NULL));
	OK(cuMemcpyHtoDAsync(p, pinned, 4, a));
	OK(cuMemcpyDtoH(&value, p, 4));
	assert_int_equal(value, 17);
	OK(cuMemFreeHost(pinned));
	OK(cuMemFree(p));
	OK(cuStreamDestroy(a));
}

/* Pageable sources are taken in the call, pinned ones when the copy runs. */
static void sources_in_flight(void **state)
{
	uint32_t pageable = 1, *pinned, got;
	CUdeviceptr p, q;
	CUstream s;

	(void)state;
	reset();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&p, 4));
	OK(cuMemAlloc(&q, 4));
	OK(cuMemAllocHost((void **)&pinned, 4));
	*pinned = 1;
	OK(cuLaunchHostFunc(s, wait_gate, NULL));
	OK(cuMemcpyHtoDAsync(p, &pageable, 4, s));
	OK(cuMemcpyHtoDAsync(q, pinned, 4, s));
	pageable = 2;
	*pinned = 2;
	atomic_store(&gate, 1);
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(&got, p, 4));
	assert_int_equal(got, 1);
	OK(cuMemcpyDtoH(&got, q, 4));
	assert_int_equal(got, 2);
	OK(cuMemFreeHost(pinned));
	OK(cuMemFree(p));
	OK(cuMemFree(q));
	OK(cuStreamDestroy(s));
}

static void events(void **state)
{
	struct mark m = {0};
	CUstream a, b;
	CUevent e, never, untimed;
	float ms;

	(void)state;
	reset();
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, 0));
	OK(cuEventCreate(&never, 0));
	OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
	OK(cuEventQuery(never)); /* an event that was never recorded is complete */
	OK(cuEventSynchronize(never));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, never, e));
	OK(cuLaunchHostFunc(a, wait_gate, NULL));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(cuStreamWaitEvent(b, never, 0));
	OK(cuLaunchHostFunc(b, take_mark, &m));
	FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	sleep_ms(10);
	assert_int_equal(m.order, 0);
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
	atomic_store(&gate, 1);
	OK(cuEventSynchronize(e));
	OK(cuStreamSynchronize(b));
	assert_int_equal(m.order, 1);
	OK(cuEventRecord(never, a));
	OK(cuEventSynchronize(never));
	OK(cuEventElapsedTime(&ms, e, never));
	assert_true(ms >= 0 && ms < 60000);
	OK(cuEventRecord(untimed, a));
	OK(cuEventSynchronize(untimed));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, e, untimed));
	OK(cuEventDestroy(e));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(e));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

/* The time between two records is at least what lay between them. */
static void sleep_30(void *arg)
{
	(void)arg;
	sleep_ms(30);
}

static void timing(void **state)
{
	CUevent a, b;
	float ms;

	(void)state;
	OK(cuEventCreate(&a, 0));
	OK(cuEventCreate(&b, 0));
	OK(cuEventRecord(a, NULL));
	OK(cuLaunchHostFunc(NULL, sleep_30, NULL));
	OK(cuEventRecord(b, NULL));
	FAILS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, a, b));
	OK(cuEventSynchronize(b));
	OK(cuEventElapsedTime(&ms, a, b));
	assert_true(ms >= 29.9f && ms < 10000);
	OK(cuEventElapsedTime(&ms, b, a));
	assert_true(ms <= -29.9f);
}

static CUresult inside;

static void calls_cuda(void *arg)
{
	CUdeviceptr p;

	(void)arg;
	inside = cuMemAlloc(&p, 16);
}

static void in_callback(CUstream s, CUresult status, void *arg)
{
	*(int *)arg = (int)status + 100;
	(void)s;
}

static void callbacks(void **state)
{
	int seen = 0;

	(void)state;
	OK(cuLaunchHostFunc(NULL, calls_cuda, NULL));
	OK(cuStreamSynchronize(NULL));
	assert_int_equal(inside, CUDA_ERROR_NOT_PERMITTED);
	OK(cuStreamAddCallback(NULL, in_callback, &seen, 0));
	OK(cuStreamSynchronize(NULL));
	assert_int_equal(seen, 100);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(NULL, in_callback, &seen, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(NULL, NULL, NULL));
}

static void properties(void **state)
{
	unsigned long long id1, id2;
	CUstreamCaptureStatus capture;
	unsigned flags;
	CUcontext ctx;
	CUstream s;
	int priority, least, greatest;

	(void)state;
	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	assert_true(greatest < least);
	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, greatest - 10)); /* clamped */
	OK(cuStreamGetPriority(s, &priority));
	assert_int_equal(priority, greatest);
	OK(cuStreamGetFlags(s, &flags));
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	OK(cuStreamGetCtx(s, &ctx));
	assert_ptr_equal(ctx, test_ctx);
	OK(cuStreamGetId(s, &id1));
	OK(cuStreamGetId(NULL, &id2));
	assert_true(id1 != id2);
	OK(cuStreamIsCapturing(s, &capture));
	assert_int_equal(capture, CU_STREAM_CAPTURE_STATUS_NONE);
	OK(cuStreamDestroy(s));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(s));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(s));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery((CUstream)0x1234));
}

static void memory_operations(void **state)
{
	struct mark m = {0};
	uint32_t got;
	CUdeviceptr p;
	CUstream a, b;

	(void)state;
	reset();
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&p, 16));
	OK(cuMemsetD32(p, 0, 4));
	OK(cuCtxSynchronize());
	OK(cuStreamWaitValue32(a, p, 5, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuLaunchHostFunc(a, take_mark, &m));
	OK(cuStreamWriteValue32(b, p, 4, 0));
	OK(cuStreamSynchronize(b));
	sleep_ms(10);
	assert_int_equal(m.order, 0);
	OK(cuStreamWriteValue32(b, p, 6, 0));
	OK(cuStreamSynchronize(a));
	assert_int_equal(m.order, 1);
	OK(cuMemcpyDtoH(&got, p, 4));
	assert_int_equal(got, 6);
	OK(cuStreamWriteValue64(b, p + 8, 0x100000000ull, 0));
	OK(cuStreamWaitValue64(a, p + 8, 0x100000000ull, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuStreamSynchronize(a));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(b, p + 2, 0, 0));
	OK(cuMemFree(p));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

static void *thread_main(void *arg)
{
	struct mark m[20];

	(void)arg;
	if (cuCtxSetCurrent(test_ctx))
		return "cuCtxSetCurrent";
	for (int round = 0; round < 20; round++) {
		CUdeviceptr p;
		uint32_t out[64];
		CUstream s;

		if (cuStreamCreate(&s, round % 2) || cuMemAlloc(&p, 256) ||
		    cuMemsetD32Async(p, (unsigned)round, 64, s) ||
		    cuLaunchHostFunc(s, take_mark, &m[round]) || cuMemcpyDtoHAsync(out, p, 256, s) ||
		    cuStreamSynchronize(s))
			return "a call";
		for (int i = 0; i < 64; i++)
			if (out[i] != (unsigned)round)
				return "a value";
		if (cuMemFree(p) || cuStreamDestroy(s))
			return "freeing";
	}
	return NULL;
}

static void threads(void **state)
{
	pthread_t t[8];
	void *failed;

	(void)state;
	reset();
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&t[i], NULL, thread_main, NULL), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(atomic_load(&step), 160);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CONTEXT(fifo),
		WITH_CONTEXT(legacy),
		WITH_CONTEXT(independent),
		WITH_CONTEXT(synchronous_copy_waits),
		WITH_CONTEXT(sources_in_flight),
		WITH_CONTEXT(events),
		WITH_CONTEXT(timing),
		WITH_CONTEXT(callbacks),
		WITH_CONTEXT(properties),
		WITH_CONTEXT(memory_operations),
		WITH_CONTEXT(threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
