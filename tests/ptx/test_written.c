/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes launches may write, for kernels whose answer can be read off the code. Every kernel has the parameters
 * a = 0x10000000 (pointer), n = 1000 and m = 7, and is launched with 10 x 3 x 1 blocks of 64 x 2 x 1 threads, unless the
 * row says otherwise. An answer is the distance from a of the first byte and of the one behind the last. */
#include "fixture.h"

#include "ptx/written.h"

#define A UINT64_C(0x10000000)
#define KERNEL(body)                                                                                         \
	".version 8.3\n.target sm_90\n.address_size 64\n.global .align 8 .b8 var[64];\n"                     \
	".func put(.param .b64 a) { .reg .b64 d<3>; .reg .b32 r<3>; ld.param.b64 d1, [a]; st.u32 [d1], r1; " \
	"ret; }\n"                                                                                           \
	".entry k(.param .u64 a, .param .u32 n, .param .u32 m) { .reg .b64 d<16>; .reg .b32 r<24>; .reg "    \
	".pred p<8>; "                                                                                       \
	".reg .b16 h<4>; .reg .f32 f<4>;\n"                                                                  \
	"ld.param.u64 d1, [a]; ld.param.u32 r1, [n]; ld.param.u32 r2, [m]; cvta.to.global.u64 d2, d1;\n"     \
	"mov.u32 r3, %ctaid.x; mov.u32 r4, %ntid.x; mov.u32 r5, %tid.x; mad.lo.s32 r6, r3, r4, r5;\n" body   \
	"\nEND: ret; }\n"
#define STORE_R(r) "mul.wide.s32 d3, " r ", 4; add.s64 d4, d2, d3; st.global.u32 [d4], r1; "

enum { ALL = -1, UNWRITTEN = -2 };

static const struct {
	const char *what, *text;
	int64_t first, end;
	bool elsewhere;
} rows[] = {
	{"one word", KERNEL("st.global.u32 [d2+8], r1;"), 8, 12, false},
	{"a vector", KERNEL("st.global.v4.f32 [d2+16], {f1, f1, f1, f1};"), 16, 32, false},
	{"a thread each", KERNEL(STORE_R("r6")), 0, 4 * 640, false},
	{"an atomic", KERNEL("mul.wide.u32 d3, r5, 8; add.s64 d4, d2, d3; atom.global.add.u64 d5, [d4], d1;"),
	 0, 8 * 64, false},
	{"no more than n of them",
	 KERNEL("mul.lo.s32 r7, r6, 2; setp.ge.s32 p1, r7, r1; @p1 bra END; " STORE_R("r7")), 0, 4 * 1000,
	 false},
	{"at least one below",
	 KERNEL("add.s32 r7, r6, -5; setp.lt.s32 p1, r7, 0; @p1 bra END; " STORE_R("r7")), 0, 4 * 635, false},
	{"from below the pointer on", KERNEL("add.s32 r7, r6, -5; " STORE_R("r7")), -20, 4 * 635, false},
	{"both coordinates within",
	 KERNEL("mov.u32 r8, %ctaid.y; setp.ge.s32 p1, r6, 100; setp.ge.s32 p2, r8, 2; or.pred p3, p1, p2; "
		"@p3 bra END; mad.lo.s32 r9, r8, 100, r6; " STORE_R("r9")),
	 0, 4 * 200, false},
	{"the same, in one predicate",
	 KERNEL("setp.lt.s32 p1, r6, 100; setp.lt.and.s32 p2, r5, 50, p1; @!p2 bra END; " STORE_R("r5")), 0,
	 4 * 50, false},
	{"from the end", KERNEL("sub.s32 r7, r1, r6; " STORE_R("r7")), 4 * (1000 - 639), 4 * 1001, false},
	{"rounded down", KERNEL("and.b32 r7, r6, -32; " STORE_R("r7")), 0, 4 * 608 + 4, false},
	{"masked", KERNEL("and.b32 r7, r1, 15; and.b32 r8, r6, 15; " STORE_R("r8")), 0, 64, false},
	{"remainder", KERNEL("ld.global.u32 r7, [d2]; rem.u32 r8, r7, r2; " STORE_R("r8")), 0, 28, false},
	{"quotient", KERNEL("div.s32 r8, r6, 10; " STORE_R("r8")), 0, 4 * 64, false},
	{"quotient as a product", KERNEL("mul.hi.u32 r7, r6, -858993459; shr.u32 r8, r7, 3; " STORE_R("r8")),
	 0, 4 * 64, false},
	{"the lesser one", KERNEL("min.s32 r7, r6, 9; " STORE_R("r7")), 0, 40, false},
	{"either", KERNEL("selp.b32 r7, r6, 900, p1; " STORE_R("r7")), 0, 4 * 901, false},
	{"a grid-stride loop",
	 KERNEL("setp.ge.s32 p1, r6, r1; @p1 bra END; mov.u32 r10, %nctaid.x; mul.lo.s32 r11, r10, r4; "
		"L: " STORE_R("r6") " add.s32 r6, r6, r11; setp.lt.s32 p2, r6, r1; @p2 bra L;"),
	 0, 4000, false},
	{"a loop that tests first",
	 KERNEL("mov.u32 r7, 0; L: setp.ge.s32 p1, r7, r2; @p1 bra END; " STORE_R(
		 "r7") " add.s32 r7, r7, 1; bra L;"),
	 0, 28, false},
	{"a loop up to equality",
	 KERNEL("mov.u32 r7, 0; L: " STORE_R("r7") " add.s32 r7, r7, 1; setp.ne.s32 p1, r7, r2; @p1 bra L;"),
	 0, 28, false},
	{"a loop downwards",
	 KERNEL("mov.u32 r7, r1; L: add.s32 r7, r7, -1; setp.lt.s32 p1, r7, 0; @p1 bra END; " STORE_R(
		 "r7") " bra L;"),
	 0, 4000, false},
	{"a loop of unknown length",
	 KERNEL("mov.u32 r7, 0; L: " STORE_R(
		 "r7") " add.s32 r7, r7, 1; ld.global.u32 r8, [d2]; setp.ne.s32 p1, r8, 0; @p1 bra L;"),
	 ALL, 0, false},
	{"a loaded index",
	 KERNEL("ld.global.u32 r7, [d2]; mul.wide.u32 d3, r7, 4; add.s64 d4, d2, d3; "
		"st.global.u8 [d4], h1;"),
	 0, (INT64_C(1) << 34) - 3, false},
	{"a loaded 64-bit index",
	 KERNEL("ld.global.u64 d3, [d2]; add.s64 d4, d2, d3; st.global.u8 [d4], h1;"), ALL, 0, false},
	{"terms that cancel",
	 KERNEL("mul.wide.u32 d3, r5, 8; mul.wide.u32 d4, r5, 4; add.s64 d5, d2, d3; sub.s64 d6, d5, d4; "
		"st.global.u32 [d6], r1;"),
	 0, 256, false},
	{"mirrored twice",
	 KERNEL("add.s32 r7, r4, -1; sub.s32 r8, r7, r5; sub.s32 r9, r7, r8; " STORE_R("r9")), 0, 256, false},
	{"never", KERNEL("setp.gt.s32 p1, r1, 2000; @!p1 bra END; " STORE_R("r6")), 0, 0, false},
	{"by a function", KERNEL("{ .param .b64 x; st.param.b64 [x], d1; call put, (x); }"), ALL, 0, false},
	{"of a matrix",
	 KERNEL("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [d2], {f1, f1, f1, f1, f1, f1, f1, f1};"),
	 ALL, 0, false},
	{"a variable, too", KERNEL("st.global.u32 [var], r1; st.global.u32 [d2], r1;"), 0, 4, true},
	{"nothing", KERNEL("ld.global.u32 r7, [d2];"), UNWRITTEN, 0, false},
};

