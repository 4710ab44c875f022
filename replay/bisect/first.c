/* SPDX-License-Identifier: Apache-2.0
 *
 * The first launch: the bad side replays all of them, each from what it had when it was recorded; those that differ are
 * then replayed on the good side, in order, until one is right there.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/bisect/bisect.h"
#include "replay/rerecord.h"
#include "trace/trace.h"

enum { MAX_ALIKE = 64 /* launches that are wrong on both sides, before it gives up */ };

/* ---- contents ------------------------------------------------------------------------------------ */

static bool has_contents(const char *path, struct diag *d)
{
	sqlite3_stmt *st = NULL;
	struct trace *t;
	bool yes = false;

	if (trace_open(&t, path, d))
		return false;
	sqlite3_prepare_v2(trace_db(t), "SELECT EXISTS (SELECT 1 FROM payload WHERE kind = 'written')", -1,
			   &st, NULL);
	yes = st && sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	trace_close(t);
	return yes;
}

/* Without what launches wrote there is nothing to replay them from: the good side's replay is recorded. */
static int add_contents(struct bisect *b, struct diag *d)
{
	const char *out = arena_strdup(&b->arena, workroom_path(b->w, "good.trace"));
	const struct rerecord r = {.input = b->input, .output = out, .driver = b->good.driver};
	const char *before = getenv("CUTRACE_DEVICE");
	int status;

	bisect_say(b, "the trace does not have what its launches wrote: recording a replay on the good side");
	before = before ? arena_strdup(&b->arena, before) : NULL;
	setenv("CUTRACE_DEVICE", b->good.device_text, 1);
	status = rerecord_run(&r, b->w, out);
	if (before)
		setenv("CUTRACE_DEVICE", before, 1);
	else
		unsetenv("CUTRACE_DEVICE");
	if (status < 0)
		return diag_set(d, CUTRACE_EIO, b->input, "interrupted");
	if (status != REPLAY_MATCH && status != REPLAY_DIFFERS)
		return diag_set(d, CUTRACE_ENOTSUP, b->input, "the good side can't replay it");
	if (!has_contents(out, d))
		return d->code ? d->code
			       : diag_set(d, CUTRACE_ENOTSUP, b->input,
					  "a replay on the good side does not show what its launches write");
	b->trace = out;
	return 0;
}

/* ---- candidates ------------------------------------------------------------------------------------ */

struct candidate {
	uint64_t call;
};

static struct candidate *list_candidates(struct bisect *b, const char *result, unsigned *n)
{
	sqlite3 *db = bisect_open(b, result);
	struct candidate *v = NULL;
	sqlite3_stmt *st = NULL;

	*n = 0;
	if (db)
		sqlite3_prepare_v2(
			db,
			"SELECT DISTINCT call FROM verdict WHERE pass = 1 AND grade IN ('differs', "
			"'fault') AND kind IN ('written', 'launch', 'fault') ORDER BY call",
			-1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		struct candidate *grown = reallocarray(v, *n + 1, sizeof(*v));

		if (!grown)
			break;
		v = grown;
		v[(*n)++].call = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v;
}

static enum verdict_of judge_good(struct bisect *b, uint64_t call)
{
	const struct replay_request q = {.side = &b->good, .trace = b->trace, .first = call, .last = call};

