/* SPDX-License-Identifier: Apache-2.0
 *
 * What a debugger may ask while a launch stands (api/debugger.h). */
#include <string.h>

#include "zluda_core/device_interp/debug.h"
#include "zluda_core/device_interp/exec_mem.h"

static struct block *find_block(void *state, uint64_t linear)
{
	struct debug_grid *dg = state;

	if (dg->running && dg->running->linear == linear)
		return dg->running;
	for (struct block *b = dg->grid->suspended; b; b = b->next)
		if (b->linear == linear)
			return b;
	return NULL;
}

static struct warp *find_warp(void *state, uint64_t block, uint32_t warp)
{
	struct block *b = find_block(state, block);

	return b && warp < b->nwarps ? &b->warps[warp] : NULL;
}

/* In its place of an ascending list of n. */
static void insert(uint64_t *list, uint32_t n, uint64_t value)
{
	uint32_t k = n;

	for (; k && list[k - 1] > value; k--)
		list[k] = list[k - 1];
	list[k] = value;
}

static uint32_t view_blocks(void *state, uint64_t *linear, uint32_t max)
{
	struct debug_grid *dg = state;
	uint32_t n = 0;

	if (dg->running && dg->running->warps_left && n < max)
		insert(linear, n++, dg->running->linear);
	for (struct block *b = dg->grid->suspended; b && n < max; b = b->next)
		if (b != dg->running)
			insert(linear, n++, b->linear);
	return n;
}

static uint64_t view_blocks_begun(void *state)
{
	return ((struct debug_grid *)state)->grid->next_block;
}

/* Who waits at a barrier has its next instruction as its place. */
static uint32_t place_of(const struct fragment *f)
{
	return f->state == FRAG_BARRIER ? f->pc[-1].index : f->pc->index;
}

static void describe_fragment(const struct fragment *f, struct debug_fragment *out)
{
	static const uint8_t states[] = {[FRAG_RUN] = DEBUG_RUNS,
					 [FRAG_PARKED] = DEBUG_PARKED,
					 [FRAG_COLLECTIVE] = DEBUG_GATHERS,
					 [FRAG_BARRIER] = DEBUG_BARRIER};

	*out = (struct debug_fragment){.mask = f->mask,
				       .state = states[f->state],
				       .barrier = f->barrier,
				       .members = f->members,
				       .func = f->frame->code->func_index,
				       .inst = place_of(f),
				       .depth = f->frame->depth};
}

static bool view_warp(void *state, uint64_t block, uint32_t warp, struct debug_warp *out)
{
	struct warp *w = find_warp(state, block, warp);

	memset(out, 0, sizeof(*out));
	if (!w)
		return false;
	out->steps = w->steps;
	for (uint32_t k = 0; k < LANES; k++) {
		if (w->frags[k].state == FRAG_FREE)
			continue;
		describe_fragment(&w->frags[k], &out->fragments[out->nfragments++]);
		out->lanes |= w->frags[k].mask;
	}
	return true;
}

static const struct fragment *fragment_of(const struct warp *w, uint32_t lane)
{
	for (uint32_t k = 0; lane < LANES && k < LANES; k++)
		if (w->frags[k].state != FRAG_FREE && w->frags[k].mask >> lane & 1)
			return &w->frags[k];
	return NULL;
}

/* *inst: where the activation is. */
static const struct frame *frame_at(const struct warp *w, uint32_t lane, uint32_t level, uint32_t *inst)
{
	const struct fragment *f = w ? fragment_of(w, lane) : NULL;
	const struct frame *frame = f ? f->frame : NULL;

	if (!frame)
		return NULL;
	*inst = place_of(f);
	for (; level && frame; level--) {
		*inst = frame->call ? frame->call->index : 0;
		frame = frame->parent;
	}
	return frame;
}

static bool view_frame(void *state, uint64_t block, uint32_t warp, uint32_t lane, uint32_t level,
		       struct debug_frame *out)
{
	uint32_t inst = 0;
	const struct frame *f = frame_at(find_warp(state, block, warp), lane, level, &inst);

