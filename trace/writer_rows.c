/* SPDX-License-Identifier: Apache-2.0
 * Rows of the small tables: each function is its table's columns in order. */
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include "trace/internal.h"

int trace_writer_meta_text(struct trace_writer *w, const char *key, const char *value)
{
	return writer_row(w, W_META, "tt", key, value);
}

int trace_writer_meta_int(struct trace_writer *w, const char *key, int64_t value)
{
	return writer_row(w, W_META, "ti", key, value);
}

/* Slot of a name in the open-addressing table. */
static struct interned *intern_slot(struct interned *table, unsigned capacity, const char *name)
{
	unsigned i = (unsigned)XXH3_64bits(name, strlen(name)) & (capacity - 1);

	while (table[i].name && strcmp(table[i].name, name) != 0)
		i = (i + 1) & (capacity - 1);
	return &table[i];
}

static int intern_grow(struct trace_writer *w)
{
	unsigned capacity = w->functions_capacity ? w->functions_capacity * 2 : 1024, i;
	struct interned *table = calloc(capacity, sizeof(*table));

	if (!table)
		return writer_set(w, CUTRACE_ENOMEM, "out of memory for functions");
	for (i = 0; i < w->functions_capacity; i++)
		if (w->functions[i].name)
			*intern_slot(table, capacity, w->functions[i].name) = w->functions[i];
	free(w->functions);
	w->functions = table;
	w->functions_capacity = capacity;
	return 0;
}

uint32_t trace_writer_function(struct trace_writer *w, const char *name, const char *library, bool known,
			       unsigned nparams, const char *signature)
{
	struct interned *f;

	if (w->nfunctions * 2 >= w->functions_capacity && intern_grow(w))
		return 0;
	f = intern_slot(w->functions, w->functions_capacity, name);
	if (f->name)
		return f->id;
	f->name = strdup(name);
	if (!f->name) {
		writer_set(w, CUTRACE_ENOMEM, "out of memory for functions");
		return 0;
	}
	f->id = ++w->nfunctions;
	writer_row(w, W_FUNCTION, "uttiit", (uint64_t)f->id, name, library, (int64_t)known, (int64_t)nparams,
		   signature);
	return f->id;
}

int trace_writer_process(struct trace_writer *w, const struct trace_process *p)
{
	bool ended = p->end_kind != NULL;

	return writer_row(w, W_PROCESS, ended ? "uiztttiiti" : "uiztttiztz", (uint64_t)p->id, p->pid,
			  (uint64_t)p->parent, p->exe, p->argv_json, p->cwd, p->t_start, ended ? p->t_end : 0,
			  p->end_kind, ended ? p->end_code : 0);
}

int trace_writer_thread(struct trace_writer *w, const struct trace_thread *t)
{
	return writer_row(w, W_THREAD, "uuitiz", (uint64_t)t->id, (uint64_t)t->process, t->tid, t->name,
			  t->t_start, (uint64_t)t->t_end);
}

int trace_writer_payload(struct trace_writer *w, const struct trace_payload *p)
{
	return writer_row(w, W_PAYLOAD, "uitzzuuuzt", p->call, (int64_t)p->param, p->kind, p->address,
			  p->device_address, p->width, p->height, p->depth, p->buffer, p->note);
}

int trace_writer_allocation(struct trace_writer *w, struct trace_allocation *a)
{
	if (a->id)
		return writer_row(w, W_ALLOCATION_END, "zu", a->destroyed, a->id);
	if (writer_row(w, W_ALLOCATION, "uuutzzz", (uint64_t)a->process, a->base, a->bytes, a->kind,
		       a->host_address, a->created, a->destroyed))
		return w->error.code;
	a->id = (uint64_t)sqlite3_last_insert_rowid(w->db);
	return 0;
}

int trace_writer_module(struct trace_writer *w, struct trace_module *m)
{
	if (m->id)
		return writer_row(w, W_MODULE_END, "zu", m->destroyed, m->id);
	if (writer_row(w, W_MODULE, "uuizzzz", (uint64_t)m->process, m->handle, (int64_t)m->is_library,
		       m->parent, m->image, m->created, m->destroyed))
		return w->error.code;
	m->id = (uint64_t)sqlite3_last_insert_rowid(w->db);
	return 0;
}

int trace_writer_image(struct trace_writer *w, const struct trace_image *i)
{
	return writer_row(w, W_IMAGE, "utzt", i->buffer, i->kind, i->ptx, i->archs);
}

