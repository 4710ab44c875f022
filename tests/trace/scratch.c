/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[256];

int scratch_setup(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof(folder), "%s/cutrace-test-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

int scratch_teardown(void **state)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	(void)state;
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlink(scratch_path(e->d_name));
	if (d)
		closedir(d);
	return rmdir(folder);
}

const char *scratch_path(const char *name)
{
	static char path[4][512];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	return p;
}

static void must(int rc, const struct diag *d)
{
	if (rc)
		fail_msg("%s: %s (%s)", d->where, d->what, d->hint);
}

struct trace_writer *scratch_writer(const char *name)
{
	struct diag d = DIAG_INIT;
	struct trace_writer *w;

	must(trace_writer_open(&w, scratch_path(name), &d), &d);
	return w;
}

void scratch_close(struct trace_writer *w)
{
	struct diag d = DIAG_INIT;

	must(trace_writer_close(w, &d), &d);
}

struct trace *scratch_open(const char *name)
{
	struct diag d = DIAG_INIT;
	struct trace *t;

	must(trace_open(&t, scratch_path(name), &d), &d);
	return t;
}

bool scratch_exists(const char *name, const char *suffix)
{
	char path[600];

	snprintf(path, sizeof(path), "%s%s", scratch_path(name), suffix);
	return access(path, F_OK) == 0;
}

void scratch_copy(const char *from, const char *to)
{
	FILE *in = fopen(scratch_path(from), "rb"), *out = fopen(scratch_path(to), "wb");
	char buf[65536];
	size_t n;

	assert_non_null(in);
	assert_non_null(out);
	while ((n = fread(buf, 1, sizeof(buf), in)))
		assert_int_equal(fwrite(buf, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

uint32_t scratch_basics(struct trace_writer *w)
{
	struct trace_process p = {
		.id = 1, .pid = 4711, .exe = "/bin/app", .argv_json = "[\"app\"]", .cwd = "/"};
	struct trace_thread t = {.id = 1, .process = 1, .tid = 4711};

	assert_int_equal(trace_writer_process(w, &p), 0);
	assert_int_equal(trace_writer_thread(w, &t), 0);
	return trace_writer_function(w, "cuMemAlloc_v2", "cuda", true, 2,
				     "CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)");
}

struct trace_call scratch_call(uint64_t id, uint32_t func)
{
	return (struct trace_call){
		.id = id,
		.thread = 1,
		.func = func,
		.t_enter = (int64_t)id * 1000,
		.t_exit = (int64_t)id * 1000 + 500,
		.seq_seen = id,
		.done = true,
		.nargs = 2,
		.args = {0x7fff00000000 + id, id * 16},
		.nouts = 1,
		.outs = {0x550000000000 + id * 256},
		.outs_valid = 1,
	};
}

int64_t scratch_query(const char *path, const char *sql)
{
	sqlite3_stmt *s;
	sqlite3 *db;
	int64_t v;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	v = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return v;
}

void scratch_change(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

void scratch_noise(uint8_t *p, size_t n, uint64_t seed)
{
	uint64_t x = seed * 2 + 1;
	size_t i;

	for (i = 0; i < n; i++) { /* xorshift64 */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)(x >> 32);
	}
}
