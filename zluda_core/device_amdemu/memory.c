/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/device_amdemu/amdemu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Far from where programs, CUDA's drivers and our core put memory. */
#define OWN_BASE  0x080000000000ull
#define OWN_ALIGN 0x10000ull

/* What a change replaced: a table, or host memory. */
struct emu_retired {
	struct emu_retired *next;
	uint64_t launches; /* how many had begun */
	void *table;
	uint8_t *host;
	uint64_t bytes;
};

int emu_memory_init(struct emu_memory *m, struct diag *d)
{
	struct emu_table *t = calloc(1, sizeof(*t));

	if (!t)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->launch_done, NULL);
	pthread_rwlock_init(&m->host_lock, NULL);
	atomic_store(&m->table, t);
	m->own_next = OWN_BASE;
	return 0;
}

/* ---- what must outlive launches ----------------------------------------------------------- */

/* With the lock held: takes out of the list what no launch can still use. */
static struct emu_retired *collect(struct emu_memory *m)
{
	struct emu_retired *ready = NULL, **at = &m->retired;
	uint64_t oldest = UINT64_MAX;

	for (const struct emu_running *r = m->running; r; r = r->next)
		oldest = r->number < oldest ? r->number : oldest;
	while (*at) {
		struct emu_retired *r = *at;

		if (r->launches >= oldest) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		r->next = ready;
		ready = r;
	}
	return ready;
}

/* Without any lock. */
static void free_all(struct emu_memory *m, struct emu_retired *r)
{
	while (r) {
		struct emu_retired *next = r->next;

		free(r->table);
		if (r->host) {
			pthread_rwlock_wrlock(&m->host_lock);
			munmap(r->host, r->bytes);
			pthread_rwlock_unlock(&m->host_lock);
		}
		free(r);
		r = next;
	}
}

/* With the lock held. */
static void retire(struct emu_memory *m, struct emu_retired *r)
{
	r->launches = m->launches;
	r->next = m->retired;
	m->retired = r;
}

void emu_launch_begin(struct emu_memory *m, struct emu_running *r)
{
	pthread_mutex_lock(&m->lock);
	r->number = ++m->launches;
	r->next = m->running;
	m->running = r;
	pthread_mutex_unlock(&m->lock);
}

void emu_launch_end(struct emu_memory *m, struct emu_running *r)
{
	struct emu_running **at = &m->running;
	struct emu_retired *ready;

	pthread_mutex_lock(&m->lock);
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	ready = collect(m);
	pthread_cond_broadcast(&m->launch_done);
	pthread_mutex_unlock(&m->lock);
	free_all(m, ready);
}

/* With the lock held: until the launches that run now have ended. */
static void wait_for_launches(struct emu_memory *m)
{
	const uint64_t begun = m->launches;
	bool busy = true;

	while (busy) {
		busy = false;
		for (const struct emu_running *r = m->running; r; r = r->next)
			busy |= r->number <= begun;
		if (busy)
			pthread_cond_wait(&m->launch_done, &m->lock);
	}
}

void emu_memory_destroy(struct emu_memory *m)
{
	struct emu_table *t = atomic_load(&m->table);

	if (!t)
		return;
	free_all(m, m->retired);
	free(t);
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->launch_done);
	pthread_rwlock_destroy(&m->host_lock);
}

/* ---- the table -------------------------------------------------------------------------------- */

/* The first mapping that ends behind addr. */
static uint32_t position(const struct emu_table *t, uint64_t addr)
{
	uint32_t low = 0, high = t->n;

	while (low < high) {
		uint32_t k = low + (high - low) / 2;

		if (t->m[k].window.address + t->m[k].window.bytes <= addr)
			low = k + 1;
		else
			high = k;
	}
	return low;
}

static const struct emu_mapping *lookup(const struct emu_table *t, uint64_t addr)
{
	uint32_t k = position(t, addr);

	return k < t->n && addr >= t->m[k].window.address ? &t->m[k] : NULL;
}

bool emu_find(void *memory, uint64_t addr, struct amdgpu_window *out)
{
	struct emu_memory *m = memory;
	const struct emu_mapping *k = lookup(atomic_load(&m->table), addr);

	if (k)
		*out = k->window;
	return k != NULL;
}

/* With the lock held: a table with room for one more that may be changed; NULL when memory ran out. */
static struct emu_table *table_to_change(struct emu_memory *m)
{
	struct emu_table *t = atomic_load(&m->table), *copy;
	uint32_t room = t->n + 1 > t->room ? (t->n + 8) * 2 : t->room;
	struct emu_retired *r;

	if (!m->running && t->n < t->room)
		return t;
	copy = malloc(sizeof(*t) + room * sizeof(t->m[0]));
	r = calloc(1, sizeof(*r));
	if (!copy || !r) {
		free(copy);
		free(r);
		return NULL;
	}
	memcpy(copy, t, sizeof(*t) + t->n * sizeof(t->m[0]));
	copy->room = room;
	r->table = t;
	retire(m, r);
	return copy;
}

static int add(struct emu_memory *m, const struct emu_mapping *new, struct diag *d)
{
	const uint64_t addr = new->window.address, bytes = new->window.bytes;
	struct emu_table *t = atomic_load(&m->table);
	uint32_t k = position(t, addr);

	if (!bytes || addr + bytes < addr || (k < t->n && t->m[k].window.address < addr + bytes))
		return diag_set(d, CUTRACE_EINVAL, "", "0x%llx: %llu bytes can't be mapped there",
				(unsigned long long)addr, (unsigned long long)bytes);
	t = table_to_change(m);
	if (!t)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	memmove(&t->m[k + 1], &t->m[k], (t->n - k) * sizeof(t->m[0]));
	t->m[k] = *new;
	t->n++;
	atomic_store(&m->table, t);
	return 0;
}

