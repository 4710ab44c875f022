/* SPDX-License-Identifier: Apache-2.0
 *
 * map, handles, addresses: what a recorded value stands for now.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/engine.h"

/* Against a plain array: insertions, replacements and removals in a pseudo-random order. */
static void test_map(void **state)
{
	enum { N = 512 };
	static uint64_t value[N];
	static uint8_t present[N];
	struct map m = {0};
	uint32_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t k, v;

		seed = seed * 1664525 + 1013904223;
		k = seed >> 16 & (N - 1);
		if (seed >> 30) {
			value[k] = i;
			present[k] = 1;
			assert_int_equal(map_set(&m, k << 12, i), 0);
		} else {
			present[k] = 0;
			map_remove(&m, k << 12);
		}
		if (i % 500)
			continue;
		for (k = 0; k < N; k++) {
			assert_int_equal(map_get(&m, k << 12, &v), present[k]);
			if (present[k])
				assert_int_equal(v, value[k]);
		}
	}
	map_free(&m);
	assert_false(map_get(&m, 1, NULL));
}

static void test_handles(void **state)
{
	struct handles h;
	uint64_t live;
	uint16_t function = handle_kind_find("CUfunction"), kernel = handle_kind_find("CUkernel"),
		 stream = handle_kind_find("CUstream"), device = handle_kind_find("CUdevice");

	(void)state;
	assert_int_equal(handles_init(&h), 0);
	assert_false(handles_get(&h, stream, 0x1000, &live));
	handles_set(&h, stream, 0x1000, 0x9000);
	assert_true(handles_get(&h, stream, 0x1000, &live));
	assert_int_equal(live, 0x9000);
	/* NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are names, whatever was entered. */
	for (uint64_t i = 0; i <= 2; i++) {
		handles_set(&h, stream, i, 0x77);
		assert_true(handles_get(&h, stream, i, &live));
		assert_int_equal(live, i);
	}
	assert_true(handles_get(&h, device, 3, &live));
	assert_int_equal(live, 3);
	/* A CUkernel may stand where a CUfunction is expected. */
	handles_set(&h, kernel, 0x2000, 0xa000);
	assert_true(handles_get(&h, function, 0x2000, &live));
	assert_int_equal(live, 0xa000);
	assert_false(handles_get(&h, stream, 0x2000, &live));
	handles_remove(&h, stream, 0x1000);
	assert_false(handles_get(&h, stream, 0x1000, &live));
	handles_set(&h, stream, 0x1000, 0xb000); /* the driver gave the address to a new stream */
	assert_true(handles_get(&h, stream, 0x1000, &live));
	assert_int_equal(live, 0xb000);
	handles_free(&h);
}

static void enter(struct addresses *a, uint64_t base, uint64_t bytes, uint64_t live)
{
	struct address_range r = {.base = base, .bytes = bytes, .live = live, .kind = "device"};

	assert_int_equal(addresses_add(a, &r), 0);
}

static void test_addresses(void **state)
{
	struct addresses a = {0};
	static const struct {
		uint64_t recorded, live;
	} rows[] = {
		{0x10000, 0x900000}, {0x10008, 0x900008},
		{0x10fff, 0x900fff}, {0x11000, 0x901000}, /* one past the end, nothing else there */
		{0x11001, 0x11001},  {0xffff, 0xffff},
		{0x20000, 0x20000},  {0x200ff, 0x200ff},
		{0x30000, 0x800000}, {0x30100, 0x700000}, /* the next one starts at the end */
		{0x301ff, 0x7000ff}, {0, 0},
	};

	(void)state;
	enter(&a, 0x20000, 0x100, 0x20000);
	assert_int_equal(addresses_to_live(&a, 0x20010), 0x20010);
	assert_int_equal(a.nmoved, 0);
	enter(&a, 0x10000, 0x1000, 0x900000);
	enter(&a, 0x30100, 0x100, 0x700000);
	enter(&a, 0x30000, 0x100, 0x800000);
	assert_int_equal(a.nmoved, 3);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(addresses_to_live(&a, rows[i].recorded), rows[i].live);
		if (rows[i].recorded != rows[i].live || rows[i].recorded == 0x20000)
			assert_int_equal(addresses_to_recorded(&a, rows[i].live), rows[i].recorded);
	}
	assert_null(addresses_find(&a, 0x40000));
	addresses_remove(&a, 0x10000);
	assert_int_equal(addresses_to_live(&a, 0x10008), 0x10008);
	assert_int_equal(addresses_to_recorded(&a, 0x900008), 0x900008);
	enter(&a, 0x10000, 0x10, 0xa00000); /* reused, smaller, elsewhere */
	assert_int_equal(addresses_to_live(&a, 0x10008), 0xa00008);
	assert_int_equal(addresses_to_live(&a, 0x10011), 0x10011);
	addresses_free(&a);
}

