/* SPDX-License-Identifier: Apache-2.0
 *
 * What the hardware only estimates is moved, by a seed, within the error that AMD states: 1 ULP in binary32, 2^29 ULP in
 * binary64, 0.51 ULP in binary16; and really moved.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "zluda_core/amdgpu_emulator/lanes.h"

enum { VALUES = 20000 };

static uint64_t state = 1;

static double value(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return ldexp(1 + (double)(state >> 12) * 0x1p-52, (int)(state >> 3 & 127) - 64) *
	       (state >> 2 & 1 ? -1 : 1);
}

static void test_binary32(void **unused)
{
	unsigned moved = 0;

	(void)unused;
	for (uint32_t i = 1; i < VALUES; i++) {
		double v = i % 8 ? value() : (double)(float)value();
		double ulp = ldexp(1, ilogb(v) - 23);
		float e = estimate_f32(v, i), nearest = (float)v;
		assert_true(fabs((double)e - v) <= ulp);
		assert_true(e == estimate_f32(v, i));
		assert_true(estimate_f32(v, 0) == nearest);
		assert_true((double)nearest != v || e == nearest);
		moved += e != nearest;
	}
	assert_true(moved > VALUES / 4);
}

static void test_binary64(void **unused)
{
	unsigned moved = 0;

	(void)unused;
	for (uint32_t i = 1; i < VALUES; i++) {
		double v = value(), e = estimate_f64(v, i);
		assert_true(fabs(e - v) <= ldexp(1, ilogb(v) - 52 + 29));
		moved += fabs(e - v) > ldexp(1, ilogb(v) - 52 + 27);
	}
	assert_true(moved > VALUES / 4);
}

static void test_binary16(void **unused)
{
	unsigned moved = 0;

	(void)unused;
	for (uint32_t i = 1; i < VALUES; i++) {
		/* half-way between two numbers of binary16, nearly: where a hundredth of an ULP decides */
		double v = (1 + (double)(2 * (i % 1024) + 1) * 0x1p-11) + (i % 2 ? 0x1p-20 : -0x1p-20);
		float e = f16_to_f32(f16_of(estimate_f16(v, i)));
		assert_true(fabs((double)e - v) <= 0.51 * 0x1p-10);
		moved += e != f16_to_f32(f16_of(v));
	}
	assert_true(moved > VALUES / 8);
}

static void test_special(void **unused)
{
	(void)unused;
	for (uint32_t seed = 1; seed < 64; seed++) {
		assert_true(estimate_f32(0.0, seed) == 0 && isinf(estimate_f32(INFINITY, seed)));
		assert_true(isnan(estimate_f32(NAN, seed)) && isnan(estimate_f64(NAN, seed)));
		assert_true(estimate_f64(-INFINITY, seed) == -INFINITY && estimate_f64(0.0, seed) == 0);
		assert_true(estimate_f16(0.0, seed) == 0 && isinf(estimate_f16(INFINITY, seed)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binary32),
		cmocka_unit_test(test_binary64),
		cmocka_unit_test(test_binary16),
		cmocka_unit_test(test_special),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
