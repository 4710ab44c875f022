/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/launches.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reduce/ddmin.h"
#include "replay/excerpt.h"
#include "replay/replay.h"
#include "trace/trace.h"

#define FIRST_WINDOW 8 /* launches before the one that differs; then twice as many, and so on */

struct search {
	struct judge *j;
	const struct culprit *c;
	const char *trace; /* what excerpts are made of */
	uint64_t *calls;   /* of the launches, in order; the last one is the one that differs */
	size_t n;
};

/* ---- which launches ------------------------------------------------------------------------- */

#define OF_PROCESS                                                                                                   \
	"SELECT l.call FROM launch l JOIN call c ON c.id = l.call JOIN thread t ON t.id = c.thread WHERE l.call <= " \
	"?1 AND t.process = (SELECT t2.process FROM call c2 JOIN thread t2 ON t2.id = c2.thread WHERE c2.id = ?1) "  \
	"ORDER BY l.call"

/* malloc'ed; NULL: *d says why. */
static uint64_t *list_launches(const char *path, uint64_t last, size_t *n, struct diag *d)
{
	struct trace *t;
	sqlite3_stmt *st = NULL;
	uint64_t *calls = NULL, *grown;

	*n = 0;
	if (trace_open(&t, path, d))
		return NULL;
	sqlite3_prepare_v2(trace_db(t), OF_PROCESS, -1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)last);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		if (!(*n & (*n - 1)) && (grown = reallocarray(calls, *n ? 2 * *n : 1, sizeof(*calls))))
			calls = grown;
		else if (!(*n & (*n - 1)))
			break;
		calls[(*n)++] = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	trace_close(t);
	if (!*n)
		diag_set(d, CUTRACE_ECORRUPT, path, "its launches can't be read");
	return calls;
}

/* One number; 0: the trace can't be read. */
static uint64_t ask(const char *path, const char *sql, uint64_t call, struct diag *d)
{
	struct trace *t;
	sqlite3_stmt *st = NULL;
	uint64_t n = 0;

	if (trace_open(&t, path, d))
		return 0;
	sqlite3_prepare_v2(trace_db(t), sql, -1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)call);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		n = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	trace_close(t);
	return n;
}

unsigned launches_of(const char *trace, uint64_t call, struct diag *d)
{
	return (unsigned)ask(
		trace,
		"SELECT count(*) FROM launch l JOIN call c ON c.id = l.call JOIN thread t ON t.id = c.thread WHERE "
		"t.process = (SELECT t2.process FROM call c2 JOIN thread t2 ON t2.id = c2.thread WHERE c2.id = ?)",
		call, d);
}

/* ---- whether they show it ------------------------------------------------------------------------ */

/* Of the launches that are kept, an excerpt; whether the last one is the first that differs in its replay. */
static bool shows(struct search *s, const uint8_t *keep, struct diag *d)
{
	const char *made = workroom_path(s->j->room, "made.trace"),
		   *result = workroom_path(s->j->room, "target.db");
	const char *const quick[] = {"--no-narrow", "--stop-at", "18446744073709551615", NULL};
	uint64_t *calls = calloc(s->n, sizeof(*calls)), last;
	struct excerpt_request q = {.trace = s->trace, .out = made, .calls = calls, .last = UINT64_MAX};
	struct culprit now;
	bool yes;

	for (size_t k = 0; calls && k < s->n; k++)
		if (!keep || keep[k])
			calls[q.ncalls++] = s->calls[k];
	q.first = calls ? calls[0] : 1;
	yes = calls && !excerpt_make(s->j->room, &q, d);
	free(calls);
	s->j->tried++;
	if (!yes)
		return false;
	last = ask(made, "SELECT max(call) FROM launch", 0, d);
	judge_replay(s->j, made, result, quick);
	yes = culprit_find(&now, result) && now.call == last && now.fault == s->j->fault;
	yes = yes && !workroom_interrupted() && !rename(made, s->j->best);
	s->j->held += yes;
	return yes;
}

static bool holds_with(void *ctx, const uint8_t *keep)
{
	struct search *s = ctx;
	struct diag ignored = DIAG_INIT;

	return keep[s->n - 1] && shows(s, keep, &ignored);
}

static bool stopped(void *ctx)
{
	return judge_stopped(((struct search *)ctx)->j);
}

/* ---- the fewest ---------------------------------------------------------------------------------- */

/* More and more of the launches before it, until these show it: so that what is long isn't replayed from its beginning. */
static bool find_window(struct search *s, struct diag *d)
{
	size_t all = s->n;
	uint64_t *calls = s->calls;

	for (size_t n = FIRST_WINDOW; !judge_stopped(s->j); n *= 2) {
		s->n = n < all ? n : all;
		s->calls = calls + (all - s->n);
		*d = (struct diag)DIAG_INIT;
		if (shows(s, NULL, d))
			return true;
		if (s->n == all)
			break;
	}
	if (!d->code && workroom_interrupted())
		diag_set(d, CUTRACE_EIO, s->trace, "interrupted");
	if (!d->code)
		diag_set(
			d, CUTRACE_ENOTSUP, s->trace,
			"%s, call %llu, does not differ there when the launches before it are replayed without the program's other calls",
			s->c->kernel, (unsigned long long)s->c->call);
	return false;
}

static unsigned leave_out(struct search *s)
{
	struct ddmin m = {.n = s->n, .keep = malloc(s->n), .test = holds_with, .stop = stopped, .ctx = s};
	unsigned gone;

	if (!m.keep)
		return (unsigned)s->n;
	memset(m.keep, 1, s->n);
	gone = (unsigned)ddmin_run(&m);
	free(m.keep);
	return (unsigned)s->n - gone;
}

int launches_reduce(struct judge *j, const char *trace, const struct culprit *c, unsigned *left,
		    struct diag *d)
{
	struct search s = {.j = j, .c = c, .trace = trace};
	uint64_t *calls = list_launches(trace, c->call, &s.n, d);

	s.calls = calls;
	if (calls && find_window(&s, d))
		*left = leave_out(&s);
	free(calls);
	return d->code;
}
