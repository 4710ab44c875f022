/* SPDX-License-Identifier: Apache-2.0
 *
 * What has to hold for the kernel or a function as a whole, because AMD's waves differ from CUDA's warps in more than
 * instructions: who waits at a barrier, and who makes progress.
 */
#include "ptx/lower/writer.h"

#include <stdlib.h>

#include "ptx/analysis.h"

bool check_kernel(struct lower *l)
{
	const struct ptx_func *f = l->kernel;

	l->i = NULL;
	if (l->m->address_size != 64)
		return lower_refuse(l, "addresses of 32 bits");
	if (f->calls_indirect)
		return lower_refuse(l, "it calls functions by address");
	if (f->cluster[0] > 1 || f->cluster[1] > 1 || f->cluster[2] > 1)
		return lower_refuse(l, "clusters of several blocks");
	if (f->shared_bytes > l->target->shared_bytes)
		return lower_refuse(l, "%llu bytes of shared memory; a block of %s has %u",
				    (unsigned long long)f->shared_bytes, l->target->name,
				    l->target->shared_bytes);
	return true;
}

static bool is_constant(const struct ptx_func *f, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_IMM)
		return true;
	if (o->kind != PTX_OPND_VALUE || !o->index)
		return o->kind == PTX_OPND_VALUE;
	uint32_t def = f->values[o->index].def;
	return def != PTX_NONE && f->insts[def].op == PTX_OP_MOV && f->insts[def].nsrc == 1 &&
	       f->insts[def].src[0].kind == PTX_OPND_IMM;
}

/* Taking a lock is a constant that replaces a constant. Loops that compute what they swap in finish alone. */
static bool takes_lock(const struct ptx_func *f, const struct ptx_inst *i)
{
	if (i->op != PTX_OP_ATOM)
		return false;
	if (i->sub == PTX_SUB_CAS)
		return is_constant(f, &i->src[1]) && is_constant(f, &i->src[2]);
	return i->sub == PTX_SUB_EXCH && is_constant(f, &i->src[1]);
}

/* Whether a way leads from block b back to it. */
static bool in_loop(struct lower *l, uint32_t b)
{
	const struct ptx_func *f = l->f;
	bool *seen = calloc(f->nblocks, sizeof(*seen)), found = false;
	uint32_t *stack = malloc((f->nblocks + 1) * sizeof(*stack)), n = 0;

	if (!seen || !stack) {
		lower_refuse(l, "out of memory");
		goto out;
	}
	stack[n++] = b;
	while (n && !found) {
		const struct ptx_block *k = &f->blocks[stack[--n]];
		for (uint32_t s = 0; s < k->nsuccs && !found; s++) {
			found = k->succs[s] == b;
			if (!seen[k->succs[s]])
				stack[n++] = k->succs[s];
			seen[k->succs[s]] = true;
		}
	}
out:
	free(seen);
	free(stack);
	return found;
}

static bool has_barrier(const struct ptx_func *f)
{
	for (uint32_t k = 0; k < f->ninsts; k++)
		if (f->insts[k].op == PTX_OP_BAR || f->insts[k].op == PTX_OP_BARRIER)
			return true;
	return false;
}

/* s_barrier counts waves: each must execute it once, with all its lanes. With waves of 32, PTX itself demands that of
 * an aligned barrier; else the control flow must be the same in the whole block, and that can't be seen in a
 * function from outside. */
static bool barrier_allowed(const struct lower *l, const struct ptx_uniformity *u, uint32_t block)
{
	if (l->target->wave == 32 && l->i->flags & PTX_F_ALIGNED)
		return true;
	return l->f->is_entry && !l->i->guarded && u->control[block] <= PTX_LEVEL_BLOCK;
}

static bool check_barriers(struct lower *l)
{
	const struct ptx_func *f = l->f;
	struct ptx_uniformity u;

	if (!has_barrier(f))
		return true;
	if (ptx_uniformity_find(f, l->m, &u))
		return lower_refuse(l, "out of memory");
	for (uint32_t b = 0; b < f->nblocks; b++)
		for (uint32_t k = f->blocks[b].first; k < f->blocks[b].first + f->blocks[b].ninsts; k++) {
			l->i = &f->insts[k];
			if ((l->i->op == PTX_OP_BAR || l->i->op == PTX_OP_BARRIER) &&
			    !barrier_allowed(l, &u, b))
				lower_refuse(l,
					     "a barrier where the threads of a wave of %u may have diverged",
					     l->target->wave);
		}
	ptx_uniformity_free(&u);
	return !l->refused;
}

static bool check_locks(struct lower *l)
{
	const struct ptx_func *f = l->f;

	for (uint32_t b = 0; b < f->nblocks; b++)
		for (uint32_t k = f->blocks[b].first; k < f->blocks[b].first + f->blocks[b].ninsts; k++) {
			l->i = &f->insts[k];
			if (takes_lock(f, l->i) && in_loop(l, b))
				return lower_refuse(
					l, "a spin lock: lanes of one wave don't wait for each other");
		}
	return true;
}

bool check_function(struct lower *l)
{
	bool ok = check_barriers(l) && check_locks(l);

	l->i = NULL;
	return ok;
}
