/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels do with their parameters, for hand-written cases whose answer
 * can be read off the code. Notation of an answer, one word a parameter:
 * "-" no pointer, "p" pointer, then r, w, a (atomic), ":type". */
#include "fixture.h"

#define HEAD                                                                                                 \
	".version 8.3\n.target sm_90\n.address_size 64\n.global .align 8 .b8 var[64];\n.const .align 8 .b8 " \
	"tab[64];\n"                                                                                         \
	".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.extern .func "               \
	"mystery(.param .b64 a);\n"                                                                          \
	".extern .func (.param .b64 r) malloc(.param .b64 n);\n"                                             \
	".func (.param .b64 r) pass(.param .b64 a, .param .b64 b) { .reg .b64 d<3>; ld.param.b64 d1, [b]; "  \
	"st.param.b64 [r], d1; ret; }\n"                                                                     \
	".func put(.param .b64 a, .param .b32 v) { .reg .b64 d<3>; .reg .b32 r<3>; ld.param.b64 d1, [a]; "   \
	"ld.param.b32 r1, [v]; st.u32 [d1], r1; ret; }\n"                                                    \
	".func again(.param .b64 a, .param .b32 n) { .reg .b64 d<3>; .reg .b32 r<3>; .reg .pred p; "         \
	"ld.param.b64 d1, [a]; "                                                                             \
	"ld.param.b32 r1, [n]; setp.eq.s32 p, r1, 0; @p ret; st.f32 [d1], 0f00000000; { .param .b64 x; "     \
	".param .b32 y; "                                                                                    \
	"st.param.b64 [x], d1; st.param.b32 [y], r1; call again, (x, y); } ret; }\n"

#define KERNEL(params, body)                                                                           \
	HEAD ".entry k(" params                                                                        \
	     ") { .reg .b64 d<16>; .reg .b32 r<16>; .reg .f32 f<4>; .reg .pred p<4>; .reg .b16 h<4>; " \
	     ".local .align 8 .b8 depot[64]; .shared .align 8 .b8 sh[64];\n" body "\nret; }\n"
#define LOAD_A  "ld.param.u64 d1, [a]; "
#define LOAD_AB "ld.param.u64 d1, [a]; ld.param.u64 d2, [b]; "

