/* SPDX-License-Identifier: Apache-2.0
 *
 * Block barriers, PTX ISA 9.7.13 (bar, barrier, barrier.cluster). Threads are counted: an exited
 * thread counts as arrived wherever its warp or the whole block is expected. With
 * a thread count, a warp that has arrived with all its living lanes counts as 32.
 */
#include <string.h>

#include "zluda_core/device_interp/check.h"

#define U_SUB(u)  ((u)&0xff)
#define U_BOOL(u) ((u) >> 8)

static bool complete(const struct block *b, const struct barrier *bar)
{
	uint32_t got = 0;

	for (uint32_t k = 0; k < b->nwarps; k++) {
		uint32_t here = bar->arrived[k] | b->warps[k].exited;

		if (!bar->expected && here != FULL_MASK)
			return false;
		if (bar->arrived[k])
			got += (uint32_t)__builtin_popcount(here);
	}
	return !bar->expected || got >= bar->expected;
}

static void store_result(struct warp *w, const struct fragment *f, const struct barrier *bar)
{
	const struct xinst *i = f->pc - 1;
	uint8_t *regs = f->frame->regs;
	bool v = U_BOOL(i->u) == PTX_BOOL_AND ? bar->falses == 0 : bar->trues != 0;

	(void)w;
	if (U_SUB(i->u) != PTX_SUB_RED || i->o[0] == OPERAND_NONE)
		return;
	if (U_BOOL(i->u)) {
		uint32_t *p = (uint32_t *)(regs + i->o[0]);

		*p = (*p & ~f->mask) | (v ? f->mask : 0);
	} else {
		FOR_LANES(l, f->mask)
		((uint32_t *)(regs + i->o[0]))[l] = bar->trues;
	}
}

/* Fragments that waited at one place go on as one. */
static void merge_released(struct warp *w, struct fragment *f)
{
	for (uint32_t k = 0; k < LANES; k++) {
		struct fragment *o = &w->frags[k];

		if (o != f && o != w->cur && o->state == FRAG_RUN && o->pc == f->pc && o->frame == f->frame) {
			o->mask |= f->mask;
			f->state = FRAG_FREE;
			w->nfrags--;
			return;
		}
	}
}

static void release(struct block *b, uint32_t number)
{
	struct barrier *bar = &b->barriers[number];

	if (unlikely(b->check))
		check_barrier_release(b, number);
	for (uint32_t k = 0; k < b->nwarps; k++) {
		struct warp *w = &b->warps[k];

		if (!bar->arrived[k])
			continue;
		uint32_t left = w->nfrags;

		for (uint32_t n = 0; n < LANES && left; n++) {
			struct fragment *f = &w->frags[n];

			left -= f->state != FRAG_FREE;
			if (f->state != FRAG_BARRIER || f->barrier != number)
				continue;
			if (f->retry) { /* came before the last round was over */
				f->pc--;
			} else {
				store_result(w, f, bar);
			}
			f->retry = false;
			f->state = FRAG_RUN;
			merge_released(w, f);
		}
	}
	memset(bar->arrived, 0, b->nwarps * sizeof(bar->arrived[0]));
	bar->expected = bar->trues = bar->falses = 0;
	bar->in_use = false;
}

static void count_predicate(struct barrier *bar, uint32_t mask, uint32_t pred)
{
	bar->trues += (uint32_t)__builtin_popcount(mask & pred);
	bar->falses += (uint32_t)__builtin_popcount(mask & ~pred);
}

const struct xinst *barrier_arrive(struct warp *w, const struct xinst *i, uint32_t number, uint32_t count,
				   uint32_t pred)
{
	struct block *b = w->block;
	struct barrier *bar = &b->barriers[number];
	struct fragment *f = w->cur;

	f->barrier = (uint8_t)number;
	f->pc = i + 1;
	f->retry = bar->in_use && (bar->arrived[w->number] & w->mask);
	if (!f->retry) {
		bar->in_use = true;
		bar->arrived[w->number] |= w->mask;
		bar->expected = count;
		count_predicate(bar, w->mask, pred);
		if (unlikely(b->check))
			check_barrier_arrive(w, number);
		if (U_SUB(i->u) == PTX_SUB_ARRIVE) {
			if (complete(b, bar))
				release(b, number);
			return i + 1;
		}
	}
	f->state = FRAG_BARRIER;
	if (!f->retry && complete(b, bar))
		release(b, number);
	w->stop = STOP_SWITCH;
	return NULL;
}

const struct xinst *barrier_wait(struct warp *w, const struct xinst *i, uint32_t number)
{
	struct fragment *f = w->cur;

	if (!(w->block->barriers[number].arrived[w->number] & w->mask))
		return i + 1;
	f->barrier = (uint8_t)number;
	f->pc = i + 1;
	f->retry = false;
	f->state = FRAG_BARRIER;
	w->stop = STOP_SWITCH;
	return NULL;
}

void barrier_check_exits(struct block *b)
{
	for (uint32_t k = 0; k < BARRIERS; k++)
		if (b->barriers[k].in_use && complete(b, &b->barriers[k]))
			release(b, k);
}
