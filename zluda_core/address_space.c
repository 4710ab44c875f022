/* SPDX-License-Identifier: Apache-2.0
 *
 * Device addresses: who owns which. One window for all devices (they share a unified address space), handed
 * out first-fit by address, so that the same calls give the same addresses in every run. The host's address
 * space is reserved alongside, in growing steps, so that nothing of the program's lies at an address that a
 * device uses; where that fails (ulimit -v, a sanitizer's shadow) the addresses are used all the same: the
 * device translates them.
 *
 * An allocation is aligned to 512 bytes and followed by a gap of at least 256, which is nobody's: a kernel
 * that runs off the end of a buffer faults, and does not silently write the next one. From 1 MiB on it starts
 * at a multiple of 2 MiB, as on NVIDIA's driver; smaller ones are packed between.
 */
#include "core.h"
#include "range_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RESERVE_STEP (1ull << 30)
#define MIN_ALIGN    512ull
#define MIN_GAP      256ull
#define LARGE_BYTES  (1ull << 20)
#define LARGE_ALIGN  (2ull << 20)
#define HOST_PAGE    4096ull
/* Arrays begin here in the window: a program has no pointers into them, and the addresses that it does see are the
 * same with and without arrays. */
#define ARRAY_OFFSET (256ull << 30)

static struct {
	pthread_mutex_t lock;
	struct range *root;    /* of the tree of ranges */
	uint64_t reserved_end; /* host pages up to here were tried */
	struct {
		uint64_t begin, end;
	} failed[64]; /* steps that could not be reserved */
	unsigned nfailed;
} as = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static uint64_t window_begin(void)
{
	return options.va_base;
}

static uint64_t window_end(void)
{
	return options.va_base + options.va_bytes;
}

static bool is_free(uint64_t addr, uint64_t span)
{
	const struct range *r = range_tree_after(as.root, addr);

	return addr + span > addr && (!r || r->addr >= addr + span);
}

