/* SPDX-License-Identifier: Apache-2.0
 *
 * How sums of matrix products are made (docs/tensor.md): by default rounded once, with tensor=seed:N within a bound,
 * the same for the same seed and not the same for all. Exact sums come from long double, whose 64 bits are far more
 * than the bounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

enum { SIZE = 16 * 16 };

static const struct kind {
	const char *shape, *a, *d, *types;
	unsigned k, regs_a, regs_d, bits;
	int unit;         /* of an intermediate: 2^unit relative, to nearest or cut off */
	int default_bits; /* half a unit in the last place of D */
} kinds[] = {
	{"m16n16k16", "f16", "f32", "f32.f32", 16, 8, 8, 16, -23, -24},
	{"m16n16k16", "f16", "f16", "f16.f16", 16, 8, 4, 16, -10, -11},
	{"m16n16k16", "bf16", "f32", "f32.bf16.bf16.f32", 16, 4, 8, 16, -23, -24},
	{"m16n16k8", "tf32", "f32", "f32.tf32.tf32.f32", 8, 4, 8, 32, -23, -24},
};

static void registers(char *to, size_t n, char letter, unsigned count)
{
	size_t len = (size_t)snprintf(to, n, "{");

	for (unsigned k = 0; k < count; k++)
		len += (size_t)snprintf(to + len, n - len, "%s%c%u", k ? ", " : "", letter, k);
	snprintf(to + len, n - len, "}");
}

static char *kernel(const struct kind *q)
{
	char *text = NULL, a[80], b[80], c[80], d[80];
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	registers(a, sizeof(a), 'a', q->regs_a);
	registers(b, sizeof(b), 'b', q->regs_a);
	registers(c, sizeof(c), 'c', q->regs_d);
	registers(d, sizeof(d), 'd', q->regs_d);
	fprintf(f,
		".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pa, .param "
		".u64 pb, "
		".param .u64 pc, .param .u64 pd)\n{\n.reg .b32 a<8>, b<8>, c<8>, d<8>; .reg .b64 ma, mb, mc, "
		"md;\n"
		"ld.param.u64 ma, [pa]; ld.param.u64 mb, [pb]; ld.param.u64 mc, [pc]; ld.param.u64 md, "
		"[pd];\n"
		"wmma.load.a.sync.aligned.row.%s.global.%s %s, [ma];\n"
		"wmma.load.b.sync.aligned.row.%s.global.%s %s, [mb];\n"
		"wmma.load.c.sync.aligned.row.%s.global.%s %s, [mc];\n"
		"wmma.mma.sync.aligned.row.row.%s.%s %s, %s, %s, %s;\n"
		"wmma.store.d.sync.aligned.row.%s.global.%s [md], %s;\nret;\n}\n",
		q->shape, q->a, a, q->shape, q->a, b, q->shape, q->d, c, q->shape, q->types, d, a, b, c,
		q->shape, q->d, d);
	fclose(f);
	return text;
}

/* A random number of a type: its bits and its value. Exponents differ, signs too: sums cancel. */
static double random_value(const char *type, uint32_t *bits)
{
	const uint64_t z = op_random();
	const double v =
		ldexp((double)(z & 0x7ff) + 0x800, -11 + (int)(z >> 20 & 7) - 4) * (z >> 30 & 1 ? -1 : 1);
	float f = (float)v;
	_Float16 h;
	uint16_t s;

	memcpy(bits, &f, 4);
	if (!strcmp(type, "f16")) {
		h = (_Float16)v;
		memcpy(&s, &h, 2);
		*bits = s;
		return (double)h;
	}
	if (!strcmp(type, "f32"))
		return f;
	*bits &= strcmp(type, "bf16") ? 0xffffe000 : 0xffff0000; /* tf32 */
	memcpy(&f, bits, 4);
	if (!strcmp(type, "bf16"))
		*bits >>= 16;
	return f;
}

static double va[SIZE], vb[SIZE], vc[SIZE];
static uint8_t ma[SIZE * 4], mb[SIZE * 4], mc[SIZE * 4];

