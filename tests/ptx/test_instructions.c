/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements that must be understood (accept.txt), that must be rejected at the
 * right place (reject.txt), and what some of them must mean. The lists' verdicts
 * come from ptxas; the meanings from the PTX ISA. */
#include "fixture.h"

static const struct ptx_inst *only_instruction(struct ptx_module *m)
{
	struct ptx_func *f = build(m, "k");
	return &f->insts[f->ninsts > 1 && f->insts[0].line != FIXTURE_LINE ? 1 : 0];
}

static void accept_all(void **state)
{
	(void)state;
	char line[512];
	unsigned failures = 0, n = 0;
	FILE *in = fopen(PTX_TEST_DIR "/accept.txt", "r");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] == '#' || !line[0])
			continue;
		struct ptx_module *m = parse_statements(line);
		struct ptx_func *f = ptx_func_find(m, "k");
		struct diag d = DIAG_INIT;
		if (ptx_func_build(m, f) || ptx_func_verify(m, f, &d)) {
			print_error("%s\n  %s: %s\n", line, f->error.where,
				    f->error.code ? f->error.what : d.what);
			failures++;
		}
		ptx_module_free(m);
		n++;
	}
	fclose(in);
	assert_int_equal(failures, 0);
	assert_true(n > 200);
}

/* "column | statement | message" or "line:column | ..." */
static bool rejected_as_listed(char *row)
{
	char *statement = strstr(row, " | "), *message, where[64];
	unsigned line = 1, column;
	*statement = 0;
	statement += 3;
	message = strstr(statement, " | ");
	*message = 0;
	message += 3;
	if (sscanf(row, "%u:%u", &line, &column) != 2) {
		line = 1;
		column = (unsigned)atoi(row);
	}
	snprintf(where, sizeof(where), "test.ptx:%u:%u", FIXTURE_LINE + line - 1, column);
	struct ptx_module *m = parse_statements(statement);
	struct ptx_func *f = ptx_func_find(m, "k");
	bool ok =
		f && ptx_func_build(m, f) && !strcmp(f->error.where, where) && strstr(f->error.what, message);
	if (!ok)
		print_error("%s\n  wanted %s: %s\n  got %s: %s\n", statement, where, message,
			    f ? f->error.where : "", f ? f->error.what : "");
	ptx_module_free(m);
	return ok;
}

static void reject_all(void **state)
{
	(void)state;
	char line[512];
	unsigned failures = 0, n = 0;
	FILE *in = fopen(PTX_TEST_DIR "/reject.txt", "r");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] == '#' || !line[0])
			continue;
		failures += !rejected_as_listed(line);
		n++;
	}
	fclose(in);
	assert_int_equal(failures, 0);
	assert_true(n > 60);
}

static void error_has_line_and_caret(void **state)
{
	(void)state;
	struct ptx_module *m = parse_statements("add.s32 r0, r1, d2;");
	struct ptx_func *f = ptx_func_find(m, "k");
	assert_int_not_equal(ptx_func_build(m, f), 0);
	assert_string_equal(f->error.hint, "\tadd.s32 r0, r1, d2;\n\t                ^");
	assert_int_equal(f->state, PTX_FAILED);
	assert_int_not_equal(ptx_func_build(m, f), 0); /* and stays so */
	ptx_module_free(m);
}

/* Fields that modifiers set, in any order. */
static void modifiers_in_any_order(void **state)
{
	(void)state;
	static const char *const spellings[] = {
		"atom.add.release.gpu.global.u32 r0, [d1], r2;",
		"atom.global.release.gpu.add.u32 r0, [d1], r2;",
		"atom.release.global.gpu.u32.add r0, [d1], r2;",
		"atom .global .release .gpu .add .u32 r0, [d1], r2;",
	};
	for (size_t k = 0; k < sizeof(spellings) / sizeof(spellings[0]); k++) {
		struct ptx_module *m = parse_statements(spellings[k]);
		const struct ptx_inst *i = only_instruction(m);
		assert_int_equal(i->op, PTX_OP_ATOM);
		assert_int_equal(i->sub, PTX_SUB_ADD);
		assert_int_equal(i->sem, PTX_RELEASE);
		assert_int_equal(i->scope, PTX_SCOPE_GPU);
		assert_int_equal(i->space, PTX_SPACE_GLOBAL);
		assert_int_equal(i->type, PTX_U32);
		ptx_module_free(m);
	}
}

