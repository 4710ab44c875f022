/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory pools as objects: made, destroyed, their attributes and access, and which one a device uses.
 */
#include "pool.h"

static CUresult pool_enter(CUmemoryPool handle, struct mem_pool **p)
{
	*p = (struct mem_pool *)handle;
	return handle_enter(handle, HANDLE_POOL);
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	struct mem_pool *p;
	struct gpu *gpu;
	CUresult r = core_check();

	if (r)
		return r;
	if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || props->handleTypes)
		return CUDA_ERROR_NOT_SUPPORTED;
	gpu = gpu_get(props->location.id);
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	p = pool_new(gpu);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->props = *props;
	*out = (CUmemoryPool)p;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
	struct mem_pool *p, *heir;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	if (p->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	heir = pool_default(p->gpu);
	if (!heir)
		return CUDA_ERROR_OUT_OF_MEMORY;
	handle_remove(p);
	for (unsigned i = 0; i < core.ngpus; i++)
		if (core.gpus[i].current_pool == p)
			core.gpus[i].current_pool = NULL;
	pthread_mutex_lock(&pool_lock);
	while (p->freed) { /* addresses that still wait: the default pool's */
		struct block *b = p->freed;

		p->freed = b->next;
		b->next = heir->freed;
		heir->freed = b;
	}
	p->is_destroyed = true;
	pool_unref(p);
	pthread_mutex_unlock(&pool_lock);
	return CUDA_SUCCESS;
}

static uint64_t *attribute_u64(struct mem_pool *p, CUmemPool_attribute a)
{
	switch (a) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return &p->release_threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: /* nothing is kept beyond what is used */
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return &p->used;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return &p->used_high;
	default: return NULL;
	}
}

static bool is_reuse(CUmemPool_attribute a)
{
	return a >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
	       a <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute a, void *value)
{
	struct mem_pool *p;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	if (!value || (!is_reuse(a) && !attribute_u64(p, a)))
		return CUDA_ERROR_INVALID_VALUE;
	if (is_reuse(a))
		*(int *)value = p->reuse[a];
	else
		*(cuuint64_t *)value = *attribute_u64(p, a);
	return CUDA_SUCCESS;
}

/* The high-water marks can be set to 0 only, which resets them to what is in use. */
CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute a, void *value)
{
	struct mem_pool *p;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_reuse(a)) {
		p->reuse[a] = *(int *)value;
		return CUDA_SUCCESS;
	}
	switch (a) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p->release_threshold = *(cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(cuuint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		p->used_high = p->used;
		return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t min_bytes)
{
	struct mem_pool *p;

	(void)min_bytes; /* nothing is kept */
	return pool_enter(handle, &p);
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *desc, size_t count)
{
	struct mem_pool *p;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	if (!desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !gpu_get(desc[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		if (gpu_get(desc[i].location.id) != p->gpu && desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
			return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
		if (gpu_get(desc[i].location.id) == p->gpu &&
		    desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE; /* the own device's access can't be revoked */
	}
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
	struct mem_pool *p;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = gpu_get(location->id) == p->gpu ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
						 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

/* ---- pools of devices ------------------------------------------------------------ */

static CUresult device_pool(CUmemoryPool *out, CUdevice dev, struct mem_pool *(*which)(struct gpu *gpu))
{
	struct gpu *gpu = gpu_get(dev);
	CUresult r = core_check();

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUmemoryPool)which(gpu);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev)
{
	return device_pool(out, dev, pool_default);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev)
{
	return device_pool(out, dev, pool_current);
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle)
{
	struct gpu *gpu = gpu_get(dev);
	struct mem_pool *p;
	CUresult r = pool_enter(handle, &p);

	if (r)
		return r;
	if (!gpu || p->gpu != gpu)
		return gpu ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	gpu->current_pool = p;
	return CUDA_SUCCESS;
}

static CUresult location_device(const CUmemLocation *location, CUmemAllocationType type, CUdevice *dev)
{
	CUresult r = core_check();

	if (r)
		return r;
	if (!location || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	*dev = location->id;
	return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	CUdevice dev;
	CUresult r = location_device(location, type, &dev);

	return r ? r : cuDeviceGetDefaultMemPool(out, dev);
}

CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
	CUdevice dev;
	CUresult r = location_device(location, type, &dev);

	return r ? r : cuDeviceGetMemPool(out, dev);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUdevice dev;
	CUresult r = location_device(location, type, &dev);

	return r ? r : cuDeviceSetMemPool(dev, pool);
}
