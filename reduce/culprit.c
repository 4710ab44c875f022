/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reduce/judge.h"
#include "reduce/reduce.h"
#include "replay/replay.h"

static void find_block(struct culprit *c, const char *wrong_thread, const char *store_block)
{
	uint32_t *b = c->block;

	c->has_block = (wrong_thread && sscanf(wrong_thread, "block (%u,%u,%u)", &b[0], &b[1], &b[2]) == 3) ||
		       (store_block && sscanf(store_block, "%u,%u,%u", &b[0], &b[1], &b[2]) == 3);
}

/* "@%p1 fma.rn.f32 %f1, ...": the word that is no guard. */
static void find_op(char *op, size_t size, const char *ptx)
{
	size_t n;

	ptx += strspn(ptx, " \t");
	if (*ptx == '@') {
		ptx += strcspn(ptx, " \t");
		ptx += strspn(ptx, " \t");
	}
	n = strcspn(ptx, " \t;");
	snprintf(op, size, "%.*s", (int)(n < size ? n : size - 1), ptx);
}

static void find_line(struct culprit *c, sqlite3_stmt *st)
{
	const char *wrong = (const char *)sqlite3_column_text(st, 5),
		   *stored = (const char *)sqlite3_column_text(st, 7);

	if (wrong) {
		snprintf(c->line, sizeof(c->line), "PTX line %d: %s", sqlite3_column_int(st, 4), wrong);
		find_op(c->op, sizeof(c->op), wrong);
	} else if (stored) {
		snprintf(c->line, sizeof(c->line), "stored by PTX line %d: %s", sqlite3_column_int(st, 6),
			 stored);
	} else {
		c->line[0] = '\0';
	}
}

bool culprit_find(struct culprit *c, const char *result)
{
	static const char sql[] =
		"SELECT CASE WHEN v.launch > 0 THEN v.launch ELSE v.call END, v.kernel_name, v.grade, v.wrong_thread, v.wrong_line, v.wrong_ptx, s.line, s.text, s.block"
		" FROM verdict v LEFT JOIN store s ON s.verdict = v.id WHERE v.pass = 1 AND v.grade IN ('differs', "
		"'fault') AND v.kind IN ('written', 'fault') ORDER BY v.call, v.wrong_ptx IS NULL, s.id IS NULL, v.id LIMIT 1";
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	bool found = false;

	memset(c, 0, sizeof(*c));
	if (sqlite3_open_v2(result, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
	    sqlite3_column_text(st, 1)) {
		found = true;
		c->call = (uint64_t)sqlite3_column_int64(st, 0);
		snprintf(c->kernel, sizeof(c->kernel), "%s", (const char *)sqlite3_column_text(st, 1));
		c->fault = !strcmp((const char *)sqlite3_column_text(st, 2), "fault");
		find_block(c, (const char *)sqlite3_column_text(st, 3),
			   (const char *)sqlite3_column_text(st, 8));
		find_line(c, st);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	return found;
}

int culprit_replay(const struct judge *j, const char *trace, const char *result, const char *launches,
		   struct diag *d)
{
	const char *more[] = {launches ? "--launches" : NULL, launches, NULL};
	int status = judge_replay(j, trace, result, more);

	if (status == REPLAY_MATCH || status == REPLAY_DIFFERS)
		return 0;
	if (status == WORKROOM_TOO_LONG)
		return diag_set(d, CUTRACE_EIO, trace, "its replay takes too long");
	if (status == WORKROOM_SIGNAL)
		return diag_set(d, CUTRACE_EIO, trace,
				workroom_interrupted() ? "interrupted" : "its replay ended by a signal");
	diag_set(d, CUTRACE_EIO, trace, "it can't be replayed%s: %s", j->in_order ? "" : " launch by launch",
		 workroom_reason(j->room, "target.err"));
	diag_hint(d, j->in_order ? "`cutrace replay` tells more" : "`cutrace replay --isolated` tells more");
	return d->code;
}

bool parse_duration(const char *text, double *seconds)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
	char *end;

	*seconds = *text >= '0' && *text <= '9' ? strtod(text, &end) : 0;
	for (unsigned i = 0; *seconds > 0 && *seconds < 1e9 && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].unit)) {
			*seconds *= units[i].seconds;
			return true;
		}
	return false;
}

int move_file(const char *from, const char *to, struct diag *d)
{
	char piece[1 << 16];
	ssize_t n = 1;
	int in, out;

	if (!rename(from, to))
		return 0;
	in = open(from, O_RDONLY | O_CLOEXEC);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	while (in >= 0 && out >= 0 && (n = read(in, piece, sizeof(piece))) > 0)
		if (write(out, piece, (size_t)n) != n) {
			n = -1;
			break;
		}
	if (in < 0 || out < 0 || n)
		diag_set(d, CUTRACE_EIO, to, "it can't be put there: %s", strerror(errno));
	if (in >= 0)
		close(in);
	if (out >= 0 && (close(out) || n)) {
		unlink(to);
		return d->code ? d->code : diag_set(d, CUTRACE_EIO, to, "it can't be written");
	}
	return d->code;
}
