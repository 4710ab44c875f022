/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes, warps and threads that wait for each other: each row is a kernel that is compiled for the target and run on the
 * emulator; what each thread stores, and what the memory that all share holds then, is compared with what the PTX ISA's
 * text says. Argument: a target.
 */
#define _GNU_SOURCE /* asprintf */
#include "tests/ptx/fixture.h"

#include "load.h"
#include "ptx/lower/runtime.h"
#include "zluda_core/compiler/compiler.h"

enum { MOST_THREADS = 512, SHARED_WORDS = 64 };

static const char *target_name;

struct row {
	const char *name;
	const char *outside, *body;       /* directives of the module; statements of the kernel */
	unsigned block, blocks;           /* threads of a block; blocks, 0 = 1 */
	uint32_t (*expected)(unsigned t); /* of the thread's word, t its number in the grid; NULL: any */
	uint32_t memory[4];               /* words of the common memory at its end */
	bool hangs;                       /* it must end by the limit of instructions */
	enum lower_fault_kind fault;      /* that a lane reports */
	bool functions;                   /* the one variable is a table of functions 0 and 1 of the module */
};

#define EXPECT(name, expr)               \
	static uint32_t name(unsigned t) \
	{                                \
		unsigned lane = t % 32;  \
		(void)lane;              \
		return (uint32_t)(expr); \
	}

EXPECT(own, t)
EXPECT(reversed_lane, 31 - lane)
EXPECT(half_sum, lane < 16 ? 120 : 376)
EXPECT(even_ballot, lane % 2 ? 0xaaaaaaaa : 0x55555555)
EXPECT(from_flag, 77)
EXPECT(block_sum_96, t < 96 ? 96 * 95 / 2 : 0)
EXPECT(popc_even_64, t < 64 ? 32 : 7)
EXPECT(reds, 64 | 1 << 8 | 0 << 9 | 1 << 10)
EXPECT(next_block_thread, (t + 32) % 64)
EXPECT(after_early_exit, t < 64 ? 63 - t : 0)
static uint32_t fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
EXPECT(fib, fibonacci(lane % 12))
EXPECT(sum_down, lane *(lane + 1) / 2)
EXPECT(by_pointer, lane % 2 ? t + 1000 : t * 3)
EXPECT(odd_only, t % 2 ? t : 0)
EXPECT(warp_max, lane < 20 ? 19 : 31)
EXPECT(same_parity, lane < 10 ? (lane % 2 ? 0x2aa : 0x155) : 5)
EXPECT(leader, lane >= 7 ? 7 : 100)
EXPECT(three, 3)
EXPECT(table_way, t % 4 == 3 ? 9 : t % 4 + 1)
EXPECT(thirty_two, 32)
EXPECT(ones, 1)
EXPECT(block_count, 4)
EXPECT(own_turns, 40 - lane + 10)
EXPECT(many_sum, 50 * t + (10 + 59) * 25)
EXPECT(two_entries, 48 * 1000 + (t % 2 ? 1 : 101) + lane % 4 * 101)

#define LANE   "mov.u32 l, %laneid; "
#define UNLOCK "membar.gl; atom.global.exch.b32 x, [m], 0; "
#define COUNT  "ld.volatile.global.u32 y, [m+4]; add.u32 y, y, 1; st.volatile.global.u32 [m+4], y; "

/* A statement for each of many registers. */
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define FIFTY(X)  TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5)
#define SET(n)    "add.u32 k" #n ", t, " #n "; "
#define ADD(n)    "add.u32 r, r, k" #n "; "

