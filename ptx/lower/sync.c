/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences, PTX ISA 9.7.13.4, and what else a thread does with time. One that restricts itself to some memory orders all
 * of it here.
 */
#include "ptx/lower/writer.h"

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
	const char *order = i->sem && i->sem <= PTX_SC ? orders[i->sem] : NULL;
	ir_line(l, "fence %s%s", ir_scope(i->scope), order ? order : "acq_rel");
	return true;
}

bool lower_sync(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_MEMBAR:
	case PTX_OP_FENCE: return lower_fence(l);
	case PTX_OP_MEMBAR_PROXY:
	case PTX_OP_FENCE_PROXY: ir_line(l, "fence seq_cst"); return true; /* memory has one proxy */
	case PTX_OP_GRIDDEPCONTROL:                                        /* launches don't overlap */
	case PTX_OP_SETMAXNREG: return true;                               /* a hint to the register file */
	case PTX_OP_NANOSLEEP: ir_line(l, "call void @llvm.amdgcn.s.sleep(i32 1)"); return true;
	case PTX_OP_PMEVENT: return true; /* nobody counts */
	default: return false;
	}
}