/* `.lo`, `.and`, `.sync`, `.red` mean different things for different operations. */
static void ambiguous_modifiers(void **state)
{
	(void)state;
	struct ptx_module *m = parse_statements("mul.lo.u32 r0, r1, r2; setp.lo.u32 p0, r1, r2; "
						"bar.red.and.pred p0, 0, p1; atom.and.b32 r0, [d1], r2; "
						"setp.ne.and.s32 p0, r1, r2, p1; bar.sync 0; "
						"shfl.sync.idx.b32 r0, r1, 0, 31, -1; bra.uni LAB;");
	const struct ptx_inst *i = build(m, "k")->insts;
	assert_int_equal(i[0].flags, PTX_F_LO);
	assert_int_equal(i[1].cmp, PTX_LO);
	assert_int_equal(i[1].flags, 0);
	assert_int_equal(i[2].sub, PTX_SUB_RED);
	assert_int_equal(i[2].boolop, PTX_BOOL_AND);
	assert_int_equal(i[3].sub, PTX_SUB_AND);
	assert_int_equal(i[4].boolop, PTX_BOOL_AND);
	assert_int_equal(i[5].sub, PTX_SUB_SYNC);
	assert_int_equal(i[6].sub, PTX_SUB_IDX);
	assert_int_equal(i[6].flags, PTX_F_SYNC);
	assert_int_equal(i[7].flags, PTX_F_UNI);
	ptx_module_free(m);
}

static void types_in_order(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_statements("cvt.rn.f16.f32 h0, f1; "
				 "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {r0,r1,r2,r3}, "
				 "{r0,r1,r2,r3}, {r0,r1}, {r0,r1,r2,r3}; "
				 "ldmatrix.sync.aligned.x4.m8n8.trans.shared.b16 {r0,r1,r2,r3}, [r4];"
				 "cp.async.ca.shared.global [r1], [d1+8], 4;");
	const struct ptx_inst *i = build(m, "k")->insts;
	assert_int_equal(i[0].type, PTX_F16);
	assert_int_equal(i[0].type2, PTX_F32);
	assert_int_equal(i[0].rnd, PTX_RN);
	assert_int_equal(i[1].type, PTX_S32);
	assert_int_equal(i[1].type2, PTX_S8);
	assert_int_equal(i[1].type3, PTX_U8);
	assert_int_equal(i[1].type4, PTX_S32);
	assert_int_equal(i[1].layout, 2); /* A row, B col */
	assert_string_equal(ptx_shape_name(i[1].shape), "m16n8k32");
	assert_int_equal(i[1].ndst, 4);
	assert_int_equal(i[1].nsrc, 10);
	assert_int_equal(i[2].vec, 4);
	assert_true(i[2].flags & PTX_F_TRANS);
	assert_int_equal(i[3].space, PTX_SPACE_SHARED);
	assert_int_equal(i[3].space2, PTX_SPACE_GLOBAL);
	assert_int_equal(i[3].offset, 0);
	assert_int_equal(i[3].src[1].imm, 8);
	ptx_module_free(m);
}

