/* SPDX-License-Identifier: Apache-2.0
 *
 * The result database of a replay, before anything is replayed: where it is, and what it says of the trace, the device
 * and the limits.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/engine.h"
#include "replay/session.h"
#include "replay/tolerances.h"

/* What the recorder and its collector said against the recording: it may lack calls, and the verdict not know of
 * them. */
static void tell_of_recording(const struct session *s, struct result_db *db)
{
	struct diag ignored = DIAG_INIT; /* it could be opened a moment ago */
	sqlite3_stmt *st = NULL;
	struct trace *t;

	if (trace_open(&t, s->opt->trace_path, &ignored))
		return;
	result_scope(db, 0, 1);
	sqlite3_prepare_v2(trace_db(t),
			   "SELECT call, 'in the recording: ' || message FROM diagnostic WHERE source IN "
			   "('collector', 'recorder') AND severity IN ('warning', 'error') ORDER BY id",
			   -1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW)
		result_diagnostic(db, (uint64_t)sqlite3_column_int64(st, 0), "warning",
				  (const char *)sqlite3_column_text(st, 1));
	sqlite3_finalize(st);
	trace_close(t);
}

static void write_number(struct result_db *db, const char *key, const char *format, double value)
{
	char text[64];

	snprintf(text, sizeof(text), format, value);
	result_meta(db, key, text);
}

const struct result_key result_keys[] = {
	{"uuid", "trace"},
	{"device", "device"},
	{"driver_path", "driver"},
	{"isolated", "--isolated"},
	{"envelope", "--envelope"},
	{"most_judged", "--most-judged"},
	{"shard", "--shard"},
	{"launches", "--launches"},
	{"inject", "--inject"},
	{"ulp", "--ulp"},
	{"rtol", "--rtol"},
	{"atol", "--atol"},
	{"no_compare", "--no-compare"},
	{"tolerances", "--tolerances"},
	{"stop_at", "--stop-at"},
	{0},
};

static void write_options(const struct replay_options *o, struct result_db *db)
{
	char text[64];

	result_meta(db, "device", o->driver ? "" : o->device);
	result_meta(db, "driver_path", o->driver ? o->driver : "");
	if (o->isolated) {
		result_meta(db, "isolated", "1");
		write_number(db, "envelope", "%.0f", o->envelope);
		write_number(db, "most_judged", "%.0f", o->most_judged);
	}
	if (o->no_compare)
		result_meta(db, "no_compare", "1");
	if (o->shards) {
		snprintf(text, sizeof(text), "%u/%u", o->shard + 1, o->shards);
		result_meta(db, "shard", text);
	}
	if (o->stop_at && !o->excerpt)
		write_number(db, "stop_at", "%.0f", (double)o->stop_at);
	if (o->last_launch && !o->excerpt) {
		snprintf(text, sizeof(text), "%llu-%llu", (unsigned long long)o->first_launch,
			 (unsigned long long)o->last_launch);
		result_meta(db, "launches", text);
	}
	if (o->tolerances) { /* the hash: another file of the same name makes another verdict */
		char rules[4300];

		snprintf(rules, sizeof(rules), "%s (%zu rule%s, %08llx)", o->tolerances_path,
			 o->tolerances->n, o->tolerances->n == 1 ? "" : "s",
			 (unsigned long long)(o->tolerances->hash & 0xffffffff));
		result_meta(db, "tolerances", rules);
	}
	if (o->inject)
		result_meta(db, "inject", o->inject);
	if (o->limits.has_ulp) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)o->limits.ulp);
		result_meta(db, "ulp", text);
	}
	if (o->limits.has_tol) {
		write_number(db, "rtol", "%g", o->limits.rtol);
		write_number(db, "atol", "%g", o->limits.atol);
	}
}

int session_make_result(struct session *s, const struct recorded *rec)
{
	struct result_db *db;
	int rc;

	rc = result_check_target(s->result_path, &s->error);
	if (rc)
		return rc;
	unlink(s->result_path);
	rc = result_open(&db, s->result_path, true, &s->error);
	if (rc)
		return rc;
	result_meta(db, "trace", s->opt->trace_path);
	result_meta(db, "uuid", rec->uuid);
	result_meta(db, "closed", rec->closed ? "1" : "0");
	result_meta(db, "rows_verified", rec->verified ? "1" : "0");
	write_options(s->opt, db);
	tell_of_recording(s, db);
	result_close(db);
	return 0;
}

/* As a file that open() makes. */
static void set_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	(void)!fchmod(fd, 0666 & ~mask);
}

/* A file of this replay's own, until it is whole: another replay may write to the same place. */
int session_choose_result_path(struct session *s)
{
	const char *tmp = getenv("TMPDIR"), *out = s->opt->result_path;
	int fd, n;

	if (out && result_check_target(out, &s->error))
		return s->error.code;
	tmp = tmp && *tmp ? tmp : "/tmp";
	n = out ? snprintf(s->result_path, sizeof(s->result_path), "%s.XXXXXX", out)
		: snprintf(s->result_path, sizeof(s->result_path), "%s/cutrace-replay-XXXXXX", tmp);
	if (out && n < (int)sizeof(s->result_path) && trace_path_too_long(s->result_path, &s->error)) {
		snprintf(s->error.where, sizeof(s->error.where), "%.*s", (int)sizeof(s->error.where) - 1,
			 strlen(out) < sizeof(s->error.where)
				 ? out
				 : out + strlen(out) - sizeof(s->error.where) + 1);
		return s->error.code;
	}
	fd = n < (int)sizeof(s->result_path) ? mkstemp(s->result_path) : (errno = ENAMETOOLONG, -1);
	if (fd >= 0) {
		set_mode(fd);
		close(fd);
		s->result_is_temporary = true;
		return 0;
	}
	if (out) {
		diag_set(&s->error, CUTRACE_EIO, out, "the results can't be written there: %s",
			 strerror(errno));
		diag_hint(&s->error,
			  "check that the folder exists and may be written, or name another file with -o");
	} else {
		diag_set(&s->error, CUTRACE_EIO, tmp,
			 "no temporary file for the results can be made in this folder: %s", strerror(errno));
		diag_hint(&s->error, "set TMPDIR to a folder that may be written, or name a file for the "
				     "results with -o");
	}
	return CUTRACE_EIO;
}

int session_keep_result(struct session *s)
{
	if (!s->opt->result_path)
		return 0;
	if (rename(s->result_path, s->opt->result_path))
		return diag_set(&s->error, CUTRACE_EIO, s->opt->result_path,
				"the results can't be put there: %s", strerror(errno));
	s->result_is_temporary = false;
	return 0;
}
