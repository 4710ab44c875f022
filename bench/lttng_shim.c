/* SPDX-License-Identifier: Apache-2.0
 *
 * lttng_shim: a libcuda.so.1 that writes an LTTng event before and after each call: three arguments, result
 * and out-value. It records less than cutrace does (no payload, no kernel parameters). The real driver is
 * $BENCH_DRIVER.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tracepoints.h"

#include <dlfcn.h>
#include <stdlib.h>

static void *real[4];

__attribute__((constructor)) static void load(void)
{
	static const char *const names[] = {"cuCtxSynchronize", "cuCtxGetCurrent", "cuMemcpyHtoD_v2",
					    "cuLaunchKernel"};
	void *handle = dlopen(getenv("BENCH_DRIVER"), RTLD_NOW | RTLD_LOCAL);

	for (int i = 0; i < 4; i++)
		real[i] = dlsym(handle, names[i]);
}

#define EXPORT __attribute__((visibility("default")))

int cuCtxSynchronize(void);
EXPORT int cuCtxSynchronize(void)
{
	int r;

	lttng_ust_tracepoint(bench, enter, 0, 0, 0, 0);
	r = ((int (*)(void))real[0])();
	lttng_ust_tracepoint(bench, leave, r, 0);
	return r;
}

int cuCtxGetCurrent(uint64_t *c);
EXPORT int cuCtxGetCurrent(uint64_t *c)
{
	int r;

	lttng_ust_tracepoint(bench, enter, 1, (uintptr_t)c, 0, 0);
	r = ((int (*)(uint64_t *))real[1])(c);
	lttng_ust_tracepoint(bench, leave, r, *c);
	return r;
}

int cuMemcpyHtoD_v2(uint64_t dst, const void *src, uint64_t n);
EXPORT int cuMemcpyHtoD_v2(uint64_t dst, const void *src, uint64_t n)
{
	int r;

	lttng_ust_tracepoint(bench, enter, 2, dst, (uintptr_t)src, n);
	r = ((int (*)(uint64_t, const void *, uint64_t))real[2])(dst, src, n);
	lttng_ust_tracepoint(bench, leave, r, 0);
	return r;
}

typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
		      void **, void **);
launch_fn cuLaunchKernel;
EXPORT int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			  unsigned bz, unsigned shared, void *s, void **params, void **extra)
{
	int r;

	lttng_ust_tracepoint(bench, enter, 3, (uintptr_t)f, gx, bx);
	r = ((launch_fn *)real[3])(f, gx, gy, gz, bx, by, bz, shared, s, params, extra);
	lttng_ust_tracepoint(bench, leave, r, 0);
	return r;
}
