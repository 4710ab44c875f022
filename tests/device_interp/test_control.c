/* SPDX-License-Identifier: Apache-2.0
 *
 * Control flow: divergence and joining, spin locks between lanes, recursion,
 * indirect calls, branch tables, barriers of every kind, cooperative launches.
 * Each kernel's result is what C says it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define TID                                                                                                \
	".reg .b32 tid, cta, nt, gid; .reg .b64 out, at, off;\n"                                           \
	"mov.u32 tid, %tid.x; mov.u32 cta, %ctaid.x; mov.u32 nt, %ntid.x; mad.lo.u32 gid, cta, nt, tid;\n" \
	"ld.param.u64 out, [p_out]; mul.wide.u32 off, gid, 4; add.u64 at, out, off;\n"

static void run_words(const char *options, const char *ptx, const struct test_launch *l, uint32_t *words,
		      uint32_t n)
{
	struct test_device t;
	struct test_module m;

	test_open(&t, options);
	test_load(&m, &t, ptx, "control.ptx");
	uint64_t out = test_alloc(&t, n * 4, words);

	test_run_ok(&m, "k", l, &out, 1);
	test_read(&t, words, out, n * 4);
	test_unload(&m);
	test_close(&t);
}

/* Loops whose trip count differs by lane; the mask afterwards must be whole again. */
static void divergent_loop(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 n, s, m; .reg .pred p, q;\n"
		     "and.b32 n, gid, 31; add.u32 n, n, 1; mov.u32 s, 0;\n"
		     "LOOP: and.b32 m, n, 1; setp.eq.u32 q, m, 0; @q bra EVEN; add.u32 s, s, n; bra NEXT;\n"
		     "EVEN: add.u32 s, s, 100;\n"
		     "NEXT: sub.u32 n, n, 1; setp.ne.u32 p, n, 0; @p bra LOOP;\n"
		     "activemask.b32 m; setp.ne.u32 p, m, 0xffffffff; @p add.u32 s, s, 1000000;\n"
		     "st.global.u32 [at], s; ret;\n}\n";
	uint32_t w[256] = {0};

	(void)state;
	run_words("workers=2", ptx, LAUNCH1(4, 64), w, 256);
	for (unsigned k = 0; k < 256; k++) {
		uint32_t s = 0;

		for (uint32_t n = k % 32 + 1; n; n--)
			s += n & 1 ? n : 100;
		assert_int_equal(w[k], s);
	}
}

/* Warps take turns after some number of steps, and a guarded or a directed-rounding instruction is several: wherever the
 * turn ends, lanes that the guard excludes keep their values, and others round to nearest. Loops of many lengths, so that it
 * ends everywhere. */
