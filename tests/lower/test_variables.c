/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of variables in local and shared memory, told apart and mixed: what is stored must be found, by whichever way
 * an address came, and variables whose addresses are plain need no scratch memory. Argument: a target.
 */
#include "load.h"

#include "tests/ptx/fixture.h"
#include "zluda_core/compiler/compiler.h"

enum { THREADS = 64 };

/* Each body computes u32 `out` from `t`, the thread; `a`, `b` are local arrays of 8 words, `s`, `u` shared ones. */
struct row {
	const char *name, *body;
	uint32_t (*want)(uint32_t t);
	bool may_need_scratch;
};

static uint32_t elements(uint32_t t)
{
	return 100 + (t & 7) * 3;
}

static uint32_t either(uint32_t t)
{
	return t & 1 ? 7 : 9;
}

static uint32_t both(uint32_t t)
{
	return t & 1 ? 7 * 1000 + 5 : 5 * 1000 + 7;
}

static uint32_t through_memory(uint32_t t)
{
	return t + 11;
}

static uint32_t kept(uint32_t t)
{
	return t & 1 ? 1 : 2;
}

static uint32_t bytes(uint32_t t)
{
	return 0x01020304u >> 8 * (t & 3) & 0xff;
}

static uint32_t neighbour(uint32_t t)
{
	return t ^ 1;
}

static uint32_t loop(uint32_t t)
{
	return 28 + 8 * t;
}

#define FILL_A                                                                                           \
	"st.local.u32 [a], 100; st.local.u32 [a+4], 103; st.local.u32 [a+8], 106; st.local.u32 [a+12], " \
	"109; "                                                                                          \
	"st.local.u32 [a+16], 112; st.local.u32 [a+20], 115; st.local.u32 [a+24], 118; st.local.u32 "    \
	"[a+28], 121;\n"

static const struct row rows[] = {
	{"constant offsets",
	 "st.local.u32 [a+4], t; mov.u64 p, a; add.u64 p, p, 4; ld.local.u32 out, [p]; add.u32 out, out, 11;",
	 through_memory, false},
	{"an index that varies",
	 FILL_A
	 "and.b32 x, t, 7; mul.wide.u32 q, x, 4; mov.u64 p, a; add.u64 p, p, q; ld.local.u32 out, [p];",
	 elements, false},
	{"generic form",
	 FILL_A "and.b32 x, t, 7; mul.wide.u32 q, x, 4; mov.u64 p, a; cvta.local.u64 p, p; add.u64 p, p, q; "
		"ld.u32 out, [p];",
	 elements, false},
	{"generic and back",
	 FILL_A "and.b32 x, t, 7; mad.wide.u32 p, x, 4, a; cvta.local.u64 p, p; cvta.to.local.u64 p, p; "
		"ld.local.u32 out, [p];",
	 elements, false},
	{"a walk",
	 "mov.u64 p, a; mov.u32 x, 0;\nFILL: add.u32 y, x, t; st.local.u32 [p], y; add.u64 p, p, 4; add.u32 "
	 "x, x, 1; "
	 "setp.lt.u32 c, x, 8; @c bra FILL;\nmov.u64 p, a; mov.u32 x, 0; mov.u32 out, 0;\nSUM: ld.local.u32 "
	 "y, [p]; "
	 "add.u32 out, out, y; add.u64 p, p, 4; add.u32 x, x, 1; setp.lt.u32 c, x, 8; @c bra SUM;",
	 loop, false},
	{"one of two, selected",
	 "st.local.u32 [a], 7; st.local.u32 [b], 9; mov.u64 p, a; mov.u64 q, b; and.b32 x, t, 1; "
	 "setp.eq.u32 c, x, 1; selp.b64 p, p, q, c; ld.local.u32 out, [p];",
	 either, true},
	{"one of two, by way",
	 "st.local.u32 [a], 7; st.local.u32 [b], 9; and.b32 x, t, 1; setp.eq.u32 c, x, 1; @c bra ODD; "
	 "mov.u64 p, b; bra READ;\nODD: mov.u64 p, a;\nREAD: ld.local.u32 out, [p];",
	 either, true},
	{"one of two, written",
	 "st.local.u32 [a], 7; st.local.u32 [b], 7; and.b32 x, t, 1; setp.eq.u32 c, x, 1; mov.u64 p, a; "
	 "@c mov.u64 p, b; st.local.u32 [p], 5; ld.local.u32 x, [a]; ld.local.u32 y, [b]; "
	 "mad.lo.u32 out, x, 1000, y;",
	 both, true},
	{"kept under a guard",
	 "st.local.u32 [a], 2; st.local.u32 [a+4], 1; and.b32 x, t, 1; setp.eq.u32 c, x, 1; mov.u64 p, a; "
	 "@c add.u64 p, p, 4; ld.local.u32 out, [p];",
	 kept, false},
	{"an address in memory",
	 "add.u32 x, t, 11; st.local.u32 [a+12], x; mov.u64 p, a; st.local.u64 [b], p; "
	 "ld.local.u64 q, [b]; ld.local.u32 out, [q+12];",
	 through_memory, true},
	{"an address computed in a way that isn't followed",
	 "add.u32 x, t, 11; st.local.u32 [a+4], x; mov.u64 p, a; shl.b64 p, p, "
	 "1; shr.u64 p, p, 1; ld.local.u32 out, [p+4];",
	 through_memory, true},
	{"bytes of words",
	 "st.local.u32 [a], 0x01020304; and.b32 x, t, 3; cvt.u64.u32 q, x; mov.u64 p, a; add.u64 p, p, q; "
	 "ld.local.u8 out, [p];",
	 bytes, true},
	{"shared, by 32 bits",
	 "mov.u32 x, s; mad.lo.u32 x, t, 4, x; st.shared.u32 [x], t; bar.sync 0; xor.b32 y, t, 1; "
	 "mov.u32 x, s; mad.lo.u32 x, y, 4, x; ld.shared.u32 out, [x];",
	 neighbour, false},
	{"shared, generic",
	 "mov.u64 p, u; cvta.shared.u64 p, p; mul.wide.u32 q, t, 4; add.u64 p, p, q; st.u32 [p], t; bar.sync "
	 "0; "
	 "xor.b32 y, t, 1; mul.wide.u32 q, y, 4; mov.u64 p, u; add.u64 p, p, q; ld.shared.u32 out, [p];",
	 neighbour, false},
	{"shared, cut to 32 bits",
	 "mul.wide.u32 q, t, 4; mov.u64 p, u; add.u64 p, p, q; cvta.shared.u64 p, p; "
	 "cvta.to.shared.u64 p, p; cvt.u32.u64 x, p; st.shared.u32 [x], t; bar.sync 0; xor.b32 y, t, 1; "
	 "mul.wide.u32 q, y, 4; mov.u64 p, u; add.u64 p, p, q; ld.shared.u32 out, [p];",
	 neighbour, false},
	{"shared, one of two",
	 "mul.wide.u32 q, t, 4; and.b32 x, t, 1; setp.eq.u32 c, x, 1; mov.u64 p, s; @c mov.u64 p, u; "
	 "add.u64 p, p, q; st.shared.u32 [p], t; bar.sync 0; xor.b32 y, t, 1; mul.wide.u32 q, y, 4; "
	 "mov.u64 p, u; @c mov.u64 p, s; add.u64 p, p, q; ld.shared.u32 out, [p];",
	 neighbour, false},
	{"shared, an address computed in a way that isn't followed",
	 "mul.wide.u32 q, t, 4; mov.u64 p, u; shl.b64 p, p, 1; shr.u64 p, p, 1; add.u64 p, p, q; "
	 "st.shared.u32 [p], t; bar.sync "
	 "0; xor.b32 y, t, 1; mul.wide.u32 q, y, 4; mov.u64 p, u; add.u64 p, p, q; ld.shared.u32 out, [p];",
	 neighbour, false},
	{"shared, a generic address computed in a way that isn't followed",
	 "mul.wide.u32 q, t, 4; mov.u64 p, u; cvta.shared.u64 p, p; shl.b64 p, p, 1; shr.u64 p, p, 1; "
	 "add.u64 p, p, q; st.u32 "
	 "[p], t; bar.sync 0; xor.b32 y, t, 1; mul.wide.u32 q, y, 4; mov.u64 p, u; add.u64 p, p, q; "
	 "ld.shared.u32 out, [p];",
	 neighbour, false},
};

