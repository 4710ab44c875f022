/* SPDX-License-Identifier: Apache-2.0
 *
 * What the language offers beside instructions, executed: irreducible control
 * flow, tables of labels, aggregates and several results, aliases, elements of
 * arrays, whole vectors. What each must compute is C here. */
#include "driver.h"

#include <stdio.h>
#include <string.h>

enum { LANES = 64 };

/* Enters a loop at two places; lanes differ in where, and in how often they go round. */
static uint32_t irreducible(uint32_t lane)
{
	uint32_t sum = 0, left = lane % 7;
	bool second = lane % 3 == 0;
	for (;;) {
		if (!second)
			sum += 1;
		second = false;
		sum += 10;
		if (!left--)
			return sum;
	}
}

/* 1, 2 or 2 and 3 by the table's order. */
static uint32_t label_range(uint32_t lane)
{
	static const uint32_t sums[] = {1 + 2 + 4, 2 + 4, 4};
	return sums[lane % 3];
}

static uint32_t aggregate(uint32_t lane)
{
	return (lane + 1) * 1000 + lane * 3;
}

static uint32_t two_results(uint32_t lane)
{
	return (lane + 5) * 100 + (lane * 7 & 0xff);
}

static uint32_t factorial(uint32_t lane)
{
	uint32_t product = 1;
	for (uint32_t k = 2; k <= lane % 9; k++)
		product *= k;
	return product;
}

static uint32_t pointer(uint32_t lane)
{
	return lane & 1 ? lane * 2 : lane + 100;
}

static uint32_t elements(uint32_t lane)
{
	static const uint32_t table[] = {3, 1, 4, 1, 5, 9, 2, 6};
	return table[lane % 8] * 10000 + table[(lane % 7) + 1] * 100 + table[5];
}

static uint32_t vectors(uint32_t lane)
{
	return lane * 256 + lane + 1; /* exchanged */
}

static uint32_t thread_vector(uint32_t lane)
{
	return lane * 10 + 1; /* %tid.x, and %ntid.y = 1 */
}

static uint32_t sum_of_two(uint32_t lane)
{
	return 2 * 1000 + lane + lane * lane;
}

static uint32_t sum_of_none_and_three(uint32_t lane)
{
	return 7 * 1000 + 3 * lane;
}

/* count, then so many words behind it: the address of an element, as va_arg makes it */
#define OPEN_SUM                                                                                       \
	".func (.param .b32 r) total(.param .b32 count, .param .align 4 .b8 values[]) {\n"             \
	".reg .b32 n, v, s; .reg .b64 a; .reg .pred q; ld.param.b32 n, [count]; mov.b64 a, values; "   \
	"mov.b32 s, 0;\nLOOP: setp.eq.u32 q, n, 0; @q bra END; ld.local.b32 v, [a]; add.u32 s, s, v; " \
	"add.u64 a, a, 4; sub.u32 n, n, 1; bra LOOP;\nEND: st.param.b32 [r], s; ret; }\n"

