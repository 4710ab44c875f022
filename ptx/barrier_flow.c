/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/barrier_flow: barriers, and whether control flow brings all threads of the block to them. */
#include <stdlib.h>

#include "ptx/analysis.h"

static bool is_barrier(const struct ptx_inst *i)
{
	return i->op == PTX_OP_BAR || i->op == PTX_OP_BARRIER;
}

static struct ptx_barrier_use describe(const struct ptx_func *f, const struct ptx_uniformity *u,
				       uint32_t block, uint32_t n)
{
	const struct ptx_inst *i = &f->insts[n];
	struct ptx_barrier_use b = {.inst = n, .control = u->control[block]};
	unsigned counted = i->sub == PTX_SUB_RED ? 3 : 2; /* sources with a thread count */
	b.aligned = i->op == PTX_OP_BAR || i->flags & PTX_F_ALIGNED;
	b.waits = i->sub != PTX_SUB_ARRIVE;
	b.whole_block = i->nsrc < counted;
	if (i->guarded && u->values[i->guard].level > b.control)
		b.control = u->values[i->guard].level;
	return b;
}

int ptx_barriers_find(const struct ptx_func *f, const struct ptx_uniformity *u, struct ptx_barriers *b)
{
	uint32_t n = 0;
	*b = (struct ptx_barriers){.all_uniform = true};
	for (uint32_t k = 0; k < f->ninsts; k++)
		n += is_barrier(&f->insts[k]);
	b->at = malloc(((size_t)n + 1) * sizeof(*b->at));
	if (!b->at)
		return CUTRACE_ENOMEM;
	for (uint32_t k = 0; k < f->nblocks; k++)
		for (uint32_t i = f->blocks[k].first; i < f->blocks[k].first + f->blocks[k].ninsts; i++) {
			if (!is_barrier(&f->insts[i]) || (k && !f->blocks[k].npreds))
				continue;
			struct ptx_barrier_use use = describe(f, u, k, i);
			b->all_uniform &= use.waits && use.whole_block && use.control <= PTX_LEVEL_BLOCK;
			b->at[b->n++] = use;
		}
	return 0;
}

void ptx_barriers_free(struct ptx_barriers *b)
{
	free(b->at);
	*b = (struct ptx_barriers){0};
}