static void turns_end_anywhere(void **state)
{
	/* 0f33c00000 is three quarters of the distance from 1 to the next number. */
	static const char start[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID
		     ".reg .b32 n, s, t, bad; .reg .f32 down, near; .reg .pred odd, p;\n"
		     "and.b32 t, gid, 1; setp.ne.u32 odd, t, 0; mov.u32 s, 0; mov.u32 bad, 0; mov.u32 n, 0;\n"
		     "LOOP: @odd add.u32 s, s, 1;\n"
		     "add.rz.f32 down, 0f3f800000, 0f33c00000; add.rn.f32 near, 0f3f800000, 0f33c00000;\n"
		     "setp.ne.f32 p, down, 0f3f800000; selp.u32 t, 1, 0, p; add.u32 bad, bad, t;\n"
		     "setp.ne.f32 p, near, 0f3f800001; selp.u32 t, 1, 0, p; add.u32 bad, bad, t;\n";
	enum { ROUNDS = 20000 };
	uint32_t w[64];
	char ptx[4096];

	(void)state;
	for (unsigned pad = 0; pad < 24; pad++) {
		size_t n = sizeof(start) - 1;

		memcpy(ptx, start, n);
		for (unsigned k = 0; k < pad; k++)
			n += (size_t)sprintf(ptx + n, "xor.b32 t, t, n;\n");
		sprintf(ptx + n,
			"add.u32 n, n, 1; setp.lt.u32 p, n, %d; @p bra LOOP;\n"
			"mad.lo.u32 s, bad, 1000000, s; st.global.u32 [at], s; ret;\n}\n",
			ROUNDS);
		memset(w, 0xff, sizeof(w));
		run_words("workers=1", ptx, LAUNCH1(1, 64), w, 64);
		for (unsigned k = 0; k < 64; k++)
			assert_int_equal(w[k], k % 2 ? ROUNDS : 0);
	}
}

/* All lanes of all warps of two blocks take one lock: by exchange in a bare loop, the hardest form. */
static void spin_lock(void **state)
{
	static const char ptx[] =
		HEAD ".global .u32 lock;\n.visible .entry k(.param .u64 p_out)\n{\n" TID
		     ".reg .b32 v; .reg .pred p;\n"
		     "SPIN: atom.global.cas.b32 v, [lock], 0, 1; setp.ne.u32 p, v, 0; @p bra SPIN;\n"
		     "ld.volatile.global.u32 v, [out]; add.u32 v, v, 1; st.volatile.global.u32 [out], v;\n"
		     "membar.gl; atom.global.exch.b32 v, [lock], 0; ret;\n}\n";
	static const char *const options[] = {"workers=1", "workers=2", "deterministic=1"};

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		uint32_t w[1] = {0};

		run_words(options[k], ptx, LAUNCH1(2, 96), w, 1);
		assert_int_equal(w[0], 192);
	}
}

/* The winner calls a function; the losers wait inside another activation of the same one. */
static void lock_in_function(void **state)
{
	static const char ptx[] =
		HEAD ".global .u32 lock;\n"
		     ".func take()\n{\n.reg .b32 v; .reg .pred p;\n"
		     "SPIN: atom.global.cas.b32 v, [lock], 0, 1; setp.ne.u32 p, v, 0; @p bra SPIN; ret;\n}\n"
		     ".func give()\n{\n.reg .b32 v;\natom.global.exch.b32 v, [lock], 0; ret;\n}\n"
		     ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 v;\n"
		     "call take; ld.volatile.global.u32 v, [out]; add.u32 v, v, 1; st.volatile.global.u32 "
		     "[out], v; call give; ret;\n}\n";
	uint32_t w[1] = {0};

	(void)state;
	run_words("workers=2", ptx, LAUNCH1(2, 64), w, 1);
	assert_int_equal(w[0], 128);
}

/* A lane waits for a value that a lane of its own warp writes later in the code, with plain loads. */
static void producer_in_warp(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 v; .reg .pred p;\n"
		     "setp.ne.u32 p, tid, 5; @p bra WAIT;\n"
		     "st.global.u32 [out+512], 77; bra DONE;\n"
		     "WAIT: ld.global.u32 v, [out+512]; setp.eq.u32 p, v, 0; @p bra WAIT;\n"
		     "st.global.u32 [at], v;\n"
		     "DONE: ret;\n}\n";
	uint32_t w[129] = {0};

	(void)state;
	run_words("workers=1", ptx, LAUNCH1(1, 32), w, 129);
	for (unsigned k = 0; k < 32; k++)
		assert_int_equal(w[k], k == 5 ? 0 : 77);
}

