/* SPDX-License-Identifier: Apache-2.0
 *
 * Uniformity, strides, barriers, contraction, what a kernel touches: hand-written cases whose answers follow from the
 * semantics. A register is named by its PTX name; its last value counts, "name#n" is the n-th (from 0). A fact:
 * level, or base level and strides ("block+4x": base uniform in the block, 4 bytes a tid.x), "?" when it holds only
 * if nothing wrapped around. */
#include "fixture.h"

#include "ptx/analysis.h"

#define HEAD                                                                                                 \
	".version 8.3\n.target sm_90\n.address_size 64\n.global .align 8 .b8 var[64];\n.const .align 8 .b8 " \
	"tab[64];\n.global .align 8 .b8 other[64];\n.shared .align 8 .b8 gsh[64];\n"                         \
	".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"                             \
	".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func mystery(.param .b64 a);\n"      \
	".func put(.param .b64 a) { .reg .b64 d<3>; .local .align 8 .b8 l[40]; ld.param.b64 d1, [a]; "       \
	"st.u32 [d1], 0; st.global.u32 [other], 1; ret; }\n"                                                 \
	".func again(.param .b64 a) { .reg .b64 d<3>; ld.param.b64 d1, [a]; { .param .b64 x; "               \
	"st.param.b64 [x], d1; call again, (x); } ret; }\n"
#define ENTRY(attributes, body)                                                                       \
	HEAD ".entry k(.param .u64 a, .param .u32 n) " attributes                                     \
	     "{ .reg .b64 d<16>; .reg .b32 r<24>; .reg .f32 f<16>; .reg .f64 g<8>; .reg .pred p<8>; " \
	     ".reg .b16 h<8>; .local .align 8 .b8 depot[64]; .shared .align 8 .b8 sh[64];\n"          \
	     "ld.param.u64 d0, [a]; ld.param.u32 r0, [n];\n" body "\nret; }\n"
#define KERNEL(body) ENTRY("", body)
#define IDS          "mov.u32 r1, %tid.x; mov.u32 r2, %ctaid.x; mov.u32 r3, %ntid.x; "
#define THREAD_IF    "mov.u32 r1, %tid.x; setp.lt.u32 p1, r1, 16; "
#define GRID_IF      "setp.lt.u32 p1, r0, 16; "

static uint32_t find_value(const struct ptx_func *f, const char *name, size_t n)
{
	const char *hash = memchr(name, '#', n);
	long want = hash ? atol(hash + 1) : -1, seen = 0;
	size_t length = hash ? (size_t)(hash - name) : n;
	uint32_t found = PTX_NONE;
	for (uint32_t v = 1; v < f->nvalues; v++) {
		const char *slot = f->slots[f->values[v].slot].name;
		if (strlen(slot) != length || strncmp(slot, name, length))
			continue;
		if (want < 0 || seen == want)
			found = v;
		seen++;
	}
	return found;
}

static void describe_value(const struct ptx_uniform *u, char *out, size_t n)
{
	static const char axes[] = "xyzl";
	bool strides = u->affine && (u->stride[0] | u->stride[1] | u->stride[2] | u->stride[3]);
	size_t at = (size_t)snprintf(out, n, "%s", ptx_level_name(strides ? u->base : u->level));
	for (unsigned k = 0; strides && k < PTX_AXES; k++)
		if (u->stride[k])
			at += (size_t)snprintf(out + at, n - at, "%+d%c", u->stride[k], axes[k]);
	if (strides && u->may_wrap)
		snprintf(out + at, n - at, "?");
}

