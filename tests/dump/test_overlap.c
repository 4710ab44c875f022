/* SPDX-License-Identifier: Apache-2.0
 * Calls of several threads overlap: cuMemAlloc_v2 began in one thread while another thread still used, and
 * then gave back, the memory whose address it got. Each use of the address belongs to who had it then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "dump/dump.h"
#include "dump/names.h"
#include "sample.h"
#include "trace/trace.h"

#define HOST 0x7ffd00001000ull
#define BASE 0x550000000000ull

static const struct {
	uint32_t thread;
	uint64_t seen;
	const char *function;
	unsigned nargs;
	uint64_t args[3];
	bool allocates;
	const char *shown;
} rows[] = {
	{1, 1, "cuMemAlloc_v2", 2, {HOST, 64}, true, "dptr=&0x550000000000<alloc#1>"},
	{2, 4, "cuMemAlloc_v2", 2, {HOST, 64}, true, "dptr=&0x550000000000<alloc#2>"},
	{1, 3, "cuMemsetD8_v2", 3, {BASE + 4, 7, 9}, false, "dstDevice=0x550000000004<alloc#1+0x4>"},
	{1, 4, "cuMemFree_v2", 1, {BASE}, false, "dptr=0x550000000000<alloc#1>"},
	{2, 5, "cuMemsetD8_v2", 3, {BASE, 7, 9}, false, "dstDevice=0x550000000000<alloc#2>"},
	{2, 6, "cuMemFree_v2", 1, {BASE}, false, "dptr=0x550000000000<alloc#2>"},
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static char folder[256], path[300];

static void write_call(struct trace_writer *w, unsigned i)
{
	struct trace_call c = {
		.id = i + 1,
		.thread = rows[i].thread,
		.func = trace_writer_function(w, rows[i].function, "cuda", true, rows[i].nargs, NULL),
		.t_enter = i,
		.t_exit = i + 1,
		.seq_seen = rows[i].seen,
		.done = true,
		.nargs = rows[i].nargs,
		.nouts = rows[i].allocates,
		.outs_valid = rows[i].allocates,
		.outs = {BASE},
	};

	memcpy(c.args, rows[i].args, sizeof(rows[i].args));
	assert_int_equal(trace_writer_call(w, &c), 0);
}

static int setup(void **state)
{
	struct diag d = DIAG_INIT;
	struct trace_process p = {.id = 1, .exe = "/opt/app"};
	struct trace_allocation first = {.process = 1,
					 .kind = "device",
					 .base = BASE,
					 .bytes = 64,
					 .created = 1,
					 .destroyed = 4},
				second = first;
	struct trace_writer *w;

	(void)state;
	make_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/overlap.trace", folder);
	assert_int_equal(trace_writer_open(&w, path, &d), 0);
	assert_int_equal(trace_writer_process(w, &p), 0);
	for (uint32_t t = 1; t <= 2; t++)
		assert_int_equal(trace_writer_thread(w, &(struct trace_thread){.id = t, .process = 1}), 0);
	for (unsigned i = 0; i < NROWS; i++)
		write_call(w, i);
	second.created = 2;
	second.destroyed = 6;
	assert_int_equal(trace_writer_allocation(w, &first), 0);
	assert_int_equal(trace_writer_allocation(w, &second), 0);
	assert_int_equal(trace_writer_close(w, &d), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

static void expect_row(const char *line, unsigned i)
{
	if (!strstr(line, rows[i].shown))
		fail_msg("call %u: '%s' is not in:\n%s", i + 1, rows[i].shown, line);
}

static void test_whose_address(void **state)
{
	struct captured c = capture(cmd_dump, "dump", path, NULL);
	char *at = (char *)c.out;

	(void)state;
	assert_int_equal(c.status, 0);
	for (unsigned i = 0; i < NROWS; i++) {
		const char *line = strsep(&at, "\n");

		assert_non_null(line);
		expect_row(line, i);
	}
}

/* The same when the calls before are not looked at. */
static void test_whose_address_alone(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NROWS; i++) {
		char option[32];

		snprintf(option, sizeof(option), "--calls=%u", i + 1);
		expect_row(capture(cmd_dump, "dump", option, path, NULL).out, i);
	}
}

static int count_work(void *work)
{
	++*(unsigned *)work;
	return 0;
}

/* Behind the last allocation nothing is left to read: an address costs no query, however many there were. */
static void test_nothing_left_to_read(void **state)
{
	struct diag d = DIAG_INIT;
	struct live_allocations *a;
	struct trace *t;
	const char *variable = NULL;
	uint64_t offset = 0;
	unsigned work = 0;

	(void)state;
	assert_int_equal(trace_open(&t, path, &d), 0);
	a = live_allocations_new(t);
	assert_non_null(a);
	sqlite3_progress_handler(trace_db(t), 1, count_work, &work);
	assert_int_equal(live_allocation_at(a, 1, BASE, false, 5, &offset, &variable), 2);
	assert_int_not_equal(work, 0);
	work = 0;
	assert_int_equal(live_allocation_at(a, 1, BASE, false, 6, &offset, &variable), 2);
	assert_int_equal(live_allocation_at(a, 1, HOST, true, 6, &offset, &variable), 0);
	assert_int_equal(work, 0);
	live_allocations_free(a);
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose_address),
		cmocka_unit_test(test_whose_address_alone),
		cmocka_unit_test(test_nothing_left_to_read),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