static uint32_t fibonacci(uint32_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void recursion(void **state)
{
	static const char ptx[] =
		HEAD ".func (.param .b32 r) fib(.param .b32 n);\n"
		     ".func (.param .b32 r) fib(.param .b32 n)\n{\n.reg .b32 x, y, z; .reg .pred p;\n"
		     "ld.param.b32 x, [n]; setp.lt.u32 p, x, 2; @p bra SMALL;\n"
		     "{ .param .b32 a; .param .b32 b; sub.u32 y, x, 1; st.param.b32 [a], y; call (b), fib, "
		     "(a); ld.param.b32 z, [b]; }\n"
		     "{ .param .b32 a; .param .b32 b; sub.u32 y, x, 2; st.param.b32 [a], y; call (b), fib, "
		     "(a); ld.param.b32 y, [b]; }\n"
		     "add.u32 x, y, z;\n"
		     "SMALL: st.param.b32 [r], x; ret;\n}\n"
		     ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 v;\n"
		     "rem.u32 v, gid, 13;\n"
		     "{ .param .b32 a; .param .b32 b; st.param.b32 [a], v; call (b), fib, (a); ld.param.b32 "
		     "v, [b]; }\n"
		     "st.global.u32 [at], v; ret;\n}\n";
	uint32_t w[64] = {0};

	(void)state;
	run_words("workers=1", ptx, LAUNCH1(1, 64), w, 64);
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(w[k], fibonacci(k % 13));
}

/* Lanes call different functions through a table in memory; register parameters. */
static void indirect_call(void **state)
{
	static const char ptx[] =
		HEAD ".func (.reg .b32 r) twice(.reg .b32 x)\n{\nadd.u32 r, x, x; ret;\n}\n"
		     ".func (.reg .b32 r) square(.reg .b32 x)\n{\nmul.lo.u32 r, x, x; ret;\n}\n"
		     ".func (.reg .b32 r) minus(.reg .b32 x)\n{\nneg.s32 r, x; ret;\n}\n"
		     ".global .u64 table[3] = {twice, square, minus};\n"
		     ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 v, n; .reg .b64 f, o;\n"
		     "proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
		     "rem.u32 n, gid, 3; mul.wide.u32 o, n, 8; mov.u64 f, table; add.u64 f, f, o; "
		     "ld.global.u64 f, [f];\n"
		     "call (v), f, (gid), proto;\n"
		     "st.global.u32 [at], v; ret;\n}\n";
	uint32_t w[64] = {0};

	(void)state;
	run_words("workers=1", ptx, LAUNCH1(1, 64), w, 64);
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(w[k], k % 3 == 0 ? k + k : k % 3 == 1 ? k * k : 0 - k);
}

/* An indirect call whose function takes or returns something else than the call passes is a fault, before
 * anything is copied: the sizes of the callee's cells aren't the caller's. */
static void indirect_mismatch(void **state)
{
	static const struct {
		const char *func, *proto, *call;
	} rows[] = {
		{".func (.reg .b64 r) f(.reg .b32 x)\n{\nmov.b64 r, 1; ret;\n}\n",
		 "(.reg .b32 _) _ (.reg .b32 _)", "call (v), a, (gid), proto;"},
		{".func (.reg .b32 r) f(.reg .b64 x)\n{\nmov.b32 r, 1; ret;\n}\n",
		 "(.reg .b32 _) _ (.reg .b32 _)", "call (v), a, (gid), proto;"},
		{".func (.reg .b32 r) f(.param .b64 x)\n{\nmov.b32 r, 1; ret;\n}\n",
		 "(.reg .b32 _) _ (.reg .b32 _)", "call (v), a, (gid), proto;"},
		{".func f(.param .align 4 .b8 x[4096])\n{\nret;\n}\n", "_ (.param .b32 _)",
		 "{ .param .b32 p; st.param.b32 [p], gid; call a, (p), proto; }"},
		{".func (.param .align 4 .b8 r[4096]) f()\n{\nret;\n}\n", "(.param .b32 _) _ ()",
		 "{ .param .b32 p; call (p), a, (), proto; }"},
		{".func f(.reg .pred x)\n{\nret;\n}\n", "_ (.param .b32 _)",
		 "{ .param .b32 p; st.param.b32 [p], gid; call a, (p), proto; }"},
		{".visible .entry f(.param .align 4 .b8 x[4096])\n{\nret;\n}\n",
		 "_ (.param .align 4 .b8 _[4096])", "{ .param .align 4 .b8 p[4096]; call a, (p), proto; }"},
		{".func f(.reg .b32 x, .reg .b32 y)\n{\nret;\n}\n", "_ (.reg .b32 _)",
		 "call a, (gid), proto;"},
	};

	(void)state;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct dev_fault fault = {0};
		struct test_device t;
		struct test_module m;
		char ptx[2048];

		snprintf(ptx, sizeof(ptx),
			 HEAD "%s.visible .entry k(.param .u64 p_out)\n{\n%s.reg .b32 v; .reg .b64 a;\n"
			      "proto: .callprototype %s;\nmov.b32 v, 5; mov.b64 a, f;\n%s\n"
			      "st.global.u32 [at], v; ret;\n}\n",
			 rows[k].func, TID, rows[k].proto, rows[k].call);
		test_open(&t, "workers=1");
		test_load(&m, &t, ptx, "mismatch.ptx");
		uint64_t out = test_alloc(&t, 128, NULL);

		print_message("row %u\n", k);
		assert_int_not_equal(test_run(&m, "k", LAUNCH1(1, 32), &out, 1, &fault), 0);
		assert_int_equal(fault.kind, DEV_FAULT_ILLEGAL_INSTRUCTION);
		assert_non_null(strstr(fault.message, "other parameters"));
		test_unload(&m);
		test_close(&t);
	}
}

