/* SPDX-License-Identifier: Apache-2.0
 * Allocations come from a cursor in order of creation and go when their end has passed; in between they are
 * in two sorted arrays, by device and by host address. An allocation lives from the end of the call that made
 * it: until then the address may be another's, which a third call gives back meanwhile. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "dump/names.h"

struct range {
	uint64_t base, bytes, id, destroyed;
	uint64_t created, seen; /* by this call; the newest call when it ended */
	uint32_t process;
	const char *variable; /* name of a module's variable, in the arena */
};

struct ranges {
	struct range *v;
	size_t n, capacity, sweep_at;
};

struct live_allocations {
	struct trace *t;
	struct trace_memory *memory;
	struct arena arena;
	sqlite3_stmt *cursor;
	bool pending; /* `next` waits for its call */
	struct range next, next_host;
	struct ranges device, host;
	struct ranges young_device, young_host; /* the calls that made them were under way; unsorted */
};

struct live_allocations *live_allocations_new(struct trace *t)
{
	struct live_allocations *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->t = t;
	a->memory = trace_memory_new(t);
	if (sqlite3_prepare_v2(
		    trace_db(t),
		    "SELECT id,process,base,bytes,host_address,created,destroyed,kind,"
		    "(SELECT seq_seen FROM call WHERE call.id = created) FROM allocation ORDER BY created,id",
		    -1, &a->cursor, NULL) != SQLITE_OK) {
		live_allocations_free(a);
		return NULL;
	}
	return a;
}

void live_allocations_free(struct live_allocations *a)
{
	if (!a)
		return;
	sqlite3_finalize(a->cursor);
	trace_memory_free(a->memory);
	arena_free(&a->arena);
	free(a->device.v);
	free(a->host.v);
	free(a->young_device.v);
	free(a->young_host.v);
	free(a);
}

/* The name that the call asked for: its string parameter. */
static const char *variable_name(struct live_allocations *a, uint64_t call)
{
	const struct trace_function *tf;
	const struct api_func *f;
	struct trace_call c;
	unsigned p;

	if (!a->memory || trace_call_get(a->t, call, &c) || !(tf = trace_function(a->t, c.func)) ||
	    !(f = api_func_find(tf->name)) || trace_memory_load(a->memory, call, 0))
		return NULL;
	for (p = 0; p < f->nparams && p < c.nargs; p++) {
		const char *s;
		size_t n = 0;

		if (api_types[f->params[p].type].kind != API_KIND_STRING)
			continue;
		while ((s = trace_memory_read(a->memory, c.args[p] + n, 1)) && *s)
			n++;
		s = n ? trace_memory_read(a->memory, c.args[p], n) : NULL;
		return s ? arena_strndup(&a->arena, s, n) : NULL;
	}
	return NULL;
}

static bool fetch(struct live_allocations *a)
{
	const char *kind;
	bool host_only;

	if (a->pending)
		return true;
	if (!a->cursor)
		return false;
	if (sqlite3_step(a->cursor) != SQLITE_ROW) { /* another step would begin from the start */
		sqlite3_finalize(a->cursor);
		a->cursor = NULL;
		return false;
	}
	a->next = (struct range){
		.id = (uint64_t)sqlite3_column_int64(a->cursor, 0),
		.process = (uint32_t)sqlite3_column_int64(a->cursor, 1),
		.base = (uint64_t)sqlite3_column_int64(a->cursor, 2),
		.bytes = (uint64_t)sqlite3_column_int64(a->cursor, 3),
		.created = (uint64_t)sqlite3_column_int64(a->cursor, 5),
		.destroyed = (uint64_t)sqlite3_column_int64(a->cursor, 6),
		.seen = (uint64_t)sqlite3_column_int64(a->cursor, 8),
	};
	kind = (const char *)sqlite3_column_text(a->cursor, 7);
	host_only = kind && (strcmp(kind, "host") == 0 || strcmp(kind, "registered") == 0);
	a->next_host = a->next;
	a->next_host.base = (uint64_t)sqlite3_column_int64(a->cursor, 4);
	if (!a->next_host.base && host_only)
		a->next_host.base = a->next.base;
	if (kind && (strcmp(kind, "global") == 0 || strcmp(kind, "managed") == 0))
		a->next.variable = variable_name(a, a->next.created);
	a->pending = true;
	return true;
}

