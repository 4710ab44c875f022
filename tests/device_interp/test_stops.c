/* SPDX-License-Identifier: Apache-2.0
 *
 * What the interpreter has beyond other devices: faults without an address, watchdog, deadlock, injection, watch, options.
 */
#include <stdio.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define TID                                                                                                \
	".reg .b32 tid, cta, nt, gid; .reg .b64 out, at, off;\n"                                           \
	"mov.u32 tid, %tid.x; mov.u32 cta, %ctaid.x; mov.u32 nt, %ntid.x; mad.lo.u32 gid, cta, nt, tid;\n" \
	"ld.param.u64 out, [p_out]; mul.wide.u32 off, gid, 4; add.u64 at, out, off;\n"
#define ENTRY(name) ".visible .entry " name "(.param .u64 p_out)\n{\n" TID

static const struct {
	const char *body, *options;
	enum dev_fault_kind kind;
	const char *said;
} stops[] = {
	{"setp.ne.u32 p, gid, 3; @p exit; trap;", NULL, DEV_FAULT_TRAP, "trap: kernel k, stop.ptx:"},
	{"LOOP: bra LOOP;", "watchdog_ms=50", DEV_FAULT_TIMEOUT,
	 "the watchdog ended the kernel: kernel k, block (0,0,0) is at lines 10 "},
	{"LOOP: ld.volatile.global.u32 gid, [out]; setp.eq.u32 p, gid, 0; @p bra LOOP;",
	 "watchdog_ms=50,workers=2", DEV_FAULT_TIMEOUT, "(64 threads)"},
	{"setp.ne.u32 p, tid, 3; @p bar.sync 1;\n@!p bar.sync 2;", NULL, DEV_FAULT_TIMEOUT,
	 "deadlock: every thread waits: kernel k, block (0,0,0) is at lines 10 (62 threads), 11 (2 threads) "
	 "of stop.ptx"},
	{"bar.sync 20;", NULL, DEV_FAULT_ILLEGAL_INSTRUCTION, "barrier 20, there are 16"},
};

static void stopped(void **state)
{
	(void)state;
	for (unsigned k = 0; k < sizeof(stops) / sizeof(stops[0]); k++) {
		struct test_device t;
		struct test_module m;
		struct dev_fault f;
		char ptx[1000];

		snprintf(ptx, sizeof(ptx), "%s.reg .pred p;\n%s ret;\n}\n", HEAD ENTRY("k"), stops[k].body);
		test_open(&t, stops[k].options);
		test_load(&m, &t, ptx, "stop.ptx");
		uint64_t out = test_alloc(&t, 256, NULL);
		/* in the deadlock each warp has a lane of its own at the other barrier */
		struct test_launch l = {.grid = {1, 1, 1}, .block = {32, 2, 1}};

		assert_int_not_equal(test_run(&m, "k", &l, &out, 1, &f), 0);
		assert_int_equal(f.kind, stops[k].kind);
		if (!strstr(f.message, stops[k].said))
			fail_msg("\"%s\" doesn't say \"%s\"", f.message, stops[k].said);
		test_unload(&m);
		test_close(&t);
	}
}

static void endless_recursion(void **state)
{
	static const char ptx[] = HEAD
		".func down()\n{\n.local .b32 x[4];\ncall down;\nret;\n}\n" ENTRY("k") "call down; ret;\n}\n";
	struct test_device t;
	struct test_module m;
	struct dev_fault f;
	uint64_t out = 0;

	(void)state;
	test_open(&t, "stack_bytes=4096");
	test_load(&m, &t, ptx, "down.ptx");
	assert_int_not_equal(test_run(&m, "k", LAUNCH1(1, 32), &out, 1, &f), 0);
	assert_int_equal(f.kind, DEV_FAULT_STACK);
	assert_non_null(strstr(f.message, "down"));
	test_unload(&m);
	test_close(&t);
}

/* Line 10 adds, line 11 stores. */
static const char inject_ptx[] =
	HEAD ENTRY("k") ".reg .b32 v;\nadd.u32 v, gid, 100;\nst.global.u32 [at], v;\nret;\n}\n";

