/* SPDX-License-Identifier: Apache-2.0
 *
 * Twice through each trace: once for the hashes that are aligned, and once, as far as needed, for the values of the
 * calls that are shown.
 */
#include "diff/compare.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* ---- which are shown ------------------------------------------------------------------- */

/* The earliest are kept, in order. */
static void found(void *ctx, const struct hunk *h)
{
	struct comparison *c = ctx;
	unsigned at = c->n;

	c->count[h->kind]++;
	while (at && c->v[at - 1].hunk.order > h->order)
		at--;
	if (at >= c->limit)
		return;
	if (c->n < c->limit)
		c->n++;
	memmove(&c->v[at + 1], &c->v[at], (c->n - 1 - at) * sizeof(*c->v));
	c->v[at] = (struct difference){.hunk = *h};
}

static bool align(struct comparison *c)
{
	for (unsigned role = 0; role < c->nroles; role++)
		if (!align_lists(&c->a.lists[role], &c->a.file, &c->b.lists[role], &c->b.file, role, found, c,
				 &c->equal))
			return false;
	return true;
}

/* ---- their values -------------------------------------------------------------------------- */

struct wanted {
	uint64_t call;
	struct difference *difference;
	struct leaf *v;
	unsigned n;
};

static int by_call(const void *x, const void *y)
{
	const struct wanted *a = x, *b = y;

	return a->call < b->call ? -1 : a->call > b->call;
}

static struct wanted *wanted_of(struct comparison *c, const struct side *s, unsigned *n)
{
	struct wanted *w = calloc(c->n + 1, sizeof(*w));

	*n = 0;
	for (unsigned i = 0; w && i < c->n; i++) {
		uint64_t call = s == &c->a ? c->v[i].hunk.a : c->v[i].hunk.b;
		if (call)
			w[(*n)++] = (struct wanted){.call = call, .difference = &c->v[i]};
	}
	if (w && *n)
		qsort(w, *n, sizeof(*w), by_call);
	return w;
}

static const char *keep_text(struct comparison *c, const char *s)
{
	return s ? arena_strdup(&c->arena, s) : NULL;
}

/* False: out of memory. */
static bool keep(struct comparison *c, const struct side *s, struct wanted *w, const struct row *r,
		 const struct leaves *l)
{
	struct difference *d = w->difference;

	d->function = keep_text(c, r->function);
	d->kernel = keep_text(c, r->kernel);
	*(s == &c->a ? &d->thread_a : &d->thread_b) = r->call.thread;
	w->v = arena_array(&c->arena, l->n + 1, sizeof(*w->v));
	for (unsigned i = 0; w->v && i < l->n; i++) {
		const struct leaf leaf = {keep_text(c, l->v[i].path), keep_text(c, l->v[i].text)};

		if (!leaf.path || !leaf.text)
			return false;
		w->v[w->n++] = leaf;
	}
	return w->v != NULL;
}

/* Objects get their names as when the hashes were made, so every call up to the last one wanted is looked at. */
static bool read_wanted(struct comparison *c, const struct side *s, struct wanted *w, unsigned n)
{
	struct decoder *dec = decoder_new(s->trace, 4096);
	struct object_names *names = object_names_new(s->trace, s->hashes);
	struct trace_call_iter *it = trace_calls(s->trace, 0, n ? w[n - 1].call : 0);
	struct leaves l = {0};
	struct trace_call call;
	bool ok = dec && names && it;
	unsigned at = 0;

	while (ok && at < n && trace_call_next(it, &call) == 1) {
		if (side_leaves_out(s, &call))
			continue;
		const struct row *r = decode_call(dec, &call);
		leaves_of(&l, names, r, side_role(s, call.thread));
		ok = !l.failed;
		if (ok && call.id == w[at].call)
			ok = keep(c, s, &w[at++], r, &l);
	}
	leaves_free(&l);
	trace_call_iter_free(it);
	object_names_free(names);
	decoder_free(dec);
	return ok;
}

static const struct wanted *wanted_for(const struct wanted *w, unsigned n, const struct difference *d)
{
	for (unsigned i = 0; i < n; i++)
		if (w[i].difference == d)
			return &w[i];
	return NULL;
}

static const struct leaf *leaf_at(const struct wanted *w, const char *path)
{
	for (unsigned i = 0; i < w->n; i++)
		if (!strcmp(w->v[i].path, path))
			return &w->v[i];
	return NULL;
}

