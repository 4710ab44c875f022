/* SPDX-License-Identifier: Apache-2.0
 *
 * A program as users write it, with unversioned names: compiling is the test.
 */
#include "api/gen/cuda_abi.h"

CUresult client_run(const char *ptx, float *host, size_t n);

CUresult client_run(const char *ptx, float *host, size_t n)
{
	CUdevice dev;
	CUcontext ctx;
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr buffer;
	CUstream stream;
	CUresult r = cuInit(0);
	void *params[] = {&buffer, &n};
	CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}};
	CUlaunchConfig config = {.gridDimX = 1, .blockDimX = 32, .attrs = &attr, .numAttrs = 1};

	r = r ? r : cuDeviceGet(&dev, 0);
	r = r ? r : cuCtxCreate(&ctx, NULL, CU_CTX_SCHED_AUTO, dev);
	r = r ? r : cuModuleLoadData(&module, ptx);
	r = r ? r : cuModuleGetFunction(&kernel, module, "k");
	r = r ? r : cuMemAlloc(&buffer, n * sizeof(float));
	r = r ? r : cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	r = r ? r : cuMemcpyHtoDAsync(buffer, host, n * sizeof(float), stream);
	r = r ? r : cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, CU_STREAM_LEGACY, params, NULL);
	r = r ? r : cuLaunchKernelEx(&config, kernel, params, NULL);
	r = r ? r : cuMemcpyDtoH(host, buffer, n * sizeof(float));
	r = r ? r : cuStreamQuery(stream);
	return r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r;
}
