/* SPDX-License-Identifier: Apache-2.0
 *
 * amdgpu_emulator_bench CODE_OBJECT...: the emulator's speed on the single-precision matmul with LDS tiles of
 * tests/amdgpu_emulator/kernels.cl (build/tests/amdgpu_emulator/kernels.TARGET.O2.co), in millions of wave-instructions
 * a second of processor time and of wall time, with one host thread and with one a processor. Best of five.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/amdgpu_emulator/device_memory.h"

enum { N = 256, ROUNDS = 5 };

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct speed {
	double cpu, wall;
};

static int measure(struct device_memory *m, const struct amdgpu_object *o, const struct kernel_args *args,
		   unsigned threads, struct speed *best)
{
	struct device_launch l = {.object = o,
				  .kernel = "sgemm",
				  .grid = {N / 16, N / 16},
				  .block = {16, 16},
				  .threads = threads};
	struct amdgpu_fault f;
	struct amdgpu_stats s;

	*best = (struct speed){0, 0};
	for (int i = 0; i < ROUNDS; i++) {
		double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
		if (device_run(m, &l, args, &f, &s)) {
			fprintf(stderr, "%s\n", f.message);
			return 1;
		}
		cpu = (double)s.instructions * 1e-6 / (now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
		wall = (double)s.instructions * 1e-6 / (now(CLOCK_MONOTONIC) - wall);
		best->cpu = cpu > best->cpu ? cpu : best->cpu;
		best->wall = wall > best->wall ? wall : best->wall;
	}
	return 0;
}

static int bench(const char *path)
{
	struct device_memory m;
	struct amdgpu_object *o = device_load_file(&m, path);
	struct kernel_args args = {0};
	struct speed one, all;
	int rc = 1;

	if (!o)
		return 1;
	for (int i = 0; i < 3; i++) {
		float *host;
		ARGS_VALUE(&args, uint64_t, device_buffer(&m, NULL, sizeof(float) * N * N, &host));
		for (int k = 0; i < 2 && k < N * N; k++)
			host[k] = (float)(k % 17);
	}
	ARGS_VALUE(&args, int, N);
	if (!measure(&m, o, &args, 1, &one) && !measure(&m, o, &args, 0, &all)) {
		printf("%-8s sgemm %d, M wave-instructions/s: %.1f a core; wall: %.1f with one thread, %.1f "
		       "with all\n",
		       amdgpu_object_target(o), N, one.cpu, one.wall, all.wall);
		rc = 0;
	}
	device_release(&m);
	amdgpu_object_close(o);
	return rc;
}

int main(int argc, char **argv)
{
	int rc = argc < 2;

	for (int i = 1; i < argc; i++)
		rc |= bench(argv[i]);
	return rc;
}