int emu_map(struct emu_memory *m, const struct emu_mapping *mapping, struct diag *d)
{
	pthread_mutex_lock(&m->lock);
	int rc = add(m, mapping, d);
	struct emu_retired *ready = collect(m);
	pthread_mutex_unlock(&m->lock);
	free_all(m, ready);
	return rc;
}

int emu_map_own(struct emu_memory *m, void *host, uint64_t bytes, bool writable, uint64_t *addr,
		struct diag *d)
{
	struct emu_mapping mapping = {{0, bytes, host, writable}, true};

	pthread_mutex_lock(&m->lock);
	mapping.window.address = m->own_next;
	m->own_next += (bytes + 2 * OWN_ALIGN - 1) & ~(OWN_ALIGN - 1);
	pthread_mutex_unlock(&m->lock);
	*addr = mapping.window.address;
	return emu_map(m, &mapping, d);
}

/* One or more whole mappings. */
static int drop(struct emu_memory *m, uint64_t addr, uint64_t bytes, struct diag *d)
{
	struct emu_table *t = atomic_load(&m->table);
	uint32_t first = position(t, addr), end = first;

	while (end < t->n && t->m[end].window.address < addr + bytes)
		end++;
	if (first == end || t->m[first].window.address < addr ||
	    t->m[end - 1].window.address + t->m[end - 1].window.bytes > addr + bytes)
		return diag_set(d, CUTRACE_EINVAL, "",
				"0x%llx: unmapping %llu bytes that are not one or more whole mappings",
				(unsigned long long)addr, (unsigned long long)bytes);
	t = table_to_change(m);
	if (!t)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	memmove(&t->m[first], &t->m[end], (t->n - end) * sizeof(t->m[0]));
	t->n -= end - first;
	atomic_store(&m->table, t);
	return 0;
}

int emu_unmap(struct emu_memory *m, uint64_t addr, uint64_t bytes, struct diag *d)
{
	pthread_rwlock_wrlock(&m->host_lock); /* no transfer is under way in it */
	pthread_mutex_lock(&m->lock);
	int rc = drop(m, addr, bytes, d);
	struct emu_retired *ready = collect(m);
	pthread_mutex_unlock(&m->lock);
	pthread_rwlock_unlock(&m->host_lock);
	free_all(m, ready);
	return rc;
}

uint8_t *emu_host(struct emu_memory *m, uint64_t addr, uint64_t bytes)
{
	uint8_t *p = NULL;

	pthread_mutex_lock(&m->lock);
	const struct emu_mapping *k = lookup(atomic_load(&m->table), addr);
	if (k && bytes <= k->window.bytes - (addr - k->window.address))
		p = k->window.host + (addr - k->window.address);
	pthread_mutex_unlock(&m->lock);
	return p;
}

static uint64_t distance(const struct amdgpu_window *w, uint64_t addr)
{
	if (addr < w->address)
		return w->address - addr;
	return addr - w->address < w->bytes ? 0 : addr - w->address - w->bytes + 1;
}

bool emu_nearest(struct emu_memory *m, uint64_t addr, uint64_t *base, uint64_t *bytes)
{
	const struct amdgpu_window *best = NULL;

	pthread_mutex_lock(&m->lock);
	const struct emu_table *t = atomic_load(&m->table);
	for (uint32_t k = 0; k < t->n; k++)
		if (!t->m[k].own && (!best || distance(&t->m[k].window, addr) < distance(best, addr)))
			best = &t->m[k].window;
	if (best) {
		*base = best->address;
		*bytes = best->bytes;
	}
	pthread_mutex_unlock(&m->lock);
	return best != NULL;
}

/* ---- memory objects -------------------------------------------------------------------------------- */

int emu_memory_create(uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	struct dev_mem *mem = calloc(1, sizeof(*mem));
	void *host = MAP_FAILED;

	if (mem && bytes)
		host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
	if (host == MAP_FAILED) {
		free(mem);
		return diag_set(d, CUTRACE_ENOMEM, "", "no host memory for %llu bytes: %s",
				(unsigned long long)bytes, strerror(errno));
	}
	*mem = (struct dev_mem){.host = host, .bytes = bytes};
	*out = mem;
	return 0;
}

int emu_memory_import(void *host, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	struct dev_mem *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	*mem = (struct dev_mem){.host = host, .bytes = bytes, .imported = true};
	*out = mem;
	return 0;
}

/* Imported memory is the program's, which may do with it what it likes from now on. */
void emu_memory_release(struct emu_memory *m, struct dev_mem *mem)
{
	struct emu_retired *r, *ready;

	if (!mem)
		return;
	r = mem->imported ? NULL : calloc(1, sizeof(*r));
	pthread_mutex_lock(&m->lock);
	if (r) {
		r->host = mem->host;
		r->bytes = mem->bytes;
		retire(m, r);
	} else {
		wait_for_launches(m);
	}
	ready = collect(m);
	pthread_mutex_unlock(&m->lock);
	free_all(m, ready);
	if (!r && !mem->imported)
		munmap(mem->host, mem->bytes);
	free(mem);
}
