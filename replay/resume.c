/* SPDX-License-Identifier: Apache-2.0
 *
 * Going on with an isolated replay that was interrupted. Its result, OUT.partial, says which calls are judged (table
 * `done`): for those launches what was recorded stands in, their rows are taken over. What it has beyond that, or could not
 * judge to the end (a difference whose envelope was not made yet), is forgotten and made again.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/session.h"

/* ---- is it the same replay? ---------------------------------------------------------------- */

static int compare(struct session *s, struct result_db *new, struct result_db *old)
{
	const char *path = s->opt->resume_path;
	char a[512], b[512];

	result_meta_text(old, "interrupted", a, sizeof(a));
	if (!*a)
		return diag_set(&s->error, CUTRACE_EINVAL, path,
				"this replay came to its end: there is nothing to go on with");
	for (const struct result_key *k = result_keys; k->key; k++) {
		result_meta_text(new, k->key, a, sizeof(a));
		result_meta_text(old, k->key, b, sizeof(b));
		if (!strcmp(a, b))
			continue;
		diag_set(&s->error, CUTRACE_EINVAL, path, "it is of another replay: its %s is '%s', not '%s'",
			 k->what, b, a);
		diag_hint(&s->error, "give the same options as when it was interrupted; -j may be another");
		return s->error.code;
	}
	return 0;
}

/* ---- what it has judged ---------------------------------------------------------------------- */

struct ranges {
	struct ledger_range *v;
	size_t n, capacity;
};

static int add(struct ranges *r, uint32_t process, uint64_t first, uint64_t end)
{
	struct ledger_range *v = r->v;

	if (first >= end)
		return 0;
	if (r->n == r->capacity) {
		r->capacity = r->n ? 2 * r->n : 64;
		v = realloc(v, r->capacity * sizeof(*v));
		if (!v)
			return CUTRACE_ENOMEM;
		r->v = v;
	}
	v[r->n++] = (struct ledger_range){process, first, end};
	return 0;
}

/* A difference is judged when it has a note; until then the launch is to be made again. */
#define UNJUDGED                                                                              \
	"SELECT DISTINCT process, call FROM verdict WHERE pass = 1 AND kind = 'written' AND " \
	"grade = 'differs' AND note IS NULL"

/* The ranges without the launches that are not judged; both in order. */
static int read_done(sqlite3 *db, bool envelope, struct ranges *out)
{
	sqlite3_stmt *done = NULL, *open = NULL;
	int rc = 0, more = SQLITE_DONE;

	sqlite3_prepare_v2(db, "SELECT process, first, \"end\" FROM done ORDER BY 1, 2", -1, &done, NULL);
	sqlite3_prepare_v2(db, UNJUDGED " ORDER BY 1, 2", -1, &open, NULL);
	if (envelope && open)
		more = sqlite3_step(open);
	while (done && !rc && sqlite3_step(done) == SQLITE_ROW) {
		uint32_t process = (uint32_t)sqlite3_column_int64(done, 0);
		uint64_t first = (uint64_t)sqlite3_column_int64(done, 1);
		uint64_t end = (uint64_t)sqlite3_column_int64(done, 2);

		while (!rc && more == SQLITE_ROW) {
			uint32_t p = (uint32_t)sqlite3_column_int64(open, 0);
			uint64_t call = (uint64_t)sqlite3_column_int64(open, 1);

			if (p > process || (p == process && call >= end))
				break;
			if (p == process && call >= first) {
				rc = add(out, process, first, call);
				first = call + 1;
			}
			more = sqlite3_step(open);
		}
		if (!rc)
			rc = add(out, process, first, end);
	}
	sqlite3_finalize(done);
	sqlite3_finalize(open);
	return rc;
}

static int write_done(sqlite3 *db, const struct ranges *r)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO done VALUES (?,?,?)", -1, &st, NULL);

	for (size_t i = 0; i < r->n && rc == SQLITE_OK; i++) {
		sqlite3_bind_int64(st, 1, r->v[i].process);
		sqlite3_bind_int64(st, 2, (sqlite3_int64)r->v[i].first);
		sqlite3_bind_int64(st, 3, (sqlite3_int64)r->v[i].end);
		sqlite3_step(st);
		rc = sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	return rc;
}

static const char count_less[] =
	"UPDATE count SET n = max(0, n - (SELECT count(*) FROM (" UNJUDGED ") o WHERE o.process = "
	"count.process)) WHERE what = 'launches' AND pass = 1;"
	"UPDATE count SET n = max(0, n - (SELECT count(*) FROM verdict v WHERE v.process = count.process "
	"AND v.kind = 'written' AND v.call IN (SELECT o.call FROM (" UNJUDGED
	") o WHERE o.process = v.process))) WHERE what = 'written' AND pass = 1;";
static const char forget_rest[] =
	"CREATE INDEX done_first ON done (process, first);"
	"DELETE FROM verdict WHERE coalesce((SELECT d.\"end\" FROM done d WHERE d.process = verdict.process "
	"AND d.first <= verdict.call ORDER BY d.first DESC LIMIT 1), 0) <= verdict.call;"
	"DELETE FROM diagnostic WHERE call IS NOT NULL AND coalesce((SELECT d.\"end\" FROM done d WHERE "
	"d.process = diagnostic.process AND d.first <= diagnostic.call ORDER BY d.first DESC LIMIT 1), 0) "
	"<= diagnostic.call;"
	"DROP INDEX done_first;";

