/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices of emulated AMD GPUs: options, properties, what ends a kernel and how it is told, limits, the heap and the
 * print buffer when they are full, registers that the launch decides. CUTRACE_TEST_TARGET: the GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/driver.h"

#define HEAD ".version 8.5\n.target sm_80\n.address_size 64\n"
#define TID                                                                                                \
	".reg .pred p; .reg .b32 tid, cta, nt, gid, v, w; .reg .b64 out, at, off, a;\n"                    \
	"mov.u32 tid, %tid.x; mov.u32 cta, %ctaid.x; mov.u32 nt, %ntid.x; mad.lo.u32 gid, cta, nt, tid;\n" \
	"ld.param.u64 out, [p_out]; mul.wide.u32 off, gid, 4; add.u64 at, out, off;\n"
#define ENTRY ".visible .entry k(.param .u64 p_out)\n{\n" TID

/* ---- opening ------------------------------------------------------------------------------- */

static void options(void **state)
{
	static const struct {
		const char *text;
		bool right;
	} rows[] = {
		{"gfx942,deterministic=1,workers=3", true},
		{"", true},
		{"check_waits,perturb=7,opt=2", true},
		{"gfx1100,print_bytes=4096,heap_bytes=0x10000", true},
		{"gfx803", false},
		{"workers=0", false},
		{"workers=many", false},
		{"contract=all,opt=1,ahead=1", true},
		{"opt=4", false},
		{"contract=some", false},
		{"ahead=2", false},
		{"speed=11", false},
		{"heap_bytes=-", false},
	};
	const struct dev_host host = {0};

	(void)state;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct diag d = DIAG_INIT;
		struct device *dev = NULL;

		print_message("%s\n", rows[k].text);
		assert_int_equal(device_amdemu.open(&dev, 0, rows[k].text, &host, &d) == 0, rows[k].right);
		assert_int_equal(d.what[0] == 0, rows[k].right);
		if (dev)
			device_amdemu.close(dev);
	}
}

static void properties(void **state)
{
	const char *target = getenv("CUTRACE_TEST_TARGET");
	struct test_device t;
	struct dev_props p;
	struct diag d = DIAG_INIT;
	char name[64];

	(void)state;
	test_open(&t, NULL);
	device_amdemu.props(t.dev, &p);
	snprintf(name, sizeof(name), "AMD %s (emulated)", target);
	assert_string_equal(p.name, name);
	assert_int_equal(p.warp_size, 32);
	assert_int_equal(p.shared_per_block_optin, 65536);
	assert_true(p.sm_count >= 40 && p.cooperative);
	assert_int_equal(device_amdemu.control(t.dev, "watch", "0x1000:4", &d), CUTRACE_ENOTSUP);
	assert_non_null(strstr(d.what, "interp"));
	assert_int_equal(device_amdemu.control(t.dev, "brightness", "1", &d), CUTRACE_ENOTSUP);
	assert_int_equal(device_amdemu.control(t.dev, "deterministic", "1", &d), 0);
	assert_int_equal(device_amdemu.control(t.dev, "heap_bytes", "65536", &d), 0);
	assert_int_equal(device_amdemu.control(t.dev, "print_bytes", "much", &d), CUTRACE_EINVAL);
	test_close(&t);
}

/* ---- what ends a kernel ------------------------------------------------------------------------ */

