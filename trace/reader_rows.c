/* SPDX-License-Identifier: Apache-2.0
 * Rows of the small tables, read once and kept, or by call. */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

/* ---- loaded when the trace is opened ------------------------------------ */

/* Reads all rows of a query into an array in the arena. */
typedef void row_fn(struct trace *t, sqlite3_stmt *s, void *row);

static int load(struct trace *t, const char *table, const char *sql, size_t row_bytes, row_fn *fn,
		void **rows, unsigned *n, struct diag *d)
{
	char count[64];
	sqlite3_stmt *s;
	int64_t expected;
	int rc;

	snprintf(count, sizeof(count), "SELECT count(*) FROM %s", table);
	rc = db_int(t->db, t->path, d, count, 0, &expected);
	if (rc)
		return rc;
	*rows = arena_array(&t->arena, (size_t)expected + 1, row_bytes);
	if (!*rows)
		return diag_set(d, CUTRACE_ENOMEM, t->path, "out of memory");
	if (sqlite3_prepare_v2(t->db, sql, -1, &s, NULL) != SQLITE_OK)
		return reader_fail(t, d, "this is no whole trace");
	*n = 0;
	while ((rc = sqlite3_step(s)) == SQLITE_ROW && *n < expected)
		fn(t, s, (char *)*rows + (*n)++ * row_bytes);
	sqlite3_finalize(s);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : reader_fail(t, d, "cannot read");
}

static const char *text(struct trace *t, sqlite3_stmt *s, int column)
{
	return reader_text(&t->arena, s, column);
}

static const char *text_or_empty(struct trace *t, sqlite3_stmt *s, int column)
{
	const char *v = reader_text(&t->arena, s, column);

	return v ? v : "";
}

static uint64_t u64(sqlite3_stmt *s, int column)
{
	return (uint64_t)sqlite3_column_int64(s, column);
}

static void function_row(struct trace *t, sqlite3_stmt *s, void *row)
{
	struct trace_function *f = row;

	f->id = (uint32_t)u64(s, 0);
	f->name = text_or_empty(t, s, 1);
	f->library = text_or_empty(t, s, 2);
	f->known = u64(s, 3) != 0;
	f->nparams = (unsigned)u64(s, 4);
	f->signature = text(t, s, 5);
}

static void process_row(struct trace *t, sqlite3_stmt *s, void *row)
{
	struct trace_process *p = row;

	p->id = (uint32_t)u64(s, 0);
	p->pid = sqlite3_column_int64(s, 1);
	p->parent = (uint32_t)u64(s, 2);
	p->exe = text(t, s, 3);
	p->argv_json = text(t, s, 4);
	p->cwd = text(t, s, 5);
	p->t_start = sqlite3_column_int64(s, 6);
	p->t_end = sqlite3_column_int64(s, 7);
	p->end_kind = text(t, s, 8);
	p->end_code = sqlite3_column_int64(s, 9);
}

static void thread_row(struct trace *t, sqlite3_stmt *s, void *row)
{
	struct trace_thread *th = row;

	th->id = (uint32_t)u64(s, 0);
	th->process = (uint32_t)u64(s, 1);
	th->tid = sqlite3_column_int64(s, 2);
	th->name = text(t, s, 3);
	th->t_start = sqlite3_column_int64(s, 4);
	th->t_end = sqlite3_column_int64(s, 5);
}

int reader_load_tables(struct trace *t, struct diag *d)
{
	int rc;

	rc = load(t, "function", "SELECT id,name,library,known,nparams,signature FROM function ORDER BY id",
		  sizeof(*t->functions), function_row, (void **)&t->functions, &t->nfunctions, d);
	if (!rc)
		rc = load(t, "process",
			  "SELECT id,pid,parent,exe,argv,cwd,t_start,t_end,end_kind,end_code FROM process "
			  "ORDER BY id",
			  sizeof(*t->processes), process_row, (void **)&t->processes, &t->nprocesses, d);
	if (!rc)
		rc = load(t, "thread", "SELECT id,process,tid,name,t_start,t_end FROM thread ORDER BY id",
			  sizeof(*t->threads), thread_row, (void **)&t->threads, &t->nthreads, d);
	return rc;
}

