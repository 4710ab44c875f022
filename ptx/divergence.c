/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/divergence: where threads that a branch parted come together again. From the branch's successors labels
 * travel along the edges up to its post-dominator; a block that two different labels reach is a join: its phis
 * choose by the way a thread came (Karrenberg and Hack, CC 2012). Blocks are visited in reverse postorder, so
 * loops that lie on one way only are no joins. When the labels come back to the branch itself, it is a loop's
 * exit: threads leave in different iterations, and what the loop made differs behind it. */
#include <stdlib.h>
#include <string.h>

#include "ptx/uniform.h"

enum { WORK_A_BLOCK = 64, WORK_MIN = 1 << 16 };

/* Reverse postorder numbers of reachable blocks, without recursion. */
static int number_blocks(struct uniform *u)
{
	const struct ptx_func *f = u->f;
	uint32_t *stack = malloc(((size_t)f->nblocks + 1) * 2 * sizeof(*stack)), depth = 0, n = f->nblocks;
	if (!stack)
		return CUTRACE_ENOMEM;
	uint32_t *edge = stack + f->nblocks + 1;
	memset(u->order, 0xff, f->nblocks * sizeof(*u->order));
	u->order[0] = 0;
	stack[depth] = 0;
	edge[depth++] = 0;
	while (depth) {
		const struct ptx_block *b = &f->blocks[stack[depth - 1]];
		if (edge[depth - 1] == b->nsuccs) {
			u->order[stack[--depth]] = --n;
			continue;
		}
		uint32_t to = b->succs[edge[depth - 1]++];
		if (u->order[to] != PTX_NONE)
			continue;
		u->order[to] = 0;
		stack[depth] = to;
		edge[depth++] = 0;
	}
	free(stack);
	return 0;
}

int divergence_open(struct uniform *u)
{
	size_t n = (size_t)u->f->nblocks + 1;
	u->join = calloc(n, 1);
	u->divergent = calloc(n, 1);
	u->queued = calloc(n, 1);
	u->is_join = calloc(n, 1);
	u->in_loop = calloc(n, 1);
	u->order = malloc(n * sizeof(*u->order));
	u->heap = malloc(n * sizeof(*u->heap));
	u->label = malloc(n * sizeof(*u->label));
	u->stamp = calloc(n, sizeof(*u->stamp));
	u->region = malloc(n * sizeof(*u->region));
	u->budget = (uint64_t)u->f->nblocks * WORK_A_BLOCK + WORK_MIN;
	if (!u->join || !u->divergent || !u->queued || !u->is_join || !u->in_loop || !u->order || !u->heap ||
	    !u->label || !u->stamp || !u->region)
		return CUTRACE_ENOMEM;
	return number_blocks(u);
}

void divergence_close(struct uniform *u)
{
	free(u->join);
	free(u->queued);
	free(u->is_join);
	free(u->in_loop);
	free(u->order);
	free(u->heap);
	free(u->label);
	free(u->stamp);
	free(u->region);
}

static void heap_push(struct uniform *u, uint32_t b)
{
	if (u->queued[b])
		return;
	u->queued[b] = 1;
	uint32_t k = u->nheap++;
	for (; k && u->order[u->heap[(k - 1) / 2]] > u->order[b]; k = (k - 1) / 2)
		u->heap[k] = u->heap[(k - 1) / 2];
	u->heap[k] = b;
}

static uint32_t heap_pop(struct uniform *u)
{
	uint32_t best = u->heap[0], moved = u->heap[--u->nheap], k = 0;
	for (uint32_t child; (child = 2 * k + 1) < u->nheap; k = child) {
		if (child + 1 < u->nheap && u->order[u->heap[child + 1]] < u->order[u->heap[child]])
			child++;
		if (u->order[u->heap[child]] >= u->order[moved])
			break;
		u->heap[k] = u->heap[child];
	}
	u->heap[k] = moved;
	u->queued[best] = 0;
	return best;
}

