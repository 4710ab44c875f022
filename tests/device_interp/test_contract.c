/* SPDX-License-Identifier: Apache-2.0
 *
 * Products and sums fused by the control "contract". What is expected is C's own arithmetic: the product rounded, then
 * the sum; or the exact sum rounded once.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

enum { N = 4096 };

enum format { F16, BF16, F16X2, F32, F32X2, F64 };
static const struct {
	unsigned bits, precision; /* of an element */
	unsigned elements;
} formats[] = {
	[F16] = {16, 11, 1}, [BF16] = {16, 8, 1},   [F16X2] = {16, 11, 2},
	[F32] = {32, 24, 1}, [F32X2] = {32, 24, 2}, [F64] = {64, 53, 1},
};

/* product: sign of a * b in the sum, addend: sign of c. */
static const struct pair {
	const char *text;
	enum format format;
	int product, addend;
	bool fuses;
} pairs[] = {
	{"mul.f32 x, a, b; add.f32 d, x, c;", F32, 1, 1, true},
	{"mul.f32 x, a, b; add.f32 d, c, x;", F32, 1, 1, true},
	{"mul.f32 x, a, b; sub.f32 d, x, c;", F32, 1, -1, true},
	{"mul.f32 x, a, b; sub.f32 d, c, x;", F32, -1, 1, true},
	{"mul.ftz.f32 x, a, b; add.ftz.f32 d, x, c;", F32, 1, 1, true},
	{"mul.f64 x, a, b; add.f64 d, x, c;", F64, 1, 1, true},
	{"mul.f64 x, a, b; sub.f64 d, c, x;", F64, -1, 1, true},
	{"mul.f16 x, a, b; add.f16 d, x, c;", F16, 1, 1, true},
	{"mul.f16 x, a, b; sub.f16 d, x, c;", F16, 1, -1, true},
	{"mul.bf16 x, a, b; sub.bf16 d, c, x;", BF16, -1, 1, true},
	{"mul.f16x2 x, a, b; sub.f16x2 d, c, x;", F16X2, -1, 1, true},
	{"mul.f32x2 x, a, b; add.f32x2 d, x, c;", F32X2, 1, 1, true},
	/* the factors' registers have other values by then; the product is its own factor */
	{"mul.f32 x, a, b; mov.b32 a, 0; mov.b32 b, 0; add.f32 d, x, c;", F32, 1, 1, true},
	{"mov.b32 x, a; mul.f32 x, x, b; add.f32 d, x, c;", F32, 1, 1, true},
	/* under a guard, and with the product used besides */
	{".reg .pred p; mov.b32 d, 0; setp.eq.u32 p, 0, 0; mul.f32 x, a, b; @p add.f32 d, x, c;", F32, 1, 1,
	 true},
	{"mul.f32 x, a, b; add.f32 d, x, c; add.f32 x, x, x;", F32, 1, 1, true},
	/* a rounding modifier on either forbids it; so do different treatment of subnormals and a guarded product */
	{"mul.rn.f32 x, a, b; add.f32 d, x, c;", F32, 1, 1, false},
	{"mul.f32 x, a, b; add.rn.f32 d, x, c;", F32, 1, 1, false},
	{"mul.ftz.f32 x, a, b; add.f32 d, x, c;", F32, 1, 1, false},
	{".reg .pred p; setp.eq.u32 p, 0, 0; mov.b32 x, 0; @p mul.f32 x, a, b; add.f32 d, x, c;", F32, 1, 1,
	 false},
};

/* v to `precision` bits, to nearest even; v is in the range of normal numbers. */
static double rounded(double v, unsigned precision)
{
	int e;
	double m = frexp(v, &e);

	return ldexp(nearbyint(ldexp(m, (int)precision)), e - (int)precision);
}

static uint64_t element_bits(enum format format, double v)
{
	const float f = (float)v;
	uint64_t bits = 0;
	_Float16 h;

	switch (format) {
	case F64: memcpy(&bits, &v, 8); break;
	case F16:
	case F16X2:
		h = (_Float16)v;
		memcpy(&bits, &h, 2);
		break;
	default: memcpy(&bits, &f, 4);
	}
	return format == BF16 ? bits >> 16 : bits;
}

/* A number with all bits of its precision, between 1/16 and 16. */
static double random_element(unsigned precision)
{
	const uint64_t z = op_random(),
		       mantissa = 1ull << (precision - 1) | (z & ((1ull << (precision - 1)) - 1));

	return ldexp((double)mantissa, (int)(op_random() % 8) - 3 - (int)precision) *
	       (op_random() & 1 ? 1 : -1);
}

struct expected {
	uint64_t separate, fused;
};

/* f64's exact sum doesn't fit a double: there the C library's fma is asked. */
static void expect(const struct pair *p, const double v[3], struct expected *out, unsigned shift)
{
	const unsigned precision = formats[p->format].precision;
	const bool wide = p->format == F64;
	const double product = p->product * v[0] * v[1], addend = p->addend * v[2];
	volatile double first = wide ? product : rounded(product, precision), second = first + addend;
	const double once = wide || p->format == F32 || p->format == F32X2
				    ? 0
				    : rounded(fma(p->product * v[0], v[1], addend), precision);
	double fused = wide ? fma(p->product * v[0], v[1], addend) : once;

	if (p->format == F32 || p->format == F32X2)
		fused = (double)fmaf((float)(p->product * v[0]), (float)v[1], (float)addend);
	out->separate |= element_bits(p->format, wide ? second : rounded(second, precision)) << shift;
	out->fused |= element_bits(p->format, fused) << shift;
}

static uint64_t words[3][N];
static struct expected want[N];

