/* SPDX-License-Identifier: Apache-2.0
 * Whole replays: verdicts, refusals, options, the report. */
#include "fake.h"

#include <sqlite3.h>

static void test_match(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(log_text() + strcspn(log_text(), "\n") + 1,
			    "cuCtxCreate 0 0\n"
			    "cuModuleLoadData .version\n"
			    "cuModuleGetFunction add_one of 7020\n"
			    "cuMemAlloc 16\n"
			    "cuMemcpyHtoD 16 in 7010\n"
			    "cuLaunchKernel add_one 1,2,3 4,5,6 7 on 0\n"
			    "cuMemcpyDtoH 16\n");
	assert_string_equal(result("SELECT grade || ' ' || elem_type || ' ' || elements || ' ' || "
				   "kernel_name FROM verdict"),
			    "equal f32 4 add_one");
	assert_string_equal(result("SELECT policy FROM allocation"), "same");
	assert_string_equal(result("SELECT n FROM count WHERE what = 'launches'"), "1");
}

static void test_differs(void **state)
{
	char call[32];

	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_WRONG", "1", 1);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(
		result("SELECT grade || ' ' || first || ' ' || want || ' ' || got || ' ' || differing || ' ' "
		       "||"
		       " max_abs || ' ' || byte_offset || ' ' || base || ' ' || address FROM verdict"),
		"differs 3 5 5.5 1 0.5 12 35184372088832 35184372088844");
	snprintf(call, sizeof(call), "%d %d", (int)download_call, (int)launch_call);
	assert_string_equal(result("SELECT call || ' ' || launch FROM verdict"), call);
	assert_string_equal(result("SELECT count(*) > 0 FROM store"), "1");
}

static void test_limits(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_WRONG", "1", 1);
	assert_int_equal(replay_with((struct replay_options){.limits = {.has_tol = true, .rtol = 0.1}}),
			 REPLAY_MATCH);
	assert_string_equal(result("SELECT grade FROM verdict"), "tolerated");
	assert_string_equal(result("SELECT value FROM meta WHERE key = 'rtol'"), "0.1");
	/* 5.5 - 5 = 2^-1; an ulp in [4, 8) is 2^-21. */
	assert_int_equal(replay_with((struct replay_options){.limits = {.has_ulp = true, .ulp = 1 << 20}}),
			 REPLAY_MATCH);
	assert_int_equal(
		replay_with((struct replay_options){.limits = {.has_ulp = true, .ulp = (1 << 20) - 1}}),
		REPLAY_DIFFERS);
}

static void test_hash_names_first_launch(void **state)
{
	static const float in[4] = {1, 2, 3, 4}, after[2][4] = {{2, 3, 4, 5}, {3, 4, 5, 6}};
	struct add_one_params p = {R, 4, 0};
	uint64_t calls[2];
	char expected[64];

	(void)state;
	open_trace();
	load_module("add_one", 2, add_one_described);
	allocate(R, 16);
	upload(R, in, 16);
	for (int i = 0; i < 2; i++) {
		struct trace_launch_hash h = {.base = R, .bytes = 16, .hash = trace_hash_bytes(after[i], 16)};

		h.launch = calls[i] = launch(&p, 12, 0);
		assert_int_equal(trace_writer_launch_hash(b.w, &h), 0);
	}
	download(R, after[1], 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE kind = 'hash' AND grade = 'equal'"),
			    "2");
	setenv("FAKE_WRONG", "2", 1);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	snprintf(expected, sizeof(expected), "hash %d add_one", (int)calls[1]);
	assert_string_equal(result("SELECT kind || ' ' || launch || ' ' || kernel_name FROM verdict WHERE "
				   "grade = 'differs'"
				   " ORDER BY id LIMIT 1"),
			    expected);
	assert_string_equal(result("SELECT count(*) FROM verdict WHERE grade = 'differs'"), "2");
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_refuses_bad_traces(void **state)
{
	struct replay_options o = {.driver = FAKE_PATH, .quiet = true};
	char path[160];

	(void)state;
	snprintf(path, sizeof(path), "%s/text", dir);
	write_file(path,
		   "not a trace, but long enough to be looked at as if it were one, or nearly so .......\n");
	o.trace_path = path;
	assert_int_equal(replay_run(&o), REPLAY_COULD_NOT);
	o.trace_path = "/nonexistent/trace";
	assert_int_equal(replay_run(&o), REPLAY_COULD_NOT);
	record_add_one();
	builder_close(&b);
	o.trace_path = trace_path;
	o.driver = "/nonexistent/libcuda.so.1";
	assert_int_equal(replay_run(&o), REPLAY_COULD_NOT);
}

static void test_options(void **state)
{
	static const struct {
		const char *args[6];
		int status;
	} rows[] = {
		{{"replay"}, REPLAY_USAGE},
		{{"replay", "a", "b"}, REPLAY_USAGE},
		{{"replay", "--no-such-option", "a"}, REPLAY_USAGE},
		{{"replay", "--ulp", "x", "a"}, REPLAY_USAGE},
		{{"replay", "--ulp", "-1", "a"}, REPLAY_USAGE},
		{{"replay", "--rtol", "nan", "a"}, REPLAY_USAGE},
		{{"replay", "--stop-at", "0", "a"}, REPLAY_USAGE},
		{{"replay", "--inject", "kernel:5", "a"}, REPLAY_USAGE},
		{{"replay", "a", "--ulp"}, REPLAY_USAGE},
		{{"replay", "--device", "interp", "--driver", "x"}, REPLAY_USAGE},
		{{"replay", "--driver", "x", "/nonexistent/trace"}, REPLAY_COULD_NOT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *argv[7] = {0};
		int argc = 0;

		while (argc < 6 && rows[i].args[argc]) {
			argv[argc] = (char *)(uintptr_t)rows[i].args[argc];
			argc++;
		}
		assert_int_equal(cmd_replay(argc, argv), rows[i].status);
	}
}

static void test_stop_at(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	assert_int_equal(replay_with((struct replay_options){.stop_at = launch_call}), REPLAY_COULD_NOT);
	assert_logged("cuLaunchKernel", 1);
	assert_logged("cuMemcpyDtoH", 0);
}

static void test_json(void **state)
{
	static char text[65536], sql[70000];
	char path[160],
		*argv[] = {"replay", "--json", "--driver", FAKE_PATH, "-o", result_path, trace_path, NULL};
	int saved;
	FILE *f;
	size_t n;

	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_WRONG", "1", 1);
	snprintf(path, sizeof(path), "%s/json", dir);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_non_null(freopen(path, "w", stdout));
	assert_int_equal(cmd_replay(7, argv), REPLAY_DIFFERS);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	/* SQLite's own JSON reader is the judge. */
	sqlite3_snprintf(
		sizeof(sql), sql,
		"SELECT json_extract(%Q, '$.status') || json_extract(%Q, '$.differences[0].first') ||"
		" json_extract(%Q, '$.differences[0].got')",
		text, text, text);
	assert_string_equal(result(sql), "differs35.5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_match, fake_setup),
		cmocka_unit_test_setup(test_differs, fake_setup),
		cmocka_unit_test_setup(test_limits, fake_setup),
		cmocka_unit_test_setup(test_hash_names_first_launch, fake_setup),
		cmocka_unit_test_setup(test_refuses_bad_traces, fake_setup),
		cmocka_unit_test_setup(test_options, fake_setup),
		cmocka_unit_test_setup(test_stop_at, fake_setup),
		cmocka_unit_test_setup(test_json, fake_setup),
	};

	return fake_begin() ? scene_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1;
}
