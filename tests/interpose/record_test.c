/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls, threads and processes in a trace against what the program did and printed, and that the program did not notice;
 * the command's own errors.
 */
#include "recorded.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- calls --------------------------------------------------------------------- */

static void test_calls(void **state)
{
	struct trace *t = recorded("calls", NULL);
	unsigned long long p;
	int version, n;

	(void)state;
	assert_exit(42);
	assert_int_equal(sscanf(o.out, "%d %d %llx", &version, &n, &p), 3);
	assert_int_equal(version, 13000);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 8);
	assert_int_equal(query(t, "SELECT count(*) FROM call WHERE t_exit IS NULL"), 0);
	assert_int_equal(query(t, "SELECT min(id) FROM call"), 1);
	assert_int_equal(query(t, "SELECT max(id) FROM call"), 8);
	/* arguments, out-values, results, of failed calls too */
	assert_int_equal(query(t, "SELECT o0 FROM call WHERE id = 2"), version);
	assert_int_equal(query(t, "SELECT o0 FROM call WHERE id = 3"), n);
	assert_int_equal(query(t, "SELECT a1 FROM call WHERE id = 4"), 7);
	assert_int_equal(query(t, "SELECT result FROM call WHERE id = 4"),
			 101); /* CUDA_ERROR_INVALID_DEVICE */
	assert_int_equal(query(t, "SELECT o0 IS NULL FROM call WHERE id = 4"), 1);
	assert_int_equal(query(t, "SELECT o0 FROM call WHERE id = 5"), (int64_t)p);
	assert_int_equal(query(t, "SELECT a1 FROM call WHERE id = 5"), 64);
	/* the next call begins after the one before has ended */
	assert_int_equal(
		query(t, "SELECT count(*) FROM call a JOIN call b ON b.id = a.id + 1 WHERE a.seq_seen < b.id "
			 "AND a.t_enter <= a.t_exit AND a.t_exit <= b.t_enter"),
		7);
	assert_int_equal(query(t,
			       "SELECT count(*) FROM allocation WHERE base = %lld AND bytes = 64 AND kind = "
			       "'device' AND "
			       "created = 5 AND destroyed = 8",
			       (long long)p),
			 1);
	assert_int_equal(query(t,
			       "SELECT count(*) FROM payload WHERE kind = 'h2d' AND call = 6 AND "
			       "device_address = %lld AND "
			       "width = 64",
			       (long long)p),
			 1);
	assert_int_equal(query(t, "SELECT buffer FROM payload WHERE call = 6"),
			 query(t, "SELECT buffer FROM payload WHERE call = 7"));
	assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process"), "exit42");
	trace_close(t);
}

/* The bytes themselves, from the program's own output. */
static void test_payload_bytes(void **state)
{
	struct trace *t = recorded("calls", NULL);
	char expected[64] = "a source of 64 bytes", got[64];
	uint64_t buffer = (uint64_t)query(t, "SELECT buffer FROM payload WHERE kind = 'd2h'");

	(void)state;
	assert_int_equal(trace_buffer_bytes(t, buffer), 64);
	assert_int_equal(trace_buffer_read(t, buffer, 0, got, sizeof(got), NULL), 0);
	assert_memory_equal(got, expected, sizeof(got));
	trace_close(t);
}

static void test_errno(void **state)
{
	struct trace *t = recorded("errno", NULL);

	(void)state;
	assert_string_equal(o.out, "kept\n");
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 100000);
	trace_close(t);
}

static void test_descriptors_closed(void **state)
{
	struct trace *t = recorded("closefds", NULL);

	(void)state;
	assert_exit(0);
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 3);
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM thread"), 2);
	trace_close(t);
}

/* ---- threads and processes -------------------------------------------------------- */

