/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier (ISA 9.7.13.15), what completes on one, and barriers of clusters of one block. Each kernel says with what
 * it should end: thread by thread one word, by the rules of phases and counts.
 */
#include <stdio.h>
#include <string.h>

#include "tests/device_interp/driver.h"

#define HEAD                                                                                               \
	".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p_out, .param .u64 " \
	"p_in)\n{\n"                                                                                       \
	".shared .align 16 .b64 bar; .shared .align 16 .b8 box[1024]; .reg .b64 o, i, f, s<8>, g; .reg "   \
	".b32 t, n<8>, a; "                                                                                \
	".reg .pred p<4>; \n"                                                                              \
	"mov.u32 t, %tid.x; ld.param.u64 o, [p_out]; ld.param.u64 i, [p_in]; mul.wide.u32 f, t, 4; "       \
	"add.u64 o, o, f; mul.wide.u32 f, t, 16; add.u64 i, i, f; mov.u32 a, bar; setp.eq.u32 p0, t, 0;\n"
#define TAIL "st.global.u32 [o], n0;\nret;\n}\n"

/* Runs one block; false when the launch faulted, with the message. */
static bool run(const char *text, unsigned threads, uint32_t *out, struct dev_fault *fault)
{
	struct test_device t;
	struct test_module m;
	uint32_t in[1024];

	for (unsigned k = 0; k < 1024; k++)
		in[k] = 1000 + k;
	test_open(&t, "workers=1,watchdog_ms=300");
	test_load(&m, &t, text, "mbarrier.ptx");
	uint64_t params[2] = {test_alloc(&t, threads * 4ull, NULL), test_alloc(&t, sizeof(in), in)};
	int rc = test_run(&m, "k", LAUNCH1(1, threads), params, 2, fault);

	test_read(&t, out, params[0], threads * 4ull);
	test_unload(&m);
	test_close(&t);
	return !rc;
}

static void expect_all(const char *text, unsigned threads, uint32_t want)
{
	uint32_t out[256];
	struct dev_fault fault;

	if (!run(text, threads, out, &fault))
		fail_msg("%s", fault.message);
	for (unsigned k = 0; k < threads; k++)
		if (out[k] != want)
			fail_msg("thread %u: %u, expected %u in %s", k, out[k], want, text);
}

static void expect_fault(const char *text, unsigned threads, const char *why)
{
	uint32_t out[256];
	struct dev_fault fault;

	assert_false(run(text, threads, out, &fault));
	if (!strstr(fault.message, why))
		fail_msg("%s: expected '%s'", fault.message, why);
}

/* Every thread adds 1 in each of five phases and waits: nobody is ahead of the slowest. By state, by parity, by
 * try_wait with a time limit. */
static void phases(void **state)
{
	static const char *const waits[] = {
		"mbarrier.test_wait.shared.b64 p1, [bar], s0;",
		"mbarrier.test_wait.acquire.cta.shared::cta.b64 p1, [bar], s0;",
		"mbarrier.test_wait.parity.shared.b64 p1, [a], n2;",
		"mbarrier.try_wait.shared.b64 p1, [bar], s0;",
		"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p1, [bar], n2, 1000;",
		"mbarrier.try_wait.parity.b64 p1, [g], n2;",
	};
	char text[4000];

	(void)state;
	for (unsigned k = 0; k < sizeof(waits) / sizeof(waits[0]); k++) {
		snprintf(
			text, sizeof(text),
			"%scvta.shared.u64 g, bar; @p0 mbarrier.init.shared::cta.b64 [bar], 96; bar.sync 0;\n"
			"mov.u32 n1, 0; mov.u32 n2, 0; mov.u32 n0, 0; cvta.shared.u64 f, box;\n"
			"again: atom.shared.add.u32 n3, [box], 1;\n"
			"mbarrier.arrive.shared.b64 s0, [bar];\n"
			"wait: %s\n@!p1 bra wait;\n"
			"ld.volatile.shared.u32 n3, [box];\n" /* all 96 of this phase, none of the next but one */
			"add.u32 n1, n1, 1; mul.lo.u32 n4, n1, 96; setp.ge.u32 p2, n3, n4; @p2 add.u32 n0, "
			"n0, 1;\n"
			"add.u32 n4, n4, 96; setp.le.u32 p2, n3, n4; @p2 add.u32 n0, n0, 1;\n"
			"xor.b32 n2, n2, 1; setp.lt.u32 p3, n1, 5; @p3 bra again;\n" TAIL,
			HEAD, waits[k]);
		expect_all(text, 96, 10);
	}
}