static int clean(struct session *s, struct ranges *done)
{
	bool envelope = s->opt->envelope && !s->opt->no_compare;
	struct result_db *r;
	sqlite3 *db;
	int rc = result_open(&r, s->base_path, false, &s->error);

	if (rc)
		return rc;
	db = result_sqlite(r);
	rc = read_done(db, envelope, done);
	if (rc)
		diag_set(&s->error, rc, "", "out of memory");
	else if ((envelope && sqlite3_exec(db, count_less, NULL, NULL, NULL) != SQLITE_OK) ||
		 sqlite3_exec(db, "DELETE FROM done", NULL, NULL, NULL) != SQLITE_OK ||
		 write_done(db, done) != SQLITE_OK ||
		 sqlite3_exec(db, forget_rest, NULL, NULL, NULL) != SQLITE_OK)
		rc = diag_set(&s->error, CUTRACE_EIO, s->opt->resume_path,
			      "what it has judged can't be taken over: %s", sqlite3_errmsg(db));
	result_close(r);
	return rc;
}

/* ---- begin, end ------------------------------------------------------------------------------ */

/* The user's file stays as it is: this replay may be interrupted, too. */
static int copy_file(struct session *s)
{
	int from = open(s->opt->resume_path, O_RDONLY | O_CLOEXEC), to;
	ssize_t n = 1;

	snprintf(s->base_path, sizeof(s->base_path), "%s.0", s->result_path);
	to = from < 0 ? -1 : open(s->base_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (to >= 0 && n > 0)
		n = sendfile(to, from, NULL, 1 << 24);
	if (to < 0 || n < 0)
		diag_set(&s->error, CUTRACE_EIO, from < 0 ? s->opt->resume_path : s->base_path,
			 "what was judged can't be copied: %s", strerror(errno));
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return to < 0 || n < 0 ? CUTRACE_EIO : 0;
}

static int check(struct session *s)
{
	struct result_db *new = NULL, *old = NULL;
	int rc = result_open(&new, s->result_path, false, &s->error);

	if (!rc)
		rc = result_open(&old, s->base_path, false, &s->error);
	if (!rc)
		rc = compare(s, new, old);
	result_close(old);
	result_close(new);
	return rc;
}

int resume_begin(struct session *s, struct ledger_range **done, size_t *ndone)
{
	struct ranges r = {0};
	int rc;

	if (access(s->opt->resume_path, R_OK))
		return diag_set(&s->error, CUTRACE_ENOENT, s->opt->resume_path, "there is no such result");
	rc = result_check_target(s->opt->resume_path, &s->error);
	if (rc)
		return diag_set(&s->error, CUTRACE_EINVAL, s->opt->resume_path,
				"this is no result of a replay");
	rc = copy_file(s);
	if (!rc)
		rc = check(s);
	if (!rc)
		rc = clean(s, &r);
	*done = r.v;
	*ndone = r.n;
	return rc;
}

int resume_end(struct session *s)
{
	struct result_db *db;
	char text[32];
	int rc = result_open(&db, s->result_path, false, &s->error);

	if (!rc)
		rc = result_merge(db, s->base_path, &s->error);
	if (!rc) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)s->launches_before);
		result_meta(db, "resumed", text);
	}
	result_close(db);
	return rc;
}

void resume_forget(struct session *s)
{
	if (s->base_path[0])
		unlink(s->base_path);
	s->base_path[0] = '\0';
}

/* ---- this one is interrupted ------------------------------------------------------------------ */

static uint64_t differences(struct result_db *db)
{
	sqlite3_stmt *st = NULL;
	uint64_t n = 0;

	sqlite3_prepare_v2(result_sqlite(db),
			   "SELECT count(*) FROM verdict WHERE pass = 1 AND grade IN ('differs', 'fault')",
			   -1, &st, NULL);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		n = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static int put_aside(struct session *s, char *path, size_t size)
{
	if (snprintf(path, size, "%s.partial", s->opt->result_path) >= (int)size)
		return diag_set(&s->error, CUTRACE_EINVAL, s->opt->result_path, "path too long");
	if (result_check_target(path, &s->error))
		return s->error.code;
	if (rename(s->result_path, path))
		return diag_set(&s->error, CUTRACE_EIO, path, "the results can't be put there: %s",
				strerror(errno));
	s->result_is_temporary = false;
	return 0;
}

int resume_keep(struct session *s)
{
	char path[4200];
	struct result_db *db;
	uint64_t wrong;
	int rc = result_open(&db, s->result_path, false, &s->error);

	if (rc)
		return rc;
	result_meta(db, "interrupted", "1");
	wrong = differences(db);
	result_close(db);
	fprintf(stderr,
		"cutrace replay: interrupted (%s) after %llu of %llu launches%s, %llu result%s so far\n",
		strsignal(s->interrupted), (unsigned long long)s->launches_done,
		(unsigned long long)s->launches, s->opt->resume_path ? " that were left" : "",
		(unsigned long long)wrong, wrong == 1 ? " differs" : "s differ");
	if (!s->opt->result_path) {
		fputs("hint: nothing is kept of it; with -o FILE --isolated a replay can be gone on with\n",
		      stderr);
		return 0;
	}
	rc = put_aside(s, path, sizeof(path));
	if (rc)
		return rc;
	if (s->opt->isolated)
		fprintf(stderr, "hint: what is judged is in %s; go on by the same command with --resume %s\n",
			path, path);
	else
		fprintf(stderr,
			"hint: what is compared is in %s; only isolated replays can be gone on with\n", path);
	return 0;
}