int trace_writer_kernel(struct trace_writer *w, struct trace_kernel *k)
{
	unsigned i;

	if (writer_row(w, W_KERNEL, "ztiuz", k->module, k->name, (int64_t)k->has_ptx,
		       (uint64_t)k->param_bytes, (uint64_t)k->line))
		return w->error.code;
	k->id = (uint64_t)sqlite3_last_insert_rowid(w->db);
	for (i = 0; i < k->nparams && !w->error.code; i++) {
		const struct trace_kernel_param *p = &k->params[i];

		writer_row(w, W_KERNEL_PARAM, "uittuuiiit", k->id, (int64_t)i, p->name, p->type,
			   (uint64_t)p->offset, (uint64_t)p->bytes, (int64_t)p->is_pointer,
			   (int64_t)p->is_read, (int64_t)p->is_written, p->elem_type);
	}
	return w->error.code;
}

int trace_writer_kernel_handle(struct trace_writer *w, uint32_t process, uint64_t handle, uint64_t kernel,
			       uint64_t created)
{
	return writer_row(w, W_KERNEL_HANDLE, "uuzz", (uint64_t)process, handle, kernel, created);
}

int trace_writer_launch(struct trace_writer *w, const struct trace_launch *l)
{
	return writer_row(w, W_LAUNCH, "uzuiiiiiiiiz", l->call, l->kernel, l->stream, (int64_t)l->grid[0],
			  (int64_t)l->grid[1], (int64_t)l->grid[2], (int64_t)l->block[0],
			  (int64_t)l->block[1], (int64_t)l->block[2], (int64_t)l->shared_bytes,
			  (int64_t)l->cooperative, l->params);
}

int trace_writer_launch_hash(struct trace_writer *w, const struct trace_launch_hash *h)
{
	return writer_row(w, W_LAUNCH_HASH, "uuub", h->launch, h->base, h->bytes, h->hash.b,
			  sizeof(h->hash.b));
}

int trace_writer_launch_sketch(struct trace_writer *w, const struct trace_launch_sketch *row)
{
	const struct sketch *s = &row->sketch;
	bool any = s->least <= s->greatest;

	return writer_row(w, W_LAUNCH_SKETCH, row->has_hash ? "uuubtuuuurrrrubb" : "uuuntuuuurrrrubb",
			  row->launch, row->base, s->bytes, row->hash.b, sizeof(row->hash.b),
			  sketch_type_name(s->type), s->elements, s->nan, s->infinite, s->zero,
			  any ? s->least : NAN, any ? s->greatest : NAN, s->sum, s->magnitude, s->block_bytes,
			  s->blocks, s->nblocks * sizeof(s->blocks[0]), s->samples,
			  s->nsamples * sizeof(s->samples[0]));
}

int trace_writer_image_run(struct trace_writer *w, uint64_t image, uint32_t process, const char *what)
{
	return writer_row(w, W_IMAGE_RUN, "uut", image, (uint64_t)process, what);
}

int trace_writer_context(struct trace_writer *w, uint32_t process, uint64_t handle, int device, bool primary,
			 uint64_t created, uint64_t destroyed)
{
	if (destroyed) {
		writer_row(w, W_CONTEXT_END, "uuu", destroyed, (uint64_t)process, handle);
		if (w->error.code || sqlite3_changes(w->db))
			return w->error.code;
	}
	return writer_row(w, W_CONTEXT, "uuiizz", (uint64_t)process, handle, (int64_t)device,
			  (int64_t)primary, created, destroyed);
}

int trace_writer_device(struct trace_writer *w, const struct trace_device *d)
{
	return writer_row(w, W_DEVICE, "uutuuub", (uint64_t)d->process, (uint64_t)d->ordinal, d->name,
			  (uint64_t)d->cc, d->bytes, (uint64_t)d->sm_count, d->uuid, sizeof(d->uuid));
}

int trace_writer_stream(struct trace_writer *w, uint32_t process, uint64_t handle, uint64_t context,
			uint32_t flags, int priority, uint64_t created, uint64_t destroyed)
{
	if (destroyed) {
		writer_row(w, W_STREAM_END, "uuu", destroyed, (uint64_t)process, handle);
		if (w->error.code || sqlite3_changes(w->db))
			return w->error.code;
	}
	return writer_row(w, W_STREAM, "uuzuizz", (uint64_t)process, handle, context, (uint64_t)flags,
			  (int64_t)priority, created, destroyed);
}

int trace_writer_host_write(struct trace_writer *w, uint64_t call, uint64_t address, uint64_t bytes,
			    uint64_t buffer)
{
	return writer_row(w, W_HOST_WRITE, "uuuz", call, address, bytes, buffer);
}

int trace_writer_diagnostic(struct trace_writer *w, int64_t t, uint32_t process, uint64_t call,
			    const char *severity, const char *source, const char *message)
{
	return writer_row(w, W_DIAGNOSTIC, "izzttt", t, (uint64_t)process, call, severity, source, message);
}

int trace_writer_overhead(struct trace_writer *w, uint32_t process, const char *what, uint64_t count,
			  uint64_t bytes, uint64_t ns)
{
	return writer_row(w, W_OVERHEAD, "ztuuu", (uint64_t)process, what, count, bytes, ns);
}
