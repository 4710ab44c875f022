/* SPDX-License-Identifier: Apache-2.0
 *
 * compare: distances against the compiler's own arithmetic (nextafter) and IEEE 754's encodings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "replay/compare.h"

static uint64_t f32(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static uint64_t f64(double f)
{
	uint64_t u;

	memcpy(&u, &f, 8);
	return u;
}

/* Encodings from IEEE 754-2019, 3.4; bf16 is the upper half of binary32. */
static void test_ulp(void **state)
{
	static const struct {
		const char *type;
		uint64_t a, b, ulp;
	} rows[] = {
		{"f32", 0x3f800000, 0x3f800000, 0},
		{"f32", 0x3f800000, 0x3f800001, 1},
		{"f32", 0x00000000, 0x80000000, 0}, /* 0, -0 */
		{"f32", 0x00000001, 0x80000001, 2}, /* smallest subnormals of both signs */
		{"f32", 0x007fffff, 0x00800000, 1}, /* largest subnormal, smallest normal */
		{"f32", 0x7f7fffff, 0x7f800000, 1}, /* largest finite, infinity */
		{"f32", 0x7f800000, 0xff800000, 2 * UINT64_C(0x7f800000)},
		{"f32", 0x7fc00000, 0x7f800001, 0}, /* NaNs, quiet and signalling */
		{"f32", 0x7fc00000, 0xffc00001, 0},
		{"f32", 0x7fc00000, 0x7f800000, COMPARE_NO_ULP}, /* NaN, infinity */
		{"f32", 0x3f800000, 0x7fc00000, COMPARE_NO_ULP},
		{"f64", 0x3ff0000000000000, 0x3ff0000000000002, 2},
		{"f64", 0x0000000000000001, 0x8000000000000001, 2},
		{"f64", 0x7ff8000000000000, 0x3ff0000000000000, COMPARE_NO_ULP},
		{"f16", 0x3c00, 0x3c01, 1},
		{"f16", 0x03ff, 0x0400, 1},
		{"f16", 0x7c00, 0x7bff, 1},
		{"f16", 0x7e00, 0x7c01, 0},
		{"f16", 0x8000, 0x0001, 1},
		{"bf16", 0x3f80, 0x3f81, 1},
		{"bf16", 0x7f80, 0x7f81, COMPARE_NO_ULP},
		{"bf16", 0x0080, 0x007f, 1},
		{"f16x2", 0x3c00, 0x3c04, 4},
		{"tf32", 0x3f800000, 0x3f802000, 0x2000},
		{"s32", 0xffffffff, 0x00000001, 2},
		{"s8", 0x80, 0x7f, 255},
		{"u32", 0xffffffff, 0x00000001, 0xfffffffe},
		{"s64", 0x8000000000000000, 0x7fffffffffffffff, UINT64_MAX},
		{"b32", 7, 3, 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct elem_type *t = elem_type_find(rows[i].type);

		assert_int_equal(elem_ulp(t, rows[i].a, rows[i].b), rows[i].ulp);
		assert_int_equal(elem_ulp(t, rows[i].b, rows[i].a), rows[i].ulp);
	}
}

static void test_ulp_against_nextafter(void **state)
{
	static const double starts[] = {0, 1, -1, 3e-320, 1e308, -2.5e-7};

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		double d = starts[i];
		float f = (float)starts[i];

		for (unsigned steps = 1; steps < 200; steps++) {
			d = nextafter(d, -INFINITY);
			f = nextafterf(f, INFINITY);
			assert_int_equal(elem_ulp(elem_type_find("f64"), f64(starts[i]), f64(d)), steps);
			if (isinf(f))
				break;
			assert_int_equal(elem_ulp(elem_type_find("f32"), f32((float)starts[i]), f32(f)),
					 steps);
		}
	}
}

/* _Float16 is the compiler's own binary16. */
static void test_values(void **state)
{
	(void)state;
	for (uint32_t u = 0; u < 0x10000; u++) {
		_Float16 h;
		uint16_t bits = (uint16_t)u;
		uint32_t wide = u << 16;
		float b;
		double got = elem_value(elem_type_find("f16"), u);

		memcpy(&h, &bits, 2);
		memcpy(&b, &wide, 4);
		if (isnan((double)h))
			assert_true(isnan(got) && elem_is_nan(elem_type_find("f16"), u));
		else
			assert_true(got == (double)h);
		got = elem_value(elem_type_find("bf16"), u);
		if (isnan(b))
			assert_true(isnan(got) && elem_is_nan(elem_type_find("bf16"), u));
		else
			assert_true(got == (double)b);
	}
	assert_true(elem_value(elem_type_find("f64"), f64(-0x1.8p-1074)) == -0x1.8p-1074);
	assert_true(elem_value(elem_type_find("f32"), f32(0x1p-149f)) == 0x1p-149);
	assert_true(elem_value(elem_type_find("s16"), 0xfffe) == -2);
	assert_true(elem_value(elem_type_find("u16"), 0xfffe) == 65534);
}