/* Counts: what pending_count gives is what was pending before the arrival. */
static void counts(void **state)
{
	(void)state;
	expect_all(HEAD
		   "mbarrier.init.shared.b64 [bar], 10; mbarrier.arrive.noComplete.shared.b64 s0, [bar], 3;\n"
		   "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 s1, [bar], 2;\n"
		   "mbarrier.pending_count.b64 n0, s0; mbarrier.pending_count.b64 n1, s1; "
		   "mad.lo.u32 n0, n0, 100, n1;\n" TAIL,
		   1, 1007);
	/* arrive with a count completes; the state of the phase before says so, that of this one doesn't */
	expect_all(
		HEAD
		"mbarrier.init.shared.b64 [bar], 4; mbarrier.arrive.shared.b64 s0, [bar], 4; "
		"cvta.shared.u64 g, bar; mbarrier.arrive.b64 s1, [g], 1;\n"
		"mbarrier.test_wait.shared.b64 p1, [bar], s0; mbarrier.test_wait.shared.b64 p2, [bar], s1;\n"
		"selp.u32 n0, 10, 0, p1; @p2 add.u32 n0, n0, 1; mbarrier.pending_count.b64 n1, s1; "
		"mad.lo.u32 n0, n1, 100, n0;\n" TAIL,
		1, 410);
	/* arrive_drop: the next phase expects fewer */
	expect_all(HEAD "mbarrier.init.shared.b64 [bar], 3; mbarrier.arrive_drop.shared.b64 _, [bar]; "
			"mbarrier.arrive.shared.b64 s0, [bar], 2; mbarrier.arrive.noComplete.shared.b64 s1, "
			"[bar], 1;\n"
			"mbarrier.pending_count.b64 n0, s1;\n" TAIL,
		   1, 2);
	/* a phase ends when arrivals and bytes are there */
	expect_all(HEAD
		   "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 s0, [bar], 48;\n"
		   "mbarrier.test_wait.shared.b64 p1, [bar], s0; selp.u32 n0, 1, 0, p1;\n"
		   "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 32; mbarrier.test_wait.shared.b64 p1, "
		   "[bar], s0; "
		   "@p1 add.u32 n0, n0, 10;\n"
		   "mbarrier.complete_tx.shared::cluster.b64 [bar], 16; mbarrier.test_wait.shared.b64 p1, "
		   "[bar], s0; "
		   "@p1 add.u32 n0, n0, 100;\n" TAIL,
		   1, 100);
	/* bytes may be complete before they are expected */
	expect_all(HEAD "mbarrier.init.shared.b64 [bar], 1; mbarrier.complete_tx.shared.b64 [bar], 16; "
			"mbarrier.arrive.shared.b64 s0, [bar];\n"
			"mbarrier.test_wait.shared.b64 p1, [bar], s0; selp.u32 n0, 1, 0, p1;\n"
			"mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 16; mbarrier.test_wait.shared.b64 "
			"p1, [bar], s0; "
			"@p1 add.u32 n0, n0, 10;\n" TAIL,
		   1, 10);
	/* inval, and another use of the memory */
	expect_all(
		HEAD
		"mbarrier.init.shared.b64 [bar], 7; mbarrier.inval.shared.b64 [bar]; st.shared.b64 [bar], 5; "
		"ld.shared.u32 n0, [bar];\n" TAIL,
		1, 5);
}

/* cp.async: arrivals by the copies, with and without an arrival of the thread itself. */
static void copies(void **state)
{
	(void)state;
	expect_all(HEAD
		   "mov.u32 n1, box; mad.lo.u32 n1, t, 16, n1; @p0 mbarrier.init.shared.b64 [bar], 32; "
		   "bar.sync 0;\n"
		   "cp.async.cg.shared.global [n1], [i], 16; cp.async.mbarrier.arrive.shared.b64 [bar]; "
		   "mbarrier.arrive.shared.b64 s0, [bar];\n"
		   "wait: mbarrier.test_wait.shared.b64 p1, [bar], s0; @!p1 bra wait;\n"
		   "xor.b32 n2, t, 31; mov.u32 n1, box; mad.lo.u32 n1, n2, 16, n1; ld.shared.u32 n0, [n1]; "
		   "mul.lo.u32 n2, n2, 4; sub.u32 n0, n0, n2;\n" TAIL,
		   32, 1000);
	expect_all(
		HEAD
		"mov.u32 n1, box; mad.lo.u32 n1, t, 16, n1; @p0 mbarrier.init.shared.b64 [bar], 32; bar.sync "
		"0;\n"
		"cp.async.ca.shared.global [n1], [i], 8, 4; cp.async.mbarrier.arrive.noinc.shared::cta.b64 "
		"[bar];\n"
		"wait: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra wait;\n"
		"ld.shared.u32 n0, [n1]; ld.shared.u32 n2, [n1+4]; add.u32 n0, n0, n2; mul.lo.u32 n2, t, 4; "
		"sub.u32 n0, n0, n2;\n" TAIL,
		32, 1000);
	/* st.async, red.async */
	expect_all(HEAD
		   "mov.u32 n1, box; @p0 mbarrier.init.shared.b64 [bar], 1; @p0 st.shared.u32 [box], 100; "
		   "bar.sync 0;\n"
		   "@p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 140;\n"
		   "@p0 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [n1+8], {n1, t}, "
		   "[bar];\n"
		   "@p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [n1+16], 9, [bar];\n"
		   "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [n1], 2, "
		   "[a];\n"
		   "wait: mbarrier.try_wait.parity.shared.b64 p1, [bar], 0; @!p1 bra wait;\n"
		   "ld.shared.u32 n0, [n1]; ld.shared.u32 n2, [n1+16]; mad.lo.u32 n0, n2, 1000, n0;\n" TAIL,
		   32, 9164);
}

