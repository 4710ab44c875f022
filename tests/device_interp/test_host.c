/* SPDX-License-Identifier: Apache-2.0
 *
 * What a device offers its host: printf, assert, malloc; refusal of kernels; launches from several threads. The
 * devices of emulated AMD GPUs have to pass it, too (tests/device_amdemu).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define TID                                                                                                \
	".reg .b32 tid, cta, nt, gid; .reg .b64 out, at, off;\n"                                           \
	"mov.u32 tid, %tid.x; mov.u32 cta, %ctaid.x; mov.u32 nt, %ntid.x; mad.lo.u32 gid, cta, nt, tid;\n" \
	"ld.param.u64 out, [p_out]; mul.wide.u32 off, gid, 4; add.u64 at, out, off;\n"
#define ENTRY(name) ".visible .entry " name "(.param .u64 p_out)\n{\n" TID
#define PRINTF      ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
#define CALL_PRINTF                                                                                        \
	"{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], fa; st.param.b64 [a], aa; call " \
	"(r), vprintf, "                                                                                   \
	"(f, a); ld.param.b32 count, [r]; }\n"

/* Each row: a format, arguments as 8 raw bytes each with the width they have in the buffer; expected: C's
 * printf. */
struct arg {
	uint8_t bytes;
	uint64_t bits;
};
static const struct {
	const char *format;
	struct arg args[4];
	const char *want;
	int count;
} prints[] = {
	{"plain\n", {{0, 0}}, "plain\n", 0},
	{"%d %u %i", {{4, 0xffffffff}, {4, 0xffffffff}, {4, 7}}, "-1 4294967295 7", 3},
	{"[%5d|%-5d|%05d]", {{4, 42}, {4, 42}, {4, 42}}, "[   42|42   |00042]", 3},
	{"%x %X %#x %o", {{4, 0xbeef}, {4, 0xbeef}, {4, 255}, {4, 8}}, "beef BEEF 0xff 10", 4},
	{"%lld %llu", {{8, 0xffffffffffffffff}, {8, 0xffffffffffffffff}}, "-1 18446744073709551615", 2},
	{"%ld%zu", {{8, 5}, {8, 6}}, "56", 2},
	{"%hhd %hd", {{4, 0x1ff}, {4, 0x18000}}, "-1 -32768", 2},
	{"%c%c%%", {{4, 'o'}, {4, 'k'}}, "ok%", 2},
	{"%d %f", {{4, 1}, {8, 0x3ff8000000000000}}, "1 1.500000", 2}, /* the double is aligned to 8 */
	{"%.3f %10.2e %g",
	 {{8, 0x400921fb54442d18}, {8, 0x400921fb54442d18}, {8, 0x3fe0000000000000}},
	 "3.142   3.14e+00 0.5",
	 3},
	{"%*d|%-*d|%.*f", {{4, 4}, {4, 7}}, NULL, 0},
	{"%p", {{8, 0x550000001000}}, "0x550000001000", 1},
	{"%s!", {{8, 1}}, "a string!", 1}, /* 1: address of the string */
	{"%8s|%-10.3s|", {{8, 1}, {8, 1}}, "a string|a s       |", 2},
	{"%s", {{8, 0}}, "(null)", 1},
	{"%5c|", {{4, 'x'}}, "    x|", 1},
	{"100%", {{0, 0}}, "100", 0},
};

