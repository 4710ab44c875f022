/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known before the first call is issued: the recorded allocations and modules of the process, and
 * whether the trace has things that must be looked for at each call.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

static int add_module(void *ctx, const struct trace_module *m)
{
	struct engine *e = ctx;
	struct trace_module *rows = e->module_rows;
	size_t n = e->nmodule_rows;

	if (!(n & (n + 1))) { /* grows at 0, 1, 3, 7, ... */
		rows = realloc(rows, (2 * n + 2) * sizeof(*rows));
		if (!rows)
			return CUTRACE_ENOMEM;
		e->module_rows = rows;
	}
	rows[n] = *m;
	e->nmodule_rows = n + 1;
	return map_set(&e->modules_by_id, m->id, n);
}

/* The first row of a call counts, as in the order of the rows. */
static int index_creators(struct engine *e)
{
	int rc = 0;

	for (size_t i = e->nmodule_rows; i-- > 0 && !rc;)
		rc = map_set(&e->modules_by_call, e->module_rows[i].created, i);
	return rc;
}

static int64_t query_int(struct engine *e, const char *sql, int64_t otherwise)
{
	sqlite3_stmt *st;
	int64_t v = otherwise;

	if (sqlite3_prepare_v2(trace_db(e->trace), sql, -1, &st, NULL) != SQLITE_OK)
		return otherwise;
	if (sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

/* ---- variables ---------------------------------------------------------- */

struct plan_global {
	uint64_t call, module, address;
	uint64_t loaded; /* call that made the module */
	const char *name;
};

/* Valid until other memory is loaded. */
static const char *recorded_name(struct engine *e, uint64_t call, uint64_t address)
{
	if (trace_memory_load(e->memory[0], call, 0))
		return NULL;
	for (size_t n = 1; n < 4096; n++) {
		const char *s = trace_memory_read(e->memory[0], address, n);

		if (!s)
			return NULL;
		if (!s[n - 1])
			return s;
	}
	return NULL;
}

static void add_global(struct engine *e, const struct plan_global *g)
{
	struct plan_global *rows = e->globals;
	size_t n = e->nglobals;

	if (!(n & (n + 1))) { /* grows at 0, 1, 3, 7, ... */
		rows = realloc(rows, (2 * n + 2) * sizeof(*rows));
		if (!rows)
			return;
		e->globals = rows;
	}
	rows[n] = *g;
	rows[n].name = arena_strdup(&e->arena, g->name);
	if (!rows[n].name)
		return;
	e->nglobals = n + 1;
	map_set(&e->globals_by_address, g->address, n);
}

/* Programs ask for the same variable of the same module again and again. */
static bool is_known(struct engine *e, const struct plan_global *g)
{
	const struct plan_global *last;
	uint64_t i;

	if (!map_get(&e->globals_by_address, g->address, &i))
		return false;
	last = &e->globals[i];
	return last->module == g->module && last->loaded == g->loaded && !strcmp(last->name, g->name);
}

/* Follows the handles of modules up to a call: a handle may have been another module's before. */
static uint64_t loaded_by(struct engine *e, struct map *loads, size_t *next, const struct plan_global *g)
{
	uint64_t call = 0;

	for (; *next < e->nmodule_rows && e->module_rows[*next].created < g->call; ++*next)
		map_set(loads, e->module_rows[*next].handle, e->module_rows[*next].created);
	map_get(loads, g->module, &call);
	return call;
}

/* (dptr, bytes, module or library, name). Where a module's variables lie is decided when it is loaded, what
 * the recorded addresses were is only seen when the program asked for them. */
static void find_globals(struct engine *e)
{
	sqlite3_stmt *st = NULL;
	struct map loads = {0};
	size_t next = 0;

	sqlite3_prepare_v2(trace_db(e->trace),
			   "SELECT c.id, c.a2, c.a3, c.o0 FROM call c JOIN thread t ON t.id = c.thread WHERE "
			   "t.process = ? AND"
			   " c.func IN (SELECT id FROM function WHERE name IN ('cuModuleGetGlobal_v2', "
			   "'cuLibraryGetGlobal',"
			   " 'cuLibraryGetManaged')) AND c.result = 0 AND c.o0 IS NOT NULL ORDER BY c.id",
			   -1, &st, NULL);
	if (!st)
		return;
	sqlite3_bind_int64(st, 1, e->process);
	while (sqlite3_step(st) == SQLITE_ROW) {
		struct plan_global g = {.call = (uint64_t)sqlite3_column_int64(st, 0),
					.module = (uint64_t)sqlite3_column_int64(st, 1),
					.address = (uint64_t)sqlite3_column_int64(st, 3)};

		g.name = recorded_name(e, g.call, (uint64_t)sqlite3_column_int64(st, 2));
		g.loaded = loaded_by(e, &loads, &next, &g);
		if (g.name && !is_known(e, &g))
			add_global(e, &g);
	}
	map_free(&loads);
	sqlite3_finalize(st);
}

unsigned plan_globals_of(struct engine *e, uint64_t load_call, const char ***names, uint64_t **addresses)
{
	const struct trace_module *m = plan_module_created(e, load_call);
	unsigned n = 0;

	*names = calloc(e->nglobals + 1, sizeof(**names));
	*addresses = calloc(e->nglobals + 1, sizeof(**addresses));
	for (size_t i = 0; m && *names && *addresses && i < e->nglobals; i++) {
		const struct plan_global *g = &e->globals[i];

		if (g->module != m->handle || g->call < load_call || (m->destroyed && g->call > m->destroyed))
			continue;
		(*names)[n] = g->name;
		(*addresses)[n++] = g->address;
	}
	return n;
}

const char *plan_global_name(struct engine *e, uint64_t address)
{
	uint64_t i;

	return map_get(&e->globals_by_address, address, &i) ? e->globals[i].name : NULL;
}

/* ------------------------------------------------------------------------- */

int plan_make(struct engine *e, struct diag *d)
{
	if (trace_modules(e->trace, e->process, add_module, e) < 0 || index_creators(e))
		return diag_set(d, CUTRACE_ECORRUPT, e->opt->trace_path, "cannot read its modules");
	e->nallocations = (uint64_t)query_int(e, "SELECT max(id) FROM allocation", 0);
	e->has_host_writes = query_int(e, "SELECT EXISTS (SELECT 1 FROM host_write)", 0) != 0;
	find_globals(e);
	return 0;
}

void plan_free(struct engine *e)
{
	free(e->globals);
	sqlite3_finalize(e->allocation_row);
	free(e->module_rows);
	map_free(&e->modules_by_id);
	map_free(&e->modules_by_call);
	map_free(&e->globals_by_address);
}

/* ---- allocations ---------------------------------------------------------- */

static const char *const kinds[] = {"device", "host", "registered", "managed", "vmm", "global", "pool"};

static const char *kind_literal(const char *kind)
{
	for (unsigned i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i], kind))
			return kinds[i];
	return "device";
}

