/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocations: device memory, page-locked host memory, managed memory. Host and managed memory have the same
 * address on both sides; managed memory is one set of host pages that the device reads and writes in place.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define PITCH_ALIGN 512u

/* ---- backing and mapping ------------------------------------------------------- */

bool gpu_take(struct gpu *gpu, uint64_t bytes)
{
	uint64_t used = atomic_load(&gpu->used_bytes);

	do {
		if (used > gpu->props.total_bytes || bytes > gpu->props.total_bytes - used)
			return false;
	} while (!atomic_compare_exchange_weak(&gpu->used_bytes, &used, used + bytes));
	return true;
}

CUresult memory_back(struct range *r)
{
	struct gpu *gpu = r->gpu;
	struct diag d = DIAG_INIT;
	int e;

	if (!r->host && !gpu_take(gpu, r->bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (r->host)
		e = gpu->ops->mem_import_host(gpu->dev, r->host, r->bytes, &r->mem, &d);
	else
		e = gpu->ops->mem_create(gpu->dev, r->bytes, &r->mem, &d);
	if (!e)
		return CUDA_SUCCESS;
	r->mem = NULL;
	say_verbose("%s", d.what);
	if (r->host)
		return result_of(e);
	atomic_fetch_sub(&gpu->used_bytes, r->bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void memory_unback(struct range *r)
{
	if (!r->mem)
		return;
	r->gpu->ops->mem_destroy(r->gpu->dev, r->mem);
	r->mem = NULL;
	if (!r->host)
		atomic_fetch_sub(&r->gpu->used_bytes, r->bytes);
}

CUresult memory_map(struct range *r)
{
	struct diag d = DIAG_INIT;
	int e = r->gpu->ops->map(r->gpu->dev, r->addr, r->bytes, r->mem, 0, false, &d);

	if (e)
		say_verbose("%s", d.what);
	return result_of(e);
}

void memory_unmap(struct range *r)
{
	r->gpu->ops->unmap(r->gpu->dev, r->addr, r->bytes, NULL);
}

CUresult memory_alloc(const struct range_request *req, struct range **out)
{
	struct range *r;
	CUresult e = range_alloc(req, &r);

	if (e)
		return e;
	e = memory_back(r);
	if (!e)
		e = memory_map(r);
	if (e) {
		memory_unback(r);
		range_free(r);
		return e;
	}
	*out = r;
	return CUDA_SUCCESS;
}

/* Whatever the range is made of. The caller has waited for work that uses it. */
void memory_free(struct range *r)
{
	if (r->kind == RANGE_RESERVED) {
		vmm_unmap_all(r);
	} else if (r->mem) {
		memory_unmap(r);
		memory_unback(r);
	}
	if (r->alias)
		range_free(r->alias);
	if (r->host && r->kind != RANGE_REGISTERED && !r->host_of_device)
		host_pages_unmap(r->host, r->host_bytes, r->host_reserved);
	range_free(r);
}

/* Where the device sees host memory that it was given. */
static uint64_t device_address(const struct range *r)
{
	uint64_t at = r->gpu->ops->mem_address ? r->gpu->ops->mem_address(r->gpu->dev, r->mem) : 0;

	return at ? at : r->addr;
}

/* Memory of both sides that the device makes, at an address of its choice. */
static CUresult alloc_host_of_device(const struct range_request *req_in, struct range **out)
{
	struct range_request req = *req_in;
	const struct device_ops *ops = req.gpu->ops;
	struct diag d = DIAG_INIT;
	struct dev_mem *mem;
	struct range *r;
	void *host;
	CUresult e;

	if (ops->host_alloc(req.gpu->dev, req.bytes, req.kind == RANGE_MANAGED, &host, &mem, &d)) {
		say_verbose("%s", d.what);
		return result_of(d.code);
	}
	req.hint = (uint64_t)host;
	req.exact = true;
	req.placeable = false;
	e = range_alloc(&req, &r);
	if (e) {
		ops->mem_destroy(req.gpu->dev, mem);
		return e;
	}
	r->host = host;
	r->host_of_device = true;
	r->host_bytes = r->bytes;
	r->mem = mem;
	e = memory_map(r);
	if (e) {
		memory_unback(r);
		range_free(r);
		return e;
	}
	*out = r;
	return CUDA_SUCCESS;
}

CUresult memory_alloc_host(const struct range_request *req_in, struct range **out)
{
	struct range_request req = *req_in;
	bool anywhere = !req.exact && !(req.placeable && thread_state()->place.next_set), reserved;
	struct range *r;
	CUresult e;
	void *p;

	if (anywhere && req.gpu->ops->host_alloc)
		return alloc_host_of_device(req_in, out);
	e = range_alloc(&req, &r);
	if (e)
		return e;
	p = host_pages_map(r->addr, r->bytes, anywhere, &reserved);
	if (!p) {
		range_free(r);
		return anywhere ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_ALREADY_MAPPED;
	}
	if ((uint64_t)p != r->addr) { /* the address is taken in this process: both sides use another */
		range_free(r);
		req.hint = (uint64_t)p;
		req.exact = true;
		req.placeable = false;
		e = range_alloc(&req, &r);
		if (e) {
			host_pages_unmap(p, req.bytes, false);
			return e;
		}
	}
	r->host = p;
	r->host_bytes = r->bytes;
	r->host_reserved = reserved;
	e = memory_back(r);
	if (!e)
		e = memory_map(r);
	if (!e && device_address(r) != r->addr) { /* only the host would have it where it has to be */
		memory_unmap(r);
		e = CUDA_ERROR_ALREADY_MAPPED;
	}
	if (e) {
		memory_unback(r);
		host_pages_unmap(p, r->host_bytes, reserved);
		range_free(r);
		return e;
	}
	*out = r;
	return CUDA_SUCCESS;
}

CUresult memory_write(struct gpu *gpu, uint64_t dst, const void *src, uint64_t bytes)
{
	return gpu->ops->write(gpu->dev, dst, src, bytes, NULL) ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

CUresult memory_read(struct gpu *gpu, void *dst, uint64_t src, uint64_t bytes)
{
	return gpu->ops->read(gpu->dev, dst, src, bytes, NULL) ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

/* ---- device memory --------------------------------------------------------------- */

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	struct context *ctx;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	e = memory_alloc(
		&(struct range_request){
			.bytes = bytes, .placeable = true, .kind = RANGE_DEVICE, .gpu = ctx->gpu, .ctx = ctx},
		&r);
	if (!e)
		*ptr = r->addr;
	return e;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
			    unsigned int element)
{
	struct context *ctx;
	size_t row, bytes;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!ptr || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_add_overflow(width, PITCH_ALIGN - 1, &row))
		return CUDA_ERROR_OUT_OF_MEMORY;
	row -= row % PITCH_ALIGN;
	if (__builtin_mul_overflow(row, height, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = cuMemAlloc_v2(ptr, bytes);
	if (!e)
		*pitch = row;
	return e;
}

/* Waits for all work of the device first, as drivers do in effect: what runs may use the memory. */
CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	struct context *ctx;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e || !ptr)
		return e;
	r = range_find(ptr);
	if (!r || r->addr != ptr || r->freeing ||
	    (r->kind != RANGE_DEVICE && r->kind != RANGE_POOL && r->kind != RANGE_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	gpu_wait(r->gpu);
	print_flush();
	if (r->kind == RANGE_POOL)
		return cuMemFreeAsync(ptr, NULL);
	memory_free(r);
	return (CUresult)atomic_load(&ctx->error);
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	struct context *ctx;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!free_bytes || !total)
		return CUDA_ERROR_INVALID_VALUE;
	*total = ctx->gpu->props.total_bytes;
	*free_bytes = *total - atomic_load(&ctx->gpu->used_bytes);
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr)
{
	struct context *ctx;
	bool is_mapped = false;
	struct vmm_map map;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	r = range_find(ptr);
	if (r && r->kind == RANGE_RESERVED)
		is_mapped = vmm_map_at(r, ptr, &map);
	if (!r || (r->kind == RANGE_RESERVED && !is_mapped))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = is_mapped ? map.addr : r->addr;
	if (bytes)
		*bytes = is_mapped ? map.bytes : r->bytes;
	return CUDA_SUCCESS;
}

/* ---- page-locked host memory ----------------------------------------------------------- */

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
	struct context *ctx;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!out || !bytes || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	e = memory_alloc_host(
		&(struct range_request){
			.bytes = bytes, .placeable = true, .kind = RANGE_HOST, .gpu = ctx->gpu, .ctx = ctx},
		&r);
	if (e)
		return e;
	r->flags = flags;
	*out = r->host;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **out, size_t bytes)
{
	return cuMemHostAlloc(out, bytes, 0);
}

CUresult cuMemAllocHost(void **out, unsigned int bytes)
{
	return cuMemHostAlloc(out, bytes, 0);
}

/* Page-locked or registered memory that begins at p. */
static CUresult give_back(const void *p, enum range_kind kind, CUresult not_found)
{
	struct context *ctx;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	r = range_find((uint64_t)p);
	if (!r || r->addr != (uint64_t)p || r->kind != kind || !r->mem)
		return not_found;
	gpu_wait(r->gpu);
	memory_free(r);
	return (CUresult)atomic_load(&ctx->error);
}

CUresult cuMemFreeHost(void *p)
{
	return give_back(p, RANGE_HOST, p ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

/* Registered memory that the device sees elsewhere has two addresses; either works in copies. */
static CUresult make_alias(struct range *r)
{
	uint64_t at = device_address(r);
	CUresult e;

	if (at == r->addr)
		return CUDA_SUCCESS;
	e = range_alloc(&(struct range_request){.bytes = r->bytes,
						.hint = at,
						.exact = true,
						.kind = RANGE_REGISTERED,
						.gpu = r->gpu}, /* of no context: it goes with the range */
			&r->alias);
	if (e) {
		memory_unmap(r);
		return e;
	}
	r->alias->host = r->host;
	r->alias->host_bytes = r->bytes;
	r->alias->flags = r->flags;
	return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
	struct context *ctx;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!p || !bytes || flags & ~0xfu)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return CUDA_ERROR_NOT_SUPPORTED;
	e = range_alloc(&(struct range_request){.bytes = bytes,
						.hint = (uint64_t)p,
						.exact = true,
						.kind = RANGE_REGISTERED,
						.gpu = ctx->gpu,
						.ctx = ctx},
			&r);
	if (e)
		return e == CUDA_ERROR_ALREADY_MAPPED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : e;
	r->host = p;
	r->host_bytes = bytes;
	r->flags = flags;
	e = memory_back(r);
	if (!e)
		e = memory_map(r);
	if (!e)
		e = make_alias(r);
	if (e) {
		memory_unback(r);
		range_free(r);
	}
	return e;
}

CUresult cuMemHostRegister(void *p, size_t bytes, unsigned int flags)
{
	return cuMemHostRegister_v2(p, bytes, flags);
}

CUresult cuMemHostUnregister(void *p)
{
	return give_back(p, RANGE_REGISTERED,
			 p ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE);
}

static struct range *host_range(const void *p)
{
	struct range *r = range_find((uint64_t)p);

	return r && (r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED) ? r : NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ptr, void *p, unsigned int flags)
{
	struct context *ctx;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!ptr || flags || !host_range(p))
		return CUDA_ERROR_INVALID_VALUE;
	r = host_range(p);
	*ptr = r->alias ? r->alias->addr + ((uint64_t)p - r->addr) : (uint64_t)p;
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct range *r = host_range(p);
	CUresult e = core_check();

	if (e)
		return e;
	if (!flags || !r)
		return CUDA_ERROR_INVALID_VALUE;
	/* with unified addressing all of it is mapped and portable */
	*flags = r->flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}

/* ---- managed memory ------------------------------------------------------------------------ */

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	struct context *ctx;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	if (!ptr || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	e = memory_alloc_host(&(struct range_request){.bytes = bytes,
						      .placeable = true,
						      .kind = RANGE_MANAGED,
						      .gpu = ctx->gpu,
						      .ctx = ctx},
			      &r);
	if (e)
		return e;
	r->flags = flags;
	*ptr = r->addr;
	return CUDA_SUCCESS;
}

/* Hints about where managed pages should be: there is one place only. */
static CUresult check_managed(CUdeviceptr ptr, size_t bytes)
{
	struct context *ctx;
	struct range *r;
	CUresult e = context_enter(&ctx);

	if (e)
		return e;
	r = range_find(ptr);
	return r && r->kind == RANGE_MANAGED && bytes && range_contains(r, ptr, bytes)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice device, CUstream stream)
{
	struct context *ctx;
	struct queue *q;
	CUresult e = stream_resolve(stream, &ctx, &q);

	if (!e && device != CU_DEVICE_CPU && !gpu_get(device))
		e = CUDA_ERROR_INVALID_DEVICE;
	return e ? e : check_managed(ptr, bytes);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation location, unsigned int flags,
			       CUstream stream)
{
	struct context *ctx;
	struct queue *q;
	CUresult e = stream_resolve(stream, &ctx, &q);

	if (!e && (flags || (location.type == CU_MEM_LOCATION_TYPE_DEVICE && !gpu_get(location.id))))
		e = CUDA_ERROR_INVALID_VALUE;
	return e ? e : check_managed(ptr, bytes);
}

CUresult cuMemAdvise(CUdeviceptr ptr, size_t bytes, CUmem_advise advice, CUdevice device)
{
	CUresult r = core_check();

	(void)device;
	if (r)
		return r;
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	return check_managed(ptr, bytes);
}

CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
	return cuMemAdvise(ptr, bytes, advice, location.id);
}