/* Constants of an indirect call have the types that the prototype gives. */
static void indirect_constant(void **state)
{
	static const char ptx[] =
		HEAD ".func (.reg .b32 r) f(.reg .b32 x, .reg .b64 y)\n{\n.reg .b32 h; cvt.u32.u64 h, y; "
		     "add.u32 r, x, h; ret;\n}\n"
		     ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 v; .reg .b64 a;\n"
		     "proto: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b64 _);\n"
		     "mov.b64 a, f; call (v), a, (40, 2), proto; st.global.u32 [at], v; ret;\n}\n";
	uint32_t w[64] = {0};

	(void)state;
	run_words("workers=1", ptx, LAUNCH1(1, 64), w, 64);
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(w[k], 42);
}

/* Kernels that would reach behind what they declare are refused, with a reason. */
static void refused(void **state)
{
	static const struct {
		const char *before, *body, *why;
	} rows[] = {
		{"", "ld.param.u32 v, [p_out+1073741824];", "outside the 8 bytes of the parameters"},
		{"", "ld.param.u32 v, [p_out+8];", "outside the 8 bytes"},
		{"", "ld.param.u32 v, [p_out+-4];", "outside the 8 bytes"},
		{"", "ld.param.v4.u32 {v, v, v, v}, [p_out];", "outside the 8 bytes"},
		{".func f(.param .b64 x)\n{\nret;\n}\n",
		 "{ .param .b64 p; st.param.b64 [p+1073741824], out; call f, (p); }",
		 "outside the 8 bytes of the variable"},
		{".func f(.param .b64 x)\n{\n.reg .b64 r; ld.param.b64 r, [x+8]; ret;\n}\n",
		 "{ .param .b64 p; st.param.b64 [p], out; call f, (p); }", "outside the 8 bytes"},
		{".func f(.param .b64 x)\n{\nret;\n}\n", "{ .param .b64 p; call f, (p+64); }",
		 "can't be an argument"},
		{".func f(.param .b8 x[1000])\n{\nret;\n}\n", "call f, (5);", "8000 bits"},
		{".func (.reg .b32 r) f()\n{\nmov.b32 r, 1; ret;\n}\n", "call (5), f, ();",
		 "must have a place"},
		{".extern .func __assertfail();\n", "call __assertfail, ();", "as declared"},
		{".extern .func (.param .b32 r) malloc(.param .b64 n);\n",
		 "{ .param .b64 n; .param .b32 r; call (r), malloc, (n); }", "as declared"},
		{".visible .entry other(.param .b8 x[4096])\n{\nret;\n}\n",
		 "{ .param .b8 p[4096]; call other, (p); }", "an entry can't be called"},
		{"", ".local .b8 big[400000000]; mov.u64 at, big;", "local variables"},
		{"", ".shared .b8 big[3000000000]; st.shared.u32 [big], 1;", "shared memory"},
		{"", ".shared .b8 big[300000]; st.shared.u32 [big], 1;", "shared memory"},
		{"", "ld.param.u32 v, [p_out+2];", "are not aligned"},
		{"", "ld.param.u32 v, [p_out+18446744073709551612];", "outside the 8 bytes"},
	};

	(void)state;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct dev_kernel *kernel;
		struct diag d = DIAG_INIT;
		struct test_device t;
		struct test_module m;
		char ptx[2048];

		snprintf(ptx, sizeof(ptx),
			 HEAD "%s.visible .entry k(.param .u64 p_out)\n{\n%s.reg .b32 v;\n%s\nret;\n}\n",
			 rows[k].before, TID, rows[k].body);
		test_open(&t, "workers=1");
		test_load(&m, &t, ptx, "refused.ptx");
		print_message("row %u: %s\n", k, rows[k].body);
		assert_int_not_equal(test_kernel(&m, "k", &kernel, &d), 0);
		print_message("  %s: %s\n", d.where, d.what);
		assert_non_null(strstr(d.what, rows[k].why));
		assert_ptr_equal(strstr(d.where, "refused.ptx:"), d.where);
		test_unload(&m);
		test_close(&t);
	}
}