static const struct {
	const char *what, *text, *facts;
} values[] = {
	{"global index",
	 KERNEL(IDS "mad.lo.s32 r4, r2, r3, r1; mul.wide.s32 d2, r4, 4; add.s64 d3, d0, d2; setp.ge.s32 p1, "
		    "r4, r0;"),
	 "r1=grid+1x r2=block r3=grid r4=block+1x d0=grid d2=block+4x? d3=block+4x? p1=thread"},
	{"exact widening",
	 KERNEL(IDS "mul.wide.u32 d2, r1, 8; cvt.u64.u32 d3, r1; add.s32 r4, r1, -1; cvt.s64.s32 d4, r4; "
		    "cvt.u64.u32 d5, r4; mad.wide.u32 d6, r1, 4, d0;"),
	 "d2=grid+8x d3=grid+1x r4=grid+1x d4=grid+1x d5=grid+1x? d6=grid+4x"},
	{"lane and axes",
	 KERNEL("mov.u32 r1, %laneid; shl.b32 r2, r1, 3; mov.u32 r3, %tid.y; mov.u32 r4, %tid.z; "
		"mad.lo.u32 r5, r3, 32, r2; sub.u32 r6, r5, r4; sub.u32 r7, 5, r4; mul.lo.u32 r8, r3, r3; "
		"mul.lo.u32 r9, r3, r0; and.b32 r10, r1, 7;"),
	 "r1=grid+1l r2=grid+8l r5=grid+32y+8l r6=grid+32y-1z+8l r7=grid-1z r8=thread r9=thread r10=thread"},
	{"whole rows of threads", ENTRY(".reqntid 64, 4, 1 ", "mov.u32 r1, %tid.y; mov.u32 r2, %tid.x;"),
	 "r1=warp r2=grid+1x"},
	{"no whole rows", ENTRY(".reqntid 16, 4, 1 ", "mov.u32 r1, %tid.y;"), "r1=grid+1y"},
	{"special registers",
	 KERNEL("mov.u32 r1, %clock; mov.u32 r2, %smid; mov.u32 r3, %nctaid.y; mov.u32 r4, %warpid; "
		"mov.u32 r5, %lanemask_lt; mov.u64 d1, %globaltimer; mov.u32 r6, %ctaid.z;"),
	 "r1=thread r2=thread r3=grid r4=warp r5=thread d1=thread r6=block"},
	{"loads",
	 KERNEL("mov.u32 r1, %tid.x; cvta.to.global.u64 d1, d0; ld.global.u32 r2, [d1]; ld.global.nc.u32 r3, "
		"[d1]; "
		"ld.const.u32 r4, [tab+4]; ld.volatile.global.u32 r5, [d1]; ld.shared.u32 r6, [sh]; "
		"ld.local.u32 r7, [depot]; ld.u32 r8, [d0]; ld.relaxed.gpu.global.u32 r9, [d1]; "
		"mul.wide.u32 d2, r1, 4; add.u64 d3, d1, d2; ld.global.nc.u32 r10, [d3];"),
	 "r2=warp r3=grid r4=grid r5=thread r6=warp r7=thread r8=thread r9=thread r10=thread"},
	{"divergent choice",
	 KERNEL(THREAD_IF "@p1 bra A; mov.u32 r2, 1; bra.uni B; A: mov.u32 r2, 2; B: add.u32 r3, r2, 0;"),
	 "p1=thread r2#0=grid r3=thread"},
	{"uniform choice",
	 KERNEL(GRID_IF "@p1 bra A; mov.u32 r2, 1; bra.uni B; A: mov.u32 r2, 2; B: add.u32 r3, r2, 0;"),
	 "p1=grid r3=grid"},
	{"choice by block",
	 KERNEL("mov.u32 r1, %ctaid.x; setp.eq.u32 p1, r1, 0; @p1 bra A; mov.u32 r2, 1; bra.uni B; "
		"A: mov.u32 r2, 2; B: add.u32 r3, r2, 0;"),
	 "p1=block r3=block"},
	{"the same constant both ways",
	 KERNEL(THREAD_IF "@p1 bra A; mov.u32 r2, 7; bra.uni B; A: mov.u32 r2, 7; B: add.u32 r3, r2, 0;"),
	 "r3=grid"},
	{"uniform loop in divergent code",
	 KERNEL(THREAD_IF
		"@p1 bra END; mov.u32 r2, 0; L: add.u32 r2, r2, 1; setp.lt.u32 p2, r2, r0; @p2 bra L; END:"),
	 "r2=grid p2=grid"},
	{"divergent exit, value used behind",
	 KERNEL("mov.u32 r1, %tid.x; mov.u32 r2, 0; L: add.u32 r2, r2, 1; setp.lt.u32 p2, r2, r1; @p2 bra L; "
		"add.u32 r3, r2, 5;"),
	 "r2=thread r3=thread"},
	{"divergent exit, value used inside only",
	 KERNEL("mov.u32 r1, %tid.x; mov.u32 r2, 0; L: add.u32 r2, r2, 1; setp.lt.u32 p2, r2, r1; @p2 bra L; "
		"mov.u32 r3, 5;"),
	 "r2=grid p2=thread r3=grid"},
	{"break out of a uniform loop",
	 KERNEL("mov.u32 r1, %tid.x; mov.u32 r2, 0; L: setp.eq.u32 p1, r2, r1; @p1 bra END; add.u32 r2, r2, "
		"1; "
		"setp.lt.u32 p2, r2, 9; @p2 bra L; END: add.u32 r3, r2, 0;"),
	 "r3=thread"},
	{"continue",
	 KERNEL("mov.u32 r1, %tid.x; mov.u32 r2, 0; mov.u32 r4, 0; L: add.u32 r2, r2, 1; setp.eq.u32 p1, r1, "
		"3; "
		"@p1 bra C; add.u32 r4, r4, 1; C: setp.lt.u32 p2, r2, r0; @p2 bra L; add.u32 r5, r4, r2;"),
	 "r2=grid p2=grid r5=thread"},
	{"two back edges",
	 KERNEL("mov.u32 r1, %tid.x; mov.u32 r2, 0; L: add.u32 r2, r2, 1; setp.ge.u32 p2, r2, r0; @p2 bra E; "
		"setp.eq.u32 p1, r1, 3; @p1 bra L; add.u32 r2, r2, 1; bra.uni L; E: add.u32 r5, r2, 0;"),
	 "r5=thread"},
	{"induction keeps the stride",
	 KERNEL(IDS "mov.u32 r4, r1; L: add.u32 r4, r4, r3; setp.lt.u32 p1, r0, 5; @p1 bra L;"),
	 "r4=grid+1x"},
	{"strides that differ", KERNEL(GRID_IF "mov.u32 r1, %tid.x; shl.b32 r2, r1, 1; @p1 mov.u32 r2, r1;"),
	 "r2#0=grid+2x r2=thread"},
	{"guarded by thread",
	 KERNEL(THREAD_IF "mov.u32 r2, 1; @p1 mov.u32 r2, 2; mov.u32 r3, 4; @p1 mov.u32 r3, 4;"),
	 "r2=thread r3=grid"},
	{"guarded uniformly", KERNEL(GRID_IF "mov.u32 r2, 1; @p1 mov.u32 r2, 2;"), "r2=grid"},
	{"selection",
	 KERNEL(GRID_IF "mov.u32 r1, %tid.x; setp.lt.u32 p2, r1, 3; add.u32 r2, r1, 1; add.u32 r3, r1, 2; "
			"selp.b32 r4, r2, r3, p1; selp.b32 r5, r2, r3, p2; selp.b32 r6, 1, 2, p2;"),
	 "r4=grid+1x r5=thread r6=thread"},
	{"warp operations",
	 KERNEL("mov.u32 r1, %tid.x; shfl.sync.idx.b32 r2|p2, r1, 0, 0x1f, -1; shfl.sync.idx.b32 r3, r1, r1, "
		"0x1f, -1; "
		"shfl.sync.idx.b32 r4, r1, 0, 0x101f, -1; shfl.sync.bfly.b32 r5, r1, 1, 0x1f, -1; "
		"setp.lt.u32 p1, r1, 9; "
		"vote.sync.ballot.b32 r6, p1, -1; vote.sync.any.pred p3, p1, -1; vote.sync.ballot.b32 r7, "
		"p1, r1; "
		"match.any.sync.b32 r8, r1, -1; match.all.sync.b32 r9|p4, r1, -1; redux.sync.add.u32 r10, "
		"r1, -1; "
		"activemask.b32 r11; elect.sync r12|p5, -1; shfl.sync.down.b32 r13, r0, 1, 0x1f, -1;"),
	 "r2=warp p2=warp r3=thread r4=thread r5=thread r6=warp p3=warp r7=thread r8=thread r9=warp p4=warp "
	 "r10=warp "
	 "r11=warp r12=warp p5=thread r13=warp"},
	{"reduction over the block",
	 KERNEL(THREAD_IF "bar.red.popc.u32 r2, 0, p1; bar.red.popc.u32 r3, 1, 64, p1;"),
	 "r2=block r3=thread"},
	{"atomics and calls",
	 KERNEL("atom.global.add.u32 r1, [d0], 1; { .param .b64 x; .param .b64 z; st.param.b64 [x], 16; call "
		"(z), malloc, (x); "
		"ld.param.b64 d3, [z]; }"),
	 "r1=thread d3=thread"},
	{"jump table",
	 KERNEL("mov.u32 r1, %tid.x; T: .branchtargets A, B; brx.idx r1, T; A: mov.u32 r2, 1; bra.uni C; "
		"B: mov.u32 r2, 2; C: add.u32 r3, r2, 0;"),
	 "r3=thread"},
	{"irreducible, uniform",
	 KERNEL(GRID_IF "mov.u32 r2, 0; @p1 bra B; A: add.u32 r2, r2, 1; B: add.u32 r2, r2, 2; "
			"setp.lt.u32 p2, r2, 50; @p2 bra A; add.u32 r3, r2, 0;"),
	 "r3=grid p2=grid"},
	{"irreducible, divergent",
	 KERNEL(THREAD_IF "mov.u32 r2, 0; @p1 bra B; A: add.u32 r2, r2, 1; B: add.u32 r2, r2, 2; "
			  "setp.lt.u32 p2, r2, 50; @p2 bra A; add.u32 r3, r2, 0;"),
	 "r3=thread p2=thread"},
	{"endless loop, unreachable code",
	 KERNEL("mov.u32 r1, %tid.x; L: add.u32 r2, r1, 1; bra.uni L; add.u32 r3, r1, 1;"), "r2=grid+1x"},
	{"nothing is read", KERNEL("add.u32 r2, r9, 1;"), "r2=grid"},
};

