/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorded device addresses, kept free. A driver with unified addressing puts device memory into the address
 * space of the process, where libraries, the heap and the driver's own allocations would take recorded
 * addresses first. So, for drivers that are not ours, the granules that the trace will need are mapped
 * without access before the driver is loaded, and each is given up just before the driver is asked for it.
 */
#include <string.h>
#include <sys/mman.h>

#include "replay/engine.h"

#define GRANULE (UINT64_C(2) << 20)
#define MAX_GRANULES \
	65536u            /* 128 GiB; each is a mapping at worst, of which a process may have some 65,000 \
			   */
#define MAX_CLASHES 1024u /* in a row, 2 GiB: no allocation was there, whatever the trace says */
#define MAX_ADDRESS UINT64_C(0x7fffffffffff)

static bool is_device_memory(const struct trace_allocation *a)
{
	return !strcmp(a->kind, "device") || !strcmp(a->kind, "vmm") || !strcmp(a->kind, "pool");
}

/* False: something else is there. */
static bool reserve_granule(struct engine *e, uint64_t at)
{
	void *p;

	if (map_get(&e->reserved, at, NULL) || e->reserved.used >= MAX_GRANULES)
		return true;
	p = mmap((void *)(uintptr_t)at, GRANULE, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED) {
		e->reserve_clashes++;
		return false;
	}
	map_set(&e->reserved, at, 1);
	return true;
}

static int reserve_allocation(void *ctx, const struct trace_allocation *a)
{
	struct engine *e = ctx;
	unsigned clashes = 0;

	if (!is_device_memory(a) || a->base > MAX_ADDRESS || a->bytes > MAX_ADDRESS - a->base)
		return 0;
	for (uint64_t at = a->base & ~(GRANULE - 1); at < a->base + a->bytes && clashes < MAX_CLASHES;
	     at += GRANULE) {
		if (e->reserved.used >= MAX_GRANULES)
			return 1;
		clashes = reserve_granule(e, at) ? 0 : clashes + 1;
	}
	return 0;
}

int reserve_plan(struct engine *e)
{
	int rc = trace_allocations(e->trace, e->process, reserve_allocation, e);

	return rc < 0 ? rc : 0;
}

void reserve_release(struct engine *e, uint64_t base, uint64_t bytes)
{
	for (uint64_t at = base & ~(GRANULE - 1); e->reserved.used && at < base + bytes; at += GRANULE) {
		if (!map_get(&e->reserved, at, NULL))
			continue;
		munmap((void *)(uintptr_t)at, GRANULE);
		map_remove(&e->reserved, at);
	}
}

void reserve_drop(struct engine *e)
{
	for (size_t i = 0; i < e->reserved.size; i++)
		if (e->reserved.slots[i].used)
			munmap((void *)(uintptr_t)e->reserved.slots[i].key, GRANULE);
	map_free(&e->reserved);
}
