/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder with our own driver behind it: bytes that are taken on streams, and objects over time.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct outcome o;

static struct trace *recorded(const char *scenario)
{
	static char path[512];

	snprintf(path, sizeof(path), HERE "/own_%s.cutrace", scenario);
	record(&o, path, NULL, OWN_APP, scenario, NULL);
	if (!WIFEXITED(o.status) || WEXITSTATUS(o.status) != 0)
		fail_msg("%s: status %x: %s%s", scenario, (unsigned)o.status, o.out, o.err);
	return open_trace(path);
}

/* Line number `line` of the output is "hash bytes" of what the nth payload holds. */
static void check_payload(struct trace *t, int nth, const char *kind, int line, const char *box)
{
	const char *at = o.out, *got;
	char expected[128];

	for (int i = 0; i < line; i++)
		at = strchr(at, '\n') + 1;
	snprintf(expected, sizeof(expected), "%s %.*s %s", kind, (int)strcspn(at, "\n"), at, box);
	got = query_text(t,
			 "SELECT kind || ' ' || lower(hex(b.hash)) || ' ' || b.bytes || ' ' || width || 'x' "
			 "|| height || "
			 "'x' || depth FROM payload p LEFT JOIN buffer b ON b.id = p.buffer ORDER BY call, "
			 "p.device_address, p.kind DESC LIMIT 1 OFFSET %d",
			 nth);
	assert_string_equal(got, expected);
}

static void test_boxes(void **state)
{
	struct trace *t = recorded("boxes");

	(void)state;
	assert_int_equal(query(t, "SELECT count(*) FROM payload"), 3);
	check_payload(t, 0, "h2d", 0, "40x6x3");
	check_payload(t, 1, "d2h", 0, "40x6x3");
	check_payload(t, 2, "h2d", 1, "40x6x1");
	trace_close(t);
}

static void test_batch(void **state)
{
	struct trace *t = recorded("batch");

	(void)state;
	/* three of the four copies have a side in host memory; all belong to one call */
	assert_int_equal(query(t, "SELECT count(*) FROM payload"), 3);
	assert_int_equal(query(t, "SELECT count(DISTINCT call) FROM payload"), 1);
	check_payload(t, 0, "h2d", 0, "5000x1x1");
	check_payload(t, 1, "d2h", 2, "3000x1x1");
	check_payload(t, 2, "h2d", 1, "700x1x1");
	trace_close(t);
}

static int64_t nth_call(struct trace *t, const char *function, int n)
{
	return query(t,
		     "SELECT c.id FROM call c JOIN function f ON f.id = c.func WHERE f.name = '%s' ORDER BY "
		     "c.id LIMIT 1 "
		     "OFFSET %d",
		     function, n);
}

static void test_contexts(void **state)
{
	struct trace *t = recorded("contexts");
	unsigned long long first, second, of_first, of_second;
	const char *contexts = "SELECT %s FROM context WHERE handle = %lld ORDER BY id LIMIT 1 OFFSET %d",
		   *streams = "SELECT %s FROM stream WHERE handle = %lld ORDER BY id DESC";

	(void)state;
	assert_int_equal(sscanf(o.out, "%llx %llx %llx %llx", &first, &second, &of_first, &of_second), 4);
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	/* released twice, as often as retained; then retained and reset */
	assert_int_equal(query(t, contexts, "count(*)", first, 0), 2);
	assert_int_equal(query(t, contexts, "primary_ctx", first, 0), 1);
	assert_int_equal(query(t, contexts, "created", first, 0), nth_call(t, "cuDevicePrimaryCtxRetain", 0));
	assert_int_equal(query(t, contexts, "destroyed", first, 0),
			 nth_call(t, "cuDevicePrimaryCtxRelease_v2", 1));
	assert_int_equal(query(t, contexts, "created", first, 1), nth_call(t, "cuDevicePrimaryCtxRetain", 2));
	assert_int_equal(query(t, contexts, "destroyed", first, 1),
			 nth_call(t, "cuDevicePrimaryCtxReset_v2", 0));
	assert_int_equal(query(t, contexts, "destroyed", second, 0), nth_call(t, "cuCtxDestroy_v2", 0));
	assert_int_equal(query(t, contexts, "primary_ctx", second, 0), 0);
	/* streams belong to the context that was current, and end with it */
	assert_int_equal(query(t, streams, "context", of_first), (int64_t)first);
	assert_int_equal(query(t, streams, "destroyed", of_first),
			 nth_call(t, "cuDevicePrimaryCtxRelease_v2", 1));
	assert_int_equal(query(t, streams, "context", of_second), (int64_t)second);
	assert_int_equal(query(t, streams, "destroyed", of_second), nth_call(t, "cuCtxDestroy_v2", 0));
	assert_int_equal(query(t, "SELECT count(*) FROM stream WHERE context IS NULL"), 0);
	/* asking was the recorder's own affair */
	assert_int_equal(nth_call(t, "cuStreamGetCtx", 0), INT64_MIN);
	trace_close(t);
}

/* No copy that succeeded is without a row, whether the stream came to it or not. */
static void test_stray(void **state)
{
	struct trace *t = recorded("stray");

	(void)state;
	assert_string_equal(o.out, "0 700\n");
	assert_string_equal(query_text(t, "SELECT kind || ' ' || width FROM payload WHERE kind <> 'image'"),
			    "unavailable 4096");
	assert_non_null(
		strstr(query_text(t, "SELECT note FROM payload WHERE kind = 'unavailable'"), "faulted"));
	trace_close(t);
}