static const struct end {
	const char *functions, *body, *options;
	enum dev_fault_kind kind;
	uint32_t block, thread;
	const char *said[3];
} ends[] = {
	{"",
	 "setp.ne.u32 p, gid, 37; @p bra OVER;\n.loc 1 17 3\ntrap;\nOVER:",
	 NULL,
	 DEV_FAULT_TRAP,
	 1,
	 5,
	 {"trap: kernel k, end.ptx:", "`trap;` (where.cu:17)", "block (1,0,0), thread (5,0,0)"}},
	{"", "setp.eq.u32 p, gid, 0; @p brkpt;", NULL, DEV_FAULT_TRAP, 0, 0, {"breakpoint"}},
	{".func stop(.reg .b32 x) { .reg .pred p; setp.eq.u32 p, x, 33; @p trap; ret; }\n",
	 "call stop, (gid);",
	 NULL,
	 DEV_FAULT_TRAP,
	 1,
	 1,
	 {"trap"}},
	/* the others wait for the one that has ended */
	{"",
	 "setp.lt.u32 p, gid, 32; @p trap; LOOP: ld.volatile.global.u32 v, [out]; setp.eq.u32 p, v, 0; @p "
	 "bra "
	 "LOOP;",
	 NULL,
	 DEV_FAULT_TRAP,
	 0,
	 0,
	 {"trap"}},
	{"",
	 "setp.eq.u32 p, gid, 3; @p st.global.u32 [out+4096], gid;",
	 NULL,
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 0,
	 3,
	 {"illegal store of 4 bytes at global address", "0 bytes behind the end of the nearest allocation",
	  "st.global.u32"}},
	{"",
	 "mov.u64 a, 24; setp.eq.u32 p, gid, 32; @p ld.u64 off, [a]; st.global.u64 [out], off;",
	 NULL,
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 1,
	 0,
	 {"illegal load of 8 bytes at global address 0x18"}},
	{"",
	 "setp.eq.u32 p, gid, 1; @p red.global.add.u32 [out-4], 1;",
	 NULL,
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 0,
	 1,
	 {"illegal atomic operation of 4 bytes", "4 bytes before the nearest allocation"}},
	{"", "LOOP: bra LOOP;", "watchdog_ms=50", DEV_FAULT_TIMEOUT, 0, 0, {"50 ms"}},
	{"",
	 "LOOP: ld.volatile.global.u32 v, [out]; setp.eq.u32 p, v, 0; @p bra LOOP;",
	 "watchdog_ms=50,workers=1",
	 DEV_FAULT_TIMEOUT,
	 0,
	 0,
	 {"50 ms", "end.ptx:", "block (0,0,0)"}},
	{".func down(.param .b32 x)\n{\n.reg .b32 v; .reg .pred p; .param .b32 y; ld.param.b32 v, [x];\n"
	 "setp.eq.u32 p, v, 12345; @p bra OVER; add.u32 v, v, 2; st.param.b32 [y], v; call down, (y);\nOVER: "
	 "ret;\n}\n",
	 "{ .param .b32 x; st.param.b32 [x], 0; call down, (x); }",
	 NULL,
	 DEV_FAULT_STACK,
	 0,
	 0,
	 {"stack"}},
	/* in the device library, on behalf of a call */
	{".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n",
	 "setp.ne.u32 p, gid, 1; @p bra OVER; { .param .b64 x; .param .b64 y; .param .b32 r; mov.u64 a, "
	 "4096;\n"
	 "st.param.b64 [x], a; st.param.b64 [y], a;\ncall (r), vprintf, (x, y); }\nOVER:",
	 NULL,
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 0,
	 1,
	 {"illegal load of 1 bytes at global address 0x1000", "`call (r), vprintf"}},
	{".extern .func free(.param .b64 p);\n",
	 "setp.ne.u32 p, gid, 2; @p bra OVER; { .param .b64 x; st.param.b64 [x], out; call free, (x); "
	 "}\nOVER:",
	 NULL,
	 DEV_FAULT_ILLEGAL_ADDRESS,
	 0,
	 2,
	 {"free of what is not on the device's heap", "`setp.ne.u32"}},
};

static void check_end(const struct end *e)
{
	struct test_device t;
	struct test_module m;
	struct dev_fault f = {0};
	char ptx[2000];

	print_message("%s\n", e->body);
	snprintf(ptx, sizeof(ptx), "%s.file 1 \"where.cu\"\n%s%s%s\nret;\n}\n", HEAD, e->functions, ENTRY,
		 e->body);
	test_open(&t, e->options);
	test_load(&m, &t, ptx, "end.ptx");
	uint64_t out = test_alloc(&t, 4096, NULL);

	assert_int_equal(test_run(&m, "k", LAUNCH1(2, 32), &out, 1, &f), CUTRACE_EINVAL);
	print_message("    %s\n", f.message);
	assert_int_equal(f.kind, e->kind);
	assert_string_equal(f.kernel, "k");
	if (e->kind != DEV_FAULT_TIMEOUT && e->kind != DEV_FAULT_STACK) {
		assert_int_equal(f.block[0], e->block);
		assert_int_equal(f.thread[0], e->thread);
	}
	for (unsigned k = 0; k < 3 && e->said[k]; k++)
		if (!strstr(f.message, e->said[k]))
			fail_msg("\"%s\" doesn't say \"%s\"", f.message, e->said[k]);
	test_unload(&m);
	test_close(&t);
}

