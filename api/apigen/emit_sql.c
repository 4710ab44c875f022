/* SPDX-License-Identifier: Apache-2.0
 *
 * sql_views.c: per function, a view over the trace's call table with the parameters' names as columns
 * (trace/schema.sql). A scalar out-parameter's column is the value that came back; its
 * address is in NAME_addr.
 */
#include "apigen.h"

#include <string.h>
#include <strings.h>

/* Column names that the view has already, and SQL's rule that names ignore case. */
static const char *column_name(struct apigen *g, const struct func *f, size_t i)
{
	static const char *const taken[] = {"id",      "process", "thread", "parent",
					    "t_enter", "t_exit",  "result"};
	const char *name = f->params.v[i].name;
	bool clash = false;
	for (size_t j = 0; j < sizeof(taken) / sizeof(taken[0]); j++)
		clash |= !strcasecmp(name, taken[j]);
	for (size_t j = 0; j < i; j++)
		clash |= !strcasecmp(name, f->params.v[j].name);
	return clash ? arena_printf(&g->arena, "%s_%zu", name, i) : name;
}

static void emit_view(struct apigen *g, FILE *out, const struct func *f)
{
	unsigned slot = 0;
	fprintf(out,
		"\t\"CREATE VIEW \\\"%s\\\" AS SELECT c.id AS id, t.process AS process, c.thread AS "
		"thread,\"\n"
		"\t\" c.parent AS parent, c.t_enter AS t_enter, c.t_exit AS t_exit, c.result AS result",
		f->name);
	for (size_t i = 0; i < f->params.n; i++) {
		const char *name = column_name(g, f, i);
		if (is_out_scalar(g, &f->params.v[i]) && slot < MAX_OUT_SLOTS)
			fprintf(out, ",\"\n\t\" c.o%u AS \\\"%s\\\", c.a%zu AS \\\"%s_addr\\\"", slot++, name,
				i, name);
		else
			fprintf(out, ",\"\n\t\" c.a%zu AS \\\"%s\\\"", i, name);
	}
	fprintf(out,
		"\"\n\t\" FROM call c JOIN thread t ON t.id = c.thread\"\n"
		"\t\" WHERE c.func = (SELECT id FROM function WHERE name = '%s')\",\n",
		f->name);
}

void emit_sql(struct apigen *g, FILE *out)
{
	emit_head(out,
		  "A view per function, by function id (api_funcs). Create those that occur in a trace.");
	fputs("#include \"api/api_sql.h\"\n\nconst char *const api_sql_views[] = {\n", out);
	for (size_t i = 0; i < g->funcs.n; i++)
		emit_view(g, out, g->funcs.v[i]);
	fputs("\tNULL,\n};\n", out);
}