	if (!f)
		return false;
	*out = (struct debug_frame){.func = f->code->func_index,
				    .inst = inst,
				    .lanes = f->live,
				    .local_base = f->local_base,
				    .call_offset = f->code->call_offset,
				    .param_offset = f->code->param_offset,
				    .ret_offset = f->code->ret_offset};
	return true;
}

static bool view_reg(void *state, uint64_t block, uint32_t warp, uint32_t lane, uint32_t level, uint32_t slot,
		     void *out, uint32_t bytes)
{
	uint32_t inst;
	const struct frame *f = frame_at(find_warp(state, block, warp), lane, level, &inst);
	uint32_t bits;

	if (!f || slot >= f->code->func->nslots)
		return false;
	bits = f->code->func->slots[slot].bits;
	bits = bits ? bits : 64;
	if (bytes != (bits == 1 ? 4 : LANES * (bits / 8)))
		return false;
	memcpy(out, f->regs + f->code->slot_offset[slot], bytes);
	return true;
}

struct reading {
	uint8_t *to;
};

static int read_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct reading *r = ctx;

	memcpy(r->to, host, n);
	r->to += n;
	return 0;
}

static bool copy_of(void *out, const uint8_t *base, uint64_t limit, uint64_t at, size_t bytes)
{
	if (!base || at > limit || bytes > limit - at)
		return false;
	memcpy(out, base + at, bytes);
	return true;
}

static enum debug_space view_space(void *state, uint64_t *address)
{
	(void)state;
	switch (generic_space(address)) {
	case PTX_SPACE_SHARED: return DEBUG_SHARED;
	case PTX_SPACE_LOCAL: return DEBUG_LOCAL;
	case PTX_SPACE_PARAM: return DEBUG_PARAM;
	default: return DEBUG_GLOBAL;
	}
}

static bool view_read(void *state, const struct debug_place *p, void *out, size_t bytes)
{
	struct debug_grid *dg = state;
	struct block *b = find_block(state, p->block);
	struct warp *w = find_warp(state, p->block, p->warp);
	uint64_t a = p->address;
	enum debug_space s = p->space == DEBUG_GENERIC ? view_space(state, &a) : p->space;
	struct reading r = {out};

	switch (s) {
	case DEBUG_SHARED: return b && copy_of(out, b->shared, b->shared_bytes, a, bytes);
	case DEBUG_LOCAL:
		return w && p->lane < LANES &&
		       copy_of(out, w->local ? w->local + (size_t)p->lane * w->local_stride : NULL,
			       w->local_stride, a, bytes);
	case DEBUG_PARAM: return copy_of(out, dg->grid->params, dg->grid->launch->param_bytes, a, bytes);
	default: return !memory_map_walk(&dg->grid->dev->map, a, bytes, read_piece, &r, NULL);
	}
}

static bool view_mapping(void *state, uint64_t address, uint64_t *base, uint64_t *bytes)
{
	struct memory_map *map = &((struct debug_grid *)state)->grid->dev->map;
	const struct mapping *m;

	pthread_mutex_lock(&map->lock);
	m = map_find(atomic_load(&map->current), address);
	if (m) {
		*base = m->base;
		*bytes = m->end - m->base;
	}
	pthread_mutex_unlock(&map->lock);
	return m != NULL;
}

static bool view_stops_at(void *state, uint32_t func, uint32_t inst)
{
	const struct program *p = ((struct debug_grid *)state)->grid->program;
	const struct xcode *code = func < p->module->ptx->nfuncs ? p->codes[func] : NULL;

	return code && code->stops && inst < code->func->ninsts && code->stops[inst];
}

void debug_view_fill(struct debug_view *v, struct debug_grid *dg)
{
	*v = (struct debug_view){.state = dg,
				 .blocks = view_blocks,
				 .blocks_begun = view_blocks_begun,
				 .warp = view_warp,
				 .frame = view_frame,
				 .reg = view_reg,
				 .read = view_read,
				 .space = view_space,
				 .mapping = view_mapping,
				 .stops_at = view_stops_at};
}