static void test_threads(void **state)
{
	struct trace *t = recorded("threads", NULL);

	(void)state;
	assert_exit(0);
	assert_int_equal(query(t, "SELECT count(*) FROM thread"), 16);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 16 * 20001);
	/* thread i passes i * 20000 + n for n = 0, 1, ...: each value once, in order within its thread */
	assert_int_equal(
		query(t, "SELECT count(DISTINCT a0) FROM call JOIN function f ON f.id = func WHERE f.name = "
			 "'cuCtxSetFlags'"),
		320000);
	assert_int_equal(query(t, "SELECT count(*) FROM (SELECT a0 - lag(a0) OVER (PARTITION BY thread ORDER "
				  "BY c.id) AS step FROM "
				  "call c JOIN function f ON f.id = func WHERE f.name = 'cuCtxSetFlags') "
				  "WHERE step <> 1"),
			 0);
	/* every number was used, but perhaps the one that is left free when the second thread comes */
	assert_in_range(query(t, "SELECT max(id) - min(id) + 1 - count(*) FROM call"), 0, 1);
	trace_close(t);
}

/* Numbers stay different and in order when a second thread comes and they are counted otherwise. */
static void test_second_thread(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct trace *t = recorded("second_thread", NULL);

		assert_exit(0);
		assert_int_equal(query(t, "SELECT count(*) FROM call"), atoi(o.out) + 26);
		assert_int_equal(
			query(t, "SELECT count(*) FROM (SELECT c.a0 - lag(c.a0) OVER (PARTITION BY thread "
				 "ORDER BY c.id) AS step, c.a0 FROM call c) WHERE step NOT IN (1, 2) AND "
				 "a0 <> 1000001"),
			0);
		/* What the second thread calls begins after what the first one called before, ends before what
		 * it calls behind. */
		assert_int_equal(
			query(t,
			      "SELECT count(*) FROM call y JOIN call x ON x.a0 = %d + (y.a0 - 1000001) / 2 "
			      "WHERE y.a0 > 1000000 AND (x.id >= y.id OR x.seq_seen >= y.id)",
			      1000 + 100000 - 1),
			0);
		assert_int_equal(
			query(t,
			      "SELECT count(*) FROM call y JOIN call x ON x.a0 = %d + (y.a0 - 1000001) / 2 "
			      "WHERE y.a0 > 1000000 AND (x.id <= y.id OR y.seq_seen >= x.id)",
			      1000 + 100000),
			0);
		trace_close(t);
	}
}

static void test_short_threads(void **state)
{
	struct trace *t = recorded("short_threads", NULL);

	(void)state;
	assert_int_equal(query(t, "SELECT count(*) FROM thread"), 200);
	assert_int_equal(query(t, "SELECT count(*) FROM call c WHERE a0 = (SELECT count(*) FROM call d WHERE "
				  "d.id < c.id)"),
			 200);
	assert_int_equal(query(t, "SELECT count(*) FROM thread WHERE t_end IS NULL"), 0);
	trace_close(t);
}

static void test_clearenv(void **state)
{
	struct trace *t = recorded("clearenv", NULL);

	(void)state;
	assert_exit(0);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 1);
	trace_close(t);
}

static void test_fork(void **state)
{
	struct trace *t = recorded("fork", NULL);
	int pid, status;

	(void)state;
	assert_int_equal(sscanf(o.out, "%d %d", &pid, &status), 2);
	assert_int_equal(status, 5);
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 2);
	assert_int_equal(query(t, "SELECT parent FROM process WHERE pid = %d", pid),
			 query(t, "SELECT id FROM process WHERE pid <> %d", pid));
	assert_int_equal(query(t,
			       "SELECT count(*) FROM call JOIN thread ON thread.id = thread JOIN process p "
			       "ON p.id = process WHERE "
			       "pid = %d",
			       pid),
			 10);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 12);
	trace_close(t);
}

static void test_exec(void **state)
{
	struct trace *t = recorded("exec", NULL);

	(void)state;
	assert_exit(42);
	assert_int_equal(query(t, "SELECT count(DISTINCT pid) FROM process"), 1);
	assert_string_equal(
		query_text(
			t,
			"SELECT group_concat(end_kind, ' ') FROM (SELECT end_kind FROM process ORDER BY id)"),
		"exec exit");
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 9);
	trace_close(t);
}

