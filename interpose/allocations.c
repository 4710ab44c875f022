/* SPDX-License-Identifier: Apache-2.0
 *
 * allocations: the device memory that the program has, and page-locked memory that devices reach, for what looks at them:
 * after launches (check.c; page-locked memory is left out, which the program may change meanwhile), keyframes.
 */
#include "interpose/recorder.h"

static struct rec_allocation *table; /* sorted by base */
static size_t count, capacity;

static size_t first_above(uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (table[middle].base <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool grow(void)
{
	size_t n = capacity ? 2 * capacity : 1024;
	struct rec_allocation *bigger = rec_pages(n * sizeof(*bigger));

	if (!bigger)
		return false;
	if (count)
		memcpy(bigger, table, count * sizeof(*table));
	rec_pages_free(table, capacity * sizeof(*table));
	table = bigger;
	capacity = n;
	return true;
}

static void add(uint64_t base, uint64_t bytes, CUcontext context, const void *host)
{
	size_t i;

	if (!base || !bytes)
		return;
	rec_lock(REC_LOCK_ALLOCATIONS);
	i = first_above(base);
	if (i && table[i - 1].base == base) {
		table[i - 1].bytes = bytes;
		table[i - 1].context = context;
		table[i - 1].host = host;
	} else if (count < capacity || grow()) {
		memmove(&table[i + 1], &table[i], (count - i) * sizeof(*table));
		table[i] = (struct rec_allocation){base, bytes, context, host};
		count++;
	}
	rec_unlock(REC_LOCK_ALLOCATIONS);
}

/* Everything that begins in [base, base + bytes). */
static void drop(uint64_t base, uint64_t bytes)
{
	size_t i, n;

	rec_lock(REC_LOCK_ALLOCATIONS);
	i = base ? first_above(base - 1) : 0;
	for (n = 0; i + n < count && table[i + n].base - base < bytes; n++)
		;
	memmove(&table[i], &table[i + n], (count - i - n) * sizeof(*table));
	count -= n;
	rec_unlock(REC_LOCK_ALLOCATIONS);
}

void rec_allocations_end(CUcontext context)
{
	size_t n = 0;

	rec_device_context_ended(context);
	rec_lock(REC_LOCK_ALLOCATIONS);
	for (size_t i = 0; i < count; i++)
		if (table[i].context != context)
			table[n++] = table[i];
	count = n;
	rec_unlock(REC_LOCK_ALLOCATIONS);
}

bool rec_allocation_find(uint64_t address, struct rec_allocation *out)
{
	bool ok = false;
	size_t i;

	rec_lock(REC_LOCK_ALLOCATIONS);
	i = first_above(address);
	if (i && address - table[i - 1].base < table[i - 1].bytes && !table[i - 1].host) {
		*out = table[i - 1];
		ok = true;
	}
	rec_unlock(REC_LOCK_ALLOCATIONS);
	return ok;
}

bool rec_allocation_from(uint64_t address, struct rec_allocation *out)
{
	bool ok;
	size_t i;

	rec_lock(REC_LOCK_ALLOCATIONS);
	i = first_above(address);
	if (i && address - table[i - 1].base < table[i - 1].bytes)
		i--;
	while (i < count && table[i].host)
		i++;
	ok = i < count;
	if (ok)
		*out = table[i];
	rec_unlock(REC_LOCK_ALLOCATIONS);
	return ok;
}

bool rec_allocation_at(size_t i, struct rec_allocation *out)
{
	bool ok;

	rec_lock(REC_LOCK_ALLOCATIONS);
	ok = i < count;
	if (ok)
		*out = table[i];
	rec_unlock(REC_LOCK_ALLOCATIONS);
	return ok;
}

/* ---- the program's allocations ---------------------------------------------------- */

static CUresult made(CUresult r, const CUdeviceptr *p, size_t bytes)
{
	if (r == CUDA_SUCCESS && p && !rec_own())
		add(*p, bytes, NULL, NULL);
	return r;
}

/* Memory of a context, not of a device. */
static CUresult made_here(CUresult r, const CUdeviceptr *p, size_t bytes)
{
	CUcontext context = NULL;
	struct rec_thread *t;

	if (r != CUDA_SUCCESS || !p || rec_own())
		return r;
	t = rec_own_begin();
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS)
		context = NULL;
	rec_own_end(t);
	add(*p, bytes, context, NULL);
	return r;
}

static CUresult hook_cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	return made_here(rec_hook_cuMemAlloc_v2(p, n), p, n);
}

static CUresult hook_cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height,
					unsigned element)
{
	CUresult r = rec_hook_cuMemAllocPitch_v2(p, pitch, width, height, element);

	return made_here(r, p, r == CUDA_SUCCESS && pitch ? *pitch * height : 0);
}

static CUresult hook_cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned flags)
{
	return made_here(rec_hook_cuMemAllocManaged(p, n, flags), p, n);
}

static CUresult hook_cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream s)
{
	return made(REAL(cuMemAllocAsync)(p, n, s), p, n);
}

static CUresult hook_cuMemAllocAsync_ptsz(CUdeviceptr *p, size_t n, CUstream s)
{
	return made(REAL(cuMemAllocAsync_ptsz)(p, n, s), p, n);
}

