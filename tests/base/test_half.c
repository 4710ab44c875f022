/* SPDX-License-Identifier: Apache-2.0
 * All values of both formats by construction from sign, exponent and fraction; what lies between two neighbours is
 * rounded to the nearer, at the middle to the even one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/half.h"

static const struct format {
	int fraction_bits, bias;
	float (*to)(uint16_t);
	uint16_t (*from)(float);
} formats[] = {
	{10, 15, f16_to_f32, f16_from_f32},
	{7, 127, bf16_to_f32, bf16_from_f32},
};

/* IEEE 754-2019, 3.4 */
static double constructed(const struct format *f, unsigned h)
{
	int fraction = (int)(h & ((1u << f->fraction_bits) - 1));
	int exponent = (int)((h & 0x7fff) >> f->fraction_bits), top = 2 * f->bias + 1;
	double v;

	if (exponent == top)
		v = fraction ? NAN : INFINITY;
	else if (exponent)
		v = ldexp(fraction + (1 << f->fraction_bits), exponent - f->bias - f->fraction_bits);
	else
		v = ldexp(fraction, 1 - f->bias - f->fraction_bits);
	return h & 0x8000 ? -v : v;
}

static void test_values(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 2; k++)
		for (unsigned h = 0; h < 0x10000; h++) {
			double want = constructed(&formats[k], h), got = (double)formats[k].to((uint16_t)h);

			if (isnan(want)) {
				assert_true(isnan(got));
				assert_int_equal(formats[k].from((float)got), 0x7fff);
				continue;
			}
			assert_true(got == want && !signbit(got) == !signbit(want));
			assert_int_equal(formats[k].from((float)want), h);
		}
}

static void test_rounding(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		const struct format *f = &formats[k];
		unsigned infinity = 0x7fffu >> f->fraction_bits << f->fraction_bits;

		for (unsigned h = 0; h + 1 < infinity; h++) {
			float low = f->to((uint16_t)h), high = f->to((uint16_t)(h + 1));
			float middle = (float)(((double)low + (double)high) / 2); /* exact: a bit more */
			unsigned even = h & 1 ? h + 1 : h;

			assert_int_equal(f->from(middle), even);
			assert_int_equal(f->from(nextafterf(middle, low)), h);
			assert_int_equal(f->from(nextafterf(middle, high)), h + 1);
			assert_int_equal(f->from(-middle), even | 0x8000);
		}
	}
	/* Halfway from the largest number to the power of two behind it, and above: infinity. */
	assert_int_equal(f16_from_f32(65520.0f), 0x7c00);
	assert_int_equal(f16_from_f32(nextafterf(65520.0f, 0)), 0x7bff);
	/* Rounded once: by way of float this would be a middle, and even. */
	assert_int_equal(f16_from_f64(1 + ldexp(1, -11) + ldexp(1, -40)), 0x3c01);
	assert_int_equal(f16_from_f32((float)(1 + ldexp(1, -11) + ldexp(1, -40))), 0x3c00);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_rounding)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
