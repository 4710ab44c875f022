/* SPDX-License-Identifier: Apache-2.0
 *
 * check: `record --check`. Follows the program's allocations and, after each launch, waits for it and hashes
 * every allocation that the launch may have written: those that hold a pointer argument through which the
 * kernel stores, or all of them when that is not known. The hash is XXH3-128 in canonical form, as everywhere
 * in a trace.
 */
#include "interpose/recorder.h"

#define XXH_INLINE_ALL
#define XXH_NO_STDLIB
#include <xxhash.h>

#define PIECE (4u << 20)

struct range {
	uint64_t base, bytes;
	CUcontext context; /* that it ends with, or NULL */
};

static struct range *table; /* sorted by base */
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
	struct range *bigger = rec_pages(n * sizeof(*bigger));

	if (!bigger)
		return false;
	if (count)
		memcpy(bigger, table, count * sizeof(*table));
	rec_pages_free(table, capacity * sizeof(*table));
	table = bigger;
	capacity = n;
	return true;
}

static void add(uint64_t base, uint64_t bytes, CUcontext context)
{
	size_t i;

	if (!base || !bytes)
		return;
	rec_lock(REC_LOCK_CHECK);
	i = first_above(base);
	if (i && table[i - 1].base == base) {
		table[i - 1].bytes = bytes;
		table[i - 1].context = context;
	} else if (count < capacity || grow()) {
		memmove(&table[i + 1], &table[i], (count - i) * sizeof(*table));
		table[i] = (struct range){base, bytes, context};
		count++;
	}
	rec_unlock(REC_LOCK_CHECK);
}

/* Everything that begins in [base, base + bytes). */
static void drop(uint64_t base, uint64_t bytes)
{
	size_t i, n;

	rec_lock(REC_LOCK_CHECK);
	i = base ? first_above(base - 1) : 0;
	for (n = 0; i + n < count && table[i + n].base - base < bytes; n++)
		;
	memmove(&table[i], &table[i + n], (count - i - n) * sizeof(*table));
	count -= n;
	rec_unlock(REC_LOCK_CHECK);
}

void rec_check_context_ended(CUcontext context)
{
	size_t n = 0;

	rec_lock(REC_LOCK_CHECK);
	for (size_t i = 0; i < count; i++)
		if (table[i].context != context)
			table[n++] = table[i];
	count = n;
	rec_unlock(REC_LOCK_CHECK);
}

static bool find(uint64_t address, struct range *out)
{
	bool ok = false;
	size_t i;

	rec_lock(REC_LOCK_CHECK);
	i = first_above(address);
	if (i && address - table[i - 1].base < table[i - 1].bytes) {
		*out = table[i - 1];
		ok = true;
	}
	rec_unlock(REC_LOCK_CHECK);
	return ok;
}

/* The i-th allocation; the table may change between two calls. */
static bool at(size_t i, struct range *out)
{
	bool ok;

	rec_lock(REC_LOCK_CHECK);
	ok = i < count;
	if (ok)
		*out = table[i];
	rec_unlock(REC_LOCK_CHECK);
	return ok;
}

/* ---- hashing ------------------------------------------------------------------ */

static bool read_piece(void *to, CUdeviceptr from, size_t n)
{
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuMemcpyDtoH_v2)(to, from, n);

	rec_own_end(t);
	return r == CUDA_SUCCESS;
}

