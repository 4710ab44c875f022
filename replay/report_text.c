/* SPDX-License-Identifier: Apache-2.0
 *
 * The report as text: one line of summary, the first difference, then what could not be said.
 */
#include <inttypes.h>
#include <string.h>

#include "replay/report.h"

static const char first_sql[] =
	"SELECT v.id, v.call, v.func, v.kind, v.grade, v.launch, v.kernel_name, "
	"v.allocation, v.base, v.bytes, v.elem_type,"
	" v.elements, v.differing, v.max_ulp, v.max_abs, v.max_rel, v.first, "
	"v.byte_offset, v.address, v.want, v.got, v.note,"
	" a.created, a.kind, a.bytes, a.policy, v.process, v.live, v.line, v.text, v.source, v.block, "
	"v.thread, v.wrong_line, v.wrong_ptx, v.wrong_source, v.wrong_operands, v.wrong_want, v.wrong_got, "
	"v.wrong_thread, v.wrong_how"
	" FROM verdict v LEFT JOIN allocation a ON a.rowid = (SELECT max(rowid) FROM "
	"allocation WHERE pass = v.pass AND"
	" process = v.process AND base = v.base AND created <= v.call)"
	" WHERE v.grade IN ('differs', 'fault') ORDER BY v.pass, v.inherited IS NOT NULL, v.call, v.id LIMIT 1";
static const char element_sql[] =
	"SELECT v.id, v.call, v.func, v.kind, v.grade, v.launch, v.kernel_name, v.allocation, v.base, "
	"v.bytes, v.elem_type,"
	" v.elements, v.differing, v.max_ulp, v.max_abs, v.max_rel, v.first, v.byte_offset, v.address, "
	"v.want, v.got, v.note,"
	" a.created, a.kind, a.bytes, a.policy, v.process, v.live, v.line, v.text, v.source, v.block, "
	"v.thread, v.wrong_line, v.wrong_ptx, v.wrong_source, v.wrong_operands, v.wrong_want, v.wrong_got, "
	"v.wrong_thread, v.wrong_how"
	" FROM verdict v LEFT JOIN allocation a ON a.rowid = (SELECT max(rowid) FROM allocation WHERE pass = "
	"v.pass AND"
	" process = v.process AND base = v.base AND created <= v.call)"
	" WHERE v.grade = 'differs' AND v.kind IN ('copy', 'written') ORDER BY v.pass, v.inherited IS NOT NULL, v.call, v.id LIMIT 1";
enum {
	V_ID,
	V_CALL,
	V_FUNC,
	V_KIND,
	V_GRADE,
	V_LAUNCH,
	V_KERNEL,
	V_ALLOC,
	V_BASE,
	V_BYTES,
	V_ELEM,
	V_ELEMENTS,
	V_DIFFERING,
	V_ULP,
	V_ABS,
	V_REL,
	V_FIRST,
	V_OFFSET,
	V_ADDRESS,
	V_WANT,
	V_GOT,
	V_NOTE,
	V_CREATED,
	V_AKIND,
	V_ABYTES,
	V_POLICY,
	V_PROCESS,
	V_LIVE,
	V_LINE,
	V_TEXT,
	V_SOURCE,
	V_BLOCK,
	V_THREAD,
	V_WRONG_LINE,
	V_WRONG_PTX,
	V_WRONG_SOURCE,
	V_WRONG_OPERANDS,
	V_WRONG_WANT,
	V_WRONG_GOT,
	V_WRONG_THREAD,
	V_WRONG_HOW
};

static void print_addresses(const struct report *r, FILE *out)
{
	int64_t moved = r->translated_device + r->translated_host;

	fprintf(out, "; addresses: ");
	if (!moved)
		fprintf(out, "all as recorded");
	else
		fprintf(out,
			"%" PRId64 " as recorded, %" PRId64 " translated (%" PRId64 " device, %" PRId64
			" host; %" PRId64 " %s rewritten)",
			r->as_recorded, moved, r->translated_device, r->translated_host, r->words,
			r->words == 1 ? "pointer" : "pointers");
	if (r->vmm)
		fprintf(out, ", %" PRId64 " of them by virtual memory management", r->vmm);
}

static void print_count(FILE *out, int64_t n, const char *one, const char *many)
{
	fprintf(out, "%" PRId64 " %s", n, n == 1 ? one : many);
}