/* A chain of calls that the host's stack has no room to follow, on a small one. */
struct translation {
	struct test_module *m;
	int result;
};

static void *translate(void *arg)
{
	struct translation *t = arg;
	struct dev_kernel *kernel;
	struct diag d = DIAG_INIT;

	t->result = test_kernel(t->m, "k", &kernel, &d);
	return NULL;
}

static void long_chain(void **state)
{
	const unsigned n = 30000;
	size_t cap = (size_t)n * 80 + 1024, at = 0;
	char *ptx = malloc(cap);
	struct test_device t;
	struct test_module m;
	struct translation tr = {.m = &m, .result = -1};
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	assert_non_null(ptx);
	at += (size_t)snprintf(ptx + at, cap - at, HEAD ".func f0()\n{\nret;\n}\n");
	for (unsigned k = 1; k < n; k++)
		at += (size_t)snprintf(ptx + at, cap - at, ".func f%u()\n{\ncall f%u, (); ret;\n}\n", k,
				       k - 1);
	snprintf(ptx + at, cap - at, ".visible .entry k()\n{\ncall f%u, (); ret;\n}\n", n - 1);
	test_open(&t, "workers=1");
	test_load(&m, &t, ptx, "chain.ptx");
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, 1 << 20), 0);
	assert_int_equal(pthread_create(&thread, &attr, translate, &tr), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	assert_int_equal(tr.result, 0);
	test_unload(&m);
	test_close(&t);
	free(ptx);
}

static void branch_table(void **state)
{
	static const char ptx[] = HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 n;\n"
				       "targets: .branchtargets A, B, C, B;\n"
				       "and.b32 n, gid, 3; brx.idx n, targets;\n"
				       "A: mov.u32 n, 10; bra END;\n"
				       "B: add.u32 n, n, 20; bra END;\n"
				       "C: mov.u32 n, 30;\n"
				       "END: st.global.u32 [at], n; ret;\n}\n";
	uint32_t w[64] = {0};

	(void)state;
	run_words("workers=1", ptx, LAUNCH1(1, 64), w, 64);
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(w[k], k % 4 == 0 ? 10 : k % 4 == 2 ? 30 : k % 4 + 20);
}

/* Reversal through shared memory: wrong unless every warp waits. Some threads have left before the barrier.
 */