static CUresult hook_cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream s)
{
	return made(REAL(cuMemAllocFromPoolAsync)(p, n, pool, s), p, n);
}

static CUresult hook_cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream s)
{
	return made(REAL(cuMemAllocFromPoolAsync_ptsz)(p, n, pool, s), p, n);
}

/* A module's variables count from when the program asks where they are. */
#define GLOBAL(fn, type)                                                                   \
	static CUresult hook_##fn(CUdeviceptr *p, size_t *n, type owner, const char *name) \
	{                                                                                  \
		size_t size = 0;                                                           \
		CUdeviceptr address = 0;                                                   \
		CUresult r = REAL(fn)(&address, &size, owner, name);                       \
                                                                                           \
		if (r != CUDA_SUCCESS)                                                     \
			return r;                                                          \
		if (p)                                                                     \
			*p = address;                                                      \
		if (n)                                                                     \
			*n = size;                                                         \
		return made_here(r, &address, size);                                       \
	}
GLOBAL(cuModuleGetGlobal_v2, CUmodule)
GLOBAL(cuLibraryGetGlobal, CUlibrary)
GLOBAL(cuLibraryGetManaged, CUlibrary)

static CUresult hook_cuMemMap(CUdeviceptr p, size_t n, size_t offset, CUmemGenericAllocationHandle h,
			      unsigned long long flags)
{
	return made(REAL(cuMemMap)(p, n, offset, h, flags), &p, n);
}

/* ---- page-locked memory ------------------------------------------------------------- */

static CUresult made_host(CUresult r, const void *host, size_t bytes)
{
	CUcontext context = NULL;
	CUdeviceptr base = 0;
	struct rec_thread *t;

	if (r != CUDA_SUCCESS || !host || rec_own())
		return r;
	t = rec_own_begin();
	if (REAL(cuMemHostGetDevicePointer_v2)(&base, (void *)(uintptr_t)host, 0) != CUDA_SUCCESS)
		base = 0; /* no device reaches it */
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS)
		context = NULL;
	rec_own_end(t);
	add(base, bytes, context, host);
	return r;
}

static void drop_host(const void *host)
{
	size_t n = 0;

	if (!host)
		return;
	rec_lock(REC_LOCK_ALLOCATIONS);
	for (size_t i = 0; i < count; i++)
		if (table[i].host != host)
			table[n++] = table[i];
	count = n;
	rec_unlock(REC_LOCK_ALLOCATIONS);
}

static CUresult hook_cuMemAllocHost_v2(void **p, size_t n)
{
	CUresult r = rec_hook_cuMemAllocHost_v2(p, n);

	return made_host(r, p ? *p : NULL, n);
}

static CUresult hook_cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
	CUresult r = rec_hook_cuMemHostAlloc(p, n, flags);

	return made_host(r, p ? *p : NULL, n);
}

static CUresult hook_cuMemHostRegister_v2(void *p, size_t n, unsigned flags)
{
	return made_host(rec_hook_cuMemHostRegister_v2(p, n, flags), p, n);
}

static CUresult hook_cuMemFreeHost(void *p)
{
	drop_host(p);
	return REAL(cuMemFreeHost)(p);
}

static CUresult hook_cuMemHostUnregister(void *p)
{
	drop_host(p);
	return REAL(cuMemHostUnregister)(p);
}

/* ---- the ends ------------------------------------------------------------------------ */

/* Taken out before the call: afterwards the address may be somebody else's. */
static CUresult hook_cuMemFree_v2(CUdeviceptr p)
{
	drop(p, 1);
	return REAL(cuMemFree_v2)(p);
}

static CUresult hook_cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
	drop(p, 1);
	return REAL(cuMemFreeAsync)(p, s);
}

static CUresult hook_cuMemFreeAsync_ptsz(CUdeviceptr p, CUstream s)
{
	drop(p, 1);
	return REAL(cuMemFreeAsync_ptsz)(p, s);
}

static CUresult hook_cuMemUnmap(CUdeviceptr p, size_t n)
{
	drop(p, n);
	return REAL(cuMemUnmap)(p, n);
}

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_allocation_hooks[] = {
	HOOK(cuMemAlloc_v2),
	HOOK(cuMemAllocPitch_v2),
	HOOK(cuMemAllocManaged),
	HOOK(cuMemAllocAsync),
	HOOK(cuMemAllocAsync_ptsz),
	HOOK(cuMemAllocFromPoolAsync),
	HOOK(cuMemAllocFromPoolAsync_ptsz),
	HOOK(cuModuleGetGlobal_v2),
	HOOK(cuLibraryGetGlobal),
	HOOK(cuLibraryGetManaged),
	HOOK(cuMemMap),
	HOOK(cuMemFree_v2),
	HOOK(cuMemFreeAsync),
	HOOK(cuMemFreeAsync_ptsz),
	HOOK(cuMemUnmap),
	HOOK(cuMemAllocHost_v2),
	HOOK(cuMemHostAlloc),
	HOOK(cuMemHostRegister_v2),
	HOOK(cuMemFreeHost),
	HOOK(cuMemHostUnregister),
};
const unsigned rec_nallocation_hooks = sizeof(rec_allocation_hooks) / sizeof(rec_allocation_hooks[0]);
