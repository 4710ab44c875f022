/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating point against MPFR: every rounding mode, flushing, saturation,
 * f16, bf16, f32, f64; bounds of the approximate functions (PTX ISA 9.7.3);
 * minimum, maximum, comparison and testp by their definition.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/device_interp/float_ref.h"
#include "tests/device_interp/op_runner.h"

#define PAIRS (REF_EDGES * REF_EDGES)
#define CASES (PAIRS + 1500)

static uint64_t v[OP_SOURCES][CASES], got[CASES];
static const uint64_t *const src[OP_SOURCES] = {v[0], v[1], v[2], v[3]};

static void make_values(const struct fmt *f)
{
	for (uint32_t k = 0; k < CASES; k++) {
		v[0][k] = ref_value(f, k < PAIRS ? k % REF_EDGES : k);
		v[1][k] = ref_value(f, k < PAIRS ? k / REF_EDGES : k);
		v[2][k] = ref_value(f, k < PAIRS ? (uint32_t)op_random() % REF_EDGES : k);
		v[3][k] = op_random() & 1;
	}
}

enum { FTZ = 1, SAT = 2, RELU = 4 };

/* .sat: [0,1], NaN gives +0. */
static uint64_t saturate(const struct fmt *f, uint64_t bits)
{
	const uint64_t sign = 1ull << (f->bits - 1), one = ((1ull << (f->exp_bits - 1)) - 1)
							   << (f->bits - 1 - f->exp_bits);

	if (ref_is_nan(f, bits) || (bits & sign))
		return 0;
	return bits > one ? one : bits;
}

static uint64_t expected(enum ref_op op, const struct fmt *f, mpfr_rnd_t rnd, unsigned how, uint32_t k)
{
	uint64_t in[3] = {v[0][k], v[1][k], v[2][k]}, r;

	for (unsigned s = 0; s < 3 && (how & FTZ); s++)
		in[s] = ref_flush(f, in[s]);
	r = ref_compute(op, f, f, rnd, in);
	if (how & FTZ)
		r = ref_flush(f, r);
	if ((how & RELU) && !ref_is_nan(f, r) && r >> (f->bits - 1))
		r = 0;
	return how & SAT ? saturate(f, r) : r;
}

static const struct {
	const char *suffix;
	mpfr_rnd_t rnd;
} roundings[] = {{".rn", MPFR_RNDN}, {".rz", MPFR_RNDZ}, {".rm", MPFR_RNDD}, {".rp", MPFR_RNDU}};

/* u: result may differ by so many units. NaN: f64's payload is free, the others have one NaN. */
static void compare(const char *text, const struct fmt *f, uint32_t k, uint64_t want, uint64_t units)
{
	uint64_t g = op_mask(got[k], f->bits);
	bool ok = g == want || (f == &fmt_f64 && ref_is_nan(f, g) && ref_is_nan(f, want)) ||
		  (units && ref_distance(f, g, want) <= units);

	if (!ok)
		fail_msg("%s a=%llx b=%llx c=%llx: %llx, expected %llx", text, (unsigned long long)v[0][k],
			 (unsigned long long)v[1][k], (unsigned long long)v[2][k], (unsigned long long)g,
			 (unsigned long long)want);
}

static void check(struct test_device *t, const char *text, const char *shape, enum ref_op op,
		  const struct fmt *f, mpfr_rnd_t rnd, unsigned how, uint64_t units)
{
	make_values(f);
	op_run(t, text, shape, f->bits, src, got, CASES);
	for (uint32_t k = 0; k < CASES; k++)
		compare(text, f, k, expected(op, f, rnd, how, k), units);
}

static const struct {
	const char *name, *operands, *shape;
	enum ref_op op;
} exact[] = {
	{"add", "d, a, b;", "t:tt", REF_ADD},     {"sub", "d, a, b;", "t:tt", REF_SUB},
	{"mul", "d, a, b;", "t:tt", REF_MUL},     {"fma", "d, a, b, c;", "t:ttt", REF_FMA},
	{"mad", "d, a, b, c;", "t:ttt", REF_FMA}, {"div", "d, a, b;", "t:tt", REF_DIV},
	{"rcp", "d, a;", "t:t", REF_RCP},         {"sqrt", "d, a;", "t:t", REF_SQRT},
};