/* Constants become the bits of the operation's type (ISA 4.5). */
static void constants(void **state)
{
	(void)state;
	static const struct {
		const char *statement;
		unsigned source;
		uint64_t bits;
	} rows[] = {
		{"mov.u32 r0, -1;", 0, 0xffffffff},
		{"mov.u64 d0, -1;", 0, UINT64_MAX},
		{"mov.u16 h0, -2;", 0, 0xfffe},
		{"mov.u32 r0, 0x1F;", 0, 31},
		{"mov.u32 r0, 017;", 0, 15},
		{"mov.u32 r0, 0b101;", 0, 5},
		{"mov.u32 r0, 4294967295U;", 0, 0xffffffff},
		{"mov.f32 f0, 0f3F800000;", 0, 0x3f800000},
		{"mov.f32 f0, 0F7FC00001;", 0, 0x7fc00001},
		{"mov.f32 f0, 1.5;", 0, 0x3fc00000},
		{"mov.f32 f0, 0d3FF0000000000000;", 0, 0x3f800000},
		{"mov.f64 g0, 0d4000000000000000;", 0, UINT64_C(0x4000000000000000)},
		{"mov.f64 g0, 0f3F800000;", 0, UINT64_C(0x3ff0000000000000)},
		{"mov.f64 g0, -2.5e3;", 0, UINT64_C(0xc0a3880000000000)},
		{"mov.b32 r0, 0f40490FDB;", 0, 0x40490fdb},
		{"mov.b64 d0, 0d4000000000000000;", 0, UINT64_C(0x4000000000000000)},
		{"mov.u32 r0, 1+2*3;", 0, 7},
		{"mov.u32 r0, (1+2)*3;", 0, 9},
		{"mov.u32 r0, 7 & 3 | 8;", 0, 11},
		{"mov.u32 r0, 1 << 4 >> 1;", 0, 8},
		{"mov.u32 r0, 3 > 2 ? 10 : 20;", 0, 10},
		{"mov.u32 r0, ~0 ^ 1;", 0, 0xfffffffe},
		{"mov.u32 r0, !5;", 0, 0},
		{"mov.s32 r0, -7 / 2;", 0, 0xfffffffd},
		{"mov.s32 r0, -7 % 4;", 0, 1}, /* operands of % are unsigned: (2^64 - 7) mod 4 */
		{"mov.s32 r0, -7 % 3;", 0, 0},
		{"mov.u32 r0, ~0 >> 60;", 0, 15},
		{"mov.u32 r0, !5 + 1;", 0, 1},
		{"mov.u32 r0, !!5;", 0, 1},
		{"mov.u32 r0, (-1 | 0) > 0;", 0, 1},
		{"mov.u64 d0, (.u64)-1 / 2;", 0, UINT64_C(0x7fffffffffffffff)},
		{"mov.u32 r0, WARP_SZ - 1;", 0, 31},
		{"mov.u64 d0, 0x8000000000000000 >> 63;", 0, 1},
		{"mov.s64 d0, (.s64)0x8000000000000000 >> 63;", 0, UINT64_MAX},
		{"shl.b64 d0, d1, -1;", 1, 0xffffffff}, /* amounts are 32 bits */
		{"mad.wide.u32 d0, r1, 2, -1;", 2, UINT64_MAX},
		{"setp.eq.s16 p0, h1, -1;", 1, 0xffff},
		{"mov.b32 r0, {h1, -1};", 1, 0xffff},
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct ptx_module *m = parse_statements(rows[k].statement);
		const struct ptx_inst *i = only_instruction(m);
		if (i->src[rows[k].source].imm != rows[k].bits)
			print_error("%s\n", rows[k].statement);
		assert_int_equal(i->src[rows[k].source].kind, PTX_OPND_IMM);
		assert_int_equal(i->src[rows[k].source].imm, rows[k].bits);
		ptx_module_free(m);
	}
}

static void addresses(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_statements("ld.global.u32 r0, [d1+-16]; ld.global.u32 r0, [glob+4]; ld.u32 r0, [64+8]; "
				 "ld.param.u64 d0, [param0]; mov.u64 d0, glob+8; mov.u64 d0, callee; "
				 "st.shared.v2.u32 [shm+16], {r1, 7};");
	const struct ptx_inst *i = build(m, "k")->insts;
	assert_int_equal(i[0].offset, -16);
	assert_int_equal(i[1].src[0].kind, PTX_OPND_SYMBOL);
	assert_string_equal(m->symbols[i[1].src[0].index]->name, "glob");
	assert_int_equal(i[1].src[0].imm, 4);
	assert_int_equal(i[1].offset, 0);
	assert_int_equal(i[2].src[0].kind, PTX_OPND_IMM);
	assert_int_equal(i[2].src[0].imm, 72);
	assert_int_equal(i[3].src[0].kind, PTX_OPND_PARAM);
	assert_int_equal(i[3].src[0].imm, 0);
	assert_int_equal(i[4].src[0].imm, 8);
	assert_int_equal(i[5].src[0].kind, PTX_OPND_FUNC);
	assert_string_equal(m->funcs[i[5].src[0].index]->name, "callee");
	assert_int_equal(i[6].nsrc, 3);
	assert_int_equal(i[6].src[2].imm, 7);
	ptx_module_free(m);
}

static void special_registers(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_statements("mov.u32 r0, %tid.z; mov.u32 r0, %lanemask_lt; mov.u64 d0, %globaltimer;");
	const struct ptx_inst *i = build(m, "k")->insts;
	assert_int_equal(i[0].src[0].kind, PTX_OPND_SREG);
	assert_int_equal(i[0].src[0].index, PTX_SREG_TID_X + 2);
	assert_string_equal(ptx_sreg_name(i[0].src[0].index), "%tid.z");
	assert_int_equal(i[1].src[0].index, PTX_SREG_LANEMASK_LT);
	assert_int_equal(i[2].src[0].index, PTX_SREG_GLOBALTIMER);
	ptx_module_free(m);
}

