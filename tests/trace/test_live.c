/* SPDX-License-Identifier: Apache-2.0
 * Hashes that were taken while rows were written are those of the rows that are in the file, in whatever order rows came:
 * the reader computes them anew, from the file. And most groups keep the hash that was taken. */
#include "scratch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/internal.h"

#define CALLS 40000u

static int verified(const char *name, struct diag *d)
{
	struct trace *t = scratch_open(name);
	int rc;

	assert_true(trace_has_row_hashes(t));
	rc = trace_check_rows(t, NULL, NULL, d);
	trace_close(t);
	return rc;
}

static void close_and_verify(struct trace_writer *w, const char *what)
{
	struct diag d = DIAG_INIT;

	scratch_close(w);
	if (verified("live", &d))
		fail_msg("%s: %s", what, d.what);
}

/* ---- orders in which calls end ------------------------------------------------------ */

/* The i-th call to end, of CALLS. */
typedef uint64_t order_fn(uint64_t i);

static uint64_t in_order(uint64_t i)
{
	return i + 1;
}

/* Each block backwards. */
static uint64_t backwards(uint64_t i, uint64_t block)
{
	return i / block * block + (block - i % block);
}

static uint64_t nested(uint64_t i)
{
	return backwards(i, 4);
}

static uint64_t deeply_nested(uint64_t i)
{
	return backwards(i, 8000);
}

static uint64_t all_backwards(uint64_t i)
{
	return backwards(i, CALLS);
}

/* Two threads whose rings are read in turn, `block` calls of each. */
static uint64_t two_threads(uint64_t i, uint64_t block)
{
	uint64_t round = i / (2 * block), at = i % (2 * block);

	return round * 2 * block + at % block * 2 + at / block + 1;
}

static uint64_t two_in_step(uint64_t i)
{
	return two_threads(i, 5000);
}

static uint64_t two_far_apart(uint64_t i)
{
	return two_threads(i, CALLS / 2);
}

static uint64_t sparse(uint64_t i)
{
	return 7 + i * 1000;
}

static uint64_t one_is_missing(uint64_t i)
{
	return i < 100 ? i + 1 : i + 2;
}

static uint64_t with_a_leap(uint64_t i)
{
	return i == 20000 ? UINT64_MAX : i == 20001 ? 1ull << 40 : i + 1;
}

static uint64_t some_twice(uint64_t i)
{
	return i % 5000 == 77 ? i : i + 1;
}

static uint64_t twice_and_early(uint64_t i)
{
	return i >= 50 && i < 60 ? 120 : i + 1;
}

static const struct order {
	const char *name;
	order_fn *at;
	unsigned spoilt; /* groups, at most */
} orders[] = {
	{"in order", in_order, 0},
	{"nested", nested, 0},
	{"deeply nested", deeply_nested, 0},
	{"all backwards", all_backwards, UINT32_MAX},
	{"two threads in step", two_in_step, 0},
	{"two threads far apart", two_far_apart, UINT32_MAX},
	{"sparse", sparse, 0},
	{"one is missing", one_is_missing, 0},
	{"a leap", with_a_leap, 2},
	{"some twice", some_twice, 9},
	{"twice and early", twice_and_early, 1},
};
#define NORDERS (sizeof(orders) / sizeof(orders[0]))

static struct trace_call call_at(const struct order *o, uint64_t i, uint32_t func)
{
	struct trace_call c = scratch_call(o->at(i), func);

	c.parent = i % 3 ? 0 : i;
	c.nargs = (unsigned)(i % 21); /* some have more than there are columns for */
	c.result = i % 7 ? 0 : -1;
	return c;
}

static void test_orders(void **state)
{
	(void)state;
	for (size_t k = 0; k < NORDERS; k++) {
		struct trace_writer *w = scratch_writer("live");
		uint32_t func = scratch_basics(w);

		for (uint64_t i = 0; i < CALLS; i++) {
			struct trace_call c = call_at(&orders[k], i, func);

			assert_int_equal(trace_writer_call(w, &c), 0);
		}
		close_and_verify(w, orders[k].name);
	}
}

