/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_bench: what a driver call costs the program that makes it. The same program is run bare and under
 * each recorder (interpose.sh); the difference is the recorder's. Calls come in bursts with a pause behind
 * each, as in programs that also compute; otherwise the speed of whoever writes the trace would be measured.
 *
 * interpose_bench calls THREADS    one line per function: name, threads, then min, median and max of ns per
 * call
 * interpose_bench speed            ns of what recording a call is made of, on this machine at this moment: reading
 * the time stamp counter (twice a call), a locked addition, an empty system call
 * interpose_bench payload          MB/s of copies from host memory: bursts that fit into a ring, and a long run
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"

#define BURSTS      40
#define BURST_CALLS 2000
#define PAUSE_US    20000

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void burst_none(int n)
{
	for (int i = 0; i < n; i++)
		cuCtxSynchronize();
}

static void burst_out(int n)
{
	CUcontext c;

	for (int i = 0; i < n; i++)
		cuCtxGetCurrent(&c);
}

static void burst_copy(int n)
{
	static char data[64];

	for (int i = 0; i < n; i++)
		cuMemcpyHtoD_v2(0x1000, data, sizeof(data));
}

static void burst_launch(int n)
{
	CUdeviceptr p = 0x1000;
	unsigned v = 1;
	uint64_t count = 2;
	void *params[] = {&p, &v, &count};

	for (int i = 0; i < n; i++)
		cuLaunchKernel((CUfunction)0x1234, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL);
}

static const struct {
	const char *name;
	void (*burst)(int n);
} functions[] = {
	{"no-arguments", burst_none},
	{"one-out", burst_out},
	{"copy-64-bytes", burst_copy},
	{"launch", burst_launch},
};
#define NFUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static pthread_barrier_t barrier;

struct run {
	void (*burst)(int n);
	double ns[BURSTS];
};

static void *measure(void *arg)
{
	struct run *r = arg;

	r->burst(BURST_CALLS); /* rings, caches, lazy binding */
	for (int i = 0; i < BURSTS; i++) {
		double begin;

		usleep(PAUSE_US);
		pthread_barrier_wait(&barrier);
		begin = now_ns();
		r->burst(BURST_CALLS);
		r->ns[i] = (now_ns() - begin) / BURST_CALLS;
	}
	return NULL;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int bench_calls(unsigned nthreads)
{
	if (nthreads < 1 || nthreads > 16)
		return 2;
	pthread_barrier_init(&barrier, NULL, nthreads);
	for (size_t f = 0; f < NFUNCTIONS; f++) {
		static struct run runs[16];
		static double all[16 * BURSTS];
		pthread_t threads[16];
		size_t n = 0;

		for (unsigned i = 0; i < nthreads; i++) {
			runs[i].burst = functions[f].burst;
			pthread_create(&threads[i], NULL, measure, &runs[i]);
		}
		for (unsigned i = 0; i < nthreads; i++) {
			pthread_join(threads[i], NULL);
			memcpy(all + n, runs[i].ns, sizeof(runs[i].ns));
			n += BURSTS;
		}
		qsort(all, n, sizeof(all[0]), ascending);
		printf("%s %u %.1f %.1f %.1f\n", functions[f].name, nthreads, all[0], all[n / 2], all[n - 1]);
	}
	return 0;
}

/* Copies of `bytes`, `count` of them in a burst; MB/s of each burst. */
static void payload(const char *name, size_t bytes, int count, int bursts, int pause_us,
		    void (*copy)(void *, const void *, size_t))
{
	char *src = malloc(bytes), *dst = malloc(bytes);
	double rate[100];

	for (size_t i = 0; i < bytes; i++)
		src[i] = (char)(i * 2654435761u >> 13);
	memset(dst, 1, bytes);
	for (int b = -1; b < bursts; b++) {
		double begin;

		src[0] = (char)b; /* the same bytes twice would be stored once */
		usleep((unsigned)pause_us);
		begin = now_ns();
		for (int i = 0; i < count; i++)
			copy(dst, src, bytes);
		if (b >= 0)
			rate[b] = (double)bytes * count / (now_ns() - begin) * 1000;
	}
	qsort(rate, (size_t)bursts, sizeof(rate[0]), ascending);
	printf("%s 1 %.0f %.0f %.0f\n", name, rate[0], rate[bursts / 2], rate[bursts - 1]);
	free(src);
	free(dst);
}

static void copy_driver(void *dst, const void *src, size_t n)
{
	cuMemcpyHtoD_v2((uintptr_t)dst, src, n);
}

static void copy_memcpy(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
	__asm__ volatile("" ::: "memory");
}

static int bench_payload(void)
{
	/* One megabyte fits into the ring; the pause lets it be drained. */
	payload("memcpy-1MB", 1 << 20, 1, 40, 20000, copy_memcpy);
	payload("ring-1MB", 1 << 20, 1, 40, 20000, copy_driver);
	payload("sustained-16MB", 16 << 20, 1, 12, 0, copy_driver);
	return 0;
}

static int bench_fill(void)
{
	size_t bytes = 16u << 20;
	uint64_t *src = malloc(bytes), x = 88172645463325252ull;

	for (int i = 0; i < 32; i++) {
		/* xorshift64 (Marsaglia 2003) */
		for (size_t k = 0; k < bytes / 8; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			src[k] = x;
		}
		cuMemcpyHtoD_v2(0x1000, src, bytes);
	}
	free(src);
	return 0;
}

static void step_tsc(void)
{
	__builtin_ia32_rdtsc();
}

static void step_locked_add(void)
{
	static _Atomic uint64_t n;

	n++;
}

static void step_system_call(void)
{
	syscall(SYS_getppid);
}

static int bench_speed(void)
{
	static const struct {
		const char *name;
		void (*step)(void);
	} steps[] = {{"rdtsc", step_tsc}, {"locked-add", step_locked_add}, {"system-call", step_system_call}};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		double ns[BURSTS];

		for (int b = 0; b < BURSTS; b++) {
			double begin = now_ns();

			for (int k = 0; k < BURST_CALLS; k++)
				steps[i].step();
			ns[b] = (now_ns() - begin) / BURST_CALLS;
		}
		qsort(ns, BURSTS, sizeof(ns[0]), ascending);
		printf("%s 1 %.1f %.1f %.1f\n", steps[i].name, ns[0], ns[BURSTS / 2], ns[BURSTS - 1]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "calls"))
		return bench_calls((unsigned)atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "speed"))
		return bench_speed();
	if (argc > 1 && !strcmp(argv[1], "payload"))
		return bench_payload();
	if (argc > 1 && !strcmp(argv[1], "fill"))
		return bench_fill();
	return 2;
}
