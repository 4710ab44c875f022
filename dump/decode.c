/* SPDX-License-Identifier: Apache-2.0
 * A call to a row: its arguments, what surrounds it, its launch, payloads and diagnostics. */
#include "dump/decode.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ----------------------------------------------------------------------- */

/* An out-parameter's scalar is in the call's row; the rest is recorded memory. */
const void *decode_read(void *ctx, uint64_t addr, size_t bytes)
{
	struct decoder *d = ctx;
	unsigned p;

	for (p = 0; d->f && d->phase == API_PHASE_EXIT && p < d->f->nparams && bytes <= 8; p++) {
		int slot = d->args[p] == addr ? api_out_slot(d->f, p) : -1;

		if (slot >= 0 && slot < TRACE_MAX_OUTS && d->call->outs_valid >> slot & 1)
			return &d->call->outs[slot];
	}
	if (trace_memory_load(d->memory[d->phase], d->call->id, d->phase == API_PHASE_EXIT))
		return NULL;
	return trace_memory_read(d->memory[d->phase], addr, bytes);
}

struct api_memory decode_memory(struct decoder *d)
{
	return (struct api_memory){decode_read, d};
}

/* ---- parameters --------------------------------------------------------------------- */

static const struct trace_payload *payload_of(const struct trace_payload *v, unsigned n, unsigned param)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (v[i].param == (int)param && v[i].buffer)
			return &v[i];
	return NULL;
}

static struct value *decode_payload(struct decoder *d, unsigned p)
{
	unsigned n;
	const struct trace_payload *v = trace_payloads(d->t, d->call->id, &n), *mine = payload_of(v, n, p);
	struct value *out;

	if (!mine)
		return decode_host(d, d->args[p]);
	out = decode_value(d, VALUE_PAYLOAD);
	out->u = mine->buffer;
	out->n = (uint64_t)trace_buffer_bytes(d->t, mine->buffer);
	return out;
}

/* An array of pointers, each to a value whose type the selector's element tells. */
static struct value *decode_each(struct decoder *d, unsigned p)
{
	const struct api_poly *poly = &api_polys[d->f->params[p].poly];
	struct api_memory mem = decode_memory(d);
	uint64_t n = api_param_len(d->f, p, d->args, &mem), i, addr;
	struct value *v = decode_value(d, VALUE_LIST), **at = &v->child;
	unsigned c;

	for (i = 0; i < n && i < d->max_elements; i++) {
		const void *pp = decode_read(d, d->args[p] + i * 8, 8);
		const void *sp = decode_read(d, d->args[poly->selector] + i * 4, 4);
		int32_t selector;

		if (!pp || !sp)
			return decode_host(d, d->args[p]);
		memcpy(&addr, pp, sizeof(addr));
		memcpy(&selector, sp, sizeof(selector));
		*at = NULL;
		for (c = 0; c < poly->ncases; c++)
			if (poly->cases[c].value == selector)
				*at = decode_elements(d, &api_types[poly->cases[c].type], addr, 1, false);
		if (!*at)
			*at = decode_host(d, addr);
		at = &(*at)->next;
	}
	v->more = n - i;
	return v;
}

static struct value *decode_pointer(struct decoder *d, unsigned p, enum api_phase phase)
{
	const struct api_param *q = &d->f->params[p];
	const struct api_type *t = api_pointee(d->f, p, d->args);
	struct api_memory mem = decode_memory(d);
	struct value *v;

	d->phase = phase;
	if (!d->args[p])
		return decode_value(d, VALUE_NULL);
	if (q->flags & API_PARAM_POLY_EACH)
		return decode_each(d, p);
	if (!t || t->kind == API_KIND_VOID)
		return decode_host(d, d->args[p]);
	v = decode_elements(d, t, d->args[p], api_param_len(d->f, p, d->args, &mem), q->len >= 0);
	/* What the driver gives as floating point is a time that it measured. */
	if (v->kind == VALUE_REF && t->kind == API_KIND_FLOAT && q->dir == API_OUT)
		v->child->measured = true;
	return v;
}

static bool same(const struct value *a, const struct value *b)
{
	for (; a && b; a = a->next, b = b->next) {
		if (a->kind != b->kind || a->n != b->n || a->u != b->u || !same(a->child, b->child))
			return false;
		if (a->text && b->text && memcmp(a->text, b->text, a->n) != 0)
			return false;
	}
	return !a && !b;
}

static struct value *decode_inout(struct decoder *d, unsigned p)
{
	struct value *before = decode_pointer(d, p, API_PHASE_ENTER), *after, *v;

