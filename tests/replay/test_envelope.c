/* SPDX-License-Identifier: Apache-2.0
 *
 * What an envelope of samples says of results that are known to be like the samples, and of such that are not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "replay/envelope.h"

enum { N = 2000, SAMPLES = 9 };

static float samples[SAMPLES + 1][N]; /* the last one is the result in question */
static const void *legal[SAMPLES];

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) * 0x1p-53;
}

/* Values from 1e-3 to 1e3 with a relative noise; some with steps besides, as rounding to a short format makes them. */
static void draw(uint64_t seed, double noise, double steps)
{
	uint64_t r = seed * 977 + 1;

	for (unsigned k = 0; k < N; k++) {
		double v = pow(10, 6 * uniform(&r) - 3) * (uniform(&r) < 0.5 ? -1 : 1);

		for (unsigned i = 0; i <= SAMPLES; i++) {
			double e = noise * (uniform(&r) + uniform(&r) + uniform(&r) - 1.5);

			if (uniform(&r) < 0.01)
				e += steps * (uniform(&r) - 0.5);
			samples[i][k] = (float)(v * (1 + e));
		}
	}
	for (unsigned i = 0; i < SAMPLES; i++)
		legal[i] = samples[i];
}

static struct envelope grade(const char *type)
{
	struct envelope e;

	envelope_grade(elem_type_find(type), legal, SAMPLES, samples[SAMPLES], sizeof(samples[0]), &e);
	return e;
}

static void one_of_them_is_inside(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		draw(seed, 1e-6, 0);
		assert_int_equal(grade("f32").grade, ENVELOPE_INSIDE);
		draw(seed, 1e-6, 1e-3);
		assert_int_equal(grade("f32").grade, ENVELOPE_INSIDE);
	}
}

static void one_wrong_element(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct envelope e;
		unsigned at = (unsigned)(seed * 97 % N);

		draw(seed, 1e-6, 0);
		samples[SAMPLES][at] *= 1 + 1e-4f;
		e = grade("f32");
		assert_int_equal(e.grade, ENVELOPE_OUTSIDE);
		assert_int_equal(e.outside, 1);
		assert_int_equal(e.first, at);
		assert_true(e.worst > 1);
	}
}

/* Noise that is legal says nothing of what has none. */
static void exact_elements(void **state)
{
	(void)state;
	draw(3, 0, 0);
	assert_int_equal(grade("f32").grade, ENVELOPE_INSIDE);
	samples[SAMPLES][7] = nextafterf(samples[SAMPLES][7], INFINITY);
	assert_int_equal(grade("f32").grade, ENVELOPE_OUTSIDE);
	assert_true(isinf(grade("f32").worst));
	assert_int_equal(grade("f32").varying, 0);
	/* Integers that differ where all samples agree. */
	assert_int_equal(grade("u32").grade, ENVELOPE_OUTSIDE);
	assert_int_equal(grade("u32").first, 7);
}

static void not_a_number(void **state)
{
	(void)state;
	draw(4, 1e-6, 0);
	samples[SAMPLES][11] = NAN;
	assert_int_equal(grade("f32").grade, ENVELOPE_OUTSIDE);
	assert_int_equal(grade("f32").first, 11);
	for (unsigned i = 0; i < SAMPLES; i++)
		samples[i][11] = NAN;
	assert_int_equal(grade("f32").grade, ENVELOPE_INSIDE);
	samples[SAMPLES][11] = 1;
	assert_int_equal(grade("f32").grade, ENVELOPE_OUTSIDE);
	samples[2][11] = 1;
	assert_int_equal(grade("f32").grade, ENVELOPE_INSIDE);
	samples[SAMPLES][11] = INFINITY;
	assert_int_equal(grade("f32").grade, ENVELOPE_OUTSIDE);
}

/* The same numbers in some order, as atomics give them: nothing can be told. */
static void chaos(void **state)
{
	uint64_t r = 9;

	(void)state;
	for (unsigned i = 0; i <= SAMPLES; i++)
		for (unsigned k = 0; k < N; k++)
			samples[i][k] = (float)uniform(&r);
	assert_int_equal(grade("f32").grade, ENVELOPE_CHAOTIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_them_is_inside),
		cmocka_unit_test(one_wrong_element),
		cmocka_unit_test(exact_elements),
		cmocka_unit_test(not_a_number),
		cmocka_unit_test(chaos),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
