/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/scene.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir.h"
#include "ptx/pieces.h"
#include "replay/excerpt.h"
#include "trace/trace.h"

/* ---- memory -------------------------------------------------------------------------------- */

struct scene_heap {
	void **v;
	size_t n;
};

void *scene_keep(const struct scene *s, void *memory)
{
	struct scene_heap *h = s->heap;
	void **grown = memory ? reallocarray(h->v, h->n + 1, sizeof(*grown)) : NULL;

	if (!grown) {
		free(memory);
		return NULL;
	}
	h->v = grown;
	return h->v[h->n++] = memory;
}

void scene_free(struct scene *s)
{
	for (size_t i = 0; s->heap && i < s->heap->n; i++)
		free(s->heap->v[i]);
	if (s->heap)
		free(s->heap->v);
	free(s->heap);
	scene_drop(s);
	memset(s, 0, sizeof(*s));
}

void scene_drop(struct scene *copy)
{
	free(copy->modules);
	free(copy->buffers);
	copy->modules = NULL;
	copy->buffers = NULL;
	copy->nmodules = copy->nbuffers = 0;
}

int scene_copy(struct scene *to, const struct scene *from)
{
	*to = *from;
	to->modules = calloc(from->nmodules + 1, sizeof(*to->modules));
	to->buffers = calloc(from->nbuffers + 1, sizeof(*to->buffers));
	if (!to->modules || !to->buffers) {
		scene_drop(to);
		return CUTRACE_ENOMEM;
	}
	memcpy(to->modules, from->modules, from->nmodules * sizeof(*to->modules));
	memcpy(to->buffers, from->buffers, from->nbuffers * sizeof(*to->buffers));
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct loading {
	struct scene *s;
	struct trace *t;
	struct trace_memory *memory;
	uint64_t *handles; /* of modules, as they are numbered */
	struct diag *d;
};

/* Calls fn for each row. */
static int each_row(struct loading *l, const char *sql, int (*fn)(struct loading *l, sqlite3_stmt *row))
{
	sqlite3_stmt *st = NULL;
	int rc = 0, step = SQLITE_ERROR;

	if (sqlite3_prepare_v2(trace_db(l->t), sql, -1, &st, NULL) == SQLITE_OK)
		while (!rc && (step = sqlite3_step(st)) == SQLITE_ROW)
			rc = fn(l, st);
	if (!rc && step != SQLITE_DONE)
		rc = diag_set(l->d, CUTRACE_ECORRUPT, "", "%s", sqlite3_errmsg(trace_db(l->t)));
	sqlite3_finalize(st);
	return rc;
}

static int out_of_memory(struct loading *l)
{
	return diag_set(l->d, CUTRACE_ENOMEM, "", "out of memory");
}

static const char *keep_text(struct scene *s, const char *text)
{
	return scene_keep(s, strdup(text ? text : ""));
}

static int load_module(struct loading *l, sqlite3_stmt *row)
{
	struct scene *s = l->s;
	struct scene_module *grown = reallocarray(s->modules, s->nmodules + 1, sizeof(*grown));
	uint64_t *handles = reallocarray(l->handles, s->nmodules + 1, sizeof(*handles));
	struct scene_module *m;

	if (grown)
		s->modules = grown;
	if (handles)
		l->handles = handles;
	if (!grown || !handles)
		return out_of_memory(l);
	m = &s->modules[s->nmodules];
	handles[s->nmodules] = (uint64_t)sqlite3_column_int64(row, 0);
	m->ptx = scene_keep(s,
			    trace_buffer_load(l->t, (uint64_t)sqlite3_column_int64(row, 1), &m->bytes, l->d));
	if (!m->ptx)
		return l->d->code ? l->d->code : out_of_memory(l);
	s->nmodules++;
	return 0;
}

/* The name and module of a variable, from the call that asked for it. */
static int load_variable(struct loading *l, struct scene_buffer *b, uint64_t call)
{
	struct trace_call c;
	const char *name;
	size_t n = 1;

	if (trace_call_get(l->t, call, &c) || c.nargs < 4 || trace_memory_load(l->memory, call, 0))
		return diag_set(l->d, CUTRACE_ECORRUPT, "", "a variable's call is not there");
	while ((name = trace_memory_read(l->memory, c.args[3], n)) && name[n - 1] && n < 65536)
		n++;
	b->name = name ? keep_text(l->s, name) : NULL;
	while (b->module < l->s->nmodules && l->handles[b->module] != c.args[2])
		b->module++;
	if (!b->name || b->module == l->s->nmodules)
		return diag_set(l->d, CUTRACE_ECORRUPT, "", "a variable has no name or module");
	return 0;
}

static int load_buffer(struct loading *l, sqlite3_stmt *row)
{
	struct scene *s = l->s;
	struct scene_buffer *grown = reallocarray(s->buffers, s->nbuffers + 1, sizeof(*grown)), *b;

	if (!grown)
		return out_of_memory(l);
	s->buffers = grown;
	b = &grown[s->nbuffers];
	*b = (struct scene_buffer){.base = (uint64_t)sqlite3_column_int64(row, 0),
				   .bytes = (uint64_t)sqlite3_column_int64(row, 1)};
	b->data = scene_keep(s, calloc(1, b->bytes ? b->bytes : 1));
	if (!b->data)
		return out_of_memory(l);
	s->nbuffers++;
	return strcmp((const char *)sqlite3_column_text(row, 2), "global")
		       ? 0
		       : load_variable(l, b, (uint64_t)sqlite3_column_int64(row, 3));
}

static struct scene_buffer *buffer_at(const struct scene *s, uint64_t base, uint64_t bytes)
{
	for (unsigned i = 0; i < s->nbuffers; i++)
		if (s->buffers[i].base == base && s->buffers[i].bytes == bytes)
			return &s->buffers[i];
	return NULL;
}

/* A range that was written, of the buffers that it lies in. */
static int load_written(struct loading *l, uint64_t address, uint64_t bytes, uint64_t buffer)
{
	int rc = 0;

	for (unsigned i = 0; i < l->s->nbuffers && !rc; i++) {
		struct scene_buffer *b = &l->s->buffers[i];
		uint8_t *after = (uint8_t *)(uintptr_t)b->after;

		if (address < b->base || address - b->base > b->bytes ||
		    bytes > b->bytes - (address - b->base))
			continue;
		b->written = true;
		if (!after && !(after = scene_keep(l->s, malloc(b->bytes + 1))))
			return out_of_memory(l);
		if (!b->after)
			memcpy(after, b->data, b->bytes);
		b->after = after;
		rc = trace_buffer_read(l->t, buffer, 0, after + (address - b->base), bytes, l->d);
	}
	return rc;
}

static int load_contents(struct loading *l, sqlite3_stmt *row)
{
	uint64_t address = (uint64_t)sqlite3_column_int64(row, 0),
		 bytes = (uint64_t)sqlite3_column_int64(row, 1);
	struct scene_buffer *b;

	if (!strcmp((const char *)sqlite3_column_text(row, 3), "written"))
		return load_written(l, address, bytes, (uint64_t)sqlite3_column_int64(row, 2));

	b = buffer_at(l->s, address, bytes);
	if (!b)
		return diag_set(l->d, CUTRACE_ECORRUPT, "", "contents of no buffer");
	return trace_buffer_read(l->t, (uint64_t)sqlite3_column_int64(row, 2), 0,
				 (uint8_t *)(uintptr_t)b->data, b->bytes, l->d);
}

static int load_launch(struct loading *l, sqlite3_stmt *row)
{
	struct scene *s = l->s;
	struct trace_launch x;
	const struct trace_kernel *k;
	const void *cluster;

	if (s->kernel || trace_launch_get(l->t, (uint64_t)sqlite3_column_int64(row, 0), &x) ||
	    !(k = trace_kernel(l->t, x.kernel)))
		return diag_set(l->d, CUTRACE_ECORRUPT, "", "not one launch of a known kernel");
	memcpy(s->grid, x.grid, sizeof(s->grid));
	memcpy(s->block, x.block, sizeof(s->block));
	s->shared_bytes = x.shared_bytes;
	s->cooperative = x.cooperative;
	s->kernel = keep_text(s, k->name);
	s->module = (unsigned)sqlite3_column_int64(row, 1);
	if (x.params &&
	    !(s->params = scene_keep(s, trace_buffer_load(l->t, x.params, &s->param_bytes, l->d))))
		return l->d->code;
	if (!trace_memory_load(l->memory, x.call, 0) &&
	    (cluster = trace_memory_read(l->memory, EXCERPT_CLUSTER + 8, sizeof(s->cluster))))
		memcpy(s->cluster, cluster, sizeof(s->cluster));
	return s->kernel ? 0 : out_of_memory(l);
}

static int load_device(struct loading *l, sqlite3_stmt *row)
{
	l->s->device_name = keep_text(l->s, (const char *)sqlite3_column_text(row, 0));
	l->s->cc = (unsigned)sqlite3_column_int(row, 1);
	l->s->device_bytes = (uint64_t)sqlite3_column_int64(row, 2);
	l->s->sm_count = (unsigned)sqlite3_column_int(row, 3);
	return 0;
}

static const struct {
	const char *sql;
	int (*fn)(struct loading *l, sqlite3_stmt *row);
} parts[] = {
	{"SELECT name, cc, bytes, sm_count FROM device", load_device},
	{"SELECT m.handle, i.ptx FROM module m JOIN image i ON i.buffer = m.image ORDER BY m.id",
	 load_module},
	{"SELECT base, bytes, kind, created FROM allocation ORDER BY id", load_buffer},
	{"SELECT device_address, width, buffer, kind FROM payload WHERE kind IN ('h2d', 'written') ORDER BY kind, id",
	 load_contents},
	{"SELECT l.call, (SELECT count(*) FROM module m WHERE m.id < k.module) FROM launch l JOIN kernel k ON k.id = "
	 "l.kernel",
	 load_launch},
};

int scene_load(struct scene *s, const char *path, struct diag *d)
{
	struct loading l = {.s = s, .d = d};
	const char *uuid;
	int rc;

	memset(s, 0, sizeof(*s));
	s->heap = calloc(1, sizeof(*s->heap));
	rc = s->heap ? trace_open(&l.t, path, d) : out_of_memory(&l);
	if (rc) {
		scene_free(s);
		return rc;
	}
	l.memory = trace_memory_new(l.t);
	if (!l.memory)
		rc = out_of_memory(&l);
	for (unsigned i = 0; !rc && i < sizeof(parts) / sizeof(parts[0]); i++)
		rc = each_row(&l, parts[i].sql, parts[i].fn);
	uuid = trace_meta_text(l.t, "excerpt_of");
	s->uuid = rc ? NULL : keep_text(s, uuid);
	if (!rc && (!s->kernel || s->module >= s->nmodules))
		rc = diag_set(d, CUTRACE_ECORRUPT, path, "it has no launch");
	if (rc && !d->where[0])
		snprintf(d->where, sizeof(d->where), "%.*s", (int)sizeof(d->where) - 1, path);
	trace_memory_free(l.memory);
	trace_close(l.t);
	free(l.handles);
	if (rc)
		scene_free(s);
	return rc;
}

/* ---- writing ---------------------------------------------------------------------------------- */

static const char *type_of(const struct ptx_param *p, char *buf, size_t n)
{
	if (p->count > 1)
		snprintf(buf, n, "%s[%u]", ptx_type_name(p->type), p->count);
	else
		snprintf(buf, n, "%s", ptx_type_name(p->type));
	return buf;
}

struct described {
	struct ptx_module *m;
	struct trace_kernel row;
	char (*types)[32];
};

static void describe_free(struct described *k)
{
	free(k->row.params);
	free(k->types);
	if (k->m)
		ptx_module_free(k->m);
}

/* What the trace says of a kernel, of its PTX. */
static int describe(const struct scene *s, struct described *k, struct diag *d)
{
	const struct scene_module *text = &s->modules[s->module];
	struct ptx_func *f;

	memset(k, 0, sizeof(*k));
	k->m = ptx_module_parse(text->ptx, text->bytes, "reduced.ptx", d);
	f = k->m ? ptx_func_find(k->m, s->kernel) : NULL;
	if (!f || !f->is_entry || ptx_func_build(k->m, f) || ptx_func_analyse(k->m, f))
		return diag_set(d, CUTRACE_EFORMAT, s->kernel, "%s",
				f ? f->error.what : "its PTX does not have it");
	k->row = (struct trace_kernel){.name = s->kernel,
				       .has_ptx = true,
				       .param_bytes = f->param_bytes,
				       .line = f->line,
				       .nparams = f->nparams};
	k->row.params = calloc(f->nparams + 1, sizeof(*k->row.params));
	k->types = calloc(f->nparams + 1, sizeof(*k->types));
	if (!k->row.params || !k->types)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	for (uint32_t i = 0; i < f->nparams; i++) {
		const struct ptx_param *p = &f->params[i];
		const struct ptx_access *a = f->access ? &f->access[i] : NULL;

		k->row.params[i] = (struct trace_kernel_param){
			.name = p->name ? p->name : "",
			.type = type_of(p, k->types[i], sizeof(k->types[i])),
			.offset = p->offset,
			.bytes = p->size,
			.is_pointer = a && a->is_pointer,
			.is_read = a && a->is_read,
			.is_written = a && a->is_written,
			.elem_type = a && a->elem_type ? ptx_type_name(a->elem_type) : NULL,
		};
	}
	return 0;
}

bool scene_is_sound(const struct scene *s)
{
	struct diag d = DIAG_INIT;
	struct described k;
	int rc = describe(s, &k, &d);

	describe_free(&k);
	return !rc;
}

static void put_contents(struct excerpt *x, const struct scene_buffer *b, const uint8_t *data)
{
	excerpt_copy_begin(x);
	for (uint64_t at = 0; at < b->bytes; at += TRACE_CHUNK_BYTES)
		excerpt_piece(x, data + at,
			      b->bytes - at < TRACE_CHUNK_BYTES ? (size_t)(b->bytes - at)
								: TRACE_CHUNK_BYTES);
}

static void put_all(struct excerpt *x, const struct scene *s, const struct trace_kernel *row)
{
	struct excerpt_launch l = {.params = s->params, .param_bytes = s->param_bytes};
	unsigned kernel;

	for (unsigned i = 0; i < s->nmodules; i++)
		excerpt_module(x, s->modules[i].ptx, s->modules[i].bytes, "ptx", "ptx", NULL, 0);
	for (unsigned i = 0; i < s->nbuffers; i++) {
		const struct scene_buffer *b = &s->buffers[i];

		if (b->name)
			excerpt_variable(x, b->module, b->name, b->base, b->bytes);
		else
			excerpt_allocate(x, b->base, b->bytes);
		put_contents(x, b, b->data);
		excerpt_copy_end(x, b->base, b->bytes, NULL);
	}
	kernel = excerpt_kernel(x, s->module, row);
	memcpy(l.row.grid, s->grid, sizeof(s->grid));
	memcpy(l.row.block, s->block, sizeof(s->block));
	memcpy(l.cluster, s->cluster, sizeof(s->cluster));
	l.row.shared_bytes = s->shared_bytes;
	l.row.cooperative = s->cooperative;
	excerpt_launch(x, kernel, &l);
	for (unsigned i = 0; i < s->nbuffers; i++) {
		if (!s->buffers[i].written)
			continue;
		put_contents(x, &s->buffers[i],
			     s->buffers[i].after ? s->buffers[i].after : s->buffers[i].data);
		excerpt_written_end(x, s->buffers[i].base, s->buffers[i].bytes);
	}
}

int scene_save(const struct scene *s, const char *path, const char *note, struct diag *d)
{
	const struct trace_device device = {.process = 1,
					    .name = s->device_name,
					    .cc = s->cc,
					    .bytes = s->device_bytes,
					    .sm_count = s->sm_count};
	struct described k;
	struct excerpt *x;
	int rc = describe(s, &k, d);

	if (!rc)
		rc = excerpt_open(&x, path, s->device_name ? &device : NULL, true, d);
	if (!rc) {
		excerpt_meta(x, "excerpt_of", s->uuid);
		if (note)
			excerpt_meta(x, "note", note);
		put_all(x, s, &k.row);
		rc = excerpt_close(x, d);
	}
	describe_free(&k);
	return rc;
}

void scene_measure(const struct scene *s, struct scene_size *out)
{
	struct ptx_pieces p;

	memset(out, 0, sizeof(*out));
	out->blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
	out->threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
	out->buffers = s->nbuffers;
	for (unsigned i = 0; i < s->nbuffers; i++)
		out->bytes += s->buffers[i].bytes;
	for (unsigned i = 0; i < s->nmodules; i++) {
		if (ptx_pieces_cut(s->modules[i].ptx, s->modules[i].bytes, &p))
			continue;
		for (size_t k = 0; k < p.n; k++) {
			out->functions += p.v[k].kind == PTX_PIECE_FUNCTION;
			out->statements += p.v[k].kind == PTX_PIECE_STATEMENT;
		}
		ptx_pieces_free(&p);
	}
}