static void enter_region(struct uniform *u, uint32_t b)
{
	if (u->stamp[b] == u->run)
		return;
	u->stamp[b] = u->run;
	u->label[b] = PTX_NONE;
	u->is_join[b] = u->in_loop[b] = 0;
	u->region[u->nregion++] = b;
}

/* The label that b hands on; PTX_NONE before it has one. */
static uint32_t handed_on(const struct uniform *u, uint32_t b)
{
	return u->stamp[b] != u->run ? PTX_NONE : u->is_join[b] ? b : u->label[b];
}

/* Whether what b hands on has changed. */
static bool relabel(struct uniform *u, uint32_t b, uint32_t d)
{
	const struct ptx_block *block = &u->f->blocks[b];
	uint32_t seen = PTX_NONE, before = handed_on(u, b);
	for (uint32_t k = 0; k < block->npreds && !u->is_join[b]; k++) {
		uint32_t l = block->preds[k] == d ? b : handed_on(u, block->preds[k]);
		if (l == PTX_NONE)
			continue;
		if (seen != PTX_NONE && seen != l)
			u->is_join[b] = 1;
		seen = l;
	}
	u->label[b] = seen;
	return handed_on(u, b) != before;
}

static void raise_join(struct uniform *u, uint32_t b, uint8_t level)
{
	if (u->join[b] >= level)
		return;
	u->join[b] = level;
	for (uint32_t k = 0; k < u->f->blocks[b].nphis; k++)
		u->revisit(u, u->f->blocks[b].phis[k].value);
}

static void raise_value(struct uniform *u, uint32_t v, uint8_t level)
{
	if (u->leaves_loop[v] >= level)
		return;
	u->leaves_loop[v] = level;
	u->revisit(u, v);
}

/* Too much work: every join may be one of this branch, every value may leave its loop. */
static void assume_all(struct uniform *u, uint8_t level)
{
	u->bounded = true;
	u->assumed = level;
	for (uint32_t b = 0; b < u->f->nblocks; b++)
		if (u->f->blocks[b].npreds > 1)
			raise_join(u, b, level);
	for (uint32_t v = 1; v < u->f->nvalues; v++) {
		uint32_t def = ptx_value_block(u->f, &u->uses, v);
		for (uint32_t k = u->uses.first[v]; k < u->uses.first[v + 1]; k++)
			if (u->uses.at[k].block != def)
				raise_value(u, v, level);
	}
}

static bool spend(struct uniform *u, uint64_t work)
{
	if (u->budget < work) {
		u->budget = 0;
		return false;
	}
	u->budget -= work;
	return true;
}

static bool spread_labels(struct uniform *u, uint32_t d)
{
	const struct ptx_block *from = &u->f->blocks[d];
	u->run++;
	u->nregion = u->nheap = 0;
	for (uint32_t k = 0; k < from->nsuccs; k++) {
		enter_region(u, from->succs[k]);
		heap_push(u, from->succs[k]);
	}
	while (u->nheap) {
		uint32_t b = heap_pop(u);
		if (!spend(u, 1 + u->f->blocks[b].npreds)) {
			while (u->nheap)
				heap_pop(u);
			return false;
		}
		if (!relabel(u, b, d) || b == d || b == from->ipdom)
			continue;
		for (uint32_t k = 0; k < u->f->blocks[b].nsuccs; k++) {
			enter_region(u, u->f->blocks[b].succs[k]);
			heap_push(u, u->f->blocks[b].succs[k]);
		}
	}
	return true;
}

/* Marks the blocks of the region from which the branch is reached again. The heap's memory is the stack. */
static void find_loop(struct uniform *u, uint32_t d)
{
	uint32_t depth = 0;
	u->in_loop[d] = 1;
	u->heap[depth++] = d;
	while (depth) {
		const struct ptx_block *b = &u->f->blocks[u->heap[--depth]];
		for (uint32_t k = 0; k < b->npreds; k++) {
			uint32_t p = b->preds[k];
			if (u->stamp[p] != u->run || u->in_loop[p] || p == u->f->blocks[d].ipdom)
				continue;
			u->in_loop[p] = 1;
			u->heap[depth++] = p;
		}
	}
}

