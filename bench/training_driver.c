/* SPDX-License-Identifier: Apache-2.0
 *
 * training_driver: a libcuda.so.1 for training_step.c. It executes no kernel, but takes the time of a GPU's: a launch costs
 * the caller LAUNCH_NS, its kernel keeps its stream busy for KERNEL_NS, and who waits for a stream, or copies from it,
 * waits until it is idle. Memory is host memory, copies move their bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CUDA_ABI_NO_MAPPING
#pragma GCC visibility push(default)
#include "api/gen/cuda_abi.h"
#pragma GCC visibility pop

#define LAUNCH_NS 2500
#define KERNEL_NS 20000

static struct CUstream_st {
	long long busy_until;
} streams[16];
static unsigned nstreams = 1; /* the default stream is the first */

int core_unsupported(const char *name);
int core_unsupported(const char *name)
{
	(void)name;
	return CUDA_ERROR_NOT_SUPPORTED;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void wait_until(long long when)
{
	while (now() < when)
		;
}

static struct CUstream_st *of(CUstream s)
{
	return s ? s : &streams[0];
}

CUresult cuInit(unsigned flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *d, int i)
{
	*d = i;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *n)
{
	*n = 1;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *c, unsigned flags, CUdevice d)
{
	(void)flags, (void)d;
	*c = (CUcontext)0xc0de;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *c)
{
	*c = (CUcontext)0xc0de;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	for (unsigned i = 0; i < nstreams; i++)
		wait_until(streams[i].busy_until);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
	(void)flags;
	*s = &streams[nstreams++ % 16];
	return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *status)
{
	(void)s;
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream s)
{
	wait_until(of(s)->busy_until);
	return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *e, unsigned flags)
{
	(void)flags;
	*e = calloc(1, sizeof(long long));
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent e, CUstream s)
{
	*(long long *)(void *)e = of(s)->busy_until;
	return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
	long long when = *(long long *)(void *)e;

	(void)flags;
	if (of(s)->busy_until < when)
		of(s)->busy_until = when;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	*p = (CUdeviceptr)(uintptr_t)calloc(1, n);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
	cuCtxSynchronize();
	memcpy((void *)(uintptr_t)to, from, n);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
	cuCtxSynchronize();
	memcpy(to, (const void *)(uintptr_t)from, n);
	return CUDA_SUCCESS;
}

/* All memory is pageable. */
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr p)
{
	(void)data, (void)attribute, (void)p;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	*m = (CUmodule)(uintptr_t)image;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	static char functions[64];
	unsigned k = 0;

	(void)m;
	for (; *name; name++)
		k = k * 31 + (unsigned char)*name;
	*f = (CUfunction)(void *)&functions[k % 64];
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
	long long t = now();
	struct CUstream_st *on = of(s);

	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)params,
		(void)extra;
	on->busy_until = (on->busy_until > t ? on->busy_until : t) + KERNEL_NS;
	wait_until(t + LAUNCH_NS);
	return CUDA_SUCCESS;
}
