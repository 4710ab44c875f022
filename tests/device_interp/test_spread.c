/* SPDX-License-Identifier: Apache-2.0
 *
 * Options "approx" and "order": other legal results. Approximations stay within the bounds of the PTX ISA (its sections
 * 9.7.3.8 to 9.7.3.22, as listed in docs/precision.md), are the same for the same seed, and are not all those of the
 * default. Blocks take their turns in another order, each once.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

enum { N = 4096 };

static double f_rcp(double x, double y)
{
	(void)y;
	return 1 / x;
}
static double f_sqrt(double x, double y)
{
	(void)y;
	return sqrt(x);
}
static double f_rsqrt(double x, double y)
{
	(void)y;
	return 1 / sqrt(x);
}
static double f_sin(double x, double y)
{
	(void)y;
	return sin(x);
}
static double f_cos(double x, double y)
{
	(void)y;
	return cos(x);
}
static double f_lg2(double x, double y)
{
	(void)y;
	return log2(x);
}
static double f_ex2(double x, double y)
{
	(void)y;
	return exp2(x);
}
static double f_tanh(double x, double y)
{
	(void)y;
	return tanh(x);
}
static double f_div(double x, double y)
{
	return x / y;
}

/* Operands are drawn from low to high; the bound is relative + absolute + ulps, each with what the ISA says. */
static const struct form {
	const char *text;
	double (*exact)(double x, double y);
	double low, high;
	double relative, absolute, ulps;
} forms[] = {
	{"rcp.approx.f32 d, a;", f_rcp, 1e-3, 1e3, 0, 0, 1},
	{"rcp.approx.ftz.f32 d, a;", f_rcp, -1e3, -1e-3, 0, 0, 1},
	{"sqrt.approx.f32 d, a;", f_sqrt, 1e-3, 1e6, 0x1p-23, 0, 0},
	{"sqrt.approx.ftz.f32 d, a;", f_sqrt, 1e-3, 1e6, 0x1p-23, 0, 0},
	{"rsqrt.approx.f32 d, a;", f_rsqrt, 1e-3, 1e6, 0x1.12p-23, 0, 0},
	{"sin.approx.f32 d, a;", f_sin, -6.28, 6.28, 0, 0x1.6ap-21, 0},
	{"cos.approx.ftz.f32 d, a;", f_cos, -6.28, 6.28, 0, 0x1.6ap-21, 0},
	{"lg2.approx.f32 d, a;", f_lg2, 2.1, 1e6, 0x1p-22, 0, 0},
	{"lg2.approx.f32 d, a;", f_lg2, 0.51, 1.99, 0, 0x1p-22, 0},
	{"ex2.approx.f32 d, a;", f_ex2, -20, 20, 0, 0, 2.5},
	{"tanh.approx.f32 d, a;", f_tanh, -4, 4, 0x1p-11, 0, 0},
	{"div.approx.f32 d, a, b;", f_div, 1e-3, 1e3, 0, 0, 2},
	{"div.full.ftz.f32 d, a, b;", f_div, 1e-3, 1e3, 0, 0, 2},
};

static uint64_t words[2][N], plain[N], got[N], again[N];

static double value(uint64_t bits)
{
	uint32_t u = (uint32_t)bits;
	float f;

	memcpy(&f, &u, 4);
	return (double)f;
}

static void draw(const struct form *f)
{
	for (unsigned k = 0; k < 2; k++)
		for (unsigned n = 0; n < N; n++) {
			float x =
				(float)(f->low + (f->high - f->low) * (double)(op_random() >> 11) * 0x1p-53);
			uint32_t u;

			memcpy(&u, &x, 4);
			words[k][n] = u;
		}
}

static void run(const struct form *f, const char *options, uint64_t *out)
{
	const uint64_t *src[OP_SOURCES] = {words[0], words[1]};
	struct test_device t;

	test_open(&t, options);
	op_run(&t, f->text, "t:tt", 32, src, out, N);
	test_close(&t);
}

static double ulp(double exact)
{
	return ldexp(1, ilogb(exact) - 23);
}

static void within_bounds(void **state)
{
	(void)state;
	for (unsigned k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
		const struct form *f = &forms[k];
		unsigned moved = 0;

		draw(f);
		run(f, "workers=1", plain);
		for (unsigned seed = 0; seed < 6; seed++) {
			char options[60];

			snprintf(options, sizeof(options), "workers=1,approx=seed:%u", seed);
			run(f, options, got);
			run(f, options, again);
			assert_memory_equal(got, again, sizeof(got));
			for (unsigned n = 0; n < N; n++) {
				double exact = f->exact(value(words[0][n]), value(words[1][n]));
				double bound = fabs(exact) * f->relative + f->absolute + ulp(exact) * f->ulps;

				moved += got[n] != plain[n];
				if (fabs(value(got[n]) - exact) > bound)
					fail_msg("%s, seed %u: %a, %a gave %a, exact %a", f->text, seed,
						 value(words[0][n]), value(words[1][n]), value(got[n]),
						 exact);
			}
		}
		if (moved < N / 2)
			fail_msg("%s: only %u of %u results moved", f->text, moved, 6 * N);
	}
}

