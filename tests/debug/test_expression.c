/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions, formats, lines and live registers of the debugger, on a kernel that stands still: lane l of its only warp has
 * 3 l + 1 in %r1, 1.5 + l in %f1, and so on. What is expected is C's arithmetic, worked out here or by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "debug/session.h"

static const char text[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".global .align 4 .f32 table[4];\n"                                    /* 4 */
	".visible .entry k(.param .u64 k_param_0, .param .f32 k_param_1)\n{\n" /* 5 */
	".reg .pred %p<2>; .reg .b16 %h<3>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .f64 %fd<2>; .reg .b64 %rd<3>;\n"
	".shared .align 4 .b8 smem[64];\n"
	".loc 1 10 0\n"
	"mov.u32 %r1, %tid.x;\n" /* 10 */
	"add.s32 %r2, %r1, 1;\n" /* 11 */
	"ld.param.u64 %rd1, [k_param_0];\n"
	".loc 1 12 0\n"
	"cvt.rn.f32.s32 %f1, %r2;\n" /* 14 */
	"setp.gt.s32 %p1, %r1, 3;\n"
	"cvt.f64.f32 %fd1, %f1;\n"
	"mov.b32 %r3, %f1;\n"
	"add.f16x2 %r4, %r3, %r3;\n" /* 18 */
	"st.global.f32 [%rd1], %f1;\n"
	"st.global.f64 [%rd1+8], %fd1;\n"
	"@%p1 st.global.u32 [%rd1+16], %r4;\n"
	"ret;\n}\n"
	".file 1 \"k.cu\"\n";

/* ---- a launch that stands still ---------------------------------------------------------------- */

static const float table[4] = {0.5f, -2, 3.25f, 1e10f};
static const uint32_t shared[16] = {0x3f800000, 7, 0xffffffff, 0x3c004000};
static const uint64_t table_at[1] = {0x1000};
enum { PARAM_BYTES = 16 };
static uint8_t params[PARAM_BYTES];

static uint32_t view_blocks(void *state, uint64_t *linear, uint32_t max)
{
	(void)state;
	if (max)
		linear[0] = 2;
	return max ? 1 : 0;
}

static bool view_warp(void *state, uint64_t block, uint32_t warp, struct debug_warp *out)
{
	(void)state;
	*out = (struct debug_warp){.lanes = 0xffffffff, .steps = 9, .nfragments = 1};
	out->fragments[0].mask = 0xffffffff;
	return block == 2 && warp == 1;
}

static bool view_frame(void *state, uint64_t block, uint32_t warp, uint32_t lane, uint32_t level,
		       struct debug_frame *out)
{
	(void)state;
	*out = (struct debug_frame){.func = 0, .inst = 2, .lanes = 0xffffffff};
	return block == 2 && warp == 1 && lane < DEBUG_LANES && level == 0;
}

static const struct ptx_func *kernel;

static bool view_reg(void *state, uint64_t block, uint32_t warp, uint32_t lane, uint32_t level, uint32_t slot,
		     void *out, uint32_t bytes)
{
	const char *name = kernel->slots[slot].name;

	(void)state, (void)block, (void)warp, (void)lane, (void)level;
	memset(out, 0, bytes);
	for (uint32_t l = 0; l < DEBUG_LANES; l++) {
		float f = 1.5f + (float)l;
		double d = -0.25 * l;

		if (!strcmp(name, "%r1"))
			((uint32_t *)out)[l] = 3 * l + 1;
		if (!strcmp(name, "%r2"))
			((uint32_t *)out)[l] = 0u - l;
		if (!strcmp(name, "%r3"))
			((uint32_t *)out)[l] = 0x40003c00; /* halves 1 and 2 */
		if (!strcmp(name, "%f1"))
			memcpy((uint8_t *)out + 4 * l, &f, 4);
		if (!strcmp(name, "%fd1"))
			memcpy((uint8_t *)out + 8 * l, &d, 8);
		if (!strcmp(name, "%rd1"))
			((uint64_t *)out)[l] = 0x1000 + 4 * (l % 4);
		if (!strcmp(name, "%p1") && l == 5)
			*(uint32_t *)out = 0xffff0020;
	}
	return true;
}

static bool inside(const void *base, size_t size, uint64_t at, void *out, size_t bytes)
{
	if (at > size || bytes > size - at)
		return false;
	memcpy(out, (const uint8_t *)base + at, bytes);
	return true;
}

static bool view_read(void *state, const struct debug_place *p, void *out, size_t bytes)
{
	(void)state;
	switch (p->space) {
	case DEBUG_SHARED: return inside(shared, sizeof(shared), p->address, out, bytes);
	case DEBUG_PARAM: return inside(params, sizeof(params), p->address, out, bytes);
	case DEBUG_LOCAL: return false;
	default: return p->address >= 0x1000 && inside(table, sizeof(table), p->address - 0x1000, out, bytes);
	}
}

static enum debug_space view_space(void *state, uint64_t *address)
{
	(void)state;
	(void)address;
	return DEBUG_GLOBAL;
}

static bool view_stops_at(void *state, uint32_t func, uint32_t inst)
{
	(void)state;
	return func == 0 && inst < kernel->ninsts;
}

static int setup(void **state)
{
	struct session *s = calloc(1, sizeof(*s));
	struct diag d = DIAG_INIT;
	uint64_t pointer = 0x1000;
	float a = 2.5f;

	assert_non_null(s);
	s->sh = calloc(1, sizeof(*s->sh));
	assert_non_null(s->sh);
	memcpy(params, &pointer, 8);
	memcpy(params + 8, &a, 4);
	s->launch = (struct debug_launch){.kernel = "k",
					  .module = "k.ptx",
					  .text = text,
					  .text_bytes = sizeof(text) - 1,
					  .grid = {2, 3, 1},
					  .block = {16, 4, 1},
					  .static_shared = 64,
					  .symbol_address = table_at,
					  .nsymbols = 1};
	s->view = (struct debug_view){.blocks = view_blocks,
				      .warp = view_warp,
				      .frame = view_frame,
				      .reg = view_reg,
				      .read = view_read,
				      .space = view_space,
				      .stops_at = view_stops_at};
	s->sh->focus = (struct focus){.block = 2, .warp = 1, .lane = 5};
	assert_int_equal(code_open(s, &d), 0);
	kernel = s->entry;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct session *s = *state;

	for (uint32_t k = 0; k < s->module->nfuncs; k++)
		free(s->flags[k]);
	free(s->flags);
	ptx_module_free(s->module);
	free(s->sh);
	free(s);
	return 0;
}

/* ---- expressions: of lane 5 of warp 1 in block 2 = (0,1,0) ------------------------------------------ */

static void expressions(void **state)
{
	static const struct {
		const char *expression, *format, *want;
	} rows[] = {
		{"1 + 2 * 3", "", "7"},
		{"(1 + 2) * 3", "", "9"},
		{"7 / 2", "", "3"},
		{"-7 / 2", "", "-3"},
		{"-7 % 3", "", "-1"},
		{"7.0 / 2", "", "3.5"},
		{"1 << 4 | 3", "", "19"},
		{"6 & 3 ^ 1", "", "3"},
		{"!0 + !5", "", "1"},
		{"~0", "", "-1"},
		{"2 < 3 == 1", "", "1"},
		{"1 == 2 || 3 >= 3 && 0 != 1", "", "1"},
		{"0xff", "x", "0xff"},
		{"10", "t", "1010"},
		{"10", "o", "012"},
		{"65", "c", "65 'A'"},
		{"0f40200000", "", "2.5"},
		{"0d3ff8000000000000", "", "1.5"},
		/* registers: 3 l + 1, -l, 1.5 + l, -l / 4 */
		{"%r1", "", "16"},
		{"%r1 == 16 && tid.x == 5 && tid.y == 2", "", "1"},
		{"%r2", "", "-5"},
		{"%r2", "x", "0xfffffffb"},
		{"%r2", "u", "4294967291"},
		{"%r2 < 0", "", "1"},
		{"(u32)%r2 > 100", "", "1"},
		{"(u32)%r2 == -5", "", "1"},
		{"%r1 % 5", "", "1"},
		{"%r1 - 17", "", "-1"},
		{"%f1", "", "6.5"},
		{"%f1", "x", "0x40d00000"},
		{"%f1 * 2 == 13", "", "1"},
		{"%f1 + 0.1", "", "6.5999999"}, /* single precision */
		{"%fd1", "", "-1.25"},
		{"%fd1 < %f1", "", "1"},
		{"(s32)%f1", "", "1087373312"}, /* the bits: 0x40d00000 */
		{"(s32)(%f1 + 0)", "", "6"},    /* the value */
		{"%p1", "", "1"},
		{"!%p1", "", "0"},
		{"%r3", "f16", "{1, 2}"},
		{"%r3", "bf16", "{0.0078125, 2}"},
		{"%r3", "xb", "{0x0, 0x3c, 0x0, 0x40}"},
		{"%r3", "u16", "{15360, 16384}"},
		{"%r3", "e5m2", "{0, 1, 0, 2}"},
		{"%r3", "e4m3", "{0, 1.5, 0, 2}"},
		/* special registers: thread 37 of 16 x 4 is (5,2,0); block 2 of 2 x 3 is (0,1,0) */
		{"threadIdx.x + 16 * threadIdx.y", "", "37"},
		{"%ctaid.x + 2 * blockIdx.y", "", "2"},
		{"ntid.x * ntid.y * ntid.z", "", "64"},
		{"nctaid.y", "", "3"},
		{"laneid + 32 * warpid", "", "37"},
		{"%lanemask_lt", "x", "0x1f"},
		{"nwarpid", "", "2"},
		{"$steps", "", "9"},
		{"$line", "", "12"},
		/* memory */
		{"k_param_1", "", "2.5"},
		{"param_1 * 2", "", "5"},
		{"table[2]", "", "3.25"},
		{"*(f32 *)param_0", "", "0.5"},
		{"*((f32 *)param_0 + 1)", "", "-2"},
		{"((f32 *)param_0)[3]", "", "1e+10"},
		{"{f32}%rd1", "", "-2"},
		{"{f32}(param_0 + 8)", "", "3.25"},
		{"{u32}shared:4", "", "7"},
		{"{shared s32}8", "", "-1"},
		{"(s32){u32}shared:8 < 0", "", "1"},
		{"{f32}&smem", "", "1"},
		{"smem[4]", "", "0x07"},
		{"{u32}(&smem + 4)", "", "7"},
		{"{f16x2}shared:12", "", "{2, 1}"},
		{"*&table[1] == table[1]", "", "1"},
	};
	struct session *s = *state;

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct diag d = DIAG_INIT;
		struct format f;
		struct value v;
		char out[200];

		assert_int_equal(format_parse(rows[k].format, strlen(rows[k].format), &f, &d), 0);
		if (evaluate(s, rows[k].expression, &v, &d))
			fail_msg("%s: %s", rows[k].expression, d.what);
		typed_format(v.bytes, v.pointer ? 8 : type_bytes((enum ptx_type)v.type),
			     (enum ptx_type)v.type, &f, out, sizeof(out));
		if (strcmp(out, rows[k].want))
			fail_msg("%s /%s: '%s' instead of '%s'", rows[k].expression, rows[k].format, out,
				 rows[k].want);
	}
}

