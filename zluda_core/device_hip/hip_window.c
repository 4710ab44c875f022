/* SPDX-License-Identifier: Apache-2.0
 *
 * The window of device addresses, and what backs it.
 *
 * With virtual memory management it is cut into granules (2 MiB). A *block* is memory mapped at one or several of
 * them. Memory that fills its granules has a block of its own, and its bytes stay when it is unmapped and mapped
 * elsewhere; all other memory shares blocks of one granule, which the core's small allocations are packed into. HIP
 * maps a handle from its beginning only (hipMemMap refuses an offset), copies no further than one block, and changes
 * whole blocks only.
 */
#include "zluda_core/device_hip/hip_backend.h"

#include <stdlib.h>
#include <string.h>

#define GRANULE     (2ull << 20)
#define SMALLEST    (1ull << 30)  /* reservation that is still of use */
#define ARENA_LEAST (64ull << 20) /* and allocation */
#define IDLE_BLOCKS 32            /* granules without users that are kept */

struct block {
	uint64_t addr, bytes;
	hip_handle handle;
	const struct dev_mem *owner; /* whose handle it is, or NULL: the block's own */
	unsigned users;
	int device;       /* where it is */
	uint32_t readers; /* devices that may access it, by bit */
};

static struct {
	pthread_mutex_t lock;
	uint64_t base, bytes;
	struct block **blocks; /* by granule; NULL: an arena */
	unsigned idle;
	int arena_device;
} win = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct block **slot(uint64_t addr)
{
	return &win.blocks[(addr - win.base) / GRANULE];
}

static bool inside(uint64_t addr, uint64_t bytes)
{
	return win.bytes && addr >= win.base && addr - win.base <= win.bytes &&
	       bytes <= win.bytes - (addr - win.base);
}

bool hip_window_has(uint64_t addr, uint64_t bytes)
{
	return inside(addr, bytes); /* set once, before the first allocation */
}

uint64_t hip_window_piece(uint64_t addr, uint64_t bytes)
{
	struct block *block;
	uint64_t end = addr + bytes;

	if (!inside(addr, 1) || !win.blocks)
		return bytes;
	pthread_mutex_lock(&win.lock);
	block = *slot(addr);
	if (block && block->addr + block->bytes < end)
		end = block->addr + block->bytes;
	pthread_mutex_unlock(&win.lock);
	return end - addr;
}

/* ---- getting one ---- */

static void allocation_properties(const struct amd_backend *b, char out[32])
{
	const struct hip_allocation_layout *at = &b->lib->abi->vmm_layout;
	const int pinned = HIP_ALLOCATION_PINNED, location = HIP_LOCATION_DEVICE;

	memset(out, 0, 32);
	memcpy(out + at->type, &pinned, sizeof(int));
	memcpy(out + at->location_type, &location, sizeof(int));
	memcpy(out + at->location_id, &b->device, sizeof(int));
}

/* Any place: less and less, until HIP can give it. */
static int reserve(struct amd_backend *b, uint64_t wanted, uint64_t bytes, struct diag *d)
{
	const struct hip_entries *fn = &b->lib->fn;
	int error = 0;

	for (; bytes >= SMALLEST; bytes /= 2) {
		void *got = NULL;

		error = fn->hipMemAddressReserve(&got, bytes, GRANULE, (void *)wanted, 0);
		if (error || !got)
			continue;
		if ((uint64_t)got % GRANULE == 0 &&
		    (win.blocks = calloc(bytes / GRANULE, sizeof(struct block *)))) {
			win.base = (uint64_t)got;
			win.bytes = bytes;
			return 0;
		}
		fn->hipMemAddressFree(got, bytes);
		return diag_set(d, CUTRACE_ENOMEM, "", "hipMemAddressReserve: %p is no address to work with",
				got);
	}
	return hip_check(b, error ? error : HIP_OUT_OF_MEMORY, "hipMemAddressReserve", d);
}

static int make_arena(struct amd_backend *b, struct diag *d)
{
	uint64_t bytes = b->arena_bytes ? b->arena_bytes : b->properties.total_bytes / 4 * 3;
	int error = HIP_OUT_OF_MEMORY;

	for (; bytes >= ARENA_LEAST; bytes /= 2) {
		void *got = NULL;
		uint64_t begin;

		bytes = bytes / GRANULE * GRANULE;
		error = b->lib->fn.hipMalloc(&got, bytes + GRANULE);
		if (error)
			continue;
		begin = ((uint64_t)got + GRANULE - 1) / GRANULE * GRANULE;
		win.base = begin;
		win.bytes = bytes;
		win.arena_device = b->device;
		return 0;
	}
	return hip_check(b, error, "hipMalloc of all device memory", d);
}

