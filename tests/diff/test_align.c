/* SPDX-License-Identifier: Apache-2.0
 *
 * Two lists that differ in known ways are aligned, and the known ways must come out: calls that are only in one, calls
 * with another value. Calls are numbers; a call of which the list has one only can't be taken for another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "diff/align.h"

struct list {
	struct call_list l;
	uint64_t next; /* call number */
};

static struct call_file file = {-1, 0};
static uint64_t count[3], equal;
static uint64_t only_a[16], only_b[16], changed[16]; /* the first ones, as found */

static void add(struct list *l, uint64_t kind, uint64_t value)
{
	struct entry e = {++l->next, kind, kind << 32 | value};

	assert_true(call_list_append(&l->l, &file, &e));
}

static void found(void *ctx, const struct hunk *h)
{
	uint64_t n = count[h->kind]++;

	(void)ctx;
	if (n < 16 && h->kind == HUNK_ONLY_A)
		only_a[n] = h->a;
	if (n < 16 && h->kind == HUNK_ONLY_B)
		only_b[n] = h->b;
	if (n < 16 && h->kind == HUNK_CHANGED)
		changed[n] = h->a;
}

static void align(struct list *a, struct list *b)
{
	memset(count, 0, sizeof(count));
	equal = 0;
	assert_true(align_lists(&a->l, &file, &b->l, &file, 0, found, NULL, &equal));
	/* Every call of either list is in exactly one place. */
	assert_int_equal(equal + count[HUNK_CHANGED] + count[HUNK_ONLY_A], a->l.n);
	assert_int_equal(equal + count[HUNK_CHANGED] + count[HUNK_ONLY_B], b->l.n);
	call_list_free(&a->l);
	call_list_free(&b->l);
}

static int set_up(void **state)
{
	struct diag d = DIAG_INIT;

	(void)state;
	return call_file_open(&file, &d);
}

static int tear_down(void **state)
{
	(void)state;
	call_file_close(&file);
	return 0;
}

static void empty_lists(void **state)
{
	struct list a = {0}, b = {0};

	(void)state;
	align(&a, &b);
	assert_int_equal(equal, 0);
}

static void one_side_empty(void **state)
{
	struct list a = {0}, b = {0};

	(void)state;
	for (unsigned k = 0; k < 5000; k++)
		add(&b, k, 0);
	align(&a, &b);
	assert_int_equal(count[HUNK_ONLY_B], 5000);
}

static void equal_lists(void **state)
{
	struct list a = {0}, b = {0};

	(void)state;
	for (unsigned k = 0; k < 10000; k++) {
		add(&a, k % 7, k % 5);
		add(&b, k % 7, k % 5);
	}
	align(&a, &b);
	assert_int_equal(equal, 10000);
}

/* A call more, a call less, and a value, in lists of calls that all differ. */
static void single_differences(void **state)
{
	struct list a = {0}, b = {0};

	(void)state;
	for (unsigned k = 0; k < 3000; k++) {
		if (k == 100)
			add(&b, 77777, 1);
		if (k != 1500)
			add(&b, k, k == 2000 ? 9 : 0);
		add(&a, k, 0);
	}
	align(&a, &b);
	assert_int_equal(count[HUNK_ONLY_A], 1);
	assert_int_equal(only_a[0], 1501);
	assert_int_equal(count[HUNK_ONLY_B], 1);
	assert_int_equal(only_b[0], 101);
	assert_int_equal(count[HUNK_CHANGED], 1);
	assert_int_equal(changed[0], 2001);
}

/* A loop of three calls in which one round more is run. */
static void one_more_round(void **state)
{
	struct list a = {0}, b = {0};

	(void)state;
	for (unsigned k = 0; k < 1000; k++)
		for (unsigned call = 0; call < 3; call++) {
			add(&a, call, 0);
			add(&b, call, 0);
			if (k == 500)
				add(&b, call, 0);
		}
	add(&a, 9, 0);
	add(&b, 9, 0);
	align(&a, &b);
	assert_int_equal(equal, 3001);
	assert_int_equal(count[HUNK_ONLY_B], 3);
}

/* More calls than any window, once on each side. */
static void long_insertions(void **state)
{
	struct list a = {0}, b = {0};

	(void)state;
	for (unsigned k = 0; k < 20000; k++) {
		for (unsigned more = 0; k == 5000 && more < 9000; more++)
			add(&b, 100000 + more, 0);
		for (unsigned more = 0; k == 12000 && more < 7000; more++)
			add(&a, 200000 + more, 0);
		add(&a, k, 0);
		add(&b, k, 0);
	}
	align(&a, &b);
	assert_int_equal(equal, 20000);
	assert_int_equal(count[HUNK_ONLY_A], 7000);
	assert_int_equal(count[HUNK_ONLY_B], 9000);
}

static void nothing_in_common(void **state)
{
	struct list a = {0}, b = {0};

	(void)state;
	for (unsigned k = 0; k < 6000; k++) {
		add(&a, k, 0);
		add(&b, 100000 + k, 0);
	}
	align(&a, &b);
	assert_int_equal(equal, 0);
	assert_int_equal(count[HUNK_CHANGED], 0);
}

static void every_value_differs(void **state)
{
	struct list a = {0}, b = {0};

	(void)state;
	for (unsigned k = 0; k < 6000; k++) {
		add(&a, k % 11, 1);
		add(&b, k % 11, 2);
	}
	align(&a, &b);
	assert_int_equal(count[HUNK_CHANGED], 6000);
}

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

/* Random edits of distinct calls: never more differences than edits. */
static void random_edits(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct list a = {0}, b = {0};
		uint64_t r = seed, inserted = 0, removed = 0, edited = 0;
		unsigned n = 500 + random_below(&r, 4000), rate = 2 + random_below(&r, 200);

		for (unsigned k = 0; k < n; k++) {
			unsigned what = random_below(&r, rate);

			add(&a, k, 0);
			if (what == 0) {
				add(&b, 100000 + k, 0);
				inserted++;
			}
			if (what == 1) {
				removed++;
				continue;
			}
			add(&b, k, what == 2);
			edited += what == 2;
		}
		align(&a, &b);
		assert_int_equal(count[HUNK_ONLY_B], inserted);
		assert_int_equal(count[HUNK_ONLY_A], removed);
		assert_int_equal(count[HUNK_CHANGED], edited);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_lists),       cmocka_unit_test(one_side_empty),
		cmocka_unit_test(equal_lists),       cmocka_unit_test(single_differences),
		cmocka_unit_test(one_more_round),    cmocka_unit_test(long_insertions),
		cmocka_unit_test(nothing_in_common), cmocka_unit_test(every_value_differs),
		cmocka_unit_test(random_edits),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
