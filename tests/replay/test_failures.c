/* SPDX-License-Identifier: Apache-2.0
 * What failed when recorded, what fails here, and what can't be replayed. */
#include "fake.h"

#include <sys/wait.h>

static void record_lookup(const char *name, int64_t outcome)
{
	uint64_t call;

	open_trace();
	load_module("add_one", 2, add_one_described);
	b.result = outcome;
	call = CALL(&b, "cuModuleGetFunction", HOST + 8, MODULE, HOST);
	name_memory(call, 2, name);
	builder_close(&b);
}

static void test_recorded_failures(void **state)
{
	(void)state;
	record_lookup("absent", 500);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_logged("cuModuleGetFunction absent", 1);
	record_lookup("present", 500);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(result("SELECT kind || ' ' || want || ' ' || got FROM verdict"),
			    "result CUDA_ERROR_NOT_FOUND CUDA_SUCCESS");
	open_trace();
	b.result = 2; /* CUDA_ERROR_OUT_OF_MEMORY depends on the machine */
	CALL(&b, "cuMemAlloc_v2", HOST, UINT64_C(1) << 40);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_logged("cuMemAlloc", 0);
}

static void test_new_fault(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_FAULT", "1", 1);
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(result("SELECT grade || ' ' || want || ' ' || got || ' ' || kernel_name FROM "
				   "verdict WHERE kind = 'fault'"),
			    "fault CUDA_SUCCESS CUDA_ERROR_ILLEGAL_ADDRESS add_one");
	assert_string_equal(result("SELECT grade FROM verdict WHERE kind = 'copy'"), "unverified");
}

static void test_recorded_fault(void **state)
{
	struct add_one_params p = {R, 4, 0};

	(void)state;
	open_trace();
	load_module("add_one", 2, add_one_described);
	allocate(R, 16);
	launch(&p, 12, 0);
	b.result = 700;
	CALL(&b, "cuCtxSynchronize", 0);
	b.result = 700; /* it stays */
	CALL(&b, "cuMemAlloc_v2", HOST, 16);
	builder_close(&b);
	setenv("FAKE_FAULT", "1", 1);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT grade || ' ' || kernel_name FROM verdict WHERE kind = 'fault'"),
			    "equal add_one");
	unsetenv("FAKE_FAULT");
	assert_int_equal(replay(), REPLAY_DIFFERS);
	assert_string_equal(result("SELECT grade FROM verdict WHERE kind = 'fault'"), "differs");
}

static void test_code_that_the_driver_refuses(void **state)
{
	(void)state;
	record_add_one();
	builder_close(&b);
	setenv("FAKE_NO_CODE", "1", 1);
	assert_int_equal(replay(), REPLAY_COULD_NOT);
	assert_logged("cuLaunchKernel", 0);
	assert_non_null(strstr(result("SELECT message FROM diagnostic WHERE message LIKE 'cuLaunchKernel%'"),
			       "could not be loaded on this driver: CUDA_ERROR_NO_BINARY_FOR_GPU"));
	assert_string_equal(result("SELECT grade FROM verdict WHERE kind = 'copy'"), "unverified");
}

static void test_unavailable_source(void **state)
{
	static const float out[4] = {1, 2, 3, 4};
	uint64_t call;

	(void)state;
	open_trace();
	allocate(R, 16);
	call = CALL(&b, "cuMemcpyHtoD_v2", R, HOST, 16);
	builder_payload(&b, call, 1, "unavailable", HOST, R, NULL, 16);
	download(R, out, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_COULD_NOT);
	assert_non_null(strstr(result("SELECT message FROM diagnostic WHERE severity = 'error'"),
			       "left out by the test"));
	assert_string_equal(result("SELECT grade FROM verdict"), "unverified");
}

static void test_driver_dies(void **state)
{
	(void)state;
	open_trace();
	CALL(&b, "cuCtxSynchronize", 0);
	builder_close(&b);
	setenv("FAKE_DIE", "1", 1);
	assert_int_equal(replay(), REPLAY_COULD_NOT);
	assert_non_null(
		strstr(result("SELECT message FROM diagnostic WHERE severity = 'fatal'"), "signal 6"));
}