/* Whether our granules are whole ones of HIP's. */
static bool granules_fit(struct amd_backend *b)
{
	char properties[32];
	size_t smallest = 0;

	allocation_properties(b, properties);
	return !b->lib->fn.hipMemGetAllocationGranularity(&smallest, properties, HIP_GRANULARITY_MINIMUM) &&
	       smallest && GRANULE % smallest == 0;
}

int hip_window_open(struct amd_backend *b, uint64_t *base, uint64_t *bytes, struct diag *d)
{
	int rc = hip_enter(b, d);

	if (rc)
		return rc;
	pthread_mutex_lock(&win.lock);
	if (!win.bytes)
		rc = b->has_vmm && granules_fit(b) ? reserve(b, *base, *bytes, d) : make_arena(b, d);
	else if (!win.blocks && win.arena_device != b->device)
		rc = diag_set(
			d, CUTRACE_ENOTSUP, "",
			"HIP %u.%u has no virtual memory management: only one GPU of a process can be used",
			b->lib->major, b->lib->minor);
	pthread_mutex_unlock(&win.lock);
	*base = win.base;
	*bytes = win.bytes;
	return rc;
}

/* ---- blocks ---- */

static int create_handle(struct amd_backend *b, uint64_t bytes, hip_handle *out, struct diag *d)
{
	char properties[32];

	allocation_properties(b, properties);
	return hip_check(b, b->lib->fn.hipMemCreate(out, bytes, properties, 0), "hipMemCreate", d);
}

static int give_access(struct amd_backend *b, struct block *block, struct diag *d)
{
	const struct hip_access access = {HIP_LOCATION_DEVICE, b->device, HIP_ACCESS_READ_WRITE};
	int rc;

	if (block->readers >> b->device & 1)
		return 0;
	rc = hip_check(b, b->lib->fn.hipMemSetAccess((void *)block->addr, block->bytes, &access, 1),
		       "hipMemSetAccess", d);
	if (!rc)
		block->readers |= 1u << b->device;
	return rc;
}

static void block_remove(struct amd_backend *b, struct block *block)
{
	for (uint64_t at = block->addr; at < block->addr + block->bytes; at += GRANULE)
		*slot(at) = NULL;
	if (!atomic_load(&b->dead)) {
		b->lib->fn.hipMemUnmap((void *)block->addr, block->bytes);
		if (!block->owner)
			b->lib->fn.hipMemRelease(block->handle);
	}
	free(block);
}

/* Maps a handle, which the block releases unless it has an owner. */
static int block_add(struct amd_backend *b, uint64_t addr, uint64_t bytes, hip_handle handle,
		     const struct dev_mem *owner, struct diag *d)
{
	struct block *block = malloc(sizeof(*block));
	int rc;

	if (!block)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory for a mapping");
	*block = (struct block){addr, bytes, handle, owner, 0, b->device, 0};
	rc = hip_check(b, b->lib->fn.hipMemMap((void *)addr, bytes, 0, handle, 0), "hipMemMap", d);
	if (rc) {
		free(block);
		return rc;
	}
	for (uint64_t at = addr; at < addr + bytes; at += GRANULE)
		*slot(at) = block;
	rc = give_access(b, block, d);
	if (rc) {
		block->owner =
			block->owner ? block->owner : (const struct dev_mem *)b; /* the caller releases it */
		block_remove(b, block);
	}
	return rc;
}

static int granule_add(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d)
{
	hip_handle handle;
	int rc = create_handle(b, bytes, &handle, d);

	if (rc)
		return rc;
	rc = block_add(b, addr, bytes, handle, NULL, d);
	if (rc)
		b->lib->fn.hipMemRelease(handle);
	else if (bytes == GRANULE)
		win.idle++;
	return rc;
}

/* ---- mapping ---- */

static bool is_empty(uint64_t addr, uint64_t bytes)
{
	for (uint64_t at = addr; at < addr + bytes; at += GRANULE) {
		struct block *block = *slot(at);

		if (block && (block->users || block->bytes != GRANULE))
			return false;
	}
	return true;
}

static void drop_idle(struct amd_backend *b, uint64_t addr, uint64_t bytes)
{
	for (uint64_t at = addr; at < addr + bytes; at += GRANULE) {
		if (!*slot(at))
			continue;
		block_remove(b, *slot(at));
		win.idle--;
	}
}

