/* SPDX-License-Identifier: Apache-2.0
 *
 * What is not executed is refused for its kernel alone, with line, column and
 * reason; the module's other kernel runs. */
#include "driver.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *target, *declarations, *directives, *statement, *what;
} refusals[] = {
	{"sm_90a", "", "", "wgmma.fence.sync.aligned;",
	 "wgmma.fence.sync.aligned: matrix operations of a warpgroup are not executed"},
	{"sm_90a", "", "",
	 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0,f1,f2,f3}, d0, d1, 1, 1, 1, 0, 0;",
	 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16: matrix operations of a warpgroup are not "
	 "executed"},
	{"sm_100a", "", "", "tcgen05.wait::ld.sync.aligned;",
	 "tcgen05.wait::ld.sync.aligned: matrix operations of the fifth generation's tensor cores are not "
	 "executed"},
	{"sm_100a", "", "", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r1], 32;",
	 "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32: matrix operations of the fifth "
	 "generation's tensor cores are not executed"},
	{"sm_90", "", "",
	 "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [r1], [d1, {r2}], "
	 "[r0];",
	 "copies through tensor maps are not executed"},
	{"sm_90", "", "",
	 "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [d1, {r2}], [r0];",
	 "copies through tensor maps are not executed"},
	{"sm_90", "", "", "cp.async.bulk.prefetch.tensor.1d.L2.global [d1, {r2}];",
	 "copies through tensor maps are not executed"},
	{"sm_90a", "", "", "tensormap.replace.tile.rank.global.b1024.b32 [d1], 1;",
	 "copies through tensor maps are not executed"},
	{"sm_90", "", "", "multimem.red.relaxed.gpu.global.add.u32 [d1], r0;",
	 "multimem.red.relaxed.gpu.global.add.u32: operations on multicast objects are not executed"},
	{"sm_100", "", "",
	 "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [d1], [d2];",
	 "launches that a cluster cancels are not executed"},
	{"sm_90", "", "",
	 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r1], [d1], r2, [r3];",
	 "bulk copies by the asynchronous proxy are not executed"},
	{"sm_100", "", "", "st.bulk [d0], d1, 0;", "st.bulk: bulk stores are not executed"},
	{"sm_90", "", ".reqnctapercluster 2, 1, 1", "ret;",
	 "kernel wrong: clusters of 2x1x1 blocks are not executed"},
	{"sm_80",
	 ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 parameters, .param .b64 "
	 "stream);\n",
	 "", "{ .param .b32 r; .param .b64 a; .param .b64 b; call (r), __cudaCDP2LaunchDeviceV2, (a, b); }",
	 "call: call of __cudaCDP2LaunchDeviceV2: launches from the device (CUDA dynamic parallelism) are "
	 "not executed"},
	{"sm_80", "", "", "cvta.shared.u32 r1, r2;",
	 "cvta.shared.u32: addresses of 32 bits are not executed"},
	{"sm_80", "", "", "cvta.to.global.u32 r1, r2;",
	 "cvta.to.global.u32: addresses of 32 bits are not executed"},
	{"sm_10, map_f64_to_f32", "", "", "add.f64 d0, d1, d2;",
	 "add.f64: double precision that stands for single (.target map_f64_to_f32) is not executed"},
	{"sm_80", ".extern .func elsewhere();\n", "", "call elsewhere;",
	 "call: call of elsewhere, which is not defined in this module and is no function of the device as "
	 "declared"},
};

/* The statement's place: it is the only one that stands behind two tabs. */
static void place_of(const char *text, char *where, size_t bytes)
{
	const char *at = strstr(text, "\t\t");
	unsigned line = 1;

	for (const char *p = text; p < at; p++)
		line += *p == '\n';
	snprintf(where, bytes, "mixed.ptx:%u:", line);
}

static void check_neighbour(struct test_device *t, struct test_module *m)
{
	uint64_t out = test_alloc(t, 128, NULL);
	uint32_t v;

	test_run_ok(m, "fine", LAUNCH1(1, 32), &out, 1);
	test_read(t, &v, out, 4);
	assert_int_equal(v, 3);
}

static void refused(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(refusals) / sizeof(refusals[0]); k++) {
		struct test_device t;
		struct test_module m;
		struct dev_kernel *kernel;
		struct diag d = DIAG_INIT;
		char text[2048], where[64];

		snprintf(text, sizeof(text),
			 ".version 9.0\n.target %s\n.address_size 64\n%s\n"
			 ".visible .entry fine(.param .u64 out)\n{\n\t.reg .b64 at;\n\tld.param.u64 at, "
			 "[out];\n"
			 "\tst.global.u32 [at], 3;\n\tret;\n}\n"
			 ".visible .entry wrong() %s\n{\n\t.reg .b32 r<4>; .reg .b64 d<4>; .reg .f32 f<4>;\n"
			 "\t\t%s\n\tret;\n}\n",
			 refusals[k].target, refusals[k].declarations, refusals[k].directives,
			 refusals[k].statement);
		place_of(text, where, sizeof(where));
		if (refusals[k].directives[0]) /* the kernel's own line, above its braces and registers */
			snprintf(where, sizeof(where), "mixed.ptx:12:1");
		test_open(&t, NULL);
		test_load(&m, &t, text, "mixed.ptx");
		int rc = test_kernel(&m, "wrong", &kernel, &d);
		if (rc != CUTRACE_ENOTSUP || !strstr(d.what, refusals[k].what) ||
		    strncmp(d.where, where, strlen(where)) != 0) {
			print_error("%s\n  wanted %s %s\n  got %s %s\n", refusals[k].statement, where,
				    refusals[k].what, d.where, d.what);
			fail();
		}
		assert_int_equal(test_kernel(&m, "wrong", &kernel, &d), CUTRACE_ENOTSUP); /* and again */
		check_neighbour(&t, &m);
		test_unload(&m);
		test_close(&t);
	}
}

static void narrow_addresses(void **state)
{
	static const char text[] = ".version 3.0\n.target sm_20\n.address_size 32\n.entry k() { ret; }\n";
	struct test_device t;
	struct test_module m;
	struct dev_kernel *kernel;
	struct diag d = DIAG_INIT;

	(void)state;
	test_open(&t, NULL);
	test_load(&m, &t, text, "narrow.ptx");
	assert_int_equal(test_kernel(&m, "k", &kernel, &d), CUTRACE_ENOTSUP);
	assert_string_equal(d.where, "narrow.ptx:4:1");
	assert_string_equal(d.what, "kernel k: 32-bit addresses are not executed");
	test_unload(&m);
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(narrow_addresses),
	};
	return cmocka_run_group_tests_name("interpreter refusals", tests, NULL, NULL);
}
