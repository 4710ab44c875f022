/* SPDX-License-Identifier: Apache-2.0
 *
 * Sketches of buffers against sums and counts that are made here one element after the other, and hashes of chunks
 * against their definition in docs/format.md.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sketch.h"

enum { N = 40000 };

static struct sketch sketch_of(enum sketch_type t, const void *data, uint64_t bytes)
{
	struct sketch s;

	sketch_begin(&s, t, bytes);
	for (uint64_t at = 0; at < bytes; at += SKETCH_CHUNK) {
		struct sketch_chunk c = {0};
		uint64_t n = bytes - at < SKETCH_CHUNK ? bytes - at : SKETCH_CHUNK;

		sketch_numbers(&c, t, (const uint8_t *)data + at, n);
		sketch_add(&s, at / SKETCH_CHUNK, &c);
		sketch_take_samples(&s, at, (const uint8_t *)data + at, n);
	}
	return s;
}

static void test_floats(void **state)
{
	static float x[N];
	double sum = 0, magnitude = 0, low = INFINITY, high = -INFINITY;

	(void)state;
	for (int i = 0; i < N; i++)
		x[i] = (float)((i * 7919) % 2001 - 1000) / 8;
	x[5] = NAN;
	x[N - 1] = -INFINITY;
	x[17000] = INFINITY;
	x[17001] = -0.0f;
	unsigned zeros = 0;
	for (int i = 0; i < N; i++) {
		zeros += x[i] == 0;
		if (!isfinite(x[i]))
			continue;
		sum += (double)x[i];
		magnitude += fabs((double)x[i]);
		low = (double)x[i] < low ? (double)x[i] : low;
		high = (double)x[i] > high ? (double)x[i] : high;
	}
	struct sketch s = sketch_of(SKETCH_F32, x, sizeof(x));
	assert_int_equal(s.elements, N);
	assert_int_equal(s.nan, 1);
	assert_int_equal(s.infinite, 2);
	assert_int_equal(s.zero, zeros);
	/* eighths: every sum is exact, in whatever order */
	assert_true(s.sum == sum && s.magnitude == magnitude && s.least == low && s.greatest == high);
	assert_int_equal(s.nblocks, 3);
	assert_true(s.blocks[0] + s.blocks[1] + s.blocks[2] == sum);
	assert_int_equal(s.nsamples, 16);
	for (unsigned k = 0; k < 16; k++)
		assert_true(s.samples[k] == (double)x[k * (N / 16)]);
}

static void test_types(void **state)
{
	static const uint16_t halves[] = {0x3c00, 0xc000, 0x0001,
					  0x7c00, 0x7e00, 0x8000};         /* 1, -2, 2^-24, inf, nan, -0 */
	static const uint16_t brains[] = {0x3f80, 0xc000, 0x7f80, 0x7fc0}; /* 1, -2, inf, nan */
	static const int32_t ints[] = {-5, 3, 0, 2147483647};
	static const uint32_t unsigneds[] = {0xffffffff, 1};
	static const int64_t longs[] = {-(INT64_C(1) << 40), 1};
	static const uint64_t ulongs[] = {UINT64_C(1) << 63, 0};
	static const double doubles[] = {1e300, -1e-300, -INFINITY};
	static const struct {
		enum sketch_type t;
		const void *data;
		size_t bytes;
		unsigned nan, infinite, zero;
		double least, greatest;
	} rows[] = {
		{SKETCH_F16, halves, sizeof(halves), 1, 1, 1, -2, 1},
		{SKETCH_BF16, brains, sizeof(brains), 1, 1, 0, -2, 1},
		{SKETCH_S32, ints, sizeof(ints), 0, 0, 1, -5, 2147483647},
		{SKETCH_U32, unsigneds, sizeof(unsigneds), 0, 0, 0, 1, 4294967295.0},
		{SKETCH_S64, longs, sizeof(longs), 0, 0, 0, -1099511627776.0, 1},
		{SKETCH_U64, ulongs, sizeof(ulongs), 0, 0, 1, 0, 9223372036854775808.0},
		{SKETCH_F64, doubles, sizeof(doubles), 0, 1, 0, -1e-300, 1e300},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sketch s = sketch_of(rows[i].t, rows[i].data, rows[i].bytes);

		assert_int_equal(s.nan, rows[i].nan);
		assert_int_equal(s.infinite, rows[i].infinite);
		assert_int_equal(s.zero, rows[i].zero);
		assert_true(s.least == rows[i].least && s.greatest == rows[i].greatest);
	}
	assert_int_equal(sketch_type_find("f32"), SKETCH_F32);
	assert_int_equal(sketch_type_find("b32"), SKETCH_NONE);
	assert_int_equal(sketch_type_find(NULL), SKETCH_NONE);
}

static void test_nothing_finite(void **state)
{
	static const float x[] = {NAN, INFINITY};
	struct sketch s = sketch_of(SKETCH_F32, x, sizeof(x));

	(void)state;
	assert_true(s.least > s.greatest);
	assert_true(s.sum == 0);
}

static uint64_t mix(uint64_t x)
{
	for (int k = 0; k < 2; k++) {
		x ^= x >> 32;
		x *= UINT64_C(0xd6e8feb86659fd93);
	}
	return x ^ (x >> 32);
}

/* Eleven bytes: two words, the second one filled up with zeros. */
static void test_hash(void **state)
{
	static const uint8_t data[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	uint64_t w0 = UINT64_C(0x0807060504030201), w1 = 0x0b0a09;
	const uint64_t p = UINT64_C(0x9e3779b97f4a7c15), q = UINT64_C(0xd1b54a32d192ed03);
	struct sketch_chunk c = {0};

	(void)state;
	sketch_hash_chunk(&c, data, sizeof(data));
	assert_true(c.a == mix(w0 + p) + mix(w1 + 2 * p));
	assert_true(c.b == mix(w0 ^ q) + mix(w1 ^ 2 * q));
}

static void test_difference(void **state)
{
	static float x[N];
	struct sketch a, b;
	char text[512];

	(void)state;
	for (int i = 0; i < N; i++)
		x[i] = 1;
	a = sketch_of(SKETCH_F32, x, sizeof(x));
	assert_false(sketch_difference(&a, &a, text, sizeof(text)));
	x[30000] = NAN;
	x[2] = 5;
	b = sketch_of(SKETCH_F32, x, sizeof(x));
	assert_true(sketch_difference(&a, &b, text, sizeof(text)));
	assert_string_equal(text,
			    "NaNs 0, here 1; sum 40000, here 40003; sum of magnitudes 40000, here 40003; "
			    "greatest 1, here 5; first block that differs: 0, its sum 16384, here 16388");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floats),         cmocka_unit_test(test_types),
		cmocka_unit_test(test_nothing_finite), cmocka_unit_test(test_hash),
		cmocka_unit_test(test_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
