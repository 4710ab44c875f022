/* SPDX-License-Identifier: Apache-2.0
 *
 * Why an operation isn't lowered, where it isn't for its form. Operations of one kind lie together in ptx/ops.def.
 */
#include "ptx/lower/writer.h"

static const struct {
	uint16_t first, last;
	const char *reason;
} reasons[] = {
	{PTX_OP_ST_BULK, PTX_OP_ST_BULK, "bulk stores"},
	{PTX_OP_MULTIMEM_LD_REDUCE, PTX_OP_MULTIMEM_CP_REDUCE_ASYNC_BULK, "multicast memory"},
	{PTX_OP_CP_ASYNC_BULK, PTX_OP_CP_REDUCE_ASYNC_BULK, "bulk copies by the asynchronous proxy"},
	{PTX_OP_CP_ASYNC_BULK_TENSOR, PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR, "copies through tensor maps"},
	{PTX_OP_TENSORMAP_REPLACE, PTX_OP_TENSORMAP_REPLACE, "tensor maps"},
	{PTX_OP_TENSORMAP_CP_FENCEPROXY, PTX_OP_TENSORMAP_CP_FENCEPROXY, "tensor maps"},
	{PTX_OP_CLUSTERLAUNCHCONTROL_TRY_CANCEL, PTX_OP_CLUSTERLAUNCHCONTROL_QUERY_CANCEL, "clusters"},
	{PTX_OP_WGMMA_MMA_ASYNC, PTX_OP_WGMMA_WAIT_GROUP, "matrix operations of a warpgroup"},
	{PTX_OP_TCGEN05_ALLOC, PTX_OP_TCGEN05_COMMIT, "tensor cores of the fifth generation"},
};

const char *not_lowered_reason(const struct ptx_inst *i)
{
	for (size_t k = 0; k < sizeof(reasons) / sizeof(reasons[0]); k++)
		if (i->op >= reasons[k].first && i->op <= reasons[k].last)
			return reasons[k].reason;
	return NULL;
}
