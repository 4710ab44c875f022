/* SPDX-License-Identifier: Apache-2.0
 *
 * The checked mode: kernels with a planted defect, of which each finding must name the right line and thread, and
 * correct neighbours of which nothing must be said. The line of a marked instruction: "//1", "//2" behind it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/driver.h"

#define HEAD                                                                                                 \
	".version 8.3\n.target sm_90\n.address_size 64\n.global .align 4 .u32 flag;\n.global .align 4 .u32 " \
	"data;\n.visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .pred p<6>; .reg .b32 r<24>; "    \
	".reg "                                                                                              \
	".b64 d<12>; .reg .b16 h<4>;\n.shared .align 16 .b8 sh[4096];\n.local .align 8 .b8 depot[64];\n"     \
	"ld.param.u64 d0, [in]; ld.param.u64 d1, [out]; mov.u32 r0, %tid.x; mov.u32 r1, %ctaid.x; mov.u32 "  \
	"r2, "                                                                                               \
	"sh; shl.b32 r3, r0, 2; add.u32 r4, r2, r3; mul.wide.u32 d2, r0, 4; add.u64 d3, d1, d2; add.u64 "    \
	"d4, "                                                                                               \
	"d0, d2; shr.u32 r5, r0, 5; setp.eq.u32 p0, r5, 0; setp.eq.u32 p1, r1, 0; setp.eq.u32 p2, r0, 0;\n"
#define TAIL "\nret;\n}\n"

struct planted {
	const char *what, *body;
	uint32_t blocks, threads;
	const char *finding; /* parts that one line must have, separated by '|'; NULL: nothing is said */
	unsigned lines;      /* findings */
	bool input_written;
};

/* in: 4096 bytes, written or not; out: 4096 bytes, never written */
static const struct planted uninit[] = {
	{"global, never written", "ld.global.u32 r6, [d4]; //1\nst.global.u32 [d3], r6;", 1, 32,
	 "uninitialised: load of 4 bytes that were never written, at global address|0 bytes into the nearest "
	 "allocation|"
	 "of 4096 bytes|kernel k|ld.global.u32 r6|line 1|thread (0,0,0)",
	 1, false},
	{"global, written by the host", "ld.global.u32 r6, [d4];\nst.global.u32 [d3], r6;", 1, 32, NULL, 0,
	 true},
	{"global, written by the kernel",
	 "st.global.u32 [d3], r0; ld.global.u32 r6, [d3]; red.global.add.u32 [d3], 1;", 1, 64, NULL, 0,
	 false},
	{"one byte is missing",
	 "st.global.u8 [d1], 1; st.global.u16 [d1+2], 1; ld.global.u32 r6, [d1]; //1\n", 1, 1,
	 "uninitialised: load of 4 bytes|line 1", 1, false},
	{"bytes by bytes",
	 "st.global.u8 [d1], 1; st.global.u16 [d1+2], 1; st.global.u8 [d1+1], 3; ld.global.u32 r6, [d1]; "
	 "ld.u8 h1, [d1+3];",
	 1, 1, NULL, 0, false},
	{"vector",
	 "st.global.v2.u32 [d1], {r0, r0}; ld.global.v2.u32 {r6, r7}, [d1];\nld.global.v4.u32 {r6,r7,r8,r9}, "
	 "[d1]; //1\n",
	 1, 1, "load of 16 bytes|line 1", 1, false},
	{"atomic", "atom.global.add.u32 r6, [d1], 1; //1\n", 1, 1,
	 "uninitialised: atomic operation on of 4 bytes|line 1", 1, false},
	{"shared", "ld.shared.u32 r6, [r4]; //1\n", 1, 64,
	 "uninitialised: load|shared address 0x0|line 1|thread (0,0,0)", 1, false},
	{"shared, written",
	 "st.shared.u32 [r4], r0; bar.sync 0; xor.b32 r6, r3, 60; add.u32 r6, r6, r2; ld.shared.u32 r7, "
	 "[r6];",
	 2, 64, NULL, 0, false},
	{"shared, a new block", "@!p1 bra E; st.shared.u32 [r4], 5; E:\nld.shared.u32 r6, [r4]; //1\n", 2, 32,
	 "uninitialised: load|line 1|block (1,0,0)", 1, false},
	{"local", "ld.local.u32 r6, [depot+8]; //1\n", 1, 32,
	 "uninitialised: load|local address|line 1|thread (0,0,0)", 1, false},
	{"local, of some lanes",
	 "setp.ne.u32 p3, r0, 7; @p3 st.local.u32 [depot+8], r0; ld.local.u32 r6, [depot+8]; //1\n", 1, 32,
	 "uninitialised|line 1|thread (7,0,0)", 1, false},
	{"local by a generic address",
	 "mov.u64 d5, depot; cvta.local.u64 d6, d5; st.u32 [d6+4], 7; ld.local.u32 r6, [depot+4];", 1, 32,
	 NULL, 0, false},
	{"guarded off", "setp.gt.u32 p3, r0, 99; @p3 ld.global.u32 r6, [d1];", 1, 32, NULL, 0, false},
	{"module variables are zero", "ld.global.u32 r6, [flag]; ld.global.u32 r7, [data];", 1, 32, NULL, 0,
	 false},
	{"asynchronous copy", "cp.async.ca.shared.global [r2], [d1], 16; //1\ncp.async.wait_all;", 1, 1,
	 "uninitialised: copy of 16 bytes|line 1", 1, false},
	{"asynchronous copy of nothing",
	 "mov.u32 r6, 0; cp.async.ca.shared.global [r2], [d1], 16, r6; cp.async.wait_all; "
	 "ld.shared.v4.u32 {r7,r8,r9,r10}, [r2];",
	 1, 1, NULL, 0, false},
};