/* All of it, at granules that nobody else has. */
static int map_whole(struct amd_backend *b, uint64_t addr, struct dev_mem *mem, struct diag *d)
{
	bool made = !mem->handle;
	int rc = 0;

	drop_idle(b, addr, mem->bytes);
	if (made)
		rc = create_handle(b, mem->bytes, &mem->handle, d);
	if (rc) {
		mem->handle = NULL;
		return rc;
	}
	rc = block_add(b, addr, mem->bytes, mem->handle, mem, d);
	if (rc && made) {
		b->lib->fn.hipMemRelease(mem->handle);
		mem->handle = NULL;
	}
	return rc;
}

/* Blocks for the granules that have none: one for those in the middle, which nobody else can come to need. */
static int back(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d)
{
	uint64_t first = addr / GRANULE * GRANULE, end = addr + bytes, middle = end / GRANULE * GRANULE;
	int rc = 0;

	if (addr == first && middle > first + GRANULE && is_empty(first, middle - first)) {
		drop_idle(b, first, middle - first);
		rc = granule_add(b, first, middle - first, d);
	}
	for (uint64_t at = first; at < end && !rc; at += GRANULE) {
		struct block *block = *slot(at);

		if (block && !block->users && block->device != b->device && block->bytes == GRANULE)
			drop_idle(b, at, GRANULE); /* it was another GPU's */
		if (!*slot(at))
			rc = granule_add(b, at, GRANULE, d);
	}
	return rc;
}

static void count(uint64_t addr, uint64_t bytes, int by)
{
	for (uint64_t at = addr; at < addr + bytes;) {
		struct block *block = *slot(at);

		if (by > 0 && block->bytes == GRANULE && !block->owner && !block->users)
			win.idle--;
		block->users += (unsigned)by;
		at = block->addr + block->bytes;
	}
}

static int let_in(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d)
{
	int rc = 0;

	for (uint64_t at = addr; at < addr + bytes && !rc;) {
		struct block *block = *slot(at);

		rc = give_access(b, block, d);
		at = block->addr + block->bytes;
	}
	return rc;
}

static int map_locked(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct dev_mem *mem,
		      uint64_t offset, struct diag *d)
{
	bool whole = addr % GRANULE == 0 && bytes % GRANULE == 0 && !offset && bytes == mem->bytes;
	int rc;

	if (whole && !mem->placed && is_empty(addr, bytes)) {
		rc = map_whole(b, addr, mem, d);
	} else if (mem->handle || (mem->placed && mem->placed != addr - offset)) {
		return diag_set(d, CUTRACE_ENOTSUP, "",
				"HIP maps memory only as a whole: %#llx bytes can't be mapped in parts at "
				"%#llx and elsewhere",
				(unsigned long long)mem->bytes, (unsigned long long)addr);
	} else {
		rc = back(b, addr, bytes, d);
		if (!rc)
			rc = let_in(b, addr, bytes, d);
		if (!rc)
			mem->placed = addr - offset;
	}
	if (!rc)
		count(addr, bytes, 1);
	return rc;
}

int hip_window_map(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
		   struct diag *d)
{
	int rc = 0;

	pthread_mutex_lock(&win.lock);
	if (win.blocks)
		rc = map_locked(b, addr, bytes, mem, offset, d);
	else if (mem->placed && mem->placed != addr - offset)
		rc = diag_set(d, CUTRACE_ENOTSUP, "",
			      "HIP %u.%u has no virtual memory management: memory can't be mapped twice",
			      b->lib->major, b->lib->minor);
	else
		mem->placed = addr - offset;
	pthread_mutex_unlock(&win.lock);
	return rc;
}

static void release(struct amd_backend *b, struct block *block)
{
	if (block->users)
		return;
	if (!block->owner && block->bytes == GRANULE && win.idle < IDLE_BLOCKS && block->device == b->device)
		win.idle++;
	else
		block_remove(b, block);
}

int hip_window_unmap(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d)
{
	int rc = 0;

	pthread_mutex_lock(&win.lock);
	for (uint64_t at = addr; win.blocks && at < addr + bytes && !rc;) {
		struct block *block = *slot(at);

		if (!block || !block->users) {
			rc = diag_set(d, CUTRACE_EINVAL, "", "nothing is mapped at %#llx",
				      (unsigned long long)at);
			break;
		}
		at = block->addr + block->bytes;
		block->users--;
		release(b, block);
	}
	pthread_mutex_unlock(&win.lock);
	return rc;
}
