/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's page table: mappings with exact bounds in a treap ordered by address. Published nodes never
 * change: a change copies the path to what it touches, O(log n) nodes, and publishes a new root (path
 * copying; Seidel and Aragon, "Randomized Search Trees", for split, join and their depth). Executing threads hold an
 * epoch while they run a slice; a change returns only when nobody can still use the old root, so the nodes it
 * replaced, and the memory behind what it unmapped, may be freed then.
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
	(void)d;
	pthread_mutex_init(&map->lock, NULL);
	pthread_rwlock_init(&map->host_lock, NULL);
	atomic_store(&map->current, NULL);
	atomic_store(&map->generation, 1);
	return 0;
}

static void free_tree(struct map_node *n)
{
	if (!n)
		return;
	free_tree(n->left);
	free_tree(n->right);
	free(n);
}

void memory_map_destroy(struct memory_map *map)
{
	free_tree(atomic_load(&map->current));
	pthread_mutex_destroy(&map->lock);
	pthread_rwlock_destroy(&map->host_lock);
}

/* ---- looking up -------------------------------------------------------------------------- */

/* The mappings around addr: the last one that begins at or below it, the first one above. */
static void neighbours(const struct map_node *n, uint64_t addr, const struct mapping **below,
		       const struct mapping **above)
{
	*below = *above = NULL;
	while (n) {
		if (n->m.base <= addr) {
			*below = &n->m;
			n = n->right;
		} else {
			*above = &n->m;
			n = n->left;
		}
	}
}

const struct mapping *map_find(const struct map_node *root, uint64_t addr)
{
	const struct mapping *below, *above;

	neighbours(root, addr, &below, &above);
	return below && addr < below->end ? below : NULL;
}

const struct mapping *map_nearest(const struct map_node *root, uint64_t addr)
{
	const struct mapping *below, *above;

	neighbours(root, addr, &below, &above);
	if (!below || !above)
		return below ? below : above;
	if (addr < below->end)
		return below;
	return addr - below->end < above->base - addr ? below : above;
}

/* ---- who reads ------------------------------------------------------------------------------ */

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

/* ---- changing ---------------------------------------------------------------------------------- */

/* One change: the nodes it made and those it replaced. */
struct edit {
	struct map_node *made, *replaced;
	bool failed; /* out of memory: the change is dropped */
};