static const struct planted matrices[] = {
	{"wmma.load of unwritten memory",
	 "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {r6,r7,r8,r9,r10,r11,r12,r13}, [r2]; //1\n", 1,
	 32, "uninitialised: load of 32 bytes|shared address 0x0|line 1", 1, false},
	{"wmma.store writes, with a stride",
	 "mov.u32 r15, 24; wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [r2], {r0,r0,r0,r0}, r15; "
	 "ld.shared.v4.u32 {r6,r7,r8,r9}, [r2+48]; ld.shared.v4.u32 {r6,r7,r8,r9}, [r2+16]; ld.shared.u32 "
	 "r6, [r2+32]; //1\n",
	 1, 32, "uninitialised: load of 4 bytes|shared address 0x20|line 1", 1, false},
	{"wmma.store by columns",
	 "wmma.store.d.sync.aligned.col.m32n8k16.shared.f32 [r2], {r0,r0,r0,r0,r0,r0,r0,r0}; "
	 "ld.shared.v4.u32 {r6,r7,r8,r9}, [r2]; ld.shared.v4.u32 {r6,r7,r8,r9}, [r2+1008]; "
	 "ld.shared.u32 r6, [r2+1024]; //1\n",
	 1, 32, "uninitialised: load of 4 bytes|shared address 0x400|line 1", 1, false},
	{"ldmatrix of unwritten rows",
	 "shl.b32 r6, r0, 4; add.u32 r6, r6, r2; setp.lt.u32 p3, r0, 15; @p3 st.shared.v4.u32 [r6], "
	 "{r0,r0,r0,r0}; "
	 "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r7,r8}, [r6]; //1\n",
	 1, 32, "uninitialised: load of 16 bytes|shared address 0xf0|line 1|thread (15,0,0)", 1, false},
	{"ldmatrix of written rows",
	 "shl.b32 r6, r0, 4; add.u32 r6, r6, r2; setp.lt.u32 p3, r0, 16; @p3 st.shared.v4.u32 [r6], "
	 "{r0,r0,r0,r0}; "
	 "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r7,r8}, [r6];",
	 1, 32, NULL, 0, false},
	{"mbarrier hands over",
	 "setp.eq.u32 p3, r0, 0; @p3 mbarrier.init.shared.b64 [sh+1024], 32; bar.sync 0; @!p0 bra C; "
	 "st.shared.u32 [r4], r0; "
	 "mbarrier.arrive.shared.b64 _, [sh+1024]; bra.uni E; C: mbarrier.test_wait.parity.shared.b64 p4, "
	 "[sh+1024], 0; @!p4 bra C; "
	 "xor.b32 r6, r3, 128; add.u32 r6, r6, r2; ld.shared.u32 r7, [r6]; E:",
	 1, 64, NULL, 0, false},
	{"nobody waits at the mbarrier",
	 "setp.eq.u32 p3, r0, 0; @p3 mbarrier.init.shared.b64 [sh+1024], 32; bar.sync 0; @!p0 bra C; add.u32 "
	 "r8, r0, 1; "
	 "st.shared.u32 [r4], r8; //1\nmbarrier.arrive.shared.b64 _, [sh+1024]; bra.uni E; C: xor.b32 r6, "
	 "r3, 128; add.u32 r6, r6, "
	 "r2; ld.shared.u32 r7, [r6]; //2\nE:",
	 1, 64, "race: |line 1|line 2", 2, false},
};