static void wrong_expressions(void **state)
{
	static const char *const rows[] = {"",
					   "1 +",
					   "(1",
					   "1)",
					   "%r77",
					   "nobody",
					   "1 / 0",
					   "5 % 0",
					   "*%rd1",
					   "*5",
					   "&5",
					   "&%r1",
					   "table[9]",
					   "{f32}0",
					   "{f32}shared:64",
					   "(f16)1.5",
					   "%f1 & 1",
					   "1 2",
					   "{f99}0",
					   "0f3f8",
					   "0x",
					   "1e999999999999999999x",
					   "%f1[0]",
					   "5[0]",
					   "table[1.5]",
					   "%smid",
					   "$nothing",
					   "a b c",
					   "tid.w",
					   "'x'",
					   "k_param_9",
					   "(u32 *)",
					   "||",
					   "1 = 1",
					   "local:0 + ",
					   "{local u32}0",
					   "param_0[0][0"};
	struct session *s = *state;

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct diag d = DIAG_INIT;
		struct value v;

		if (!evaluate(s, rows[k], &v, &d))
			fail_msg("'%s' has a value", rows[k]);
		assert_true(d.what[0]);
	}
}

/* Every cut of a long expression is refused or has a value; none is read past its end. */
static void cut_expressions(void **state)
{
	static const char whole[] =
		"((f32 *)param_0)[1] + {u32}(&smem + 4) * -%r1 % 7 << 2 >= 0f40200000 && !%p1 || ~tid.x ^ 0x1fu";
	struct session *s = *state;

	for (size_t n = 0; n <= sizeof(whole) - 1; n++) {
		char *copy = strndup(whole, n);
		struct diag d = DIAG_INIT;
		struct value v;

		assert_non_null(copy);
		if (evaluate(s, copy, &v, &d))
			assert_true(d.what[0]);
		free(copy);
	}
}