/* All three begin with a uint32_t id and are in order of it. */
static const void *by_id(const void *rows, unsigned n, size_t row_bytes, uint32_t id)
{
	unsigned low = 0, high = n;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;
		const char *row = (const char *)rows + mid * row_bytes;
		uint32_t have;

		memcpy(&have, row, sizeof(have));
		if (have == id)
			return row;
		if (have < id)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

const struct trace_function *trace_function(struct trace *t, uint32_t id)
{
	return by_id(t->functions, t->nfunctions, sizeof(*t->functions), id);
}

const struct trace_process *trace_processes(struct trace *t, unsigned *n)
{
	*n = t->nprocesses;
	return t->processes;
}

const struct trace_thread *trace_threads(struct trace *t, unsigned *n)
{
	*n = t->nthreads;
	return t->threads;
}

const struct trace_thread *trace_thread(struct trace *t, uint32_t id)
{
	return by_id(t->threads, t->nthreads, sizeof(*t->threads), id);
}

/* ---- meta ---------------------------------------------------------------- */

const char *trace_meta_text(struct trace *t, const char *key)
{
	sqlite3_stmt *s = reader_stmt(t, R_META);
	const char *v = NULL;
	struct meta_text *m;

	for (m = t->meta; m; m = m->next)
		if (strcmp(m->key, key) == 0)
			return m->value;
	if (!s)
		return NULL;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		v = text(t, s, 0);
	sqlite3_reset(s);
	m = v ? arena_zalloc(&t->arena, sizeof(*m)) : NULL;
	if (m) {
		m->key = arena_strdup(&t->arena, key);
		m->value = v;
		m->next = t->meta;
		t->meta = m->key ? m : t->meta;
	}
	return v;
}

int64_t trace_meta_int(struct trace *t, const char *key, int64_t otherwise)
{
	sqlite3_stmt *s = reader_stmt(t, R_META);
	int64_t v = otherwise;

	if (!s)
		return otherwise;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 0) == SQLITE_INTEGER)
		v = sqlite3_column_int64(s, 0);
	sqlite3_reset(s);
	return v;
}

/* ---- by call -------------------------------------------------------------- */

/* Room for one more element of an array that grows. */
static bool grow(void **p, unsigned n, unsigned *capacity, size_t bytes)
{
	unsigned more = *capacity ? *capacity * 2 : 16;
	void *q;

	if (n < *capacity)
		return true;
	q = reallocarray(*p, more, bytes);
	if (!q)
		return false;
	*p = q;
	*capacity = more;
	return true;
}

static void add_payload(struct trace *t, sqlite3_stmt *s, uint64_t call)
{
	const char *kind;

	if (!grow((void **)&t->payloads, t->npayloads, &t->payloads_capacity, sizeof(*t->payloads)))
		return;
	kind = reader_text(&t->transient, s, 3);
	t->payloads[t->npayloads++] = (struct trace_payload){
		.id = u64(s, 1),
		.call = call,
		.param = sqlite3_column_int(s, 2),
		.kind = kind ? kind : "",
		.address = u64(s, 4),
		.device_address = u64(s, 5),
		.width = u64(s, 6),
		.height = u64(s, 7),
		.depth = u64(s, 8),
		.buffer = u64(s, 9),
		.note = reader_text(&t->transient, s, 10),
	};
}

const struct trace_payload *trace_payloads(struct trace *t, uint64_t call, unsigned *n)
{
	bool more;

	if (!t->closed || !call || t->payloads_call != call) {
		arena_free(&t->transient);
		t->npayloads = 0;
		t->payloads_call = call;
		more = reader_cursor_seek(t, &t->payload_cursor, SQL_PAYLOADS, call);
		for (; more; more = reader_cursor_next(&t->payload_cursor, call))
			add_payload(t, t->payload_cursor.s, call);
	}
	*n = t->npayloads;
	return t->payloads;
}

int trace_launch_get(struct trace *t, uint64_t call, struct trace_launch *out)
{
	sqlite3_stmt *s;
	int i;

	if (!reader_cursor_seek(t, &t->launch_cursor, SQL_LAUNCHES, call))
		return t->launch_cursor.s ? CUTRACE_ENOENT : CUTRACE_ECORRUPT;
	s = t->launch_cursor.s;
	memset(out, 0, sizeof(*out));
	out->call = call;
	out->kernel = u64(s, 1);
	out->stream = u64(s, 2);
	for (i = 0; i < 3; i++) {
		out->grid[i] = (uint32_t)u64(s, 3 + i);
		out->block[i] = (uint32_t)u64(s, 6 + i);
	}
	out->shared_bytes = (uint32_t)u64(s, 9);
	out->cooperative = u64(s, 10) != 0;
	out->params = u64(s, 11);
	if (!t->closed)
		sqlite3_reset(s);
	return 0;
}