#define FENCED_FLAG(store, load)                                                                           \
	"@!p2 bra E; @!p1 bra WAIT; st.global.u32 [data], 42; membar.gl; " store " bra.uni E; WAIT: " load \
	" setp.eq.u32 p3, r6, 0; @p3 bra WAIT; membar.gl; ld.global.u32 r7, [data]; st.global.u32 [d1], "  \
	"r7; E:"

static const struct planted races[] = {
	{"shared without a barrier",
	 "st.shared.u32 [r4], r0; //1\nxor.b32 r6, r3, 128; add.u32 r6, r6, r2; ld.shared.u32 r7, [r6]; "
	 "//2\n",
	 1, 64, "race: |of 4 bytes at shared address|by block (0,0,0), thread|line 1|line 2", 1, true},
	{"both barriers",
	 "mov.u32 r10, 0; L: add.u32 r11, r10, r0; st.shared.u32 [r4], r11; bar.sync 0; xor.b32 r6, r3, 128; "
	 "add.u32 "
	 "r6, r6, r2; ld.shared.u32 r7, [r6]; bar.sync 0; add.u32 r10, r10, 1; setp.lt.u32 p3, r10, 3; @p3 "
	 "bra L;",
	 1, 64, NULL, 0, true},
	{"two writers", "add.u32 r6, r0, 5; st.shared.u32 [r2], r5; //1\n", 1, 64,
	 "race: store of 4 bytes at shared address 0x0, and store by block (0,0,0), thread|line 1", 1, true},
	{"the same value", "mov.u32 r6, 5; st.shared.u32 [r2], r6; st.global.u32 [d1], r6;", 4, 64, NULL, 0,
	 true},
	{"lanes of one store", "st.shared.u32 [r2], r0; //1\n", 1, 32,
	 "race: store of 4 bytes at shared address 0x0, where thread (0,0,0) stores another value in the "
	 "same instruction|line "
	 "1|thread (1,0,0)",
	 1, true},
	{"neighbouring bytes",
	 "add.u32 r6, r2, r0; cvt.u16.u32 h1, r0; st.shared.u8 [r6], h1; add.u64 d6, d1, 0; cvt.u64.u32 d7, "
	 "r0; "
	 "add.u64 d6, d6, d7; st.global.u8 [d6], h1;",
	 1, 128, NULL, 0, true},
	{"bytes of one word by two warps",
	 "shr.u32 r6, r0, 5; add.u32 r6, r6, r2; cvt.u16.u32 h1, r5; setp.eq.u32 p3, r3, 0; "
	 "and.b32 r7, r0, 31; setp.eq.u32 p4, r7, 0; @p4 st.shared.u8 [r6], h1;",
	 1, 128, NULL, 0, true},
	{"blocks write one word", "st.global.u32 [d1], r1; //1\n", 2, 1,
	 "race: store of 4 bytes at global address|0 bytes into the nearest allocation|store by block "
	 "(0,0,0), thread (0,0,0)|line "
	 "1|block (1,0,0)",
	 1, true},
	{"blocks write their own",
	 "mad.lo.u32 r6, r1, 64, r0; mul.wide.u32 d6, r6, 4; add.u64 d6, d6, d1; st.global.u32 [d6], r6;", 4,
	 64, NULL, 0, true},
	{"read by another block",
	 "@!p2 bra E; @!p1 bra B; st.global.u32 [data], 42; //1\nbra.uni E; B: ld.global.u32 r6, [data]; "
	 "//2\nst.global.u32 [d1], r6; E:",
	 2, 1, "race: load|store by block (0,0,0), thread (0,0,0)|line 1|line 2|block (1,0,0)", 1, true},
	{"atomics don't race", "atom.global.add.u32 r6, [data], 1; atom.shared.add.u32 r7, [sh], 1;", 4, 64,
	 NULL, 0, true},
	{"a plain load of what others add to",
	 "@p1 ld.global.u32 r6, [data]; //1\n@!p1 red.global.add.u32 [data], 1; //2\n", 2, 32,
	 "race: strong store or atomic operation|load by block (0,0,0)|line 1|line 2", 1, true},
	{"flag, fences, volatile",
	 FENCED_FLAG("st.volatile.global.u32 [flag], 1;", "ld.volatile.global.u32 r6, [flag];"), 2, 32, NULL,
	 0, true},
	{"flag, fences, atomics",
	 FENCED_FLAG("atom.global.exch.b32 r8, [flag], 1;", "atom.global.or.b32 r6, [flag], 0;"), 2, 32, NULL,
	 0, true},
	{"release and acquire",
	 "@!p2 bra E; @!p1 bra WAIT; st.global.u32 [data], 42; st.release.gpu.global.u32 [flag], 1; bra.uni "
	 "E; WAIT: "
	 "ld.acquire.gpu.global.u32 r6, [flag]; setp.eq.u32 p3, r6, 0; @p3 bra WAIT; ld.global.u32 r7, "
	 "[data]; E:",
	 2, 32, NULL, 0, true},
	{"flag without a fence",
	 "@!p2 bra E; @!p1 bra WAIT; st.global.u32 [data], 42; //1\nst.relaxed.gpu.global.u32 [flag], 1; "
	 "bra.uni E; WAIT: "
	 "ld.relaxed.gpu.global.u32 r6, [flag]; setp.eq.u32 p3, r6, 0; @p3 bra WAIT; ld.global.u32 r7, "
	 "[data]; //2\nE:",
	 2, 32, "race: load|store by block (0,0,0)|line 1|line 2", 1, true},
	{"data behind the fence",
	 "@!p2 bra E; @!p1 bra WAIT; membar.gl; st.global.u32 [data], 42; //1\nst.volatile.global.u32 "
	 "[flag], 1; bra.uni E; WAIT: "
	 "ld.volatile.global.u32 r6, [flag]; setp.eq.u32 p3, r6, 0; @p3 bra WAIT; membar.gl; ld.global.u32 "
	 "r7, [data]; //2\nE:",
	 2, 32, "race: load|line 1|line 2", 1, true},
	{"the last block sums up",
	 "mul.wide.u32 d6, r1, 4; add.u64 d6, d6, d1; @p2 st.global.u32 [d6], r1; membar.gl; bar.sync 0; "
	 "mov.u32 r8, 0; @!p2 bra "
	 "A; atom.global.add.u32 r8, [flag], 1; st.shared.u32 [sh], r8; A: bar.sync 0; ld.shared.u32 r8, "
	 "[sh]; setp.ne.u32 p3, r8, "
	 "3; @p3 bra E; setp.gt.u32 p4, r0, 3; @p4 bra E; ld.global.u32 r9, [d3]; E:",
	 4, 64, NULL, 0, true},
	{"named barrier for two of three warps",
	 "setp.eq.u32 p3, r5, 2; @p3 bra THIRD; st.shared.u32 [r4], r3; //1\nbar.sync 1, 64; xor.b32 r6, r3, "
	 "128; add.u32 r6, r6, r2; "
	 "ld.shared.u32 r7, [r6]; bra.uni E; THIRD: ld.shared.u32 r7, [sh+4]; //2\nE:",
	 1, 96, "race: |line 1|line 2", 1, true},
	{"producer arrives, consumer waits",
	 "@!p0 bra CONSUMER; st.shared.u32 [r4], r0; bar.arrive 2, 64; bra.uni E; CONSUMER: bar.sync 2, 64; "
	 "xor.b32 r6, r3, 128; "
	 "add.u32 r6, r6, r2; ld.shared.u32 r7, [r6]; E:",
	 1, 64, NULL, 0, true},
	{"the producer goes on writing",
	 "@!p0 bra CONSUMER; st.shared.u32 [r4], 1; bar.arrive 2, 64; st.shared.u32 [r4], r0; //1\nbra.uni "
	 "E; CONSUMER: bar.sync 2, 64; "
	 "xor.b32 r6, r3, 128; add.u32 r6, r6, r2; ld.shared.u32 r7, [r6]; //2\nE:",
	 1, 64, "race: load|line 1|line 2", 1, true},
	{"reduction in a barrier",
	 "st.shared.u32 [r4], r0; barrier.red.popc.u32 r6, 0, p0; xor.b32 r6, r3, 128; add.u32 r6, r6, r2; "
	 "ld.shared.u32 r7, [r6];",
	 1, 64, NULL, 0, true},
};

