/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarrier, PTX ISA 9.7.13.16: the operations on the object are device_library/mbarrier.c's. Asynchronous copies are done
 * when they were issued, so what they arrive at a barrier for, they arrive at once.
 */
#include "ptx/lower/mbarrier.h"

#include <string.h>

#include "ptx/lower/writer.h"

static enum ct_mbarrier_action action_of(const struct ptx_inst *i)
{
	bool transfer = strstr(i->mods, ".expect_tx") != NULL;

	switch (i->op) {
	case PTX_OP_MBARRIER_INIT: return CT_MBARRIER_INIT;
	case PTX_OP_MBARRIER_INVAL: return CT_MBARRIER_INVAL;
	case PTX_OP_MBARRIER_EXPECT_TX: return CT_MBARRIER_EXPECT_TX;
	case PTX_OP_MBARRIER_COMPLETE_TX: return CT_MBARRIER_COMPLETE_TX;
	case PTX_OP_MBARRIER_ARRIVE_DROP: return transfer ? CT_MBARRIER_DROP_EXPECT : CT_MBARRIER_DROP;
	default: return transfer ? CT_MBARRIER_ARRIVE_EXPECT : CT_MBARRIER_ARRIVE;
	}
}

/* A generic pointer to the object, which is in shared memory. */
static struct ir object(struct lower *l, const struct ptx_operand *o)
{
	unsigned as;
	struct ir p = read_pointer(l, o, l->i->space, 0, &as);

	return as == AS_FLAT ? p : ir_text("ptr %.40s", ir_op(l, "addrspacecast %s to ptr", p.s).s);
}

/* .release of an arrival and .acquire of a wait are what no modifier means, of the block where no scope is said. */
static void order(struct lower *l, const char *how)
{
	enum ptx_scope scope = l->i->scope == PTX_SCOPE_NONE ? PTX_SCOPE_CTA : l->i->scope;

	if (l->i->sem != PTX_RELAXED)
		ir_line(l, "fence %s%s", ir_scope(scope), how);
}

static struct ir change(struct lower *l, struct ir p, enum ct_mbarrier_action action, struct ir n)
{
	return ir_op(l, "call i64 @ct_mbarrier_change(%s, i32 %u, i32 %s)", p.s, action, n.s);
}

static bool lower_change(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir n = i->nsrc > 1 ? read_bits(l, &i->src[1], 32) : ir_text("1");

	order(l, "release");
	struct ir state = change(l, object(l, &i->src[0]), action_of(i), n);
	if (i->ndst)
		write_bits(l, &i->dst[0], state, 64, false);
	return true;
}

static bool lower_wait(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	bool parity = strstr(i->mods, ".parity") != NULL;
	struct ir phase = read_bits(l, &i->src[1], parity ? 32 : 64);

	if (parity)
		phase = ir_resize(l, phase, 32, 64, false);
	struct ir done = ir_op(l, "call i32 @ct_mbarrier_done(%s, i64 %s, i32 %d)", object(l, &i->src[0]).s,
			       phase.s, parity);
	if (i->op == PTX_OP_MBARRIER_TRY_WAIT)
		ir_line(l, "call void @llvm.amdgcn.s.sleep(i32 1)");
	order(l, "acquire");
	write_bits(l, &i->dst[0], ir_op(l, "icmp ne i32 %s, 0", done.s), 1, false);
	return true;
}

/* Without .noinc the copies' arrival has been made pending before, which leaves nothing to do. */
static bool lower_copy_arrives(struct lower *l)
{
	if (!(l->i->flags & PTX_F_NOINC))
		return true;
	order(l, "release");
	change(l, object(l, &l->i->src[0]), CT_MBARRIER_ARRIVE, ir_text("1"));
	return true;
}

bool lower_complete_tx(struct lower *l, const struct ptx_operand *mbarrier, unsigned bytes)
{
	order(l, "release");
	change(l, object(l, mbarrier), CT_MBARRIER_COMPLETE_TX, ir_int(bytes, 32));
	return true;
}

static bool lower_pending_count(struct lower *l)
{
	struct ir state = read_bits(l, &l->i->src[0], 64);

	write_bits(l, &l->i->dst[0], ir_op(l, "and i64 %s, %u", state.s, CT_MBARRIER_COUNT_MAX), 64, false);
	return true;
}

bool lower_mbarrier(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_MBARRIER_INIT:
	case PTX_OP_MBARRIER_INVAL:
	case PTX_OP_MBARRIER_EXPECT_TX:
	case PTX_OP_MBARRIER_COMPLETE_TX:
	case PTX_OP_MBARRIER_ARRIVE:
	case PTX_OP_MBARRIER_ARRIVE_DROP: return lower_change(l);
	case PTX_OP_MBARRIER_TEST_WAIT:
	case PTX_OP_MBARRIER_TRY_WAIT: return lower_wait(l);
	case PTX_OP_MBARRIER_PENDING_COUNT: return lower_pending_count(l);
	case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE: return lower_copy_arrives(l);
	default: return false;
	}
}
