/* SPDX-License-Identifier: Apache-2.0
 *
 * Special registers, PTX ISA chapter 10. Clusters hold one block; clocks count
 * executed instructions, so that a deterministic run stays one.
 */
#include <time.h>

#include "zluda_core/device_interp/lane.h"

static uint64_t now_ns(const struct warp *w)
{
	struct timespec t;

	if (w->block->grid->dev->deterministic)
		return w->clock;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t clock_now(const struct warp *w)
{
	return w->clock + (uint64_t)(w->slice_length - w->left);
}

/* In allocation units (10.30). Nothing is reserved for the system, so the aggregate (10.31) is the same. */
static uint32_t shared_allocated(const struct block *b)
{
	uint32_t unit = b->grid->dev->cc_major < 8 ? 256 : 128;

	return (b->shared_bytes + unit - 1) / unit * unit;
}

/* Registers that are the same for all lanes. */
static uint64_t uniform_value(const struct warp *w, uint32_t r)
{
	const struct block *b = w->block;
	const struct grid *g = b->grid;
	const struct dev_launch *l = g->launch;

	if (r >= PTX_SREG_NTID_X && r <= PTX_SREG_NTID_Z)
		return l->block[r - PTX_SREG_NTID_X];
	if (r >= PTX_SREG_CTAID_X && r <= PTX_SREG_CTAID_Z)
		return b->index[r - PTX_SREG_CTAID_X];
	if (r >= PTX_SREG_NCTAID_X && r <= PTX_SREG_NCTAID_Z)
		return l->grid[r - PTX_SREG_NCTAID_X];
	if (r >= PTX_SREG_CLUSTERID_X && r <= PTX_SREG_CLUSTERID_Z)
		return b->index[r - PTX_SREG_CLUSTERID_X];
	if (r >= PTX_SREG_NCLUSTERID_X && r <= PTX_SREG_NCLUSTERID_Z)
		return l->grid[r - PTX_SREG_NCLUSTERID_X];
	if (r >= PTX_SREG_CLUSTER_NCTAID_X && r <= PTX_SREG_CLUSTER_NCTAID_Z)
		return 1;
	switch (r) {
	case PTX_SREG_CLUSTER_NCTARANK: return 1;
	case PTX_SREG_WARPID: return w->number;
	case PTX_SREG_NWARPID: return b->nwarps;
	case PTX_SREG_SMID: return b->linear % g->dev->sm_count;
	case PTX_SREG_NSMID: return g->dev->sm_count;
	case PTX_SREG_GRIDID: return l->launch_id;
	case PTX_SREG_CLOCK: return (uint32_t)clock_now(w);
	case PTX_SREG_CLOCK_HI: return clock_now(w) >> 32;
	case PTX_SREG_CLOCK64: return clock_now(w);
	case PTX_SREG_GLOBALTIMER: return now_ns(w);
	case PTX_SREG_GLOBALTIMER_LO: return (uint32_t)now_ns(w);
	case PTX_SREG_GLOBALTIMER_HI: return now_ns(w) >> 32;
	case PTX_SREG_TOTAL_SMEM_SIZE:
	case PTX_SREG_AGGR_SMEM_SIZE: return shared_allocated(b);
	case PTX_SREG_DYNAMIC_SMEM_SIZE: return l->shared_bytes;
	/* Cooperative groups find the grid's barrier words there: high half in 1, low half in 2. */
	case PTX_SREG_ENVREG1: return g->workspace >> 32;
	case PTX_SREG_ENVREG2: return (uint32_t)g->workspace;
	default: return 0;
	}
}

static uint32_t lane_value(const struct warp *w, uint32_t r, uint32_t l)
{
	switch (r) {
	case PTX_SREG_TID_X:
	case PTX_SREG_TID_Y:
	case PTX_SREG_TID_Z: return w->tids[r - PTX_SREG_TID_X][l];
	case PTX_SREG_LANEID: return l;
	case PTX_SREG_LANEMASK_EQ: return 1u << l;
	case PTX_SREG_LANEMASK_LT: return (1u << l) - 1;
	case PTX_SREG_LANEMASK_LE: return (2u << l) - 1;
	case PTX_SREG_LANEMASK_GE: return ~((1u << l) - 1);
	default: return ~((2u << l) - 1); /* gt */
	}
}

static bool differs_by_lane(uint32_t r)
{
	return r <= PTX_SREG_TID_Z || r == PTX_SREG_LANEID ||
	       (r >= PTX_SREG_LANEMASK_EQ && r <= PTX_SREG_LANEMASK_GT);
}

static bool is_wide(uint32_t r)
{
	return r == PTX_SREG_GRIDID || r == PTX_SREG_CLOCK64 || r == PTX_SREG_GLOBALTIMER ||
	       r == PTX_SREG_CURRENT_GRAPH_EXEC || (r >= PTX_SREG_PM0_64 && r <= PTX_SREG_PM7_64);
}

const struct xinst *exec_sreg(struct warp *w, const struct xinst *i)
{
	uint32_t *d = cell(w, i->o[0]);

	if (differs_by_lane(i->u)) {
		FOR_LANES(l, w->exec)
		d[l] = lane_value(w, i->u, l);
		return i + 1;
	}
	uint64_t v = uniform_value(w, i->u);

	if (i->u == PTX_SREG_IS_EXPLICIT_CLUSTER)
		pred_store(w, i->o[0], w->block->grid->program->kernel->cluster[0] ? FULL_MASK : 0);
	else if (is_wide(i->u))
		FOR_LANES(l, w->exec)((uint64_t *)(void *)d)[l] = v;
	else
		FOR_LANES(l, w->exec) d[l] = (uint32_t)v;
	return i + 1;
}