static void block_barrier(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID
		     ".shared .align 4 .b32 box[200]; .reg .b32 i, v; .reg .pred p;\n"
		     "setp.ge.u32 p, tid, 200; @p exit;\n"
		     "shl.b32 i, tid, 2; mov.u32 v, box; add.u32 i, i, v; st.shared.u32 [i], gid;\n"
		     "bar.sync 0;\n"
		     "sub.u32 i, 199, tid; shl.b32 i, i, 2; add.u32 i, i, v; ld.shared.u32 v, [i];\n"
		     "mad.lo.u32 gid, cta, 200, tid; mul.wide.u32 off, gid, 4; add.u64 at, out, off;\n"
		     "st.global.u32 [at], v; ret;\n}\n";
	uint32_t w[800] = {0};

	(void)state;
	run_words("workers=2", ptx, LAUNCH1(4, 230), w, 800);
	for (unsigned k = 0; k < 800; k++)
		assert_int_equal(w[k], k / 200 * 230 + 199 - k % 200);
}

/* One after the other, with nothing between: that nobody gets further than the next is no deadlock. */
static void barriers_in_a_row(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID
		     "bar.sync 0; bar.sync 0; bar.sync 0; barrier.sync 1; bar.sync 0; bar.sync 0, 256;\n"
		     "st.global.u32 [at], gid; ret;\n}\n";
	uint32_t w[1024] = {0};

	(void)state;
	run_words("workers=2", ptx, LAUNCH1(4, 256), w, 1024);
	for (unsigned k = 0; k < 1024; k++)
		assert_int_equal(w[k], k);
}

/* Named barriers with thread counts: two warps produce (arrive), two consume (sync), in rounds. */
static void named_barriers(void **state)
{
	static const char ptx[] = HEAD
		".visible .entry k(.param .u64 p_out)\n{\n" TID
		".shared .align 4 .b32 box[64]; .reg .b32 i, v, r, b, n; .reg .pred p, c;\n"
		"mov.u32 r, 0; mov.u32 b, box; and.b32 i, tid, 63; shl.b32 i, i, 2; add.u32 i, i, b;\n"
		"setp.ge.u32 c, tid, 64;\n"
		"LOOP: @c bra CONSUME;\n"
		"mad.lo.u32 v, r, 1000, tid; st.shared.u32 [i], v; bar.arrive 1, 128; bar.sync 2, 128; bra "
		"NEXT;\n"
		"CONSUME: bar.sync 1, 128; xor.b32 v, i, 4; ld.shared.u32 v, [v];\n"
		"mad.lo.u32 n, r, 64, tid; sub.u32 n, n, 64; mul.wide.u32 off, n, 4; add.u64 at, out, off;\n"
		"st.global.u32 [at], v; bar.sync 2, 128;\n"
		"NEXT: add.u32 r, r, 1; setp.lt.u32 p, r, 5; @p bra LOOP;\n"
		"ret;\n}\n";
	uint32_t w[320] = {0};

	(void)state;
	run_words("workers=1", ptx, LAUNCH1(1, 128), w, 320);
	for (unsigned k = 0; k < 320; k++)
		assert_int_equal(w[k], k / 64 * 1000 + (k % 64 ^ 1));
}

static void barrier_reductions(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 n, v; .reg .pred p, q, r;\n"
		     "setp.lt.u32 p, tid, 70; barrier.sync 0; bar.red.popc.u32 n, 0, p;\n"
		     "barrier.red.or.pred q, 3, !p; bar.red.and.pred r, 0, p; selp.u32 v, 1000, 0, q; "
		     "add.u32 n, n, v;\n"
		     "selp.u32 v, 5000, 0, r; add.u32 n, n, v; st.global.u32 [at], n; ret;\n}\n";
	uint32_t w[96] = {0};

	(void)state;
	run_words("workers=1", ptx, LAUNCH1(1, 96), w, 96);
	for (unsigned k = 0; k < 96; k++)
		assert_int_equal(w[k], 1070);
	memset(w, 0, sizeof(w));
	run_words("workers=1", ptx, LAUNCH1(1, 64), w, 64);
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(w[k], 5064);
}

