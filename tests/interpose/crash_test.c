/* SPDX-License-Identifier: Apache-2.0
 *
 * However a program ends, its trace is valid, holds every call that had completed, and shows those in flight.
 */
#include "busy.h"
#include "harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLS 50

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

static void nap_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static void nap_ms(long ms)
{
	nap_us(ms * 1000);
}

static pid_t wait_for_app(pid_t cutrace, const char *name)
{
	pid_t app = 0;

	for (int i = 0; i < 5000 && !(app = child_named(cutrace, name)); i++)
		nap_ms(1);
	assert_true(app > 0);
	return app;
}

/* ---- kill -9 at random moments -------------------------------------------------- */

static const struct busy_log *map_logs(const char *path)
{
	size_t bytes = BUSY_THREADS * sizeof(struct busy_log);

	for (int i = 0; i < 5000; i++) {
		int fd = open(path, O_RDONLY);
		off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
		void *p = size >= (off_t)bytes ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

		if (fd >= 0)
			close(fd);
		if (p != MAP_FAILED)
			return p;
		nap_ms(1);
	}
	fail_msg("%s does not appear", path);
	return NULL;
}

static void unmap_logs(const struct busy_log *logs)
{
	munmap((void *)(uintptr_t)logs, BUSY_THREADS * sizeof(*logs));
}

/* The driver's own calls, if it makes any through its exports, are nested. */
static const char calls_of_thread[] =
	"SELECT f.name, c.result, c.a0, c.a1, c.a2, c.o0, c.t_exit, c.id FROM call c JOIN function f ON f.id "
	"= c.func "
	"WHERE c.thread = (SELECT id FROM thread WHERE tid = ?) AND c.parent IS NULL ORDER BY c.id";

static void check_bytes(struct trace *t, uint64_t call, uint64_t first)
{
	const struct trace_payload *p;
	uint64_t got = 0;
	unsigned n;

	p = trace_payloads(t, call, &n);
	assert_int_equal(n, 1);
	assert_int_equal(p->width, 256);
	assert_int_equal(trace_buffer_bytes(t, p->buffer), 256);
	assert_int_equal(trace_buffer_read(t, p->buffer, 0, &got, sizeof(got), NULL), 0);
	assert_int_equal(got, first);
}

static void check_call(struct trace *t, sqlite3_stmt *row, const struct busy_entry *e)
{
	static const char *const names[] = BUSY_NAMES;

	assert_string_equal((const char *)sqlite3_column_text(row, 0), names[e->function]);
	assert_int_equal(sqlite3_column_type(row, 6), SQLITE_INTEGER); /* it has an end */
	assert_int_equal(sqlite3_column_int(row, 1), e->result);
	for (int i = 0; i < 3; i++)
		assert_int_equal((uint64_t)sqlite3_column_int64(row, 2 + i), e->args[i]);
	if (e->result != 0)
		return;
	if (e->function == BUSY_ALLOC || e->function == BUSY_CTX_CREATE)
		assert_int_equal((uint64_t)sqlite3_column_int64(row, 5), e->out);
	if (e->function == BUSY_H2D || e->function == BUSY_D2H)
		check_bytes(t, (uint64_t)sqlite3_column_int64(row, 7), e->out);
}

/* Call by call, in order: what the thread logged as completed is in the trace, and at most one call more,
 * which it was in, or had no time to log. Returns the number of calls compared. */
static uint64_t check_thread(struct trace *t, const struct busy_log *log)
{
	uint64_t completed = atomic_load(&log->completed), n = 0;
	sqlite3_stmt *row;

	assert_int_equal(sqlite3_prepare_v2(trace_db(t), calls_of_thread, -1, &row, NULL), SQLITE_OK);
	sqlite3_bind_int64(row, 1, (int64_t)log->tid);
	for (; sqlite3_step(row) == SQLITE_ROW; n++)
		if (n < completed)
			check_call(t, row, &log->entries[n]);
	sqlite3_finalize(row);
	assert_in_range(n, completed, completed + 1);
	return completed;
}

static void check_dump(const char *path, int64_t calls)
{
	char command[1024], *argv[] = {(char *)"/bin/sh", (char *)"-c", command, NULL};

	snprintf(command, sizeof(command),
		 CUTRACE_BIN " dump --json %s >" HERE "/killed.dump && wc -l <" HERE "/killed.dump", path);
	run(&o, argv);
	assert_int_equal(o.status, 0);
	assert_int_equal(atoi(o.out), calls);
}