static bool is_in_loop(const struct uniform *u, uint32_t b)
{
	return u->stamp[b] == u->run && u->in_loop[b];
}

static void leave_loop(struct uniform *u, uint32_t v, uint8_t level)
{
	for (uint32_t k = u->uses.first[v]; k < u->uses.first[v + 1]; k++) {
		const struct ptx_use *use = &u->uses.at[k];
		uint32_t to = use->phi != PTX_NONE ? u->f->values[use->phi].phi_block : use->block;
		if (is_in_loop(u, to))
			continue;
		if (use->phi != PTX_NONE && is_in_loop(u, use->block))
			raise_join(u, to, level);
		else
			raise_value(u, v, level);
	}
}

static bool leave_block(struct uniform *u, uint32_t b, uint8_t level)
{
	const struct ptx_block *block = &u->f->blocks[b];
	if (!spend(u, 1 + block->ninsts / 8))
		return false;
	for (uint32_t k = 0; k < block->nphis; k++)
		leave_loop(u, block->phis[k].value, level);
	for (uint32_t n = block->first; n < block->first + block->ninsts; n++)
		for (unsigned k = 0; k < u->f->insts[n].ndst; k++)
			if (u->f->insts[n].dst[k].kind == PTX_OPND_VALUE)
				leave_loop(u, u->f->insts[n].dst[k].index, level);
	return true;
}

void divergence_spread(struct uniform *u, uint32_t d)
{
	uint8_t level = u->divergent[d];
	if (u->assumed >= level)
		return;
	bool done = spread_labels(u, d);
	for (uint32_t k = 0; k < u->nregion && done; k++)
		if (u->is_join[u->region[k]])
			raise_join(u, u->region[k], level);
	if (done && u->stamp[d] == u->run) {
		find_loop(u, d);
		for (uint32_t k = 0; k < u->nregion && done; k++)
			if (u->in_loop[u->region[k]])
				done = leave_block(u, u->region[k], level);
	}
	if (!done)
		assume_all(u, level);
}

/* Every block on the way up the post-dominator tree from a successor to the branch's post-dominator is executed
 * by those threads only that took that way. */
static bool control_from(struct uniform *u, uint8_t *control, uint32_t d, uint8_t *done)
{
	const struct ptx_block *from = &u->f->blocks[d];
	uint8_t level = u->divergent[d] > control[d] ? u->divergent[d] : control[d];
	done[d] = level;
	for (uint32_t k = 0; k < from->nsuccs; k++)
		for (uint32_t b = from->succs[k]; b != from->ipdom && b != PTX_NONE;
		     b = u->f->blocks[b].ipdom) {
			if (!spend(u, 1))
				return false;
			if (control[b] >= level)
				continue;
			control[b] = level;
			if (u->f->blocks[b].nsuccs > 1 && done[b] < level)
				heap_push(u, b);
		}
	return true;
}

int divergence_control(struct uniform *u, uint8_t *control)
{
	uint8_t *done = calloc((size_t)u->f->nblocks + 1, 1);
	bool complete = true;
	if (!done)
		return CUTRACE_ENOMEM;
	u->budget = (uint64_t)u->f->nblocks * WORK_A_BLOCK + WORK_MIN;
	u->nheap = 0;
	for (uint32_t b = 0; b < u->f->nblocks; b++)
		if (u->divergent[b] > PTX_LEVEL_GRID)
			heap_push(u, b);
	while (u->nheap && complete) {
		uint32_t d = heap_pop(u);
		if (done[d] < (u->divergent[d] > control[d] ? u->divergent[d] : control[d]))
			complete = control_from(u, control, d, done);
	}
	if (!complete) {
		u->bounded = true;
		for (uint32_t b = 1; b < u->f->nblocks; b++)
			control[b] = u->f->blocks[b].npreds ? PTX_LEVEL_THREAD : 0;
	}
	free(done);
	return 0;
}
