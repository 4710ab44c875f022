/* SPDX-License-Identifier: Apache-2.0
 * cutrace dump and info over the sample trace (sample.c). calls_stable.golden says in words what sample.c
 * records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump/dump.h"
#include "sample.h"

static char folder[256], trace[300];

static int setup(void **state)
{
	(void)state;
	make_folder(folder, sizeof(folder));
	snprintf(trace, sizeof(trace), "%s/sample.trace", folder);
	sample_write(trace);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

static unsigned lines(const char *s)
{
	unsigned n = 0;

	for (; *s; s++)
		n += *s == '\n';
	return n;
}

static void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in:\n%s", what, text);
}

static void lacks(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("'%s' is in:\n%s", what, text);
}

static void test_stable(void **state)
{
	struct captured c = capture(cmd_dump, "dump", "--stable", trace, NULL);
	const char *golden = read_file(GOLDEN "/calls_stable.golden");

	(void)state;
	assert_int_equal(c.status, 0);
	assert_string_equal(c.err, "");
	assert_non_null(golden);
	assert_string_equal(c.out, golden);
}

static void test_full(void **state)
{
	struct captured c = capture(cmd_dump, "dump", trace, NULL);

	(void)state;
	assert_int_equal(c.status, 0);
	has(c.out,
	    "9.000 ms  cuMemcpyHtoD_v2(dstDevice=0x550000000010<alloc#1+0x10>, srcHost=<16 bytes, buffer 2>");
	has(c.out, "cuDevicePrimaryCtxRetain(pctx=&0x5581000, dev=0) = CUDA_SUCCESS  <2.5 us>");
	has(c.out, "cuTomorrow(0x1, 0x7ffd00001000, 0xffffffffffffffff) = 0");
	has(c.out, "pp=&0x7fff20000000<alloc#3>");
}

/* Filters: which calls are left. */
static void test_filters(void **state)
{
	static const struct {
		const char *option, *value;
		unsigned calls;
		const char *first;
	} cases[] = {
		{"--func", "cuMemAlloc*", 3, "cuMemAlloc_v2"},
		{"--func", "cuInit,cuEvent*", 4, "cuInit"},
		{"--func", "cu", 0, NULL},
		{"--thread", "2", 2, "cuStreamSynchronize"},
		{"--process", "1", 26, "cuInit"},
		{"--result", "ok", 22, "cuInit"},
		{"--result", "error", 3, "bytesize=1125899906842624"},
		{"--result", "CUDA_ERROR_INVALID_IMAGE", 1, "cuModuleLoadDataEx"},
		{"--result", "200", 1, "cuModuleLoadDataEx"},
		{"--result", "in-flight", 1, "cuMemFree_v2"},
		{"--calls", "5-7", 3, "cuModuleLoadData"},
		{"--calls", "25-", 2, "cuMemsetD32_v2"},
		{"--calls", "-2", 2, "cuInit"},
		{"--calls", "4", 1, "cuDevicePrimaryCtxRetain"},
		{"--time", "2-4", 3, "cuDeviceGet"},
		{"--time", "24.5-", 2, "cuMemsetD32_v2"},
		{"--time", "-1.5", 1, "cuInit"},
		{"--launches", NULL, 2, "cuLaunchKernel"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char option[80];
		struct captured c;

		snprintf(option, sizeof(option), "%s%s%s", cases[i].option, cases[i].value ? "=" : "",
			 cases[i].value ? cases[i].value : "");
		c = capture(cmd_dump, "dump", "--json", option, trace, NULL);
		assert_int_equal(c.status, 0);
		if (lines(c.out) != cases[i].calls)
			fail_msg("%s: %u calls", option, lines(c.out));
		c = capture(cmd_dump, "dump", option, trace, NULL);
		assert_int_equal(c.status, 0);
		if (cases[i].first && !strstr(strtok((char *)c.out, "\n"), cases[i].first))
			fail_msg("%s: %s", option, c.out);
	}
}

/* Numbers of handles don't depend on what is shown. */
static void test_stable_filtered(void **state)
{
	struct captured c = capture(cmd_dump, "dump", "--stable", "--calls=21", trace, NULL);

	(void)state;
	has(c.out, "phEvent=&CUevent#2,");
	assert_int_equal(lines(c.out), 1);
}

/* SQLite's own JSON reader as a judge. */
static void query(sqlite3 *db, const char *line, const char *path, char *out, size_t n)
{
	sqlite3_stmt *s;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT json_extract(?,?)", -1, &s, NULL), SQLITE_OK);
	sqlite3_bind_text(s, 1, line, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(s, 2, path, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(s) != SQLITE_ROW)
		fail_msg("%s in %s: %s", path, line, sqlite3_errmsg(db));
	snprintf(out, n, "%s",
		 sqlite3_column_text(s, 0) ? (const char *)sqlite3_column_text(s, 0) : "(null)");
	sqlite3_finalize(s);
}

static const struct {
	unsigned call;
	const char *path, *want;
} facts[] = {
	{1, "$.function", "cuInit"},
	{1, "$.result", "CUDA_SUCCESS"},
	{1, "$.args.Flags", "0"},
	{3, "$.args.name", "A \"test\" device"},
	{4, "$.args.pctx.handle", "CUcontext"},
	{7, "$.args.dptr.allocation", "1"},
	{9, "$.args.srcHost.bytes", "16"},
	{9, "$.payloads[0].kind", "h2d"},
	{9, "$.payloads[0].device.offset", "16"},
	{10, "$.args.Flags", "CU_MEMHOSTALLOC_PORTABLE|CU_MEMHOSTALLOC_DEVICEMAP"},
	{11, "$.args.pCopy.Height", "2"},
	{13, "$.launch.kernel", "saxpy"},
	{13, "$.launch.grid[0]", "2"},
	{13, "$.launch.block[1]", "4"},
	{13, "$.launch.args[1].value", "2.5"},
	{13, "$.launch.args[2].type", "f32*"},
	{13, "$.launch.args[3].value.offset", "64"},
	{13, "$.launch.args[4].value", "0.1"},
	{13, "$.launch.args[5].value.hex", "000102030405060708090a0b"},
	{13, "$.launch.args[6].value", "-2"},
	{13, "$.launch.args[7].value", "-2"},
	{13, "$.diagnostics[0].message", "line 4: something odd\n  mov.b33;\n  ^"},
	{14, "$.args.config.attrs[1].value.clusterDim.x", "3"},
	{14, "$.launch.args", "(null)"},
	{15, "$.status", "2"},
	{18, "$.parent", "17"},
	{18, "$.thread", "2"},
	{22, "$.args.options[1]", "CU_JIT_MAX_REGISTERS"},
	{22, "$.args.optionValues[1]", "32"},
	{24, "$.payloads[0].note", "the stream was being captured"},
	{26, "$.in_flight", "1"},
	{26, "$.result", "(null)"},
};

static void test_json(void **state)
{
	static const char *const options[] = {"--json", "--stable"};
	sqlite3 *db;
	unsigned k;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (k = 0; k < 2; k++) {
		struct captured c = capture(cmd_dump, "dump", "--json", options[k], trace, NULL);
		char *at = (char *)c.out, *line;
		unsigned n = 0;
		size_t i;

		assert_int_equal(c.status, 0);
		if (k == 1) {
			lacks(c.out, "0x");
			lacks(c.out, "_ns");
		}
		while ((line = strsep(&at, "\n")) && *line) {
			char got[200];

			n++;
			query(db, line, "$.id", got, sizeof(got));
			assert_int_equal(atoi(got), n);
			for (i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
				if (facts[i].call != n)
					continue;
				query(db, line, facts[i].path, got, sizeof(got));
				if (strcmp(got, facts[i].want) != 0)
					fail_msg("call %u %s: %s, not %s", n, facts[i].path, got,
						 facts[i].want);
			}
		}
		assert_int_equal(n, 26);
	}
	sqlite3_close(db);
}

static void test_info(void **state)
{
	static const struct {
		const char *path, *want;
	} want[] = {
		{"$.complete", "1"},
		{"$.recording.command", "app -n 4"},
		{"$.devices[0].name", "A \"test\" device"},
		{"$.counts.calls", "26"},
		{"$.counts.failed", "3"},
		{"$.counts.in_flight", "1"},
		{"$.counts.launches", "2"},
		{"$.processes[0].exe", "/opt/app"},
		{"$.threads[1].calls", "2"},
		{"$.kernels[0].kernel", "saxpy"},
		{"$.kernels[0].launches", "2"},
		{"$.kernels[0].threads", "512"}, /* twice 2 blocks of 32 x 4 */
		{"$.functions[0].function", "cuMemAlloc_v2"},
		{"$.errors[0].result", "CUDA_ERROR_OUT_OF_MEMORY"},
		{"$.errors[2].first_call", "25"},
		{"$.in_flight[0].function", "cuMemFree_v2"},
		{"$.unavailable[0].reason", "the stream was being captured"},
		{"$.no_ptx[0]", "(null)"},
		{"$.unknown_functions[0].function", "cuTomorrow"},
		{"$.devices[0].cc", "9.0"},
		{"$.devices[0].bytes", "17179869184"},
		{"$.diagnostics[0].severity", "warning"},
	};
	struct captured c = capture(cmd_info, "info", "--json", trace, NULL);
	sqlite3 *db;
	size_t i;

	(void)state;
	assert_int_equal(c.status, 0);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		char got[200];

		query(db, c.out, want[i].path, got, sizeof(got));
		if (strcmp(got, want[i].want) != 0)
			fail_msg("%s: %s, not %s", want[i].path, got, want[i].want);
	}
	sqlite3_close(db);
	c = capture(cmd_info, "info", "--check", trace, NULL);
	assert_int_equal(c.status, 0);
	has(c.out, "complete, rows verified\n");
	has(c.out, "Checked:");
	has(c.out, "  calls            26\n");
	has(c.out, "Incomplete: data that could not be recorded");
	has(c.out, "         2      512  PTX   saxpy");
}

static void test_usage(void **state)
{
	static const char *const bad[] = {"--bogus",        "--calls=x",   "--calls=-",    "--time=1",
					  "--result=maybe", "--thread=0",  "--buffer=abc", "--func",
					  "--thread=3",     "--process=2", "--calls=5-2",  "--time=5-1",
					  "--type=f32"};
	struct captured c;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c = capture(cmd_dump, "dump", trace, bad[i], NULL);
		if (c.status != 2 || !*c.err)
			fail_msg("%s: status %d", bad[i], c.status);
		assert_string_equal(c.out, "");
	}
	assert_int_equal(capture(cmd_dump, "dump", NULL).status, 2);
	assert_int_equal(capture(cmd_info, "info", NULL).status, 2);
	assert_int_equal(capture(cmd_info, "info", "--bogus", trace, NULL).status, 2);
	c = capture(cmd_dump, "dump", "--help", NULL);
	assert_int_equal(c.status, 0);
	has(c.out, "--stable");
	c = capture(cmd_info, "info", "--help", NULL);
	assert_int_equal(c.status, 0);
	has(c.out, "--json");
	assert_int_equal(capture(cmd_info, "info", "--finish", trace, NULL).status, 0);
	c = capture(cmd_dump, "dump", "/no/such/trace", NULL);
	assert_int_equal(c.status, 125);
	has(c.err, "/no/such/trace: error: ");
	c = capture(cmd_info, "info", GOLDEN "/calls_stable.golden", NULL);
	assert_int_equal(c.status, 125);
	has(c.err, "not an SQLite file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stable),  cmocka_unit_test(test_full),
		cmocka_unit_test(test_filters), cmocka_unit_test(test_stable_filtered),
		cmocka_unit_test(test_json),    cmocka_unit_test(test_info),
		cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
