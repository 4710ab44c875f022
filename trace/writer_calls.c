/* SPDX-License-Identifier: Apache-2.0
 * Calls. An ended call waits in a batch and becomes a row together with others, in order of id; a call in
 * flight becomes a row only when a transaction ends before the call does. */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

static int bind_call(sqlite3_stmt *s, unsigned row, const struct trace_call *c)
{
	int at = (int)(row * CALL_COLUMNS) + 1, rc;
	unsigned i;

	rc = sqlite3_bind_int64(s, at, (int64_t)c->id);
	rc |= sqlite3_bind_int64(s, at + 1, c->thread);
	rc |= c->parent ? sqlite3_bind_int64(s, at + 2, (int64_t)c->parent) : sqlite3_bind_null(s, at + 2);
	rc |= sqlite3_bind_int64(s, at + 3, c->func);
	rc |= sqlite3_bind_int64(s, at + 4, c->t_enter);
	rc |= c->done ? sqlite3_bind_int64(s, at + 5, c->t_exit) : sqlite3_bind_null(s, at + 5);
	rc |= c->done ? sqlite3_bind_int64(s, at + 6, (int64_t)c->seq_seen) : sqlite3_bind_null(s, at + 6);
	rc |= c->done ? sqlite3_bind_int64(s, at + 7, c->result) : sqlite3_bind_null(s, at + 7);
	for (i = 0; i < CALL_ARG_COLUMNS; i++)
		rc |= i < c->nargs ? sqlite3_bind_int64(s, at + 8 + (int)i, (int64_t)c->args[i])
				   : sqlite3_bind_null(s, at + 8 + (int)i);
	for (i = 0; i < TRACE_MAX_OUTS; i++)
		rc |= c->done && i < c->nouts && c->outs_valid >> i & 1
			      ? sqlite3_bind_int64(s, at + 24 + (int)i, (int64_t)c->outs[i])
			      : sqlite3_bind_null(s, at + 24 + (int)i);
	return rc;
}

static int insert_calls(struct trace_writer *w, enum writer_stmt id, const struct trace_call *const *calls,
			unsigned n)
{
	sqlite3_stmt *s = writer_stmt(w, id);
	unsigned i;
	int rc = SQLITE_OK;

	if (!s || writer_begin(w))
		return w->error.code;
	for (i = 0; i < n; i++)
		rc |= bind_call(s, i, calls[i]);
	if (rc != SQLITE_OK || sqlite3_step(s) != SQLITE_DONE)
		writer_fail(w, "cannot write calls");
	sqlite3_reset(s);
	return w->error.code;
}

static int insert_overflow(struct trace_writer *w, const struct trace_call *c)
{
	unsigned i;

	for (i = CALL_ARG_COLUMNS; i < c->nargs && !w->error.code; i++)
		writer_row(w, W_OVERFLOW, "uiu", c->id, (int64_t)i, c->args[i]);
	return w->error.code;
}

