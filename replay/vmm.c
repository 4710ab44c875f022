/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded addresses on a driver that gives its own: virtual memory management takes an address as a hint,
 * in granules of 2 MiB, and recorded allocations share granules. So granules are reserved and backed when the
 * first allocation in them is made, and given back with the last.
 */
#include <stdlib.h>
#include <string.h>

#define CUDA_ABI_NO_MAPPING
#include "api/gen/cuda_abi.h"
#include "replay/engine.h"

#define GRANULE       (UINT64_C(2) << 20)
#define NOT_FOUND     500 /* CUDA_ERROR_NOT_FOUND: the symbol */
#define NOT_SUPPORTED 801 /* CUDA_ERROR_NOT_SUPPORTED */
#define MAX_FAILED    4   /* refusals in a row after which no further hint is tried */

/* A run of granules that was made in one go. */
struct vmm_granules {
	struct vmm_granules *next;
	uint64_t base, bytes, handle;
	unsigned refs;
};

static uint64_t run_end(uint64_t base, uint64_t bytes)
{
	return (base + bytes + GRANULE - 1) & ~(GRANULE - 1);
}

static struct vmm_granules *find(struct engine *e, uint64_t addr)
{
	for (struct vmm_granules *g = e->granules; g; g = g->next)
		if (addr >= g->base && addr - g->base < g->bytes)
			return g;
	return NULL;
}

/* End of the gap that starts at addr: the next run, or `end`. */
static uint64_t gap_end(struct engine *e, uint64_t addr, uint64_t end)
{
	for (struct vmm_granules *g = e->granules; g; g = g->next)
		if (g->base > addr && g->base < end)
			end = g->base;
	return end;
}

static int map_run(struct engine *e, struct vmm_granules *g, uint64_t at, int device)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
	CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	const uint64_t none = 0, one = 1;

	if (driver_plain(&e->drv, "cuMemCreate", 4, word(&g->handle), g->bytes, word(&prop), none))
		return -1;
	if (driver_plain(&e->drv, "cuMemMap", 5, at, g->bytes, none, g->handle, none))
		goto release;
	if (!driver_plain(&e->drv, "cuMemSetAccess", 4, at, g->bytes, word(&access), one))
		return 0;
	driver_plain(&e->drv, "cuMemUnmap", 2, at, g->bytes);
release:
	driver_plain(&e->drv, "cuMemRelease", 1, g->handle);
	return -1;
}

/* A driver that has no such thing is not asked again. */
static int reserve(struct engine *e, uint64_t *at, uint64_t base, uint64_t bytes)
{
	int64_t rc;

	reserve_release(e, base, bytes);
	rc = driver_plain(&e->drv, "cuMemAddressReserve", 5, word(at), bytes, GRANULE, base, UINT64_C(0));
	if (rc == NOT_FOUND || rc == NOT_SUPPORTED)
		e->vmm_failed = MAX_FAILED;
	return rc ? -1 : 0;
}

static struct vmm_granules *make_run(struct engine *e, uint64_t base, uint64_t bytes)
{
	struct vmm_granules *g = calloc(1, sizeof(*g));
	uint64_t at = 0;
	int device = 0;

	if (!g)
		return NULL;
	g->base = base;
	g->bytes = bytes;
	if (driver_plain(&e->drv, "cuCtxGetDevice", 1, word(&device)) || reserve(e, &at, base, bytes))
		goto fail;
	if (at != base || map_run(e, g, at, device)) {
		driver_plain(&e->drv, "cuMemAddressFree", 2, at, bytes);
		goto fail;
	}
	g->next = e->granules;
	e->granules = g;
	return g;
fail:
	free(g);
	return NULL;
}

static void drop_run(struct engine *e, struct vmm_granules *g)
{
	struct vmm_granules **at = &e->granules;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	driver_plain(&e->drv, "cuMemUnmap", 2, g->base, g->bytes);
	driver_plain(&e->drv, "cuMemRelease", 1, g->handle);
	driver_plain(&e->drv, "cuMemAddressFree", 2, g->base, g->bytes);
	free(g);
}

/* Drops one reference of every run that [base, end) touches. */
static void unref(struct engine *e, uint64_t base, uint64_t end)
{
	for (uint64_t at = base & ~(GRANULE - 1); at < end;) {
		struct vmm_granules *g = find(e, at);

		if (!g)
			return;
		at = g->base + g->bytes;
		if (!--g->refs)
			drop_run(e, g);
	}
}

bool vmm_place(struct engine *e, uint64_t base, uint64_t bytes)
{
	uint64_t start = base & ~(GRANULE - 1), end = run_end(base, bytes), at = start;

	if (!bytes || end <= base || e->vmm_failed >= MAX_FAILED)
		return false;
	while (at < end) {
		struct vmm_granules *g = find(e, at);

		if (!g)
			g = make_run(e, at, gap_end(e, at, end) - at);
		if (!g) {
			unref(e, start, at);
			if (++e->vmm_failed >= MAX_FAILED)
				reserve_drop(e); /* then they only stand in its way */
			return false;
		}
		g->refs++;
		at = g->base + g->bytes;
	}
	e->vmm_failed = 0;
	return true;
}

void vmm_release(struct engine *e, uint64_t base, uint64_t bytes)
{
	driver_plain(&e->drv, "cuCtxSynchronize", 0); /* freeing waits for the device, unmapping does not */
	unref(e, base, base + bytes);
}
