/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions, kernels and code of the two traces, by name: the same query on both, and the answers merged.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "diff/compare.h"

/* Columns: name (in order), count, nanoseconds, identity of the code. */
static const char functions_sql[] =
	"SELECT function.name, count(*), sum(max(coalesce(t_exit, t_enter) - t_enter, 0)), '' "
	"FROM call, function WHERE function.id = func GROUP BY 1 ORDER BY 1";
static const char kernels_sql[] =
	"SELECT k.name, count(l.call), 0, group_concat(DISTINCT hex(b.hash)) FROM kernel k "
	"LEFT JOIN launch l ON l.kernel = k.id LEFT JOIN module m ON m.id = k.module "
	"LEFT JOIN module p ON p.id = m.parent LEFT JOIN image i ON i.buffer = coalesce(m.image, p.image) "
	"LEFT JOIN buffer b ON b.id = coalesce(i.ptx, i.buffer) GROUP BY 1 ORDER BY 1";
static const char code_sql[] =
	"SELECT substr(hex(b.hash), 1, 16) || ' ' || i.kind || ' ' || coalesce(i.archs, ''), 1, 0, '' "
	"FROM image i, buffer b WHERE b.id = i.buffer GROUP BY 1 ORDER BY 1";

static const char *text(sqlite3_stmt *s, int column)
{
	const char *t = (const char *)sqlite3_column_text(s, column);

	return t ? t : "";
}

static struct table_row *add_row(struct comparison *c, struct table *t, const char *name)
{
	if (t->n == t->capacity) {
		unsigned more = t->capacity ? t->capacity * 2 : 64;
		struct table_row *v = reallocarray(t->v, more, sizeof(*v));

		if (!v)
			return NULL;
		t->v = v;
		t->capacity = more;
	}
	struct table_row *r = &t->v[t->n];
	*r = (struct table_row){.name = arena_strdup(&c->arena, name)};
	if (!r->name)
		return NULL;
	t->n++;
	return r;
}

/* -1, 0, 1: whose name comes first; the end of an answer comes last. */
static int first_of(sqlite3_stmt *a, bool has_a, sqlite3_stmt *b, bool has_b)
{
	if (!has_a || !has_b)
		return has_a ? -1 : 1;
	return strcmp(text(a, 0), text(b, 0));
}

static bool merge(struct comparison *c, struct table *t, sqlite3_stmt *a, sqlite3_stmt *b)
{
	bool has_a = sqlite3_step(a) == SQLITE_ROW, has_b = sqlite3_step(b) == SQLITE_ROW;

	while (has_a || has_b) {
		int order = first_of(a, has_a, b, has_b);
		bool in[2] = {order <= 0, order >= 0};
		struct table_row *r = add_row(c, t, text(in[0] ? a : b, 0));

		if (!r)
			return false;
		for (unsigned k = 0; k < 2; k++) {
			r->in[k] = in[k];
			r->count[k] = in[k] ? (uint64_t)sqlite3_column_int64(k ? b : a, 1) : 0;
			r->ns[k] = in[k] ? sqlite3_column_int64(k ? b : a, 2) : 0;
		}
		r->same_code = !order && !strcmp(text(a, 3), text(b, 3));
		has_a = in[0] ? sqlite3_step(a) == SQLITE_ROW : has_a;
		has_b = in[1] ? sqlite3_step(b) == SQLITE_ROW : has_b;
	}
	return true;
}

static bool make(struct comparison *c, struct table *t, const char *sql)
{
	sqlite3_stmt *a = NULL, *b = NULL;
	bool ok = sqlite3_prepare_v2(trace_db(c->a.trace), sql, -1, &a, NULL) == SQLITE_OK &&
		  sqlite3_prepare_v2(trace_db(c->b.trace), sql, -1, &b, NULL) == SQLITE_OK &&
		  merge(c, t, a, b);

	sqlite3_finalize(a);
	sqlite3_finalize(b);
	return ok;
}

bool tables_make(struct comparison *c)
{
	return make(c, &c->functions, functions_sql) && make(c, &c->kernels, kernels_sql) &&
	       make(c, &c->code, code_sql);
}
