/* SPDX-License-Identifier: Apache-2.0
 *
 * interp_bench: warp-instructions per second of the interpreter on a tiled matrix product, with 1, 2, ... workers.
 *
 *	interp_bench [N [ROUNDS]]	(N x N matrices, a multiple of 16; default 256, 5)
 *
 * The kernel is made here, so the number of PTX instructions that a warp executes is known. The best round counts: other
 * load only adds time. Each worker count is a process of its own, since a device is opened once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/gen/cuda_abi.h"

#define TILE 16

static void check(CUresult r, const char *call)
{
	if (r != CUDA_SUCCESS) {
		fprintf(stderr, "interp_bench: %s returns %d\n", call, (int)r);
		exit(1);
	}
}
#define OK(call) check((call), #call)

static const char head[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".visible .entry matmul(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n_)\n{\n"
	".reg .b32 n, tx, ty, row, col, k, at, sa, sb, pa, pb; .reg .b64 ap, bp, cp, t; .reg .f32 x, y, s; "
	".reg .pred p;\n"
	".shared .align 16 .b8 tile_a[1024];\n.shared .align 16 .b8 tile_b[1024];\n";
static const char before[] =
	"ld.param.u64 ap, [a];\nld.param.u64 bp, [b];\nld.param.u64 cp, [c];\nld.param.u32 n, [n_];\n"
	"mov.u32 tx, %tid.x;\nmov.u32 ty, %tid.y;\nmov.u32 at, %ctaid.y;\n"
	"mad.lo.u32 row, at, 16, ty;\nmov.u32 at, %ctaid.x;\nmad.lo.u32 col, at, 16, tx;\n"
	"mov.u32 sa, tile_a;\nmad.lo.u32 sa, ty, 64, sa;\nmov.u32 sb, tile_b;\nmad.lo.u32 sb, tx, 4, sb;\n"
	"mad.lo.u32 pa, tx, 4, sa;\nmad.lo.u32 pb, ty, 64, sb;\nmov.f32 s, 0f00000000;\nmov.u32 k, 0;\n";
static const char load[] =
	"mad.lo.u32 at, row, n, k;\nadd.u32 at, at, tx;\nmad.wide.u32 t, at, 4, ap;\nld.global.f32 x, [t];\n"
	"st.shared.f32 [pa], x;\nadd.u32 at, k, ty;\nmad.lo.u32 at, at, n, col;\nmad.wide.u32 t, at, 4, bp;\n"
	"ld.global.f32 y, [t];\nst.shared.f32 [pb], y;\nbar.sync 0;\n";
static const char repeat[] = "bar.sync 0;\nadd.u32 k, k, 16;\nsetp.lt.u32 p, k, n;\n@p bra LOOP;\n";
static const char after[] =
	"mad.lo.u32 at, row, n, col;\nmad.wide.u32 t, at, 4, cp;\nst.global.f32 [t], s;\nret;\n";

static unsigned lines(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* The kernel's text; returns the instructions that each warp executes for matrices of n x n. */
static double make_kernel(char *ptx, size_t bytes, unsigned n)
{
	char products[4096] = "";
	size_t used = 0;

	for (unsigned i = 0; i < TILE; i++)
		used += (size_t)snprintf(
			products + used, sizeof(products) - used,
			"ld.shared.f32 x, [sa+%u];\nld.shared.f32 y, [sb+%u];\nfma.rn.f32 s, x, y, s;\n",
			4 * i, 64 * i);
	snprintf(ptx, bytes, "%s%sLOOP:\n%s%s%s%s}\n", head, before, load, products, repeat, after);
	return lines(before) + n / TILE * (double)(lines(load) + lines(products) + lines(repeat)) +
	       lines(after);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double best_time(CUfunction f, void **params, unsigned n, unsigned rounds)
{
	double best = 1e9;

	for (unsigned i = 0; i <= rounds; i++) { /* the first one decodes the kernel */
		double start = now();

		OK(cuLaunchKernel(f, n / TILE, n / TILE, 1, TILE, TILE, 1, 0, NULL, params, NULL));
		OK(cuCtxSynchronize());
		double seconds = now() - start;

		if (i && seconds < best)
			best = seconds;
	}
	return best;
}

/* Small integers: every sum is exact. */
static void check_product(const float *a, const float *b, const float *c, unsigned n)
{
	for (unsigned i = 0; i < n; i += 37)
		for (unsigned j = 0; j < n; j += 41) {
			float sum = 0;

			for (unsigned k = 0; k < n; k++)
				sum += a[i * n + k] * b[k * n + j];
			if (c[i * n + j] != sum) {
				fprintf(stderr, "interp_bench: c[%u][%u] is %g, expected %g\n", i, j,
					(double)c[i * n + j], (double)sum);
				exit(1);
			}
		}
}

static double measure(unsigned workers, unsigned n, unsigned rounds)
{
	static char ptx[8192];
	char device[64];
	size_t bytes = (size_t)n * n * sizeof(float);
	float *m[3] = {malloc(bytes), malloc(bytes), malloc(bytes)};
	CUdeviceptr d[3];
	CUcontext context;
	CUmodule module;
	CUfunction f;
	double instructions = make_kernel(ptx, sizeof(ptx), n), seconds;

	snprintf(device, sizeof(device), "interp:workers=%u", workers);
	setenv("CUTRACE_DEVICE", device, 1);
	if (!m[0] || !m[1] || !m[2])
		exit(1);
	for (size_t i = 0; i < (size_t)n * n; i++) {
		m[0][i] = (float)(i * 7 % 13) - 6;
		m[1][i] = (float)(i * 5 % 11) - 5;
	}
	OK(cuInit(0));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&f, module, "matmul"));
	for (unsigned i = 0; i < 3; i++) {
		OK(cuMemAlloc_v2(&d[i], bytes));
		OK(cuMemcpyHtoD_v2(d[i], m[i], bytes));
	}
	seconds = best_time(f, (void *[]){&d[0], &d[1], &d[2], &n}, n, rounds);
	OK(cuMemcpyDtoH_v2(m[2], d[2], bytes));
	check_product(m[0], m[1], m[2], n);
	return instructions * (double)(n / TILE) * (n / TILE) * (TILE * TILE / 32) / seconds;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 256,
		 rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 5;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int status = 0;

	if (n < TILE || n % TILE || n > 4096 || rounds < 1) {
		fprintf(stderr, "usage: interp_bench [N [ROUNDS]]   (N: a multiple of 16)\n");
		return 2;
	}
	printf("tiled matmul, %u x %u\n", n, n);
	for (unsigned workers = 1; workers <= (unsigned)processors && !status; workers *= 2) {
		fflush(stdout);
		if (fork() == 0) {
			printf("%2u workers: %6.1f million warp-instructions/s\n", workers,
			       measure(workers, n, rounds) * 1e-6);
			fflush(stdout);
			_exit(0);
		}
		wait(&status);
	}
	return status ? 1 : 0;
}
