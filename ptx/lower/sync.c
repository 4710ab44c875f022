/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences and barriers, PTX ISA 9.7.13.1 to .4. Whether a barrier may be an s_barrier is for checks.c to say.
 */
#include "ptx/lower/writer.h"

#include <string.h>

static bool lower_fence(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	static const char *const orders[] = {[PTX_ACQUIRE] = "acquire",
					     [PTX_RELEASE] = "release",
					     [PTX_ACQ_REL] = "acq_rel",
					     [PTX_SC] = "seq_cst"};

	if (i->op == PTX_OP_MEMBAR) {
		ir_line(l, "fence %sseq_cst", ir_scope(i->scope));
		return true;
	}
	if (strstr(i->mods, "mbarrier_init") || strstr(i->mods, "restrict") || !i->sem || i->sem > PTX_SC ||
	    !orders[i->sem])
		return lower_refuse(l, "this kind of fence");
	ir_line(l, "fence %s%s", ir_scope(i->scope), orders[i->sem]);
	return true;
}

/* Memory of the block is ordered by it (9.7.13.1). */
static bool lower_barrier(struct lower *l)
{
	const struct ptx_inst *i = l->i;

	if (i->sub != PTX_SUB_SYNC || i->ndst)
		return lower_refuse(l, "a barrier that reduces or only arrives");
	if (i->nsrc > 1)
		return lower_refuse(l, "a barrier for some of the block's threads");
	if (i->nsrc && i->src[0].kind != PTX_OPND_IMM)
		return lower_refuse(l, "a barrier with a number that isn't constant");
	ir_line(l, "fence syncscope(\"workgroup\") release");
	ir_line(l, "call void @llvm.amdgcn.s.barrier()");
	ir_line(l, "fence syncscope(\"workgroup\") acquire");
	return true;
}

static bool lower_warp_barrier(struct lower *l)
{
	ir_line(l, "fence syncscope(\"wavefront\") acq_rel");
	ir_line(l, "call void @llvm.amdgcn.wave.barrier()");
	return true;
}

void fault_if(struct lower *l, struct ir condition, unsigned kind)
{
	unsigned then = l->next++, end = l->next++;

	(void)kind;
	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", condition.s, then, end);
	ir_label(l, then);
	ir_line(l, "call void @llvm.trap()");
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
}

bool lower_sync(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_MEMBAR:
	case PTX_OP_FENCE: return lower_fence(l);
	case PTX_OP_BAR:
	case PTX_OP_BARRIER: return lower_barrier(l);
	case PTX_OP_BAR_WARP_SYNC: return lower_warp_barrier(l);
	case PTX_OP_NANOSLEEP: ir_line(l, "call void @llvm.amdgcn.s.sleep(i32 1)"); return true;
	case PTX_OP_PMEVENT: return true; /* nobody counts */
	case PTX_OP_TRAP: ir_line(l, "call void @llvm.trap()"); return true;
	default: return false;
	}
}
