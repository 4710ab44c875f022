/* SPDX-License-Identifier: Apache-2.0
 *
 * Special registers (PTX ISA chapter 10) from AMD's: work-item and work-group numbers are intrinsics; sizes stand in the
 * hidden arguments of code object version 5 (LLVM, "User Guide for AMDGPU Backend", Code Object V5 Metadata):
 * block counts, 32 bits each, at 0, group sizes, 16 bits each, at 12.
 */
#include "ptx/lower/writer.h"

static struct ir hidden(struct lower *l, unsigned offset, unsigned bits)
{
	struct ir p = ir_op(l, "call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()");

	p = ir_op(l, "getelementptr i8, ptr addrspace(4) %s, i64 %u", p.s, offset);
	p = ir_op(l, "load i%u, ptr addrspace(4) %s, align %u, !invariant.load !0", bits, p.s, bits / 8);
	return ir_resize(l, p, bits, 32, false);
}

static struct ir axis_of(struct lower *l, const char *what, unsigned axis)
{
	return ir_op(l, "call i32 @llvm.amdgcn.%s.%c()", what, "xyz"[axis]);
}

static struct ir ntid(struct lower *l, unsigned axis)
{
	return l->kernel->reqntid[0] ? ir_int(l->kernel->reqntid[axis] ? l->kernel->reqntid[axis] : 1, 32)
				     : hidden(l, 12 + 2 * axis, 16);
}

struct ir wave_lane(struct lower *l)
{
	struct ir lo = ir_op(l, "call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)");

	return l->target->wave == 32 ? lo : ir_op(l, "call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %s)", lo.s);
}

struct ir warp_lane(struct lower *l)
{
	struct ir lane = wave_lane(l);

	return l->target->wave == 32 ? lane : ir_op(l, "and i32 %s, 31", lane.s);
}

static struct ir warp_number(struct lower *l)
{
	struct ir at = axis_of(l, "workitem.id", 2);

	for (unsigned axis = 2; axis-- > 0;) {
		at = ir_op(l, "mul i32 %s, %s", at.s, ntid(l, axis).s);
		at = ir_op(l, "add i32 %s, %s", at.s, axis_of(l, "workitem.id", axis).s);
	}
	return ir_op(l, "lshr i32 %s, 5", at.s);
}

static struct ir warp_count(struct lower *l)
{
	struct ir n = ir_op(l, "mul i32 %s, %s", ntid(l, 0).s, ntid(l, 1).s);

	n = ir_op(l, "mul i32 %s, %s", n.s, ntid(l, 2).s);
	return ir_op(l, "lshr i32 %s, 5", ir_op(l, "add i32 %s, 31", n.s).s);
}

static struct ir lane_mask(struct lower *l, enum ptx_sreg r)
{
	struct ir eq = ir_op(l, "shl i32 1, %s", warp_lane(l).s);
	struct ir lt = ir_op(l, "sub i32 %s, 1", eq.s);

	switch (r) {
	case PTX_SREG_LANEMASK_EQ: return eq;
	case PTX_SREG_LANEMASK_LT: return lt;
	case PTX_SREG_LANEMASK_LE: return ir_op(l, "or i32 %s, %s", lt.s, eq.s);
	case PTX_SREG_LANEMASK_GE: return ir_op(l, "xor i32 %s, -1", lt.s);
	default: return ir_op(l, "xor i32 %s, -1", ir_op(l, "or i32 %s, %s", lt.s, eq.s).s);
	}
}

static struct ir clock_now(struct lower *l, enum ptx_sreg r)
{
	struct ir t = ir_op(l, "call i64 @llvm.readcyclecounter()");

	if (r == PTX_SREG_CLOCK_HI)
		t = ir_op(l, "lshr i64 %s, 32", t.s);
	return r == PTX_SREG_CLOCK64 ? t : ir_op(l, "trunc i64 %s to i32", t.s);
}

/* Registers that differ by thread, block or launch; .w of a vector is 0. A kernel without clusters is one whose
 * clusters have one block (10.11 to 10.17). */
static struct ir register_value(struct lower *l, enum ptx_sreg r)
{
	switch (r) {
	case PTX_SREG_TID_X ... PTX_SREG_TID_Z: return axis_of(l, "workitem.id", r - PTX_SREG_TID_X);
	case PTX_SREG_NTID_X ... PTX_SREG_NTID_Z: return ntid(l, r - PTX_SREG_NTID_X);
	case PTX_SREG_CTAID_X ... PTX_SREG_CTAID_Z: return axis_of(l, "workgroup.id", r - PTX_SREG_CTAID_X);
	case PTX_SREG_CLUSTERID_X ... PTX_SREG_CLUSTERID_Z:
		return axis_of(l, "workgroup.id", r - PTX_SREG_CLUSTERID_X);
	case PTX_SREG_NCTAID_X ... PTX_SREG_NCTAID_Z: return hidden(l, 4 * (r - PTX_SREG_NCTAID_X), 32);
	case PTX_SREG_NCLUSTERID_X ... PTX_SREG_NCLUSTERID_Z:
		return hidden(l, 4 * (r - PTX_SREG_NCLUSTERID_X), 32);
	case PTX_SREG_CLUSTER_NCTAID_X ... PTX_SREG_CLUSTER_NCTAID_Z:
	case PTX_SREG_CLUSTER_NCTARANK: return ir_text("1");
	case PTX_SREG_TID_W:
	case PTX_SREG_NTID_W:
	case PTX_SREG_CTAID_W:
	case PTX_SREG_NCTAID_W:
	case PTX_SREG_CLUSTER_CTAID_X ... PTX_SREG_CLUSTER_CTAID_W:
	case PTX_SREG_IS_EXPLICIT_CLUSTER:
	case PTX_SREG_CLUSTER_CTARANK: return ir_text("0");
	case PTX_SREG_LANEID: return warp_lane(l);
	case PTX_SREG_WARPID: return warp_number(l);
	case PTX_SREG_NWARPID: return warp_count(l);
	case PTX_SREG_LANEMASK_EQ ... PTX_SREG_LANEMASK_GT: return lane_mask(l, r);
	case PTX_SREG_CLOCK ... PTX_SREG_CLOCK64: return clock_now(l, r);
	default: lower_refuse(l, "special register %s", ptx_sreg_name(r)); return ir_text("0");
	}
}

struct ir read_sreg(struct lower *l, enum ptx_sreg r, unsigned bits)
{
	unsigned have = r == PTX_SREG_CLOCK64 ? 64 : r == PTX_SREG_IS_EXPLICIT_CLUSTER ? 1 : 32;

	return ir_resize(l, register_value(l, r), have, bits, false);
}
