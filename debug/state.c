/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole state of the launch as one number: two states with the same number are the same. */
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "debug/session.h"

enum { PIECE = 4096, MAX_RESIDENT = 4096 };

static void add(XXH3_state_t *h, const void *p, size_t n)
{
	XXH3_64bits_update(h, p, n);
}

/* From address 0 to where it ends, or `bytes` of it. */
static void add_memory(const struct session *s, XXH3_state_t *h, struct debug_place p, uint64_t bytes)
{
	uint8_t piece[PIECE];

	for (size_t n = PIECE; n; n /= 2) /* what is left of a piece is read in smaller ones */
		while (bytes >= n && place_read(s, &p, piece, n)) {
			add(h, piece, n);
			p.address += n;
			bytes -= n;
		}
}

static void add_registers(const struct session *s, XXH3_state_t *h, const struct focus *at,
			  const struct debug_frame *frame)
{
	const struct ptx_func *f = code_func(s, frame->func);
	uint8_t all[DEBUG_LANES * 16];

	add(h, &frame->func, sizeof(frame->func));
	add(h, &frame->inst, sizeof(frame->inst));
	add(h, &frame->lanes, sizeof(frame->lanes));
	for (uint32_t slot = 1; f && slot < f->nslots; slot++) {
		unsigned bits = f->slots[slot].bits ? f->slots[slot].bits : 64;
		uint32_t n = bits == 1 ? 4 : DEBUG_LANES * (bits / 8);

		if (s->view.reg(s->view.state, at->block, at->warp, at->lane, at->level, slot, all, n))
			add(h, all, n);
	}
}

static void add_warp(const struct session *s, XXH3_state_t *h, uint64_t block, uint32_t warp)
{
	struct debug_warp w;

	if (!s->view.warp(s->view.state, block, warp, &w))
		return;
	add(h, &w.lanes, sizeof(w.lanes));
	add(h, &w.steps, sizeof(w.steps));
	for (uint32_t k = 0; k < w.nfragments; k++) {
		struct focus at = {block, warp, (uint32_t)__builtin_ctz(w.fragments[k].mask), 0};
		struct debug_frame frame;

		add(h, &w.fragments[k].mask, sizeof(w.fragments[k].mask));
		add(h, &w.fragments[k].state, sizeof(w.fragments[k].state));
		for (; s->view.frame(s->view.state, block, warp, at.lane, at.level, &frame); at.level++)
			add_registers(s, h, &at, &frame);
	}
	for (uint32_t lane = 0; lane < DEBUG_LANES; lane++)
		add_memory(s, h, (struct debug_place){DEBUG_LOCAL, 0, block, warp, lane}, UINT64_MAX);
}

static void add_block(const struct session *s, XXH3_state_t *h, uint64_t block)
{
	uint32_t threads = s->launch.block[0] * s->launch.block[1] * s->launch.block[2];

	add(h, &block, sizeof(block));
	add_memory(s, h, (struct debug_place){DEBUG_SHARED, 0, block, 0, 0}, UINT64_MAX);
	for (uint32_t warp = 0; warp < (threads + DEBUG_LANES - 1) / DEBUG_LANES; warp++)
		add_warp(s, h, block, warp);
}

static void add_variable(void *ctx, const struct variable *v)
{
	void **two = ctx;

	if (v->space == DEBUG_GLOBAL && !v->needs_thread)
		add_memory(two[0], two[1], (struct debug_place){DEBUG_GLOBAL, v->address, 0, 0, 0}, v->bytes);
}

int info_state(struct session *s, const char *arg, struct diag *d)
{
	XXH3_state_t *h = XXH3_createState();
	uint64_t *blocks = calloc(MAX_RESIDENT, sizeof(*blocks));
	uint32_t n = 0;

	if (takes_nothing(arg, "info state", d) || !h || !blocks) {
		XXH3_freeState(h);
		free(blocks);
		return d->code ? d->code : diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	XXH3_64bits_reset(h);
	if (s->state != STATE_ENDED)
		n = s->view.blocks(s->view.state, blocks, MAX_RESIDENT);
	for (uint32_t k = 0; k < n; k++)
		add_block(s, h, blocks[k]);
	for (size_t k = 0; k < s->nmemory; k++)
		add_memory(s, h, (struct debug_place){DEBUG_GLOBAL, s->memory[k].base, 0, 0, 0},
			   s->memory[k].bytes);
	place_each(s, s->entry->index, add_variable, (void *[]){s, h});
	printf("state %016llx at time %llu: registers, shared and local memory of %u block%s, global memory\n",
	       (unsigned long long)XXH3_64bits_digest(h), (unsigned long long)s->now, n, n == 1 ? "" : "s");
	XXH3_freeState(h);
	free(blocks);
	return 0;
}
