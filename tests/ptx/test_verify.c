/* SPDX-License-Identifier: Apache-2.0
 *
 * The verifier must notice each kind of damage: a good function is broken in one
 * place at a time. */
#include "fixture.h"

static const char program[] =
	"mov.u32 r0, 0;\nL: @p1 add.s32 r0, r0, 1;\nsetp.lt.s32 p0, r0, 9;\n@p0 bra L;\n"
	"cvt.u64.u32 d0, r0;\nst.global.u64 [d0], d0;";

/* Instructions: 0 mov, 1 add, 2 setp, 3 bra, 4 cvt, 5 st, 6 ret; blocks: 0 entry, 1 loop, 2 end. */
static void undefined_operand(struct ptx_func *f)
{
	f->insts[2].src[0].index = f->nvalues;
}
static void use_before_definition(struct ptx_func *f)
{
	f->insts[1].src[0].index = f->insts[4].dst[0].index;
}
static void defined_twice(struct ptx_func *f)
{
	f->insts[1].dst[0].index = f->insts[0].dst[0].index;
}
static void wrong_definition(struct ptx_func *f)
{
	f->values[f->insts[0].dst[0].index].def = 3;
}
static void wrong_slot(struct ptx_func *f)
{
	f->values[f->insts[0].dst[0].index].slot = f->nslots;
}
static void wrong_width(struct ptx_func *f)
{
	f->insts[4].src[0].index = 0, f->insts[2].src[0].index = f->insts[2].dst[0].index;
}
static void guard_not_predicate(struct ptx_func *f)
{
	f->insts[3].guard = f->insts[1].dst[0].index;
}
static void lost_previous(struct ptx_func *f)
{
	f->insts[1].prev = NULL;
}
static void foreign_previous(struct ptx_func *f)
{
	f->insts[1].prev[0] = f->insts[4].dst[0].index;
}
static void wrong_target(struct ptx_func *f)
{
	f->insts[3].target = 2;
}
static void missing_pred(struct ptx_func *f)
{
	f->blocks[1].npreds = 1;
}
static void foreign_pred(struct ptx_func *f)
{
	f->blocks[2].preds[0] = 0;
}
static void successor_out_of_range(struct ptx_func *f)
{
	f->blocks[0].succs[0] = 99;
}
static void overlapping_blocks(struct ptx_func *f)
{
	f->blocks[2].first--;
}
static void empty_block(struct ptx_func *f)
{
	f->blocks[2].ninsts = 0;
}
static void branch_in_the_middle(struct ptx_func *f)
{
	f->insts[2].op = PTX_OP_EXIT;
}
static void phi_of_another_register(struct ptx_func *f)
{
	f->blocks[1].phis[0].args[1] = f->insts[2].dst[0].index;
}
static void phi_argument_too_late(struct ptx_func *f)
{
	f->blocks[1].phis[0].args[0] = f->insts[1].dst[0].index;
}
static void dominator_cycle(struct ptx_func *f)
{
	f->blocks[1].idom = 2;
}
static void unknown_operation(struct ptx_func *f)
{
	f->insts[0].op = PTX_NOPS;
}
static void unknown_kind(struct ptx_func *f)
{
	f->insts[0].src[0].kind = 77;
}
static void unknown_sreg(struct ptx_func *f)
{
	f->insts[0].src[0].kind = PTX_OPND_SREG, f->insts[0].src[0].index = PTX_NSREGS;
}
static void unknown_symbol(struct ptx_func *f)
{
	f->insts[0].src[0].kind = PTX_OPND_SYMBOL, f->insts[0].src[0].index = 1000;
}
static void sources_elsewhere(struct ptx_func *f)
{
	f->insts[0].src++;
}

static void damage_is_found(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		void (*damage)(struct ptx_func *f);
	} rows[] = {
#define ROW(name) {#name, name}
		ROW(undefined_operand),
		ROW(use_before_definition),
		ROW(defined_twice),
		ROW(wrong_definition),
		ROW(wrong_slot),
		ROW(wrong_width),
		ROW(guard_not_predicate),
		ROW(lost_previous),
		ROW(foreign_previous),
		ROW(wrong_target),
		ROW(missing_pred),
		ROW(foreign_pred),
		ROW(successor_out_of_range),
		ROW(overlapping_blocks),
		ROW(empty_block),
		ROW(branch_in_the_middle),
		ROW(phi_of_another_register),
		ROW(phi_argument_too_late),
		ROW(dominator_cycle),
		ROW(unknown_operation),
		ROW(unknown_kind),
		ROW(unknown_sreg),
		ROW(unknown_symbol),
		ROW(sources_elsewhere),
#undef ROW
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct ptx_module *m = parse_statements(program);
		struct ptx_func *f = build(m, "k"); /* verifies the undamaged one */
		struct diag d = DIAG_INIT;
		rows[k].damage(f);
		if (ptx_func_verify(m, f, &d) == 0)
			print_error("%s was not noticed\n", rows[k].what);
		assert_int_equal(d.code, CUTRACE_ECORRUPT);
		assert_true(d.what[0] && d.where[0]);
		ptx_module_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(damage_is_found)};
	return cmocka_run_group_tests_name("ptx verifier", tests, NULL, NULL);
}