static void test_default_verdict_is_bytes(void **state)
{
	const float want[] = {1, 2, -0.0f, NAN, 5, 6};
	float got[] = {1, 2, 0.0f, NAN, 5, 6.5f};
	const struct compare_limits none = {0};
	struct compare_result r = {0};
	uint32_t payload = 0x7fc12345;

	(void)state;
	memcpy(&got[3], &payload, 4);
	compare_buffers(elem_type_find("f32"), &none, want, got, sizeof(want), &r);
	assert_int_equal(r.elements, 6);
	assert_int_equal(r.nan_payload, 1);
	assert_int_equal(r.differing, 2); /* -0 is not 0 in bytes */
	assert_int_equal(r.beyond, 2);
	assert_int_equal(r.first, 2);
	assert_int_equal(r.want, 0x80000000);
	assert_int_equal(r.got, 0);
	assert_int_equal(r.max_ulp, 1 << 20); /* 6 lies in [4, 8): an ulp is 2^-21, the distance 2^-1 */
}

static void test_limits(void **state)
{
	const double want[] = {100, 1, 0, 1e300, INFINITY, NAN};
	double got[] = {100.5, 1, 1e-9, 1e300, INFINITY, NAN};
	struct compare_result r = {0};
	struct compare_limits l = {.has_tol = true, .rtol = 0.005, .atol = 1e-8};

	(void)state;
	compare_buffers(elem_type_find("f64"), &l, want, got, sizeof(want), &r);
	assert_int_equal(r.differing, 2);
	assert_int_equal(r.beyond, 0);
	assert_true(r.max_abs == 0.5);
	got[3] = INFINITY;
	memset(&r, 0, sizeof(r));
	compare_buffers(elem_type_find("f64"), &l, want, got, sizeof(want), &r);
	assert_int_equal(r.beyond, 1);
	assert_int_equal(r.first, 3); /* the first beyond the limits, not the first that differs */
	got[3] = 1e300;
	got[4] = NAN;
	memset(&r, 0, sizeof(r));
	l = (struct compare_limits){.has_ulp = true, .ulp = UINT64_MAX - 1};
	compare_buffers(elem_type_find("f64"), &l, want, got, sizeof(want), &r);
	assert_int_equal(r.beyond, 1); /* a NaN against a number is never near */
	assert_int_equal(r.first, 4);
}

static void test_large_and_tail(void **state)
{
	enum { N = 100003 };
	static uint8_t a[N], b[N];
	struct compare_result r = {0}, half = {0}, merged = {0};
	const struct compare_limits none = {0};

	(void)state;
	for (unsigned i = 0; i < N; i++)
		a[i] = b[i] = (uint8_t)(i * 7);
	b[4096 * 3 + 5] ^= 1;
	b[N - 1] ^= 0x10;
	compare_buffers(elem_type_find("u32"), &none, a, b, N, &r);
	assert_int_equal(r.elements, N / 4 + 1);
	assert_int_equal(r.differing, 2);
	assert_int_equal(r.first, (4096 * 3 + 5) / 4);
	compare_buffers(elem_type_find("u32"), &none, a, b, 4096, &half);
	compare_merge(&merged, &half, 0);
	memset(&half, 0, sizeof(half));
	compare_buffers(elem_type_find("u32"), &none, a + 4096, b + 4096, N - 4096, &half);
	compare_merge(&merged, &half, 1024);
	assert_memory_equal(&merged, &r, sizeof(r));
}

static void test_format(void **state)
{
	static const struct {
		const char *type;
		uint64_t bits;
		const char *text;
	} rows[] = {
		{"f32", 0x3f000000, "0.5"},
		{"f32", 0x7fc00000, "nan(0x7fc00000)"},
		{"f32", 0xff800000, "-inf"},
		{"f64", 0xc008000000000000, "-3"},
		{"f16", 0x3c00, "1"},
		{"s32", 0xffffffff, "-1"},
		{"u32", 0xffffffff, "4294967295"},
		{"b32", 0x1f, "0x0000001f"},
		{NULL, 0xff, "0xff"},
		{"e4m3", 0x38, "0x38"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		elem_format(elem_type_find(rows[i].type), rows[i].bits, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ulp),    cmocka_unit_test(test_ulp_against_nextafter),
		cmocka_unit_test(test_values), cmocka_unit_test(test_default_verdict_is_bytes),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_large_and_tail),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