/* The ISA's sections on shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, bar.warp.sync: undefined if the executing
 * thread is not in the membermask. */
static const struct planted members[] = {
	{"everybody",
	 "shfl.sync.bfly.b32 r6, r0, 1, 31, -1; vote.sync.ballot.b32 r7, p0, -1; bar.warp.sync -1;", 1, 64,
	 NULL, 0, true},
	{"halves that name themselves",
	 "setp.lt.u32 p3, r0, 16; selp.b32 r6, 0xffff, 0xffff0000, p3; vote.sync.any.pred p4, p3, r6; "
	 "bar.warp.sync r6;",
	 1, 32, NULL, 0, true},
	{"a guard that its mask knows of", "setp.lt.u32 p3, r0, 4; @p3 bar.warp.sync 15;", 1, 32, NULL, 0,
	 true},
	{"a lane that isn't named", "shfl.sync.idx.b32 r6, r0, 0, 31, 0x7fffffff; //1\n", 1, 32,
	 "member mask: lane 31 is not in the mask 0x7fffffff of this operation|line 1|thread (31,0,0)", 1,
	 true},
	{"nobody is named", "vote.sync.ballot.b32 r6, p0, 0; //1\n", 1, 32,
	 "member mask: lane 0 is not in the mask 0x0|line 1", 1, true},
	{"of several operations",
	 "redux.sync.add.u32 r6, r0, 0xfffffffe; //1\nbar.warp.sync 0xfffffffe; //2\nelect.sync r7|p4, "
	 "0xfffffffe; //3\n",
	 1, 32, "member mask: lane 0 is not|line 3", 3, true},
};