static void exact_operations(struct test_device *t)
{
	char text[200];

	for (unsigned o = 0; o < 8; o++) {
		for (unsigned r = 0; r < 4; r++) {
			snprintf(text, sizeof(text), "%s%s.f32 %s", exact[o].name, roundings[r].suffix,
				 exact[o].operands);
			check(t, text, exact[o].shape, exact[o].op, &fmt_f32, roundings[r].rnd, 0, 0);
			snprintf(text, sizeof(text), "%s%s.ftz.f32 %s", exact[o].name, roundings[r].suffix,
				 exact[o].operands);
			check(t, text, exact[o].shape, exact[o].op, &fmt_f32, roundings[r].rnd, FTZ, 0);
			snprintf(text, sizeof(text), "%s%s.f64 %s", exact[o].name, roundings[r].suffix,
				 exact[o].operands);
			check(t, text, exact[o].shape, exact[o].op, &fmt_f64, roundings[r].rnd, 0, 0);
		}
	}
	for (unsigned o = 0; o < 5; o++) {
		snprintf(text, sizeof(text), "%s.rn.sat.f32 %s", exact[o].name, exact[o].operands);
		check(t, text, exact[o].shape, exact[o].op, &fmt_f32, MPFR_RNDN, SAT, 0);
		snprintf(text, sizeof(text), "%s.rn.ftz.sat.f32 %s", exact[o].name, exact[o].operands);
		check(t, text, exact[o].shape, exact[o].op, &fmt_f32, MPFR_RNDN, FTZ | SAT, 0);
	}
}

static void half_operations(struct test_device *t)
{
	static const struct {
		const char *modifiers;
		unsigned how;
	} f16_how[] = {{"", 0}, {".ftz", FTZ}, {".sat", SAT}, {".ftz.sat", FTZ | SAT}, {".relu", RELU}};
	char text[200];

	for (unsigned o = 0; o < 4; o++) {
		for (unsigned h = 0; h < (o == 3 ? 5u : 4u); h++) {
			snprintf(text, sizeof(text), "%s.rn%s.f16 %s", exact[o].name, f16_how[h].modifiers,
				 exact[o].operands);
			check(t, text, exact[o].shape, exact[o].op, &fmt_f16, MPFR_RNDN, f16_how[h].how, 0);
		}
		snprintf(text, sizeof(text), "%s.rn.bf16 %s", exact[o].name, exact[o].operands);
		check(t, text, exact[o].shape, exact[o].op, &fmt_bf16, MPFR_RNDN, 0, 0);
		/* pairs: the same value in both halves, then one half */
		snprintf(text, sizeof(text),
			 "{ .reg .b32 x, y, z, r; mov.b32 x, {a, a}; mov.b32 y, {b, b}; %s mov.b32 {_, d}, "
			 "r; }",
			 o == 3   ? "mov.b32 z, {c, c}; fma.rn.f16x2 r, x, y, z;"
			 : o == 0 ? "add.f16x2 r, x, y;"
			 : o == 1 ? "sub.f16x2 r, x, y;"
				  : "mul.f16x2 r, x, y;");
		check(t, text, exact[o].shape, exact[o].op, &fmt_f16, MPFR_RNDN, 0, 0);
	}
}

