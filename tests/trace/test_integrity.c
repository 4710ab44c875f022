/* SPDX-License-Identifier: Apache-2.0
 * Rows that are not those that were recorded: whatever byte of a closed file is changed, its rows say the same as
 * before, or the trace is refused and the table and rows are named. */
#include "scratch.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* At least one row in each table, several groups of calls. */
static void fill(struct trace_writer *w, uint64_t ncalls)
{
	uint32_t func = scratch_basics(w);
	struct trace_device dev = {1, 0, "device", 90, 1 << 20, 2, {1, 2}};
	struct trace_allocation a = {
		.process = 1, .base = 0x1000, .bytes = 64, .kind = "device", .created = 1};
	struct trace_module m = {.process = 1, .handle = 7, .created = 2};
	struct trace_kernel_param p = {"p", "u64", 0, 8, true, true, true, "f32"};
	struct trace_kernel k = {
		.name = "kernel", .has_ptx = true, .param_bytes = 8, .nparams = 1, .params = &p};
	struct trace_launch l = {.call = 3, .grid = {1, 2, 3}, .block = {4, 5, 6}};
	struct trace_launch_hash h = {.launch = 3, .base = 0x1000, .bytes = 64, .hash = {{9}}};
	struct trace_payload pay = {
		.call = 4, .param = 1, .kind = "d2h", .width = 5, .height = 1, .depth = 1};
	struct trace_image i = {.kind = "ptx", .archs = "ptx:80"};

	trace_writer_device(w, &dev);
	for (uint64_t id = 1; id <= ncalls; id++) {
		struct trace_call c = scratch_call(id, func);

		c.nargs = id == 5 ? 20 : c.nargs;
		assert_int_equal(trace_writer_call(w, &c), 0);
	}
	trace_writer_call_memory(w, 2, 0, "memory of a call", 16);
	assert_int_equal(trace_writer_buffer(w, "bytes", 5, &pay.buffer), 0);
	trace_writer_payload(w, &pay);
	i.buffer = pay.buffer;
	trace_writer_image(w, &i);
	trace_writer_allocation(w, &a);
	trace_writer_module(w, &m);
	k.module = m.id;
	trace_writer_kernel(w, &k);
	trace_writer_kernel_handle(w, 1, 0xabc, k.id, 2);
	l.kernel = k.id;
	trace_writer_launch(w, &l);
	trace_writer_launch_hash(w, &h);
	trace_writer_context(w, 1, 0x77, 0, true, 1, 0);
	trace_writer_stream(w, 1, 0x88, 0x77, 0, 0, 1, 0);
	trace_writer_host_write(w, 3, 0x1000, 5, pay.buffer);
	trace_writer_diagnostic(w, 1, 1, 3, "info", "recorder", "a message");
	trace_writer_overhead(w, 1, "calls", 1, 2, 3);
}

static void make(const char *name, uint64_t ncalls)
{
	struct trace_writer *w = scratch_writer(name);

	fill(w, ncalls);
	scratch_close(w);
}

static int check(const char *name, struct diag *d)
{
	struct trace *t;
	int rc = trace_open(&t, scratch_path(name), d);

	if (rc)
		return rc;
	rc = trace_check_rows(t, NULL, NULL, d);
	trace_close(t);
	return rc;
}

static void test_good(void **state)
{
	struct diag d = DIAG_INIT;
	struct trace *t;

	(void)state;
	make("good", 2000);
	t = scratch_open("good");
	assert_true(trace_has_row_hashes(t));
	assert_int_equal(trace_check(t, NULL, NULL, &d), 0);
	trace_close(t);
	assert_int_equal(check("good", &d), 0);
	/* Every table is covered, calls in groups that meet. */
	assert_int_equal(
		scratch_query(scratch_path("good"),
			      "SELECT count(*) FROM sqlite_master WHERE type='table' AND name NOT IN "
			      "('row_hash', 'result_name') AND name NOT LIKE 'sqlite%' AND name NOT IN "
			      "(SELECT tbl FROM row_hash)"),
		0);
	assert_int_equal(
		scratch_query(scratch_path("good"), "SELECT count(*) FROM row_hash WHERE tbl='call'"), 8);
	/* What moves pages but no rows is no damage: views, indexes and order in the file are nobody's promise. */
	scratch_change(
		scratch_path("good"),
		"CREATE INDEX mine ON call(a0); CREATE VIEW v AS SELECT 1; PRAGMA page_size=8192; VACUUM");
	assert_int_equal(check("good", &d), 0);
}