static void every_end(void **state)
{
	(void)state;
	for (unsigned k = 0; k < sizeof(ends) / sizeof(ends[0]); k++)
		check_end(&ends[k]);
}

/* exit ends a thread, also in a function; the others of its warp go on. */
static void exits(void **state)
{
	static const char ptx[] =
		HEAD ".func leave(.reg .b32 x) { .reg .pred p; and.b32 x, x, 1; setp.eq.u32 p, x, 1; @p "
		     "exit; ret; }\n" ENTRY "call leave, (gid); st.global.u32 [at], 7; ret;\n}\n";
	struct test_device t;
	struct test_module m;
	uint32_t w[96];

	(void)state;
	test_open(&t, NULL);
	test_load(&m, &t, ptx, "exit.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);

	test_run_ok(&m, "k", LAUNCH1(2, 48), &out, 1);
	test_read(&t, w, out, sizeof(w));
	for (unsigned k = 0; k < 96; k++)
		assert_int_equal(w[k], k & 1 ? 0 : 7);
	test_unload(&m);
	test_close(&t);
}

/* ---- limits ----------------------------------------------------------------------------------------- */

static void shared_memory(void **state)
{
	static const char ptx[] = HEAD
		".extern .shared .align 4 .b8 more[];\n.shared .b32 own[1024];\n" ENTRY
		"mov.u32 v, more; shl.b32 w, tid, 2; add.u32 v, v, w; st.shared.u32 [v], gid;\n"
		"mov.u32 v, own; add.u32 v, v, w; st.shared.u32 [v], tid; bar.sync 0;\n"
		"mov.u32 v, more; add.u32 v, v, w; ld.shared.u32 w, [v]; st.global.u32 [at], w;\nret;\n}\n"
		".visible .entry big()\n{\n.reg .b32 v; .shared .b8 x[70000]; ld.shared.b32 v, [x]; "
		"st.shared.b32 [x+4], v; ret;\n}\n";
	struct test_device t;
	struct test_module m;
	struct dev_kernel *kernel;
	struct diag d = DIAG_INIT;
	struct dev_fault f = {0};
	uint32_t w[128];

	(void)state;
	test_open(&t, NULL);
	test_load(&m, &t, ptx, "shared.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);
	struct test_launch l = {.grid = {2, 1, 1}, .block = {64, 1, 1}, .shared_bytes = 61440};

	test_run_ok(&m, "k", &l, &out, 1);
	test_read(&t, w, out, sizeof(w));
	for (unsigned k = 0; k < 128; k++)
		assert_int_equal(w[k], k);
	l.shared_bytes++;
	assert_int_not_equal(test_run(&m, "k", &l, &out, 1, &f), 0);
	assert_non_null(strstr(f.message, "65537 bytes of shared memory (4096 static, 61441 dynamic)"));
	assert_non_null(strstr(f.message, "65536"));
	assert_int_not_equal(test_kernel(&m, "big", &kernel, &d), 0);
	assert_non_null(strstr(d.what, "70000 bytes of shared memory"));
	test_unload(&m);
	test_close(&t);
}

#define MALLOC ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n"

/* Each thread takes 1000 bytes until there are none left. All that it gets are aligned, apart, and given back. */
static void heap_limit(void **state)
{
	static const char ptx[] = HEAD MALLOC ENTRY
		".reg .b64 last; mov.u64 last, 0; mov.u32 v, 0;\n"
		"MORE: { .param .b64 n; .param .b64 r; st.param.b64 [n], 1000; call (r), malloc, (n); "
		"ld.param.b64 a, [r]; }\n"
		"setp.eq.u64 p, a, 0; @p bra FULL; and.b64 off, a, 15; setp.ne.u64 p, off, 0; @p trap;\n"
		"st.u64 [a], last; st.u32 [a+992], gid; st.u32 [a+996], v; mov.u64 last, a; add.u32 v, v, 1; "
		"bra MORE;\n"
		"FULL: st.global.u32 [at], v;\n"
		"BACK: setp.eq.u64 p, last, 0; @p bra DONE; ld.u32 w, [last+992]; setp.ne.u32 p, w, gid; @p "
		"trap;\n"
		"sub.u32 v, v, 1; ld.u32 w, [last+996]; setp.ne.u32 p, w, v; @p trap; ld.u64 a, [last];\n"
		"{ .param .b64 n; st.param.b64 [n], last; call free, (n); } mov.u64 last, a; bra "
		"BACK;\nDONE: ret;\n}\n";
	struct test_device t;
	struct test_module m;
	uint32_t w[128];

	(void)state;
	test_open(&t, "heap_bytes=262144,workers=2");
	test_load(&m, &t, ptx, "heap.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);

	/* What was given back serves others, and the next launch: with one thread all of it, in blocks of 1008 bytes and a
	 * header of 16. */
	for (unsigned round = 0; round < 3; round++) {
		const unsigned threads = round == 2 ? 1 : 128;
		uint32_t sum = 0;

		test_run_ok(&m, "k", LAUNCH1(threads == 1 ? 1 : 2, threads == 1 ? 1 : 64), &out, 1);
		test_read(&t, w, out, sizeof(w));
		for (unsigned k = 0; k < threads; k++)
			sum += w[k];
		assert_true(sum >= (262144 / 16 - 2) / 64);
		if (round == 2)
			assert_int_equal(sum, (262144 / 16 - 2) / 64);
	}
	test_unload(&m);
	test_close(&t);
}

/* What found room is printed whole; how many calls did not is told. */
static void print_limit(void **state)
{
	static const char ptx[] = HEAD
		".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
		".global .align 1 .b8 fmt[8] = {37, 100, 44, 37, 115, 59, 0, 0};\n" ENTRY
		".local .align 8 .b8 args[16]; .local .align 8 .b8 word[8]; .reg .b64 b;\n"
		"mov.u32 v, 0x6261; st.local.u32 [word], v; mov.u64 a, word; cvta.local.u64 a, a; "
		"st.local.u64 [args+8], a;\n"
		"st.local.u32 [args], gid; mov.u64 b, args; cvta.local.u64 b, b; mov.u64 a, fmt; "
		"cvta.global.u64 a, a;\n"
		"{ .param .b64 x; .param .b64 y; .param .b32 r; st.param.b64 [x], a; st.param.b64 [y], b;\n"
		"call (r), vprintf, (x, y); ld.param.b32 v, [r]; }\nst.global.u32 [at], v; ret;\n}\n";
	char want[200] = "";
	struct test_device t;
	struct test_module m;
	uint32_t w[64];

	(void)state;
	/* a record: 16 bytes of header, 8 of the format, 16 of arguments, 8 of strings */
	test_open(&t, "print_bytes=500,deterministic=1");
	test_load(&m, &t, ptx, "print.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);

	test_run_ok(&m, "k", LAUNCH1(2, 32), &out, 1);
	for (unsigned k = 0; k < 10; k++)
		sprintf(want + strlen(want), "%u,ab;", k);
	assert_string_equal(t.printed, want);
	assert_non_null(strstr(t.reported, "54 calls of printf in a kernel were lost"));
	test_read(&t, w, out, sizeof(w));
	for (unsigned k = 0; k < 64; k++)
		assert_int_equal(w[k], 2);
	test_unload(&m);
	test_close(&t);
}

/* ---- registers of the launch ---------------------------------------------------------------------------- */

static void registers(void **state)
{
	static const char ptx[] =
		HEAD ".extern .shared .align 4 .b8 more[];\n" ENTRY
		     ".reg .b64 t0, t1; mov.u64 t0, %globaltimer; mov.u32 v, %dynamic_smem_size; "
		     "st.global.u32 [out], v;\n"
		     "mov.u32 v, %total_smem_size; st.global.u32 [out+4], v; mov.u32 v, %nsmid; "
		     "st.global.u32 [out+8], v;\n"
		     "mov.u32 w, %smid; setp.ge.u32 p, w, v; @p trap; mov.u64 a, %gridid; st.global.u64 "
		     "[out+16], a;\n"
		     "mov.u32 v, %envreg1; mov.u32 w, %envreg2; or.b32 v, v, w; st.global.u32 [out+12], v;\n"
		     "mov.u64 t1, %globaltimer; setp.lt.u64 p, t1, t0; @p trap;\n"
		     "mov.u32 v, more; st.shared.u32 [v], tid; ret;\n}\n";
	struct test_device t;
	struct test_module m;
	struct dev_props p;
	struct {
		uint32_t dynamic, total, processors, grid;
		uint64_t id;
	} w;

	(void)state;
	test_open(&t, NULL);
	device_amdemu.props(t.dev, &p);
	test_load(&m, &t, ptx, "registers.ptx");
	uint64_t out = test_alloc(&t, 4096, NULL), first = 0;

	for (unsigned k = 0; k < 2; k++) {
		struct test_launch l = {
			.grid = {3, 1, 1}, .block = {8, 1, 1}, .shared_bytes = 200, .cooperative = k};

		test_run_ok(&m, "k", &l, &out, 1);
		test_read(&t, &w, out, sizeof(w));
		assert_int_equal(w.dynamic, 200);
		assert_int_equal(w.total, 256);
		assert_int_equal(w.processors, p.sm_count);
		assert_int_equal(w.grid != 0, k);
		assert_true(w.id > first);
		first = w.id;
	}
	test_unload(&m);
	test_close(&t);
}

/* Every block of a cooperative launch waits for all others at words of the grid, again and again: the words count. */
static void grid_barrier(void **state)
{
	static const char ptx[] = HEAD ENTRY
		".reg .b64 word; .reg .b32 blocks, round, goal; mov.u32 v, %envreg1; mov.u32 w, %envreg2;\n"
		"mov.b64 word, {w, v}; mov.u32 blocks, %nctaid.x; mov.u32 round, 0; mov.u32 goal, 0;\n"
		"AGAIN: atom.global.add.u32 v, [out], 1; bar.sync 0; add.u32 goal, goal, blocks;\n"
		"setp.ne.u32 p, tid, 0; @p bra MEET; fence.acq_rel.gpu; atom.global.add.u32 v, [word], 1;\n"
		"WAIT: ld.acquire.gpu.global.u32 v, [word]; setp.lt.u32 p, v, goal; @p bra WAIT;\n"
		"MEET: bar.sync 0; ld.relaxed.gpu.global.u32 v, [out]; mul.lo.u32 w, goal, nt; setp.lt.u32 "
		"p, v, w; @p trap;\n"
		"bar.sync 0; add.u32 round, round, 1; setp.lt.u32 p, round, 4; @p bra AGAIN;\nret;\n}\n";
	struct test_launch l = {.grid = {37, 1, 1}, .block = {64, 1, 1}, .cooperative = true};
	struct test_device t;
	struct test_module m;
	uint32_t sum;

	(void)state;
	test_open(&t, NULL);
	test_load(&m, &t, ptx, "grid.ptx");
	uint64_t out = test_alloc(&t, 64, NULL);

	test_run_ok(&m, "k", &l, &out, 1);
	test_read(&t, &sum, out, 4);
	assert_int_equal(sum, 4 * 37 * 64);
	test_unload(&m);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options),       cmocka_unit_test(properties),
		cmocka_unit_test(every_end),     cmocka_unit_test(exits),
		cmocka_unit_test(shared_memory), cmocka_unit_test(heap_limit),
		cmocka_unit_test(print_limit),   cmocka_unit_test(registers),
		cmocka_unit_test(grid_barrier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