static void fill(const struct kind *q)
{
	uint32_t bits;

	for (unsigned n = 0; n < SIZE; n++) {
		va[n] = random_value(q->a, &bits);
		memcpy(ma + n * q->bits / 8, &bits, q->bits / 8);
		vb[n] = random_value(q->a, &bits);
		memcpy(mb + n * q->bits / 8, &bits, q->bits / 8);
		vc[n] = random_value(q->d, &bits);
		memcpy(mc + n * (strcmp(q->d, "f16") ? 4 : 2), &bits, strcmp(q->d, "f16") ? 4 : 2);
	}
}

static void run(const struct kind *q, const char *options, double *out)
{
	struct test_device t;
	struct test_module m;
	uint8_t md[SIZE * 4] = {0};
	char *text = kernel(q);

	test_open(&t, options);
	test_load(&m, &t, text, "sums.ptx");
	uint64_t params[4] = {test_alloc(&t, sizeof(ma), ma), test_alloc(&t, sizeof(mb), mb),
			      test_alloc(&t, sizeof(mc), mc), test_alloc(&t, sizeof(md), NULL)};

	test_run_ok(&m, "k", LAUNCH1(1, 32), params, 4);
	test_read(&t, md, params[3], sizeof(md));
	for (unsigned n = 0; n < SIZE; n++) {
		float f;
		_Float16 h;

		memcpy(&f, md + 4 * n, 4);
		memcpy(&h, md + 2 * n, 2);
		out[n] = strcmp(q->d, "f16") ? (double)f : (double)h;
	}
	test_unload(&m);
	test_close(&t);
	free(text);
}

/* The exact sum of one element, and the sum of magnitudes. */
static long double exact(const struct kind *q, unsigned n, long double *magnitude)
{
	long double sum = vc[n];

	*magnitude = fabs(vc[n]);
	for (unsigned k = 0; k < q->k; k++) {
		const long double p = (long double)va[n / 16 * q->k + k] * vb[k * 16 + n % 16];

		sum += p;
		*magnitude += fabsl(p);
	}
	return sum;
}

static void rounded_once(void **state)
{
	(void)state;
	for (unsigned n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
		const struct kind *q = &kinds[n];
		double out[SIZE];

		fill(q);
		run(q, "workers=1", out);
		for (unsigned e = 0; e < SIZE; e++) {
			long double s, want = exact(q, e, &s);
			/* half a unit of D, and f64's error on the way: K additions */
			long double bound = ldexpl(fabsl(want), q->default_bits) + s * q->k * 0x1p-53L +
					    0x1p-25L * !strcmp(q->d, "f16");

			if (fabsl(out[e] - want) > bound)
				fail_msg("%s %s element %u: %a, exact %La", q->shape, q->types, e, out[e],
					 want);
		}
	}
}

static void within_bounds(void **state)
{
	(void)state;
	for (unsigned n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
		const struct kind *q = &kinds[n];
		double out[SIZE], again[SIZE], first[SIZE];
		unsigned different = 0;

		fill(q);
		for (unsigned seed = 0; seed < 32; seed++) {
			char options[60];

			snprintf(options, sizeof(options), "workers=1,tensor=seed:%u", seed);
			run(q, options, out);
			run(q, options, again);
			assert_memory_equal(out, again, sizeof(out));
			if (!seed)
				memcpy(first, out, sizeof(out));
			different += memcmp(first, out, sizeof(out)) != 0;
			for (unsigned e = 0; e < SIZE; e++) {
				long double s, want = exact(q, e, &s);

				if (fabsl(out[e] - want) > ldexpl(s, q->unit) * (3 * q->k + 4))
					fail_msg("%s %s seed %u element %u: %a, exact %La", q->shape,
						 q->types, seed, e, out[e], want);
			}
		}
		assert_true(different > 8);
	}
}

/* The option can be changed while the device is open; what it doesn't know is an error. */
static void options(void **state)
{
	struct test_device t;
	struct diag d = DIAG_INIT;

	(void)state;
	test_open(&t, "tensor=default");
	assert_int_equal(device_interp.control(t.dev, "tensor", "seed:7", &d), 0);
	assert_int_equal(device_interp.control(t.dev, "tensor", "default", &d), 0);
	assert_int_equal(device_interp.control(t.dev, "tensor", "seed:x", &d), CUTRACE_EINVAL);
	assert_int_equal(device_interp.control(t.dev, "tensor", "fast", &d), CUTRACE_EINVAL);
	assert_non_null(strstr(d.what, "seed:N"));
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounded_once),
		cmocka_unit_test(within_bounds),
		cmocka_unit_test(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