/* Keeps the host's own mappings out of the window as far as it is used. */
static void reserve_host(uint64_t end)
{
	if (options.va_of_device)
		return;
	if (!as.reserved_end)
		as.reserved_end = window_begin();
	if (end > window_end())
		return;
	while (as.reserved_end < end) {
		void *want = (void *)as.reserved_end;
		void *got = mmap(want, RESERVE_STEP, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

		if (got != want) {
			if (got != MAP_FAILED)
				munmap(got, RESERVE_STEP);
			if (as.nfailed < ARRAY_SIZE(as.failed)) {
				as.failed[as.nfailed].begin = as.reserved_end;
				as.failed[as.nfailed++].end = as.reserved_end + RESERVE_STEP;
			}
			say_verbose("host addresses from %#lx on are in use or can't be reserved (%s)",
				    (unsigned long)as.reserved_end, strerror(errno));
		}
		as.reserved_end += RESERVE_STEP;
	}
}

static bool is_reserved(uint64_t addr, uint64_t bytes)
{
	if (addr < window_begin() || addr + bytes > as.reserved_end)
		return false;
	for (unsigned i = 0; i < as.nfailed; i++)
		if (addr < as.failed[i].end && addr + bytes > as.failed[i].begin)
			return false;
	return as.nfailed < ARRAY_SIZE(as.failed);
}

static bool is_host_kind(enum range_kind kind)
{
	return kind == RANGE_HOST || kind == RANGE_MANAGED;
}

/* Bytes and alignment that a request takes in the address space. */
static void shape(const struct range_request *req, uint64_t *span, uint64_t *align)
{
	*align = req->align > MIN_ALIGN ? req->align : MIN_ALIGN;
	if (req->kind == RANGE_RESERVED) {
		*span = req->bytes;
		return;
	}
	if (req->bytes >= LARGE_BYTES && *align < LARGE_ALIGN)
		*align = LARGE_ALIGN;
	*span = round_up(req->bytes + MIN_GAP, MIN_ALIGN);
	if (is_host_kind(req->kind)) {
		*align = *align > HOST_PAGE ? *align : HOST_PAGE;
		*span = round_up(req->bytes, HOST_PAGE) + HOST_PAGE;
	}
}

/* Memory that the host has can be anywhere; hardware maps its own in its window only. */
static bool can_be_at(const struct range_request *req)
{
	return !options.va_of_device || is_host_kind(req->kind) || req->kind == RANGE_REGISTERED ||
	       (req->hint >= window_begin() && req->hint < window_end() &&
		req->bytes <= window_end() - req->hint);
}

/* Where a device's allocations go. Hardware maps large granules: several GPUs share the window out. */
static void window_of(const struct gpu *gpu, uint64_t *begin, uint64_t *end)
{
	uint64_t share;

	*begin = window_begin();
	*end = window_end();
	if (!options.va_of_device || core.ngpus < 2 || !gpu)
		return;
	share = options.va_bytes / core.ngpus / LARGE_ALIGN * LARGE_ALIGN;
	*begin += share * (uint64_t)gpu->ordinal;
	*end = *begin + share;
}

/* Where it goes, or 0 with the reason. A placed allocation may come closer to its neighbours than the usual
 * gap. */
static uint64_t choose(const struct range_request *req, uint64_t *span, CUresult *r)
{
	uint64_t align, at, begin, end;

	shape(req, span, &align);
	*r = CUDA_SUCCESS;
	if (req->hint && req->exact) {
		*span = req->bytes;
		if (can_be_at(req) && is_free(req->hint, *span))
			return req->hint;
		*r = CUDA_ERROR_ALREADY_MAPPED;
		return 0;
	}
	if (req->hint && !options.refuse_addresses && req->hint % align == 0 && can_be_at(req) &&
	    is_free(req->hint, *span))
		return req->hint;
	window_of(req->gpu, &begin, &end);
	at = req->kind == RANGE_ARRAY && ARRAY_OFFSET < end - begin
		     ? range_tree_fit(as.root, begin + ARRAY_OFFSET, end, *span, align)
		     : 0;
	if (!at)
		at = range_tree_fit(as.root, begin, end, *span, align);
	if (!at)
		*r = CUDA_ERROR_OUT_OF_MEMORY;
	return at;
}

CUresult range_alloc(const struct range_request *req_in, struct range **out)
{
	struct range_request req = *req_in;
	struct placement *place = &thread_state()->place;
	struct range *r;
	CUresult result;

	if (!req.bytes || req.bytes > 1ull << 47)
		return req.bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	if (req.placeable && place->next_set) {
		place->next_set = false;
		req.hint = place->next;
		req.exact = true;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->bytes = req.bytes;
	r->kind = req.kind;
	r->gpu = req.gpu;
	r->ctx = req.ctx;
	r->id = core_next_id();
	pthread_mutex_lock(&as.lock);
	r->addr = choose(&req, &r->span, &result);
	if (!result)
		as.root = range_tree_insert(as.root, r);
	if (!result && r->addr >= window_begin() && r->kind != RANGE_REGISTERED && r->kind != RANGE_ARRAY)
		reserve_host(r->addr + r->span);
	pthread_mutex_unlock(&as.lock);
	if (result) {
		free(r);
		return result;
	}
	*out = r;
	return CUDA_SUCCESS;
}

void range_free(struct range *r)
{
	pthread_mutex_lock(&as.lock);
	as.root = range_tree_remove(as.root, r);
	pthread_mutex_unlock(&as.lock);
	free(r);
}

static struct range *piece_of(const struct range *r, uint64_t begin, uint64_t end)
{
	struct range *piece = malloc(sizeof(*piece));

	if (!piece)
		return NULL;
	*piece = *r;
	piece->addr = begin;
	piece->bytes = piece->span = end - begin;
	return piece;
}

CUresult range_cut(struct range *r, uint64_t begin, uint64_t end, struct range *pieces[2])
{
	uint64_t r_end = r->addr + r->span;
	bool before = begin > r->addr, behind = end < r_end, ok;

	pieces[0] = before ? piece_of(r, r->addr, begin) : NULL;
	pieces[1] = behind ? piece_of(r, end, r_end) : NULL;
	ok = (!before || pieces[0]) && (!behind || pieces[1]);
	pthread_mutex_lock(&as.lock);
	if (ok)
		as.root = range_tree_remove(as.root, r);
	for (int i = 0; i < 2; i++) {
		if (ok && pieces[i])
			as.root = range_tree_insert(as.root, pieces[i]);
		else if (!ok)
			free(pieces[i]);
	}
	pthread_mutex_unlock(&as.lock);
	if (ok)
		free(r);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

bool range_is_free(uint64_t addr, uint64_t bytes)
{
	bool yes;

	pthread_mutex_lock(&as.lock);
	yes = is_free(addr, bytes);
	pthread_mutex_unlock(&as.lock);
	return yes;
}

bool range_is_free_but(uint64_t addr, uint64_t bytes, bool (*spare)(const struct range *r))
{
	bool yes = addr + bytes > addr;
	const struct range *r;

	pthread_mutex_lock(&as.lock);
	for (uint64_t at = addr; yes; at = r->addr + r->span) {
		r = range_tree_after(as.root, at);
		if (!r || r->addr >= addr + bytes)
			break;
		yes = spare(r);
	}
	pthread_mutex_unlock(&as.lock);
	return yes;
}

struct range *range_find(uint64_t addr)
{
	struct range *r;

	pthread_mutex_lock(&as.lock);
	r = range_tree_after(as.root, addr);
	if (r && (r->addr > addr || addr - r->addr >= r->bytes))
		r = NULL;
	pthread_mutex_unlock(&as.lock);
	return r;
}

bool range_contains(const struct range *r, uint64_t addr, uint64_t bytes)
{
	return addr >= r->addr && addr - r->addr <= r->bytes && bytes <= r->bytes - (addr - r->addr);
}

void range_each(struct context *ctx, void (*fn)(struct range *r, void *arg), void *arg)
{
	struct range **copy;
	size_t n = 0;

	pthread_mutex_lock(&as.lock);
	copy = malloc((range_tree_count(as.root) + 1) * sizeof(*copy));
	for (struct range *r = copy ? range_tree_after(as.root, 0) : NULL; r;
	     r = range_tree_after(as.root, r->addr + r->span))
		if (!ctx || r->ctx == ctx)
			copy[n++] = r;
	pthread_mutex_unlock(&as.lock);
	for (size_t i = 0; i < n; i++)
		fn(copy[i], arg);
	free(copy);
}

void *host_pages_map(uint64_t addr, size_t bytes, bool anywhere_ok, bool *reserved)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *p;

	bytes = round_up(bytes, HOST_PAGE);
	pthread_mutex_lock(&as.lock);
	*reserved = is_reserved(addr, bytes);
	pthread_mutex_unlock(&as.lock);
	p = mmap((void *)addr, bytes, PROT_READ | PROT_WRITE,
		 flags | (*reserved ? MAP_FIXED : MAP_FIXED_NOREPLACE), -1, 0);
	if (p == (void *)addr)
		return p;
	if (p != MAP_FAILED)
		munmap(p, bytes);
	*reserved = false;
	if (!anywhere_ok)
		return NULL;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

void host_pages_unmap(void *p, size_t bytes, bool reserved)
{
	bytes = round_up(bytes, HOST_PAGE);
	if (reserved)
		mmap(p, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	else
		munmap(p, bytes);
}