const struct trace_launch_hash *trace_launch_hashes(struct trace *t, uint64_t launch, unsigned *n)
{
	sqlite3_stmt *s = reader_stmt(t, R_LAUNCH_HASHES);

	*n = 0;
	if (!s)
		return NULL;
	sqlite3_bind_int64(s, 1, (int64_t)launch);
	while (sqlite3_step(s) == SQLITE_ROW &&
	       grow((void **)&t->hashes, *n, &t->hashes_capacity, sizeof(*t->hashes))) {
		struct trace_launch_hash *h = &t->hashes[*n];

		if (sqlite3_column_bytes(s, 2) != sizeof(h->hash.b))
			continue;
		h->launch = launch;
		h->base = u64(s, 0);
		h->bytes = u64(s, 1);
		memcpy(h->hash.b, sqlite3_column_blob(s, 2), sizeof(h->hash.b));
		++*n;
	}
	sqlite3_reset(s);
	return t->hashes;
}

static void read_doubles(sqlite3_stmt *s, int column, double *to, uint32_t most, uint32_t *n)
{
	size_t bytes = (size_t)sqlite3_column_bytes(s, column);

	*n = bytes / sizeof(*to) > most ? most : (uint32_t)(bytes / sizeof(*to));
	if (*n)
		memcpy(to, sqlite3_column_blob(s, column), *n * sizeof(*to));
}

static void read_sketch(sqlite3_stmt *s, struct trace_launch_sketch *row)
{
	struct sketch *k = &row->sketch;
	bool any = sqlite3_column_type(s, 8) != SQLITE_NULL;

	*row = (struct trace_launch_sketch){.base = u64(s, 0)};
	row->has_hash = sqlite3_column_bytes(s, 2) == sizeof(row->hash.b);
	if (row->has_hash)
		memcpy(row->hash.b, sqlite3_column_blob(s, 2), sizeof(row->hash.b));
	k->type = sketch_type_find((const char *)sqlite3_column_text(s, 3));
	k->bytes = u64(s, 1);
	k->elements = u64(s, 4);
	k->nan = u64(s, 5);
	k->infinite = u64(s, 6);
	k->zero = u64(s, 7);
	k->least = any ? sqlite3_column_double(s, 8) : 1;
	k->greatest = any ? sqlite3_column_double(s, 9) : 0;
	k->sum = sqlite3_column_double(s, 10);
	k->magnitude = sqlite3_column_double(s, 11);
	k->block_bytes = u64(s, 12);
	read_doubles(s, 13, k->blocks, SKETCH_BLOCKS, &k->nblocks);
	read_doubles(s, 14, k->samples, SKETCH_SAMPLES, &k->nsamples);
}

const struct trace_launch_sketch *trace_launch_sketches(struct trace *t, uint64_t launch, unsigned *n)
{
	sqlite3_stmt *s = reader_stmt(t, R_LAUNCH_SKETCHES);

	*n = 0;
	if (!s)
		return NULL;
	sqlite3_bind_int64(s, 1, (int64_t)launch);
	while (sqlite3_step(s) == SQLITE_ROW &&
	       grow((void **)&t->sketches, *n, &t->sketches_capacity, sizeof(*t->sketches))) {
		read_sketch(s, &t->sketches[*n]);
		t->sketches[(*n)++].launch = launch;
	}
	sqlite3_reset(s);
	return t->sketches;
}

/* ---- kernels and images, kept --------------------------------------------- */

static void kernel_params(struct trace *t, struct trace_kernel *k)
{
	sqlite3_stmt *s = reader_stmt(t, R_KERNEL_PARAMS);
	struct trace_kernel_param *v = NULL;
	unsigned n = 0, capacity = 0;

	if (!s)
		return;
	sqlite3_bind_int64(s, 1, (int64_t)k->id);
	while (sqlite3_step(s) == SQLITE_ROW && grow((void **)&v, n, &capacity, sizeof(*v)))
		v[n++] = (struct trace_kernel_param){
			.name = text(t, s, 0),
			.type = text(t, s, 1),
			.offset = (uint32_t)u64(s, 2),
			.bytes = (uint32_t)u64(s, 3),
			.is_pointer = u64(s, 4) != 0,
			.is_read = u64(s, 5) != 0,
			.is_written = u64(s, 6) != 0,
			.elem_type = text(t, s, 7),
		};
	sqlite3_reset(s);
	k->params = arena_array(&t->arena, n + 1, sizeof(*v));
	if (k->params && n) {
		memcpy(k->params, v, n * sizeof(*v));
		k->nparams = n;
	}
	free(v);
}

