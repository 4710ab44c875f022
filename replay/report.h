/* SPDX-License-Identifier: Apache-2.0
 *
 * report: what the user reads, made of the rows of the result database: decoded into one `struct report`
 * (report.c), then printed as text (report_text.c) or JSON (report_json.c). Nothing here knows how a replay
 * is done.
 */
#ifndef CUTRACE_REPLAY_REPORT_H
#define CUTRACE_REPLAY_REPORT_H

#include <sqlite3.h>

#include "replay/engine.h"

struct grade_counts {
	int64_t equal, tolerated, differs, unverified, fault, inside, chaotic;
};

struct report {
	sqlite3 *db;
	struct grade_counts copy, hash, result, fault, address;
	int64_t launches, refused, left_out, in_flight, translated_device, translated_host, as_recorded, vmm,
		words, nan_payload;
	int64_t fatal, incomparable, injected, tolerated;
	bool nothing; /* of a part of the trace that was chosen nothing was compared */
	int status;
};

void report_read(struct report *r, sqlite3 *db);
const char *report_status_name(int status);
/* report_times.c: one row a kernel and grid; nothing without --repeat. */
extern const char *const report_times_sql;
void report_times(sqlite3 *db, FILE *out);
/* As a string of JSON. */
void report_json_string(FILE *out, const char *text);
/* The first column of the first row, or 0. */
int64_t report_number(sqlite3 *db, const char *sql);

/* ---- columns of a row */

static inline bool has(sqlite3_stmt *st, int col)
{
	return sqlite3_column_type(st, col) != SQLITE_NULL;
}

static inline const char *text(sqlite3_stmt *st, int col)
{
	const char *s = (const char *)sqlite3_column_text(st, col);

	return s ? s : "";
}

static inline int64_t integer(sqlite3_stmt *st, int col)
{
	return sqlite3_column_int64(st, col);
}

#endif
