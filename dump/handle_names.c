/* SPDX-License-Identifier: Apache-2.0 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "dump/names.h"

struct numbered {
	uint64_t value;
	uint32_t process;
	uint32_t number; /* 0: empty slot */
	uint16_t def;
	bool made; /* by a call that creates; false: first seen otherwise, as the levels of a mipmapped array are */
	bool dead;
};

struct kernel_handle {
	uint64_t handle, created;
	uint32_t process;
	uint64_t kernel;
};

struct handle_names {
	struct trace *t;
	struct numbered *slots; /* open addressing */
	size_t count, capacity;
	uint32_t *last;                /* newest number, by kind */
	struct kernel_handle *kernels; /* by process, handle, created */
	size_t nkernels;
};

static int compare_kernels(const void *a, const void *b)
{
	const struct kernel_handle *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->handle != y->handle)
		return x->handle < y->handle ? -1 : 1;
	return x->created < y->created ? -1 : x->created > y->created;
}

static void load_kernels(struct handle_names *h)
{
	size_t capacity = 0;
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(trace_db(h->t), "SELECT process,handle,kernel,created FROM kernel_handle", -1,
			       &s, NULL))
		return;
	while (sqlite3_step(s) == SQLITE_ROW) {
		if (h->nkernels == capacity) {
			size_t more = capacity ? capacity * 2 : 64;
			struct kernel_handle *p = reallocarray(h->kernels, more, sizeof(*p));

			if (!p)
				break;
			h->kernels = p;
			capacity = more;
		}
		h->kernels[h->nkernels++] = (struct kernel_handle){
			.process = (uint32_t)sqlite3_column_int64(s, 0),
			.handle = (uint64_t)sqlite3_column_int64(s, 1),
			.kernel = (uint64_t)sqlite3_column_int64(s, 2),
			.created = (uint64_t)sqlite3_column_int64(s, 3),
		};
	}
	sqlite3_finalize(s);
	if (h->nkernels)
		qsort(h->kernels, h->nkernels, sizeof(*h->kernels), compare_kernels);
}

struct handle_names *handle_names_new(struct trace *t)
{
	struct handle_names *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->t = t;
	h->capacity = 256;
	h->slots = calloc(h->capacity, sizeof(*h->slots));
	h->last = calloc(api_nhandles + 1, sizeof(*h->last));
	if (!h->slots || !h->last) {
		handle_names_free(h);
		return NULL;
	}
	load_kernels(h);
	return h;
}

void handle_names_free(struct handle_names *h)
{
	if (!h)
		return;
	free(h->slots);
	free(h->last);
	free(h->kernels);
	free(h);
}

static size_t hash(unsigned def, uint32_t process, uint64_t value)
{
	uint64_t x = (value ^ (uint64_t)process << 48 ^ (uint64_t)def << 56) * 0x9e3779b97f4a7c15u;

	return (size_t)(x >> 20);
}

static struct numbered *slot(struct numbered *slots, size_t capacity, unsigned def, uint32_t process,
			     uint64_t value)
{
	size_t i = hash(def, process, value) & (capacity - 1);

	while (slots[i].number &&
	       (slots[i].value != value || slots[i].process != process || slots[i].def != def))
		i = (i + 1) & (capacity - 1);
	return &slots[i];
}

static void grow(struct handle_names *h)
{
	size_t capacity = h->capacity * 2, i;
	struct numbered *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return; /* fuller, slower */
	for (i = 0; i < h->capacity; i++) {
		const struct numbered *n = &h->slots[i];

		if (n->number)
			*slot(slots, capacity, n->def, n->process, n->value) = *n;
	}
	free(h->slots);
	h->slots = slots;
	h->capacity = capacity;
}

static struct numbered *known(struct handle_names *h, unsigned def, uint32_t process, uint64_t value)
{
	struct numbered *n = slot(h->slots, h->capacity, def, process, value);

	return n->number ? n : NULL;
}

uint32_t handle_number(struct handle_names *h, unsigned def, uint32_t process, uint64_t value, bool created,
		       const char **kind)
{
	struct numbered *n;
	unsigned alias;

	if (def >= api_nhandles)
		return 0;
	*kind = api_handles[def].name;
	alias = api_handles[def].alias_of;
	n = known(h, def, process, value);
	if (!n && !created && alias < api_nhandles && (n = known(h, alias, process, value)))
		*kind = api_handles[alias].name;
	/* Who is created where another was has its place because that one is gone: destroyed, or with what it was part of. */
	if (n && !(created && (n->dead || !n->made)))
		return n->number;
	if (!n && h->count + 1 >= h->capacity / 2)
		grow(h);
	if (!n && h->count + 1 >= h->capacity)
		return 0;
	if (!n) {
		n = slot(h->slots, h->capacity, def, process, value);
		h->count++;
	}
	*n = (struct numbered){value, process, ++h->last[def], (uint16_t)def, created, false};
	return n->number;
}

void handle_destroyed(struct handle_names *h, unsigned def, uint32_t process, uint64_t value)
{
	struct numbered *n = def < api_nhandles ? known(h, def, process, value) : NULL;

	if (n)
		n->dead = true;
}

const char *handle_kernel(struct handle_names *h, uint32_t process, uint64_t value, uint64_t call)
{
	struct kernel_handle key = {.process = process, .handle = value, .created = call};
	const struct trace_kernel *k;
	size_t low = 0, high = h->nkernels;

	while (low < high) { /* the first that comes after the key */
		size_t mid = low + (high - low) / 2;

		if (compare_kernels(&h->kernels[mid], &key) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || h->kernels[low - 1].process != process || h->kernels[low - 1].handle != value)
		return NULL;
	k = trace_kernel(h->t, h->kernels[low - 1].kernel);
	return k ? k->name : NULL;
}
