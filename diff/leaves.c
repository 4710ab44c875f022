/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/leaves.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

/* ---- names ------------------------------------------------------------------------ */

enum { ALLOCATIONS = 0xffff }; /* a kind beside those of handles */

/* Object `number` of a kind in its trace: the ordinal-th of the kind that the role saw first. A slot with number 0
 * counts instead: ordinal objects of the kind have been seen first by the role. */
struct named {
	uint64_t number, ordinal;
	uint32_t kind, role;
	bool used;
};

struct object_names {
	struct named *slots; /* open addressing */
	size_t count, capacity;
	struct trace *trace;
	bool hashes;
	sqlite3_stmt *content; /* hash of a buffer */
};

struct object_names *object_names_new(struct trace *t, bool hashes)
{
	struct object_names *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->trace = t;
	o->hashes = hashes;
	o->capacity = 1024;
	o->slots = calloc(o->capacity, sizeof(*o->slots));
	if (o->slots && sqlite3_prepare_v2(trace_db(t), "SELECT hash FROM buffer WHERE id=?", -1, &o->content,
					   NULL) == SQLITE_OK)
		return o;
	object_names_free(o);
	return NULL;
}

void object_names_free(struct object_names *o)
{
	if (!o)
		return;
	sqlite3_finalize(o->content);
	free(o->slots);
	free(o);
}

static struct named *find(struct named *slots, size_t capacity, uint32_t kind, uint32_t role, uint64_t number)
{
	uint64_t x = (number + ((uint64_t)kind << 40) + ((uint64_t)role << 56)) * 0x9e3779b97f4a7c15u;
	size_t i = (size_t)(x >> 20) & (capacity - 1);

	while (slots[i].used &&
	       (slots[i].number != number || slots[i].kind != kind || (!number && slots[i].role != role)))
		i = (i + 1) & (capacity - 1);
	return &slots[i];
}

static bool grow(struct object_names *o)
{
	size_t capacity = o->capacity * 2;
	struct named *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return o->count + 2 < o->capacity;
	for (size_t i = 0; i < o->capacity; i++)
		if (o->slots[i].used)
			*find(slots, capacity, o->slots[i].kind, o->slots[i].number ? 0 : o->slots[i].role,
			      o->slots[i].number) = o->slots[i];
	free(o->slots);
	o->slots = slots;
	o->capacity = capacity;
	return true;
}

static struct named *counter_of(struct object_names *o, uint32_t kind, uint32_t role)
{
	struct named *n = find(o->slots, o->capacity, kind, role, 0);

	if (!n->used) {
		*n = (struct named){0, 0, kind, role, true};
		o->count++;
	}
	return n;
}

/* The object's name; NULL when memory ran out. */
static const struct named *name_of(struct object_names *o, uint32_t kind, uint64_t number, uint32_t role)
{
	struct named *n;

	if (o->count + 2 >= o->capacity / 2 && !grow(o))
		return NULL;
	n = find(o->slots, o->capacity, kind, 0, number);
	if (n->used)
		return n;
	uint64_t ordinal = ++counter_of(o, kind, role)->ordinal;
	n = find(o->slots, o->capacity, kind, 0, number);
	*n = (struct named){number, ordinal, kind, role, true};
	o->count++;
	return n;
}

/* ---- leaves ------------------------------------------------------------------------- */

struct walk {
	struct leaves *l;
	struct object_names *names;
	uint32_t role;
	char path[256];
	size_t at;
};

/* A leaf at the path, with this text. */
static bool append(struct walk *w, const char *text)
{
	struct leaves *l = w->l;
	struct leaf leaf;

	if (l->n == l->capacity) {
		unsigned more = l->capacity ? l->capacity * 2 : 32;
		struct leaf *v = reallocarray(l->v, more, sizeof(*v));

		if (!v)
			return false;
		l->v = v;
		l->capacity = more;
	}
	leaf.path = arena_strndup(&l->arena, w->path, w->at);
	leaf.text = arena_strdup(&l->arena, text);
	if (!leaf.path || !leaf.text)
		return false;
	l->v[l->n++] = leaf;
	return true;
}

static void add(struct walk *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct walk *w, const char *fmt, ...)
{
	char text[256], *whole = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(text)) {
		va_start(ap, fmt);
		if (vasprintf(&whole, fmt, ap) < 0) {
			whole = NULL;
			w->l->failed = true;
		}
		va_end(ap);
	}
	w->l->failed |= !append(w, whole ? whole : text);
	free(whole);
}

