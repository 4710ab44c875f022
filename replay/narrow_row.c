/* SPDX-License-Identifier: Apache-2.0
 *
 * What was found in a launch as columns of the result's rows.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "replay/narrow_search.h"

static void place_text(const uint32_t *size, uint64_t linear, const char *what, char *out, size_t bytes)
{
	snprintf(out, bytes, "%s (%llu,%llu,%llu)", what, (unsigned long long)(linear % size[0]),
		 (unsigned long long)(linear / size[0] % size[1]),
		 (unsigned long long)(linear / size[0] / size[1]));
}

static void write_row(struct narrow_launch *l, sqlite3 *db, const char *const *columns, uint32_t line)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(
		db,
		"UPDATE verdict SET wrong_line = ?, wrong_ptx = ?, wrong_source = ?, wrong_operands = "
		"?, wrong_want = ?, wrong_got = ?, wrong_thread = ?, wrong_how = ?, note = CASE WHEN ?9 "
		"IS NULL THEN note ELSE coalesce(note || '; ', '') || ?9 END WHERE pass = 1 AND process = "
		"?10 AND ((call = ?11 AND kind = 'written' AND grade = 'differs') OR (launch = ?11 AND kind = "
		"'fault' AND grade = 'fault'))",
		-1, &st, NULL);
	if (line)
		sqlite3_bind_int64(st, 1, line);
	for (int k = 0; k < 7; k++)
		if (columns[k] && columns[k][0])
			sqlite3_bind_text(st, k + 2, columns[k], -1, SQLITE_STATIC);
	if (l->note[0])
		sqlite3_bind_text(st, 9, l->note, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 10, l->process);
	sqlite3_bind_int64(st, 11, (sqlite3_int64)l->call);
	sqlite3_step(st);
	sqlite3_finalize(st);
}

static void untab(char *s)
{
	for (; *s; s++)
		if (*s == '\t')
			*s = ' ';
}

static void write_finding(struct narrow_launch *l, sqlite3 *db)
{
	static const char *const hows[] = {
		[NARROW_INSTRUCTION] = "instruction", [NARROW_VALUES] = "values", [NARROW_STORE] = "store"};
	const struct narrow_finding *f = &l->best;
	char ptx[200] = "", source[200] = "", operands[600] = "", want[200] = "", got[200] = "", thread[160],
	     block[80], in_block[80];
	struct narrow_record r = {.site = f->site, .words = f->got};

	ptx_line_text(l->m, f->site->line, ptx, sizeof(ptx));
	untab(ptx);
	ptx_inst_source(l->m, narrow_inst(f->site), source, sizeof(source));
	if (f->has_got)
		narrow_operands_text(&r, operands, sizeof(operands));
	if (f->has_got && f->has_want && f->result) {
		narrow_result_text(f->site, f->result, f->want, want, sizeof(want));
		narrow_result_text(f->site, f->result, f->got, got, sizeof(got));
	}
	place_text(l->row.grid, l->best_block, "block", block, sizeof(block));
	place_text(l->row.block, l->best_thread, "thread", in_block, sizeof(in_block));
	snprintf(thread, sizeof(thread), "%s %s", block, in_block);
	if (f->note && !l->note[0])
		snprintf(l->note, sizeof(l->note), "PTX line %u: %s", f->site->line, f->note);
	write_row(l, db,
		  (const char *const[]){ptx, source, operands, want, got, l->everywhere ? NULL : thread,
					hows[f->how]},
		  f->site->line);
}

/* Only who stored it. */
static void write_store(struct narrow_launch *l, sqlite3 *db)
{
	char thread[160];

	snprintf(thread, sizeof(thread), "block (%u,%u,%u) thread (%u,%u,%u)", l->hit.block[0],
		 l->hit.block[1], l->hit.block[2], l->hit.thread[0], l->hit.thread[1], l->hit.thread[2]);
	write_row(l, db,
		  (const char *const[]){l->hit.text, l->hit.source, NULL, NULL, NULL,
					l->has_hit ? thread : NULL, l->has_hit ? "store" : NULL},
		  l->has_hit ? l->hit.line : 0);
}

/* What the results leave open, an instruction does not. */
static void grade_anew(const struct narrow_launch *l, sqlite3 *db)
{
	sqlite3_stmt *st = NULL;

	sqlite3_prepare_v2(
		db,
		"UPDATE verdict SET grade = 'differs', note = coalesce(note || '; ', '') || 'but an instruction whose "
		"result the ISA defines gave another one' WHERE pass = 1 AND process = ?1 AND call = ?2 AND kind = "
		"'written' AND grade IN ('inside', 'chaotic')",
		-1, &st, NULL);
	sqlite3_bind_int64(st, 1, l->process);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)l->call);
	sqlite3_step(st);
	sqlite3_finalize(st);
}

void narrow_write(struct narrow_launch *l)
{
	bool found = l->best.how != NARROW_NOTHING;
	struct result_db *db;
	struct diag d = DIAG_INIT;

	if ((l->legal && !found) || result_open(&db, l->s->result_path, false, &d))
		return;
	if (l->legal)
		grade_anew(l, result_sqlite(db));
	if (found)
		write_finding(l, result_sqlite(db));
	else if (!l->faults)
		write_store(l, result_sqlite(db));
	result_close(db);
}
