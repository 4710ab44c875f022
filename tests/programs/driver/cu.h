/* SPDX-License-Identifier: Apache-2.0
 *
 * cu.h: the part of the CUDA driver API that the test programs call, by exported symbol. Written by
 * hand and kept apart from api/ on purpose: if the description there had a prototype wrong, programs
 * built from it would be wrong in the same way and notice nothing.
 */
#ifndef PROGRAMS_CU_H
#define PROGRAMS_CU_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUarray_st *CUarray;
typedef struct CUtexref_st *CUtexref;
typedef struct CUsurfref_st *CUsurfref;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CU_JIT_INPUT_PTX = 1,
	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DISABLE_TIMING = 2,
	CU_MEMORYTYPE_HOST = 1,
	CU_MEMORYTYPE_ARRAY = 3,
	CU_AD_FORMAT_UNSIGNED_INT8 = 1,
	CU_AD_FORMAT_UNSIGNED_INT32 = 3,
	CU_AD_FORMAT_FLOAT = 0x20,
	CUDA_ARRAY3D_LAYERED = 1,
	CUDA_ARRAY3D_SURFACE_LDST = 2,
	CU_RESOURCE_TYPE_ARRAY = 0,
	CU_TR_ADDRESS_MODE_WRAP = 0,
	CU_TR_ADDRESS_MODE_MIRROR = 2,
	CU_TR_ADDRESS_MODE_BORDER = 3,
	CU_TR_FILTER_MODE_LINEAR = 1,
	CU_TRSF_NORMALIZED_COORDINATES = 2,
	CU_TRSA_OVERRIDE_FORMAT = 1,
};

typedef struct {
	size_t Width, Height, Depth;
	unsigned Format, NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

typedef struct {
	size_t srcXInBytes, srcY;
	unsigned srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	CUarray srcArray;
	size_t srcPitch, dstXInBytes, dstY;
	unsigned dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	CUarray dstArray;
	size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct {
	unsigned resType;
	union {
		CUarray array;
		int reserved[32];
	} res;
	unsigned flags;
} CUDA_RESOURCE_DESC;

typedef struct {
	unsigned addressMode[3], filterMode, flags, maxAnisotropy, mipmapFilterMode;
	float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
	int reserved[12];
} CUDA_TEXTURE_DESC;

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext ctx);
CUresult cuCtxSetCurrent(CUcontext ctx);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuLinkCreate_v2(unsigned noptions, int *options, void **values, CUlinkState *state);
CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t bytes, const char *name,
			  unsigned noptions, int *options, void **values);
CUresult cuLinkComplete(CUlinkState state, void **image, size_t *bytes);
CUresult cuLinkDestroy(CUlinkState state);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream);
CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count);
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream);
CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void *host);
CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUresult cuArrayDestroy(CUarray array);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t bytes);
CUresult cuTexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,
			   const CUDA_TEXTURE_DESC *sampler, const void *view);
CUresult cuTexObjectDestroy(CUtexObject texture);
CUresult cuSurfObjectCreate(CUsurfObject *surface, const CUDA_RESOURCE_DESC *resource);
CUresult cuSurfObjectDestroy(CUsurfObject surface);
CUresult cuModuleGetTexRef(CUtexref *reference, CUmodule module, const char *name);
CUresult cuModuleGetSurfRef(CUsurfref *reference, CUmodule module, const char *name);
CUresult cuTexRefSetArray(CUtexref reference, CUarray array, unsigned flags);
CUresult cuTexRefSetAddressMode(CUtexref reference, int dimension, unsigned mode);
CUresult cuTexRefSetFlags(CUtexref reference, unsigned flags);
CUresult cuSurfRefSetArray(CUsurfref reference, CUarray array, unsigned flags);
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuEventCreate(CUevent *event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			unsigned bz, unsigned shared_bytes, CUstream stream, void **params, void **extra);

#endif
