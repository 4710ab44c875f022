/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDevice*: what programs ask about devices. The attributes are in device_attributes.c.
 */
#include "texture.h"

#include <stdio.h>
#include <string.h>

struct gpu *gpu_get(CUdevice dev)
{
	return dev >= 0 && (unsigned)dev < core.ngpus ? &core.gpus[dev] : NULL;
}

static CUresult device_enter(CUdevice dev, struct gpu **gpu, const void *out)
{
	CUresult r = core_check();

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*gpu = gpu_get(dev);
	return *gpu ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	struct gpu *gpu;
	CUresult r = device_enter(ordinal, &gpu, device);

	if (!r)
		*device = gpu->ordinal;
	return r;
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult r = core_check();

	if (r)
		return r;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = (int)core.ngpus;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, name);

	if (r)
		return r;
	if (len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)len, "%s", gpu->props.name);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, uuid);

	if (!r)
		memcpy(uuid->bytes, gpu->props.uuid, sizeof(uuid->bytes));
	return r;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid(uuid, dev);
}

/* Windows' adapter id: elsewhere the function is there and the answer zero. */
CUresult cuDeviceGetLuid(char *luid, unsigned int *node_mask, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, luid);

	if (r)
		return r;
	if (!node_mask)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, bytes);

	if (!r)
		*bytes = gpu->props.total_bytes;
	return r;
}

CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, bytes);

	if (!r)
		*bytes = gpu->props.total_bytes > UINT32_MAX ? UINT32_MAX : (unsigned)gpu->props.total_bytes;
	return r;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, major);

	if (r)
		return r;
	if (!minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = (int)gpu->props.cc_major;
	*minor = (int)gpu->props.cc_minor;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, prop);

	if (r)
		return r;
	*prop = (CUdevprop){
		.maxThreadsPerBlock = (int)gpu->props.max_threads_per_block,
		.sharedMemPerBlock = (int)gpu->props.shared_per_block,
		.totalConstantMemory = (int)gpu->props.const_bytes,
		.SIMDWidth = (int)gpu->props.warp_size,
		.memPitch = 0x7fffffff,
		.regsPerBlock = (int)gpu->props.regs_per_block,
		.clockRate = (int)gpu->props.clock_khz,
		.textureAlign = 512,
	};
	for (int i = 0; i < 3; i++) {
		prop->maxThreadsDim[i] = (int)gpu->props.max_block[i];
		prop->maxGridSize[i] = (int)gpu->props.max_grid[i];
	}
	return CUDA_SUCCESS;
}

/* The bus number is the physical one plus 1; cuDeviceGetAttribute and the integrity check agree with it. */
CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, id);

	if (r)
		return r;
	if (len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, (size_t)len, "0000:%02X:00.0", gpu->physical + 1);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned domain = 0, bus, device, function = 0;
	CUresult r = core_check();

	if (r)
		return r;
	if (!dev || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) {
		domain = function = 0;
		if (sscanf(id, "%x:%x.%x", &bus, &device, &function) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (unsigned i = 0; i < core.ngpus; i++) {
		if (!domain && !device && !function && bus == core.gpus[i].physical + 1) {
			*dev = core.gpus[i].ordinal;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels,
					    CUdevice dev)
{
	struct gpu *gpu;
	struct texel_format f;
	CUresult r = device_enter(dev, &gpu, width);

	if (!r)
		r = texel_format_find(format, channels, &f);
	if (!r)
		*width = 1u << 28;
	return r;
}

CUresult cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, supported);

	if (r)
		return r;
	if (type >= CU_EXEC_AFFINITY_TYPE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*supported = 0;
	return CUDA_SUCCESS;
}

/* Each device's memory belongs to it alone: no peer access. */
CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	struct gpu *gpu;
	CUresult r = device_enter(dev, &gpu, can);

	if (r)
		return r;
	if (!gpu_get(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = 0;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice src, CUdevice dst)
{
	struct gpu *gpu;
	CUresult r = device_enter(src, &gpu, value);

	if (r)
		return r;
	if (!gpu_get(dst) || src == dst)
		return CUDA_ERROR_INVALID_DEVICE;
	if (attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
	    attribute > CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED + 1)
		return CUDA_ERROR_INVALID_VALUE;
	*value = 0;
	return CUDA_SUCCESS;
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
				    CUflushGPUDirectRDMAWritesScope scope)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	(void)target;
	(void)scope;
	return r ? r : CUDA_ERROR_NOT_SUPPORTED;
}