/* The first row from id on. */
static bool allocation_from(sqlite3_stmt *st, uint64_t id)
{
	sqlite3_reset(st);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	return sqlite3_step(st) == SQLITE_ROW;
}

/* Rows are in order of creation, so the call's are found by halves: nothing is kept of a trace of many. */
bool plan_allocation(struct engine *e, uint64_t call, uint64_t base, uint64_t *id, const char **kind)
{
	static const char sql[] =
		"SELECT id,created,base,kind,process FROM allocation WHERE id>=? ORDER BY id";
	uint64_t low = 1, high = e->nallocations + 1;
	sqlite3_stmt *st = e->allocation_row;
	bool found = false;

	if (!st && sqlite3_prepare_v2(trace_db(e->trace), sql, -1, &e->allocation_row, NULL) != SQLITE_OK)
		return false;
	st = e->allocation_row;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (allocation_from(st, mid) && (uint64_t)sqlite3_column_int64(st, 1) < call)
			low = (uint64_t)sqlite3_column_int64(st, 0) + 1;
		else
			high = mid;
	}
	for (found = allocation_from(st, low); found; found = sqlite3_step(st) == SQLITE_ROW) {
		if ((uint64_t)sqlite3_column_int64(st, 1) > call) {
			found = false;
			break;
		}
		if ((uint64_t)sqlite3_column_int64(st, 1) == call &&
		    (uint64_t)sqlite3_column_int64(st, 2) == base &&
		    sqlite3_column_int64(st, 4) == e->process)
			break;
	}
	if (found) {
		*id = (uint64_t)sqlite3_column_int64(st, 0);
		*kind = kind_literal((const char *)sqlite3_column_text(st, 3));
	}
	sqlite3_reset(st);
	return found;
}

const struct trace_module *plan_module_created(struct engine *e, uint64_t call)
{
	uint64_t i;

	return map_get(&e->modules_by_call, call, &i) ? &e->module_rows[i] : NULL;
}

const struct trace_module *plan_module(struct engine *e, uint64_t id)
{
	uint64_t i;

	return map_get(&e->modules_by_id, id, &i) ? &e->module_rows[i] : NULL;
}

bool plan_context_device(struct engine *e, uint64_t recorded, uint64_t *device)
{
	sqlite3_stmt *st;
	bool found = false;

	if (sqlite3_prepare_v2(trace_db(e->trace),
			       "SELECT device FROM context WHERE process = ? AND handle = ?", -1, &st,
			       NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_int64(st, 1, e->process);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)recorded);
	if (sqlite3_step(st) == SQLITE_ROW) {
		*device = (uint64_t)sqlite3_column_int64(st, 0);
		found = true;
	}
	sqlite3_finalize(st);
	return found;
}