static void values_are_uniform(void **state)
{
	(void)state;
	unsigned failures = 0;
	for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
		struct ptx_module *m = parse_text(values[k].text);
		struct ptx_func *f = build(m, "k");
		struct ptx_uniformity u;
		assert_int_equal(ptx_uniformity_find(f, m, &u), 0);
		assert_false(u.bounded);
		for (const char *p = values[k].facts; *p; p += strspn(p, " ")) {
			size_t n = strcspn(p, "="), length = strcspn(p, " ");
			char got[80] = "missing";
			uint32_t v = find_value(f, p, n);
			if (v != PTX_NONE)
				describe_value(&u.values[v], got, sizeof(got));
			if (strlen(got) != length - n - 1 || strncmp(got, p + n + 1, length - n - 1)) {
				print_error("%s: %.*s, got %s\n", values[k].what, (int)length, p, got);
				failures++;
			}
			p += length;
		}
		ptx_uniformity_free(&u);
		ptx_module_free(m);
	}
	assert_int_equal(failures, 0);
}

static void parameters_of_functions_vary(void **state)
{
	(void)state;
	struct ptx_module *m = parse_text(
		".version 8.0\n.target sm_80\n.address_size 64\n.func g(.reg .b32 a, .param .b32 b) "
		"{ .reg .b32 r<4>; ld.param.u32 r1, [b]; add.u32 r2, a, 1; ret; }\n");
	struct ptx_func *f = build(m, "g");
	struct ptx_uniformity u;
	assert_int_equal(ptx_uniformity_find(f, m, &u), 0);
	assert_int_equal(u.values[find_value(f, "r1", 2)].level, PTX_LEVEL_THREAD);
	assert_int_equal(u.values[find_value(f, "r2", 2)].level, PTX_LEVEL_THREAD);
	ptx_uniformity_free(&u);
	ptx_module_free(m);
}