static void approximate_operations(struct test_device *t)
{
	static const struct {
		const char *text;
		enum ref_op op;
		const struct fmt *f;
		unsigned how;
		uint64_t units;
	} rows[] = {
		{"ex2.approx.f32 d, a;", REF_EX2, &fmt_f32, 0, 1},
		{"ex2.approx.ftz.f32 d, a;", REF_EX2, &fmt_f32, FTZ, 1},
		{"lg2.approx.f32 d, a;", REF_LG2, &fmt_f32, 0, 1},
		{"sin.approx.f32 d, a;", REF_SIN, &fmt_f32, 0, 1},
		{"cos.approx.ftz.f32 d, a;", REF_COS, &fmt_f32, FTZ, 1},
		{"tanh.approx.f32 d, a;", REF_TANH, &fmt_f32, 0, 1},
		{"rsqrt.approx.f32 d, a;", REF_RSQRT, &fmt_f32, 0, 1},
		{"rsqrt.approx.f64 d, a;", REF_RSQRT, &fmt_f64, 0, 2},
		{"rcp.approx.ftz.f32 d, a;", REF_RCP, &fmt_f32, FTZ, 1},
		{"sqrt.approx.f32 d, a;", REF_SQRT, &fmt_f32, 0, 1},
		{"ex2.approx.f16 d, a;", REF_EX2, &fmt_f16, 0, 1},
		{"tanh.approx.bf16 d, a;", REF_TANH, &fmt_bf16, 0, 1},
	};

	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		check(t, rows[r].text, "t:t", rows[r].op, rows[r].f, MPFR_RNDN, rows[r].how, rows[r].units);
	check(t, "div.full.f32 d, a, b;", "t:tt", REF_DIV, &fmt_f32, MPFR_RNDN, 0, 2);
}

static double as_double(const struct fmt *f, uint64_t bits)
{
	mpfr_t x;

	mpfr_init2(x, 53);
	ref_decode(x, f, bits);
	double d = mpfr_get_d(x, MPFR_RNDN);

	mpfr_clear(x);
	return d;
}

/* ISA 9.7.3.11: NaN loses unless .NaN; +0 > -0. */
static uint64_t min_max(const struct fmt *f, uint64_t a, uint64_t b, bool max, bool nan)
{
	bool na = ref_is_nan(f, a), nb = ref_is_nan(f, b);
	double x = as_double(f, a), y = as_double(f, b);

	if ((na && nb) || ((na || nb) && nan))
		return (1ull << (f->bits - 1)) - 1;
	if (na || nb)
		return na ? b : a;
	if (x == y)
		return (a >> (f->bits - 1)) != (uint64_t)max ? a : b;
	return (x < y) != max ? a : b;
}

static void minimum_maximum(struct test_device *t)
{
	static const struct fmt *const formats[] = {&fmt_f32, &fmt_f64, &fmt_f16, &fmt_bf16};
	char text[200];

	for (unsigned c = 0; c < 16; c++) {
		const struct fmt *f = formats[c & 3];
		bool max = c & 4, nan = c & 8;

		if (nan && f == &fmt_f64)
			continue;
		snprintf(text, sizeof(text), "%s%s.%s d, a, b;", max ? "max" : "min", nan ? ".NaN" : "",
			 f->name);
		make_values(f);
		op_run(t, text, "t:tt", f->bits, src, got, CASES);
		for (uint32_t k = 0; k < CASES; k++)
			compare(text, f, k, min_max(f, v[0][k], v[1][k], max, nan), 0);
	}
}

static bool holds(const char *cmp, double x, double y)
{
	bool nan = x != x || y != y, u = cmp[2] == 'u';

	if (!strcmp(cmp, "num") || !strcmp(cmp, "nan"))
		return nan == (cmp[1] == 'a');
	if (nan)
		return u;
	return !strncmp(cmp, "eq", 2)   ? x == y
	       : !strncmp(cmp, "ne", 2) ? x != y
	       : !strncmp(cmp, "lt", 2) ? x < y
	       : !strncmp(cmp, "le", 2) ? x <= y
	       : !strncmp(cmp, "gt", 2) ? x > y
					: x >= y;
}

