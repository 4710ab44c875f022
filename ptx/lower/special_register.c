/* SPDX-License-Identifier: Apache-2.0
 *
 * Special registers (PTX ISA chapter 10) from AMD's: work-item and work-group numbers are intrinsics; sizes stand in the
 * hidden arguments of code object version 5 (LLVM, "User Guide for AMDGPU Backend", Code Object V5 Metadata):
 * block counts, 32 bits each, at 0, group sizes, 16 bits each, at 12.
 */
#include "ptx/lower/writer.h"

#include <stddef.h>

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

/* Nanoseconds by a counter of constant rate (10.26). */
static struct ir global_time(struct lower *l, enum ptx_sreg r)
{
	struct ir t = ir_op(l, "call i64 @llvm.readsteadycounter()");
	struct ir scale = runtime_word(l, offsetof(struct lower_runtime, timer_scale), 64);

	t = ir_op(l, "mul i128 %s, %s", ir_resize(l, t, 64, 128, false).s,
		  ir_resize(l, scale, 64, 128, false).s);
	t = ir_op(l, "trunc i128 %s to i64", ir_op(l, "lshr i128 %s, 32", t.s).s);
	if (r == PTX_SREG_GLOBALTIMER_HI)
		t = ir_op(l, "lshr i64 %s, 32", t.s);
	return r == PTX_SREG_GLOBALTIMER ? t : ir_op(l, "trunc i64 %s to i32", t.s);
}

/* No register of AMD's says it in a way that fits all generations: blocks are dealt out in turn. */
static struct ir processor(struct lower *l)
{
	struct ir at = axis_of(l, "workgroup.id", 2);

	for (unsigned axis = 2; axis-- > 0;) {
		at = ir_op(l, "mul i32 %s, %s", at.s, hidden(l, 4 * axis, 32).s);
		at = ir_op(l, "add i32 %s, %s", at.s, axis_of(l, "workgroup.id", axis).s);
	}
	return ir_op(l, "urem i32 %s, %s", at.s,
		     runtime_word(l, offsetof(struct lower_runtime, compute_units), 32).s);
}

/* Static and dynamic, in the units of sm_80 and later: 128 bytes (10.28). */
static struct ir shared_total(struct lower *l)
{
	struct ir n = runtime_word(l, offsetof(struct lower_runtime, dynamic_shared_bytes), 32);

	n = ir_op(l, "add i32 %s, %llu", n.s, (unsigned long long)l->kernel->shared_bytes + 127);
	return ir_op(l, "and i32 %s, -128", n.s);
}

/* Cooperative groups find the words of the grid's barrier there: high half in 1, low half in 2. */
static struct ir environment(struct lower *l, enum ptx_sreg r)
{
	size_t at = offsetof(struct lower_runtime, grid_workspace);

	if (r != PTX_SREG_ENVREG1 && r != PTX_SREG_ENVREG2)
		return ir_text("0");
	return runtime_word(l, at + (r == PTX_SREG_ENVREG1 ? 4 : 0), 32);
}

/* What the launch decides, by the run-time block, and what is never anything but 0: counters that nobody started,
 * shared memory that no system reserves, the graph that a launch isn't of. */
static struct ir launch_value(struct lower *l, enum ptx_sreg r)
{
	switch (r) {
	case PTX_SREG_GLOBALTIMER ... PTX_SREG_GLOBALTIMER_HI: return global_time(l, r);
	case PTX_SREG_SMID: return processor(l);
	case PTX_SREG_NSMID: return runtime_word(l, offsetof(struct lower_runtime, compute_units), 32);
	case PTX_SREG_GRIDID: return runtime_word(l, offsetof(struct lower_runtime, launch_id), 64);
	case PTX_SREG_TOTAL_SMEM_SIZE:
	case PTX_SREG_AGGR_SMEM_SIZE: return shared_total(l);
	case PTX_SREG_DYNAMIC_SMEM_SIZE:
		return runtime_word(l, offsetof(struct lower_runtime, dynamic_shared_bytes), 32);
	case PTX_SREG_ENVREG0 ... PTX_SREG_ENVREG31: return environment(l, r);
	default: return ir_text("0");
	}
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
	default: return launch_value(l, r);
	}
}

struct ir read_sreg(struct lower *l, enum ptx_sreg r, unsigned bits)
{
	static const uint8_t widths[PTX_NSREGS] = {
#define PTX_SREG(id, name, bits) [PTX_SREG_##id] = bits,
#include "ptx/sregs.def"
#undef PTX_SREG
	};
	const unsigned have = widths[r];

	return ir_resize(l, register_value(l, r), have, bits, false);
}