/* A child that first calls the driver long after its parent has ended is waited for. */
static void test_late_child(void **state)
{
	struct trace *t = recorded("late_child", NULL);

	(void)state;
	assert_exit(3);
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 2);
	assert_int_equal(query(t, "SELECT parent FROM process WHERE id = 2"), 1);
	assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process WHERE id = 2"), "exit6");
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 3);
	trace_close(t);
	/* the parent never calls it */
	t = recorded("late_only", NULL);
	assert_exit(3);
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 2);
	trace_close(t);
	/* and is not waited for when that is asked */
	t = recorded("late_only", "--no-wait");
	assert_exit(3);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 0);
	trace_close(t);
}

/* A process that was there before the program is not waited for: it would take a minute. */
static void test_foreign_child(void **state)
{
	const char *command =
		"sleep 60 >/dev/null 2>&1 & sleep 0.1; echo $! >&2; exec " CUTRACE_BIN " record -q -o " HERE
		"/foreign.cutrace --driver " EMPTY_DRIVER " -- " APP " calls";
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	time_t begin = time(NULL);

	(void)state;
	unlink(HERE "/foreign.cutrace");
	run(&o, argv);
	assert_exit(42);
	assert_true(time(NULL) - begin < 30);
	assert_int_equal(kill(atoi(o.err), SIGKILL), 0);
}

/* Started by somebody who ignores SIGCHLD, cutrace still learns that the program ended; and the program finds
 * the signal ignored, as it would have. */
static void test_ignored_sigchld(void **state)
{
	char *argv[] = {(char *)CUTRACE_BIN,
			(char *)"record",
			(char *)"-q",
			(char *)"-o",
			(char *)HERE "/sigchld.cutrace",
			(char *)"--driver",
			(char *)EMPTY_DRIVER,
			(char *)"--",
			(char *)APP,
			(char *)"sigchld",
			NULL};

	(void)state;
	unlink(HERE "/sigchld.cutrace");
	signal(SIGCHLD, SIG_IGN);
	run(&o, argv);
	signal(SIGCHLD, SIG_DFL);
	assert_string_equal(o.out, "ignored\n");
	assert_string_equal(o.err, "");
}

/* ---- functions that no description knows ---------------------------------------------- */

/* cuBrandNewFunction(1, 2.5, pointer, 0.25f, 3, 4, 5, 6, 1000): System V puts the integers into rdi, rsi,
 * rdx, rcx, r8, r9, the floats into xmm0 and xmm1, and what is left on the stack. */
static void check_brand_new(const char *scenario)
{
	struct trace *t = recorded(scenario, NULL);
	const char *f = "FROM call JOIN function f ON f.id = func WHERE f.name = 'cuBrandNewFunction'";

	assert_exit(0);
	assert_string_equal(o.out, "1022.75\n");
	assert_int_equal(query(t, "SELECT known %s", f), 0);
	assert_int_equal(query(t, "SELECT a0 & 0xffffffff %s", f), 1);
	assert_int_equal(query(t, "SELECT a1 <> 0 %s", f), 1);
	assert_int_equal(query(t, "SELECT a2 %s", f), 3);
	assert_int_equal(query(t, "SELECT a5 %s", f), 6);
	assert_int_equal(query(t, "SELECT a6 %s", f), 0x4004000000000000);      /* 2.5 */
	assert_int_equal(query(t, "SELECT a7 & 0xffffffff %s", f), 0x3e800000); /* 0.25f */
	assert_int_equal(query(t, "SELECT a14 %s", f), 1000);
	assert_int_equal(query(t, "SELECT t_exit IS NOT NULL %s", f), 1);
	trace_close(t);
}

static void test_unknown_proc(void **state)
{
	(void)state;
	check_brand_new("unknown_proc");
}

static void test_unknown_dlsym(void **state)
{
	(void)state;
	check_brand_new("unknown_dlsym");
}

static void test_unknown_linked(void **state)
{
	(void)state;
	check_brand_new("unknown_linked");
}

static void test_known_proc(void **state)
{
	struct trace *t = recorded("known_proc", NULL);

	(void)state;
	assert_string_equal(o.out, "13000 1\n");
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 1);
	assert_int_equal(calls_of(t, "cuGetProcAddress_v2"), 1);
	trace_close(t);
}

