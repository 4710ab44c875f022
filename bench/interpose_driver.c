/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_driver: a libcuda.so.1 for the benchmark: the functions that are measured do as good as nothing,
 * all others are the generated stubs.
 */
#include <string.h>

#define CUDA_ABI_NO_MAPPING
#pragma GCC visibility push(default)
#include "api/gen/cuda_abi.h"
#pragma GCC visibility pop

int core_unsupported(const char *name);
int core_unsupported(const char *name)
{
	(void)name;
	return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *c)
{
	*c = (CUcontext)0xc0de;
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n)
{
	(void)dst, (void)src, (void)n;
	return CUDA_SUCCESS;
}

/* All memory is pageable. */
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr p)
{
	(void)data, (void)attribute, (void)p;
	return CUDA_ERROR_INVALID_VALUE;
}

/* Three parameters: a pointer, a u32 and a u64. */
CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	static const size_t at[3][2] = {{0, 8}, {8, 4}, {16, 8}};

	(void)f;
	if (i >= 3)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = at[i][0];
	*size = at[i][1];
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s,
		(void)params, (void)extra;
	return CUDA_SUCCESS;
}