static void print_summary(const struct report *r, FILE *out)
{
	const struct grade_counts *c = &r->copy, *h = &r->hash;

	if (r->fatal && !r->launches && !c->equal && !h->equal) {
		fputs("could not replay\n", out); /* why: among the diagnostics */
		return;
	}
	fprintf(out, "%s: ", report_status_name(r->status));
	print_count(out, r->launches, "launch, ", "launches, ");
	print_count(out, c->equal + c->tolerated + c->differs, "copy compared, ", "copies compared, ");
	print_count(out, c->differs, "differs", "differ");
	if (h->equal + h->tolerated + h->differs + h->inside + h->chaotic) {
		fputs("; ", out);
		print_count(out, h->equal + h->tolerated + h->differs + h->inside + h->chaotic, "buffer",
			    "buffers");
		fputs(" checked after launches, ", out);
		print_count(out, h->differs, "differs", "differ");
	}
	if (h->inside)
		fprintf(out, "; %" PRId64 " inside the envelope of legal results", h->inside);
	if (h->chaotic)
		fprintf(out, "; %" PRId64 " too chaotic to tell", h->chaotic);
	if (r->tolerated)
		fprintf(out, "; %" PRId64 " differ within the limits", r->tolerated);
	if (c->unverified + h->unverified)
		fprintf(out, "; %" PRId64 " unverified", c->unverified + h->unverified);
	if (r->refused) {
		fputs("; ", out);
		print_count(out, r->refused, "launch not replayed", "launches not replayed");
	}
	if (r->injected) {
		fputs("; ", out);
		print_count(out, r->injected, "launch", "launches");
		fputs(" injected: not computed here, its recorded results were taken", out);
	}
	if (r->fault.equal)
		fprintf(out, "; recorded fault reproduced");
	if (r->fault.fault) {
		fputs("; ", out);
		print_count(out, r->fault.fault, "fault", "faults");
		fputs(" that the recording did not have", out);
	}
	if (r->left_out) {
		fputs("; ", out);
		print_count(out, r->left_out, "launch", "launches");
		fputs(" left out for that", out);
	}
	print_addresses(r, out);
	fputc('\n', out);
}

static void print_limits(sqlite3 *db, FILE *out)
{
	sqlite3_stmt *st = NULL;
	bool any = false;

	sqlite3_prepare_v2(
		db,
		"SELECT key, value FROM meta WHERE key IN ('ulp', 'rtol', 'atol', 'tolerances') ORDER BY key DESC",
		-1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		fprintf(out, "%s %s %s", any ? "," : "limits loosened:", text(st, 0), text(st, 1));
		any = true;
	}
	sqlite3_finalize(st);
	if (any)
		fputc('\n', out);
}

static void print_buffer(sqlite3_stmt *v, FILE *out)
{
	if (!has(v, V_BASE))
		return;
	fprintf(out, "  buffer   ");
	if (has(v, V_ALLOC))
		fprintf(out, "allocation %" PRId64 ": ", integer(v, V_ALLOC));
	fprintf(out, "%" PRId64 " bytes at 0x%" PRIx64,
		has(v, V_ABYTES) ? integer(v, V_ABYTES) : integer(v, V_BYTES), (uint64_t)integer(v, V_BASE));
	if (has(v, V_CREATED))
		fprintf(out, " (%s, made by call %" PRId64 ")", text(v, V_AKIND), integer(v, V_CREATED));
	fputc('\n', out);
}

static void print_element(sqlite3_stmt *v, FILE *out)
{
	if (!has(v, V_FIRST) || !has(v, V_WANT))
		return;
	fprintf(out, "  element  %" PRId64 " (%s, byte %" PRId64 " of the buffer): recorded %s, here %s\n",
		integer(v, V_FIRST), text(v, V_ELEM), integer(v, V_OFFSET), text(v, V_WANT), text(v, V_GOT));
	fprintf(out, "  counts   %" PRId64 " of %" PRId64 " elements differ; largest difference ",
		integer(v, V_DIFFERING), integer(v, V_ELEMENTS));
	if (has(v, V_ULP) && strstr(text(v, V_ELEM), "f"))
		fprintf(out, "%" PRIu64 " ulp, ", (uint64_t)integer(v, V_ULP));
	fprintf(out, "%.6g absolute, %.6g relative\n", sqlite3_column_double(v, V_ABS),
		sqlite3_column_double(v, V_REL));
	if (has(v, V_NOTE))
		fprintf(out, "  note     %s\n", text(v, V_NOTE));
}

static void print_place(sqlite3_stmt *st, FILE *out)
{
	if (has(st, 6))
		fprintf(out, ", block (%s) thread (%s)", text(st, 6), text(st, 7));
	if (has(st, 1))
		fprintf(out, ", launch of call %" PRId64, integer(st, 1));
}