static const char *target_name;

static void check(const struct row *r)
{
	struct device_memory memory = {0};
	struct kernel_args args = {0};
	struct amdgpu_fault fault = {0};
	struct lowered l;
	char text[4096];
	void *host;

	snprintf(text, sizeof(text),
		 ".version 9.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 to)\n{\n.local .align "
		 "8 .b8 a[32], b[32];\n"
		 ".shared .align 8 .b8 s[256], u[256];\n.reg .b32 t, x, y, out; .reg .b64 p, q; .reg .pred "
		 "c;\n"
		 "mov.u32 t, %%tid.x;\n%s\nld.param.u64 p, [to]; mul.wide.u32 q, t, 4; add.u64 p, p, q; "
		 "st.global.u32 [p], "
		 "out; ret;\n}\n",
		 r->body);
	struct ptx_module *m = parse_text(text);
	struct amdgpu_object *o = lower_and_load(&memory, m, "k", target_name, &l);
	uint64_t address = device_buffer(&memory, NULL, 4 * THREADS, &host);

	args_add(&args, &address, sizeof(address));
	const struct device_launch launch = {
		.object = o, .kernel = "k", .grid = {1, 1}, .block = {THREADS, 1}, .threads = 1};
	if (device_run(&memory, &launch, &args, &fault, NULL))
		fail_msg("%s: %s", r->name, fault.message);
	for (uint32_t t = 0; t < THREADS; t++) {
		uint32_t got;

		memcpy(&got, (const char *)host + 4 * t, 4);
		if (got != r->want(t))
			fail_msg("%s, thread %u: %u, not %u", r->name, t, got, r->want(t));
	}
	uint32_t scratch = amdgpu_object_kernel(o, "k")->private_bytes;
	assert_true(amdgpu_object_kernel(o, "k")->group_bytes >= ptx_func_find(m, "k")->shared_bytes);
	if (scratch && !r->may_need_scratch)
		fail_msg("%s: %u bytes of scratch", r->name, scratch);
	device_release(&memory);
	amdgpu_object_close(o);
	lowered_free(&l);
	ptx_module_free(m);
}

static void all_rows(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		check(&rows[k]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_rows)};

	target_name = argc > 1 ? argv[1] : "gfx1100";
	compiler_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