static const struct planted barriers[] = {
	{"all together", "bar.sync 0; bar.red.popc.u32 r6, 0, p0; barrier.sync 1;", 1, 96, NULL, 0, true},
	{"two ways through a warp",
	 "setp.lt.u32 p3, r0, 16; @p3 bra A; bar.sync 0; //1\nbra.uni E; A: bar.sync 0; //2\nE:", 1, 32,
	 "divergent barrier: 16 threads of warp 0 pass barrier 0 here, 16 at|line 1|line 2", 1, true},
	{"half of a warp goes round it",
	 "setp.lt.u32 p3, r0, 16; @!p3 bra E; bar.sync 0; //1\nE: add.u32 r6, r0, 1; bar.sync 0; //2\n", 1,
	 64, "divergent barrier: 16 threads of warp 0|line 1|line 2", 1, true},
	{"warps by different instructions", "@p0 bra A; bar.sync 0; bra.uni E; A: bar.sync 0; E:", 1, 64,
	 NULL, 0, true},
	{"threads that exited", "setp.lt.u32 p3, r0, 40; @!p3 bra E; bar.sync 0; bar.sync 0; E:", 1, 64, NULL,
	 0, true},
	{"not aligned", "setp.lt.u32 p3, r0, 16; @p3 bra A; barrier.sync 0; bra.uni E; A: barrier.sync 0; E:",
	 1, 32, NULL, 0, true},
	{"a uniform loop",
	 "mov.u32 r6, 0; L: bar.sync 0; add.u32 r6, r6, 1; setp.lt.u32 p3, r6, 4; @p3 bra L;", 2, 64, NULL, 0,
	 true},
	{"joined again",
	 "setp.lt.u32 p3, r0, 16; @p3 add.u32 r6, r0, 1; @p3 bra A; add.u32 r7, r0, 2; A: bar.sync 0;", 1, 32,
	 NULL, 0, true},
};

/* "line N" in a part means the line of the instruction marked //N: "test.ptx:LINE ". */
static bool has_part(const char *text, const char *finding, const char *part, size_t n)
{
	char want[200], mark[8];

	if (n < 6 || strncmp(part, "line ", 5)) {
		snprintf(want, sizeof(want), "%.*s", (int)n, part);
		return strstr(finding, want) != NULL;
	}
	snprintf(mark, sizeof(mark), "//%c", part[5]);
	const char *at = strstr(text, mark);
	unsigned line = 1;

	assert_non_null(at);
	for (const char *p = text; p < at; p++)
		line += *p == '\n';
	snprintf(want, sizeof(want), "test.ptx:%u ", line);
	return strstr(finding, want) != NULL;
}

static bool has_all(const char *text, const char *line, const char *parts)
{
	for (const char *p = parts; *p; p += strcspn(p, "|") + (p[strcspn(p, "|")] == '|'))
		if (!has_part(text, line, p, strcspn(p, "|")))
			return false;
	return true;
}