static void test_function_that_is_not_there(void **state)
{
	(void)state;
	open_trace();
	CALL(&b, "cuCtxSetLimit", 0,
	     1024); /* the fake driver has no such function; no result depends on it */
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_non_null(
		strstr(result("SELECT message FROM diagnostic WHERE severity = 'warning'"), "cuCtxSetLimit"));
}

/* The recorder was killed: what it had committed is replayed up to its end. */
static void test_recording_without_end(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		record_add_one();
		usleep(1200000);
		trace_writer_tick(b.w);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(result("SELECT value FROM meta WHERE key = 'closed'"), "0");
	assert_string_equal(result("SELECT n FROM count WHERE what = 'calls'"), "8");
	assert_string_equal(result("SELECT grade FROM verdict"), "equal");
}

/* What is missing in a recording is no part of the verdict, but of the report. */
static void test_recording_that_lacks_calls(void **state)
{
	(void)state;
	record_add_one();
	trace_writer_diagnostic(b.w, 1, 1, 0, "error", "collector", "a thread was lost");
	trace_writer_diagnostic(b.w, 1, 1, 2, "warning", "recorder", "a table was not patched");
	trace_writer_diagnostic(b.w, 1, 1, 2, "warning", "driver", "slow today");
	trace_writer_diagnostic(b.w, 1, 1, 2, "info", "recorder", "all is well");
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_MATCH);
	assert_string_equal(
		result("SELECT group_concat(coalesce(call, 0) || ' ' || message, '; ') FROM "
		       "diagnostic WHERE severity = 'warning'"),
		"0 in the recording: a thread was lost; 2 in the recording: a table was not patched");
	assert_string_equal(
		result("SELECT count(*) FROM diagnostic WHERE message LIKE '%today%' OR message LIKE "
		       "'%well%'"),
		"0");
}

/* A kernel that reads managed memory: what the program's CPU code stored there is in no call. */
static void test_memory_without_calls(void **state)
{
	static const float out[4] = {9, 9, 9, 9};
	struct add_one_params p = {R, 4, 0};

	(void)state;
	open_trace();
	load_module("add_one", 2, add_one_described);
	builder_out(&b, 0, R);
	CALL(&b, "cuMemAllocManaged", HOST, 16, 1);
	launch(&p, 12, 0);
	download(R, out, 16);
	builder_close(&b);
	assert_int_equal(replay(), REPLAY_COULD_NOT);
	assert_string_equal(result("SELECT grade FROM verdict"), "unverified");
	assert_non_null(strstr(result("SELECT message FROM diagnostic WHERE severity = 'error'"),
			       "add_one reads managed memory"));
}

/* The trace has less than the call copied: nothing beyond it may be read. */
static void test_short_payload(void **state)
{
	static const float in[4] = {1, 2, 3, 4};
	uint64_t call;

	(void)state;
	open_trace();
	allocate(R, 4096);
	call = CALL(&b, "cuMemcpyHtoD_v2", R, HOST, 4096);
	builder_payload(&b, call, 1, "h2d", HOST, R, in, 16);
	builder_close(&b);
	replay();
	assert_logged("cuMemcpyHtoD", 0);
	assert_non_null(strstr(result("SELECT message FROM diagnostic WHERE severity = 'error'"),
			       "only 16 of the 4096 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_recorded_failures, fake_setup),
		cmocka_unit_test_setup(test_new_fault, fake_setup),
		cmocka_unit_test_setup(test_recorded_fault, fake_setup),
		cmocka_unit_test_setup(test_code_that_the_driver_refuses, fake_setup),
		cmocka_unit_test_setup(test_unavailable_source, fake_setup),
		cmocka_unit_test_setup(test_driver_dies, fake_setup),
		cmocka_unit_test_setup(test_function_that_is_not_there, fake_setup),
		cmocka_unit_test_setup(test_recording_without_end, fake_setup),
		cmocka_unit_test_setup(test_recording_that_lacks_calls, fake_setup),
		cmocka_unit_test_setup(test_memory_without_calls, fake_setup),
		cmocka_unit_test_setup(test_short_payload, fake_setup),
	};

	return fake_begin() ? scene_end(cmocka_run_group_tests(tests, NULL, NULL)) : 1;
}