/* Appends to the path; the old length, to cut it again. */
static size_t enter(struct walk *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static size_t enter(struct walk *w, const char *fmt, ...)
{
	size_t before = w->at, room = sizeof(w->path) - w->at;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(w->path + w->at, room, fmt, ap);
	va_end(ap);
	w->at += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
	return before;
}

static void add_object(struct walk *w, const char *type, uint32_t kind, uint64_t number, const char *after)
{
	const struct named *n = name_of(w->names, kind, number, w->role);

	if (!n)
		w->l->failed = true;
	else if (n->role)
		add(w, "%s#%u.%" PRIu64 "%s", type, n->role, n->ordinal, after);
	else
		add(w, "%s#%" PRIu64 "%s", type, n->ordinal, after);
}

/* Kinds of handles by the text of their type: two traces may come from two versions of the tables. */
static uint32_t kind_of(const char *type)
{
	uint32_t h = 2166136261u;

	for (; *type; type++)
		h = (h ^ (uint8_t)*type) * 16777619u;
	return h % ALLOCATIONS;
}

static void add_handle(struct walk *w, const struct value *v)
{
	if (v->text)
		add(w, "%s<%s>", v->type, v->text);
	else if (!v->u)
		add(w, "%s 0", v->type);
	else if (v->number)
		add_object(w, v->type, kind_of(v->type), v->number, "");
	else
		add(w, "%s 0x%" PRIx64, v->type, v->u);
}

static void add_address(struct walk *w, const struct value *v, const char *unknown)
{
	char offset[32] = "";

	if (!v->u)
		add(w, "NULL");
	else if (!v->allocation)
		add(w, "%s", unknown);
	else if (v->variable)
		add(w, "%s+0x%" PRIx64, v->variable, v->offset);
	else {
		if (v->offset)
			snprintf(offset, sizeof(offset), "+0x%" PRIx64, v->offset);
		add_object(w, "alloc", ALLOCATIONS, v->allocation, offset);
	}
}

/* The first half of a 128-bit hash. */
static void add_hash(struct walk *w, uint64_t bytes, const uint8_t *h)
{
	add(w, "%" PRIu64 " bytes, XXH3 %02x%02x%02x%02x%02x%02x%02x%02x", bytes, h[0], h[1], h[2], h[3],
	    h[4], h[5], h[6], h[7]);
}

static void add_content(struct walk *w, uint64_t buffer, uint64_t bytes)
{
	sqlite3_stmt *s = w->names->content;

	sqlite3_bind_int64(s, 1, (int64_t)buffer);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_bytes(s, 0) == 16)
		add_hash(w, bytes, sqlite3_column_blob(s, 0));
	else
		add(w, "%" PRIu64 " bytes, not in the trace", bytes);
	sqlite3_reset(s);
}

static void add_bytes(struct walk *w, const struct value *v)
{
	struct trace_hash h = trace_hash_bytes(v->text, v->n);

	if (v->n <= 8 && !v->more) {
		uint64_t u = 0;
		memcpy(&u, v->text, v->n);
		add(w, "0x%0*" PRIx64, (int)v->n * 2, u);
	} else {
		add_hash(w, v->n + v->more, h.b);
	}
}

static void add_float(struct walk *w, const struct value *v)
{
	char text[40];

	if (v->kind == VALUE_F32)
		format_f32((float)v->f, text, sizeof(text));
	else
		format_f64(v->f, text, sizeof(text));
	add(w, "%s", text);
}

static void add_value(struct walk *w, const struct value *v);

static void add_children(struct walk *w, const struct value *v)
{
	unsigned k = 0;

	for (const struct value *c = v->child; c; c = c->next, k++) {
		size_t before = v->kind == VALUE_STRUCT && c->name ? enter(w, ".%s", c->name)
				: v->kind == VALUE_LIST            ? enter(w, "[%u]", k)
				: v->kind == VALUE_CHANGE && k     ? enter(w, " after")
								   : w->at;
		add_value(w, c);
		w->at = before;
	}
	if (v->more)
		add(w, "%" PRIu64 " more", v->more);
}

