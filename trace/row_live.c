/* SPDX-License-Identifier: Apache-2.0
 * Hashes of rows, taken while rows are written: closing need not read them again. Of the large tables, whose rows are
 * written once and mostly in order. A row that comes too late, or is written again, spoils the hash of its group, which
 * closing then takes from the file (row_hash.c). */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"
#include "trace/row_pack.h"

/* Calls end in another order than they begin, those of several threads above all: this many wait for earlier ones. */
#define WINDOW 16384u

/* How the values of a statement become a row of its table. */
static const struct live_statement {
	enum writer_stmt id;
	enum live_table table;
	bool counts;   /* the row's id is not among the values: SQLite gives it */
	bool two_keys; /* the second value orders the rows of one key */
	unsigned ncolumns;
} live_statements[] = {
	{W_OVERFLOW, LIVE_OVERFLOW, false, true, 3},
	{W_MEMORY, LIVE_MEMORY, false, true, 3},
	{W_CHUNK, LIVE_CHUNK, true, false, 3},
	{W_BUFFER, LIVE_BUFFER, true, false, 2},
	{W_BUFFER_CHUNK, LIVE_BUFFER_CHUNK, false, true, 3},
	{W_PAYLOAD, LIVE_PAYLOAD, true, false, 10},
	{W_LAUNCH, LIVE_LAUNCH, false, false, 12},
	{W_LAUNCH_HASH, LIVE_LAUNCH_HASH, false, true, 4},
};

struct live {
	XXH3_state_t *state;
	int64_t first;      /* of the group at hand */
	int64_t key, minor; /* of the last row */
	unsigned n;         /* rows in the group */
	bool any, spoilt;
	struct live_group *groups;
	size_t ngroups, capacity;
};

struct waiting {
	uint64_t id; /* 0: free */
	uint32_t n;
	bool twice; /* of a broken process: who knows which is in the file */
	uint8_t row[PACK_BYTES];
};

struct row_live {
	struct live tables[LIVE_NTABLES];
	uint64_t next; /* call that is awaited */
	unsigned nwaiting;
	struct waiting *waiting; /* by id modulo WINDOW; only there once one has waited */
	bool failed;             /* no memory: closing reads all rows */
};

struct row_live *row_live_new(void)
{
	struct row_live *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->next = 1;
	for (unsigned i = 0; i < LIVE_NTABLES; i++) {
		l->tables[i].first = INT64_MIN;
		l->tables[i].state = XXH3_createState();
		if (!l->tables[i].state) {
			row_live_free(l);
			return NULL;
		}
		XXH3_128bits_reset(l->tables[i].state);
	}
	return l;
}

void row_live_free(struct row_live *l)
{
	for (unsigned i = 0; l && i < LIVE_NTABLES; i++) {
		XXH3_freeState(l->tables[i].state);
		free(l->tables[i].groups);
	}
	if (l)
		free(l->waiting);
	free(l);
}

/* ---- groups ----------------------------------------------------------------- */

static void end_group(struct row_live *l, struct live *t, int64_t last)
{
	if (t->ngroups == t->capacity) {
		size_t more = t->capacity ? 2 * t->capacity : 64;
		struct live_group *p = reallocarray(t->groups, more, sizeof(*p));

		if (!p) {
			l->failed = true;
			return;
		}
		t->groups = p;
		t->capacity = more;
	}
	t->groups[t->ngroups] = (struct live_group){.first = t->first, .last = last, .spoilt = t->spoilt};
	XXH128_canonicalFromHash(&t->groups[t->ngroups++].hash, XXH3_128bits_digest(t->state));
	XXH3_128bits_reset(t->state);
	t->first = (int64_t)((uint64_t)last + 1);
	t->n = 0;
	t->spoilt = false;
}

static void spoil(struct live *t, int64_t key)
{
	size_t low = 0, high = t->ngroups;

	if (key >= t->first) {
		t->spoilt = true;
		return;
	}
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (t->groups[middle].first <= key)
			low = middle;
		else
			high = middle;
	}
	t->groups[low].spoilt = true;
}

/* False when the row is out of order, and so not to be hashed. */
static bool begin_row(struct row_live *l, struct live *t, int64_t key, int64_t minor)
{
	if (l->failed)
		return false;
	if (t->any && (key < t->key || (key == t->key && minor <= t->minor))) {
		spoil(t, key);
		return false;
	}
	if (t->n >= ROW_GROUP && key > t->key)
		end_group(l, t, t->key);
	t->any = true;
	t->key = key;
	t->minor = minor;
	t->n++;
	return true;
}

/* ---- rows of small tables --------------------------------------------------------- */

/* As db_bind binds it. */
static void pack_value(struct row_pack *p, char kind, va_list *ap)
{
	const void *data;
	uint64_t v;

	switch (kind) {
	case 't':
		data = va_arg(*ap, const char *);
		if (data)
			pack_data(p, true, data, strlen(data));
		else
			pack_null(p);
		break;
	case 'b':
		data = va_arg(*ap, const void *);
		pack_data(p, false, data, va_arg(*ap, size_t));
		break;
	default: /* i, u, z */
		v = va_arg(*ap, uint64_t);
		if (v || kind != 'z')
			pack_int(p, (int64_t)v);
		else
			pack_null(p);
	}
}

