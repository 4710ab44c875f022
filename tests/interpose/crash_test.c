/* SPDX-License-Identifier: Apache-2.0
 *
 * However a program ends, its trace is valid, holds every call that had completed, and shows those in flight.
 */
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLS    50
#define NTHREADS 4

static struct outcome o;

static void check_end(const char *scenario, int signo, int code, const char *end)
{
	char path[512];
	struct trace *t;

	snprintf(path, sizeof(path), HERE "/%s.cutrace", scenario);
	record(&o, path, NULL, APP, scenario, NULL);
	if (signo) {
		assert_true(WIFSIGNALED(o.status));
		assert_int_equal(WTERMSIG(o.status), signo);
	} else {
		assert_int_equal(WEXITSTATUS(o.status), code);
	}
	t = open_trace(path);
	assert_int_equal(query(t, "SELECT count(*) FROM call WHERE t_exit IS NOT NULL"), 1);
	assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process"), end);
	assert_int_equal(query(t, "SELECT value FROM meta WHERE key = 'closed'"), 1);
	trace_close(t);
}

static void test_abort(void **state)
{
	(void)state;
	check_end("abort", SIGABRT, 0, "signal6");
}

static void test__exit(void **state)
{
	(void)state;
	check_end("_exit", 0, 3, "exit3");
}

static void test_segv(void **state)
{
	(void)state;
	check_end("segv", SIGSEGV, 0, "signal11");
}

static void test_term(void **state)
{
	(void)state;
	check_end("term", SIGTERM, 0, "signal15");
}

static void nap_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static pid_t wait_for_app(pid_t cutrace)
{
	pid_t app = 0;

	for (int i = 0; i < 5000 && !(app = child_named(cutrace, "interpose_app")); i++)
		nap_ms(1);
	assert_true(app > 0);
	return app;
}

/* ---- kill -9 at random moments -------------------------------------------------- */

struct progress {
	_Atomic uint64_t completed;
	char pad[56];
};

static const struct progress *map_progress(const char *path)
{
	for (int i = 0; i < 5000; i++) {
		int fd = open(path, O_RDONLY);
		off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
		void *p = size >= 4096 ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

		if (fd >= 0)
			close(fd);
		if (p != MAP_FAILED)
			return p;
		nap_ms(1);
	}
	fail_msg("%s does not appear", path);
	return NULL;
}

/* `completed` counts those calls of a thread's loop that have returned. */
static void check_killed(const char *path, const struct progress *p)
{
	struct trace *t = open_trace(path);
	uint64_t total = 0;
	int64_t in_trace, in_flight;

	for (int i = 0; i < NTHREADS; i++)
		total += atomic_load(&p[i].completed);
	in_trace = query(t, "SELECT count(*) FROM call JOIN function f ON f.id = func WHERE t_exit IS NOT "
			    "NULL AND f.name IN "
			    "('cuMemcpyHtoD_v2', 'cuMemcpyDtoH_v2', 'cuCtxSetFlags', 'cuMemsetD8_v2')");
	in_flight = query(t, "SELECT count(*) FROM call WHERE t_exit IS NULL");
	/* A call may have ended without the program having got to counting it: one for each thread. */
	assert_in_range(in_trace, total, total + NTHREADS);
	assert_in_range(in_flight, 0, NTHREADS);
	/* Killed before its first call, it is not in the trace at all. */
	if (total)
		assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process"), "signal9");
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE buffer IS NULL OR buffer NOT IN "
				  "(SELECT id FROM buffer)"),
			 0);
	assert_int_equal(trace_check(t, NULL, NULL, NULL), 0);
	trace_close(t);
}

static void kill_once(int n)
{
	const char *path = HERE "/killed.cutrace", *log = HERE "/killed.progress";
	const struct progress *p;
	pid_t cutrace, app;
	int status;

	unlink(log);
	cutrace = start_record(path, APP, "busy", log, NULL);
	app = wait_for_app(cutrace);
	p = map_progress(log);
	nap_ms(random() % 40 + n % 3);
	kill(app, SIGKILL);
	assert_int_equal(waitpid(cutrace, &status, 0), cutrace);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	check_killed(path, p);
	munmap((void *)(uintptr_t)p, 4096);
}

