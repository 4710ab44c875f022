/* SPDX-License-Identifier: Apache-2.0
 *
 * The report as JSON: the figures, and whole tables of the result database.
 */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "replay/report.h"

/* Bytes that are no UTF-8 become the characters of their numbers, as in `cutrace dump --json`. */
void report_json_string(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = strlen(text), bytes;

	fputc('"', out);
	for (size_t i = 0; i < n; i += bytes ? bytes : 1) {
		bytes = utf8_char_bytes(s + i, n - i);
		if (s[i] == '"' || s[i] == '\\')
			fprintf(out, "\\%c", s[i]);
		else if (s[i] < 0x20 || !bytes)
			fprintf(out, "\\u%04x", s[i]);
		else
			fwrite(s + i, 1, bytes, out);
	}
	fputc('"', out);
}

static void json_value(FILE *out, sqlite3_stmt *st, int col)
{
	const char *name = sqlite3_column_name(st, col);
	double d;

	switch (sqlite3_column_type(st, col)) {
	case SQLITE_INTEGER:
		if (!strcmp(name, "base") || !strcmp(name, "address") || !strcmp(name, "live"))
			fprintf(out, "\"0x%" PRIx64 "\"", (uint64_t)integer(st, col));
		else
			fprintf(out, "%" PRId64, integer(st, col));
		break;
	case SQLITE_FLOAT:
		d = sqlite3_column_double(st, col);
		if (d - d == 0)
			fprintf(out, "%.17g", d);
		else
			fputs("null", out); /* JSON has no infinity */
		break;
	case SQLITE_NULL: fputs("null", out); break;
	default: report_json_string(out, text(st, col)); break;
	}
}

static void json_row(FILE *out, sqlite3_stmt *st)
{
	int n = sqlite3_column_count(st);

	fputc('{', out);
	for (int i = 0; i < n; i++) {
		fprintf(out, "%s\"%s\": ", i ? ", " : "", sqlite3_column_name(st, i));
		json_value(out, st, i);
	}
	fputc('}', out);
}

static void json_rows(sqlite3 *db, FILE *out, const char *name, const char *sql)
{
	sqlite3_stmt *st = NULL;
	bool any = false;

	fprintf(out, ",\n \"%s\": [", name);
	sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		fprintf(out, "%s\n  ", any ? "," : "");
		json_row(out, st);
		any = true;
	}
	sqlite3_finalize(st);
	fputs(any ? "\n ]" : "]", out);
}

static void json_pairs(sqlite3 *db, FILE *out, const char *name, const char *sql)
{
	sqlite3_stmt *st = NULL;
	bool any = false;

	fprintf(out, ",\n \"%s\": {", name);
	sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		fputs(any ? ", " : "", out);
		report_json_string(out, text(st, 0));
		fputs(": ", out);
		json_value(out, st, 1);
		any = true;
	}
	sqlite3_finalize(st);
	fputc('}', out);
}

void report_json(sqlite3 *db, FILE *out)
{
	struct report r;

	report_read(&r, db);
	fprintf(out, "{\"status\": \"%s\",\n \"exit\": %d", report_status_name(r.status), r.status);
	json_pairs(db, out, "meta", "SELECT key, value FROM meta ORDER BY key");
	json_pairs(db, out, "counts",
		   "SELECT what, sum(n) FROM count WHERE pass = 1 GROUP BY what ORDER BY what");
	json_pairs(db, out, "grades",
		   "SELECT grade, count(*) FROM verdict WHERE pass = 1 GROUP BY grade ORDER BY grade");
	json_pairs(db, out, "addresses",
		   "SELECT policy, count(*) FROM allocation WHERE pass = 1 GROUP BY policy ORDER BY policy");
	json_rows(db, out, "differences",
		  "SELECT id, pass, process, call, kind, grade, func, launch, kernel_name, allocation, base, "
		  "bytes, elem_type,"
		  " elements, differing, beyond, max_ulp, max_abs, max_rel, first, byte_offset, address, "
		  "live, want, got, note, line, text, source, block, thread, wrong_line, wrong_ptx, "
		  "wrong_source, "
		  "wrong_operands, wrong_want, wrong_got, wrong_thread, wrong_how, inherited"
		  " FROM verdict WHERE grade NOT IN ('equal', 'tolerated') ORDER BY pass, call, id");
	json_rows(db, out, "stores",
		  "SELECT verdict, how, launch, kernel_name, line, text, source, block, thread, note FROM "
		  "store ORDER BY id");
	json_rows(db, out, "faults",
		  "SELECT call, func, grade, launch, kernel_name, line, text, source, block, thread, want, "
		  "got, note FROM "
		  "verdict WHERE kind = 'fault' AND pass = 1 ORDER BY call, id");
	if (report_number(db, "SELECT count(*) FROM timing"))
		json_rows(db, out, "times", report_times_sql);
	json_rows(db, out, "diagnostics",
		  "SELECT pass, process, call, severity, message FROM diagnostic ORDER BY id");
	fputs("\n}\n", out);
}