/* One word a barrier: control level, then u (not aligned), a (arrives only), c (counted). */
static const struct {
	const char *what, *text, *answer;
	bool all_uniform;
} barriers[] = {
	{"straight", KERNEL("bar.sync 0; barrier.sync.aligned 0; barrier.sync 1;"), "grid grid gridu", true},
	{"none", KERNEL("bar.warp.sync -1;"), "", true},
	{"divergent", KERNEL(THREAD_IF "@!p1 bra E; bar.sync 0; E: bar.sync 0;"), "thread grid", false},
	{"by block", KERNEL("mov.u32 r1, %ctaid.x; setp.eq.u32 p1, r1, 0; @p1 bra E; bar.sync 0; E:"),
	 "block", true},
	{"by warp", KERNEL("mov.u32 r1, %warpid; setp.eq.u32 p1, r1, 0; @p1 bra E; bar.sync 1, 32; E:"),
	 "warpc", false},
	{"uniform loop",
	 KERNEL("mov.u32 r1, 0; L: bar.sync 0; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, r0; @p1 bra L;"),
	 "grid", true},
	{"loop by thread",
	 KERNEL("mov.u32 r1, 0; mov.u32 r2, %tid.x; L: bar.sync 0; add.u32 r1, r1, 1; setp.lt.u32 p1, r1, "
		"r2; @p1 bra L; "
		"bar.sync 0;"),
	 "thread grid", false},
	{"uniform branch inside divergent code",
	 KERNEL(THREAD_IF
		"setp.lt.u32 p2, r0, 3; @p1 bra E; @p2 bra E2; bar.sync 0; E2: add.u32 r3, r3, 1; E:"),
	 "thread", false},
	{"guarded", KERNEL(THREAD_IF "@p1 bar.sync 0; setp.lt.u32 p2, r0, 3; @p2 bar.sync 0;"), "thread grid",
	 false},
	{"threads that left are not missed", KERNEL(THREAD_IF "@p1 exit; bar.sync 0;"), "grid", true},
	{"threads that went round it are", KERNEL(THREAD_IF "@p1 bra E; bar.sync 0; E:"), "thread", false},
	{"arrive and count", KERNEL("bar.arrive 1, 64; bar.sync 1, 64; bar.red.popc.u32 r1, 0, p1;"),
	 "gridac gridc grid", false},
};

