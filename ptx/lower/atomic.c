/* SPDX-License-Identifier: Apache-2.0
 *
 * atom and red, PTX ISA 9.7.13.5 and .6, for scalars. What a target lacks, LLVM makes of compare-and-swap.
 */
#include "ptx/lower/writer.h"

static const char *ordering(enum ptx_sem s)
{
	switch (s) {
	case PTX_ACQUIRE: return "acquire";
	case PTX_RELEASE: return "release";
	case PTX_ACQ_REL: return "acq_rel";
	default: return "monotonic";
	}
}

/* inc, dec: ISA's wrapping ones are LLVM's. */
static const char *arithmetic(const struct ptx_inst *i)
{
	bool is_float = ptx_type_is_float(i->type);

	switch (i->sub) {
	case PTX_SUB_AND: return "and";
	case PTX_SUB_OR: return "or";
	case PTX_SUB_XOR: return "xor";
	case PTX_SUB_EXCH: return "xchg";
	case PTX_SUB_ADD: return is_float ? "fadd" : "add";
	case PTX_SUB_INC: return is_float ? NULL : "uinc_wrap";
	case PTX_SUB_DEC: return is_float ? NULL : "udec_wrap";
	case PTX_SUB_MIN: return is_float ? NULL : ptx_type_is_signed(i->type) ? "min" : "umin";
	case PTX_SUB_MAX: return is_float ? NULL : ptx_type_is_signed(i->type) ? "max" : "umax";
	default: return NULL;
	}
}

static struct ir compare_and_swap(struct lower *l, struct ir p, const char *type)
{
	const struct ptx_inst *i = l->i;
	struct ir old = read_bits(l, &i->src[1], ptx_type_bits(i->type));
	struct ir new = read_bits(l, &i->src[2], ptx_type_bits(i->type));
	bool acquires = i->sem == PTX_ACQUIRE || i->sem == PTX_ACQ_REL;
	struct ir r = ir_op(l, "cmpxchg %s, %s %s, %s %s %s%s %s, align %u", p.s, type, old.s, type, new.s,
			    ir_scope(i->scope), ordering(i->sem), acquires ? "acquire" : "monotonic",
			    ptx_type_bits(i->type) / 8);

	return ir_op(l, "extractvalue { %s, i1 } %s, 0", type, r.s);
}

bool lower_atomic(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	const char *type, *op = arithmetic(i);
	unsigned as;

	if (i->op != PTX_OP_ATOM && i->op != PTX_OP_RED)
		return false;
	type = ir_type(i->type);
	if (!type || i->vec > 1 || ptx_type_bits(i->type) > 64 || (!op && i->sub != PTX_SUB_CAS) ||
	    (ptx_type_is_float(i->type) && i->sub != PTX_SUB_ADD) || i->type == PTX_F16)
		return lower_refuse(l, "this arithmetic on .%s%s", ptx_type_name(i->type),
				    i->vec > 1 ? " vectors" : "");
	if (i->space == PTX_SPACE_SHARED_CLUSTER)
		return lower_refuse(l, "shared memory of a cluster");
	struct ir p = read_pointer(l, &i->src[0], i->space, 0, &as), r;
	if (i->sub == PTX_SUB_CAS)
		r = compare_and_swap(l, p, type);
	else
		r = ir_op(l, "atomicrmw %s %s, %s %s %s%s, align %u", op, p.s, type,
			  read_typed(l, &i->src[1], i->type).s, ir_scope(i->scope), ordering(i->sem),
			  ptx_type_bits(i->type) / 8);
	if (i->ndst)
		write_typed(l, &i->dst[0], r, i->type);
	return true;
}
