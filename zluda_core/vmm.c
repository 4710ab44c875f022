/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory management: address reservations, physical allocations, mappings. A mapping is made on the
 * device when access is granted. Read-only access is granted as read-write: the device interface knows no
 * protection.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define GRANULE (2ull << 20)

/* Guards the mappings of all reservations: programs change different parts of one at once. Taken before
 * core.lock; never held while work is waited for. */
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult prop_check(const CUmemAllocationProp *prop, struct gpu **gpu)
{
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	*gpu = gpu_get(prop->location.id);
	return *gpu ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	struct gpu *gpu;
	CUresult r = core_check();

	if (!r)
		r = prop_check(prop, &gpu);
	if (r)
		return r;
	if (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = GRANULE;
	return CUDA_SUCCESS;
}

/* ---- addresses --------------------------------------------------------------- */

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
			     unsigned long long flags)
{
	struct range *r;
	CUresult e = core_check();

	if (e)
		return e;
	if (!ptr || !size || size % GRANULE || flags || (alignment & (alignment - 1)) || addr % 4096)
		return CUDA_ERROR_INVALID_VALUE;
	if (alignment < GRANULE)
		alignment = GRANULE;
	e = range_alloc(&(struct range_request){.bytes = size,
						.align = alignment,
						.hint = addr,
						.placeable = true,
						.kind = RANGE_RESERVED,
						.gpu = &core.gpus[0]},
			&r);
	if (!e)
		*ptr = r->addr;
	return e;
}

static struct range *reservation(CUdeviceptr ptr, size_t size)
{
	struct range *r = range_find(ptr);

	return r && r->kind == RANGE_RESERVED && range_contains(r, ptr, size) ? r : NULL;
}

static bool has_maps(const struct range *r)
{
	bool yes;

	pthread_mutex_lock(&map_lock);
	yes = r->maps;
	pthread_mutex_unlock(&map_lock);
	return yes;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	CUresult e = core_check();
	struct range *r;

	if (e)
		return e;
	r = reservation(ptr, size);
	if (!r || r->addr != ptr || r->bytes != size || has_maps(r))
		return CUDA_ERROR_INVALID_VALUE;
	range_free(r);
	return CUDA_SUCCESS;
}

/* ---- physical memory ---------------------------------------------------------------- */

static void handle_unref(struct vmm_handle *h)
{
	bool last;

	pthread_mutex_lock(&core.lock);
	last = !--h->refs;
	pthread_mutex_unlock(&core.lock);
	if (!last)
		return;
	handle_remove(h);
	h->gpu->ops->mem_destroy(h->gpu->dev, h->mem);
	atomic_fetch_sub(&h->gpu->used_bytes, h->bytes);
	free(h);
}

static void handle_ref(struct vmm_handle *h)
{
	pthread_mutex_lock(&core.lock);
	h->refs++;
	pthread_mutex_unlock(&core.lock);
}