static void test_nesting(void **state)
{
	struct trace *t = recorded("nesting", NULL);

	(void)state;
	assert_string_equal(o.out, "7\n");
	assert_exit(0);
	assert_int_equal(
		query(t,
		      "SELECT c.parent = p.id FROM call c JOIN function f ON f.id = c.func JOIN call p JOIN "
		      "function g ON "
		      "g.id = p.func WHERE f.name = 'cuDriverGetVersion' AND g.name = 'cuBrandNewNesting'"),
		1);
	assert_int_equal(query(t, "SELECT result FROM call JOIN function f ON f.id = func WHERE f.name = "
				  "'cuBrandNewNesting'"),
			 7);
	trace_close(t);
}

static void test_export_table(void **state)
{
	struct trace *t = recorded("export_table", NULL);
	const char *f = "FROM call JOIN function f ON f.id = func WHERE f.name = "
			"'export:01020304-0506-0708-090a-0b0c0d0e0f10:1'";

	(void)state;
	assert_string_equal(o.out, "34 1\n");
	assert_int_equal(query(t, "SELECT a0 & 0xffffffff %s", f), 3);
	assert_int_equal(query(t, "SELECT a1 & 0xffffffff %s", f), 4);
	assert_int_equal(query(t, "SELECT result %s", f), 34);
	trace_close(t);
}

/* ---- the command -------------------------------------------------------------------------------- */

static void run_words(const char *a, const char *b, const char *c, const char *d, const char *e)
{
	char *argv[] = {(char *)CUTRACE_BIN, (char *)a, (char *)b, (char *)c, (char *)d, (char *)e, NULL};

	run(&o, argv);
}

static void test_usage(void **state)
{
	(void)state;
	run_words("record", NULL, NULL, NULL, NULL);
	assert_exit(2);
	run_words("record", "--device", "nonsense", "/bin/true", NULL);
	assert_exit(2);
	assert_non_null(strstr(o.err, "nonsense"));
	assert_non_null(strstr(o.err, "interp"));
	run_words("record", "--driver", "/nonexistent/libcuda.so.1", "/bin/true", NULL);
	assert_exit(125);
	run_words("record", "--driver", EMPTY_DRIVER, "/nonexistent/program", NULL);
	assert_exit(127);
	run_words("record", "--driver", EMPTY_DRIVER, HERE, NULL);
	assert_exit(126);
	run_words("record", "--ring-kb", "100", "/bin/true", NULL);
	assert_exit(2);
}

static void test_refuses_foreign_file(void **state)
{
	const char *path = HERE "/not_a_trace.txt";
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char *argv[] = {(char *)CUTRACE_BIN, (char *)"record",   (char *)"-o",
			(char *)path,        (char *)"--driver", (char *)EMPTY_DRIVER,
			(char *)APP,         (char *)"calls",    NULL};

	(void)state;
	assert_int_equal(write(fd, "precious\n", 9), 9);
	close(fd);
	run(&o, argv);
	assert_exit(125);
	assert_string_equal(o.out, "");
}

/* The default name is the program's; an existing trace is kept. */
static void test_default_name(void **state)
{
	char *argv[] = {(char *)CUTRACE_BIN,  (char *)"record", (char *)"-q",    (char *)"--driver",
			(char *)EMPTY_DRIVER, (char *)APP,      (char *)"calls", NULL};

	(void)state;
	assert_int_equal(chdir(HERE), 0);
	unlink("interpose_app.cutrace");
	unlink("interpose_app-2.cutrace");
	run(&o, argv);
	assert_string_equal(o.err, "");
	assert_int_equal(access("interpose_app.cutrace", R_OK), 0);
	run(&o, argv);
	assert_int_equal(access("interpose_app-2.cutrace", R_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_payload_bytes),
		cmocka_unit_test(test_errno),
		cmocka_unit_test(test_descriptors_closed),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_second_thread),
		cmocka_unit_test(test_clearenv),
		cmocka_unit_test(test_short_threads),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_late_child),
		cmocka_unit_test(test_foreign_child),
		cmocka_unit_test(test_ignored_sigchld),
		cmocka_unit_test(test_unknown_proc),
		cmocka_unit_test(test_unknown_dlsym),
		cmocka_unit_test(test_unknown_linked),
		cmocka_unit_test(test_known_proc),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_export_table),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_refuses_foreign_file),
		cmocka_unit_test(test_default_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