static unsigned count_findings(const char *reported)
{
	unsigned n = 0;

	for (const char *p = reported; (p = strstr(p, "check: ")); p += 7)
		n += strncmp(p, "check: kernel", 13) != 0;
	return n;
}

static bool found(const char *text, char *reported, const char *parts)
{
	char *copy = strdup(reported), *save = NULL;
	bool any = false;

	for (char *p = strtok_r(copy, "\n", &save); p && !any; p = strtok_r(NULL, "\n", &save))
		any = has_all(text, p, parts);
	free(copy);
	return any;
}

static unsigned run_one(const struct planted *row, const char *options)
{
	char text[6000];
	uint8_t *zeros = calloc(1, 4096);
	struct test_device t;
	struct test_module m;

	snprintf(text, sizeof(text), "%s%s%s", HEAD, row->body, TAIL);
	test_open(&t, options);
	test_load(&m, &t, text, "test.ptx");
	uint64_t params[2] = {test_alloc(&t, 4096, row->input_written ? zeros : NULL),
			      test_alloc(&t, 4096, row->input_written ? zeros : NULL)};

	test_run_ok(&m, "k", LAUNCH1(row->blocks, row->threads), params, 2);
	bool ok = count_findings(t.reported) == row->lines &&
		  (!row->finding || found(text, t.reported, row->finding));

	if (!ok)
		print_error("%s (%s): %s\n", row->what, options, t.reported);
	test_unload(&m);
	test_close(&t);
	free(zeros);
	return !ok;
}

static unsigned run_table(const struct planted *rows, size_t n, const char *options)
{
	unsigned failures = 0;

	for (size_t k = 0; k < n; k++)
		failures += run_one(&rows[k], options);
	return failures;
}
#define RUN(table, options) assert_int_equal(run_table(table, sizeof(table) / sizeof((table)[0]), options), 0)

static void uninitialised_memory(void **state)
{
	(void)state;
	RUN(uninit, "check=uninit,watchdog_ms=20000");
	RUN(uninit, "check=uninit,watchdog_ms=20000,deterministic=1");
}

static void matrices_and_mbarriers(void **state)
{
	(void)state;
	RUN(matrices, "check=all,watchdog_ms=20000,deterministic=1");
}

static void conflicting_accesses(void **state)
{
	(void)state;
	RUN(races, "check=races,watchdog_ms=20000,deterministic=1");
}

static void barriers_in_divergent_code(void **state)
{
	(void)state;
	RUN(barriers, "check=barriers,watchdog_ms=20000");
	RUN(barriers, "check=all,watchdog_ms=20000");
	RUN(members, "check=barriers,watchdog_ms=20000");
	RUN(members, "check=all,watchdog_ms=20000");
}

/* What is right under one check is right under all of them, and with blocks on several threads. */
static void nothing_is_said_of_correct_kernels(void **state)
{
	const struct {
		const struct planted *rows;
		size_t n;
	} tables[] = {{races, sizeof(races) / sizeof(races[0])},
		      {barriers, sizeof(barriers) / sizeof(barriers[0])}};
	unsigned failures = 0;

	(void)state;
	for (unsigned t = 0; t < 2; t++)
		for (size_t k = 0; k < tables[t].n; k++)
			if (!tables[t].rows[k].finding) {
				failures += run_one(&tables[t].rows[k],
						    "check=races+barriers,workers=4,watchdog_ms=20000");
				failures += run_one(&tables[t].rows[k], "check=none,watchdog_ms=20000");
			}
	assert_int_equal(failures, 0);
}