/* What makes closing cheap: groups whose rows need not be read. */
static void test_groups(void **state)
{
	(void)state;
	for (size_t k = 0; k < NORDERS; k++) {
		struct row_live *l = row_live_new();
		const struct live_group *g;
		unsigned spoilt = 0;
		int64_t next = INT64_MIN;
		size_t n;

		assert_non_null(l);
		for (uint64_t i = 0; i < CALLS; i++) {
			struct trace_call c = call_at(&orders[k], i, 1);

			row_live_call(l, &c);
		}
		row_live_end(l);
		g = row_live_groups(l, LIVE_CALL, &n);
		assert_non_null(g);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(g[i].first, next);
			assert_true(g[i].last >= g[i].first);
			next = (int64_t)((uint64_t)g[i].last + 1);
			spoilt += g[i].spoilt;
		}
		assert_int_equal(g[n - 1].last, INT64_MAX);
		if (spoilt > orders[k].spoilt)
			fail_msg("%s: %u of %zu groups", orders[k].name, spoilt, n);
		row_live_free(l);
	}
}

/* ---- calls in flight ------------------------------------------------------------------- */

static void enter(struct trace_writer *w, struct trace_call c)
{
	c.done = false;
	assert_int_equal(trace_writer_call(w, &c), 0);
}

/* Their rows are written when a transaction ends, and again when they end: in time, long after, or never. */
static void test_flights(void **state)
{
	struct trace_writer *w = scratch_writer("live");
	uint32_t func = scratch_basics(w);

	(void)state;
	for (uint64_t id = 1; id <= CALLS; id++) {
		struct trace_call c = scratch_call(id, func);

		if (id % 4000 == 1)
			enter(w, c);
		else
			assert_int_equal(trace_writer_call(w, &c), 0);
		if (id % 4000 == 2) {
			assert_int_equal(writer_commit(w), 0);
			c = scratch_call(id - 1, func);
			if (id < 4000) /* at once */
				trace_writer_call(w, &c);
			else if (id < 8000)
				trace_writer_call_lost(w, id - 1);
		}
		if (id == CALLS / 2 + 2) { /* the third comes too late to wait for it */
			c = scratch_call(8001, func);
			trace_writer_call(w, &c);
		}
	}
	close_and_verify(w, "calls in flight");
	assert_int_equal(
		scratch_query(scratch_path("live"), "SELECT count(*) FROM call WHERE t_exit IS NULL"), 8);
	assert_int_equal(scratch_query(scratch_path("live"), "SELECT count(*) FROM call"), CALLS);
}

/* ---- other tables ------------------------------------------------------------------------- */

static void contents(struct trace_writer *w, uint64_t id)
{
	static uint8_t noise[3 << 20];
	struct trace_payload p = {.call = id, .param = -1, .kind = "h2d", .width = 8, .height = 1};
	size_t n = id % 50 == 0 ? 9000 : id % 111 == 0 ? sizeof(noise) : id % 60; /* rows, the log, none */

	scratch_noise(noise, n < 64 ? n : 64, id % 400);
	assert_int_equal(trace_writer_buffer(w, noise, n, &p.buffer), 0);
	p.note = id % 3 ? NULL : "a note";
	p.device_address = id % 4 ? 0xffff800000000000 : 0;
	trace_writer_payload(w, &p);
}

static void launches(struct trace_writer *w, uint64_t id)
{
	struct trace_launch l = {.call = id, .grid = {1, 2, 3}, .block = {4, 5, 6}, .params = id % 5};
	struct trace_launch_hash h = {.launch = id, .base = (id % 3 << 62) + id % 7, .bytes = 64};

	l.call = id % 300 == 299 ? id + 5 : id % 300 == 200 ? id - 50 : id; /* early; again */
	trace_writer_launch(w, &l);
	trace_writer_launch_hash(w, &h);
	h.base = id % 2 ? 0 : 1ull << 63; /* ranges in any order, and again */
	trace_writer_launch_hash(w, &h);
}

static void test_tables(void **state)
{
	struct trace_writer *w = scratch_writer("live");
	uint32_t func = scratch_basics(w);

	(void)state;
	for (uint64_t id = 1; id <= 3000; id++) {
		struct trace_call c = scratch_call(id, func);

		trace_writer_call(w, &c);
		contents(w, id);
		launches(w, id);
		trace_writer_call_memory(w, id, 1, "0123456789abcdef", 16);
		if (id % 10 == 0) /* in pieces; and phases in the other order */
			trace_writer_call_memory(w, id, id % 20 ? 1 : 0, "0123456789abcdef", 16);
		if (id % 700 == 0)
			writer_commit(w);
	}
	close_and_verify(w, "all tables");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_flights),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