static void barriers_are_found(void **state)
{
	(void)state;
	unsigned failures = 0;
	for (size_t k = 0; k < sizeof(barriers) / sizeof(barriers[0]); k++) {
		struct ptx_module *m = parse_text(barriers[k].text);
		struct ptx_func *f = build(m, "k");
		struct ptx_uniformity u;
		struct ptx_barriers b;
		char got[200] = "";
		size_t at = 0;
		assert_int_equal(ptx_uniformity_find(f, m, &u), 0);
		assert_int_equal(ptx_barriers_find(f, &u, &b), 0);
		for (uint32_t n = 0; n < b.n; n++)
			at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%s%s%s%s", n ? " " : "",
					       ptx_level_name(b.at[n].control), b.at[n].aligned ? "" : "u",
					       b.at[n].waits ? "" : "a", b.at[n].whole_block ? "" : "c");
		if (strcmp(got, barriers[k].answer) || b.all_uniform != barriers[k].all_uniform) {
			print_error("%s: got %s, %d\n", barriers[k].what, got, b.all_uniform);
			failures++;
		}
		ptx_barriers_free(&b);
		ptx_uniformity_free(&u);
		ptx_module_free(m);
	}
	assert_int_equal(failures, 0);
}

/* One word a pair: index of the mul among all mul, of the add among all add and sub, operand; then p (product
 * negated), a (addend negated), s (used elsewhere, too), b (another block). */
