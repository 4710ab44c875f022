/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/uses: who reads each value. Two passes over the function: count, then fill. */
#include <stdlib.h>
#include <string.h>

#include "ptx/analysis.h"

void ptx_inst_reads(const struct ptx_inst *i, void (*fn)(void *ctx, uint32_t value), void *ctx)
{
	for (unsigned k = 0; k < i->nsrc; k++)
		if (i->src[k].kind == PTX_OPND_VALUE && i->src[k].index)
			fn(ctx, i->src[k].index);
	if (i->guarded && i->guard)
		fn(ctx, i->guard);
	for (unsigned k = 0; i->prev && k < i->ndst; k++)
		if (i->prev[k] != PTX_NONE && i->prev[k])
			fn(ctx, i->prev[k]);
}

bool ptx_inst_writes(const struct ptx_inst *i, uint32_t value)
{
	for (unsigned k = 0; k < i->ndst; k++)
		if (i->dst[k].kind == PTX_OPND_VALUE && i->dst[k].index == value)
			return true;
	return false;
}

struct finder {
	struct ptx_uses *u;
	struct ptx_use use;
	uint32_t *next; /* where a value's next use goes; NULL while counting */
};

static void note(void *ctx, uint32_t value)
{
	struct finder *d = ctx;
	if (d->next)
		d->u->at[d->next[value]++] = d->use;
	else
		d->u->first[value + 1]++;
}

static void note_phis(struct finder *d, const struct ptx_func *f, uint32_t b)
{
	const struct ptx_block *block = &f->blocks[b];
	for (uint32_t n = 0; n < block->nphis; n++)
		for (uint32_t k = 0; k < block->npreds; k++) {
			d->use = (struct ptx_use){PTX_NONE, block->preds[k], block->phis[n].value};
			if (block->phis[n].args[k])
				note(d, block->phis[n].args[k]);
		}
}

static void pass(struct finder *d, const struct ptx_func *f)
{
	for (uint32_t b = 0; b < f->nblocks; b++) {
		note_phis(d, f, b);
		for (uint32_t n = f->blocks[b].first; n < f->blocks[b].first + f->blocks[b].ninsts; n++) {
			d->u->block_of[n] = b;
			d->use = (struct ptx_use){n, b, PTX_NONE};
			ptx_inst_reads(&f->insts[n], note, d);
		}
	}
}

int ptx_uses_find(const struct ptx_func *f, struct ptx_uses *u)
{
	struct finder d = {.u = u};
	*u = (struct ptx_uses){0};
	u->first = calloc((size_t)f->nvalues + 2, sizeof(*u->first));
	u->block_of = calloc((size_t)f->ninsts + 1, sizeof(*u->block_of));
	if (!u->first || !u->block_of)
		goto fail;
	pass(&d, f);
	for (uint32_t v = 0; v < f->nvalues; v++)
		u->first[v + 1] += u->first[v];
	u->at = malloc(((size_t)u->first[f->nvalues] + 1) * sizeof(*u->at));
	d.next = malloc(((size_t)f->nvalues + 1) * sizeof(*d.next));
	if (!u->at || !d.next)
		goto fail;
	memcpy(d.next, u->first, f->nvalues * sizeof(*d.next));
	pass(&d, f);
	free(d.next);
	return 0;
fail:
	free(d.next);
	ptx_uses_free(u);
	return CUTRACE_ENOMEM;
}

void ptx_uses_free(struct ptx_uses *u)
{
	free(u->first);
	free(u->at);
	free(u->block_of);
	*u = (struct ptx_uses){0};
}

uint32_t ptx_value_block(const struct ptx_func *f, const struct ptx_uses *u, uint32_t value)
{
	const struct ptx_value *v = &f->values[value];
	if (v->phi_block != PTX_NONE)
		return v->phi_block;
	if (v->def != PTX_NONE)
		return u->block_of[v->def];
	for (uint32_t k = 0; value && k < f->nparams; k++)
		if (f->params[k].slot == v->slot)
			return 0;
	return PTX_NONE;
}