/* ---- places ---------------------------------------------------------------------------------------------- */

static void lines(void **state)
{
	static const struct {
		const char *place;
		uint32_t line; /* of the PTX; 0: refused */
		const char *hint;
	} rows[] = {
		{"10", 10, ""},
		{"13", 0, "12 and 14"},
		{"1", 0, "is 10"},
		{"9999", 0, "is 22"},
		{"k.cu:10", 10, ""},
		{"k.cu:12", 14, ""},
		{"k.cu:11", 0, "10 and 12"},
		{"k", 10, ""},
		{"entry", 10, ""},
		{"other.cu:10", 0, ""},
		{"", 0, ""},
		{":", 0, ""},
		{"k.cu:", 0, ""},
	};
	struct session *s = *state;

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct breakpoint b = {0};
		struct diag d = DIAG_INIT;
		int rc = code_resolve(s, rows[k].place, &b, &d);

		if ((rc == 0) != (rows[k].line != 0))
			fail_msg("%s: %s", rows[k].place, d.what);
		if (!rc)
			assert_int_equal(code_inst(s, b.places[0].func, b.places[0].inst)->line,
					 rows[k].line);
		if (rc && !strstr(d.hint, rows[k].hint))
			fail_msg("%s: '%s' does not say %s", rows[k].place, d.hint, rows[k].hint);
	}
}