static const struct {
	const char *what, *text, *answer;
} contractions[] = {
	{"mul and add", KERNEL("mul.f32 f1, f2, f3; add.f32 f4, f1, f5;"), "0-0:0"},
	{"the other operand", KERNEL("mul.f64 g1, g2, g3; add.f64 g4, g5, g1;"), "0-0:1"},
	{"sub", KERNEL("mul.f32 f1, f2, f3; sub.f32 f4, f1, f5; mul.f32 f6, f2, f3; sub.f32 f7, f5, f6;"),
	 "0-0:0a 1-1:1p"},
	{"rounding of the mul", KERNEL("mul.rn.f32 f1, f2, f3; add.f32 f4, f1, f5;"), ""},
	{"rounding of the add", KERNEL("mul.f32 f1, f2, f3; add.rn.f32 f4, f1, f5;"), ""},
	{"flush on both", KERNEL("mul.ftz.f32 f1, f2, f3; add.ftz.f32 f4, f1, f5;"), "0-0:0"},
	{"flush on one",
	 KERNEL("mul.ftz.f32 f1, f2, f3; add.f32 f4, f1, f5; mul.f32 f6, f2, f3; add.ftz.f32 f7, f6, f5;"),
	 ""},
	{"saturated product", KERNEL("mul.sat.f32 f1, f2, f3; add.f32 f4, f1, f5;"), ""},
	{"saturated sum", KERNEL("mul.f32 f1, f2, f3; add.sat.f32 f4, f1, f5;"), "0-0:0"},
	{"two products", KERNEL("mul.f32 f1, f2, f3; mul.f32 f4, f5, f6; add.f32 f7, f1, f4;"),
	 "0-0:0 1-0:1"},
	{"used twice", KERNEL("mul.f32 f1, f2, f3; add.f32 f4, f1, f5; st.global.f32 [d0], f1;"), "0-0:0s"},
	{"square plus itself", KERNEL("mul.f32 f1, f2, f3; add.f32 f4, f1, f1;"), "0-0:0s 0-0:1s"},
	{"halves",
	 KERNEL("mul.f16 h1, h2, h3; add.f16 h4, h1, h5; mul.f16x2 r1, r2, r3; sub.f16x2 r4, r1, r5; "
		"mul.bf16x2 r6, r2, r3; add.bf16x2 r7, r6, r5; mul.bf16 h1, h2, h3; sub.bf16 h4, h5, h1;"),
	 "0-0:0 1-1:0a 2-2:0 3-3:1p"},
	{"another type",
	 KERNEL("mul.f16 h1, h2, h3; add.bf16 h4, h1, h5; mul.f16x2 r1, r2, r3; add.f32 f1, f2, f3;"), ""},
	{"guarded mul", KERNEL("@p1 mul.f32 f1, f2, f3; add.f32 f4, f1, f5;"), ""},
	{"guarded add", KERNEL("mul.f32 f1, f2, f3; @p1 add.f32 f4, f1, f5;"), "0-0:0"},
	{"another block", KERNEL("mul.f32 f1, f2, f3; @p1 bra E; add.f32 f4, f1, f5; E:"), "0-0:0b"},
	{"integers", KERNEL("mul.lo.s32 r1, r2, r3; add.s32 r4, r1, r5;"), ""},
	{"a product that is overwritten", KERNEL("mul.f32 f1, f2, f3; mov.f32 f1, f6; add.f32 f4, f1, f5;"),
	 ""},
	{"through a phi", KERNEL("mov.f32 f1, f6; @p1 bra E; mul.f32 f1, f2, f3; E: add.f32 f4, f1, f5;"),
	 ""},
};

static uint32_t count_before(const struct ptx_func *f, uint32_t inst, bool mul)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < inst; k++)
		n += mul ? f->insts[k].op == PTX_OP_MUL
			 : f->insts[k].op == PTX_OP_ADD || f->insts[k].op == PTX_OP_SUB;
	return n;
}

