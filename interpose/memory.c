/* SPDX-License-Identifier: Apache-2.0
 *
 * memory: entry points of functions that read or write host memory beyond inline outs. The description
 * (api_walk) says which; the pieces go into RING_MEMORY records between a call's enter and exit.
 */
#include "interpose/recorder.h"

#include <errno.h>

#define PIECE_MAX 32768u /* a longer piece is cut: a ring must hold any record */

struct walk {
	struct rec_thread *t;
	const struct api_func *f;
	uint64_t seq;
	uint16_t phase;
};

struct block {
	uint64_t address;
	uint32_t bytes, param;
	uint8_t data[];
};

static void put_block(struct walk *w, unsigned param, uint64_t address, size_t bytes)
{
	uint64_t size = sizeof(struct ring_memory) + sizeof(struct block) + ((bytes + 7) & ~(size_t)7);
	struct ring_memory *m = rec_reserve(
		w->t, (struct ring_record){.bytes = (uint32_t)size, .kind = RING_MEMORY, .flags = w->phase});
	struct block *b;

	if (!m)
		return;
	m->seq = w->seq;
	b = (struct block *)m->blocks;
	b->address = address;
	b->bytes = (uint32_t)bytes;
	b->param = param;
	if (bytes) /* zeros the padding */
		memset(b->data + ((bytes - 1) & ~(size_t)7), 0, 8);
	memcpy(b->data, (const void *)(uintptr_t)address, bytes);
	rec_commit(w->t, m);
}

static void piece(void *ctx, unsigned param, uint64_t address, size_t bytes)
{
	struct walk *w = ctx;
	int slot = param < w->f->nparams ? api_out_slot(w->f, param) : -1;

	/* Recorded inline with the exit. */
	if (w->phase == API_PHASE_EXIT && slot >= 0 && slot < REC_MAX_OUTS)
		return;
	for (size_t done = 0; done < bytes; done += PIECE_MAX)
		put_block(w, param, address + done, bytes - done < PIECE_MAX ? bytes - done : PIECE_MAX);
}

static void walk(const struct rec_frame *f, const uint64_t *args, enum api_phase phase)
{
	struct walk w = {f->t, &api_funcs[f->func], f->seq, (uint16_t)phase};

	api_walk(w.f, args, phase, &api_live_memory, piece, &w);
}

bool rec_enter_memory(struct rec_frame *f, uint32_t func, uint32_t nargs, const uint64_t *args)
{
	uint64_t *w = rec_enter(f, func, nargs);
	int saved = errno;

	if (!w)
		return false;
	for (uint32_t i = 0; i < nargs; i++)
		w[i] = args[i];
	rec_publish_enter(f);
	walk(f, args, API_PHASE_ENTER);
	errno = saved;
	return true;
}

static unsigned count_outs(const struct api_func *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->nparams; i++) {
		int slot = api_out_slot(f, i);

		if (slot >= 0 && slot < REC_MAX_OUTS)
			n = (unsigned)slot + 1;
	}
	return n;
}

static void put_outs(struct rec_frame *f, uint64_t *w, const uint64_t *args)
{
	const struct api_func *fn = &api_funcs[f->func];

	for (unsigned i = 0; i < fn->nparams; i++) {
		int slot = api_out_slot(fn, i);
		const struct api_type *t;
		int bytes;

		if (slot < 0 || slot >= REC_MAX_OUTS)
			continue;
		t = &api_types[api_types[fn->params[i].type].elem];
		bytes = t->size ? t->size : 8;
		rec_out(f, w, (unsigned)slot, args[i], t->kind == API_KIND_INT ? -bytes : bytes);
	}
}

void rec_leave_memory(struct rec_frame *f, int64_t result, const uint64_t *args)
{
	/* The call ended now, not when its memory has been copied. */
	uint64_t seen = ring_newest(f->t->session), now = rec_now();
	const struct api_func *fn = &api_funcs[f->func];
	int saved = errno;
	uint64_t *w;

	if ((fn->flags & API_FUNC_HAS_OUT) && (result == 0 || result == REC_RESULT_FILLS_OUTS))
		walk(f, args, API_PHASE_EXIT);
	w = rec_leave(f, result, count_outs(fn));
	if (f->record) {
		struct ring_exit *e = f->record;

		e->tsc = now;
		e->seq_seen = seen;
		put_outs(f, w, args);
	}
	rec_publish_exit(f);
	errno = saved;
}