static struct vmm_handle *handle_get(CUmemGenericAllocationHandle handle)
{
	return handle_is((void *)handle, HANDLE_MEM) ? (struct vmm_handle *)handle : NULL;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *prop,
		     unsigned long long flags)
{
	struct vmm_handle *h;
	struct gpu *gpu;
	CUresult r = core_check();

	if (!r)
		r = prop_check(prop, &gpu);
	if (r)
		return r;
	if (!out || !size || size % GRANULE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->requestedHandleTypes)
		return CUDA_ERROR_NOT_SUPPORTED;
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!gpu_take(gpu, size)) {
		free(h);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (gpu->ops->mem_create(gpu->dev, size, &h->mem, NULL)) {
		atomic_fetch_sub(&gpu->used_bytes, size);
		free(h);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	h->refs = 1;
	h->bytes = size;
	h->gpu = gpu;
	h->prop = *prop;
	if (!handle_add(h, HANDLE_MEM)) {
		handle_unref(h);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = (CUmemGenericAllocationHandle)h;
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct vmm_handle *h = handle_get(handle);
	CUresult r = core_check();

	if (r)
		return r;
	if (!h)
		return CUDA_ERROR_INVALID_VALUE;
	handle_unref(h);
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						CUmemGenericAllocationHandle handle)
{
	struct vmm_handle *h = handle_get(handle);
	CUresult r = core_check();

	if (r)
		return r;
	if (!h || !prop)
		return CUDA_ERROR_INVALID_VALUE;
	*prop = h->prop;
	return CUDA_SUCCESS;
}

static struct vmm_map *map_find(const struct range *r, uint64_t addr)
{
	for (struct vmm_map *m = r->maps; m; m = m->next)
		if (addr >= m->addr && addr - m->addr < m->bytes)
			return m;
	return NULL;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr)
{
	struct range *r = reservation((CUdeviceptr)addr, 1);
	CUresult e = core_check();
	struct vmm_map *m;

	if (e)
		return e;
	if (!out || !r)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&map_lock);
	m = map_find(r, (CUdeviceptr)addr);
	if (m) {
		handle_ref(m->handle);
		*out = (CUmemGenericAllocationHandle)m->handle;
	}
	pthread_mutex_unlock(&map_lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- mappings ------------------------------------------------------------------------- */

bool vmm_map_at(const struct range *r, uint64_t addr, struct vmm_map *out)
{
	struct vmm_map *m;

	pthread_mutex_lock(&map_lock);
	m = map_find(r, addr);
	if (m)
		*out = *m;
	pthread_mutex_unlock(&map_lock);
	return m;
}

bool vmm_covered(const struct range *r, uint64_t addr, uint64_t bytes)
{
	uint64_t end = addr + bytes;

	pthread_mutex_lock(&map_lock);
	for (const struct vmm_map *m = r->maps; m && addr < end; m = m->next) {
		if (addr < m->addr || (addr < m->addr + m->bytes && !m->mapped))
			break;
		if (addr < m->addr + m->bytes)
			addr = m->addr + m->bytes;
	}
	pthread_mutex_unlock(&map_lock);
	return addr >= end;
}

static void map_remove(struct vmm_map *m)
{
	struct gpu *gpu = m->handle->gpu;

	if (m->mapped)
		gpu->ops->unmap(gpu->dev, m->addr, m->bytes, NULL);
	handle_unref(m->handle);
	free(m);
}

void vmm_unmap_all(struct range *r)
{
	pthread_mutex_lock(&map_lock);
	while (r->maps) {
		struct vmm_map *m = r->maps;

		r->maps = m->next;
		map_remove(m);
	}
	pthread_mutex_unlock(&map_lock);
}

static bool map_add(struct range *r, struct vmm_map *m)
{
	struct vmm_map **at;
	bool is_free;

	pthread_mutex_lock(&map_lock);
	for (at = &r->maps; *at && (*at)->addr + (*at)->bytes <= m->addr; at = &(*at)->next)
		;
	is_free = !*at || (*at)->addr >= m->addr + m->bytes;
	if (is_free) {
		handle_ref(m->handle);
		m->next = *at;
		*at = m;
	}
	pthread_mutex_unlock(&map_lock);
	return is_free;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	struct vmm_handle *h = handle_get(handle);
	struct range *r = reservation(ptr, size);
	CUresult e = core_check();
	struct vmm_map *m;

	if (e)
		return e;
	if (!h || !r || !size || size % GRANULE || (ptr - r->addr) % GRANULE || flags || offset % GRANULE ||
	    offset > h->bytes || size > h->bytes - offset)
		return CUDA_ERROR_INVALID_VALUE;
	m = calloc(1, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*m = (struct vmm_map){.addr = ptr, .bytes = size, .offset = offset, .gpu = h->gpu, .handle = h};
	if (!map_add(r, m)) {
		free(m);
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* Whole mappings only, no gaps. */
static bool whole_maps(const struct range *r, CUdeviceptr ptr, size_t size)
{
	uint64_t at = ptr;

	for (const struct vmm_map *m = r->maps; m && at < ptr + size; m = m->next)
		if (m->addr == at)
			at += m->bytes;
	return at == ptr + size;
}

static CUresult unmap_locked(struct range *r, CUdeviceptr ptr, size_t size)
{
	if (!whole_maps(r, ptr, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (struct vmm_map **at = &r->maps; *at;) {
		struct vmm_map *m = *at;

		if (m->addr < ptr || m->addr >= ptr + size) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		map_remove(m);
	}
	return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct range *r = reservation(ptr, size);
	CUresult e = core_check();

	if (e)
		return e;
	if (!r || !size)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < core.ngpus; i++)
		gpu_wait(&core.gpus[i]);
	pthread_mutex_lock(&map_lock);
	e = unmap_locked(r, ptr, size);
	pthread_mutex_unlock(&map_lock);
	return e;
}

static CUresult map_access(struct vmm_map *m, CUmemAccess_flags access)
{
	struct gpu *gpu = m->handle->gpu;
	bool wanted = access != CU_MEM_ACCESS_FLAGS_PROT_NONE;

	m->access = access;
	if (wanted == m->mapped)
		return CUDA_SUCCESS;
	if (!wanted) {
		gpu->ops->unmap(gpu->dev, m->addr, m->bytes, NULL);
		m->mapped = false;
		return CUDA_SUCCESS;
	}
	if (gpu->ops->map(gpu->dev, m->addr, m->bytes, m->handle->mem, m->offset, true, NULL))
		return CUDA_ERROR_MAP_FAILED;
	m->mapped = true;
	return CUDA_SUCCESS;
}

static bool access_valid(const CUmemAccessDesc *d)
{
	return d->location.type == CU_MEM_LOCATION_TYPE_DEVICE && gpu_get(d->location.id) &&
	       (d->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || d->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
		d->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static CUresult access_locked(struct range *r, CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc)
{
	CUresult e = CUDA_SUCCESS;

	for (struct vmm_map *m = r->maps; m && !e; m = m->next) {
		if (m->addr < ptr || m->addr >= ptr + size)
			continue;
		if (m->gpu == gpu_get(desc->location.id))
			e = map_access(m, desc->flags);
		else if (desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
			e = CUDA_ERROR_NOT_SUPPORTED; /* no peer access */
	}
	return e;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	struct range *r = reservation(ptr, size);
	CUresult e = core_check();

	if (e)
		return e;
	if (!r || !size || !desc || !count)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&map_lock);
	if (!whole_maps(r, ptr, size))
		e = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !e; i++)
		e = access_valid(&desc[i]) ? access_locked(r, ptr, size, &desc[i]) : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&map_lock);
	return e;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
	struct range *r = reservation(ptr, 1);
	CUresult e = core_check();
	struct vmm_map m;

	if (e)
		return e;
	if (!flags || !location || !r || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !vmm_map_at(r, ptr, &m))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = gpu_get(location->id) == m.gpu ? (unsigned long long)m.access : 0;
	return CUDA_SUCCESS;
}
