/* SPDX-License-Identifier: Apache-2.0
 *
 * Subnormals and saturation. AMD's modes hold for a whole kernel, .ftz for one instruction: the mode flushes only when
 * each f32 operation of the kernel does; else flushing is written out.
 */
#include "ptx/lower/writer.h"

static bool uses_f32_mode(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_MOV:
	case PTX_OP_LD:
	case PTX_OP_LDU:
	case PTX_OP_ST:
	case PTX_OP_SELP:
	case PTX_OP_CALL: return false;
	default: return i->type == PTX_F32 || i->type2 == PTX_F32;
	}
}

/* One function's worth; a callee that isn't .ftz throughout decides for the kernel, so only leaf kernels qualify. */
bool kernel_flushes(const struct lower *l)
{
	const struct ptx_func *f = l->kernel;
	bool any = false;

	for (uint32_t k = 0; k < f->ninsts; k++) {
		const struct ptx_inst *i = &f->insts[k];
		if (i->op == PTX_OP_CALL || (uses_f32_mode(i) && !(i->flags & PTX_F_FTZ)))
			return false;
		any |= uses_f32_mode(i);
	}
	return any;
}

/* |v| < 2^-126 becomes a zero with the sign of v (ISA 9.7.3). Right in either mode, and not foldable away. */
struct ir flush(struct lower *l, struct ir v, enum ptx_type t)
{
	if (t != PTX_F32) {
		lower_refuse(l, ".ftz of a type other than .f32");
		return v;
	}
	struct ir bits = ir_op(l, "bitcast float %s to i32", v.s);
	struct ir exponent = ir_op(l, "and i32 %s, %u", bits.s, 0x7f800000);
	struct ir small = ir_op(l, "icmp eq i32 %s, 0", exponent.s);
	struct ir zero = ir_op(l, "and i32 %s, %u", bits.s, 0x80000000);
	struct ir r = ir_op(l, "select i1 %s, i32 %s, i32 %s", small.s, zero.s, bits.s);

	return ir_op(l, "bitcast i32 %s to float", r.s);
}

/* To [0, 1]; NaN becomes +0 (ISA 9.7.3, .sat). */
struct ir saturate(struct lower *l, struct ir v, enum ptx_type t)
{
	const char *type = ir_type(t);
	struct ir above = ir_op(l, "fcmp ogt %s %s, 0.0", type, v.s);
	struct ir r = ir_op(l, "select i1 %s, %s %s, %s 0.0", above.s, type, v.s, type);
	struct ir over = ir_op(l, "fcmp ogt %s %s, 1.0", type, r.s);

	return ir_op(l, "select i1 %s, %s 1.0, %s %s", over.s, type, type, r.s);
}

struct ir read_float(struct lower *l, const struct ptx_operand *o, enum ptx_type t)
{
	struct ir v = read_typed(l, o, t);

	return l->i->flags & PTX_F_FTZ && t == PTX_F32 ? flush(l, v, t) : v;
}