static void products_and_sums(void **state)
{
	(void)state;
	unsigned failures = 0;
	for (size_t k = 0; k < sizeof(contractions) / sizeof(contractions[0]); k++) {
		struct ptx_module *m = parse_text(contractions[k].text);
		struct ptx_func *f = build(m, "k");
		struct ptx_contractions c;
		char got[200] = "";
		size_t at = 0;
		assert_int_equal(ptx_contractions_find(f, &c), 0);
		for (uint32_t n = 0; n < c.n; n++) {
			const struct ptx_contraction *p = &c.at[n];
			at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%u-%u:%u%s%s%s%s", n ? " " : "",
					       count_before(f, p->mul, true), count_before(f, p->add, false),
					       p->operand, p->negate_product ? "p" : "",
					       p->negate_addend ? "a" : "", p->only_use ? "" : "s",
					       p->same_block ? "" : "b");
		}
		if (strcmp(got, contractions[k].answer)) {
			print_error("%s: got %s\n", contractions[k].what, got);
			failures++;
		}
		ptx_contractions_free(&c);
		ptx_module_free(m);
	}
	assert_int_equal(failures, 0);
}

/* Symbols with r, w, a (atomic), & (address); spaces likewise; then features. */
static const struct {
	const char *what, *text, *symbols, *spaces, *features;
	int64_t local_bytes; /* -1: unbounded */
} touches[] = {
	{"parameters only", KERNEL("st.global.u32 [d0], r0;"), "", "global:w param:r", "", 64},
	{"variables by name",
	 KERNEL("ld.const.u32 r1, [tab]; atom.global.add.u32 r2, [var], 1; st.shared.u32 [sh+4], r2;"),
	 "var:rwa tab:r sh:w", "const:r global:rwa shared:w param:r", "", 64},
	{"variables by address",
	 KERNEL("mov.u64 d1, var; add.u64 d2, d1, 8; cvta.global.u64 d3, d2; ld.u32 r1, [d3]; mov.u32 r2, "
		"gsh; "
		"shl.b32 r3, r0, 2; add.u32 r4, r2, r3; ld.shared.u32 r5, [r4];"),
	 "var:r gsh:r", "global:r shared:r param:r", "", 64},
	{"one of two",
	 KERNEL(GRID_IF
		"mov.u64 d1, var; mov.u64 d2, other; selp.b64 d3, d1, d2, p1; st.global.u32 [d3], r0;"),
	 "var:& other:&", "global:w param:r", "", 64},
	{"address stored", KERNEL("mov.u64 d1, var; st.global.u64 [d0], d1;"), "var:&", "global:w param:r",
	 "", 64},
	{"callee", KERNEL("{ .param .b64 x; st.param.b64 [x], d0; call put, (x); }"), "other:w",
	 "generic:w global:w param:rw", "", 64 + 8 + 40},
	{"recursion", KERNEL("{ .param .b64 x; st.param.b64 [x], d0; call again, (x); }"), "", "param:rw",
	 "recursive", -1},
	{"unknown function", KERNEL("{ .param .b64 x; st.param.b64 [x], d0; call mystery, (x); }"), "",
	 "param:rw", "unknown writes_unknown", -1},
	{"runtime functions",
	 KERNEL("{ .param .b64 x; .param .b64 y; .param .b32 z; mov.u64 d1, tab; st.param.b64 [x], d1; "
		"st.param.b64 [y], d0; "
		"call (z), vprintf, (x, y); }"),
	 "tab:&", "param:rw", "printf", 64 + 20},
	{"cooperation",
	 KERNEL("bar.sync 0; vote.sync.any.pred p1, p1, -1; membar.gl; mov.u32 r1, %envreg1; mov.u32 r2, "
		"%clock; trap; "
		"mov.u32 r3, sh; cp.async.ca.shared.global [r3], [d0], 16; mbarrier.init.shared.b64 [gsh], "
		"1; "
		"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r4}, [r3];"),
	 "gsh:rwa sh:rw", "global:r shared:rwa param:r",
	 "barriers warp matrix async mbarrier fence grid clock trap", 64},
};