static int by_id(const void *a, const void *b)
{
	const struct trace_call *x = *(const struct trace_call *const *)a;
	const struct trace_call *y = *(const struct trace_call *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int writer_flush_calls(struct trace_writer *w)
{
	const struct trace_call *sorted[CALL_BATCH];
	unsigned n = w->nbatch, i;

	for (i = 0; i < n; i++)
		sorted[i] = &w->batch[i];
	qsort(sorted, n, sizeof(sorted[0]), by_id);
	w->nbatch = 0;
	for (i = 0; i + CALLS_PER_INSERT <= n && !w->error.code; i += CALLS_PER_INSERT)
		insert_calls(w, W_CALLS, sorted + i, CALLS_PER_INSERT);
	for (; i < n && !w->error.code; i++)
		insert_calls(w, W_CALL, sorted + i, 1);
	for (i = 0; i < n && !w->error.code; i++)
		insert_overflow(w, sorted[i]);
	return w->error.code;
}

static int write_flight(struct trace_writer *w, struct flight *f)
{
	const struct trace_call *c = &f->call;

	if (f->written)
		return w->error.code;
	insert_calls(w, W_CALL_AGAIN, &c, 1);
	f->written = true;
	return insert_overflow(w, c);
}

int writer_flush_flights(struct trace_writer *w)
{
	unsigned i;

	for (i = 0; i < w->nflights && !w->error.code; i++)
		write_flight(w, &w->flights[i]);
	return w->error.code;
}

/* Those that are in flight at the end stay so. */
void writer_end_flights(struct trace_writer *w)
{
	for (unsigned i = 0; i < w->nflights; i++)
		row_live_call(w->live, &w->flights[i].call);
}

/* Few calls are in flight at a time: a thread's innermost ones come last. */
static struct flight *find_flight(struct trace_writer *w, uint64_t id)
{
	unsigned i;

	for (i = w->nflights; i-- > 0;)
		if (w->flights[i].call.id == id)
			return &w->flights[i];
	return NULL;
}

static int add_flight(struct trace_writer *w, const struct trace_call *c)
{
	struct flight *f = find_flight(w, c->id);

	if (!f && w->nflights == w->flights_capacity) {
		unsigned more = w->flights_capacity ? w->flights_capacity * 2 : 64;
		struct flight *p = reallocarray(w->flights, more, sizeof(*p));

		if (!p)
			return writer_set(w, CUTRACE_ENOMEM, "out of memory for calls in flight");
		w->flights = p;
		w->flights_capacity = more;
	}
	if (!f)
		f = &w->flights[w->nflights++];
	f->call = *c;
	f->written = false;
	return 0;
}

/* What was known at entry and is not repeated at exit is kept. True when the call has a row already. */
static bool complete(struct trace_writer *w, struct trace_call *c)
{
	struct flight *f = find_flight(w, c->id);
	bool written;

	if (!f)
		return false;
	written = f->written;
	if (c->nargs < f->call.nargs) {
		c->nargs = f->call.nargs;
		memcpy(c->args, f->call.args, sizeof(c->args));
	}
	*f = w->flights[--w->nflights];
	return written;
}

static int write_again(struct trace_writer *w, const struct trace_call *c)
{
	insert_calls(w, W_CALL_AGAIN, &c, 1);
	return insert_overflow(w, c);
}

int trace_writer_call(struct trace_writer *w, const struct trace_call *c)
{
	struct trace_call *b;
	bool has_row;

	if (w->error.code)
		return w->error.code;
	if (c->nargs > TRACE_MAX_ARGS || c->nouts > TRACE_MAX_OUTS || !c->id)
		return writer_set(w, CUTRACE_EINVAL, "call %llu has %u arguments and %u out-values",
				  (unsigned long long)c->id, c->nargs, c->nouts);
	if (writer_begin(w))
		return w->error.code;
	if (!c->done)
		return add_flight(w, c);
	b = &w->batch[w->nbatch];
	*b = *c;
	has_row = complete(w, b);
	row_live_call(w->live, b);
	if (has_row)
		return write_again(w, b);
	if (++w->nbatch == CALL_BATCH && writer_flush_calls(w))
		return w->error.code;
	return writer_grown(w, 64);
}

int trace_writer_call_lost(struct trace_writer *w, uint64_t id)
{
	struct flight *f = w->error.code ? NULL : find_flight(w, id);

	if (!f)
		return w->error.code;
	write_flight(w, f);
	row_live_call(w->live, &f->call);
	*f = w->flights[--w->nflights];
	return w->error.code;
}

int trace_writer_call_memory(struct trace_writer *w, uint64_t call, int phase, const void *data, size_t bytes)
{
	if (writer_row(w, W_MEMORY, "uib", call, (int64_t)phase, data, bytes))
		return w->error.code;
	return writer_grown(w, bytes);
}

void writer_free_calls(struct trace_writer *w)
{
	free(w->batch);
	free(w->flights);
}