static void print_stores(sqlite3 *db, int64_t verdict, FILE *out)
{
	sqlite3_stmt *st = NULL;
	bool first = true;

	sqlite3_prepare_v2(db,
			   "SELECT how, launch, kernel_name, line, text, source, block, thread, note FROM "
			   "store WHERE verdict = ?"
			   " ORDER BY id",
			   -1, &st, NULL);
	sqlite3_bind_int64(st, 1, verdict);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		if (!strcmp(text(st, 0), "unknown")) {
			fprintf(out, "  stored   not known: %s\n", text(st, 8));
			continue;
		}
		if (first && strcmp(text(st, 0), "watched"))
			fprintf(out, "  stored   by one of (%s):\n", text(st, 8));
		fprintf(out, "%s%s, PTX line %" PRId64 ": %s",
			!strcmp(text(st, 0), "watched") ? "  stored   by " : "           ", text(st, 2),
			integer(st, 3), text(st, 4));
		if (has(st, 5))
			fprintf(out, " (%s)", text(st, 5));
		if (!strcmp(text(st, 0), "watched"))
			print_place(st, out);
		fputc('\n', out);
		if (has(st, 8) && !strcmp(text(st, 0), "watched"))
			fprintf(out, "           %s\n", text(st, 8));
		first = false;
	}
	sqlite3_finalize(st);
}

/* Inside the kernel. */
static void print_wrong(sqlite3_stmt *v, FILE *out)
{
	const char *how = text(v, V_WRONG_HOW);

	if (!has(v, V_WRONG_LINE))
		return;
	fprintf(out, "  first wrong: PTX line %" PRId64 ": %s", integer(v, V_WRONG_LINE),
		text(v, V_WRONG_PTX));
	if (has(v, V_WRONG_SOURCE))
		fprintf(out, " (%s)", text(v, V_WRONG_SOURCE));
	if (has(v, V_WRONG_THREAD))
		fprintf(out, ", %s", text(v, V_WRONG_THREAD));
	if (has(v, V_WRONG_WANT))
		fprintf(out, ": %s%s%s, got %s", text(v, V_WRONG_OPERANDS),
			has(v, V_WRONG_OPERANDS) ? " -> " : "", text(v, V_WRONG_WANT), text(v, V_WRONG_GOT));
	if (!strcmp(how, "values") && has(v, V_WRONG_WANT))
		fputs(" (the first value that is another than in the interpreter)", out);
	else if (!strcmp(how, "store"))
		fputs(" (the line that stored it; which one before it is wrong is not known)", out);
	fputc('\n', out);
}

static void print_writer(sqlite3_stmt *v, FILE *out)
{
	const char *kind = text(v, V_KIND), *role = "the last recorded writer of the buffer";

	if (!strcmp(kind, "hash") || !strcmp(kind, "written"))
		role = "the first launch after which a buffer differs";
	else if (!strcmp(kind, "fault"))
		role = has(v, V_LINE) ? "the launch that faulted" : "the last launch before it";
	if (has(v, V_LAUNCH))
		fprintf(out, "  kernel   %s, launch of call %" PRId64 ": %s\n",
			has(v, V_KERNEL) ? text(v, V_KERNEL) : "(unnamed)", integer(v, V_LAUNCH), role);
}

/* The watched store knows better than the trace: several launches may write one buffer, and variables of a
 * module are nobody's parameter. */
static bool print_storing_kernel(sqlite3 *db, int64_t verdict, FILE *out)
{
	sqlite3_stmt *st = NULL;
	bool found;

	sqlite3_prepare_v2(db,
			   "SELECT kernel_name, launch FROM store WHERE verdict = ? AND how = 'watched' AND "
			   "kernel_name IS NOT NULL AND launch IS NOT NULL",
			   -1, &st, NULL);
	sqlite3_bind_int64(st, 1, verdict);
	found = st && sqlite3_step(st) == SQLITE_ROW;
	if (found)
		fprintf(out, "  kernel   %s, launch of call %" PRId64 ": stored the element last\n",
			text(st, 0), integer(st, 1));
	sqlite3_finalize(st);
	return found;
}

static void print_copy(sqlite3 *db, sqlite3_stmt *v, FILE *out)
{
	if (!print_storing_kernel(db, integer(v, V_ID), out))
		print_writer(v, out);
	print_buffer(v, out);
	print_element(v, out);
	print_stores(db, integer(v, V_ID), out);
	print_wrong(v, out);
}