static const struct {
	const char *what, *text, *answer;
	bool unknown, vars;
} rows[] = {
	{"read and write",
	 KERNEL(".param .u64 a, .param .u64 b, .param .u32 n",
		LOAD_AB "ld.param.u32 r1, [n]; cvta.to.global.u64 d3, d1; cvta.to.global.u64 d4, d2; "
			"mul.wide.s32 d5, r1, 4; add.s64 d6, d3, d5; "
			"ld.global.f32 f1, [d6+4]; add.s64 d7, d4, d5; st.global.f32 [d7], f1;"),
	 "pr:f32 pw:f32 -", false, false},
	{"atomics",
	 KERNEL(".param .u64 a, .param .u64 b",
		LOAD_AB "atom.global.add.u32 r1, [d1], 1; red.global.max.s32 [d2+8], r1;"),
	 "prwa:u32 prwa:s32", false, false},
	{"mad address",
	 KERNEL(".param .u64 a, .param .u32 n", LOAD_A "ld.param.u32 r1, [n]; mad.wide.s32 d2, r1, 8, d1; "
						       "st.global.u64 [d2], d1;"),
	 "pw:u64 -", false, false},
	{"64-bit offset is no pointer",
	 KERNEL(".param .u64 a, .param .u64 b", LOAD_AB "cvta.to.global.u64 d3, d1; add.s64 d4, d3, d2; "
							"st.global.u8 [d4], r1;"),
	 "pw:u8 -", false, false},
	{"loaded offset",
	 KERNEL(".param .u64 a, .param .u64 b", LOAD_AB "cvta.to.global.u64 d3, d1; ld.global.u64 d4, [d2]; "
							"add.s64 d5, d3, d4; st.global.u8 [d5], r1;"),
	 "pw:u8 pr:u64", false, false},
	{"loaded pointer", KERNEL(".param .u64 a", LOAD_A "ld.global.u64 d2, [d1]; st.global.u32 [d2], r1;"),
	 "pr:u64", true, false},
	{"list walk",
	 KERNEL(".param .u64 a",
		LOAD_A "L: st.u32 [d1+8], r1; ld.u64 d1, [d1]; setp.ne.u64 p1, d1, 0; @p1 bra L;"),
	 "prw:u32", true, false},
	{"pointer from nowhere",
	 KERNEL(".param .u32 a", "cvt.u64.u32 d1, r1; mul.lo.u64 d1, d1, 8; st.global.u32 [d1], r1;"), "-",
	 true, false},
	{"read from nowhere is harmless",
	 KERNEL(".param .u64 a", LOAD_A "ld.global.u64 d2, [d1]; ld.global.u32 r1, [d2];"), "pr:u64", false,
	 false},
	{"one of two",
	 KERNEL(".param .u64 a, .param .u64 b, .param .u32 n",
		LOAD_AB "selp.b64 d3, d1, d2, p1; st.global.f32 [d3], f1;"),
	 "pw:f32 pw:f32 -", false, false},
	{"module variable",
	 KERNEL(".param .u64 a", "mov.u64 d1, var; st.global.u32 [d1], r1; st.global.u32 [var+4], r1;"), "-",
	 false, true},
	{"shared and local memory don't count",
	 KERNEL(".param .u32 a", "mov.u32 r1, sh; st.shared.u32 [r1], r2; mov.u64 d1, depot; "
				 "st.local.u32 [d1], r2; cvta.local.u64 d2, d1; st.u32 [d2], r2; "
				 "cvta.shared.u64 d3, d3; mov.u64 d4, sh; cvta.shared.u64 d5, d4; "
				 "st.u32 [d5], r1;"),
	 "-", false, false},
	{"through the stack",
	 KERNEL(".param .u64 a, .param .u64 b",
		LOAD_AB "mov.u64 d3, depot; cvta.local.u64 d4, d3; st.local.u64 "
			"[d3+8], d1; st.u64 [d4+16], d2; ld.u64 d5, [d4+8]; st.global.f32 [d5], f1; "
			"ld.local.u64 d6, [depot+16]; ld.global.u16 h1, [d6];"),
	 "pw:f32 pr:u16", false, false},
	{"pointer in a struct",
	 KERNEL(".param .align 8 .b8 a[24]",
		"ld.param.u64 d1, [a+8]; ld.param.u32 r1, [a+16]; st.global.f32 [d1], f1;"),
	 "pw:f32", false, false},
	{"struct by address",
	 KERNEL(".param .align 8 .b8 a[24]", "mov.b64 d1, a; cvta.param.u64 d2, d1; ld.u64 d3, [d2+8]; "
					     "st.global.f64 [d3], 0d0000000000000000;"),
	 "pw:f64", false, false},
	{"halves",
	 KERNEL(".param .u64 a", LOAD_A
		"mov.b64 {r1, r2}, d1; add.cc.u32 r3, r1, r4; addc.u32 r5, r2, 0; mov.b64 d2, {r3, r5}; "
		"st.global.u32 [d2], r1;"),
	 "pw:u32", false, false},
	{"b32 that is a float",
	 KERNEL(".param .u64 a, .param .u64 b", LOAD_AB "ld.global.b32 r1, [d1]; fma.rn.f32 r2, r1, r1, r1; "
							"st.global.b32 [d2], r2;"),
	 "pr:f32 pw:f32", false, false},
	{"vector of bytes and floats",
	 KERNEL(".param .u64 a", LOAD_A "ld.global.v4.u32 {r1,r2,r3,r4}, [d1]; ld.global.f32 f1, [d1];"),
	 "pr:f32", false, false},
	{"guarded",
	 KERNEL(".param .u64 a, .param .u64 b",
		LOAD_AB "mov.u64 d3, d1; @p1 mov.u64 d3, d2; @p2 st.global.u32 [d3], r1;"),
	 "pw:u32 pw:u32", false, false},
	{"vprintf writes nothing of ours",
	 KERNEL(".param .u64 a", LOAD_A "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], "
					"d1; st.param.b64 [y], d1; call (z), vprintf, (x, y); }"),
	 "-", false, false},
	{"unknown function",
	 KERNEL(".param .u64 a", LOAD_A "{ .param .b64 x; st.param.b64 [x], d1; call mystery, (x); }"),
	 "prw:none", true, true},
	{"callee writes",
	 KERNEL(".param .u64 a, .param .u64 b",
		LOAD_AB "{ .param .b64 x; .param .b32 y; st.param.b64 [x], d2; st.param.b32 "
			"[y], r1; call put, (x, y); }"),
	 "- pw:u32", false, false},
	{"callee returns",
	 KERNEL(".param .u64 a, .param .u64 b",
		LOAD_AB "{ .param .b64 x; .param .b64 y; .param .b64 z; st.param.b64 [x], "
			"d1; st.param.b64 [y], d2; call (z), pass, (x, y); ld.param.b64 d3, [z]; } "
			"st.global.u32 [d3], r1;"),
	 "- pw:u32", false, false},
	{"recursion",
	 KERNEL(".param .u64 a",
		LOAD_A "{ .param .b64 x; .param .b32 y; st.param.b64 [x], d1; st.param.b32 [y], r1; "
		       "call again, (x, y); }"),
	 "pw:f32", false, false},
	{"device heap",
	 KERNEL(".param .u64 a",
		"{ .param .b64 x; .param .b64 z; st.param.b64 [x], 16; call (z), malloc, (x); "
		"ld.param.b64 d3, [z]; } st.u32 [d3], r1;"),
	 "-", false, false},
	{"through shared memory",
	 KERNEL(".param .u64 a",
		LOAD_A "st.shared.u64 [sh], d1; ld.shared.u64 d2, [sh]; st.global.u32 [d2], r1;"),
	 "pw:u32", false, false},
	{"asynchronous copy reads",
	 KERNEL(".param .u64 a", LOAD_A "mov.u32 r1, sh; cp.async.cg.shared.global [r1], [d1+16], 16;"),
	 "pr:none", false, false},
	{"declared pointer", KERNEL(".param .u64 .ptr .global .align 4 a", "mov.u32 r1, 1;"), "p:none", false,
	 false},
	{"rounded down by and",
	 KERNEL(".param .u64 a", LOAD_A "add.u64 d2, d1, 15; and.b64 d3, d2, -16; st.global.f32 [d3], f1;"),
	 "pw:f32", false, false},
	{"rounded down by shifts",
	 KERNEL(".param .u64 a", LOAD_A "shr.u64 d2, d1, 4; shl.b64 d3, d2, 4; st.global.f32 [d3], f1;"),
	 "pw:f32", false, false},
	{"index by shift is no pointer",
	 KERNEL(".param .u64 a, .param .u64 n",
		LOAD_A "ld.param.u64 d2, [n]; cvta.to.global.u64 d3, d1; shl.b64 d4, d2, 3; "
		       "add.s64 d5, d3, d4; ld.global.f64 d6, [d5];"),
	 "pr:f64 -", false, false},
	{"mad with 64-bit index",
	 KERNEL(".param .u64 a, .param .u64 n",
		LOAD_A "ld.param.u64 d2, [n]; cvta.to.global.u64 d3, d1; "
		       "mad.lo.s64 d4, d2, 12, d3; st.global.v2.f32 [d4], {f1, f2};"),
	 "pw:f32 -", false, false},
	{"pointer carried round a loop",
	 KERNEL(".param .u64 a, .param .u64 b", LOAD_AB
		"L: ld.global.f32 f1, [d1]; st.global.f32 [d2], f1; add.s64 d1, d1, 4; add.s64 d2, d2, 4; "
		"setp.lt.u32 p1, r1, 3; @p1 bra L;"),
	 "pr:f32 pw:f32", false, false},
	{"exchanged in a loop",
	 KERNEL(".param .u64 a, .param .u64 b", LOAD_AB "L: ld.global.f32 f1, [d1]; st.global.f32 [d2], f1; "
							"mov.u64 d3, d1; mov.u64 d1, d2; mov.u64 d2, d3; "
							"setp.lt.u32 p1, r1, 3; @p1 bra L;"),
	 "prw:f32 prw:f32", false, false},
	{"two pointers in a struct",
	 KERNEL(".param .align 8 .b8 a[24]",
		"ld.param.v2.u64 {d1, d2}, [a]; ld.global.f32 f1, [d1]; st.global.f32 [d2], f1;"),
	 "prw:f32", false, false},
	{"struct indexed by address",
	 KERNEL(".param .align 8 .b8 a[64], .param .u64 b",
		"mov.b64 d1, a; mul.wide.u32 d2, r1, 8; add.s64 d3, d1, d2; ld.param.u64 d4, [d3]; "
		"st.global.s32 [d4], r1;"),
	 "pw:s32 -", false, false},
	{"dynamic place on the stack",
	 KERNEL(".param .u64 a, .param .u64 b", LOAD_AB
		"mov.u64 d3, depot; st.local.u64 [d3], d1; st.local.u64 [d3+8], d2; mul.wide.u32 d4, r1, 8; "
		"add.u64 d5, d3, d4; ld.local.u64 d6, [d5]; st.global.u8 [d6], r1;"),
	 "pw:u8 pw:u8", false, false},
	{"warp exchange of pointers",
	 KERNEL(".param .u64 a", LOAD_A
		"mov.b64 {r1, r2}, d1; shfl.sync.idx.b32 r3, r1, 0, 31, -1; shfl.sync.idx.b32 r4, r2, 0, "
		"31, -1; mov.b64 d2, {r3, r4}; st.global.u32 [d2], r5;"),
	 "pw:u32", false, false},
	{"null test is no access",
	 KERNEL(".param .u64 a", LOAD_A "setp.eq.s64 p1, d1, 0; @p1 mov.u32 r1, 1;"), "-", false, false},
	{"difference of pointers is a number",
	 KERNEL(".param .u64 a, .param .u64 b, .param .u64 c", LOAD_AB
		"sub.s64 d3, d1, d2; ld.param.u64 d4, [c]; cvta.to.global.u64 d5, d4; add.s64 d6, d5, d3; "
		"st.global.u32 [d6], r1;"),
	 "- - pw:u32", false, false},
	{"surface", KERNEL(".param .u64 a", LOAD_A "sust.b.1d.b32.trap [d1, {r1}], {r2};"), "surfref", true, false},
	{"texture", KERNEL(".param .u64 a", LOAD_A "tex.1d.v4.f32.s32 {f0, f1, f2, f3}, [d1, {r1}];"), "texref", false,
	 false},
	{"texture from a struct and a register",
	 KERNEL(".param .align 8 .b8 a[16], .param .u64 b",
		"ld.param.u64 d1, [a+8]; ld.param.u64 d2, [b]; mov.u64 d3, d2; txq.width.b32 r1, [d1]; "
		"tex.1d.v4.f32.s32 {f0, f1, f2, f3}, [d3, {r1}];"),
	 "texref texref", false, false},
	{"one of two textures",
	 KERNEL(".param .u64 a, .param .u64 b",
		LOAD_AB "setp.eq.u32 p1, r1, 0; selp.b64 d3, d1, d2, p1; "
			"tex.1d.v4.f32.s32 {f0, f1, f2, f3}, [d3, {r1}];"),
	 "- -", false, false},
};