static int64_t ended_by(struct trace *t, const char *table, const char *function)
{
	return query(t,
		     "SELECT count(*) FROM %s o JOIN call c ON c.id = o.destroyed JOIN function f ON f.id = "
		     "c.func "
		     "WHERE f.name = '%s'",
		     table, function);
}

/* Kernels and page-locked memory of contexts that have ended are not those of the next. */
static void test_renewed(void **state)
{
	struct trace *t = recorded("renewed");

	(void)state;
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind = 'h2d' AND width = 4096"), 40);
	assert_int_equal(query(t, "SELECT count(DISTINCT buffer) FROM payload WHERE kind = 'h2d'"), 1);
	assert_int_equal(query(t, "SELECT count(*) FROM payload WHERE kind = 'unavailable'"), 0);
	assert_int_equal(
		query(t, "SELECT count(*) FROM launch l JOIN buffer b ON b.id = l.params WHERE b.bytes = 64"),
		20);
	assert_int_equal(
		query(t, "SELECT count(*) FROM launch l JOIN buffer b ON b.id = l.params WHERE b.bytes = 8"),
		20);
	/* modules and memory end with their context */
	assert_int_equal(ended_by(t, "module", "cuCtxDestroy_v2"), 20);
	assert_int_equal(ended_by(t, "module", "cuDevicePrimaryCtxReset_v2"), 10);
	assert_int_equal(ended_by(t, "module", "cuDevicePrimaryCtxRelease_v2"), 10);
	assert_int_equal(ended_by(t, "allocation", "cuCtxDestroy_v2"), 40);
	assert_int_equal(ended_by(t, "allocation", "cuDevicePrimaryCtxReset_v2"), 20);
	assert_int_equal(ended_by(t, "allocation", "cuDevicePrimaryCtxRelease_v2"), 20);
	/* every launch is one of the kernel of its own module */
	assert_int_equal(query(t, "SELECT count(DISTINCT kernel) FROM launch"), 40);
	trace_close(t);
}

/* The inputs of a link are in the trace, whichever name the program called. */
static void test_linked(void **state)
{
	struct trace *t = recorded("linked");
	const char *second = strchr(o.out, '\n') + 1;
	char hash[33];

	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(hash, sizeof(hash), "%.32s", i ? second : o.out);
		assert_int_equal(query(t,
				       "SELECT count(*) FROM payload p JOIN buffer b ON b.id = p.buffer JOIN "
				       "call c ON c.id = "
				       "p.call JOIN function f ON f.id = c.func WHERE p.kind = 'image' AND "
				       "lower(hex(b.hash)) = "
				       "'%s' AND f.name = '%s'",
				       hash, i ? "cuLinkAddData_v2" : "cuLinkAddData"),
				 1);
	}
	trace_close(t);
}

/* What the driver says of a kernel is one row, at the call that asked. */
static void test_untranslatable(void **state)
{
	struct trace *t = recorded("untranslatable");

	(void)state;
	assert_string_equal(o.out, "1 1\n");
	assert_int_equal(query(t, "SELECT count(*) FROM diagnostic"), 1);
	assert_int_equal(
		query(t, "SELECT count(*) FROM diagnostic d JOIN call c ON c.id = d.call JOIN function f ON "
			 "f.id = c.func WHERE f.name = 'cuModuleGetFunction' AND d.source = 'driver' AND "
			 "d.message LIKE '%%bad%%' AND d.message LIKE '%%no.such.instruction%%'"),
		1);
	trace_close(t);
}

/* A wrong device is wrong usage of every command, and nothing is started. */
static void test_wrong_device(void **state)
{
	static const struct {
		const char *command, *device, *said;
		int status;
	} cases[] = {
		{"record", "nonsense", "no device 'nonsense'", 2},
		{"run", "nonsense", "no device 'nonsense'", 2},
		{"replay", "nonsense", "no device 'nonsense'", 2},
		{"record", "interp:nonsense", "'interp:nonsense': the interpreter has no option", 2},
		{"run", "interp:nonsense", "'interp:nonsense': the interpreter has no option", 2},
		{"replay", "interp:nonsense", "'interp:nonsense': the interpreter has no option", 2},
		{"run", "interp:devices=none", "CUTRACE_DEVICE=interp:devices=none is not understood", 2},
		{"run", "interp:devices=2", "", 0},
	};

	(void)state;
	unlink(HERE "/started");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[] = {(char *)CUTRACE_BIN,
				(char *)cases[i].command,
				(char *)"--device",
				(char *)cases[i].device,
				(char *)"/usr/bin/touch",
				(char *)HERE "/started",
				NULL};

		if (!strcmp(cases[i].command, "replay"))
			argv[5] = NULL;
		run(&o, argv);
		if (!WIFEXITED(o.status) || WEXITSTATUS(o.status) != cases[i].status ||
		    !strstr(o.err, cases[i].said))
			fail_msg("case %zu: status %x: %s", i, (unsigned)o.status, o.err);
		assert_string_equal(o.out, "");
		assert_int_equal(access(HERE "/started", F_OK), cases[i].status ? -1 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boxes),          cmocka_unit_test(test_batch),
		cmocka_unit_test(test_contexts),       cmocka_unit_test(test_stray),
		cmocka_unit_test(test_renewed),        cmocka_unit_test(test_wrong_device),
		cmocka_unit_test(test_untranslatable), cmocka_unit_test(test_linked),
	};

	setenv("CUTRACE_TEST_DRIVER", OUR_DRIVER, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