static const struct {
	const char *name, *declarations, *body;
	uint32_t (*want)(uint32_t lane);
} rows[] = {
	{"irreducible loop", "",
	 "rem.u32 left, lane, 7; rem.u32 x, lane, 3; mov.u32 sum, 0; setp.eq.u32 p, x, 0; @p bra SECOND;\n"
	 "FIRST: add.u32 sum, sum, 1;\nSECOND: add.u32 sum, sum, 10; setp.eq.u32 p, left, 0; sub.u32 left, "
	 "left, 1;\n"
	 "@!p bra FIRST;",
	 irreducible},
	{"labels by a range", "",
	 "rem.u32 x, lane, 3; mov.u32 sum, 0; T: .branchtargets N<3>; brx.idx x, T;\n"
	 "N0: add.u32 sum, sum, 1;\nN1: add.u32 sum, sum, 2;\nN2: add.u32 sum, sum, 4;",
	 label_range},
	{"aggregate in and out",
	 ".func (.param .align 8 .b8 out[16]) swap(.param .align 8 .b8 in[16]) { .reg .b64 a, b; .reg .b32 "
	 "c;\n"
	 "ld.param.b64 a, [in]; ld.param.b64 b, [in+8]; st.param.b64 [out], b; st.param.b64 [out+8], a; ret; "
	 "}\n",
	 "{ .param .align 8 .b8 in[16]; .param .align 8 .b8 out[16]; .reg .b64 a, b;\n"
	 "mul.lo.u32 x, lane, 3; cvt.u64.u32 a, x; st.param.b64 [in], a; add.u32 x, lane, 1; cvt.u64.u32 a, "
	 "x;\n"
	 "st.param.b64 [in+8], a; call (out), swap, (in); ld.param.b64 a, [out]; ld.param.b64 b, [out+8];\n"
	 "cvt.u32.u64 x, a; cvt.u32.u64 left, b; mad.lo.u32 sum, x, 1000, left; }",
	 aggregate},
	{"two results in registers",
	 ".func (.reg .b32 a, .reg .b32 b) both(.reg .b32 n) { add.u32 a, n, 5; mul.lo.u32 b, n, 7; and.b32 "
	 "b, b, 255; ret; }\n",
	 "call (x, left), both, (lane); mad.lo.u32 sum, x, 100, left;", two_results},
	{"recursion by an alias",
	 ".func (.param .b32 r) fact(.param .b32 n);\n.func (.param .b32 r) again(.param .b32 n);\n"
	 ".func (.param .b32 r) fact(.param .b32 n) { .reg .b32 v, w; .reg .pred q; ld.param.b32 v, [n];\n"
	 "setp.le.u32 q, v, 1; @q bra ONE; { .param .b32 m; .param .b32 f; sub.u32 w, v, 1; st.param.b32 "
	 "[m], w;\n"
	 "call (f), again, (m); ld.param.b32 w, [f]; } mul.lo.u32 w, w, v; st.param.b32 [r], w; ret;\n"
	 "ONE: st.param.b32 [r], 1; ret; }\n.alias again, fact;\n",
	 "{ .param .b32 n; .param .b32 r; rem.u32 x, lane, 9; st.param.b32 [n], x; call (r), again, (n); "
	 "ld.param.b32 sum, [r]; }",
	 factorial},
	{"calls by pointers of a table",
	 ".func (.param .b32 r) more(.param .b32 n) { .reg .b32 v; ld.param.b32 v, [n]; add.u32 v, v, 100; "
	 "st.param.b32 [r], v; ret; }\n"
	 ".func (.param .b32 r) twice(.param .b32 n) { .reg .b32 v; ld.param.b32 v, [n]; add.u32 v, v, v; "
	 "st.param.b32 [r], v; ret; }\n"
	 ".global .align 8 .u64 functions[2] = {more, twice};\n",
	 "{ .reg .b64 f; .param .b32 n; .param .b32 r; and.b32 x, lane, 1; ld.global.u64 f, functions[x]; "
	 "st.param.b32 [n], lane;\n"
	 "P: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), f, (n), P; ld.param.b32 sum, [r]; }",
	 pointer},
	{"elements of an array", ".global .u32 table[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n",
	 "{ .reg .b32 a, b, c; .reg .b64 i; rem.u32 x, lane, 8; cvt.u64.u32 i, x; ld.global.u32 a, table[i]; "
	 "rem.u32 x, lane, 7;\n"
	 "ld.global.u32 b, table[x+1]; ld.global.u32 c, table[5]; mad.lo.u32 sum, b, 100, c; mad.lo.u32 sum, "
	 "a, 10000, sum; }",
	 elements},
	{"a vector moved onto itself", "",
	 "{ .reg .v2 .b32 v; mov.b32 v.x, lane; add.u32 x, lane, 1; mov.b32 v.y, x; mov.v2.b32 {left, x}, "
	 "v;\n"
	 "mov.v2.b32 {x, left}, {left, x}; mad.lo.u32 sum, x, 256, left; }",
	 vectors},
	{"an array without size", OPEN_SUM,
	 "{ .param .b32 n; .param .align 4 .b8 v[8]; .param .b32 r; st.param.b32 [n], 2; st.param.b32 [v], "
	 "lane; "
	 "mul.lo.u32 x, lane, lane; st.param.b32 [v+4], x; call (r), total, (n, v); ld.param.b32 sum, [r]; "
	 "add.u32 sum, sum, 2000; }",
	 sum_of_two},
	{"an array without size, left out; and by address", OPEN_SUM,
	 "{ .param .b32 n; .param .b32 r; st.param.b32 [n], 0; call (r), total, (n); ld.param.b32 sum, [r]; "
	 "}\n"
	 "{ .param .b32 n; .param .align 4 .b8 v[12]; .param .b32 r; .reg .b64 f; mov.u64 f, total; "
	 "st.param.b32 [n], "
	 "3; st.param.b32 [v], lane; st.param.b32 [v+4], lane; st.param.b32 [v+8], lane; "
	 "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 4 .b8 _[]); call (r), f, (n, v), "
	 "P; "
	 "ld.param.b32 x, [r]; add.u32 sum, sum, x; add.u32 sum, sum, 7000; }",
	 sum_of_none_and_three},
	{"special registers as a vector", "",
	 "{ .reg .b32 a<4>, b<4>; mov.v4.u32 {a0, a1, a2, a3}, %tid; mov.v4.u32 {_, b1, _, _}, %ntid; "
	 "mad.lo.u32 sum, a0, 10, b1; }",
	 thread_vector},
};

static void rows_compute(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct test_device t;
		struct test_module m;
		uint32_t got[LANES];
		char text[4096];

		snprintf(text, sizeof(text),
			 ".version 9.0\n.target sm_80\n.address_size 64\n%s\n.visible .entry k(.param .u64 "
			 "out)\n{\n"
			 ".reg .b64 at, offset; .reg .b32 lane, sum, x, left; .reg .pred p;\n"
			 "mov.u32 lane, %%tid.x;\n%s\nld.param.u64 at, [out]; mul.wide.u32 offset, lane, 4;\n"
			 "add.u64 at, at, offset; st.global.u32 [at], sum; ret;\n}\n",
			 rows[k].declarations, rows[k].body);
		test_open(&t, NULL);
		test_load(&m, &t, text, "language.ptx");
		uint64_t out = test_alloc(&t, sizeof(got), NULL);
		test_run_ok(&m, "k", LAUNCH1(1, LANES), &out, 1);
		test_read(&t, got, out, sizeof(got));
		for (uint32_t lane = 0; lane < LANES; lane++)
			if (got[lane] != rows[k].want(lane)) {
				print_error("%s: lane %u: %u, not %u\n", rows[k].name, lane, got[lane],
					    rows[k].want(lane));
				fail();
			}
		test_unload(&m);
		test_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_compute),
	};
	return cmocka_run_group_tests_name("interpreter language", tests, NULL, NULL);
}