struct block {
	uint64_t a;
	uint32_t n, m;
};

static void check_row(size_t k)
{
	const struct block params = {A, 1000, 7};
	const struct ptx_launch l = {{10, 3, 1}, {64, 2, 1}, (const uint8_t *)&params, sizeof(params)};
	struct ptx_module *m = parse_text(rows[k].text);
	struct ptx_written_range r[3];
	struct ptx_written *w;
	bool ok;

	assert_int_equal(ptx_written_open(&w, m, build(m, "k")), 0);
	ptx_written_find(w, &l, r);
	if (rows[k].first == UNWRITTEN)
		ok = !r[0].is_written;
	else if (rows[k].first == ALL)
		ok = r[0].is_written && !r[0].is_bounded;
	else if (rows[k].end == 0)
		ok = r[0].is_bounded && r[0].first == r[0].end;
	else
		ok = r[0].is_written && r[0].is_bounded && r[0].first == A + (uint64_t)rows[k].first &&
		     r[0].end == A + (uint64_t)rows[k].end;
	if (!ok)
		print_error("%s: written %d, bounded %d, %lld to %lld\n", rows[k].what, r[0].is_written,
			    r[0].is_bounded, (long long)(r[0].first - A), (long long)(r[0].end - A));
	assert_true(ok);
	assert_int_equal(ptx_written_elsewhere(w), rows[k].elsewhere);
	assert_false(r[1].is_written);
	assert_false(r[2].is_written);
	ptx_written_close(w);
	ptx_module_free(m);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		check_row(k);
}

/* A block that isn't known: nothing is said of what depends on it. */
static void test_no_parameters(void **state)
{
	const struct ptx_launch l = {{1, 1, 1}, {1, 1, 1}, NULL, 0};
	struct ptx_module *m = parse_text(rows[0].text);
	struct ptx_written_range r[3];
	struct ptx_written *w;

	(void)state;
	assert_int_equal(ptx_written_open(&w, m, build(m, "k")), 0);
	ptx_written_find(w, &l, r);
	assert_true(r[0].is_written);
	assert_false(r[0].is_bounded);
	ptx_written_close(w);
	ptx_module_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_no_parameters)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
