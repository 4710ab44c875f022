/* SPDX-License-Identifier: Apache-2.0
 *
 * Delta debugging: what is left is what the test needs, none of it can go, and it is found in few steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/ddmin.h"

struct need {
	const uint8_t *needed; /* these must be there */
	size_t n;
	size_t pair; /* of units pair and pair + 1, one at least; n: no such */
	unsigned tests, most;
};

static bool holds(void *ctx, const uint8_t *keep)
{
	struct need *need = ctx;

	need->tests++;
	for (size_t i = 0; i < need->n; i++)
		if (need->needed[i] && !keep[i])
			return false;
	return need->pair >= need->n || keep[need->pair] || keep[need->pair + 1];
}

static bool stop(void *ctx)
{
	const struct need *need = ctx;

	return need->most && need->tests >= need->most;
}

static size_t left(const uint8_t *keep, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += keep[i];
	return k;
}

static size_t run(struct need *need, uint8_t *keep)
{
	struct ddmin d = {.n = need->n, .keep = keep, .test = holds, .stop = stop, .ctx = need};

	memset(keep, 1, need->n);
	return ddmin_run(&d);
}

static void finds_what_is_needed(void **state)
{
	uint8_t needed[200], keep[200];

	(void)state;
	for (unsigned seed = 1; seed <= 50; seed++) {
		struct need need = {.needed = needed, .n = 1 + seed * 4 % 200, .pair = 200};
		size_t want;

		srand(seed);
		for (size_t i = 0; i < need.n; i++)
			needed[i] = rand() % 20 == 0;
		want = left(needed, need.n);
		assert_int_equal(run(&need, keep), need.n - want);
		assert_memory_equal(keep, needed, need.n);
		assert_true(need.tests <= 4 * (want + 1) * 9 + 2 * need.n);
	}
}

static void leaves_one_of_two(void **state)
{
	uint8_t needed[64] = {0}, keep[64];
	struct need need = {.needed = needed, .n = 64, .pair = 30};

	(void)state;
	run(&need, keep);
	assert_int_equal(left(keep, 64), 1);
	assert_true(keep[30] || keep[31]);
}

static void nothing_or_all(void **state)
{
	uint8_t needed[16], keep[16];
	struct need all = {.needed = needed, .n = 16, .pair = 16}, none = {.needed = needed, .pair = 0};

	(void)state;
	memset(needed, 1, sizeof(needed));
	assert_int_equal(run(&all, keep), 0);
	assert_int_equal(left(keep, 16), 16);
	assert_int_equal(run(&none, keep), 0);
}

/* What is left when it is stopped still holds. */
static void stops(void **state)
{
	uint8_t needed[100] = {0}, keep[100];

	(void)state;
	needed[7] = needed[50] = needed[93] = 1;
	for (unsigned most = 1; most < 60; most++) {
		struct need need = {.needed = needed, .n = 100, .pair = 100, .most = most};

		run(&need, keep);
		assert_true(need.tests <= most);
		assert_true(keep[7] && keep[50] && keep[93]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_is_needed),
		cmocka_unit_test(leaves_one_of_two),
		cmocka_unit_test(nothing_or_all),
		cmocka_unit_test(stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