static void print_rows(void **state)
{
	static const char ptx[] = HEAD PRINTF
		".visible .entry k(.param .u64 p_out, .param .u64 p_f, .param .u64 p_a)\n{\n"
		".reg .b64 fa, aa, out; .reg .b32 count;\n"
		"ld.param.u64 fa, [p_f]; ld.param.u64 aa, [p_a]; ld.param.u64 out, [p_out];\n" CALL_PRINTF
		"st.global.u32 [out], count; ret;\n}\n";
	struct test_device t;
	struct test_module m;
	int count;

	(void)state;
	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "print.ptx");
	uint64_t string = test_alloc(&t, 16, "a string\0......"), out = test_alloc(&t, 4, NULL);

	for (unsigned r = 0; r < sizeof(prints) / sizeof(prints[0]); r++) {
		uint8_t buffer[64] = {0};
		size_t n = 0;

		if (!prints[r].want)
			continue;
		for (unsigned k = 0; k < 4 && prints[r].args[k].bytes; k++) {
			uint64_t v = prints[r].args[k].bits;
			unsigned b = prints[r].args[k].bytes;

			if (v == 1 && b == 8 && strchr(prints[r].format, 's'))
				v = string;
			n = (n + b - 1) / b * b;
			memcpy(buffer + n, &v, b);
			n += b;
		}
		uint64_t params[3] = {out, test_alloc(&t, strlen(prints[r].format) + 1, prints[r].format),
				      test_alloc(&t, sizeof(buffer), buffer)};

		t.nprinted = 0;
		t.printed[0] = 0;
		test_run_ok(&m, "k", LAUNCH1(1, 1), params, 3);
		test_read(&t, &count, out, 4);
		if (strcmp(t.printed, prints[r].want) || count != prints[r].count)
			fail_msg("\"%s\": \"%s\" (%d), expected \"%s\" (%d)", prints[r].format, t.printed,
				 count, prints[r].want, prints[r].count);
	}
	test_unload(&m);
	test_close(&t);
}

/* Arguments in the lane's own stack, output of 70 threads in order. */
static void print_lanes(void **state)
{
	static const char ptx[] = HEAD PRINTF ".global .align 1 .b8 fmt[8] = {60, 37, 100, 62, 0};\n" ENTRY(
		"k") ".reg .b64 fa, aa, l; .reg .b32 count; .local .align 8 .b8 buf[16];\n"
		     "mov.u64 l, buf; st.local.u32 [l], gid; cvta.local.u64 aa, l; mov.u64 fa, fmt; "
		     "cvta.global.u64 fa, fa;\n" CALL_PRINTF "ret;\n}\n";
	char want[600] = "";
	struct test_device t;
	struct test_module m;
	uint64_t out = 0;

	(void)state;
	for (unsigned k = 0; k < 70; k++)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "<%u>", k);
	test_open(&t, "deterministic=1");
	test_load(&m, &t, ptx, "print.ptx");
	test_run_ok(&m, "k", LAUNCH1(2, 35), &out, 1);
	assert_string_equal(t.printed, want);
	test_unload(&m);
	test_close(&t);
}

static void assertion(void **state)
{
	static const char ptx[] =
		HEAD ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
		     ".param .b64 e);\n"
		     ".global .align 1 .b8 msg[6] = {120, 32, 62, 32, 48, 0};\n.global .align 1 .b8 file[5] "
		     "= {97, 46, 99, 117, 0};\n"
		     ".global .align 1 .b8 fun[7] = {118, 111, 105, 100, 32, 102, 0};\n" ENTRY(
			     "k") ".reg .pred p; .reg .b64 x, y, z; setp.ne.u32 p, gid, 40; @p bra OVER;\n"
				  "cvta.global.u64 x, msg; cvta.global.u64 y, file; cvta.global.u64 z, fun;\n"
				  "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 "
				  "e; st.param.b64 [a], x; st.param.b64 [b], y;\n"
				  "st.param.b32 [c], 23; st.param.b64 [d], z; st.param.b64 [e], 1; call "
				  "__assertfail, (a, b, c, d, e); }\n"
				  "OVER: ret;\n}\n";
	struct test_device t;
	struct test_module m;
	struct dev_fault f;
	uint64_t out = 0;

	(void)state;
	test_open(&t, NULL);
	test_load(&m, &t, ptx, "assert.ptx");
	assert_int_not_equal(test_run(&m, "k", LAUNCH1(2, 32), &out, 1, &f), 0);
	assert_int_equal(f.kind, DEV_FAULT_ASSERT);
	assert_string_equal(f.message,
			    "a.cu:23: void f: block: [1,0,0], thread: [8,0,0] Assertion `x > 0` failed.");
	test_unload(&m);
	test_close(&t);
}