static void test_changed_rows(void **state)
{
	static const struct {
		const char *sql, *says;
	} cases[] = {
		{"UPDATE call SET a1=a1+1 WHERE id=700", "table call, rows 513 to 768 are not as recorded"},
		{"UPDATE call SET result=1 WHERE id=1", "table call, rows 1 to 256"},
		{"UPDATE call SET o0=NULL WHERE id=2000", "table call, rows 1793 to 2000"},
		{"UPDATE call SET t_exit=t_exit+1 WHERE id=257", "table call, rows 257 to 512"},
		{"DELETE FROM call WHERE id=300", "table call, rows 257 to 512"},
		{"DELETE FROM call WHERE id BETWEEN 257 AND 512", "table call, a row that was there is gone"},
		{"DELETE FROM call WHERE id>1000", "table call, rows 769 to 1000"},
		{"INSERT INTO call(id,thread,func,t_enter) VALUES(9999,1,1,1)",
		 "table call, rows 1793 to 9999"},
		{"UPDATE call_overflow SET value=value+1 WHERE idx=17", "table call_overflow, row 5 is"},
		{"UPDATE call_memory SET data=x'00'", "table call_memory, row 2 is"},
		{"UPDATE launch_hash SET hash=zeroblob(16)", "table launch_hash, row 3 is"},
		{"UPDATE launch SET bx=5", "table launch, row 3 is"},
		{"UPDATE payload SET device_address=1", "table payload, row 1 is"},
		{"UPDATE buffer SET bytes=4", "table buffer, row 1 is"},
		{"UPDATE chunk SET hash=zeroblob(16)", "table chunk, row 1 is"},
		{"UPDATE allocation SET base=base+1", "table allocation, row 1 is"},
		{"UPDATE kernel_param SET is_written=0", "table kernel_param, row 1 is"},
		{"UPDATE kernel_handle SET handle=1", "table kernel_handle"},
		{"UPDATE function SET name='cuInit'", "table function, row 1 is"},
		{"UPDATE meta SET value='x' WHERE key='uuid'", "table meta"},
		{"UPDATE device SET cc=80", "table device"},
		{"UPDATE diagnostic SET message='other'", "table diagnostic, row 1 is"},
		{"UPDATE stream SET priority=1.0e300", "table stream, row 1 is"},
		{"UPDATE process SET exe=x'41'", "table process, row 1 is"},
		{"UPDATE row_hash SET hash=zeroblob(16) WHERE tbl='module'", "table module, row 1 is"},
		{"UPDATE row_hash SET hash=zeroblob(15) WHERE tbl='image'", "hashes of table image"},
		{"DELETE FROM row_hash WHERE tbl='overhead'", "hashes of table overhead"},
		{"DELETE FROM row_hash WHERE tbl='call' AND first=513", "hashes of table call"},
		{"UPDATE row_hash SET last=9223372036854775807 WHERE tbl='call' AND first=513",
		 "table call, rows 513 to 2000"},
	};

	(void)state;
	make("rows", 2000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diag d = DIAG_INIT;

		scratch_copy("rows", "changed");
		scratch_change(scratch_path("changed"), cases[i].sql);
		if (check("changed", &d) != CUTRACE_ECORRUPT || !strstr(d.what, cases[i].says) || !d.hint[0])
			fail_msg("%s: %s (%s)", cases[i].sql, d.what, d.hint);
	}
}