/* A hash names the launch; the element is known when a copy showed it later. */
static void print_hash(sqlite3 *db, sqlite3_stmt *v, sqlite3_stmt *copy, FILE *out)
{
	print_writer(v, out);
	print_buffer(v, out);
	if (!copy) {
		fprintf(out,
			"  element  not known: after launches only hashes are recorded, and no copy showed a "
			"difference\n");
		print_stores(db, integer(v, V_ID), out);
		return;
	}
	fprintf(out, "  shown by call %" PRId64 " %s\n", integer(copy, V_CALL), text(copy, V_FUNC));
	if (integer(copy, V_BASE) != integer(v, V_BASE))
		print_buffer(copy, out);
	print_element(copy, out);
	print_stores(db, integer(copy, V_ID), out);
}

static void print_other(sqlite3_stmt *v, FILE *out)
{
	print_writer(v, out);
	print_buffer(v, out);
	if (has(v, V_WANT))
		fprintf(out, "  result   recorded %s, here %s\n", text(v, V_WANT), text(v, V_GOT));
	fprintf(out, "  what     %s\n", text(v, V_NOTE));
	if (!has(v, V_LINE)) {
		print_wrong(v, out);
		return;
	}
	fprintf(out, "  at       PTX line %" PRId64 ": %s", integer(v, V_LINE), text(v, V_TEXT));
	if (has(v, V_SOURCE))
		fprintf(out, " (%s)", text(v, V_SOURCE));
	fprintf(out, ", block (%s) thread (%s)\n", text(v, V_BLOCK), text(v, V_THREAD));
	print_wrong(v, out);
}

static sqlite3_stmt *first_row(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		return st;
	sqlite3_finalize(st);
	return NULL;
}

static void print_header(const char *what, sqlite3_stmt *v, FILE *out)
{
	fprintf(out, "\n%s: call %" PRId64 " %s, process %" PRId64 "\n", what, integer(v, V_CALL),
		text(v, V_FUNC), integer(v, V_PROCESS));
}

static void print_divergence(sqlite3 *db, FILE *out)
{
	sqlite3_stmt *v = first_row(db, first_sql), *copy = first_row(db, element_sql);
	const char *kind = v ? text(v, V_KIND) : "";

	if (v)
		print_header("first difference", v, out);
	if (!strcmp(kind, "copy") || !strcmp(kind, "written")) {
		print_copy(db, v, out);
	} else if (!strcmp(kind, "hash")) {
		print_hash(db, v, copy, out);
	} else if (v) {
		print_other(v, out);
		if (copy) {
			print_header("first differing copy", copy, out);
			print_copy(db, copy, out);
		}
	}
	sqlite3_finalize(copy);
	sqlite3_finalize(v);
}

/* What differs because of another launch, by that launch. */
static void print_inherited(sqlite3 *db, FILE *out)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(
		db,
		"SELECT inherited, count(*), min(call) FROM verdict WHERE pass = 1 AND grade = 'differs' AND "
		"inherited IS NOT NULL GROUP BY 1 ORDER BY 1 LIMIT 5",
		-1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW)
		fprintf(out,
			"inherited from the launch of call %" PRId64 ": %" PRId64
			" more that differ%s, the first in call %" PRId64 "\n",
			integer(st, 0), integer(st, 1), integer(st, 1) == 1 ? "s" : "", integer(st, 2));
	sqlite3_finalize(st);
}

static void print_diagnostics(sqlite3 *db, FILE *out, bool all)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(db,
			   all ? "SELECT severity, call, message, count(*) FROM diagnostic GROUP BY "
				 "severity, message ORDER BY min(id)"
			       : "SELECT severity, call, message, count(*) FROM diagnostic WHERE severity IN "
				 "('fatal', 'error', 'warning')"
				 " GROUP BY severity, message ORDER BY min(id) LIMIT 20",
			   -1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		fprintf(out, "%s: ", text(st, 0));
		if (has(st, 1))
			fprintf(out, "call %" PRId64 ": ", integer(st, 1));
		fprintf(out, "%s", text(st, 2));
		if (integer(st, 3) > 1)
			fprintf(out, " (%" PRId64 " times)", integer(st, 3));
		fputc('\n', out);
	}
	sqlite3_finalize(st);
}

/* What could not be compared, and why; one line for each reason. */
static void print_unverified(sqlite3 *db, FILE *out)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(db,
			   "SELECT min(call), func, coalesce(note, 'it could not be compared'), count(*)"
			   " FROM verdict WHERE pass = 1 AND grade = 'unverified'"
			   " GROUP BY 3 ORDER BY min(id) LIMIT 20",
			   -1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		fprintf(out, "unverified: call %" PRId64 " %s: %s", integer(st, 0), text(st, 1), text(st, 2));
		if (integer(st, 3) > 1)
			fprintf(out, " (%" PRId64 " times)", integer(st, 3));
		fputc('\n', out);
	}
	sqlite3_finalize(st);
}