static void describe(const struct ptx_func *f, char *out, size_t n)
{
	size_t at = 0;
	for (uint32_t k = 0; k < f->nparams; k++) {
		const struct ptx_access *x = &f->access[k];
		bool opaque = x->elem_type == PTX_TEXREF || x->elem_type == PTX_SURFREF;
		at += (size_t)snprintf(out + at, n - at, "%s%s", k ? " " : "",
				       x->is_pointer ? "p"
				       : opaque	     ? ptx_type_name(x->elem_type)
						     : "-");
		if (x->is_pointer)
			at += (size_t)snprintf(out + at, n - at, "%s%s%s:%s", x->is_read ? "r" : "",
					       x->is_written ? "w" : "", x->is_atomic ? "a" : "",
					       ptx_type_name(x->elem_type));
	}
}

static void kernels(void **state)
{
	(void)state;
	unsigned failures = 0;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		char got[256];
		struct ptx_module *m = parse_text(rows[k].text);
		struct ptx_func *f = build(m, "k");
		assert_int_equal(ptx_func_analyse(m, f), 0);
		describe(f, got, sizeof(got));
		if (strcmp(got, rows[k].answer) || f->writes_unknown != rows[k].unknown ||
		    f->writes_module_vars != rows[k].vars) {
			print_error("%s: got %s unknown %d vars %d\n", rows[k].what, got, f->writes_unknown,
				    f->writes_module_vars);
			failures++;
		}
		ptx_module_free(m);
	}
	assert_int_equal(failures, 0);
}

static void more_than_64_parameters(void **state)
{
	(void)state;
	char text[8192];
	size_t at = (size_t)snprintf(text, sizeof(text),
				     ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(");
	for (int k = 0; k < 70; k++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s.param .u64 p%d", k ? ", " : "", k);
	snprintf(text + at, sizeof(text) - at,
		 ") { .reg .b64 d<4>; ld.param.u64 d1, [p69]; st.global.u32 [d1], 0; ld.param.u64 d2, [p3]; "
		 "ld.global.u32 d3, [d2]; ret; }\n");
	struct ptx_module *m = parse_text(text);
	struct ptx_func *f = build(m, "k");
	assert_int_equal(ptx_func_analyse(m, f), 0);
	assert_true(f->access[69].is_written);
	assert_true(f->access[3].is_read && !f->access[3].is_written);
	assert_false(f->access[4].is_pointer);
	ptx_module_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kernels),
					   cmocka_unit_test(more_than_64_parameters)};
	return cmocka_run_group_tests_name("ptx access", tests, NULL, NULL);
}