/* The carry is an ordinary register at the end of the operand lists. */
static void carry(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_statements("add.cc.u32 r0, r1, r2; addc.cc.u32 r3, r1, r2; addc.u32 r4, r1, 0;");
	struct ptx_func *f = build(m, "k");
	const struct ptx_inst *i = f->insts;
	assert_int_equal(i[0].ndst, 2);
	assert_int_equal(i[0].nsrc, 2);
	assert_int_equal(i[1].ndst, 2);
	assert_int_equal(i[1].nsrc, 3);
	assert_int_equal(i[1].src[2].index, i[0].dst[1].index);
	assert_int_equal(i[2].ndst, 1);
	assert_int_equal(i[2].src[2].index, i[1].dst[1].index);
	assert_string_equal(f->slots[f->values[i[0].dst[1].index].slot].name, "%cc");
	assert_int_equal(f->values[i[0].dst[1].index].bits, 1);
	ptx_module_free(m);
}

/* A name in an inner scope hides the outer one, ranges and single names alike. */
static void scopes(void **state)
{
	(void)state;
	struct ptx_module *m = parse_statements(
		"mov.u32 r1, 1; { .reg .b32 r1; .reg .f32 r<3>; mov.u32 r1, 2; mov.f32 r2, 0f00000000; "
		"L: @p0 bra L; } { L: @p1 bra L; mov.u32 r0, r1; }");
	struct ptx_func *f = build(m, "k");
	const struct ptx_inst *i = f->insts;
	uint32_t outer = f->values[i[0].dst[0].index].slot, inner = f->values[i[1].dst[0].index].slot;
	assert_int_not_equal(outer, inner);
	assert_int_equal(f->slots[f->values[i[2].dst[0].index].slot].type, PTX_F32);
	assert_int_equal(i[5].src[0].index, i[0].dst[0].index);
	assert_int_not_equal(i[3].target, i[4].target); /* each loop jumps to its own L */
	ptx_module_free(m);
}

static void vectors_and_sinks(void **state)
{
	(void)state;
	struct ptx_module *m = parse_statements(
		"mov.b64 {r1, _}, d0; ld.global.v4.f32 {f0, _, f2, f3}, [d1]; "
		"shfl.sync.idx.b32 r0|p0, r1, 0, 31, -1; elect.sync _|p1, -1; selp.b32 r0, 1, r2, p0;");
	const struct ptx_inst *i = build(m, "k")->insts;
	assert_int_equal(i[0].ndst, 2);
	assert_int_equal(i[0].dst[1].kind, PTX_OPND_SINK);
	assert_int_equal(i[1].ndst, 4);
	assert_int_equal(i[1].dst[1].kind, PTX_OPND_SINK);
	assert_int_equal(i[2].ndst, 2);
	assert_int_equal(i[2].nsrc, 4);
	assert_int_equal(i[3].dst[0].kind, PTX_OPND_SINK);
	assert_int_equal(i[3].dst[1].kind, PTX_OPND_VALUE);
	assert_int_equal(i[4].src[0].imm, 1);
	ptx_module_free(m);
}

/* Elements of a vector register are registers; the whole is their list. */
static void vector_registers(void **state)
{
	(void)state;
	struct ptx_module *m = parse_statements(
		".reg .v2 .f32 v; .reg .v4 .b32 w; ld.global.v2.f32 v, [d1]; add.f32 f0, v.x, "
		"v.y; st.global.v4.b32 [d1], w; mov.b32 w.a, r1; mov.b64 d0, v;");
	struct ptx_func *f = build(m, "k");
	const struct ptx_inst *i = f->insts;
	assert_int_equal(i[0].ndst, 2);
	assert_int_equal(i[1].src[0].index, i[0].dst[0].index);
	assert_int_equal(i[1].src[1].index, i[0].dst[1].index);
	assert_string_equal(f->slots[f->values[i[0].dst[1].index].slot].name, "v.y");
	assert_int_equal(i[2].nsrc, 5);
	assert_string_equal(f->slots[f->values[i[3].dst[0].index].slot].name, "w.w");
	assert_int_equal(i[4].nsrc, 2);
	ptx_module_free(m);
}