static void draw(const struct pair *p)
{
	const unsigned bits = formats[p->format].bits;

	for (unsigned n = 0; n < N; n++) {
		want[n] = (struct expected){0, 0};
		words[0][n] = words[1][n] = words[2][n] = 0;
		for (unsigned e = 0; e < formats[p->format].elements; e++) {
			double v[3];

			for (unsigned k = 0; k < 3; k++) {
				v[k] = random_element(formats[p->format].precision);
				words[k][n] |= element_bits(p->format, v[k]) << e * bits;
			}
			expect(p, v, &want[n], e * bits);
		}
	}
}

static void run(const struct pair *p, const char *options, uint64_t *got)
{
	const unsigned bits = formats[p->format].bits * formats[p->format].elements;
	const uint64_t *src[OP_SOURCES] = {words[0], words[1], words[2]};
	struct test_device t;
	char text[300];

	snprintf(text, sizeof(text), "{ .reg .b%u x; %s }", bits, p->text);
	test_open(&t, options);
	op_run(&t, text, "t:ttt", bits, src, got, N);
	test_close(&t);
}

static uint64_t got[N];

static void check(const struct pair *p, const char *options, bool fused)
{
	unsigned different = 0;

	run(p, options, got);
	for (unsigned n = 0; n < N; n++) {
		const uint64_t expected = fused ? want[n].fused : want[n].separate;

		different += want[n].fused != want[n].separate;
		if (got[n] != expected)
			fail_msg("%s, %s: %#llx %#llx %#llx gave %#llx, expected %#llx", p->text, options,
				 (unsigned long long)words[0][n], (unsigned long long)words[1][n],
				 (unsigned long long)words[2][n], (unsigned long long)got[n],
				 (unsigned long long)expected);
	}
	assert_true(different > N / 16);
}

static void all_and_none(void **state)
{
	(void)state;
	for (unsigned k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
		draw(&pairs[k]);
		check(&pairs[k], "workers=1", false);
		check(&pairs[k], "workers=1,contract=all", pairs[k].fuses);
		check(&pairs[k], "workers=1,contract=all,simd=0", pairs[k].fuses);
		check(&pairs[k], "workers=1,contract=all,contract=none", false);
	}
}

/* One pair: a seed fuses it or doesn't, and about half of them do. */
static void by_seed(void **state)
{
	unsigned fusing = 0;

	(void)state;
	draw(&pairs[0]);
	for (unsigned seed = 0; seed < 64; seed++) {
		char options[60];

		snprintf(options, sizeof(options), "workers=1,contract=seed:%u", seed);
		run(&pairs[0], options, got);
		bool fused = true, separate = true;
		for (unsigned n = 0; n < N; n++) {
			fused &= got[n] == want[n].fused;
			separate &= got[n] == want[n].separate;
		}
		assert_true(fused != separate);
		fusing += fused;
	}
	assert_in_range(fusing, 16, 48);
}

/* x * x + y * y: one of the two products at most. */
static void two_products(void **state)
{
	struct test_device t;
	uint64_t out[N];
	const uint64_t *src[OP_SOURCES] = {words[0], words[1], words[2]};

	(void)state;
	draw(&pairs[0]);
	test_open(&t, "workers=1,contract=all");
	op_run(&t, "{ .reg .f32 x, y; mul.f32 x, a, a; mul.f32 y, b, b; add.f32 d, x, y; }", "t:tt", 32, src,
	       out, N);
	test_close(&t);
	for (unsigned n = 0; n < N; n++) {
		const uint32_t low[2] = {(uint32_t)words[0][n], (uint32_t)words[1][n]};
		float a, b;

		memcpy(&a, &low[0], 4);
		memcpy(&b, &low[1], 4);
		volatile float square = b * b;
		assert_int_equal(out[n], element_bits(F32, (double)fmaf(a, a, square)));
	}
}

/* While the device is open it can be changed: the next launch obeys. */
static void changed(void **state)
{
	static const char ptx[] =
		".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
		".reg .f32 a, b, c; .reg .u64 q;\nld.param.u64 q, [p];\nld.global.f32 a, [q];\n"
		"ld.global.f32 b, [q+4];\nld.global.f32 c, [q+8];\nmul.f32 a, a, b;\nadd.f32 a, a, c;\n"
		"st.global.f32 [q+12], a;\nret;\n}\n";
	static const struct {
		const char *value;
		bool fused;
	} steps[] = {{"none", false}, {"all", true}, {"all", true}, {"none", false}};
	/* (1 + e)^2 - 1 - 2e is e^2, which rounding the product loses */
	const float in[4] = {1 + 0x1p-23f, 1 + 0x1p-23f, -(1 + 0x1p-22f), 0};
	struct test_device t;
	struct test_module m;
	struct diag d = DIAG_INIT;

	(void)state;
	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "k.ptx");
	for (unsigned k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		uint64_t p = test_alloc(&t, sizeof(in), in);
		float out[4];

		assert_int_equal(device_interp.control(t.dev, "contract", steps[k].value, &d), 0);
		test_run_ok(&m, "k", LAUNCH1(1, 1), &p, 1);
		test_read(&t, out, p, sizeof(out));
		assert_true(out[3] == (steps[k].fused ? 0x1p-46f : 0));
	}
	assert_int_equal(device_interp.control(t.dev, "contract", "seed:x", &d), CUTRACE_EINVAL);
	assert_int_equal(device_interp.control(t.dev, "contract", "fast", &d), CUTRACE_EINVAL);
	assert_non_null(strstr(d.what, "seed:N"));
	test_unload(&m);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_and_none),
		cmocka_unit_test(by_seed),
		cmocka_unit_test(two_products),
		cmocka_unit_test(changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
