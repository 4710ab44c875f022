/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"

static void blocks_do_not_overlap(void **state)
{
	static const size_t sizes[] = { 1, 7, 8, 100, 4096, 65536, 65537, 1u << 20, 3 };
	unsigned char *p[sizeof(sizes) / sizeof(*sizes)];
	struct arena a = { 0 };
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		p[i] = arena_alloc(&a, sizes[i], 1);
		assert_non_null(p[i]);
		memset(p[i], (int)i + 1, sizes[i]);
	}
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (k = 0; k < sizes[i]; k++)
			assert_int_equal(p[i][k], i + 1);
	arena_free(&a);
}

static void alignment_is_kept(void **state)
{
	struct arena a = { 0 };
	size_t align;

	(void)state;
	for (align = 1; align <= 4096; align *= 2) {
		assert_non_null(arena_alloc(&a, 3, 1));
		assert_int_equal((uintptr_t)arena_alloc(&a, 5, align) & (align - 1), 0);
	}
	arena_free(&a);
}

static void impossible_sizes_are_refused(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_null(arena_array(&a, SIZE_MAX / 2, 4));
	assert_null(arena_alloc(&a, SIZE_MAX - 4, 8));
	assert_non_null(arena_strdup(&a, "still usable"));
	arena_free(&a);
}

static void zeroed_and_printed(void **state)
{
	struct arena a = { 0 };
	unsigned char *z;
	size_t i;

	(void)state;
	z = arena_zalloc(&a, 300);
	for (i = 0; i < 300; i++)
		assert_int_equal(z[i], 0);
	assert_string_equal(arena_printf(&a, "%s-%d", "line", 42), "line-42");
	assert_string_equal(arena_strndup(&a, "kernel_name", 6), "kernel");
	arena_free(&a);
	assert_null(a.head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_do_not_overlap),
		cmocka_unit_test(alignment_is_kept),
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(zeroed_and_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