/* What the tables of the ISA state exactly does not move. */
static void exact_values(void **state)
{
	static const struct {
		const char *text;
		uint32_t operand, result;
	} rows[] = {
		{"rcp.approx.f32 d, a;", 0x00000000, 0x7f800000},
		{"rcp.approx.f32 d, a;", 0xff800000, 0x80000000},
		{"sqrt.approx.f32 d, a;", 0x80000000, 0x80000000},
		{"sqrt.approx.f32 d, a;", 0xbf800000, 0x7fffffff},
		{"rsqrt.approx.f32 d, a;", 0x7f800000, 0x00000000},
		{"sin.approx.f32 d, a;", 0x80000000, 0x80000000},
		{"cos.approx.f32 d, a;", 0x00000000, 0x3f800000},
		{"lg2.approx.f32 d, a;", 0x00000000, 0xff800000},
		{"ex2.approx.f32 d, a;", 0x00000000, 0x3f800000},
		{"ex2.approx.f32 d, a;", 0xff800000, 0x00000000},
		{"tanh.approx.f32 d, a;", 0x7f800000, 0x3f800000},
		{"tanh.approx.f32 d, a;", 0x80000000, 0x80000000},
	};

	(void)state;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		const uint64_t operand[1] = {rows[k].operand}, *src[OP_SOURCES] = {operand};
		uint64_t result[1];
		struct test_device t;

		test_open(&t, "workers=1,approx=seed:7");
		op_run(&t, rows[k].text, "t:t", 32, src, result, 1);
		test_close(&t);
		if (result[0] != rows[k].result)
			fail_msg("%s of %#x gave %#llx, expected %#x", rows[k].text, rows[k].operand,
				 (unsigned long long)result[0], rows[k].result);
	}
}

/* Each thread takes the next number. In default order that is its own. */
static const char tickets[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".visible .entry k(.param .u64 out, .param .u64 counter)\n{\n"
	".reg .b32 r<8>; .reg .b64 p<4>;\n"
	"ld.param.u64 p0, [out]; ld.param.u64 p1, [counter];\n"
	"atom.global.add.u32 r0, [p1], 1;\n"
	"mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x; mad.lo.u32 r1, r1, r2, r3;\n"
	"mad.wide.u32 p0, r1, 4, p0; st.global.u32 [p0], r0; ret;\n}\n";

enum { BLOCKS = 40, THREADS = 64 };

static void take_tickets(const char *options, uint32_t *out)
{
	struct test_device t;
	struct test_module m;

	test_open(&t, options);
	test_load(&m, &t, tickets, "tickets.ptx");
	uint64_t args[2] = {test_alloc(&t, BLOCKS * THREADS * 4, NULL), test_alloc(&t, 4, NULL)};
	test_run_ok(&m, "k", LAUNCH1(BLOCKS, THREADS), args, 2);
	test_read(&t, out, args[0], BLOCKS * THREADS * 4);
	test_unload(&m);
	test_close(&t);
}

static void order_of_blocks(void **state)
{
	static uint32_t first[BLOCKS * THREADS], second[BLOCKS * THREADS], other[BLOCKS * THREADS];
	bool seen[BLOCKS * THREADS] = {false};

	(void)state;
	take_tickets("deterministic=1", first);
	for (uint32_t k = 0; k < BLOCKS * THREADS; k++)
		assert_int_equal(first[k], k);
	take_tickets("order=seed:1", first);
	take_tickets("order=seed:1", second);
	assert_memory_equal(first, second, sizeof(first));
	take_tickets("order=seed:2", other);
	assert_memory_not_equal(first, other, sizeof(first));
	for (uint32_t k = 0; k < BLOCKS * THREADS; k++) {
		assert_in_range(first[k], 0, BLOCKS * THREADS - 1);
		assert_false(seen[first[k]]);
		seen[first[k]] = true;
	}
}

/* Each block waits for the one before it, which may begin later: it begins all the same. */
static const char chain[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			    ".visible .entry k(.param .u64 flags)\n{\n"
			    ".reg .b32 r<4>; .reg .b64 p<4>; .reg .pred q;\n"
			    "ld.param.u64 p0, [flags]; mov.u32 r1, %ctaid.x; mad.wide.u32 p1, r1, 4, p0;\n"
			    "wait: ld.volatile.global.u32 r0, [p1]; setp.eq.u32 q, r0, 0; @q bra wait;\n"
			    "add.u32 r0, r0, 1; st.volatile.global.u32 [p1+4], r0; ret;\n}\n";

static void blocks_wait_for_others(void **state)
{
	uint32_t flags[BLOCKS + 1] = {1};

	(void)state;
	for (unsigned seed = 1; seed < 9; seed++) {
		struct test_device t;
		struct test_module m;
		char options[32];

		snprintf(options, sizeof(options), "order=seed:%u", seed);
		test_open(&t, options);
		test_load(&m, &t, chain, "chain.ptx");
		uint64_t args[1] = {test_alloc(&t, sizeof(flags), flags)};
		test_run_ok(&m, "k", LAUNCH1(BLOCKS, 1), args, 1);
		uint32_t after[BLOCKS + 1];
		test_read(&t, after, args[0], sizeof(after));
		assert_int_equal(after[BLOCKS], BLOCKS + 1);
		test_unload(&m);
		test_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_bounds),
		cmocka_unit_test(exact_values),
		cmocka_unit_test(order_of_blocks),
		cmocka_unit_test(blocks_wait_for_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