	if (bisect_replay(b, &q, "good.db") < 0)
		return IS_UNKNOWN;
	return bisect_verdict(b, "good.db", call, false);
}

/* The first candidate that is right on the good side. */
static void search(struct bisect *b, const struct candidate *v, unsigned n, struct found_launch *out)
{
	for (unsigned k = 0; k < n && k < MAX_ALIKE && !out->found && !workroom_interrupted(); k++) {
		enum verdict_of good = out->good_recorded ? IS_GOOD : judge_good(b, v[k].call);

		bisect_say(b, "launch of call %llu differs on the bad side; on the good one it %s",
			   (unsigned long long)v[k].call,
			   out->good_recorded ? "was recorded"
			   : good == IS_GOOD  ? "is right"
			   : good == IS_BAD   ? "differs, too"
					      : "can't be judged");
		out->found = good == IS_GOOD;
		out->call = v[k].call;
		out->alike += good != IS_GOOD;
	}
}

/* ---- what is told of it -------------------------------------------------------------------------- */

static const char *text(struct bisect *b, sqlite3_stmt *st, int col)
{
	const char *s = (const char *)sqlite3_column_text(st, col);

	return s ? arena_strdup(&b->arena, s) : NULL;
}

static void read_details(struct bisect *b, const char *result, struct found_launch *l)
{
	sqlite3 *db = bisect_open(b, result);
	sqlite3_stmt *st = NULL;

	if (db)
		sqlite3_prepare_v2(
			db,
			"SELECT kernel_name, kind, grade, elem_type, want, got, note, address, elements, "
			"differing, first, wrong_line, wrong_ptx, wrong_source FROM verdict WHERE pass = 1 "
			"AND call = ?1 AND grade IN ('differs', 'fault') ORDER BY kind = 'fault' DESC, id "
			"LIMIT 1",
			-1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)l->call);
	if (st && sqlite3_step(st) == SQLITE_ROW) {
		l->kernel = text(b, st, 0);
		l->kind = text(b, st, 1);
		l->grade = text(b, st, 2);
		l->elem_type = text(b, st, 3);
		l->want = text(b, st, 4);
		l->got = text(b, st, 5);
		l->note = text(b, st, 6);
		l->address = (uint64_t)sqlite3_column_int64(st, 7);
		l->elements = (uint64_t)sqlite3_column_int64(st, 8);
		l->differ = (uint64_t)sqlite3_column_int64(st, 9);
		l->element = (uint64_t)sqlite3_column_int64(st, 10);
		l->wrong_line = (uint64_t)sqlite3_column_int64(st, 11);
		l->wrong_ptx = text(b, st, 12);
		l->wrong_source = text(b, st, 13);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static void read_good_grade(struct bisect *b, struct found_launch *l)
{
	sqlite3 *db = l->good_recorded ? NULL : bisect_open(b, "good.db");
	sqlite3_stmt *st = NULL;

	l->good_grade = "recorded";
	if (db)
		sqlite3_prepare_v2(
			db,
			"SELECT grade FROM verdict WHERE pass = 1 AND call = ?1 ORDER BY grade = 'inside' "
			"DESC LIMIT 1",
			-1, &st, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)l->call);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		l->good_grade = text(b, st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

/* Once more, with a look into the kernel. */
static void look_closer(struct bisect *b, struct found_launch *l)
{
	const struct replay_request q = {
		.side = &b->bad, .trace = b->trace, .first = l->call, .last = l->call, .narrow = 1};

	read_details(b, "bad.db", l);
	if (!l->kind || !strcmp(l->kind, "fault"))
		return;
	if (bisect_replay(b, &q, "narrow.db") == REPLAY_DIFFERS)
		read_details(b, "narrow.db", l);
}

int bisect_first_launch(struct bisect *b, struct found_launch *out, struct diag *d)
{
	struct replay_request q = {.side = &b->bad, .first = b->first, .last = b->last};
	struct candidate *v;
	unsigned n;
	int status;

	memset(out, 0, sizeof(*out));
	b->trace = b->input;
	if (!has_contents(b->input, d)) {
		if (d->code || add_contents(b, d))
			return d->code;
		out->good_recorded = true;
	}
	q.trace = b->trace;
	bisect_say(b, "replaying all launches on the bad side");
	status = bisect_replay(b, &q, "bad.db");
	if (status != REPLAY_MATCH && status != REPLAY_DIFFERS)
		return diag_set(d, CUTRACE_ENOTSUP, b->bad.driver, "the bad side can't replay the trace: %s",
				bisect_reason(b, "bad.db"));
	v = list_candidates(b, "bad.db", &n);
	out->differing = n;
	search(b, v, n, out);
	free(v);
	if (workroom_interrupted())
		return diag_set(d, CUTRACE_EIO, b->input, "interrupted");
	if (out->found) {
		read_good_grade(b, out);
		look_closer(b, out);
	}
	return 0;
}