const struct trace_kernel *trace_kernel(struct trace *t, uint64_t id)
{
	struct kernel_node **bucket = &t->kernels[id % KERNEL_BUCKETS], *node;
	sqlite3_stmt *s = reader_stmt(t, R_KERNEL);
	bool found;

	for (node = *bucket; node; node = node->next)
		if (node->kernel.id == id)
			return &node->kernel;
	node = arena_zalloc(&t->arena, sizeof(*node));
	if (!s || !node)
		return NULL;
	sqlite3_bind_int64(s, 1, (int64_t)id);
	found = sqlite3_step(s) == SQLITE_ROW;
	if (found) {
		node->kernel.id = id;
		node->kernel.module = u64(s, 0);
		node->kernel.name = text_or_empty(t, s, 1);
		node->kernel.has_ptx = u64(s, 2) != 0;
		node->kernel.param_bytes = (uint32_t)u64(s, 3);
		node->kernel.line = (uint32_t)u64(s, 4);
	}
	sqlite3_reset(s);
	if (!found)
		return NULL;
	kernel_params(t, &node->kernel);
	node->next = *bucket;
	*bucket = node;
	return &node->kernel;
}

const struct trace_image *trace_image(struct trace *t, uint64_t buffer)
{
	sqlite3_stmt *s = reader_stmt(t, R_IMAGE);
	struct image_node *node;
	bool found;

	for (node = t->images; node; node = node->next)
		if (node->image.buffer == buffer)
			return &node->image;
	node = arena_zalloc(&t->arena, sizeof(*node));
	if (!s || !node)
		return NULL;
	sqlite3_bind_int64(s, 1, (int64_t)buffer);
	found = sqlite3_step(s) == SQLITE_ROW;
	if (found) {
		node->image.buffer = buffer;
		node->image.kind = text_or_empty(t, s, 0);
		node->image.ptx = u64(s, 1);
		node->image.archs = text(t, s, 2);
		node->next = t->images;
		t->images = node;
	}
	sqlite3_reset(s);
	return found ? &node->image : NULL;
}

/* ---- walks ---------------------------------------------------------------- */

int trace_allocations(struct trace *t, uint32_t process,
		      int (*fn)(void *ctx, const struct trace_allocation *a), void *ctx)
{
	sqlite3_stmt *s;
	int rc, stop = 0;

	if (sqlite3_prepare_v2(
		    t->db,
		    "SELECT id,process,base,bytes,host_address,kind,created,destroyed FROM allocation "
		    "WHERE ?1=0 OR process=?1 ORDER BY id",
		    -1, &s, NULL) != SQLITE_OK)
		return CUTRACE_ECORRUPT;
	sqlite3_bind_int64(s, 1, process);
	while (!stop && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		const char *kind = (const char *)sqlite3_column_text(s, 5);
		struct trace_allocation a = {
			.id = u64(s, 0),
			.process = (uint32_t)u64(s, 1),
			.base = u64(s, 2),
			.bytes = u64(s, 3),
			.host_address = u64(s, 4),
			.kind = kind ? kind : "",
			.created = u64(s, 6),
			.destroyed = u64(s, 7),
		};

		stop = fn(ctx, &a);
	}
	sqlite3_finalize(s);
	return stop ? stop : rc == SQLITE_DONE ? 0 : CUTRACE_ECORRUPT;
}

int trace_modules(struct trace *t, uint32_t process, int (*fn)(void *ctx, const struct trace_module *m),
		  void *ctx)
{
	sqlite3_stmt *s;
	int rc, stop = 0;

	if (sqlite3_prepare_v2(
		    t->db,
		    "SELECT id,process,handle,is_library,parent,image,created,destroyed FROM module "
		    "WHERE ?1=0 OR process=?1 ORDER BY id",
		    -1, &s, NULL) != SQLITE_OK)
		return CUTRACE_ECORRUPT;
	sqlite3_bind_int64(s, 1, process);
	while (!stop && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct trace_module m = {
			.id = u64(s, 0),
			.process = (uint32_t)u64(s, 1),
			.handle = u64(s, 2),
			.is_library = u64(s, 3) != 0,
			.parent = u64(s, 4),
			.image = u64(s, 5),
			.created = u64(s, 6),
			.destroyed = u64(s, 7),
		};

		stop = fn(ctx, &m);
	}
	sqlite3_finalize(s);
	return stop ? stop : rc == SQLITE_DONE ? 0 : CUTRACE_ECORRUPT;
}