static void test_rewrite(void **state)
{
	struct addresses a = {0};
	uint64_t words[] = {1, 0x10000, 0x10010, 0x3ff0000000000000, 0x20000, 0x10100};
	const uint64_t live[] = {1, 0x900000, 0x900010, 0x3ff0000000000000, 0x20000, 0x900100};
	uint64_t copy[6];
	uint8_t odd[19] = {0};

	(void)state;
	enter(&a, 0x10000, 0x100, 0x900000);
	enter(&a, 0x20000, 0x100, 0x20000);
	memcpy(copy, words, sizeof(words));
	assert_int_equal(addresses_rewrite(&a, words, sizeof(words)), 3);
	assert_memory_equal(words, live, sizeof(words));
	assert_int_equal(addresses_rewrite_back(&a, words, sizeof(words)), 3);
	assert_memory_equal(words, copy, sizeof(words));
	/* Words are aligned; what is left at the end is none. */
	memcpy(odd + 4, &copy[1], 8);
	assert_int_equal(addresses_rewrite(&a, odd, sizeof(odd)), 0);
	addresses_free(&a);
}

static void test_many_addresses(void **state)
{
	enum { N = 3000 };
	struct addresses a = {0};

	(void)state;
	for (uint64_t i = 0; i < N; i++) { /* 7 and N have no common factor: a permutation */
		uint64_t k = i * 7 % N;

		enter(&a, 0x100000 + k * 0x200, 0x100, 0x90000000 - k * 0x1000);
	}
	for (uint64_t k = 0; k < N; k += 2)
		addresses_remove(&a, 0x100000 + k * 0x200);
	for (uint64_t k = 0; k < N; k++) {
		uint64_t recorded = 0x100000 + k * 0x200 + 8, live = 0x90000000 - k * 0x1000 + 8;

		assert_int_equal(addresses_to_live(&a, recorded), k % 2 ? live : recorded);
		assert_int_equal(addresses_to_recorded(&a, live), k % 2 ? recorded : live);
	}
	addresses_free(&a);
}

/* What is left of ranges under a new one must not win for addresses behind its base. */
static void test_new_range_ends_those_under_it(void **state)
{
	struct addresses a = {0};

	(void)state;
	enter(&a, 0x10000, 0x1000, 0x910000); /* reaches into the new one */
	enter(&a, 0x11000, 0x1000, 0x920000); /* inside */
	enter(&a, 0x12000, 0x1000, 0x930000); /* inside at first, then behind */
	enter(&a, 0x13000, 0x1000, 0x940000); /* starts where the new one ends: stays */
	enter(&a, 0x0f000, 0x1000, 0x900000); /* ends where the first starts: stays */
	enter(&a, 0x10800, 0x2800, 0xa00000);
	assert_int_equal(a.n, 3);
	assert_int_equal(addresses_to_live(&a, 0x10000), 0x901000); /* the end of the one before */
	assert_int_equal(addresses_to_live(&a, 0x10010), 0x10010);
	assert_int_equal(addresses_to_live(&a, 0x11010), 0xa00810);
	assert_int_equal(addresses_to_live(&a, 0x12010), 0xa01810);
	assert_int_equal(addresses_to_live(&a, 0x13010), 0x940010);
	addresses_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_rewrite),
		cmocka_unit_test(test_many_addresses),
		cmocka_unit_test(test_new_range_ends_those_under_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
