/* SPDX-License-Identifier: Apache-2.0
 *
 * Going on after a fault that the recording did not have. The context is gone with all that was in it. So the
 * process is replayed again: first with its launches one by one, which tells the launch that faults for certain,
 * then without that launch (doubt.c).
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "replay/session.h"

#define MAX_FAULTS 16 /* of a process; each costs a run from the start */

static int64_t run_sql(sqlite3 *db, const struct run *r, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t value = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, r->process);
		sqlite3_bind_int64(st, 2, r->pass);
		if (sqlite3_bind_parameter_count(st) > 2)
			sqlite3_bind_int64(st, 3, r->guess);
		if (sqlite3_step(st) == SQLITE_ROW)
			value = sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return value;
}

#define NEW_FAULTS "verdict WHERE process = ?1 AND pass = ?2 AND kind = 'fault' AND grade = 'fault'"

/* Of a run that will be repeated only its faults stay. */
static void forget_run(sqlite3 *db, const struct run *r)
{
	run_sql(db, r,
		"DELETE FROM verdict WHERE process = ?1 AND pass = ?2 AND NOT (kind = 'fault' AND grade = "
		"'fault')");
	run_sql(db, r, "DELETE FROM diagnostic WHERE process = ?1 AND pass = ?2");
	run_sql(db, r, "DELETE FROM allocation WHERE process = ?1 AND pass = ?2");
	run_sql(db, r, "DELETE FROM count WHERE process = ?1 AND pass = ?2");
	if (r->results) {
		rewind(r->results);
		if (r->pass == 1 && ftruncate(fileno(r->results), 0))
			rewind(r->results); /* what is written next lies over it */
	}
}

/* False: there is no launch to leave out, or enough have been. */
static bool leave_out(struct session *s, const struct left_out *l)
{
	struct left_out *grown;
	unsigned n = 0;

	for (size_t i = 0; i < s->nleft_out; i++) {
		n += s->left_out[i].process == l->process;
		if (s->left_out[i].launch == l->launch)
			return false;
	}
	if (!l->launch || n >= MAX_FAULTS ||
	    !(grown = realloc(s->left_out, (s->nleft_out + 1) * sizeof(*grown))))
		return false;
	s->left_out = grown;
	grown[s->nleft_out++] = *l;
	return true;
}

static int begin_again(struct run *r)
{
	struct left_out l = {.process = r->process};
	struct result_db *db;
	sqlite3 *sql;
	int rc = result_open(&db, r->s->result_path, false, &r->s->error);

	if (rc)
		return rc;
	sql = result_sqlite(db);
	if (r->one_by_one) {
		l.launch = (uint64_t)run_sql(sql, r,
					     "SELECT launch FROM " NEW_FAULTS " ORDER BY id DESC LIMIT 1");
		l.kernel = (uint64_t)run_sql(sql, r,
					     "SELECT kernel FROM " NEW_FAULTS " ORDER BY id DESC LIMIT 1");
		if (r->guess)
			run_sql(sql, r, "DELETE FROM " NEW_FAULTS " AND id = ?3");
		r->guess = 0;
		r->give_up = !leave_out(r->s, &l);
		if (r->give_up) /* the next run meets it again */
			run_sql(sql, r,
				"DELETE FROM verdict WHERE id = (SELECT max(id) FROM " NEW_FAULTS ")");
	} else {
		r->guess = run_sql(sql, r, "SELECT max(id) FROM " NEW_FAULTS);
	}
	r->one_by_one = true;
	forget_run(sql, r);
	result_close(db);
	return 0;
}

int run_to_the_end(struct run *r)
{
	int rc = run_process(r);

	while (!rc && r->faulted) {
		rc = begin_again(r);
		if (!rc)
			rc = run_process(r);
	}
	return rc;
}
