/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that signal handlers make, at whatever moment of the recorder's, are in the trace: the program (signals.c)
 * counts its own.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define SIGNALS HERE "/interpose_signals"

static struct outcome o;
static unsigned long versions, begun, returned;

static struct trace *record_how(const char *how)
{
	char path[512];

	snprintf(path, sizeof(path), HERE "/signals_%s.cutrace", how);
	record(&o, path, NULL, SIGNALS, how, NULL);
	if (!WIFEXITED(o.status) || WEXITSTATUS(o.status) != 0)
		fail_msg("%s ended with status %x: %s%s", how, (unsigned)o.status, o.out, o.err);
	assert_int_equal(sscanf(o.out, "versions %lu begun %lu returned %lu", &versions, &begun, &returned),
			 3);
	return open_trace(path);
}

#define OF(name) " FROM call c JOIN function f ON f.id = c.func WHERE f.name = '" name "'"

/* The handler's calls: each once, in its order, answered. */
static void check_handlers(struct trace *t)
{
	assert_int_equal(query(t, "SELECT count(*)" OF("cuDriverGetVersion") " AND c.t_exit IS NOT NULL"),
			 versions);
	assert_int_equal(query(t, "SELECT count(*)" OF("cuCtxSetFlags") " AND c.t_exit IS NOT NULL"),
			 versions);
	assert_int_equal(query(t, "SELECT count(*) FROM (SELECT c.a0, row_number() OVER (ORDER BY c.id) - 1 "
				  "AS n" OF("cuCtxSetFlags") ") WHERE a0 <> n"),
			 0);
	assert_int_equal(query(t, "SELECT count(*) FROM diagnostic WHERE severity <> 'info'"), 0);
}

/* Main's. Each has its place, and what belongs to a call is with that call. */
static void check_main(struct trace *t)
{
	assert_int_equal(query(t, "SELECT count(*)" OF("cuCtxSetCurrent") " AND c.t_exit IS NOT NULL"),
			 returned);
	assert_int_equal(
		query(t, "SELECT count(*) FROM (SELECT c.a0, row_number() OVER (ORDER BY c.id) + 1000000 AS "
			 "n" OF("cuCtxSetCurrent") ") WHERE a0 <> n"),
		0);
	assert_int_equal(query(t, "SELECT count(*)" OF("cuMemcpyHtoD_v2")), begun);
	assert_int_equal(query(t,
			       "SELECT count(*) FROM payload p JOIN call c ON c.id = p.call JOIN function f "
			       "ON f.id = c.func WHERE f.name = 'cuMemcpyHtoD_v2'"),
			 begun);
	assert_int_equal(query(t, "SELECT count(*) FROM call WHERE t_exit IS NULL"), 0);
	assert_int_equal(
		query(t, "SELECT count(*) FROM call c JOIN call p ON p.id = c.parent WHERE c.id <= p.id "
			 "OR c.t_exit > p.t_exit"),
		0);
}

static void check_all(const char *how)
{
	struct trace *t = record_how(how);

	assert_true(versions >= 9000);
	check_handlers(t);
	check_main(t);
	trace_close(t);
}

static void test_restart(void **state)
{
	(void)state;
	check_all("restart");
}

static void test_interrupt(void **state)
{
	(void)state;
	check_all("interrupt");
}

static void test_alternate(void **state)
{
	(void)state;
	check_all("alternate");
}

static void test_threads(void **state)
{
	(void)state;
	check_all("threads");
}

/* A call of main's that was left in its middle may be there or not; those that returned are. */
static void test_jump(void **state)
{
	struct trace *t = record_how("jump");
	int64_t answered, entered;

	(void)state;
	check_handlers(t);
	answered = query(t, "SELECT count(*)" OF("cuCtxSetCurrent") " AND c.t_exit IS NOT NULL");
	entered = query(t, "SELECT count(*)" OF("cuCtxSetCurrent"));
	assert_true(answered <= (int64_t)begun && entered <= (int64_t)begun);
	assert_true(entered >= (int64_t)returned);
	trace_close(t);
}

/* Nothing hangs; what had no room is counted. Where the handler interrupted nothing, all is there. */
static void test_many(void **state)
{
	struct trace *t = record_how("many");
	int64_t n;

	(void)state;
	n = query(t, "SELECT count(*)" OF("cuDriverGetVersion"));
	if (n != (int64_t)versions)
		assert_int_equal(
			query(t, "SELECT count(*) FROM diagnostic WHERE message LIKE '%%calls of signal "
				 "handlers%%'"),
			1);
	assert_true(n > 0);
	trace_close(t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restart),   cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_alternate), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_jump),      cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
