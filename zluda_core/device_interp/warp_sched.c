/* SPDX-License-Identifier: Apache-2.0
 *
 * A warp's fragments: running them, splitting, joining, fairness.
 *
 * Which fragment runs: the one deepest in calls, and among those the one that is
 * earliest in the code, so that others wait for it at the join. A fragment that
 * has used its slice is put behind all others, and those, parked ones included,
 * go on past join points for a slice ("boosted").
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xmmintrin.h>

#include "zluda_core/device_interp/debug.h"
#include "zluda_core/device_interp/decode.h"

#define SLICE     100000 /* instructions, or so many spins: SPIN_COST each */
#define MAX_DEPTH 10000

struct frame *frame_push(struct warp *w, const struct xcode *code, const struct xinst *call)
{
	struct frame *parent = w->frame, **p = &w->free_frames, *f;
	uint32_t base = parent ? parent->local_base + parent->code->local_bytes : 0;

	if ((parent && parent->depth >= MAX_DEPTH) || (uint64_t)base + code->local_bytes > w->dynamic_floor)
		return NULL;
	while (*p && (*p)->cap < code->frame_bytes)
		p = &(*p)->next_free;
	if ((f = *p)) {
		*p = f->next_free;
	} else {
		uint32_t cap = (code->frame_bytes + 63) & ~63u;

		f = calloc(1, sizeof(*f));
		if (f && !(f->regs = aligned_alloc(64, cap ? cap : 64))) {
			free(f);
			f = NULL;
		}
		if (!f)
			return NULL;
		f->cap = cap;
	}
	memset(f->regs, 0, code->frame_bytes);
	f->parent = parent;
	f->code = code;
	f->call = call;
	f->live = w->mask;
	f->local_base = base;
	f->depth = parent ? parent->depth + 1 : 0;
	return f;
}

void frame_pop_lanes(struct warp *w, struct frame *f, uint32_t mask)
{
	f->live &= ~mask;
	if (f->live)
		return;
	f->next_free = w->free_frames;
	w->free_frames = f;
}

void warp_enter_frame(struct warp *w, struct frame *f)
{
	w->frame = w->cur->frame = f;
	w->base[0] = f->regs;
	w->local_base = f->local_base;
}

void warp_absorb(struct warp *w, struct fragment *f)
{
	w->cur->mask |= f->mask;
	w->mask = w->exec = w->cur->mask;
	f->state = FRAG_FREE;
	w->nfrags--;
}

bool warp_others_run(const struct warp *w)
{
	for (uint32_t k = 0; k < LANES; k++)
		if (w->frags[k].state == FRAG_RUN && &w->frags[k] != w->cur)
			return true;
	return false;
}

void warp_split(struct warp *w, const struct xinst *pc, uint32_t mask, struct frame *frame)
{
	struct fragment *f = w->frags;
	uint8_t state = FRAG_RUN;

	if (pc->fn == exec_join) { /* it would park at once */
		pc++;
		state = FRAG_PARKED;
		for (uint32_t k = 0; k < LANES; k++) {
			struct fragment *o = &w->frags[k];

			if (o->state == FRAG_PARKED && o->pc == pc && o->frame == frame) {
				o->mask |= mask;
				return;
			}
		}
	}
	while (f->state != FRAG_FREE) /* never more fragments than lanes */
		f++;
	*f = (struct fragment){.pc = pc, .frame = frame, .mask = mask, .state = state, .last_run = w->clock};
	w->nfrags++;
}

const struct xinst *warp_join(struct warp *w, const struct xinst *pc)
{
	bool others = false;

	if (w->nfrags == 1 || w->frame->live == w->mask)
		return pc;
	for (uint32_t k = 0; k < LANES; k++) {
		struct fragment *o = &w->frags[k];

		if (o == w->cur || (o->state != FRAG_PARKED && o->state != FRAG_RUN))
			continue;
		if (o->frame == w->frame && (o->pc == pc || (o->pc + 1 == pc && o->pc->fn == exec_join)))
			warp_absorb(w, o);
		else
			others |= o->state == FRAG_RUN;
	}
	if (!others || w->cur->boosted)
		return pc;
	w->cur->state = FRAG_PARKED;
	w->cur->pc = pc;
	w->stop = STOP_SWITCH;
	return NULL;
}