/* Grid synchronisation by atomics and polling, more blocks than workers: needs all blocks resident. */
static void cooperative(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID
		     ".reg .b32 hi, lo, n, v, want, r; .reg .b64 ws, t; .reg .pred p;\n"
		     "mov.u32 hi, %envreg1; mov.u32 lo, %envreg2; mov.b64 ws, {lo, hi}; add.u64 ws, ws, 4;\n"
		     "mov.u32 n, %nctaid.x; mov.u32 r, 0; mov.u32 want, n;\n"
		     "ROUND: barrier.sync 0; setp.ne.u32 p, tid, 0; @p bra WAIT;\n"
		     "mul.wide.u32 t, cta, 4; add.u64 t, out, t; st.global.u32 [t], want; membar.gl;\n"
		     "atom.add.release.gpu.u32 v, [ws], 1;\n"
		     "POLL: ld.acquire.gpu.u32 v, [ws]; setp.lt.u32 p, v, want; @p bra POLL;\n"
		     "WAIT: barrier.sync 0;\n"
		     /* everybody sees the neighbour's value of this round */
		     "add.u32 v, cta, 1; rem.u32 v, v, n; mul.wide.u32 t, v, 4; add.u64 t, out, t; "
		     "ld.volatile.global.u32 v, [t];\n"
		     "setp.ne.u32 p, v, want; @p trap;\n"
		     "barrier.sync 0; setp.ne.u32 p, tid, 0; @p bra WAIT2;\n"
		     "add.u32 want, want, n; atom.add.release.gpu.u32 v, [ws], 1;\n"
		     "POLL2: ld.acquire.gpu.u32 v, [ws]; setp.lt.u32 p, v, want; @p bra POLL2; sub.u32 want, "
		     "want, n;\n"
		     "WAIT2: barrier.sync 0; mad.lo.u32 want, n, 2, want;\n"
		     "add.u32 r, r, 1; setp.lt.u32 p, r, 4; @p bra ROUND; ret;\n}\n";
	static const char *const options[] = {"workers=1", "workers=2", "deterministic=1"};
	struct test_launch l = {.grid = {9, 1, 1}, .block = {64, 1, 1}, .cooperative = true};

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		uint32_t w[9] = {0};

		run_words(options[k], ptx, &l, w, 9);
		for (unsigned b = 0; b < 9; b++)
			assert_int_equal(w[b], 9 + 3 * 18);
	}
}

/* A block waits for a later one although the launch is not cooperative: blocks are suspended, not starved. */
static void later_block_first(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n" TID ".reg .b32 v; .reg .pred p;\n"
		     "setp.eq.u32 p, cta, 1; @p bra GIVE;\n"
		     "WAIT: ld.acquire.gpu.u32 v, [out]; setp.eq.u32 p, v, 0; @p bra WAIT; st.global.u32 "
		     "[out+4], v; ret;\n"
		     "GIVE: st.release.gpu.u32 [out], 9; ret;\n}\n";
	uint32_t w[2] = {0};

	(void)state;
	run_words("deterministic=1", ptx, LAUNCH1(2, 1), w, 2);
	assert_int_equal(w[1], 9);
}

/* One block writes a vector of equal elements again and again, another one reads its first and last: they are
 * equal. */
static const struct {
	const char *store, *from, *load, *to, *bits;
} whole[] = {
	{"st.relaxed.gpu.global.v2.b64", "{v, v}", "ld.relaxed.gpu.global.v2.b64", "{a, b}", "64"},
	{"st.volatile.global.v4.b32", "{v, v, v, v}", "ld.volatile.global.v4.b32", "{a, c, c, b}", "32"},
	{"st.release.sys.v2.b32", "{v, v}", "ld.acquire.sys.v2.b32", "{a, b}", "32"},
	{"st.cg.v4.b16", "{v, v, v, v}", "ld.cv.v4.b16", "{a, c, c, b}", "16"},
};