static const struct row rows[] = {
	{.name = "spin lock",
	 .body = "L1: atom.global.cas.b32 x, [m], 0, 1; setp.ne.u32 p, x, 0; @p bra L1; membar.gl; " COUNT
		 UNLOCK "mov.u32 r, 1;",
	 .block = 96,
	 .blocks = 2,
	 .expected = ones,
	 .memory = {0, 192}},
	{.name = "spin lock, taken and released in one turn",
	 .body = "mov.u32 z, 0; L1: atom.global.exch.b32 x, [m], 1; setp.ne.u32 p, x, 0; @p bra L2; "
		 "membar.gl; " COUNT UNLOCK "mov.u32 z, 1; L2: setp.eq.u32 p, z, 0; @p bra L1; mov.u32 r, 1;",
	 .block = 96,
	 .blocks = 2,
	 .expected = ones,
	 .memory = {0, 192}},
	{.name = "spin lock, with many registers",
	 .body = ".reg .b32 k<60>; " FIFTY(
		 SET) "L1: atom.global.cas.b32 x, [m], 0, 1; setp.ne.u32 p, x, 0; @p bra L1; "
		      "membar.gl; " COUNT UNLOCK FIFTY(ADD),
	 .block = 96,
	 .blocks = 2,
	 .expected = many_sum,
	 .memory = {0, 192}},
	{.name = "ticket lock",
	 .body = "atom.global.add.u32 z, [m], 1; L1: ld.volatile.global.u32 x, [m+8]; setp.ne.u32 p, x, z; "
		 "@p bra L1; membar.gl; " COUNT
		 "membar.gl; add.u32 x, x, 1; st.volatile.global.u32 [m+8], x; mov.u32 r, 1;",
	 .block = 64,
	 .blocks = 2,
	 .expected = ones,
	 .memory = {128, 128, 128}},
	{.name = "a lane waits for another of its warp",
	 .body = LANE "setp.eq.u32 p, l, 0; @p bra L1; setp.ne.u32 p, l, 31; @p bra L2; membar.gl; "
		      "st.volatile.global.u32 [m], 77; bra L2; L1: ld.volatile.global.u32 x, [m]; "
		      "setp.ne.u32 p, x, 77; @p bra L1; L2: bar.warp.sync -1; ld.volatile.global.u32 r, [m];",
	 .block = 32,
	 .expected = from_flag,
	 .memory = {77}},
	{.name = "a warp waits for another one",
	 .body = "setp.ge.u32 p, t, 32; @p bra L2; L1: ld.acquire.gpu.global.u32 x, [m]; setp.ne.u32 p, x, "
		 "32; @p bra L1; bra L3; L2: red.release.gpu.global.add.u32 [m], 1; L3: mov.u32 r, 32;",
	 .block = 64,
	 .expected = thirty_two,
	 .memory = {32}},
	{.name = "a lane waits with plain loads",
	 .body = LANE
	 "setp.eq.u32 p, l, 5; @p bra L2; L1: ld.global.u32 r, [m]; setp.eq.u32 p, r, 0; @p bra L1; bra L3; "
	 "L2: mov.u32 r, 77; st.global.u32 [m], r; L3:",
	 .block = 32,
	 .expected = from_flag,
	 .memory = {77}},
	{.name = "loops that each lane counts in its own memory",
	 .body = LANE ".local .u32 own; mov.u64 d, own; cvta.local.u64 d, d; st.volatile.local.u32 [own], l; "
		      "L1: ld.volatile.local.u32 x, [own]; add.u32 x, x, 1; st.volatile.local.u32 [own], x; "
		      "add.u32 r, r, 1; "
		      "ld.volatile.local.u32 x, [own]; setp.lt.u32 p, x, 40; @p bra L1; "
		      "L2: ld.volatile.u32 x, [d]; add.u32 x, x, 2; st.volatile.u32 [d], x; add.u32 r, r, 1; "
		      "ld.volatile.u32 x, [d]; setp.lt.u32 p, x, 60; @p bra L2;",
	 .block = 32,
	 .expected = own_turns},
	{.name = "lanes in turn, a .sync between",
	 .body = LANE "mov.u32 z, 0; L1: ld.volatile.global.u32 x, [m]; setp.ne.u32 p, x, l; @p bra L2; "
		      "add.u32 x, x, 1; st.volatile.global.u32 [m], x; mov.u32 z, 1; L2: setp.eq.u32 p, z, "
		      "0; @p bra L1; bar.warp.sync -1; shfl.sync.idx.b32 r, l, 3, 31, -1;",
	 .block = 32,
	 .expected = three,
	 .memory = {32}},
	{.name = "shfl.sync at two places",
	 .body = LANE "sub.u32 x, 31, l; setp.lt.u32 p, l, 16; @p bra L1; shfl.sync.idx.b32 r, l, x, 31, -1; "
		      "bra L2; L1: shfl.sync.idx.b32 r, l, x, 31, -1; L2:",
	 .block = 96,
	 .expected = reversed_lane},
	{.name = "members of half a warp",
	 .body = LANE "mov.u32 r, l; setp.lt.u32 p, l, 16; @p bra L1; mov.u32 y, 0xffff0000; bra L2; L1: "
		      "mov.u32 y, 0xffff; L2: mov.u32 z, 8; L3: @p bra L4; shfl.sync.bfly.b32 x, r, z, 31, "
		      "y; bra L5; L4: shfl.sync.bfly.b32 x, r, z, 31, y; L5: add.u32 r, r, x; shr.u32 z, z, "
		      "1; setp.ne.u32 q, z, 0; @q bra L3;",
	 .block = 64,
	 .expected = half_sum},
	{.name = "vote.sync in both branches",
	 .body = LANE
	 "and.b32 x, l, 1; setp.eq.u32 p, x, 0; setp.eq.u32 q, l, l; @p bra L1; vote.sync.ballot.b32 r, q, "
	 "0xaaaaaaaa; bra L2; L1: vote.sync.ballot.b32 r, q, 0x55555555; L2:",
	 .block = 64,
	 .expected = even_ballot},
	{.name = "lanes that ended are not waited for",
	 .body = LANE "setp.ge.u32 p, l, 20; @p bra L1; redux.sync.max.u32 r, l, -1; bra L2; L1: mov.u32 r, "
		      "31; st.global.u32 [o], r; exit; L2:",
	 .block = 64,
	 .expected = warp_max},
	{.name = "match.any.sync of some lanes",
	 .body = LANE "mov.u32 r, 5; setp.ge.u32 p, l, 10; @p bra L1; and.b32 x, l, 1; match.any.sync.b32 r, "
		      "x, 0x3ff; L1:",
	 .block = 64,
	 .expected = same_parity},
	{.name = "elect.sync",
	 .body = LANE "mov.u32 r, 100; setp.lt.u32 p, l, 7; @p bra L1; elect.sync r|q, 0xffffff80; L1:",
	 .block = 64,
	 .expected = leader},
	{.name = "bar.sync of 3 warps of 5",
	 .outside = ".shared .u32 s[160];",
	 .body = "mov.u32 r, 0; setp.ge.u32 p, t, 96; @p bra L9; shl.b32 x, t, 2; mov.u32 y, s; add.u32 x, "
		 "x, y; st.shared.u32 [x], t; bar.sync 1, 96; mov.u32 z, 0; L1: ld.shared.u32 x, [y]; "
		 "add.u32 r, r, x; add.u32 y, y, 4; add.u32 z, z, 1; setp.lt.u32 p, z, 96; @p bra L1; L9:",
	 .block = 160,
	 .expected = block_sum_96},
	{.name = "bar.red of 2 warps of 3",
	 .body = "mov.u32 r, 7; setp.ge.u32 p, t, 64; @p bra L9; and.b32 x, t, 1; setp.eq.u32 q, x, 0; "
		 "mov.u32 y, 2; bar.red.popc.u32 r, y, 64, q; L9:",
	 .block = 96,
	 .expected = popc_even_64},
	{.name = "bar.red of the block",
	 .body = "setp.lt.u32 p, t, 1000; bar.red.popc.u32 r, 0, p; bar.red.and.pred q, 0, p; selp.u32 x, "
		 "0x100, 0, q; or.b32 r, r, x; setp.eq.u32 p, t, 5; bar.red.and.pred q, 0, p; selp.u32 x, "
		 "0x200, 0, q; or.b32 r, r, x; bar.red.or.pred q, 0, p; selp.u32 x, 0x400, 0, q; or.b32 r, "
		 "r, x;",
	 .block = 64,
	 .expected = reds},
	{.name = "bar.arrive and bar.sync",
	 .outside = ".shared .u32 s[64];",
	 .body = "shl.b32 x, t, 2; mov.u32 y, s; add.u32 x, x, y; setp.ge.u32 p, t, 32; @p bra L1; bar.sync "
		 "3, 64; ld.shared.u32 r, [x+128]; bar.arrive 4, 64; bra L2; L1: st.shared.u32 [x], t; "
		 "bar.arrive 3, 64; bar.sync 4, 64; sub.u32 r, t, 32; L2:",
	 .block = 64,
	 .expected = next_block_thread},
	{.name = "barrier.sync in both branches of a warp",
	 .outside = ".shared .u32 s[64];",
	 .body = LANE "shl.b32 x, t, 2; mov.u32 y, s; add.u32 x, x, y; st.shared.u32 [x], t; setp.lt.u32 p, "
		      "l, 16; @p bra L1; barrier.sync 0; bra L2; L1: barrier.sync 0; L2: add.u32 x, t, 32; "
		      "and.b32 x, x, 63; shl.b32 x, x, 2; add.u32 x, x, y; ld.shared.u32 r, [x];",
	 .block = 64,
	 .expected = next_block_thread},
	{.name = "bar.sync where each warp is",
	 .outside = ".shared .u32 s[64];",
	 .body = "shl.b32 x, t, 2; mov.u32 y, s; add.u32 x, x, y; st.shared.u32 [x], t; setp.ge.u32 p, t, "
		 "32; @p bra L1; bar.sync 0; bra L2; L1: bar.sync 0; L2: add.u32 x, t, 32; and.b32 x, x, 63; "
		 "shl.b32 x, x, 2; add.u32 x, x, y; ld.shared.u32 r, [x];",
	 .block = 64,
	 .expected = next_block_thread},
	{.name = "bar.sync after an early exit",
	 .outside = ".shared .u32 s[96];",
	 .body = "shl.b32 x, t, 2; mov.u32 y, s; add.u32 x, x, y; setp.ge.u32 p, t, 64; @p exit; "
		 "st.shared.u32 [x], t; bar.sync 0; sub.u32 x, 63, t; shl.b32 x, x, 2; add.u32 x, x, y; "
		 "ld.shared.u32 r, [x];",
	 .block = 96,
	 .expected = after_early_exit},
	{.name = "recursion",
	 .outside = ".func (.reg .b32 r) fib(.reg .b32 n) { .reg .b32 a, b; .reg .pred p; mov.u32 r, n; "
		    "setp.lt.u32 p, n, 2; @p ret; sub.u32 a, n, 1; call (a), fib, (a); sub.u32 b, n, 2; call "
		    "(b), fib, (b); add.u32 r, a, b; ret; }",
	 .body = LANE "rem.u32 x, l, 12; call (r), fib, (x);",
	 .block = 64,
	 .expected = fib},
	{.name = "recursion with shfl.sync",
	 .outside = ".func (.reg .b32 r) sum(.reg .b32 n) { .reg .b32 a, b; .reg .pred p; mov.u32 r, 0; "
		    "setp.eq.u32 p, n, 0; @p ret; sub.u32 a, n, 1; call (b), sum, (a); activemask.b32 a; "
		    "shfl.sync.idx.b32 a, n, 0, 0x1f1f, a; add.u32 r, a, b; ret; }",
	 .body = LANE "call (r), sum, (l);",
	 .block = 64,
	 .expected = sum_down},
	{.name = "a pointer to a function",
	 .outside = ".func (.reg .b32 r) f0(.reg .b32 n) { mul.lo.u32 r, n, 3; ret; }\n.func (.reg .b32 r) "
		    "f1(.reg .b32 n) { add.u32 r, n, 1000; ret; }",
	 .body = "pr: .callprototype (.reg .b32 _) _ (.reg .b32 _); and.b32 x, t, 1; setp.eq.u32 p, x, 0; "
		 "mov.u64 d, f1; mov.u64 e, f0; selp.b64 d, e, d, p; call (r), d, (t), pr;",
	 .block = 64,
	 .expected = by_pointer},
	{.name = "pointers to functions in a table",
	 .outside = ".func (.reg .b32 r) f0(.reg .b32 n) { mul.lo.u32 r, n, 3; ret; }\n.func (.reg .b32 r) "
		    "f1(.reg .b32 n) { add.u32 r, n, 1000; ret; }\n.global .u64 table[2] = {f0, f1};",
	 .body = "pr: .callprototype (.reg .b32 _) _ (.reg .b32 _); and.b32 x, t, 1; mul.wide.u32 d, x, 8; "
		 "mov.u64 e, table; add.u64 e, e, d; ld.global.u64 d, [e]; call (r), d, (t), pr;",
	 .block = 64,
	 .expected = by_pointer,
	 .functions = true},
	{.name = "a pointer to a function that waits",
	 .outside = ".func (.reg .b32 r) f0(.reg .b32 n) { mul.lo.u32 r, n, 3; bar.warp.sync -1; ret; "
		    "}\n.func (.reg .b32 r) f1(.reg .b32 n) { add.u32 r, n, 1000; bar.warp.sync -1; ret; }",
	 .body = "ts: .calltargets f0, f1; and.b32 x, t, 1; setp.eq.u32 p, x, 0; mov.u64 d, f1; mov.u64 e, "
		 "f0; selp.b64 d, e, d, p; call (r), d, (t), ts;",
	 .block = 64,
	 .expected = by_pointer},
	{.name = "exit in a function",
	 .outside = ".func f(.reg .b32 n) { .reg .pred p; .reg .b32 a; and.b32 a, n, 1; setp.eq.u32 p, a, 0; "
		    "@p exit; ret; }",
	 .body = "call f, (t); mov.u32 r, t;",
	 .block = 64,
	 .expected = odd_only},
	{.name = "exit in a function, before bar.warp.sync",
	 .outside = ".func f(.reg .b32 n) { .reg .pred p; .reg .b32 a; and.b32 a, n, 1; setp.eq.u32 p, a, 0; "
		    "@p exit; bar.warp.sync -1; ret; }",
	 .body = "call f, (t); mov.u32 r, t;",
	 .block = 64,
	 .expected = odd_only},
	{.name = "bar.sync in a function",
	 .outside =
		 ".shared .u32 s[64];\n.func (.reg .b32 r) f(.reg .b32 n) { .reg .b32 x, y; shl.b32 x, n, 2; "
		 "mov.u32 y, s; add.u32 x, x, y; st.shared.u32 [x], n; bar.sync 0; add.u32 x, n, 32; and.b32 "
		 "x, x, 63; shl.b32 x, x, 2; add.u32 x, x, y; ld.shared.u32 r, [x]; bar.sync 0; ret; }",
	 .body = "call (r), f, (t);",
	 .block = 64,
	 .expected = next_block_thread},
	{.name = "mbarrier",
	 .outside = ".shared .align 8 .u64 b;\n.shared .u32 s[64];",
	 .body = "mov.u32 x, b; setp.eq.u32 p, t, 0; @p mbarrier.init.shared.b64 [x], 64; bar.sync 0; "
		 "shl.b32 z, t, 2; mov.u32 y, s; add.u32 z, z, y; st.shared.u32 [z], t; "
		 "mbarrier.arrive.shared.b64 d, [x]; L1: mbarrier.test_wait.shared.b64 p, [x], d; @!p bra "
		 "L1; add.u32 z, t, 32; and.b32 z, z, 63; shl.b32 z, z, 2; add.u32 z, z, y; ld.shared.u32 r, "
		 "[z];",
	 .block = 64,
	 .expected = next_block_thread},
	{.name = "mbarrier, one lane arrives for others that wait",
	 .outside = ".shared .align 8 .u64 b;",
	 .body = "mov.u32 x, b; setp.eq.u32 p, t, 0; @p mbarrier.init.shared.b64 [x], 1; bar.sync 0; "
		 "setp.eq.u32 p, t, 33; @p bra L2; L1: mbarrier.try_wait.parity.shared.b64 p, [x], 0; @!p "
		 "bra L1; bra L3; L2: mbarrier.arrive.expect_tx.shared::cta.b64 d, [x], 16; "
		 "mbarrier.complete_tx.shared::cta.b64 [x], 16; L3: mov.u32 r, t;",
	 .block = 64,
	 .expected = own},
	{.name = "mbarrier.pending_count",
	 .outside = ".shared .align 8 .u64 b;",
	 .body = "mov.u32 x, b; setp.eq.u32 p, t, 0; @!p bra L1; mbarrier.init.shared.b64 [x], 3; "
		 "mbarrier.arrive.shared.b64 d, [x]; mbarrier.pending_count.b64 r, d; st.global.u32 [m], r; "
		 "L1: mov.u32 r, 3;",
	 .block = 32,
	 .expected = three,
	 .memory = {3}},
	{.name = "barrier.cluster",
	 .outside = ".shared .u32 s[64];",
	 .body = "shl.b32 x, t, 2; mov.u32 y, s; add.u32 x, x, y; st.shared.u32 [x], t; "
		 "barrier.cluster.arrive; barrier.cluster.wait; add.u32 x, t, 32; and.b32 x, x, 63; shl.b32 "
		 "x, x, 2; add.u32 x, x, y; ld.shared.u32 r, [x];",
	 .block = 64,
	 .expected = next_block_thread},
	{.name = "brx.idx with a guard",
	 .body = "and.b32 x, t, 3; setp.ne.u32 p, x, 3; mov.u32 r, 9; ts: .branchtargets T0, T1, T2; @p "
		 "brx.idx x, ts; bra TE; T0: mov.u32 r, 1; bra TE; T1: mov.u32 r, 2; bra TE; T2: mov.u32 r, "
		 "3; TE:",
	 .block = 64,
	 .expected = table_way},
	{.name = "a loop with two entries and shfl.sync",
	 .body = LANE "mov.u32 r, 0; mov.u32 z, 0; and.b32 x, l, 1; setp.eq.u32 p, x, 0; @p bra L2; L1: "
		      "add.u32 z, z, 1; L2: add.u32 r, r, 1; shfl.sync.idx.b32 y, z, 1, 31, -1; setp.lt.u32 "
		      "p, y, 16; mov.u32 z, y; @p bra L1;",
	 .block = 64},
	{.name = "a loop with two entries, a .sync behind it",
	 .body = LANE
	 "mov.u32 z, 0; and.b32 y, l, 3; and.b32 x, t, 1; setp.ne.u32 p, x, 0; @p bra L2; "
	 "L1: add.u32 r, r, 100; L2: add.u32 r, r, 1; setp.lt.u32 q, z, y; add.u32 z, z, 1; @q bra L1; "
	 "redux.sync.add.u32 x, y, -1; mad.lo.u32 r, x, 1000, r;",
	 .block = 64,
	 .expected = two_entries},
	{.name = "a barrier of the grid",
	 .body = "mov.u32 x, %tid.x; setp.ne.u32 p, x, 0; bar.sync 0; @p bra L2; membar.gl; "
		 "red.global.add.u32 [m], 1; L1: ld.acquire.gpu.global.u32 x, [m]; setp.lt.u32 p, x, 4; @p "
		 "bra L1; L2: bar.sync 0; ld.volatile.global.u32 r, [m];",
	 .block = 64,
	 .blocks = 4,
	 .expected = block_count,
	 .memory = {4}},
	{.name = "a deadlock of lanes",
	 .body = LANE "setp.eq.u32 p, l, 0; @p bra L1; bar.warp.sync -1; bra L2; L1: ld.volatile.global.u32 "
		      "x, [m]; setp.eq.u32 p, x, 0; @p bra L1; L2:",
	 .block = 32,
	 .hangs = true},
	{.name = "a deadlock of warps",
	 .body = "setp.lt.u32 p, t, 32; @p bra L1; bar.sync 1, 96; L1:",
	 .block = 64,
	 .hangs = true},
	{.name = "recursion without end",
	 .outside = ".func (.reg .b32 r) f(.reg .b32 n) { .reg .b32 a; add.u32 a, n, 1; call (r), f, (a); "
		    "add.u32 r, r, a; ret; }",
	 .body = LANE "setp.eq.u32 p, l, 3; mov.u32 r, l; @!p bra L1; call (r), f, (l); L1:",
	 .block = 32,
	 .fault = LOWER_FAULT_STACK},
	{.name = "recursion without end, with bar.warp.sync",
	 .outside = ".func (.reg .b32 r) f(.reg .b32 n) { .reg .b32 a; add.u32 a, n, 1; bar.warp.sync 8; "
		    "call (r), f, (a); add.u32 r, r, a; ret; }",
	 .body = LANE "setp.eq.u32 p, l, 3; mov.u32 r, l; @!p bra L1; call (r), f, (l); L1:",
	 .block = 32,
	 .fault = LOWER_FAULT_STACK},
	{.name = "alloca in a function that waits, called often",
	 .outside =
		 ".func (.reg .b32 r) f(.reg .b32 n) { .reg .b64 a; alloca.u64 a, 1024; st.local.u32 [a], n; "
		 "bar.warp.sync -1; ld.local.u32 r, [a]; add.u32 r, r, 1; ret; }",
	 .body = LANE
	 "setp.lt.u32 p, l, 16; mov.u32 z, 0; L1: @p bra L2; call (r), f, (r); bra L3; L2: call (r), f, (r); "
	 "L3: add.u32 z, z, 1; setp.lt.u32 q, z, 32; @q bra L1;",
	 .block = 64,
	 .expected = thirty_two},
	{.name = "a call of no function",
	 .outside = ".func (.reg .b32 r) f0(.reg .b32 n) { mov.u32 r, n; ret; }",
	 .body = "ts: .calltargets f0; mov.u64 d, f0; add.u64 d, d, 4; call (r), d, (t), ts;",
	 .block = 32,
	 .fault = LOWER_FAULT_CALL},
	{.name = "lanes that trapped are not waited for",
	 .body = LANE "setp.ge.u32 p, l, 20; @p bra L1; redux.sync.max.u32 r, l, -1; bra L2; L1: mov.u32 r, "
		      "31; st.global.u32 [o], r; trap; L2:",
	 .block = 64,
	 .expected = warp_max,
	 .fault = LOWER_FAULT_TRAP},
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static const char head[] =
	".visible .entry k(.param .u64 out, .param .u64 memory)\n{\n.reg .pred p, q; .reg .b32 r, t, l, x, "
	"y, z;\n"
	".reg .b64 d, e, o, m;\n"
	"mov.u32 x, %ctaid.x; mov.u32 z, %ntid.x; mov.u32 y, %tid.x; mad.lo.u32 t, x, z, y; mov.u32 r, 0;\n"
	"ld.param.u64 o, [out]; ld.param.u64 m, [memory]; mul.wide.u32 d, t, 4; add.u64 o, o, d;\n";

static struct ptx_module *module_of(const struct row *r)
{
	char *text = NULL;

	if (asprintf(&text,
		     ".version 8.6\n.target sm_90\n.address_size 64\n%s\n%s%s\nst.global.u32 [o], "
		     "r;\nret;\n}\n",
		     r->outside ? r->outside : "", head, r->body) < 0)
		fail_msg("out of memory");
	struct ptx_module *m = parse_text(text);
	free(text);
	for (unsigned k = 0; k < m->nerrors; k++)
		print_error("%s %s\n", m->errors[k].where, m->errors[k].what);
	assert_int_equal(m->nerrors, 0);
	return m;
}

static unsigned blocks_of(const struct row *r)
{
	return r->blocks ? r->blocks : 1;
}

static unsigned check(const struct row *r, const uint32_t *out, const uint32_t *memory)
{
	unsigned wrong = 0;

	for (unsigned t = 0; r->expected && t < r->block * blocks_of(r); t++)
		if (out[t] != r->expected(t) && !wrong++)
			print_error("%s %s: thread %u gives %u, not %u\n", target_name, r->name, t, out[t],
				    r->expected(t));
	for (unsigned k = 0; k < 4 && !wrong; k++)
		if (memory[k] != r->memory[k] && ++wrong)
			print_error("%s %s: word %u is %u, not %u\n", target_name, r->name, k, memory[k],
				    r->memory[k]);
	return wrong != 0;
}

static unsigned run(const struct row *r)
{
	static const uint32_t zeros[MOST_THREADS];
	const uint64_t functions[] = {LOWER_FUNCTION_ADDRESS(0), LOWER_FUNCTION_ADDRESS(1)};
	struct device_memory memory = {0};
	struct kernel_args args = {0};
	struct amdgpu_fault fault = {0};
	struct lowered l;
	uint32_t *out, *common;
	struct lower_runtime *runtime = NULL;
	void *unused;
	unsigned wrong;
	struct ptx_module *m = module_of(r);
	struct amdgpu_object *o = lower_and_load(&memory, m, "k", target_name, &l);

	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, zeros, sizeof(zeros), &out));
	ARGS_VALUE(&args, uint64_t, device_buffer(&memory, zeros, SHARED_WORDS * 4, &common));
	if (r->functions)
		ARGS_VALUE(&args, uint64_t, device_buffer(&memory, functions, sizeof(functions), &unused));
	if (l.runtime_offset)
		ARGS_VALUE(&args, uint64_t,
			   device_buffer(&memory, NULL, sizeof(struct lower_runtime), &runtime));
	const struct device_launch launch = {.object = o,
					     .kernel = "k",
					     .grid = {blocks_of(r), 1},
					     .block = {r->block, 1},
					     .threads = 1,
					     .cooperative = r->blocks > 1,
					     .budget = r->hangs ? 200000 : 50000000};
	bool faulted = device_run(&memory, &launch, &args, &fault, NULL);
	wrong = faulted != r->hangs;
	if (wrong)
		print_error("%s %s: %s\n", target_name, r->name, faulted ? fault.message : "it must hang");
	else if (!faulted)
		wrong = check(r, out, common) + (runtime && runtime->fault.kind != r->fault);
	device_release(&memory);
	amdgpu_object_close(o);
	ptx_module_free(m);
	lowered_free(&l);
	return wrong;
}

static const char *only; /* a part of a row's name */

static void every_row(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (unsigned k = 0; k < NROWS; k++)
		if (!only || strstr(rows[k].name, only))
			wrong += run(&rows[k]);
	print_message("%s: %u kernels, %u differ\n", target_name, NROWS, wrong);
	assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_row)};

	if (argc < 2)
		return 2;
	target_name = argv[1];
	only = argc > 3 ? argv[3] : NULL;
	compiler_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