const struct xinst *warp_exit_lanes(struct warp *w, uint32_t mask)
{
	struct frame *f = w->frame;

	w->exited |= mask;
	while (f) {
		struct frame *parent = f->parent;

		frame_pop_lanes(w, f, mask);
		f = parent;
	}
	w->cur->state = FRAG_FREE;
	w->nfrags--;
	w->stop = STOP_SWITCH;
	/* Collectives that waited for these lanes are tried again. */
	for (uint32_t k = 0; k < LANES; k++)
		if (w->frags[k].state == FRAG_COLLECTIVE)
			w->frags[k].state = FRAG_RUN;
	barrier_check_exits(w->block);
	return NULL;
}

/* Deeper first, then earlier. */
static bool before(const struct fragment *a, const struct fragment *b)
{
	if (a->frame->depth != b->frame->depth)
		return a->frame->depth > b->frame->depth;
	return a->pc < b->pc;
}

static struct fragment *pick(struct warp *w)
{
	struct fragment *run = NULL, *parked = NULL;
	uint32_t left = w->nfrags;

	for (uint32_t k = 0; k < LANES && left; k++) {
		struct fragment *f = &w->frags[k];

		left -= f->state != FRAG_FREE;
		if (f->state == FRAG_RUN && f->boosted)
			return f;
		if (f->state == FRAG_RUN && (!run || before(f, run)))
			run = f;
		if (f->state == FRAG_PARKED && (!parked || before(f, parked)))
			parked = f;
	}
	if (!run && parked)
		parked->state = FRAG_RUN;
	return run ? run : parked;
}

/* The running fragment's slice is over: the one that has waited longest goes on, past its join point too. */
static void rotate(struct warp *w)
{
	struct fragment *oldest = NULL;

	w->cur->last_run = w->clock;
	w->cur->boosted = false;
	for (uint32_t k = 0; k < LANES; k++) {
		struct fragment *f = &w->frags[k];

		if (f != w->cur && (f->state == FRAG_RUN || f->state == FRAG_PARKED) &&
		    (!oldest || f->last_run < oldest->last_run))
			oldest = f;
	}
	if (!oldest)
		return;
	oldest->state = FRAG_RUN;
	oldest->boosted = true;
}

/* Between the parts of one PTX instruction: its guard is in w->exec only, and its rounding mode (MXCSR bits 13 and 14,
 * 0 is to nearest) is the processor's. Neither outlives the slice. */
static bool inside_instruction(const struct warp *w)
{
	return w->exec != w->mask || (_mm_getcsr() >> 13 & 3);
}

/* As far as the slice goes: the next instruction, or NULL. */
static const struct xinst *run_plain(struct warp *w, const struct xinst *pc)
{
	do
		pc = pc->fn(w, pc);
	while (pc && --w->left > 0);
	for (; pc && inside_instruction(w); w->left--)
		pc = pc->fn(w, pc);
	return pc;
}

static const struct xinst *run_debugged(struct warp *w, const struct xinst *pc)
{
	do
		pc = debug_execute(w, pc);
	while (pc && --w->left > 0);
	for (; pc && inside_instruction(w); w->left--)
		pc = debug_execute(w, pc);
	return pc;
}

static void run_fragment(struct warp *w, struct fragment *f, int64_t slice)
{
	const struct xinst *pc = f->pc;

	w->cur = f;
	w->frame = f->frame;
	w->base[0] = f->frame->regs;
	w->local_base = f->frame->local_base;
	w->mask = w->exec = f->mask;
	w->left = w->slice_length = slice;
	w->stop = STOP_NONE;
	if (unlikely(w->block->grid->debug))
		pc = run_debugged(w, pc);
	else
		pc = run_plain(w, pc);
	if (pc)
		f->pc = pc;
	else
		w->left--; /* what stopped the fragment was executed, too: a barrier is progress */
	w->clock += (uint64_t)(slice - w->left);
}