static void vectors_at_once(void **state)
{
	static const char ptx[] = HEAD
		".visible .entry k(.param .u64 p_out)\n{\n.reg .b32 i; .reg .pred p; .reg .b64 out;\n"
		".reg .b%s v, a, b, c; ld.param.u64 out, [p_out];\n"
		"mov.u32 i, %%ctaid.x; setp.eq.u32 p, i, 0; mov.u32 i, 0; @p bra WRITE;\n"
		"READ: %s %s, [out+64]; setp.ne.b%s p, a, b; @p trap;\n"
		"add.u32 i, i, 1; setp.lt.u32 p, i, 20000; @p bra READ; ret;\n"
		"WRITE: cvt.u%s.u32 v, i; %s [out+64], %s;\n"
		"add.u32 i, i, 1; setp.lt.u32 p, i, 20000; @p bra WRITE; st.global.u32 [out], i; ret;\n}\n";
	char text[4000];

	(void)state;
	for (unsigned k = 0; k < sizeof(whole) / sizeof(whole[0]); k++) {
		uint32_t w[32] = {0};

		snprintf(text, sizeof(text), ptx, whole[k].bits, whole[k].load, whole[k].to, whole[k].bits,
			 whole[k].bits, whole[k].store, whole[k].from);
		run_words("workers=2", text, LAUNCH1(2, 31), w, 32);
		assert_int_equal(w[0], 20000);
	}
}

/* Three-dimensional ids, linear order of threads, partial last warp. */
static void ids(void **state)
{
	static const char ptx[] =
		HEAD ".visible .entry k(.param .u64 p_out)\n{\n"
		     ".reg .b32 x, y, z, n, i, c; .reg .b64 o, out;\n"
		     "mov.u32 x, %tid.x; mov.u32 y, %tid.y; mov.u32 z, %tid.z; mov.u32 n, %ntid.y; "
		     "mad.lo.u32 i, z, n, y;\n"
		     "mov.u32 n, %ntid.x; mad.lo.u32 i, i, n, x;\n"
		     "mov.u32 c, %ctaid.z; mov.u32 n, %nctaid.y; mul.lo.u32 c, c, n; mov.u32 n, %ctaid.y; "
		     "add.u32 c, c, n;\n"
		     "mov.u32 n, %nctaid.x; mul.lo.u32 c, c, n; mov.u32 n, %ctaid.x; add.u32 c, c, n; "
		     "mad.lo.u32 i, c, 105, i;\n"
		     "mul.wide.u32 o, i, 4; ld.param.u64 out, [p_out]; add.u64 out, out, o;\n"
		     "mov.u32 n, %warpid; mul.lo.u32 n, n, 100; mov.u32 c, %laneid; add.u32 n, n, c; "
		     "st.global.u32 [out], n; ret;\n}\n";
	struct test_launch l = {.grid = {2, 3, 2}, .block = {7, 5, 3}};
	uint32_t w[105 * 12] = {0};

	(void)state;
	run_words("workers=2", ptx, &l, w, 105 * 12);
	for (unsigned k = 0; k < 105 * 12; k++)
		assert_int_equal(w[k], k % 105 / 32 * 100 + k % 105 % 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(divergent_loop),    cmocka_unit_test(turns_end_anywhere),
		cmocka_unit_test(spin_lock),         cmocka_unit_test(lock_in_function),
		cmocka_unit_test(producer_in_warp),  cmocka_unit_test(recursion),
		cmocka_unit_test(indirect_call),     cmocka_unit_test(branch_table),
		cmocka_unit_test(block_barrier),     cmocka_unit_test(barriers_in_a_row),
		cmocka_unit_test(named_barriers),    cmocka_unit_test(barrier_reductions),
		cmocka_unit_test(cooperative),       cmocka_unit_test(later_block_first),
		cmocka_unit_test(vectors_at_once),   cmocka_unit_test(ids),
		cmocka_unit_test(indirect_mismatch), cmocka_unit_test(indirect_constant),
		cmocka_unit_test(refused),           cmocka_unit_test(long_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