static void live_values(struct row_live *l, const struct live_statement *s, int64_t id, const char *format,
			va_list ap)
{
	struct live *t = &l->tables[s->table];
	struct row_pack p = {.state = t->state};
	int64_t key = id, minor = 0;
	va_list args;

	va_copy(args, ap);
	if (!s->counts)
		key = va_arg(args, int64_t);
	if (s->two_keys)
		minor = va_arg(args, int64_t);
	va_end(args);
	if (!begin_row(l, t, key, minor))
		return;
	if (s->counts)
		pack_int(&p, id);
	va_copy(args, ap);
	for (unsigned i = 0; i < s->ncolumns; i++)
		pack_value(&p, format[i], &args);
	va_end(args);
	pack_flush(&p);
}

void row_live_values(struct row_live *l, enum writer_stmt id, int64_t rowid, const char *format, va_list ap)
{
	for (size_t i = 0; i < sizeof(live_statements) / sizeof(live_statements[0]); i++)
		if (live_statements[i].id == id)
			live_values(l, &live_statements[i], rowid, format, ap);
}

void row_live_spoil(struct row_live *l, enum live_table table, uint64_t key)
{
	spoil(&l->tables[table], (int64_t)key);
}

/* ---- calls ------------------------------------------------------------------ */

static void pack_number(struct row_pack *p, bool is_there, uint64_t v)
{
	if (is_there)
		pack_int(p, (int64_t)v);
	else
		pack_null(p);
}

/* The columns of `call`, as writer_calls.c binds them. */
static void pack_call(struct row_pack *p, const struct trace_call *c)
{
	pack_int(p, (int64_t)c->id);
	pack_int(p, c->thread);
	pack_number(p, c->parent != 0, c->parent);
	pack_int(p, c->func);
	pack_int(p, c->t_enter);
	pack_number(p, c->done, (uint64_t)c->t_exit);
	pack_number(p, c->done, c->seq_seen);
	pack_number(p, c->done, (uint64_t)c->result);
	for (unsigned i = 0; i < CALL_ARG_COLUMNS; i++)
		pack_number(p, i < c->nargs, c->args[i]);
	for (unsigned i = 0; i < TRACE_MAX_OUTS; i++)
		pack_number(p, c->done && i < c->nouts && c->outs_valid >> i & 1, c->outs[i]);
}

static void call_in_order(struct row_live *l, uint64_t id, const uint8_t *row, size_t n)
{
	struct live *t = &l->tables[LIVE_CALL];

	if (begin_row(l, t, (int64_t)id, 0))
		XXH3_128bits_update(t->state, row, n);
}

/* Goes on to the next id, whether or not this one has come. */
static void advance(struct row_live *l)
{
	struct waiting *w = &l->waiting[l->next % WINDOW];

	if (w->id == l->next) {
		call_in_order(l, w->id, w->row, w->n);
		if (w->twice)
			spoil(&l->tables[LIVE_CALL], (int64_t)w->id);
		w->id = 0;
		l->nwaiting--;
	}
	l->next++;
}

static void wait_for_earlier(struct row_live *l, uint64_t id, const struct row_pack *p)
{
	struct waiting *w;

	if (!l->waiting)
		l->waiting = calloc(WINDOW, sizeof(*l->waiting));
	if (!l->waiting) {
		l->failed = true;
		return;
	}
	while (l->nwaiting && id - l->next >= WINDOW)
		advance(l);
	if (id - l->next >= WINDOW)
		l->next = id - WINDOW + 1;
	w = &l->waiting[id % WINDOW];
	l->nwaiting += !w->id;
	w->twice = w->id == id;
	w->id = id;
	w->n = p->n;
	memcpy(w->row, p->bytes, p->n);
}

void row_live_call(struct row_live *l, const struct trace_call *c)
{
	struct row_pack p;

	if (l->failed)
		return;
	p.state = NULL;
	p.n = 0;
	pack_call(&p, c);
	if (c->id > l->next) {
		wait_for_earlier(l, c->id, &p);
		return;
	}
	call_in_order(l, c->id, p.bytes, p.n);
	if (c->id == l->next)
		l->next++;
	while (l->nwaiting && l->waiting[l->next % WINDOW].id == l->next)
		advance(l);
}

/* ---- at close ----------------------------------------------------------------------- */

void row_live_end(struct row_live *l)
{
	while (l->nwaiting)
		advance(l);
	for (unsigned i = 0; i < LIVE_NTABLES; i++)
		end_group(l, &l->tables[i], INT64_MAX);
}

const struct live_group *row_live_groups(const struct row_live *l, enum live_table table, size_t *n)
{
	*n = l->tables[table].ngroups;
	return l->failed ? NULL : l->tables[table].groups;
}