/* A cluster of one block: its barrier is one of the block, its addresses are the block's. */
static void cluster(void **state)
{
	(void)state;
	expect_all(
		HEAD
		"mov.u32 n1, box; @p0 st.shared.u32 [box], 0; bar.sync 0; "
		"atom.shared::cluster.add.u32 n2, [box], 1;\n"
		"barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
		"ld.shared::cluster.u32 n0, [n1];\n"
		"barrier.cluster.arrive; barrier.cluster.wait;\n"
		"atom.shared.add.u32 n2, [box], 1; barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"
		"mapa.shared::cluster.u32 n3, n1, 0; ld.shared::cluster.u32 n4, [n3]; add.u32 n0, n0, n4;\n"
		"cvta.shared.u64 g, box; mapa.u64 s0, g, 0; ld.u32 n4, [s0]; add.u32 n0, n0, n4;\n"
		"getctarank.shared::cluster.u32 n4, n1; add.u32 n0, n0, n4; mov.u32 n4, %cluster_nctarank; "
		"add.u32 n0, n0, n4;\n" TAIL,
		96, 96 + 192 + 192 + 1);
	/* a warp that has exited need not arrive */
	expect_all(HEAD "mov.u32 n0, 1; st.global.u32 [o], n0; setp.ge.u32 p1, t, 64; @p1 exit;\n"
			"barrier.cluster.arrive; barrier.cluster.wait;\n" TAIL,
		   96, 1);
	expect_fault(HEAD "mov.u32 n1, 1; mapa.shared::cluster.u32 n0, a, n1;\n" TAIL, 1,
		     "the cluster has one block, there is none of rank 1");
}

static void faults(void **state)
{
	(void)state;
	/* the watchdog names the line where the threads wait: line 10 is the try_wait */
	expect_fault(
		HEAD
		"@p0 mbarrier.init.shared.b64 [bar], 33; bar.sync 0; mbarrier.arrive.shared.b64 s0, [bar];\n"
		"wait:\nmbarrier.try_wait.shared.b64 p1, [bar], s0;\n@!p1 bra wait; mov.u32 n0, 0;\n" TAIL,
		32, "block (0,0,0) is at lines 10 (32 threads)");
	expect_fault(HEAD "mbarrier.arrive.shared.b64 s0, [bar];\n" TAIL, 1, "not initialised");
	expect_fault(HEAD "mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 _, [bar], 3;\n" TAIL,
		     1, "more threads arrive than are pending, which are 2");
	expect_fault(HEAD "mbarrier.init.shared.b64 [bar], 0;\n" TAIL, 1, "the count must be 1 to 1048575");
	expect_fault(HEAD "mbarrier.init.shared.b64 [bar], 1; mbarrier.expect_tx.shared.b64 [bar], 1048575; "
			  "mbarrier.expect_tx.shared.b64 [bar], 1;\n" TAIL,
		     1, "tx-count has 20 bits");
	expect_fault(HEAD "mbarrier.init.b64 [o], 1;\n" TAIL, 1, "not in shared memory");
	expect_fault(HEAD "mbarrier.init.shared.b64 [bar+4], 1;\n" TAIL, 1, "misaligned");
	expect_fault(HEAD
		     "@p0 barrier.cluster.arrive; @!p0 bra other; barrier.cluster.wait; other: bar.sync 0; "
		     "mov.u32 n0, 0;\n" TAIL,
		     64, "deadlock");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases),  cmocka_unit_test(counts), cmocka_unit_test(copies),
		cmocka_unit_test(cluster), cmocka_unit_test(faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
