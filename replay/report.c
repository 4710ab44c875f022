/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures of a report, and the verdict that they make, from the rows of the result database.
 */
#include <sqlite3.h>
#include <string.h>

#include "replay/report.h"

int64_t report_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t n = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static int64_t count_of(sqlite3 *db, const char *what)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "SELECT sum(n) FROM count WHERE pass = 1 AND what = '%s'", what);
	return report_number(db, sql);
}

static void read_grades(sqlite3 *db, const char *kind, struct grade_counts *g)
{
	sqlite3_stmt *st = NULL;

	memset(g, 0, sizeof(*g));
	sqlite3_prepare_v2(db,
			   "SELECT sum(grade = 'equal'), sum(grade = 'tolerated'), sum(grade = 'differs'),"
			   " sum(grade = 'unverified'), sum(grade = 'fault'), sum(grade = 'inside'), "
			   "sum(grade = 'chaotic') FROM verdict WHERE kind = ?"
			   " AND (pass = 1 OR kind = 'address')",
			   -1, &st, NULL);
	sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
	if (st && sqlite3_step(st) == SQLITE_ROW)
		*g = (struct grade_counts){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
					   sqlite3_column_int64(st, 2), sqlite3_column_int64(st, 3),
					   sqlite3_column_int64(st, 4), sqlite3_column_int64(st, 5),
					   sqlite3_column_int64(st, 6)};
	sqlite3_finalize(st);
}

static int64_t differences(const struct report *r)
{
	return r->copy.differs + r->hash.differs + r->result.differs + r->fault.differs + r->fault.fault +
	       r->address.differs;
}

static int status_of(const struct report *r)
{
	if (differences(r))
		return REPLAY_DIFFERS;
	return r->fatal || r->refused || r->incomparable ? REPLAY_COULD_NOT : REPLAY_MATCH;
}

static void add_grades(struct grade_counts *to, const struct grade_counts *g)
{
	to->equal += g->equal;
	to->tolerated += g->tolerated;
	to->differs += g->differs;
	to->unverified += g->unverified;
	to->fault += g->fault;
	to->inside += g->inside;
	to->chaotic += g->chaotic;
}

void report_read(struct report *r, sqlite3 *db)
{
	struct grade_counts written;

	memset(r, 0, sizeof(*r));
	r->db = db;
	read_grades(db, "copy", &r->copy);
	read_grades(db, "hash", &r->hash);
	read_grades(db, "written", &written);
	add_grades(&r->hash, &written);
	read_grades(db, "result", &r->result);
	read_grades(db, "fault", &r->fault);
	read_grades(db, "address", &r->address);
	r->launches = count_of(db, "launches");
	r->refused = count_of(db, "launches_refused");
	r->left_out = count_of(db, "launches_left_out");
	r->injected = count_of(db, "launches_injected");
	r->in_flight = count_of(db, "in_flight");
	r->words = count_of(db, "rewritten_words") + count_of(db, "rewritten_params");
	r->as_recorded = report_number(
		db, "SELECT count(*) FROM allocation WHERE pass = 1 AND policy <> 'translated'");
	r->vmm = report_number(db, "SELECT count(*) FROM allocation WHERE pass = 1 AND policy = 'vmm'");
	r->translated_host = report_number(
		db, "SELECT count(*) FROM allocation WHERE pass = 1 AND policy = 'translated' AND"
		    " kind IN ('host', 'registered')");
	r->translated_device = report_number(
		db, "SELECT count(*) FROM allocation WHERE pass = 1 AND policy = 'translated' AND"
		    " kind NOT IN ('host', 'registered')");
	r->tolerated = r->copy.tolerated + r->hash.tolerated;
	r->nan_payload = report_number(
		db, "SELECT count(*) FROM verdict WHERE pass = 1 AND note = 'NaN payloads differ'");
	r->fatal = report_number(db, "SELECT count(*) FROM diagnostic WHERE severity = 'fatal'");
	/* A result that the trace does not have is no failure of the replay. */
	r->incomparable =
		report_number(db, "SELECT count(*) FROM verdict WHERE pass = 1 AND grade = 'unverified' AND"
				  " coalesce(note, '') <> 'its result was not recorded'");
	/* When a call could not be replayed and no result says that it did not matter, nothing is known. */
	if (count_of(db, "tainted") &&
	    !report_number(db,
			   "SELECT count(*) FROM verdict WHERE grade IN ('equal', 'tolerated', 'inside')"))
		r->incomparable++;
	r->incomparable += r->hash.chaotic;
	r->nothing = report_number(
		db,
		"SELECT EXISTS (SELECT 1 FROM meta WHERE key IN ('launches', 'stop_at')) AND NOT EXISTS "
		"(SELECT 1 FROM meta WHERE key = 'no_compare') AND NOT EXISTS (SELECT 1 FROM verdict WHERE pass = 1)");
	r->incomparable += r->nothing;
	if (r->injected && !r->launches) /* equal to themselves */
		r->incomparable++;
	r->status = status_of(r);
}

int report_status(sqlite3 *db)
{
	struct report r;

	report_read(&r, db);
	return r.status;
}

int64_t report_tolerated(sqlite3 *db)
{
	return report_number(db, "SELECT count(*) FROM verdict WHERE pass = 1 AND grade = 'tolerated'");
}

const char *report_status_name(int status)
{
	return status == REPLAY_MATCH ? "match" : status == REPLAY_DIFFERS ? "differs" : "could not verify";
}