enum warp_result warp_run(struct warp *w, int64_t budget)
{
	while (budget > 0) {
		struct fragment *f = pick(w);

		if (!f)
			return w->nfrags ? WARP_BLOCKED : WARP_ENDED;
		int64_t slice = budget < SLICE ? budget : SLICE;

		run_fragment(w, f, slice);
		budget -= slice - w->left;
		if (w->stop == STOP_FAULT)
			return WARP_FAULT;
		if (w->stop == STOP_NONE) {
			w->slice_used += slice - w->left;
			if (w->slice_used >= SLICE) {
				rotate(w);
				w->slice_used = 0;
			}
		} else {
			f->boosted = false;
			w->slice_used = 0;
		}
	}
	return w->nfrags ? WARP_MORE : WARP_ENDED;
}

/* They are the same for every block of the grid. */
static void set_thread_ids(struct warp *w)
{
	const uint32_t *n = w->block->grid->launch->block;

	for (uint32_t l = 0; l < LANES; l++) {
		uint32_t t = w->number * LANES + l;

		w->tids[0][l] = t % n[0];
		w->tids[1][l] = t / n[0] % n[1];
		w->tids[2][l] = t / n[0] / n[1];
	}
}

int warp_init(struct warp *w, struct block *b, uint32_t number)
{
	const struct program *p = b->grid->program;
	size_t bytes;

	w->block = b;
	w->number = number;
	w->base[1] = p->pool;
	set_thread_ids(w);
	w->local_stride = p->stack_bytes;
	bytes = (size_t)w->local_stride * LANES;
	if (bytes) {
		void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (m == MAP_FAILED)
			return CUTRACE_ENOMEM;
		w->local = m;
	}
	return 0;
}

int warp_start(struct warp *w)
{
	uint32_t first = w->number * LANES, have = w->block->nthreads - first;
	const struct xcode *entry = w->block->grid->program->entry;

	memset(w->frags, 0, sizeof(w->frags));
	w->nfrags = 1;
	w->mask = have >= LANES ? FULL_MASK : (1u << have) - 1;
	w->exited = ~w->mask;
	w->frame = NULL;
	w->clock = 0;
	w->slice_used = 0;
	w->steps = 0;
	w->watch = w->block->grid->watch;
	for (uint32_t l = 0; l < LANES; l++)
		w->dynamic[l] = w->local_stride;
	w->dynamic_floor = w->local_stride;
	struct frame *f = frame_push(w, entry, NULL);

	if (!f)
		return CUTRACE_ENOMEM;
	for (uint32_t l = 0; l < LANES && entry->local_bytes; l++)
		memset(w->local + (size_t)l * w->local_stride, 0, entry->local_bytes);
	w->frags[0] = (struct fragment){.pc = entry->insts, .frame = f, .mask = w->mask, .state = FRAG_RUN};
	return 0;
}

/* Frames of a warp that was stopped half-way go back as well. */
void warp_reset(struct warp *w)
{
	for (uint32_t k = 0; k < LANES; k++) {
		struct fragment *f = &w->frags[k];

		if (f->state == FRAG_FREE)
			continue;
		for (struct frame *fr = f->frame; fr;) {
			struct frame *parent = fr->parent;

			if (fr->live)
				frame_pop_lanes(w, fr, f->mask);
			fr = parent;
		}
		f->state = FRAG_FREE;
	}
	w->nfrags = 0;
}

void warp_destroy(struct warp *w)
{
	warp_reset(w);
	while (w->free_frames) {
		struct frame *f = w->free_frames;

		w->free_frames = f->next_free;
		free(f->regs);
		free(f);
	}
	if (w->local)
		munmap(w->local, (size_t)w->local_stride * LANES);
}