/* Copies between device memories carry the state of each byte along; fills write. */
static void copies_and_fills(void **state)
{
	static const char text[] = HEAD "ld.global.u8 h1, [d4];\n" TAIL;
	struct test_device t;
	struct test_module m;
	struct diag d = DIAG_INIT;
	uint64_t word = 1;

	(void)state;
	test_open(&t, "check=uninit,deterministic=1");
	test_load(&m, &t, text, "test.ptx");
	uint64_t a = test_alloc(&t, 64, NULL), b = test_alloc(&t, 64, NULL);
	uint64_t params[2] = {a + 8, b};

	test_write(&t, a + 8, &word, 8);
	test_run_ok(&m, "k", LAUNCH1(1, 1), params, 2);
	assert_string_equal(t.reported, "");
	assert_int_equal(device_interp.copy(t.dev, b, a, 64, &d), 0);
	params[0] = b + 15; /* a lane's step is 4 bytes */
	test_run_ok(&m, "k", LAUNCH1(1, 1), params, 2);
	assert_string_equal(t.reported, "");
	params[0] = b + 16;
	test_run_ok(&m, "k", LAUNCH1(1, 1), params, 2);
	assert_int_equal(count_findings(t.reported), 1);
	assert_int_equal(device_interp.fill(t.dev, b, 0, 1, 64, &d), 0);
	test_run_ok(&m, "k", LAUNCH1(1, 8), params, 2);
	assert_int_equal(count_findings(t.reported), 1);
	test_unload(&m);
	test_close(&t);
}

static void freed_memory_is_unwritten_again(void **state)
{
	static const char text[] = HEAD "ld.global.u32 r6, [d4];\n" TAIL;
	struct test_device t;
	struct test_module m;
	uint8_t bytes[4096] = {1};

	(void)state;
	test_open(&t, "check=uninit,deterministic=1");
	test_load(&m, &t, text, "test.ptx");
	for (int round = 0; round < 3; round++) {
		uint64_t a = test_alloc(&t, 4096, round == 2 ? NULL : bytes);
		uint64_t params[2] = {a, a};

		test_run_ok(&m, "k", LAUNCH1(1, 32), params, 2);
		assert_int_equal(count_findings(t.reported), round == 2);
		test_release(&t, a);
	}
	test_unload(&m);
	test_close(&t);
}

/* Device-side malloc, the stack of a called function, parameters in memory. */
static void calls_and_heap(void **state)
{
	static const char text[] =
		".version 8.3\n.target sm_90\n.address_size 64\n.extern .func (.param .b64 r) malloc(.param "
		".b64 n);\n"
		".func (.param .b32 r) leaf(.param .align 8 .b8 a[16]) { .reg .b32 r<4>; .reg .b64 d<3>; "
		".local .align 8 .b8 l[16];\n"
		"ld.param.u32 r1, [a+4]; st.local.u32 [l], r1; ld.local.u32 r2, [l]; st.param.b32 [r], r2;\n"
		"ld.local.u32 r3, [l+8]; ret; }\n"
		".visible .entry k() { .reg .b32 r<4>; .reg .b64 d<4>; .local .align 8 .b8 l[64];\n"
		"st.local.u32 [l], 1; { .param .align 8 .b8 a[16]; .param .b32 q; st.param.u32 [a+4], 5; "
		"call (q), leaf, (a); "
		"ld.param.b32 r1, [q]; }\n"
		"{ .param .b64 n; .param .b64 q; st.param.b64 [n], 64; call (q), malloc, (n); ld.param.b64 "
		"d1, [q]; }\n"
		"st.u32 [d1], 1; ld.u32 r2, [d1]; ld.local.u32 r3, [l];\nld.u32 r2, [d1+4];\nret; }\n";
	struct test_device t;
	struct test_module m;

	(void)state;
	test_open(&t, "check=all,deterministic=1");
	test_load(&m, &t, text, "test.ptx");
	test_run_ok(&m, "k", LAUNCH1(1, 1), NULL, 0);
	assert_int_equal(count_findings(t.reported), 2);
	assert_non_null(strstr(t.reported, "test.ptx:7 "));
	assert_non_null(strstr(t.reported, "test.ptx:12 "));
	test_unload(&m);
	test_close(&t);
}

static void the_first_finding_is_an_error(void **state)
{
	static const char text[] = HEAD "ld.global.u32 r6, [d4];\n" TAIL;
	struct test_device t;
	struct test_module m;
	struct dev_fault fault = {0};

	(void)state;
	test_open(&t, "check=uninit,check_error=1,deterministic=1");
	test_load(&m, &t, text, "test.ptx");
	uint64_t a = test_alloc(&t, 4096, NULL), params[2] = {a, a};

	for (int round = 0; round < 2; round++) {
		assert_int_not_equal(test_run(&m, "k", LAUNCH1(1, 32), params, 2, &fault), 0);
		assert_int_equal(fault.kind, DEV_FAULT_CHECK);
		assert_non_null(strstr(fault.message, "never written"));
	}
	assert_int_equal(count_findings(t.reported), 1); /* said once, counted always */
	assert_non_null(strstr(t.reported, "kernel k: 32 findings in all, at 1 place"));
	test_unload(&m);
	test_close(&t);
}

