/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <sqlite3.h>

char dir[64], trace_path[128], log_path[128], result_path[128];
struct builder b;

bool scene_begin(void)
{
	snprintf(dir, sizeof(dir), "/tmp/cutrace-test-replay-XXXXXX");
	if (!mkdtemp(dir))
		return false;
	snprintf(trace_path, sizeof(trace_path), "%s/trace", dir);
	snprintf(log_path, sizeof(log_path), "%s/log", dir);
	snprintf(result_path, sizeof(result_path), "%s/result.db", dir);
	return true;
}

int scene_end(int rc)
{
	char command[128];

	if (rc)
		return rc;
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command) != 0;
}

void name_memory(uint64_t call, unsigned param, const char *name)
{
	builder_memory(&b, call, param, HOST, name, strlen(name) + 1);
}

void make_context(uint64_t ctx, uint64_t device)
{
	builder_out(&b, 0, ctx);
	CALL(&b, "cuCtxCreate_v2", HOST, 0, device);
}

uint64_t allocate(uint64_t base, uint64_t bytes)
{
	uint64_t call;

	builder_out(&b, 0, base);
	call = CALL(&b, "cuMemAlloc_v2", HOST, bytes);
	builder_allocation(&b, call, base, bytes);
	return call;
}

uint64_t upload(uint64_t dst, const void *data, size_t bytes)
{
	uint64_t call = CALL(&b, "cuMemcpyHtoD_v2", dst, HOST, bytes);

	builder_payload(&b, call, 1, "h2d", HOST, dst, data, bytes);
	return call;
}

uint64_t download(uint64_t src, const void *data, size_t bytes)
{
	uint64_t call = CALL(&b, "cuMemcpyDtoH_v2", HOST, src, bytes);

	builder_payload(&b, call, 0, "d2h", HOST, src, data, bytes);
	return call;
}

/* First value of a query over the result database, as text. */
const char *result(const char *sql)
{
	static char value[1024];
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_open_v2(result_path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	snprintf(value, sizeof(value), "%s",
		 sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0)
			 ? (const char *)sqlite3_column_text(st, 0)
			 : "");
	sqlite3_finalize(st);
	sqlite3_close(db);
	return value;
}