static void injection(void **state)
{
	static const struct {
		const char *spec;
		uint32_t line_bits, block, thread; /* thread 999: all */
	} rows[] = {
		{"k:10:4", 1 << 4, 0, 0},       {"k:11:31", 1u << 31, 0, 0}, {"k:10:0:1:33", 1, 1, 33},
		{"k:11:2:1:*", 1 << 2, 1, 999}, {"other:10:4", 0, 0, 0},     {"", 0, 0, 0},
	};
	struct test_device t;
	struct test_module m;
	struct diag d = DIAG_INIT;
	uint32_t w[128];

	(void)state;
	test_open(&t, "workers=2");
	test_load(&m, &t, inject_ptx, "inject.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);

	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		assert_int_equal(device_interp.control(t.dev, "inject", rows[r].spec, &d), 0);
		test_run_ok(&m, "k", LAUNCH1(2, 64), &out, 1);
		test_read(&t, w, out, sizeof(w));
		assert_int_equal(device_interp.inject_hits(t.dev), !rows[r].line_bits      ? 0
								   : rows[r].thread == 999 ? 64
											   : 1);
		for (unsigned k = 0; k < 128; k++) {
			bool here = k / 64 == rows[r].block &&
				    (rows[r].thread == 999 || k % 64 == rows[r].thread);

			assert_int_equal(w[k], (k + 100) ^ (here ? rows[r].line_bits : 0));
		}
	}
	assert_int_not_equal(device_interp.control(t.dev, "inject", "k:x:1", &d), 0);
	assert_int_not_equal(device_interp.control(t.dev, "inject", "k", &d), 0);
	test_unload(&m);
	test_close(&t);
}

static void watch(void **state)
{
	struct test_device t;
	struct test_module m;
	struct diag d = DIAG_INIT;
	struct dev_watch_hit hit;
	char spec[64];
	uint32_t w[128];

	(void)state;
	test_open(&t, "workers=2");
	test_load(&m, &t, inject_ptx, "watch.ptx");
	uint64_t out = test_alloc(&t, sizeof(w), NULL);

	snprintf(spec, sizeof(spec), "0x%llx:2", (unsigned long long)(out + 4 * 77 + 1));
	assert_int_equal(device_interp.control(t.dev, "watch", spec, &d), 0);
	assert_false(device_interp.watch_result(t.dev, &hit));
	test_run_ok(&m, "k", LAUNCH1(2, 64), &out, 1);
	assert_true(device_interp.watch_result(t.dev, &hit));
	assert_string_equal(hit.kernel, "k");
	assert_int_equal(hit.line, 11);
	assert_string_equal(hit.ptx, "st.global.u32 [at], v;");
	assert_int_equal(hit.block[0], 1);
	assert_int_equal(hit.thread[0], 13);
	assert_int_not_equal(hit.launch_id, 0);
	test_read(&t, w, out, sizeof(w));
	assert_int_equal(w[77], 177);
	assert_int_not_equal(device_interp.control(t.dev, "watch", "nonsense", &d), 0);
	test_unload(&m);
	test_close(&t);
}

static void options(void **state)
{
	struct device *dev;
	struct diag d = DIAG_INIT;
	struct dev_props p;

	(void)state;
	assert_int_not_equal(device_interp.open(&dev, 0, "speed=11", NULL, &d), 0);
	assert_non_null(strstr(d.what, "speed"));
	assert_int_not_equal(device_interp.open(&dev, 0, "workers=none", NULL, &d), 0);
	assert_int_equal(
		device_interp.open(&dev, 0, "cc=8.6,workers=3,deterministic=1,order=seed:4", NULL, &d), 0);
	device_interp.props(dev, &p);
	assert_int_equal(p.cc_major * 10 + p.cc_minor, 86);
	assert_int_equal(p.max_threads_per_sm, 1536); /* programming guide, table of compute capabilities */
	assert_int_equal(p.shared_per_block_optin, 99 << 10);
	assert_int_equal(device_interp.control(dev, "brightness", "1", &d), CUTRACE_ENOTSUP);
	assert_int_equal(device_interp.control(dev, "deterministic", "0", &d), 0);
	device_interp.close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped), cmocka_unit_test(endless_recursion), cmocka_unit_test(injection),
		cmocka_unit_test(watch),   cmocka_unit_test(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