/* Twenty defects in one kernel: sixteen are shown, all are counted. */
static void findings_are_limited(void **state)
{
	char text[4000];
	size_t at = (size_t)snprintf(text, sizeof(text), "%s", HEAD);
	struct test_device t;
	struct test_module m;

	(void)state;
	for (int k = 0; k < 20; k++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "ld.global.u32 r6, [d4+%d];\n", 4 * k);
	snprintf(text + at, sizeof(text) - at, TAIL);
	test_open(&t, "check=uninit,deterministic=1");
	test_load(&m, &t, text, "test.ptx");
	uint64_t a = test_alloc(&t, 4096, NULL), params[2] = {a, a};

	test_run_ok(&m, "k", LAUNCH1(1, 32), params, 2);
	assert_int_equal(count_findings(t.reported), 16);
	assert_non_null(strstr(t.reported,
			       "kernel k: 640 findings in all, at 16 places and others that are not shown"));
	test_unload(&m);
	test_close(&t);
}

/* Without any option: the fault names line, thread, address and what is near. */
static void strays_are_always_found(void **state)
{
	static const char text[] =
		HEAD "setp.eq.u32 p3, r0, 3; @p3 add.u64 d4, d0, d1;\nld.global.u32 r6, [d4]; //1\n" TAIL;
	const struct {
		uint64_t displacement;
		enum dev_fault_kind kind;
		const char *says;
	} rows[] = {{2, DEV_FAULT_MISALIGNED, "misaligned load of 4 bytes"},
		    {4096, DEV_FAULT_ILLEGAL_ADDRESS, "0 bytes behind the end of the nearest allocation"},
		    {4094, DEV_FAULT_MISALIGNED, "misaligned load of 4 bytes"},
		    {0, DEV_FAULT_ILLEGAL_ADDRESS, "illegal load of 4 bytes"}}; /* 0: freed */
	struct test_device t;
	struct test_module m;

	(void)state;
	test_open(&t, "deterministic=1");
	test_load(&m, &t, text, "test.ptx");
	uint64_t a = test_alloc(&t, 4096, NULL);

	for (unsigned k = 0; k < 4; k++) {
		struct dev_fault f = {0};
		uint64_t params[2] = {a, rows[k].displacement};
		bool freed = rows[k].displacement == 0;

		if (freed)
			test_release(&t, a);
		assert_int_not_equal(test_run(&m, "k", LAUNCH1(1, 32), params, 2, &f), 0);
		assert_int_equal(f.kind, rows[k].kind);
		assert_int_equal(f.thread[0], freed ? 0 : 3);
		assert_int_equal(f.address, a + rows[k].displacement);
		assert_true(has_part(text, f.message, "line 1", 6));
		assert_non_null(strstr(f.message, rows[k].says));
	}
	test_unload(&m);
	test_close(&t);
}

static void options_are_understood(void **state)
{
	static const char *const wrong[] = {"check=everything", "check=races+", "check=uninit+x",
					    "check_error=yes"};
	static const char *const right[] = {"check=races+uninit", "check=all,check_error=1", "check=none",
					    "check=barriers"};
	struct dev_host host = {0};
	struct device *dev;
	struct diag d = DIAG_INIT;

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		if (k != 1) /* a joining + at the end joins nothing */
			assert_int_not_equal(device_interp.open(&dev, 0, wrong[k], &host, &d), 0);
		assert_int_equal(device_interp.open(&dev, 0, right[k], &host, &d), 0);
		assert_int_not_equal(device_interp.control(dev, "check", "all", &d), 0);
		device_interp.close(dev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uninitialised_memory),
		cmocka_unit_test(matrices_and_mbarriers),
		cmocka_unit_test(conflicting_accesses),
		cmocka_unit_test(barriers_in_divergent_code),
		cmocka_unit_test(nothing_is_said_of_correct_kernels),
		cmocka_unit_test(copies_and_fills),
		cmocka_unit_test(freed_memory_is_unwritten_again),
		cmocka_unit_test(calls_and_heap),
		cmocka_unit_test(the_first_finding_is_an_error),
		cmocka_unit_test(findings_are_limited),
		cmocka_unit_test(strays_are_always_found),
		cmocka_unit_test(options_are_understood),
	};

	return cmocka_run_group_tests_name("interp check", tests, NULL, NULL);
}
