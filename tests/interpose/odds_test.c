/* SPDX-License-Identifier: Apache-2.0
 *
 * Recorder and collector at odds: one of them gone, of another version, or out of what it needs. Nobody is left waiting.
 */
#include "interpose/ring.h"
#include "recorded.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* The collector dies while a function is called whose return goes through us. */
static void test_orphaned_inside(void **state)
{
	(void)state;
	snprintf(trace, sizeof(trace), HERE "/orphaned_inside.cutrace");
	record(&o, trace, NULL, APP, "orphaned_inside", NULL);
	assert_true(WIFEXITED(o.status));
	assert_string_equal(o.out, "returned 7\n");
}

static void test_other_version(void **state)
{
	struct trace *t = recorded("other_version", NULL);

	(void)state;
	assert_string_equal(o.out, "0\n"); /* hung up on, not left waiting */
	assert_int_equal(query(t,
			       "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND "
			       "source = 'collector' AND message LIKE '%%version %u of%%'",
			       RING_VERSION + 1),
			 1);
	trace_close(t);
}

static void test_refused_ring(void **state)
{
	struct trace *t = recorded("refused_ring", NULL);

	(void)state;
	assert_string_equal(o.out, "1 1\n");
	assert_int_equal(query(t, "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND process = 1 "
				  "AND message LIKE '%%ring%%'"),
			 1);
	trace_close(t);
}

static void test_no_ring(void **state)
{
	struct trace *t = recorded("no_ring", NULL);

	(void)state;
	assert_non_null(strstr(o.err, "the recording is not complete"));
	assert_string_equal(o.out, "1 1\n");
	assert_int_equal(calls_of(t, "cuDriverGetVersion"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND "
				  "source = 'recorder' AND message LIKE '%%not recorded from here on%%'"),
			 1);
	trace_close(t);
}

/* A collector out of descriptors: nobody is left waiting, and the trace says who is not in it. */
static void test_many_children(void **state)
{
	const char *command = "ulimit -n 40; exec " CUTRACE_BIN " record -o " HERE
			      "/many_children.cutrace --driver " EMPTY_DRIVER " -- " APP " many_children";
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	int64_t recorded_processes, refused;
	struct trace *t;

	(void)state;
	unlink(HERE "/many_children.cutrace");
	run(&o, argv);
	assert_exit(0);
	assert_string_equal(o.out, "60\n");
	assert_non_null(strstr(o.err, "the recording is not complete"));
	t = open_trace(HERE "/many_children.cutrace");
	recorded_processes =
		query(t, "SELECT count(DISTINCT t.process) FROM call c JOIN thread t ON t.id = c.thread");
	refused = query(
		t, "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND source = 'collector' AND "
		   "message LIKE '%%too many open files%%'");
	assert_in_range(recorded_processes, 0, 29); /* it depends on who comes first */
	assert_in_range(refused, 30 - recorded_processes, 60);
	trace_close(t);
}

static void test_no_descriptor(void **state)
{
	struct trace *t = recorded("no_descriptor", NULL);

	(void)state;
	assert_exit(0);
	assert_string_equal(o.out, "0 13000\n");
	assert_int_equal(
		query(t,
		      "SELECT count(*) FROM diagnostic WHERE severity = 'error' AND source = 'recorder' AND "
		      "message LIKE 'this process is not recorded: it had no descriptor%%'"),
		1);
	trace_close(t);
}

static void test_fork_learning(void **state)
{
	struct trace *t = recorded("fork_learning", NULL);

	(void)state;
	assert_exit(0);
	assert_string_equal(o.out, "100\n");
	assert_int_equal(query(t, "SELECT count(*) FROM process"), 101);
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orphaned_inside), cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_refused_ring),    cmocka_unit_test(test_no_ring),
		cmocka_unit_test(test_many_children),   cmocka_unit_test(test_no_descriptor),
		cmocka_unit_test(test_fork_learning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
