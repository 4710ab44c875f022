/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that the interpreter refuses, each with what it belongs to and the
 * first target that has it.
 */
#include "zluda_core/device_interp/decode.h"

enum reason { BULK, TENSOR_MAP, WARPGROUP, TENSOR5, MULTICAST, CANCEL, STORE_BULK };

static const struct {
	const char *what, *target;
} reasons[] = {
	[BULK] = {"bulk copies by the asynchronous proxy", "sm_90"},
	[TENSOR_MAP] = {"copies through tensor maps", "sm_90"},
	[WARPGROUP] = {"matrix operations of a warpgroup", "sm_90a"},
	[TENSOR5] = {"matrix operations of the fifth generation's tensor cores", "sm_100a"},
	[MULTICAST] = {"operations on multicast objects", "sm_90"},
	[CANCEL] = {"launches that a cluster cancels", "sm_100"},
	[STORE_BULK] = {"bulk stores", "sm_100"},
};

static int emit_refused(struct decode *c, const struct exec_row *row)
{
	const struct ptx_module *m = c->module->ptx;

	return refuse(c, "%s (target %s and later) are not executed; this module targets sm_%u%.1s",
		      reasons[row->u].what, reasons[row->u].target, m->target,
		      m->target_suffix ? &m->target_suffix : "");
}

#define REFUSED(OP, REASON)                                                                            \
	{                                                                                              \
		.op = PTX_OP_##OP, .ok = UINT32_MAX, .any_rnd = true, .sig = "", .emit = emit_refused, \
		.u = REASON                                                                            \
	}
static const struct exec_row rows[] = {
	REFUSED(CP_ASYNC_BULK, BULK),
	REFUSED(CP_REDUCE_ASYNC_BULK, BULK),
	REFUSED(CP_ASYNC_BULK_TENSOR, TENSOR_MAP),
	REFUSED(CP_REDUCE_ASYNC_BULK_TENSOR, TENSOR_MAP),
	REFUSED(CP_ASYNC_BULK_PREFETCH_TENSOR, TENSOR_MAP),
	REFUSED(TENSORMAP_REPLACE, TENSOR_MAP),
	REFUSED(TENSORMAP_CP_FENCEPROXY, TENSOR_MAP),
	REFUSED(WGMMA_MMA_ASYNC, WARPGROUP),
	REFUSED(WGMMA_MMA_ASYNC_SP, WARPGROUP),
	REFUSED(WGMMA_FENCE, WARPGROUP),
	REFUSED(WGMMA_COMMIT_GROUP, WARPGROUP),
	REFUSED(WGMMA_WAIT_GROUP, WARPGROUP),
	REFUSED(MULTIMEM_LD_REDUCE, MULTICAST),
	REFUSED(MULTIMEM_ST, MULTICAST),
	REFUSED(MULTIMEM_RED, MULTICAST),
	REFUSED(MULTIMEM_CP_ASYNC_BULK, MULTICAST),
	REFUSED(MULTIMEM_CP_REDUCE_ASYNC_BULK, MULTICAST),
	REFUSED(CLUSTERLAUNCHCONTROL_TRY_CANCEL, CANCEL),
	REFUSED(CLUSTERLAUNCHCONTROL_QUERY_CANCEL, CANCEL),
	REFUSED(ST_BULK, STORE_BULK),
	REFUSED(TCGEN05_ALLOC, TENSOR5),
	REFUSED(TCGEN05_DEALLOC, TENSOR5),
	REFUSED(TCGEN05_RELINQUISH_ALLOC_PERMIT, TENSOR5),
	REFUSED(TCGEN05_LD, TENSOR5),
	REFUSED(TCGEN05_LD_RED, TENSOR5),
	REFUSED(TCGEN05_ST, TENSOR5),
	REFUSED(TCGEN05_WAIT_LD, TENSOR5),
	REFUSED(TCGEN05_WAIT_ST, TENSOR5),
	REFUSED(TCGEN05_CP, TENSOR5),
	REFUSED(TCGEN05_SHIFT, TENSOR5),
	REFUSED(TCGEN05_MMA, TENSOR5),
	REFUSED(TCGEN05_MMA_SP, TENSOR5),
	REFUSED(TCGEN05_MMA_WS, TENSOR5),
	REFUSED(TCGEN05_MMA_WS_SP, TENSOR5),
	REFUSED(TCGEN05_FENCE_BEFORE, TENSOR5),
	REFUSED(TCGEN05_FENCE_AFTER, TENSOR5),
	REFUSED(TCGEN05_COMMIT, TENSOR5),
};

const struct exec_family exec_not_executed = {rows, sizeof(rows) / sizeof(rows[0])};
