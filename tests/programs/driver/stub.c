/* SPDX-License-Identifier: Apache-2.0
 *
 * The exported names that the programs link against. Never loaded: a program that ends up here has been
 * started without a driver, and says so. */
#include <stdio.h>
#include <stdlib.h>

#define STUB(name)                                                                     \
	void name(void);                                                               \
	void name(void)                                                                \
	{                                                                              \
		fprintf(stderr, #name ": this is the link-time stub, not a driver\n"); \
		abort();                                                               \
	}

STUB(cuInit)
STUB(cuDeviceGet)
STUB(cuCtxCreate_v2)
STUB(cuCtxDestroy_v2)
STUB(cuCtxSetCurrent)
STUB(cuCtxSynchronize)
STUB(cuModuleLoadData)
STUB(cuLinkCreate_v2)
STUB(cuLinkAddData_v2)
STUB(cuLinkComplete)
STUB(cuLinkDestroy)
STUB(cuModuleUnload)
STUB(cuModuleGetFunction)
STUB(cuModuleGetGlobal_v2)
STUB(cuMemAlloc_v2)
STUB(cuMemFree_v2)
STUB(cuMemcpyHtoD_v2)
STUB(cuMemcpyDtoH_v2)
STUB(cuMemcpyHtoDAsync_v2)
STUB(cuMemcpyDtoHAsync_v2)
STUB(cuMemsetD32_v2)
STUB(cuMemsetD32Async)
STUB(cuMemHostAlloc)
STUB(cuMemFreeHost)
STUB(cuArray3DCreate_v2)
STUB(cuArrayDestroy)
STUB(cuMemcpy2D_v2)
STUB(cuMemcpyHtoA_v2)
STUB(cuTexObjectCreate)
STUB(cuTexObjectDestroy)
STUB(cuSurfObjectCreate)
STUB(cuSurfObjectDestroy)
STUB(cuModuleGetTexRef)
STUB(cuModuleGetSurfRef)
STUB(cuTexRefSetArray)
STUB(cuTexRefSetAddressMode)
STUB(cuTexRefSetFlags)
STUB(cuSurfRefSetArray)
STUB(cuStreamCreate)
STUB(cuStreamSynchronize)
STUB(cuStreamWaitEvent)
STUB(cuStreamDestroy_v2)
STUB(cuEventCreate)
STUB(cuEventRecord)
STUB(cuEventSynchronize)
STUB(cuEventDestroy_v2)
STUB(cuLaunchKernel)