/* splitmix64's finaliser: priorities that look random and are the same in every run. */
static uint64_t priority_of(uint64_t base)
{
	uint64_t z = base + 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static struct map_node *make(struct edit *e, const struct mapping *m, struct map_node *left,
			     struct map_node *right)
{
	struct map_node *n = malloc(sizeof(*n));

	if (!n) {
		e->failed = true;
		return NULL;
	}
	*n = (struct map_node){.m = *m, .priority = priority_of(m->base), .left = left, .right = right};
	n->next_made = e->made;
	e->made = n;
	return n;
}

static void replace(struct edit *e, struct map_node *n)
{
	n->next_replaced = e->replaced;
	e->replaced = n;
}

/* The mappings of n that begin below addr, and the others. */
static void split(struct edit *e, struct map_node *n, uint64_t addr, struct map_node **low,
		  struct map_node **high)
{
	struct map_node *part;

	*low = *high = NULL;
	if (!n || e->failed)
		return;
	replace(e, n);
	if (n->m.base < addr) {
		split(e, n->right, addr, &part, high);
		*low = make(e, &n->m, n->left, part);
	} else {
		split(e, n->left, addr, low, &part);
		*high = make(e, &n->m, part, n->right);
	}
}

/* All of low lies below all of high. */
static struct map_node *join(struct edit *e, struct map_node *low, struct map_node *high)
{
	if (!low || !high || e->failed)
		return low ? low : high;
	if (low->priority > high->priority) {
		replace(e, low);
		return make(e, &low->m, low->left, join(e, low->right, high));
	}
	replace(e, high);
	return make(e, &high->m, join(e, low, high->left), high->right);
}

static struct map_node *insert(struct edit *e, struct map_node *n, const struct mapping *m)
{
	struct map_node *low, *high;

	if (e->failed)
		return NULL;
	if (!n || n->priority < priority_of(m->base)) {
		split(e, n, m->base, &low, &high);
		return make(e, m, low, high);
	}
	replace(e, n);
	if (m->base < n->m.base)
		return make(e, &n->m, insert(e, n->left, m), n->right);
	return make(e, &n->m, n->left, insert(e, n->right, m));
}

/* A node may be made and replaced in one change. Then it is on both lists, of which one is walked: this one
 * when the change failed, the other when it was published. */
static void free_made(struct edit *e)
{
	struct map_node *n = e->made;

	while (n) {
		struct map_node *next = n->next_made;

		free(n);
		n = next;
	}
}

static void free_replaced(struct edit *e)
{
	struct map_node *n = e->replaced;

	while (n) {
		struct map_node *next = n->next_replaced;

		free(n);
		n = next;
	}
}

/* With map->lock held. `dropped`: mappings that are in the old tree only. */
static int publish(struct memory_map *map, struct edit *e, struct map_node *root, struct map_node *dropped,
		   struct diag *d)
{
	if (e->failed) {
		free_made(e);
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	atomic_store(&map->current, root);
	wait_for_readers(map, atomic_fetch_add(&map->generation, 1) + 1);
	free_replaced(e);
	free_tree(dropped);
	return 0;
}

int memory_map_add(struct memory_map *map, uint64_t addr, uint64_t bytes, uint8_t *host, bool adjacent,
		   struct diag *d)
{
	struct mapping m = {addr, addr + bytes, host, adjacent};
	const struct mapping *below, *above;
	struct edit e = {0};
	int rc;

	pthread_mutex_lock(&map->lock);
	struct map_node *root = atomic_load(&map->current);

	neighbours(root, addr, &below, &above);
	if (!bytes || m.end < addr || (below && below->end > addr) || (above && above->base < m.end)) {
		rc = diag_set(d, CUTRACE_EINVAL, "",
			      "0x%llx: %llu bytes can't be mapped, the range is taken or empty",
			      (unsigned long long)addr, (unsigned long long)bytes);
	} else {
		root = insert(&e, root, &m);
		rc = publish(map, &e, root, NULL, d);
	}
	pthread_mutex_unlock(&map->lock);
	return rc;
}

/* Whether [addr, end) consists of whole mappings, one at least, and perhaps gaps. */
static bool is_whole(const struct map_node *root, uint64_t addr, uint64_t end)
{
	const struct mapping *below, *above;

	if (end <= addr)
		return false;
	neighbours(root, end - 1, &below, &above);
	if (!below || below->base < addr || below->end > end)
		return false;
	neighbours(root, addr, &below, &above);
	return !below || below->base == addr || below->end <= addr;
}

int memory_map_remove(struct memory_map *map, uint64_t addr, uint64_t bytes, struct diag *d)
{
	struct map_node *low, *middle, *high;
	struct edit e = {0};
	int rc;

	pthread_rwlock_wrlock(&map->host_lock);
	pthread_mutex_lock(&map->lock);
	struct map_node *root = atomic_load(&map->current);

	if (!is_whole(root, addr, addr + bytes)) {
		rc = diag_set(d, CUTRACE_EINVAL, "",
			      "0x%llx: unmapping %llu bytes that are not one or more whole mappings",
			      (unsigned long long)addr, (unsigned long long)bytes);
	} else {
		split(&e, root, addr, &low, &high);
		split(&e, high, addr + bytes, &middle, &high);
		root = join(&e, low, high);
		rc = publish(map, &e, root, middle, d);
	}
	pthread_mutex_unlock(&map->lock);
	pthread_rwlock_unlock(&map->host_lock);
	return rc;
}

/* ---- the host's side ------------------------------------------------------------------------------ */

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

	/* The epoch is published before the root is read: a writer that waits for it sees us, or we see its
	 * root. */
	do {
		g = atomic_load(&map->generation);
		atomic_store(&k->reader.epoch, g);
		k->mappings = atomic_load(&map->current);
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