/* With `written`, the contents become a payload as well. */
static bool hash_range(const struct range *r, char *buffer, struct rec_payload *written, uint8_t out[16])
{
	uint64_t id = written ? rec_unique() : 0;
	XXH3_state_t state;
	XXH128_canonical_t canonical;

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	for (uint64_t done = 0; done < r->bytes; done += PIECE) {
		size_t n = r->bytes - done < PIECE ? r->bytes - done : PIECE;

		if (!read_piece(buffer, r->base + done, n))
			return false;
		XXH3_128bits_update(&state, buffer, n);
		if (written) {
			written->offset = done;
			rec_payload_piece(written, id, r->bytes,
					  (done ? 0 : RING_PAYLOAD_FIRST) |
						  (done + n == r->bytes ? RING_PAYLOAD_LAST : 0),
					  buffer, n);
		}
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
	memcpy(out, canonical.digest, 16);
	return true;
}

static void hash_one(uint64_t seq, const struct range *r, char *buffer)
{
	struct rec_payload written = {.seq = seq,
				      .kind = RING_WRITTEN,
				      .param = -1,
				      .device_address = r->base,
				      .width = r->bytes,
				      .height = 1,
				      .depth = 1};
	bool contents = rec_session()->flags & RING_SESSION_CONTENTS;
	uint8_t hash[16];
	bool ok = hash_range(r, buffer, contents ? &written : NULL, hash);

	/* Freed meanwhile by another thread, or not readable from this context. */
	if (ok)
		rec_hash_record(seq, r->base, r->bytes, hash);
}

static void hash_all(uint64_t seq, char *buffer)
{
	struct range r;

	for (size_t i = 0; at(i, &r); i++)
		hash_one(seq, &r, buffer);
}

static void hash_written(uint64_t seq, const struct rec_layout *l, const uint8_t *params, uint32_t bytes,
			 char *buffer)
{
	uint64_t done[64];
	unsigned ndone = 0;

	for (uint32_t i = 0; i < l->nparams; i++) {
		struct range r;
		uint64_t p;
		unsigned k;

		if (!l->p[i].is_written || l->p[i].bytes != 8 || l->p[i].offset + 8u > bytes)
			continue;
		memcpy(&p, params + l->p[i].offset, 8);
		if (!find(p, &r))
			continue;
		for (k = 0; k < ndone && done[k] != r.base; k++)
			;
		if (k < ndone)
			continue;
		if (ndone < sizeof(done) / sizeof(done[0]))
			done[ndone++] = r.base;
		hash_one(seq, &r, buffer);
	}
}

static CUresult wait_for(CUstream stream, bool per_thread)
{
	struct rec_thread *t = rec_own_begin();
	CUresult r;

	rec_signals_restore(); /* it may take long; handlers' calls are not recorded meanwhile */
	if (per_thread && rec_driver_has(API_ID_cuStreamSynchronize_ptsz))
		r = REAL(cuStreamSynchronize_ptsz)(stream);
	else
		r = REAL(cuStreamSynchronize)(stream);
	rec_signals_block();
	rec_own_end(t);
	return r;
}

void rec_check_launch(uint64_t seq, const struct rec_layout *l, const void *params, uint32_t bytes,
		      CUstream stream, bool per_thread)
{
	struct rec_payload p = {.seq = seq, .param = -1};
	char *buffer;

	if (rec_capturing(stream, per_thread)) {
		rec_unavailable(&p, "no hash: launched while its stream is being captured");
		return;
	}
	/* An error here is the program's to find at its next call. */
	if (wait_for(stream, per_thread) != CUDA_SUCCESS) {
		rec_unavailable(&p, "no hash: the launch failed");
		return;
	}
	buffer = rec_pages(PIECE);
	if (!buffer) {
		rec_unavailable(&p, "no hash: out of memory");
		return;
	}
	if (l && l->writes_known && !l->writes_unknown && (params || !l->nparams))
		hash_written(seq, l, params, bytes, buffer);
	else
		hash_all(seq, buffer);
	rec_pages_free(buffer, PIECE);
}

/* ---- the program's allocations ---------------------------------------------------- */

static CUresult made(CUresult r, const CUdeviceptr *p, size_t bytes)
{
	if (r == CUDA_SUCCESS && p && !rec_own())
		add(*p, bytes, NULL);
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
	add(*p, bytes, context);
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
const struct rec_hook rec_check_hooks[] = {
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
};
const unsigned rec_ncheck_hooks = sizeof(rec_check_hooks) / sizeof(rec_check_hooks[0]);