/* Values of the two calls by path; a path that occurs twice (hashes of several allocations) by its place. */
static void pair_values(struct comparison *c, struct difference *d, const struct wanted *a,
			const struct wanted *b)
{
	d->values = arena_array(&c->arena, a->n + b->n + 1, sizeof(*d->values));
	if (!d->values)
		return;
	for (unsigned i = 0; i < a->n; i++) {
		const struct leaf *x = &a->v[i], *y = i < b->n && !strcmp(b->v[i].path, x->path)
							      ? &b->v[i]
							      : leaf_at(b, x->path);
		if (!y || strcmp(x->text, y->text) != 0)
			d->values[d->nvalues++] = (struct value_pair){x->path, x->text, y ? y->text : NULL};
	}
	for (unsigned i = 0; i < b->n; i++)
		if (!leaf_at(a, b->v[i].path))
			d->values[d->nvalues++] = (struct value_pair){b->v[i].path, NULL, b->v[i].text};
}

static bool read_values(struct comparison *c)
{
	unsigned na, nb;
	struct wanted *a = wanted_of(c, &c->a, &na), *b = wanted_of(c, &c->b, &nb);
	bool ok = a && b && read_wanted(c, &c->a, a, na) && read_wanted(c, &c->b, b, nb);

	for (unsigned i = 0; ok && i < c->n; i++) {
		const struct wanted *x = wanted_for(a, na, &c->v[i]), *y = wanted_for(b, nb, &c->v[i]);

		if (x && y && x->v && y->v)
			pair_values(c, &c->v[i], x, y);
	}
	free(a);
	free(b);
	return ok;
}

/* ---- all of it ---------------------------------------------------------------------------- */

struct progress_of {
	void (*progress)(void *ctx, const char *path, uint64_t calls);
	void *ctx;
	const char *path;
};

static void report_progress(void *ctx, uint64_t calls)
{
	const struct progress_of *p = ctx;

	p->progress(p->ctx, p->path, calls);
}

static int read_side(struct side *s, unsigned nroles, struct progress_of *p, struct diag *d)
{
	p->path = s->path;
	return side_read(s, nroles, p->progress ? report_progress : NULL, p, d);
}

static int64_t count_hashes(const struct side *s)
{
	sqlite3_stmt *st = NULL;
	int64_t n = 0;

	if (!sqlite3_prepare_v2(trace_db(s->trace), "SELECT count(*) FROM launch_hash", -1, &st, NULL) &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

int comparison_make(struct comparison *c, const char *a, const char *b, unsigned limit,
		    void (*progress)(void *ctx, const char *path, uint64_t calls), void *ctx, struct diag *d)
{
	struct progress_of p = {progress, ctx, NULL};
	int rc;

	memset(c, 0, sizeof(*c));
	c->a.file.fd = c->b.file.fd = -1;
	c->limit = limit;
	rc = side_open(&c->a, a, d);
	if (!rc)
		rc = side_open(&c->b, b, d);
	if (rc)
		return rc;
	c->v = calloc(limit + 1u, sizeof(*c->v));
	c->a.hashes = c->b.hashes = count_hashes(&c->a) == count_hashes(&c->b);
	if (!c->v)
		return diag_set(d, CUTRACE_ENOMEM, a, "out of memory");
	c->a.loose = c->b.loose = c->a.replay || c->b.replay;
	rc = sides_pair(&c->a, &c->b, &c->nroles, d);
	if (!rc)
		rc = read_side(&c->a, c->nroles, &p, d);
	if (!rc)
		rc = read_side(&c->b, c->nroles, &p, d);
	if (!rc && (!align(c) || !read_values(c) || !tables_make(c)))
		rc = diag_set(d, CUTRACE_EIO, a,
			      "can't be compared: out of memory, or a temporary file can't be read");
	return rc;
}

void comparison_free(struct comparison *c)
{
	side_close(&c->a);
	side_close(&c->b);
	arena_free(&c->arena);
	free(c->v);
	free(c->functions.v);
	free(c->kernels.v);
	free(c->code.v);
}

int comparison_slower(const struct comparison *c, const struct table_row *r)
{
	enum { NOTHING = 1000000 }; /* ns: less is noise */
	double a = (double)r->ns[0], b = (double)r->ns[1];

	if (c->ratio <= 0 || !r->count[0] || !r->count[1] || (a < NOTHING && b < NOTHING))
		return 0;
	a /= (double)r->count[0];
	b /= (double)r->count[1];
	return b > c->ratio * a ? 1 : a > c->ratio * b ? -1 : 0;
}

bool comparison_differs(const struct comparison *c)
{
	bool differs = c->count[HUNK_CHANGED] || c->count[HUNK_ONLY_A] || c->count[HUNK_ONLY_B];

	for (unsigned i = 0; i < c->kernels.n; i++) {
		const struct table_row *k = &c->kernels.v[i];
		differs |= (k->count[0] || k->count[1]) && !k->same_code;
	}
	for (unsigned i = 0; i < c->functions.n; i++)
		differs |= comparison_slower(c, &c->functions.v[i]) != 0;
	return differs;
}