/* Returns the number of calls compared. */
static uint64_t check_killed(const char *path, const struct busy_log *logs)
{
	struct trace *t = open_trace(path);
	uint64_t compared = 0;

	for (int i = 0; i < BUSY_THREADS; i++)
		compared += check_thread(t, &logs[i]);
	assert_in_range(query(t, "SELECT count(*) FROM call WHERE t_exit IS NULL"), 0, BUSY_THREADS);
	/* Killed before its first call, it is not in the trace at all. */
	if (compared)
		assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process"), "signal9");
	assert_int_equal(query(t, "SELECT value FROM meta WHERE key = 'closed'"), 1);
	assert_int_equal(trace_check(t, NULL, NULL, NULL), 0);
	check_dump(path, query(t, "SELECT count(*) FROM call"));
	trace_close(t);
	return compared;
}

static uint64_t kill_once(int n)
{
	const char *path = HERE "/killed.cutrace", *log = HERE "/killed.log";
	const struct busy_log *logs;
	pid_t cutrace, app;
	uint64_t compared;
	int status;

	unlink(log);
	cutrace = start_record(path, BUSY, log, NULL);
	logs = map_logs(log);
	app = wait_for_app(cutrace, "interpose_busy");
	nap_us(random() % 20000 + n % 3);
	kill(app, SIGKILL);
	assert_int_equal(waitpid(cutrace, &status, 0), cutrace);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	compared = check_killed(path, logs);
	unmap_logs(logs);
	return compared;
}

static void test_kill_9(void **state)
{
	uint64_t compared = 0;

	(void)state;
	srandom(20240229);
	for (int i = 0; i < KILLS; i++)
		compared += kill_once(i);
	print_message("%llu calls compared\n", (unsigned long long)compared);
	assert_true(compared > 50 * KILLS);
}

/* A call that never returns is in the trace, without an end. */
static void test_in_flight(void **state)
{
	const char *path = HERE "/stuck.cutrace";
	pid_t cutrace = start_record(path, APP, "stuck", NULL), app = wait_for_app(cutrace, "interpose_app");
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
	wait_for_app(cutrace, "interpose_app");
	nap_ms(700);
	kill(cutrace, SIGTERM);
	waitpid(cutrace, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	t = open_trace(path);
	assert_string_equal(query_text(t, "SELECT end_kind || end_code FROM process"), "signal15");
	trace_close(t);
}

/* Packed later, a trace still says where it was cut off, and why. */
static void check_finished(const char *path, const char *why)
{
	char *argv[] = {(char *)CUTRACE_BIN, (char *)"info", (char *)"--finish", (char *)path, NULL};
	char after[100];
	struct trace *t;

	run(&o, argv);
	assert_int_equal(o.status, 0);
	t = open_trace(path);
	snprintf(after, sizeof(after), " bytes, INCOMPLETE: cut off after call %llu, packed later",
		 (unsigned long long)query(t, "SELECT coalesce(max(id), 0) FROM call"));
	trace_close(t);
	if (!strstr(o.out, after) || !strstr(o.out, why))
		fail_msg("info says: %s", o.out);
	assert_null(strstr(o.out, "bytes, complete"));
}

/* The collector dies: the program goes on, unrecorded, and ends as it would have. */
static void test_collector_killed(void **state)
{
	const char *path = HERE "/orphaned.cutrace", *log = HERE "/orphaned.log";
	const struct busy_log *logs;
	pid_t cutrace, app, collector;
	struct trace *t;
	uint64_t before, wanted;
	int status;

	(void)state;
	unlink(log);
	cutrace = start_record(path, BUSY, log, NULL);
	logs = map_logs(log);
	app = wait_for_app(cutrace, "interpose_busy");
	collector = child_named(cutrace, "cutrace-collect");
	assert_true(collector > 0);
	kill(collector, SIGKILL);
	/* More calls than the ring has room for. */
	before = atomic_load(&logs[0].completed);
	wanted = before + 50000 < BUSY_CALLS ? before + 50000 : BUSY_CALLS;
	for (int i = 0; i < 20000 && atomic_load(&logs[0].completed) < wanted; i++)
		nap_ms(1);
	assert_true(atomic_load(&logs[0].completed) >= wanted);
	unmap_logs(logs);
	kill(app, SIGTERM);
	waitpid(cutrace, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	t = open_trace(path);
	assert_true(query(t, "SELECT count(*) FROM call") >= 0);
	trace_close(t);
	check_finished(path, "its collector ended without closing it");
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
	check_finished(HERE "/full.cutrace", "could not be written any more: File too large");
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
	const struct CMUnitTest with_our_driver[] = {cmocka_unit_test_teardown(test_kill_9, end_started)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test__exit),
		cmocka_unit_test(test_segv),
		cmocka_unit_test(test_term),
		cmocka_unit_test_teardown(test_in_flight, end_started),
		cmocka_unit_test_teardown(test_forwards, end_started),
		cmocka_unit_test_teardown(test_collector_killed, end_started),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_static_program),
		cmocka_unit_test_teardown(test_kill_9, end_started),
	};

	if (getenv("CUTRACE_TEST_DRIVER"))
		return cmocka_run_group_tests(with_our_driver, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
