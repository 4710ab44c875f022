/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's page table: a sorted array of mappings with exact bounds. An
 * array is immutable; a change makes a new one and publishes it. Executing
 * threads hold an epoch while they run a slice; unmap returns only when nobody
 * can still use the old array, so the memory behind it may be freed then.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/interp.h"

#define IDLE UINT64_MAX

/* The reader of the calling thread: unmap from inside a kernel (device-side free) must not wait for itself.
 */
static __thread struct map_reader *own_reader;

int memory_map_init(struct memory_map *map, struct diag *d)
{
	struct map_snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	pthread_mutex_init(&map->lock, NULL);
	pthread_rwlock_init(&map->host_lock, NULL);
	atomic_store(&map->current, s);
	atomic_store(&map->generation, 1);
	return 0;
}

void memory_map_destroy(struct memory_map *map)
{
	free(atomic_load(&map->current));
	pthread_mutex_destroy(&map->lock);
	pthread_rwlock_destroy(&map->host_lock);
}

/* Index of the first mapping whose end is above addr. */
static uint32_t lower(const struct map_snapshot *s, uint64_t addr)
{
	uint32_t lo = 0, hi = s->n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (s->m[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct mapping *map_find(const struct map_snapshot *s, uint64_t addr)
{
	uint32_t k = lower(s, addr);

	return k < s->n && s->m[k].base <= addr ? &s->m[k] : NULL;
}

const struct mapping *map_nearest(const struct map_snapshot *s, uint64_t addr)
{
	uint32_t k = lower(s, addr);

	if (!s->n)
		return NULL;
	if (k == s->n)
		return &s->m[k - 1];
	if (k == 0 || s->m[k].base <= addr)
		return &s->m[k];
	return addr - s->m[k - 1].end < s->m[k].base - addr ? &s->m[k - 1] : &s->m[k];
}

void map_reader_add(struct memory_map *map, struct map_reader *r)
{
	atomic_store(&r->epoch, IDLE);
	pthread_mutex_lock(&map->lock);
	r->next = map->readers;
	map->readers = r;
	pthread_mutex_unlock(&map->lock);
	own_reader = r;
}

void map_reader_remove(struct memory_map *map, struct map_reader *r)
{
	pthread_mutex_lock(&map->lock);
	struct map_reader **p = &map->readers;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	pthread_mutex_unlock(&map->lock);
	own_reader = NULL;
}

/* With map->lock held: waits until every other reader is idle or has seen `generation`. */
static void wait_for_readers(struct memory_map *map, uint64_t generation)
{
	for (struct map_reader *r = map->readers; r; r = r->next)
		while (r != own_reader && atomic_load(&r->epoch) < generation)
			sched_yield();
}

static struct map_snapshot *snapshot_new(uint32_t n)
{
	struct map_snapshot *s = malloc(sizeof(*s) + n * sizeof(s->m[0]));

	if (s)
		s->n = n;
	return s;
}

int memory_map_add(struct memory_map *map, uint64_t addr, uint64_t bytes, uint8_t *host, bool adjacent,
		   struct diag *d)
{
	int rc = 0;

	pthread_mutex_lock(&map->lock);
	struct map_snapshot *old = atomic_load(&map->current), *s = NULL;
	uint32_t k = lower(old, addr);

	if (!bytes || addr + bytes < addr || (k < old->n && old->m[k].base < addr + bytes))
		rc = diag_set(d, CUTRACE_EINVAL, "",
			      "0x%llx: %llu bytes can't be mapped, the range is taken or empty",
			      (unsigned long long)addr, (unsigned long long)bytes);
	else if (!(s = snapshot_new(old->n + 1)))
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (!rc) {
		memcpy(s->m, old->m, k * sizeof(s->m[0]));
		s->m[k] = (struct mapping){addr, addr + bytes, host, adjacent};
		memcpy(s->m + k + 1, old->m + k, (old->n - k) * sizeof(s->m[0]));
		atomic_store(&map->current, s);
		wait_for_readers(map, atomic_fetch_add(&map->generation, 1) + 1);
		free(old);
	}
	pthread_mutex_unlock(&map->lock);
	return rc;
}

int memory_map_remove(struct memory_map *map, uint64_t addr, uint64_t bytes, struct diag *d)
{
	int rc = 0;

	pthread_rwlock_wrlock(&map->host_lock);
	pthread_mutex_lock(&map->lock);
	struct map_snapshot *old = atomic_load(&map->current), *s = NULL;
	uint32_t first = lower(old, addr), last = first;

	while (last < old->n && old->m[last].end <= addr + bytes)
		last++;
	if (first == last || old->m[first].base < addr || (last < old->n && old->m[last].base < addr + bytes))
		rc = diag_set(d, CUTRACE_EINVAL, "",
			      "0x%llx: unmapping %llu bytes that are not one or more whole mappings",
			      (unsigned long long)addr, (unsigned long long)bytes);
	else if (!(s = snapshot_new(old->n - (last - first))))
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (!rc) {
		memcpy(s->m, old->m, first * sizeof(s->m[0]));
		memcpy(s->m + first, old->m + last, (old->n - last) * sizeof(s->m[0]));
		atomic_store(&map->current, s);
		wait_for_readers(map, atomic_fetch_add(&map->generation, 1) + 1);
		free(old);
	}
	pthread_mutex_unlock(&map->lock);
	pthread_rwlock_unlock(&map->host_lock);
	return rc;
}

int memory_map_walk(struct memory_map *map, uint64_t addr, uint64_t bytes,
		    int (*fn)(void *ctx, uint8_t *host, uint64_t n), void *ctx, struct diag *d)
{
	int rc = 0;

	while (bytes && !rc) {
		uint8_t *host = NULL;
		uint64_t n = 0;

		pthread_mutex_lock(&map->lock);
		const struct mapping *m = map_find(atomic_load(&map->current), addr);
		if (m) {
			host = m->host + (addr - m->base);
			n = m->end - addr < bytes ? m->end - addr : bytes;
		}
		pthread_mutex_unlock(&map->lock);
		if (!host)
			return diag_set(d, CUTRACE_EINVAL, "", "0x%llx is not mapped on the device",
					(unsigned long long)addr);
		rc = fn(ctx, host, n);
		addr += n;
		bytes -= n;
	}
	return rc;
}

void worker_refresh(struct worker *k)
{
	struct memory_map *map = &k->dev->map;
	uint64_t g;

	/* The epoch is published before the array is read: a writer that waits for it sees us, or we see its
	 * array. */
	do {
		g = atomic_load(&map->generation);
		atomic_store(&k->reader.epoch, g);
		k->snapshot = atomic_load(&map->current);
	} while (atomic_load(&map->generation) != g);
	if (k->generation != g) {
		memset(k->tlb, 0, sizeof(k->tlb));
		k->generation = g;
	}
}

void worker_pause(struct worker *k)
{
	atomic_store(&k->reader.epoch, IDLE);
}