static void heap(void **state)
{
	static const char ptx[] = HEAD
		".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 "
		"p);\n" ENTRY(
			"k") ".reg .b64 p; .reg .b32 v;\n"
			     "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 24; call (r), malloc, (n); "
			     "ld.param.b64 p, [r]; }\n"
			     "st.u32 [p+20], gid; ld.u32 v, [p+20]; add.u32 v, v, 1; st.global.u32 [at], v;\n"
			     "{ .param .b64 n; st.param.b64 [n], p; call free, (n); }\nret;\n}\n";
	struct test_device t;
	struct test_module m;
	uint32_t w[64];

	(void)state;
	test_open(&t, "workers=2");
	test_load(&m, &t, ptx, "heap.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);

	test_run_ok(&m, "k", LAUNCH1(2, 32), &out, 1);
	test_read(&t, w, out, sizeof(w));
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(w[k], k + 1);
	test_unload(&m);
	test_close(&t);
}

/* A kernel that can't be executed is refused with place and reason; its neighbour runs. */
static void refusal(void **state)
{
	static const char ptx[] =
		HEAD ".extern .func elsewhere();\n" ENTRY("fine") "st.global.u32 [at], 3; ret;\n}\n" ENTRY(
			"wrong") "wgmma.fence.sync.aligned; ret;\n}\n" ENTRY("calls") "call elsewhere; "
										      "ret;\n}\n";
	struct test_device t;
	struct test_module m;
	struct dev_kernel *k;
	struct diag d = DIAG_INIT;

	(void)state;
	test_open(&t, NULL);
	test_load(&m, &t, ptx, "mixed.ptx");
	assert_int_equal(test_kernel(&m, "wrong", &k, &d), CUTRACE_EFORMAT);
	assert_string_equal(d.where, "mixed.ptx:17:1");
	assert_string_equal(d.what, "wgmma.fence needs target sm_90a; this module targets sm_90");
	assert_int_equal(test_kernel(&m, "wrong", &k, &d), CUTRACE_EFORMAT); /* and again */
	assert_int_equal(test_kernel(&m, "calls", &k, &d), CUTRACE_ENOTSUP);
	assert_non_null(strstr(d.what, "call of elsewhere"));
	assert_int_equal(test_kernel(&m, "nowhere", &k, &d), CUTRACE_ENOENT);
	uint64_t out = test_alloc(&t, 128, NULL);
	uint32_t v;

	test_run_ok(&m, "fine", LAUNCH1(1, 32), &out, 1);
	test_read(&t, &v, out + 124, 4);
	assert_int_equal(v, 3);
	test_unload(&m);
	test_close(&t);
}

/* Two threads launch at once on one device. */
struct client {
	struct test_module *m;
	uint64_t out;
	uint32_t bad;
};

static void *launches(void *arg)
{
	struct client *c = arg;
	struct dev_kernel *k;
	struct diag d = DIAG_INIT;
	struct dev_fault f;

	c->bad = test_kernel(c->m, "k", &k, &d) != 0;
	for (unsigned n = 0; n < 50 && !c->bad; n++) {
		struct dev_launch l = {k, {4, 1, 1}, {64, 1, 1}, 0, false, &c->out, 8, n + 1};

		c->bad += device_interp.launch(c->m->t->dev, &l, &f) != 0;
	}
	return NULL;
}

static void concurrent_launches(void **state)
{
	static const char ptx[] = HEAD ENTRY("k") "red.global.add.u32 [at], 1;\nret;\n}\n";
	struct test_device t;
	struct test_module m;
	struct client c[3];
	pthread_t threads[3];
	uint32_t w[256];

	(void)state;
	test_open(&t, "workers=3");
	test_load(&m, &t, ptx, "queues.ptx");
	for (unsigned k = 0; k < 3; k++) {
		c[k] = (struct client){&m, test_alloc(&t, sizeof(w), NULL), 0};
		assert_int_equal(pthread_create(&threads[k], NULL, launches, &c[k]), 0);
	}
	for (unsigned k = 0; k < 3; k++) {
		pthread_join(threads[k], NULL);
		assert_int_equal(c[k].bad, 0);
		test_read(&t, w, c[k].out, sizeof(w));
		for (unsigned n = 0; n < 256; n++)
			assert_int_equal(w[n], 50);
	}
	test_unload(&m);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(print_rows), cmocka_unit_test(print_lanes),
		cmocka_unit_test(assertion),  cmocka_unit_test(heap),
		cmocka_unit_test(refusal),    cmocka_unit_test(concurrent_launches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
