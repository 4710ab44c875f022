/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known about a pointer.
 */
#include "core.h"

#include <string.h>

struct about {
	CUdeviceptr ptr;
	struct range *range;
	struct vmm_map map; /* RANGE_RESERVED */
	bool is_mapped;
};

static bool is_host_range(const struct range *r)
{
	return r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED;
}

static CUresult find(CUdeviceptr ptr, struct about *a)
{
	*a = (struct about){.ptr = ptr, .range = range_find(ptr)};
	if (a->range && a->range->kind == RANGE_RESERVED)
		a->is_mapped = vmm_map_at(a->range, ptr, &a->map);
	return a->range && !a->range->freeing ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult host_pointer(const struct about *a, void *data)
{
	const struct range *r = a->range;

	*(void **)data = r->host ? (char *)r->host + (a->ptr - r->addr) : NULL;
	return r->host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static struct gpu *gpu_of(const struct about *a)
{
	return a->is_mapped ? a->map.gpu : a->range->gpu;
}

static CUcontext context_of(const struct about *a)
{
	if (a->range->ctx)
		return (CUcontext)a->range->ctx;
	return (CUcontext)gpu_of(a)->primary;
}

static CUresult get(const struct about *a, CUpointer_attribute attribute, void *data)
{
	const struct range *r = a->range;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = context_of(a); break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = is_host_range(r) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = a->ptr; break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER: return host_pointer(a, data);
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *(int *)data = r->sync_memops; break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID: *(unsigned long long *)data = r->id; break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)data = r->kind == RANGE_MANAGED; break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = gpu_of(a)->ordinal; break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: *(int *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = r->addr; break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = r->bytes; break;
	case CU_POINTER_ATTRIBUTE_MAPPED: *(int *)data = r->kind != RANGE_RESERVED || a->is_mapped; break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: *(cuuint64_t *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: *(int *)data = 0; break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)data = a->is_mapped ? (unsigned)a->map.access
				    : r->kind == RANGE_RESERVED
					    ? 0u
					    : (unsigned)CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(CUmemoryPool *)data = (CUmemoryPool)r->pool; break;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = a->is_mapped ? a->map.bytes : r->bytes;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = a->is_mapped ? a->map.addr : r->addr;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: *(unsigned long long *)data = r->id; break;
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: *(int *)data = 0; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct about a;
	CUresult r = core_check();

	if (r)
		return r;
	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	r = find(ptr, &a);
	return r ? r : get(&a, attribute, data);
}

/* What a pointer that CUDA does not know answers in the plural form, which then succeeds. */
static CUresult unknown(CUpointer_attribute attribute, void *data)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS: return CUDA_ERROR_NOT_SUPPORTED;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = CU_DEVICE_INVALID; break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: memset(data, 0, 4); break;
	default:
		if ((int)attribute < 1 || (int)attribute > 21)
			return CUDA_ERROR_INVALID_VALUE;
		memset(data, 0, 8);
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr)
{
	struct about a;
	bool known;
	CUresult r = core_check();

	if (r)
		return r;
	if (!n || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	known = find(ptr, &a) == CUDA_SUCCESS;
	for (unsigned i = 0; i < n && !r; i++) {
		if (!data[i])
			return CUDA_ERROR_INVALID_VALUE;
		r = known ? get(&a, attributes[i], data[i]) : unknown(attributes[i], data[i]);
		if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
			r = CUDA_SUCCESS; /* NULL is an answer here */
	}
	return r;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct about a;
	CUresult r = core_check();

	if (r)
		return r;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	r = find(ptr, &a);
	if (!r)
		a.range->sync_memops = *(const int *)value;
	return r;
}

/* ---- ranges of managed memory: advice is accepted and not kept ------------------------------- */

static CUresult range_attribute(void *data, size_t bytes, CUmem_range_attribute attribute)
{
	int none = CU_DEVICE_INVALID;

	switch ((int)attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: none = 0; break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: break;
	default: /* location types and ids: CU_MEM_LOCATION_TYPE_INVALID */
		if ((int)attribute < 5 || (int)attribute > 8)
			return CUDA_ERROR_INVALID_VALUE;
		none = 0;
	}
	if (!bytes || bytes % 4)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < bytes / 4; i++)
		((int *)data)[i] = none;
	return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttribute(void *data, size_t bytes, CUmem_range_attribute attribute, CUdeviceptr ptr,
				size_t count)
{
	struct range *range = range_find(ptr);
	CUresult r = core_check();

	if (r)
		return r;
	if (!data || !range || range->kind != RANGE_MANAGED || !count || !range_contains(range, ptr, count))
		return CUDA_ERROR_INVALID_VALUE;
	return range_attribute(data, bytes, attribute);
}

CUresult cuMemRangeGetAttributes(void **data, size_t *bytes, CUmem_range_attribute *attributes, size_t n,
				 CUdeviceptr ptr, size_t count)
{
	CUresult r = core_check();

	if (!r && (!n || !data || !bytes || !attributes))
		r = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n && !r; i++)
		r = cuMemRangeGetAttribute(data[i], bytes[i], attributes[i], ptr, count);
	return r;
}