/* Index of the first range that begins after the address. */
static size_t after(const struct ranges *r, uint32_t process, uint64_t address)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct range *m = &r->v[mid];

		if (m->process < process || (m->process == process && m->base <= address))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool over(const struct range *r, uint64_t call)
{
	return r->destroyed && r->destroyed < call;
}

/* Drops what has ended, when the array has doubled since the last time. */
static void sweep(struct ranges *r, uint64_t call)
{
	size_t i, n = 0;

	if (r->n < r->sweep_at || r->n < 64)
		return;
	for (i = 0; i < r->n; i++)
		if (!over(&r->v[i], call))
			r->v[n++] = r->v[i];
	r->n = n;
	r->sweep_at = n * 2;
}

static bool make_room(struct ranges *r)
{
	size_t more = r->capacity ? r->capacity * 2 : 64;
	struct range *p;

	if (r->n < r->capacity)
		return true;
	p = reallocarray(r->v, more, sizeof(*p));
	if (!p)
		return false;
	r->v = p;
	r->capacity = more;
	return true;
}

static void insert(struct ranges *r, const struct range *x, uint64_t call)
{
	size_t at;

	if (!x->base || over(x, call))
		return;
	sweep(r, call);
	if (!make_room(r))
		return;
	at = after(r, x->process, x->base);
	if (at && r->v[at - 1].process == x->process && r->v[at - 1].base == x->base) {
		r->v[at - 1] = *x; /* the older one must have ended */
		return;
	}
	memmove(&r->v[at + 1], &r->v[at], (r->n - at) * sizeof(*r->v));
	r->v[at] = *x;
	r->n++;
}

/* Moves those whose calls have ended. */
static void grow_up(struct ranges *young, struct ranges *r, uint64_t call)
{
	size_t i, n = 0;

	for (i = 0; i < young->n; i++)
		if (young->v[i].seen < call)
			insert(r, &young->v[i], call);
		else
			young->v[n++] = young->v[i];
	young->n = n;
}

static void take_in(struct ranges *young, struct ranges *r, const struct range *x, uint64_t call)
{
	if (x->seen <= x->created || x->seen < call)
		insert(r, x, call);
	else if (x->base && make_room(young))
		young->v[young->n++] = *x;
}

static void advance(struct live_allocations *a, uint64_t call)
{
	grow_up(&a->young_device, &a->device, call);
	grow_up(&a->young_host, &a->host, call);
	while (fetch(a) && a->next.created <= call) {
		take_in(&a->young_device, &a->device, &a->next, call);
		take_in(&a->young_host, &a->host, &a->next_host, call);
		a->pending = false;
	}
}

static bool holds(const struct range *r, uint32_t process, uint64_t address)
{
	return r->process == process && address - r->base < (r->bytes ? r->bytes : 1);
}

uint64_t live_allocation_at(struct live_allocations *a, uint32_t process, uint64_t address, bool host,
			    uint64_t call, uint64_t *offset, const char **variable)
{
	struct ranges *r = host ? &a->host : &a->device;
	const struct ranges *young = host ? &a->young_host : &a->young_device;
	size_t i;

	advance(a, call);
	for (i = 0; i < young->n; i++) /* what this very call makes */
		if (young->v[i].created == call && holds(&young->v[i], process, address)) {
			*offset = address - young->v[i].base;
			*variable = young->v[i].variable;
			return young->v[i].id;
		}
	/* A range that has ended may lie between the address and a larger one that lives; a few steps back
	 * suffice. */
	for (i = after(r, process, address); i-- > 0 && r->v[i].process == process;) {
		if (!over(&r->v[i], call) && holds(&r->v[i], process, address)) {
			*offset = address - r->v[i].base;
			*variable = r->v[i].variable;
			return r->v[i].id;
		}
		if (!over(&r->v[i], call))
			break;
	}
	return 0;
}