	if (!d->call->done)
		return before;
	after = decode_pointer(d, p, API_PHASE_EXIT);
	if (before->kind != VALUE_REF || after->kind != VALUE_REF || same(before->child, after->child))
		return after;
	v = decode_value(d, VALUE_CHANGE);
	v->child = before->child;
	v->child->next = after->child;
	return v;
}

static struct value *decode_param(struct decoder *d, unsigned p)
{
	const struct api_param *q = &d->f->params[p];
	const struct api_type *t = &api_types[q->type];
	const void *bytes;

	d->phase = API_PHASE_ENTER;
	d->depth = 0;
	d->creates = q->flags & API_PARAM_CREATES;
	if (q->payload != API_PAYLOAD_NONE)
		return decode_payload(d, p);
	if (t->kind == API_KIND_POINTER && q->dir == API_INOUT)
		return decode_inout(d, p);
	if (t->kind == API_KIND_POINTER && q->dir == API_OUT)
		return d->call->done ? decode_pointer(d, p, API_PHASE_EXIT) : decode_host(d, d->args[p]);
	if (t->kind == API_KIND_POINTER)
		return decode_pointer(d, p, API_PHASE_ENTER);
	if (q->abi != API_ABI_MEMORY)
		return decode_type(d, t, &d->args[p], sizeof(d->args[p]));
	bytes = decode_read(d, d->args[p], t->size);
	return bytes ? decode_type(d, t, bytes, t->size) : decode_value(d, VALUE_UNKNOWN);
}

static void decode_params(struct decoder *d, struct row *r)
{
	struct value **at = &r->args;
	unsigned p;
	const struct api_type *t;

	for (p = 0; p < d->f->nparams && p < TRACE_MAX_ARGS; p++) {
		*at = decode_param(d, p);
		t = &api_types[d->f->params[p].type];
		if (d->f->params[p].flags & API_PARAM_DESTROYS && t->kind == API_KIND_HANDLE &&
		    d->call->done && !d->call->result)
			handle_destroyed(d->handles, t->def, d->process, d->args[p]);
		(*at)->name = d->f->params[p].name;
		at = &(*at)->next;
	}
}

#define MAX_RESULT 999 /* CUDA_ERROR_UNKNOWN, the largest code */

/* A function that this build does not know: the words as they were. */
static void raw_params(struct decoder *d, struct row *r)
{
	struct value **at = &r->args;
	unsigned p;

	for (p = 0; p < d->call->nargs; p++) {
		*at = decode_value(d, VALUE_RAW);
		(*at)->u = d->call->args[p];
		at = &(*at)->next;
	}
	r->result = decode_value(d, VALUE_INT);
	r->result->i = d->call->result;
	/* not known to be a result code: it may be half a pointer */
	r->result->measured = d->call->result < 0 || d->call->result > MAX_RESULT;
}

/* ---- around the call --------------------------------------------------------------- */

static struct ancestry *ancestry_of(struct decoder *d, uint32_t thread)
{
	struct ancestry *p;
	unsigned i;

	for (i = 0; i < d->nthreads; i++)
		if (d->threads[i].thread == thread)
			return &d->threads[i];
	if (d->nthreads == d->threads_capacity) {
		unsigned more = d->threads_capacity ? d->threads_capacity * 2 : 16;

		p = reallocarray(d->threads, more, sizeof(*p));
		if (!p)
			return NULL;
		d->threads = p;
		d->threads_capacity = more;
	}
	p = &d->threads[d->nthreads++];
	memset(p, 0, sizeof(*p));
	p->thread = thread;
	return p;
}

/* How many calls surround this one. Calls that were not decoded (a range, a filter) don't count. */
static unsigned nesting(struct decoder *d, const struct trace_call *c)
{
	struct ancestry *a = ancestry_of(d, c->thread);
	unsigned depth;

	if (!a)
		return 0;
	while (a->n && a->ids[a->n - 1] != c->parent)
		a->n--;
	depth = a->n;
	if (a->n == a->capacity) {
		unsigned more = a->capacity ? a->capacity * 2 : 8;
		uint64_t *p = reallocarray(a->ids, more, sizeof(*p));

		if (!p)
			return depth;
		a->ids = p;
		a->capacity = more;
	}
	a->ids[a->n++] = c->id;
	return depth;
}