/* All rows as SQLite prints them: what a reader would see, by no code of the product. */
static char *contents(const char *name)
{
	static const char *const tables[] = {
		"meta",          "process",       "thread",      "device",       "function",
		"call",          "call_overflow", "chunk",       "call_memory",  "buffer",
		"payload",       "buffer_chunk",  "context",     "stream",       "module",
		"allocation",    "image",         "kernel",      "kernel_param", "launch",
		"kernel_handle", "overhead",      "launch_hash", "host_write",   "diagnostic"};
	sqlite3 *db;
	sqlite3_str *all = sqlite3_str_new(NULL);

	if (sqlite3_open_v2(scratch_path(name), &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return sqlite3_close(db), sqlite3_str_finish(all);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		sqlite3_stmt *s = NULL;
		char sql[100];
		int rc = SQLITE_ERROR;

		snprintf(sql, sizeof(sql), "SELECT * FROM %s", tables[i]);
		sqlite3_prepare_v2(db, sql, -1, &s, NULL);
		while (s && (rc = sqlite3_step(s)) == SQLITE_ROW)
			for (int c = 0; c < sqlite3_column_count(s); c++) {
				const char *text = (const char *)sqlite3_column_text(s, c);
				const char *column = sqlite3_column_name(s, c);

				/* not read in a closed trace, or checked by the hash of the contents */
				if (!strcmp(column, "log_offset") ||
				    (!strcmp(column, "data") && !strcmp(tables[i], "chunk")))
					continue;
				sqlite3_str_appendf(all, "%d:%d:%s|", sqlite3_column_type(s, c),
						    sqlite3_column_bytes(s, c), text ? text : "");
			}
		sqlite3_str_appendf(all, "= %d\n", rc);
		sqlite3_finalize(s);
	}
	sqlite3_close(db);
	return sqlite3_str_finish(all);
}

static void test_every_kind_of_byte(void **state)
{
	struct diag d = DIAG_INIT;
	unsigned refused = 0, same = 0, unknown = 0;
	char *want;
	struct stat st;
	int fd;

	(void)state;
	make("bytes", 400);
	assert_int_equal(check("bytes", &d), 0);
	want = contents("bytes");
	fd = open(scratch_path("bytes"), O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	srand(1);
	for (off_t at = 0; at < st.st_size; at += 1 + rand() % 255) {
		uint8_t byte, bad;
		struct trace *t;
		int rc;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		bad = byte ^ (uint8_t)(1u << rand() % 8);
		assert_int_equal(pwrite(fd, &bad, 1, at), 1);
		rc = trace_open(&t, scratch_path("bytes"), &d);
		if (!rc) {
			rc = trace_check_rows(t, NULL, NULL, &d);
			if (!rc && !trace_has_row_hashes(t)) {
				unknown++; /* the name of the table of hashes: the reader says that nothing is verified */
			} else if (!rc) {
				char *got = contents("bytes");

				if (strcmp(got, want) != 0)
					fail_msg("bit changed at %lld passes: other rows", (long long)at);
				sqlite3_free(got);
				same++;
			}
			trace_close(t);
		}
		refused += rc != 0;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	assert_int_equal(check("bytes", &d), 0);
	sqlite3_free(want);
	/* Most bytes are rows; the others indexes, views and unused space. */
	if (refused < 100 || !same || unknown > 20)
		fail_msg("%u refused, %u same, %u not verified", refused, same, unknown);
	print_message("%u refused, %u without effect, %u not verified\n", refused, same, unknown);
}

/* A recording that was cut off has none, and is as good as what SQLite committed; finishing it gives it hashes. Nor has
 * a trace of before there were any. */
static void test_without_hashes(void **state)
{
	struct trace_writer *w = scratch_writer("cut");
	struct diag d = DIAG_INIT;
	struct trace *t;

	(void)state;
	fill(w, 300);
	usleep(150000); /* a transaction's age */
	assert_int_equal(trace_writer_tick(w), 0);
	t = scratch_open("cut");
	assert_false(trace_has_row_hashes(t));
	assert_int_equal(trace_check_rows(t, NULL, NULL, &d), 0);
	trace_close(t);
	scratch_copy("cut", "cut2");
	scratch_close(w);
	t = scratch_open("cut");
	assert_true(trace_has_row_hashes(t));
	trace_close(t);
	scratch_change(scratch_path("cut"), "DROP TABLE row_hash");
	t = scratch_open("cut");
	assert_false(trace_has_row_hashes(t));
	assert_int_equal(trace_check_rows(t, NULL, NULL, &d), 0);
	trace_close(t);
	scratch_change(scratch_path("cut"), "UPDATE call SET a0=1");
	assert_int_equal(check("cut", &d), 0);
	scratch_change(scratch_path("cut"), "UPDATE call SET parent=id WHERE id=7");
	t = scratch_open("cut");
	assert_int_equal(trace_check(t, NULL, NULL, &d), CUTRACE_ECORRUPT);
	trace_close(t);
	assert_non_null(strstr(d.what, "call 7 has a parent that did not begin before it"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_changed_rows),
		cmocka_unit_test(test_every_kind_of_byte),
		cmocka_unit_test(test_without_hashes),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