static void test_kill_9(void **state)
{
	(void)state;
	srandom(20240229);
	for (int i = 0; i < KILLS; i++)
		kill_once(i);
}

/* A call that never returns is in the trace, without an end. */
static void test_in_flight(void **state)
{
	const char *path = HERE "/stuck.cutrace";
	pid_t cutrace = start_record(path, APP, "stuck", NULL), app = wait_for_app(cutrace);
	struct trace *t;
	int status;

	(void)state;
	nap_ms(700);
	kill(app, SIGKILL);
	waitpid(cutrace, &status, 0);
	t = open_trace(path);
	assert_string_equal(
		query_text(t, "SELECT f.name FROM call JOIN function f ON f.id = func WHERE t_exit IS NULL"),
		"cuStreamSynchronize");
	trace_close(t);
}

/* A signal to cutrace itself reaches the program. */
static void test_forwards(void **state)
{
	const char *path = HERE "/forward.cutrace";
	pid_t cutrace = start_record(path, APP, "stuck", NULL);
	struct trace *t;
	int status;

	(void)state;
	wait_for_app(cutrace);
	nap_ms(700);
	kill(cutrace, SIGTERM);
	waitpid(cutrace, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	t = open_trace(path);
	assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process"), "signal15");
	trace_close(t);
}

/* The collector dies: the program goes on, unrecorded, and ends as it would have. */
static void test_collector_killed(void **state)
{
	const char *path = HERE "/orphaned.cutrace", *log = HERE "/orphaned.progress";
	const struct progress *p;
	pid_t cutrace, app, collector;
	struct trace *t;
	uint64_t before;
	int status;

	(void)state;
	unlink(log);
	cutrace = start_record(path, APP, "busy", log, NULL);
	app = wait_for_app(cutrace);
	p = map_progress(log);
	collector = child_named(cutrace, "cutrace-collect");
	assert_true(collector > 0);
	kill(collector, SIGKILL);
	nap_ms(300);
	before = atomic_load(&p[0].completed);
	nap_ms(300);
	assert_true(atomic_load(&p[0].completed) > before);
	kill(app, SIGTERM);
	waitpid(cutrace, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	t = open_trace(path);
	assert_true(query(t, "SELECT count(*) FROM call") >= 0);
	trace_close(t);
}

/* The disk is full (here: the file may not grow): the program runs to its end, and the user is told. */
static void test_disk_full(void **state)
{
	const char *command = "ulimit -f 8192; exec " CUTRACE_BIN " record -o " HERE
			      "/full.cutrace --driver " EMPTY_DRIVER " -- " APP " noise";
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};

	(void)state;
	unlink(HERE "/full.cutrace");
	run(&o, argv);
	assert_true(WIFEXITED(o.status));
	assert_int_equal(WEXITSTATUS(o.status), 0);
	assert_non_null(strstr(o.out, "done"));
	assert_non_null(strstr(o.err, "incomplete"));
	assert_non_null(strstr(o.err, "full.cutrace"));
}

/* A program that can't be redirected is said to be so, and runs. */
static void test_static_program(void **state)
{
	char *argv[] = {(char *)CUTRACE_BIN,
			(char *)"record",
			(char *)"-o",
			(char *)HERE "/static.cutrace",
			(char *)"--driver",
			(char *)EMPTY_DRIVER,
			(char *)"--",
			(char *)HERE "/static_program",
			NULL};

	(void)state;
	run(&o, argv);
	assert_int_equal(WEXITSTATUS(o.status), 9);
	assert_non_null(strstr(o.err, "statically linked"));
}

int main(void)
{
	const struct CMUnitTest with_our_driver[] = {cmocka_unit_test(test_kill_9)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test__exit),
		cmocka_unit_test(test_segv),
		cmocka_unit_test(test_term),
		cmocka_unit_test(test_in_flight),
		cmocka_unit_test(test_forwards),
		cmocka_unit_test(test_collector_killed),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_static_program),
		cmocka_unit_test(test_kill_9),
	};

	if (getenv("CUTRACE_TEST_DRIVER"))
		return cmocka_run_group_tests(with_our_driver, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