static void decode_payloads(struct decoder *d, struct row *r)
{
	unsigned n, i;
	const struct trace_payload *v = trace_payloads(d->t, d->call->id, &n);

	r->payloads = n ? arena_array(&d->arena, n, sizeof(*r->payloads)) : NULL;
	if (!r->payloads)
		return;
	for (i = 0; i < n; i++) {
		struct row_payload *p;

		if (strcmp(v[i].kind, "params") == 0)
			continue; /* shown as the launch's arguments */
		p = &r->payloads[r->npayloads++];
		p->kind = arena_strdup(&d->arena, v[i].kind);
		p->note = v[i].note ? arena_strdup(&d->arena, v[i].note) : NULL;
		p->param = v[i].param;
		p->buffer = v[i].buffer;
		p->bytes = v[i].buffer ? (uint64_t)trace_buffer_bytes(d->t, v[i].buffer) : 0;
		p->width = v[i].width;
		p->height = v[i].height;
		p->depth = v[i].depth;
		p->shown = v[i].param >= 0 && payload_of(v, n, (unsigned)v[i].param) == &v[i] && !v[i].note;
		p->device = v[i].device_address ? decode_device(d, v[i].device_address) : NULL;
		if (!p->kind)
			p->kind = "?";
	}
}

/* Diagnostics that belong to calls, walked along with the calls. */
struct diagnostic_cursor {
	sqlite3_stmt *s;
	bool row; /* the statement stands on one */
};

static struct diagnostic_cursor *diagnostics_open(struct trace *t)
{
	struct diagnostic_cursor *c = calloc(1, sizeof(*c));

	if (c &&
	    sqlite3_prepare_v2(trace_db(t),
			       "SELECT call,severity,source,message FROM diagnostic WHERE call IS NOT NULL "
			       "ORDER BY call,id",
			       -1, &c->s, NULL) == SQLITE_OK)
		c->row = sqlite3_step(c->s) == SQLITE_ROW;
	return c;
}

static const char *column(struct decoder *d, sqlite3_stmt *s, int i)
{
	const char *text = (const char *)sqlite3_column_text(s, i);

	text = text ? arena_strdup(&d->arena, text) : NULL;
	return text ? text : "";
}

static void decode_diagnostics(struct decoder *d, struct row *r)
{
	struct diagnostic_cursor *c = d->diagnostics;
	struct row_diagnostic *v;

	while (c->row && (uint64_t)sqlite3_column_int64(c->s, 0) < d->call->id)
		c->row = sqlite3_step(c->s) == SQLITE_ROW;
	while (c->row && (uint64_t)sqlite3_column_int64(c->s, 0) == d->call->id) {
		v = arena_array(&d->arena, r->ndiagnostics + 1, sizeof(*v));
		if (!v)
			return;
		if (r->ndiagnostics)
			memcpy(v, r->diagnostics, r->ndiagnostics * sizeof(*v));
		v[r->ndiagnostics++] =
			(struct row_diagnostic){column(d, c->s, 1), column(d, c->s, 2), column(d, c->s, 3)};
		r->diagnostics = v;
		c->row = sqlite3_step(c->s) == SQLITE_ROW;
	}
}

const struct row *decode_call(struct decoder *d, const struct trace_call *c)
{
	const struct trace_function *f = trace_function(d->t, c->func);
	const struct trace_thread *th = trace_thread(d->t, c->thread);
	struct row *r = &d->row;

	arena_free(&d->arena);
	memset(r, 0, sizeof(*r));
	r->call = *c;
	r->function = f ? f->name : "?";
	r->process = th ? th->process : 0;
	d->call = &r->call;
	d->process = r->process;
	d->f = f && f->known ? api_func_find(f->name) : NULL;
	memset(d->args, 0, sizeof(d->args));
	memcpy(d->args, c->args, c->nargs * sizeof(c->args[0]));
	r->depth = nesting(d, c);
	if (d->f) {
		decode_params(d, r);
		d->creates = false;
		r->result = decode_type(d, &api_types[d->f->ret], &r->call.result, sizeof(r->call.result));
	} else {
		raw_params(d, r);
	}
	d->creates = false;
	decode_launch(d, r);
	decode_payloads(d, r);
	decode_diagnostics(d, r);
	return r;
}

struct decoder *decoder_new(struct trace *t, unsigned max_elements)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->t = t;
	d->max_elements = max_elements;
	d->handles = handle_names_new(t);
	d->allocations = live_allocations_new(t);
	d->memory[0] = trace_memory_new(t);
	d->memory[1] = trace_memory_new(t);
	d->diagnostics = diagnostics_open(t);
	if (d->handles && d->allocations && d->memory[0] && d->memory[1] && d->diagnostics)
		return d;
	decoder_free(d);
	return NULL;
}

void decoder_free(struct decoder *d)
{
	unsigned i;

	if (!d)
		return;
	for (i = 0; i < d->nthreads; i++)
		free(d->threads[i].ids);
	free(d->threads);
	if (d->diagnostics)
		sqlite3_finalize(d->diagnostics->s);
	free(d->diagnostics);
	trace_memory_free(d->memory[0]);
	trace_memory_free(d->memory[1]);
	live_allocations_free(d->allocations);
	handle_names_free(d->handles);
	arena_free(&d->arena);
	free(d);
}
