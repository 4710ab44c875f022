/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/internal.h"

#define MAX_STEPS 64 /* over rows of calls nobody asked about; then seeking is cheaper */

static void step(struct call_cursor *c)
{
	if (sqlite3_step(c->s) == SQLITE_ROW)
		c->at = (uint64_t)sqlite3_column_int64(c->s, 0);
	else
		c->at = UINT64_MAX;
}

static bool seek(struct trace *t, struct call_cursor *c, const char *sql, uint64_t call)
{
	c->valid = false;
	if (!c->s && sqlite3_prepare_v2(t->db, sql, -1, &c->s, NULL) != SQLITE_OK)
		return false;
	sqlite3_reset(c->s);
	sqlite3_bind_int64(c->s, 1, (int64_t)call);
	step(c);
	c->valid = t->closed;
	return true;
}

bool reader_cursor_seek(struct trace *t, struct call_cursor *c, const char *sql, uint64_t call)
{
	unsigned i;

	for (i = 0; c->valid && call >= c->from && c->at < call && i < MAX_STEPS; i++)
		step(c);
	if ((!c->valid || call < c->from || c->at < call) && !seek(t, c, sql, call))
		return false;
	c->from = call;
	if (!t->closed && c->at != call)
		sqlite3_reset(c->s);
	return c->at == call;
}

bool reader_cursor_next(struct call_cursor *c, uint64_t call)
{
	step(c);
	c->from = call + 1;
	if (!c->valid && c->at != call)
		sqlite3_reset(c->s);
	return c->at == call;
}

void reader_cursor_close(struct call_cursor *c)
{
	sqlite3_finalize(c->s);
	c->s = NULL;
	c->valid = false;
}
