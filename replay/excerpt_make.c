/* SPDX-License-Identifier: Apache-2.0 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/excerpt.h"
#include "replay/replay.h"
#include "replay/workroom.h"

static int replay(void *ctx)
{
	return replay_run(ctx);
}

/* The first text that a query has; malloc'ed, NULL: none. */
static char *ask_text(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	char *text = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
	    sqlite3_column_text(st, 0))
		text = strdup((const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	sqlite3_close(db);
	return text;
}

static int say_why_not(const struct workroom *w, const struct excerpt_request *q, int status,
		       const char *result, struct diag *d)
{
	char *why = ask_text(result,
			     "SELECT message FROM diagnostic WHERE severity = 'fatal' ORDER BY id LIMIT 1");
	const char *said = workroom_reason(w, "take.err");
	int rc;

	if (status == WORKROOM_SIGNAL)
		rc = diag_set(d, CUTRACE_EIO, q->trace, "%s",
			      workroom_interrupted() ? "interrupted" : "the replay of it ended by a signal");
	else if (status == WORKROOM_TOO_LONG)
		rc = diag_set(d, CUTRACE_EIO, q->trace, "its replay takes too long");
	else
		rc = diag_set(d, CUTRACE_ENOTSUP, q->trace, "%s",
			      why     ? why
			      : *said ? said
				      : "its launches could not be replayed");
	free(why);
	return rc;
}

int excerpt_make(const struct workroom *w, const struct excerpt_request *q, struct diag *d)
{
	const char *result = workroom_path(w, "take.db");
	struct replay_options o = {.trace_path = q->trace,
				   .device = q->device ? q->device : "interp",
				   .result_path = result,
				   .isolated = !q->remake,
				   .no_compare = !q->remake,
				   .first_launch = q->first,
				   .last_launch = q->last,
				   .quiet = true,
				   .stop_at =
					   q->remake ? UINT64_MAX : q->last, /* nobody asks who stored what */
				   .excerpt = q->out,
				   .excerpt_calls = q->calls,
				   .excerpt_ncalls = q->ncalls,
				   .excerpt_remake = q->remake,
				   .excerpt_ptx_only = q->ptx_only,
				   .excerpt_scratch = q->scratch,
				   .excerpt_all_memory = q->all_memory,
				   .excerpt_edit = q->edit};
	int status;

	unlink(result);
	workroom_remove_trace(q->out);
	status = workroom_run(w, replay, &o, "take.out", "take.err", q->limit_s);
	if (status >= 0 && !access(q->out, R_OK))
		return 0;
	workroom_remove_trace(q->out);
	return say_why_not(w, q, status, result, d);
}

char *excerpt_grades(const char *result_path)
{
	return ask_text(result_path, "SELECT coalesce(group_concat(line, char(10)), '') FROM (SELECT "
				     "coalesce(kernel_name, '?') || ' ' "
				     "|| kind || ' ' || grade AS line FROM verdict WHERE pass = 1 AND kind "
				     "IN ('written', 'launch', "
				     "'fault') ORDER BY call, id)");
}