static void comparisons(struct test_device *t)
{
	static const char *const cmps[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
					   "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
	static const struct fmt *const formats[] = {&fmt_f32, &fmt_f64, &fmt_f16, &fmt_bf16};
	char text[200];

	for (unsigned c = 0; c < 14 * 4; c++) {
		const struct fmt *f = formats[c % 4];

		snprintf(text, sizeof(text), "setp.%s.%s dp, a, b;", cmps[c / 4], f->name);
		make_values(f);
		op_run(t, text, "p:tt", f->bits, src, got, CASES);
		for (uint32_t k = 0; k < CASES; k++)
			if ((got[k] & 1) != holds(cmps[c / 4], as_double(f, v[0][k]), as_double(f, v[1][k])))
				fail_msg("%s a=%llx b=%llx: %llu", text, (unsigned long long)v[0][k],
					 (unsigned long long)v[1][k], (unsigned long long)got[k]);
	}
}

static bool tests_true(const char *what, double x, double min_normal)
{
	switch (what[0]) {
	case 'f': return isfinite(x);
	case 'i': return isinf(x);
	case 'n':
		return what[1] == 'u'   ? x == x
		       : what[2] == 't' ? x != x
					: isfinite(x) && (x == 0 || fabs(x) >= min_normal);
	default: return x != 0 && fabs(x) < min_normal;
	}
}

static void classification(struct test_device *t)
{
	static const char *const what[] = {"finite",     "infinite", "number",
					   "notanumber", "normal",   "subnormal"};
	char text[200];

	for (unsigned c = 0; c < 12; c++) {
		const struct fmt *f = c & 1 ? &fmt_f64 : &fmt_f32;

		snprintf(text, sizeof(text), "testp.%s.%s dp, a;", what[c / 2], f->name);
		make_values(f);
		op_run(t, text, "p:t", f->bits, src, got, CASES);
		for (uint32_t k = 0; k < CASES; k++)
			if ((got[k] & 1) !=
			    tests_true(what[c / 2], as_double(f, v[0][k]), c & 1 ? 0x1p-1022 : 0x1p-126))
				fail_msg("%s a=%llx: %llu", text, (unsigned long long)v[0][k],
					 (unsigned long long)got[k]);
	}
}

/* Sign operations, and rcp.approx.ftz.f64 that sees and gives upper halves only. */
static void bit_operations(struct test_device *t)
{
	make_values(&fmt_f32);
	op_run(t, "neg.f32 d, a;", "t:t", 32, src, got, CASES);
	for (uint32_t k = 0; k < CASES; k++)
		compare("neg.f32", &fmt_f32, k, v[0][k] ^ 0x80000000, 0);
	op_run(t, "abs.f32 d, a;", "t:t", 32, src, got, CASES);
	for (uint32_t k = 0; k < CASES; k++)
		compare("abs.f32", &fmt_f32, k, v[0][k] & 0x7fffffff, 0);
	op_run(t, "copysign.f32 d, a, b;", "t:tt", 32, src, got, CASES);
	for (uint32_t k = 0; k < CASES; k++)
		compare("copysign.f32", &fmt_f32, k, (v[1][k] & 0x7fffffff) | (v[0][k] & 0x80000000), 0);
	make_values(&fmt_f64);
	op_run(t, "rcp.approx.ftz.f64 d, a;", "t:t", 64, src, got, CASES);
	for (uint32_t k = 0; k < CASES; k++) {
		uint64_t in[3] = {ref_flush(&fmt_f64, v[0][k] & ~0xffffffffull)};
		uint64_t want = ref_flush(&fmt_f64, ref_compute(REF_RCP, &fmt_f64, &fmt_f64, MPFR_RNDN, in));

		assert_int_equal(got[k] & 0xffffffff, 0);
		if (!ref_is_nan(&fmt_f64, want))
			compare("rcp.approx.ftz.f64", &fmt_f64, k, want & ~0xffffffffull, 0);
	}
}

static void with(const char *options, void (*fn)(struct test_device *t))
{
	struct test_device t;

	test_open(&t, options);
	fn(&t);
	test_close(&t);
}

/* Each twice: with the processor's vector instructions and without. */
#define BOTH(name)                              \
	static void test_##name(void **state)   \
	{                                       \
		(void)state;                    \
		with("workers=1", name);        \
		with("workers=1,simd=0", name); \
	}
BOTH(exact_operations)
BOTH(half_operations)
BOTH(approximate_operations)
BOTH(minimum_maximum)
BOTH(comparisons)
BOTH(classification)
BOTH(bit_operations)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_operations),
		cmocka_unit_test(test_half_operations),
		cmocka_unit_test(test_approximate_operations),
		cmocka_unit_test(test_minimum_maximum),
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_classification),
		cmocka_unit_test(test_bit_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