/* Where no launch was computed its results are equal to themselves, which tells nothing. */
static void print_not_computed(const struct report *r, sqlite3 *db, FILE *out)
{
	sqlite3_stmt *st = NULL;

	if (!r->injected || r->launches)
		return;
	sqlite3_prepare_v2(
		db,
		"SELECT min(call), func, coalesce(note, 'it could not be made'), count(*) FROM verdict"
		" WHERE pass = 1 AND grade = 'injected' GROUP BY 3 ORDER BY min(id) LIMIT 20",
		-1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		fprintf(out, "unverified: call %" PRId64 " %s: no launch was computed here: %s",
			integer(st, 0), text(st, 1), text(st, 2));
		if (integer(st, 3) > 1)
			fprintf(out, " (%" PRId64 " times)", integer(st, 3));
		fputc('\n', out);
	}
	sqlite3_finalize(st);
}

static void print_faults(sqlite3 *db, FILE *out)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(db,
			   "SELECT call, func, kernel_name, got, note, grade FROM verdict WHERE kind = "
			   "'fault' AND pass = 1 ORDER BY call, id",
			   -1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW)
		fprintf(out, "fault: call %" PRId64 " %s: %s%s%s: %s\n", integer(st, 0), text(st, 1),
			text(st, 3), has(st, 2) ? " in kernel " : "", text(st, 2), text(st, 4));
	sqlite3_finalize(st);
}

static void print_verdicts(sqlite3 *db, FILE *out)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(db,
			   "SELECT call, kind, grade, func, kernel_name, bytes, elem_type, differing, "
			   "elements, note FROM verdict"
			   " WHERE pass = 1 ORDER BY id",
			   -1, &st, NULL);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		fprintf(out, "call %" PRId64 " %s %s: %s, %" PRId64 " bytes of %s", integer(st, 0),
			text(st, 3), text(st, 1), text(st, 2), integer(st, 5),
			has(st, 6) ? text(st, 6) : "b8");
		if (has(st, 4))
			fprintf(out, " by %s", text(st, 4));
		if (integer(st, 7))
			fprintf(out, ", %" PRId64 " of %" PRId64 " differ", integer(st, 7), integer(st, 8));
		fprintf(out, "%s%s\n", has(st, 9) ? ": " : "", text(st, 9));
	}
	sqlite3_finalize(st);
}

static const char nothing[] =
	"unverified: nothing was compared: in the part of the trace that was chosen no result was recorded (which calls are "
	"launches or copies: cutrace dump)\n";

void report_text(sqlite3 *db, FILE *out, bool verbose)
{
	struct report r;

	report_read(&r, db);
	if (verbose)
		print_verdicts(db, out);
	print_summary(&r, out);
	print_limits(db, out);
	if (report_number(db, "SELECT value = '0' FROM meta WHERE key = 'closed'"))
		fprintf(out, "note: the recording did not end properly; it was replayed up to its end\n");
	else if (report_number(db, "SELECT value = '0' FROM meta WHERE key = 'rows_verified'"))
		fprintf(out,
			"note: the trace has no hashes of its rows (an earlier cutrace made it): damage to "
			"arguments and results would not show\n");
	if (report_number(db, "SELECT value FROM meta WHERE key = 'resumed'"))
		fprintf(out, "note: %" PRId64 " launches were judged before it was interrupted\n",
			report_number(db, "SELECT value FROM meta WHERE key = 'resumed'"));
	if (r.in_flight)
		fprintf(out, "note: %" PRId64 " calls had not returned when the recording ended\n",
			r.in_flight);
	if (r.nan_payload)
		fprintf(out, "note: NaNs with other payloads in %" PRId64 " copies, taken as equal\n",
			r.nan_payload);
	if (r.nothing)
		fputs(nothing, out);
	if (r.status == REPLAY_MATCH && !report_number(db, "SELECT count(*) FROM verdict WHERE pass = 1"))
		fputs("note: nothing was compared: the calls that were replayed bring no results back\n",
		      out);
	print_faults(db, out);
	print_divergence(db, out);
	print_inherited(db, out);
	print_not_computed(&r, db, out);
	print_unverified(db, out);
	print_diagnostics(db, out, verbose);
	report_times(db, out);
}

void report_reasons(sqlite3 *db, FILE *out)
{
	struct report r;

	report_read(&r, db);
	if (r.nothing)
		fputs(nothing, out);
	print_not_computed(&r, db, out);
	print_unverified(db, out);
	print_diagnostics(db, out, false);
}