static void add_value(struct walk *w, const struct value *v)
{
	if (v->measured)
		return;
	switch (v->kind) {
	case VALUE_UNKNOWN: add(w, "not recorded"); break;
	case VALUE_NULL: add(w, "NULL"); break;
	case VALUE_INT: add(w, "%" PRId64, v->i); break;
	case VALUE_UINT: add(w, "%" PRIu64, v->u); break;
	case VALUE_RAW: add(w, "0x%" PRIx64, v->u); break;
	case VALUE_F32:
	case VALUE_F64: add_float(w, v); break;
	case VALUE_STRING: add(w, "\"%.*s\"", (int)(v->n < 4096 ? v->n : 4096), v->text); break;
	case VALUE_SYMBOL: add(w, "%s", v->text); break;
	case VALUE_HANDLE: add_handle(w, v); break;
	case VALUE_DEVICE: add_address(w, v, "device"); break;
	case VALUE_HOST: add_address(w, v, "host"); break;
	case VALUE_BYTES: add_bytes(w, v); break;
	case VALUE_LIST:
	case VALUE_STRUCT:
	case VALUE_REF:
	case VALUE_CHANGE: add_children(w, v); break;
	case VALUE_PAYLOAD: add_content(w, v->u, v->n); break;
	}
}

static void add_named(struct walk *w, const char *prefix, const struct value *v)
{
	for (; v; v = v->next) {
		size_t before = enter(w, "%s%s", prefix, v->name ? v->name : "?");

		add_value(w, v);
		w->at = before;
	}
}

/* A launch passes the same arguments by `kernelParams` or `extra`; what they are follows by their own names. */
static void add_args(struct walk *w, const struct row *r)
{
	for (const struct value *v = r->args; v; v = v->next) {
		struct value one = *v;

		if (r->launch.call && r->kernel_args_known && v->name &&
		    (!strcmp(v->name, "kernelParams") || !strcmp(v->name, "extra")))
			continue;
		one.next = NULL;
		add_named(w, "", &one);
	}
}

static void add_launch(struct walk *w, const struct row *r)
{
	const struct trace_launch *l = &r->launch;
	size_t before = enter(w, "kernel");

	add(w, "%s", r->kernel ? r->kernel : "?");
	w->at = before;
	before = enter(w, "grid");
	add(w, "%ux%ux%u blocks of %ux%ux%u", l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
	    l->block[2]);
	w->at = before;
	if (!r->kernel_args_known) {
		before = enter(w, "arguments");
		add(w, "not recorded");
		w->at = before;
	}
	add_named(w, "argument ", r->kernel_args);
}

/* What a launch left in the allocations that it may have written: `record --check`. */
static void add_hashes(struct walk *w, const struct row *r)
{
	unsigned n;
	const struct trace_launch_hash *h = trace_launch_hashes(w->names->trace, r->launch.call, &n);
	size_t before = enter(w, "written");

	for (unsigned i = 0; i < n; i++)
		add_hash(w, h[i].bytes, h[i].hash.b);
	w->at = before;
}

static void add_payloads(struct walk *w, const struct row *r)
{
	for (unsigned i = 0; i < r->npayloads; i++) {
		const struct row_payload *p = &r->payloads[i];

		if (!strcmp(p->kind, "written"))
			continue; /* its hash is there, too */
		size_t before = enter(w, "%s", p->kind);

		if (!p->shown && p->buffer)
			add_content(w, p->buffer, p->bytes);
		else if (!p->buffer)
			add(w, "%s", p->note ? p->note : "not recorded");
		w->at = before;
	}
}

void leaves_of(struct leaves *l, struct object_names *names, const struct row *r, unsigned role)
{
	struct walk w = {.l = l, .names = names, .role = role};
	size_t before;

	arena_free(&l->arena);
	l->n = 0;
	l->failed = false;
	if (r->args && r->args->name) /* else raw registers of an unknown function: they hold anything */
		add_args(&w, r);
	before = enter(&w, "result");
	if (!r->call.done)
		add(&w, "in flight");
	else if (r->result)
		add_value(&w, r->result);
	w.at = before;
	if (r->launch.call) {
		add_launch(&w, r);
		if (names->hashes)
			add_hashes(&w, r);
	}
	add_payloads(&w, r);
}

void leaves_free(struct leaves *l)
{
	arena_free(&l->arena);
	free(l->v);
	memset(l, 0, sizeof(*l));
}

uint64_t leaves_hash(const struct leaves *l)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (unsigned i = 0; i < l->n; i++)
		for (unsigned k = 0; k < 2; k++) {
			const char *s = k ? l->v[i].text : l->v[i].path;
			do
				h = (h ^ (uint8_t)*s) * 1099511628211u;
			while (*s++);
		}
	return h;
}
