/* SPDX-License-Identifier: Apache-2.0
 *
 * What one more allocation costs when there are many: N allocations of 1 KiB and of 1 MiB + 1 (which leave
 * gaps in the address space; 15000 at most, which is the device's memory) by the driver API on the
 * interpreter, then freed in an order that looks random. Microseconds of processor time a call, as a mean over
 * each tenth of the calls: the columns show growth.
 *
 *   memory_bench [N...]      default 20000 200000
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/gen/cuda_abi.h"

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void check(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "memory_bench: %s: error %d\n", what, (int)r);
	exit(1);
}

static void shuffle(CUdeviceptr *p, unsigned n)
{
	unsigned long long seed = 1;

	for (unsigned i = n - 1; i > 0; i--) {
		unsigned k;
		CUdeviceptr t = p[i];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		k = (unsigned)(seed >> 33) % (i + 1);
		p[i] = p[k];
		p[k] = t;
	}
}

static void run(unsigned n, size_t bytes)
{
	CUdeviceptr *p = calloc(n, sizeof(*p));
	double begin, start;

	if (!p)
		exit(1);
	printf("%7u of %7zu bytes  alloc:", n, bytes);
	start = begin = now_us();
	for (unsigned i = 0; i < n; i++) {
		check(cuMemAlloc_v2(&p[i], bytes), "cuMemAlloc");
		if ((i + 1) % (n / 10))
			continue;
		printf(" %5.2f", (now_us() - begin) / (n / 10));
		begin = now_us();
	}
	printf("  mean %5.2f\n%34s", (now_us() - start) / n, "free:");
	shuffle(p, n);
	start = begin = now_us();
	for (unsigned i = 0; i < n; i++) {
		check(cuMemFree_v2(p[i]), "cuMemFree");
		if ((i + 1) % (n / 10))
			continue;
		printf(" %5.2f", (now_us() - begin) / (n / 10));
		begin = now_us();
	}
	printf("  mean %5.2f\n", (now_us() - start) / n);
	free(p);
}

int main(int argc, char **argv)
{
	static const unsigned standard[] = {20000, 200000};
	CUcontext ctx;

	check(cuInit(0), "cuInit");
	check(cuCtxCreate_v2(&ctx, 0, 0), "cuCtxCreate");
	for (int i = 0; i < (argc > 1 ? argc - 1 : 2); i++) {
		unsigned n = argc > 1 ? (unsigned)strtoul(argv[i + 1], NULL, 10) : standard[i];

		if (n < 10) {
			fprintf(stderr, "usage: memory_bench [N...], each 10 or more\n");
			return 2;
		}
		run(n, 1024);
		run(n < 15000 ? n : 15000, (1u << 20) + 1);
	}
	return 0;
}