static size_t put_kinds(char *out, size_t n, size_t at, const char *name, uint8_t kinds)
{
	return at + (size_t)snprintf(out + at, n - at, "%s%s:%s%s%s%s", at ? " " : "", name,
				     kinds & PTX_TOUCH_READ ? "r" : "", kinds & PTX_TOUCH_WRITE ? "w" : "",
				     kinds & PTX_TOUCH_ATOMIC ? "a" : "",
				     kinds & PTX_TOUCH_ADDRESS ? "&" : "");
}

static void list_features(const struct ptx_touch *t, char *out, size_t n)
{
	const struct {
		bool on;
		const char *name;
	} all[] = {{t->calls_unknown, "unknown"}, {t->calls_indirect, "indirect"},
		   {t->recursive, "recursive"},   {t->writes_unknown, "writes_unknown"},
		   {t->uses_malloc, "malloc"},    {t->uses_printf, "printf"},
		   {t->barriers, "barriers"},     {t->warp_ops, "warp"},
		   {t->matrix_ops, "matrix"},     {t->async_copies, "async"},
		   {t->mbarriers, "mbarrier"},    {t->clusters, "cluster"},
		   {t->fences, "fence"},          {t->grid_sync, "grid"},
		   {t->textures, "tex"},          {t->surfaces, "surf"},
		   {t->clocks, "clock"},          {t->traps, "trap"}};
	size_t at = 0;
	out[0] = 0;
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		if (all[k].on)
			at += (size_t)snprintf(out + at, n - at, "%s%s", at ? " " : "", all[k].name);
}

static void kernels_touch(void **state)
{
	static const struct {
		uint8_t space;
		const char *name;
	} spaces[] = {{PTX_SPACE_GENERIC, "generic"}, {PTX_SPACE_CONST, "const"},
		      {PTX_SPACE_GLOBAL, "global"},   {PTX_SPACE_LOCAL, "local"},
		      {PTX_SPACE_SHARED, "shared"},   {PTX_SPACE_PARAM, "param"}};
	(void)state;
	unsigned failures = 0;
	for (size_t k = 0; k < sizeof(touches) / sizeof(touches[0]); k++) {
		struct ptx_module *m = parse_text(touches[k].text);
		struct ptx_func *f = build(m, "k");
		struct ptx_touch t;
		char symbols[200] = "", space[200] = "", features[200];
		size_t at = 0, at2 = 0;
		assert_int_equal(ptx_touch_find(m, f, &t), 0);
		for (uint32_t n = 0; n < t.nsymbols; n++)
			at = put_kinds(symbols, sizeof(symbols), at, m->symbols[t.symbols[n].symbol]->name,
				       t.symbols[n].kinds);
		for (size_t n = 0; n < sizeof(spaces) / sizeof(spaces[0]); n++)
			if (t.space[spaces[n].space])
				at2 = put_kinds(space, sizeof(space), at2, spaces[n].name,
						t.space[spaces[n].space]);
		list_features(&t, features, sizeof(features));
		if (strcmp(symbols, touches[k].symbols) || strcmp(space, touches[k].spaces) ||
		    strcmp(features, touches[k].features) ||
		    (int64_t)t.local_bytes != touches[k].local_bytes) {
			print_error("%s: got \"%s\" \"%s\" \"%s\" %lld\n", touches[k].what, symbols, space,
				    features, (long long)t.local_bytes);
			failures++;
		}
		ptx_touch_free(&t);
		ptx_module_free(m);
	}
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_uniform), cmocka_unit_test(parameters_of_functions_vary),
		cmocka_unit_test(barriers_are_found), cmocka_unit_test(products_and_sums),
		cmocka_unit_test(kernels_touch)};
	return cmocka_run_group_tests_name("ptx analysis", tests, NULL, NULL);
}