/* Before the instruction of a line: what may still be read. */
static void live_registers(void **state)
{
	static const struct {
		uint32_t line;
		const char *live;
	} rows[] = {
		{10, ""},
		{11, "%r1 "},
		{14, "%r1 %r2 %rd1 "},
		{15, "%r1 %rd1 %f1 "},
		{18, "%p1 %r3 %f1 %fd1 %rd1 "},
		{21, "%p1 %r4 %rd1 "},
		{22, ""},
	};
	struct session *s = *state;
	bool *live = calloc(kernel->nslots + 1, sizeof(*live));

	assert_non_null(live);
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		unsigned n = 0, want = 0;

		for (uint32_t i = 0; i < kernel->ninsts; i++)
			if (kernel->insts[i].line == rows[k].line)
				assert_int_equal(code_live(kernel, i, live), 0);
		for (uint32_t slot = 1; slot < kernel->nslots; slot++) {
			char name[40];

			snprintf(name, sizeof(name), "%s ", kernel->slots[slot].name);
			if (live[slot] && !strstr(rows[k].live, name))
				fail_msg("line %u: %s is not live", rows[k].line, name);
			n += live[slot];
		}
		for (const char *p = rows[k].live; *p; p++)
			want += *p == ' ';
		if (n != want)
			fail_msg("line %u: %u registers are live, not %u", rows[k].line, n, want);
	}
	free(live);
	(void)s;
}

static void register_types(void **state)
{
	static const struct {
		const char *name;
		uint8_t type;
	} rows[] = {{"%p1", PTX_PRED}, {"%r2", PTX_S32},  {"%f1", PTX_F32},
		    {"%fd1", PTX_F64}, {"%rd1", PTX_B64}, {"%r4", PTX_F16X2}};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		uint32_t slot = code_register(kernel, rows[k].name);

		assert_int_not_equal(slot, PTX_NONE);
		if (code_register_type(kernel, slot) != rows[k].type)
			fail_msg("%s is a %s", rows[k].name, ptx_type_name(code_register_type(kernel, slot)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions),     cmocka_unit_test(wrong_expressions),
		cmocka_unit_test(cut_expressions), cmocka_unit_test(lines),
		cmocka_unit_test(live_registers),  cmocka_unit_test(register_types),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
