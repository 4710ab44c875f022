/* SPDX-License-Identifier: Apache-2.0
 *
 * Every view can be created over the trace's tables, and shows arguments under their names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "api/api.h"
#include "api/api_sql.h"

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);
	if (!f || !text || !fread(text, 1, (1 << 20) - 1, f))
		fail_msg("cannot read %s", path);
	fclose(f);
	return text;
}

static void run(sqlite3 *db, const char *sql)
{
	char *err = NULL;
	if (sqlite3_exec(db, sql, NULL, NULL, &err))
		fail_msg("%s: %s", sql, err);
}

static int open_trace(void **state)
{
	sqlite3 *db;
	char *schema = read_text(SCHEMA);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	run(db, schema);
	free(schema);
	*state = db;
	return 0;
}

static int close_trace(void **state)
{
	return sqlite3_close(*state);
}

static void every_view(void **state)
{
	char sql[512];
	for (unsigned i = 0; i < api_nfuncs; i++) {
		run(*state, api_sql_views[i]);
		snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"; DROP VIEW \"%s\"", api_funcs[i].name,
			 api_funcs[i].name);
		run(*state, sql);
	}
	assert_null(api_sql_views[api_nfuncs]);
}

static int64_t query(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;
	int64_t v;
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return v;
}

static void columns(void **state)
{
	run(*state,
	    "INSERT INTO thread(id, process) VALUES(1, 5);"
	    "INSERT INTO function(id, name, library, known, nparams) VALUES"
	    " (3, 'cuMemAllocPitch_v2', 'cuda', 1, 5), (4, 'cuInit', 'cuda', 1, 1);"
	    "INSERT INTO call(id, thread, func, t_enter, t_exit, result, a0, a1, a2, a3, a4, o0, o1) VALUES"
	    " (7, 1, 3, 10, 20, 2, 111, 222, 64, 8, 4, 5000, 512), (8, 1, 4, 30, 40, 0, 0, 0, 0, 0, 0, 0, "
	    "0)");
	run(*state, api_sql_views[api_func_id(api_func_find("cuMemAllocPitch_v2"))]);
#define COLUMN(name) query(*state, "SELECT " name " FROM cuMemAllocPitch_v2")
	assert_int_equal(COLUMN("count(*)"), 1);
	assert_int_equal(COLUMN("id"), 7);
	assert_int_equal(COLUMN("process"), 5);
	assert_int_equal(COLUMN("thread"), 1);
	assert_int_equal(COLUMN("t_exit - t_enter"), 10);
	assert_int_equal(COLUMN("result"), 2);
	assert_int_equal(COLUMN("dptr"), 5000);     /* what came back */
	assert_int_equal(COLUMN("dptr_addr"), 111); /* where it was written to */
	assert_int_equal(COLUMN("pPitch"), 512);
	assert_int_equal(COLUMN("WidthInBytes"), 64);
	assert_int_equal(COLUMN("Height"), 8);
	assert_int_equal(COLUMN("ElementSizeBytes"), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_view, open_trace, close_trace),
		cmocka_unit_test_setup_teardown(columns, open_trace, close_trace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
