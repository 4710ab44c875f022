/* SPDX-License-Identifier: Apache-2.0
 *
 * Every way in which a program finds libcuda.so.1 ends at the recorder. The driver that the program would
 * have found by itself answers 1111, the one behind the recorder 13000.
 */
#include "harness.h"

#include <string.h>
#include <sys/wait.h>

static void check(const char *app)
{
	static struct outcome o;
	char trace[512];
	struct trace *t;

	snprintf(trace, sizeof(trace), "%s.cutrace", app);
	record(&o, trace, NULL, app, NULL);
	assert_true(WIFEXITED(o.status));
	assert_int_equal(WEXITSTATUS(o.status), 0);
	assert_string_equal(o.out, "13000\n");
	t = open_trace(trace);
	assert_int_equal(query(t, "SELECT count(*) FROM call"), 1);
	assert_int_equal(query(t, "SELECT o0 FROM call JOIN function f ON f.id = func WHERE f.name = "
				  "'cuDriverGetVersion'"),
			 13000);
	trace_close(t);
}

#define CASE(name)                              \
	static void test_##name(void **state)   \
	{                                       \
		(void)state;                    \
		check(HERE "/redirect_" #name); \
	}
CASE(dlopen)
CASE(cleared)
CASE(absolute)
CASE(missing)
CASE(needed)
CASE(rpath)
CASE(runpath)

/* `cutrace run` redirects in the same way and records nothing. */
static void test_run(void **state)
{
	static struct outcome o;
	char *argv[] = {(char *)CUTRACE_BIN,
			(char *)"run",
			(char *)"--driver",
			(char *)EMPTY_DRIVER,
			(char *)"--",
			(char *)HERE "/redirect_rpath",
			NULL};

	(void)state;
	run(&o, argv);
	assert_string_equal(o.out, "13000\n");
	assert_string_equal(o.err, "");
	assert_int_equal(o.status, 0);
}

/* Without cutrace the same programs find the decoy: the test would see a redirector that does nothing. */
static void test_control(void **state)
{
	static struct outcome o;
	char *argv[] = {(char *)HERE "/redirect_rpath", NULL};

	(void)state;
	run(&o, argv);
	assert_string_equal(o.out, "1111\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control), cmocka_unit_test(test_dlopen),
		cmocka_unit_test(test_cleared), cmocka_unit_test(test_absolute),
		cmocka_unit_test(test_missing), cmocka_unit_test(test_needed),
		cmocka_unit_test(test_rpath),   cmocka_unit_test(test_runpath),
		cmocka_unit_test(test_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