/* ISA 6.4.2: an index counts elements (here of 4 bytes), a register's product goes in front. */
static void array_elements(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_statements(".local .b32 arr[8]; mov.u64 d0, arr[3]; ld.local.u32 r0, arr[2]; "
				 "ld.local.u32 r0, arr[r1+1]; ld.local.u32 r0, arr[d1];");
	const struct ptx_inst *i = build(m, "k")->insts;
	assert_int_equal(i[0].src[0].kind, PTX_OPND_SYMBOL);
	assert_int_equal(i[0].src[0].imm, 12);
	assert_int_equal(i[1].src[0].imm, 8);
	assert_int_equal(i[2].op, PTX_OP_MOV);
	assert_int_equal(i[2].src[0].imm, 4);
	assert_int_equal(i[3].op, PTX_OP_MAD);
	assert_int_equal(i[3].type, PTX_S32);
	assert_int_equal(i[3].src[1].imm, 4);
	assert_int_equal(i[3].src[2].index, i[2].dst[0].index);
	assert_int_equal(i[4].op, PTX_OP_LD);
	assert_int_equal(i[4].src[0].index, i[3].dst[0].index);
	assert_int_equal(i[4].offset, 0);
	assert_int_equal(i[6].type, PTX_S64);
	ptx_module_free(m);
}

/* mov.v2 is two moves; vectors that overlap go through temporaries, so that r0 and r1 are exchanged. */
static void vector_moves(void **state)
{
	(void)state;
	struct ptx_module *m =
		parse_statements("@p0 mov.v2.b32 {r0, r1}, {r1, r0}; mov.v4.u32 {r2, r3, _, r5}, %ctaid;");
	struct ptx_func *f = build(m, "k");
	const struct ptx_inst *i = f->insts;
	assert_int_equal(i[2].src[0].index, i[0].dst[0].index);
	assert_int_equal(i[3].src[0].index, i[1].dst[0].index);
	assert_true(!i[0].guarded && i[2].guarded && i[3].guarded);
	assert_string_equal(f->slots[f->values[i[2].dst[0].index].slot].name, "r0");
	assert_int_equal(i[2].vec, 1);
	assert_int_equal(i[4].src[0].index, PTX_SREG_CTAID_X);
	assert_int_equal(i[5].src[0].index, PTX_SREG_CTAID_Y);
	assert_int_equal(i[6].src[0].index, PTX_SREG_CTAID_W); /* the third goes nowhere */
	ptx_module_free(m);
}

static void selectors(void **state)
{
	(void)state;
	struct ptx_module *m = parse_statements(
		"vadd.s32.u32.s32.sat r0, r1.b2, r2.h1; "
		"vmad.s32.s32.s32 r0, r1, -r2, r3; vadd4.u32.u32.u32 r0.b310, r1.b7654, r2, r3;");
	const struct ptx_inst *i = build(m, "k")->insts;
	assert_int_equal(PTX_SELECT_DIGITS(i[0].src[0].select), 1);
	assert_int_equal(PTX_SELECT_DIGIT(i[0].src[0].select, 0), 2);
	assert_false(i[0].src[0].select & PTX_SELECT_HALVES);
	assert_true(i[0].src[1].select & PTX_SELECT_HALVES);
	assert_true(i[1].src[1].negate);
	assert_int_equal(PTX_SELECT_DIGITS(i[2].dst[0].select), 3);
	assert_int_equal(PTX_SELECT_DIGIT(i[2].src[0].select, 0), 4);
	assert_int_equal(PTX_SELECT_DIGIT(i[2].src[0].select, 3), 7);
	assert_int_equal(i[2].src[1].select, 0);
	ptx_module_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accept_all),
		cmocka_unit_test(reject_all),
		cmocka_unit_test(error_has_line_and_caret),
		cmocka_unit_test(modifiers_in_any_order),
		cmocka_unit_test(ambiguous_modifiers),
		cmocka_unit_test(types_in_order),
		cmocka_unit_test(constants),
		cmocka_unit_test(addresses),
		cmocka_unit_test(special_registers),
		cmocka_unit_test(carry),
		cmocka_unit_test(scopes),
		cmocka_unit_test(vectors_and_sinks),
		cmocka_unit_test(vector_registers),
		cmocka_unit_test(array_elements),
		cmocka_unit_test(vector_moves),
		cmocka_unit_test(selectors),
	};
	return cmocka_run_group_tests_name("ptx instructions", tests, NULL, NULL);
}
