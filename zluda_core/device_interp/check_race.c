/* SPDX-License-Identifier: Apache-2.0
 *
 * Races. Each 32-bit word has marks of its last writer and of two readers that nothing orders, of different warps: so
 * whoever writes next, one of them is another warp. (FastTrack's epochs, Flanagan and Freund, PLDI 2009, with a warp as
 * the thread.) */
#include <string.h>

#include "zluda_core/device_interp/check.h"

static struct check_cell *cell_at(struct warp *w, const struct check_place *p, uint32_t byte)
{
	struct check_cell *k = p->is_shared ? &w->block->check->shared_cells[(p->offset + byte) / 4]
					    : shadow_cell(w->worker->dev->checker, p->host + byte);
	uint32_t launch = w->block->grid->check->launch;

	if (k && k->launch != launch) {
		memset(k, 0, sizeof(*k));
		k->launch = launch;
	}
	return k;
}

/* A mark in shared memory of the block that used this storage before. */
static bool is_stale(const struct warp *w, const struct check_place *p, const struct check_mark *m)
{
	return p->is_shared && m->block != (uint32_t)w->block->linear + 1;
}

static bool same_warp(const struct warp *w, const struct check_mark *m)
{
	return m->block == (uint32_t)w->block->linear + 1 && m->thread / LANES == w->number;
}

static bool is_ordered(const struct warp *w, const struct check_mark *m)
{
	const struct check_block *b = w->block->check;

	if (same_warp(w, m))
		return true;
	if (m->block == (uint32_t)w->block->linear + 1 && b->clock[w->number][m->thread / LANES] >= m->clock)
		return true;
	return b->acquired[w->number] > m->stamp;
}

static uint16_t hash_of_data(struct warp *w, const struct check_site *s, unsigned lane)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	if (!s->ndata)
		return 0;
	for (unsigned k = 0; k < s->ndata; k++) {
		const uint8_t *data = (const uint8_t *)cell(w, s->data[k]) + lane * s->data_bytes;

		for (unsigned n = 0; n < s->data_bytes; n++)
			hash = (hash ^ data[n]) * 16777619u;
	}
	hash = (hash >> 16) ^ (hash & 0xffff);
	return hash ? (uint16_t)hash : 1;
}

static struct check_mark mark_of(const struct warp *w, const struct xinst *i, const struct check_site *s,
				 unsigned lane, uint8_t bytes)
{
	const struct ptx_inst *in = xinst_ptx(w, i);

	return (struct check_mark){.block = (uint32_t)w->block->linear + 1,
				   .clock = w->block->check->clock[w->number][w->number],
				   .stamp = w->worker->dev->checker->stamp,
				   .line = in ? in->line : 0,
				   .thread = (uint16_t)(w->number * LANES + lane),
				   .bytes = bytes,
				   .strong = s->strong};
}

static void report_race(struct warp *w, const struct xinst *i, const struct check_site *s,
			const struct check_place *p, const struct check_mark *other, bool other_writes,
			bool writes)
{
	const uint32_t *n = w->block->grid->launch->block, *g = w->block->grid->launch->grid;
	uint64_t block = other->block - 1;
	uint32_t t = other->thread;
	char place[300], line[220];

	check_describe_place(w, p, place, sizeof(place));
	check_describe_line(w, other->line, line, sizeof(line));
	check_report(w, i, p->lane, FINDING_RACE, other->line,
		     "%s of %u bytes at %s, and %s by block (%u,%u,%u), thread (%u,%u,%u) at %s, with "
		     "nothing that orders them",
		     s->strong ? writes ? "strong store or atomic operation" : "strong load"
		     : writes  ? "store"
			       : "load",
		     p->bytes, place, other_writes ? "store" : "load", (unsigned)(block % g[0]),
		     (unsigned)(block / g[0] % g[1]), (unsigned)(block / g[0] / g[1]), t % n[0],
		     t / n[0] % n[1], t / n[0] / n[1], line);
}

/* False when it isn't a conflict. */
static bool conflicts(const struct warp *w, const struct check_site *s, const struct check_place *p,
		      const struct check_mark *m, uint8_t bytes)
{
	return m->block && m->bytes & bytes && !(m->strong && s->strong) && !is_stale(w, p, m) &&
	       !is_ordered(w, m);
}

static void put_mark(struct check_mark *at, const struct check_mark *now)
{
	uint8_t before = at->block == now->block && at->clock == now->clock && at->strong == now->strong &&
					 at->silent == now->silent &&
					 at->thread / LANES == now->thread / LANES
				 ? at->bytes
				 : 0;

	*at = *now;
	at->bytes |= before;
}

static void put_reader(struct warp *w, const struct check_place *p, struct check_cell *k,
		       const struct check_mark *now)
{
	for (unsigned n = 0; n < 2; n++) {
		struct check_mark *r = &k->readers[n];

		if (!r->block || same_warp(w, r) || is_stale(w, p, r) || is_ordered(w, r)) {
			put_mark(r, now);
			return;
		}
	}
	k->readers[1] = *now;
}

/* The bytes of word `at` (of the place's words) that the place covers. */
static uint8_t bytes_in_word(const struct check_place *p, uint32_t *byte)
{
	uint32_t in_word = (uint32_t)((uintptr_t)(p->host + *byte) & 3), left = p->bytes - *byte,
		 n = 4 - in_word < left ? 4 - in_word : left;

	*byte += n;
	return (uint8_t)(((1u << n) - 1) << in_word);
}

void race_read(struct warp *w, const struct xinst *i, const struct check_site *s, const struct check_place *p)
{
	bool said = false;

	for (uint32_t byte = 0; byte < p->bytes;) {
		struct check_cell *k = cell_at(w, p, byte);
		uint8_t bytes = bytes_in_word(p, &byte);

		if (!k)
			continue;
		if (!said && !k->writer.silent && conflicts(w, s, p, &k->writer, bytes)) {
			report_race(w, i, s, p, &k->writer, true, false);
			said = true;
		}
		struct check_mark now = mark_of(w, i, s, p->lane, bytes);

		put_reader(w, p, k, &now);
	}
}

/* A silent store hides no mark that says more. */
static void put_writer(struct warp *w, const struct check_place *p, struct check_cell *k,
		       const struct check_mark *now)
{
	const struct check_mark *old = &k->writer;
	bool counts = old->block && !old->silent && !is_stale(w, p, old);

	if (now->silent && counts && (!is_ordered(w, old) || (same_warp(w, old) && old->clock == now->clock)))
		return;
	put_mark(&k->writer, now);
	for (unsigned n = 0; n < 2 && !now->silent; n++) /* those of other bytes stay */
		if (!(k->readers[n].bytes & ~now->bytes))
			k->readers[n].block = 0;
}

static bool stores_the_same(const struct check_mark *a, const struct check_mark *b)
{
	return a->value && a->value == b->value && a->bytes == b->bytes;
}

void race_write(struct warp *w, const struct xinst *i, const struct check_site *s,
		const struct check_place *p, bool silent)
{
	bool said = silent;

	for (uint32_t byte = 0; byte < p->bytes;) {
		struct check_cell *k = cell_at(w, p, byte);
		uint8_t bytes = bytes_in_word(p, &byte);

		if (!k)
			continue;
		const struct check_mark *marks[3] = {&k->writer, &k->readers[0], &k->readers[1]};
		struct check_mark now = mark_of(w, i, s, p->lane, bytes);

		now.silent = silent;
		now.value = hash_of_data(w, s, p->lane);
		for (unsigned n = 0; n < 3 && !said; n++)
			if (conflicts(w, s, p, marks[n], bytes) &&
			    !(n == 0 && stores_the_same(marks[n], &now))) {
				report_race(w, i, s, p, marks[n], n == 0, true);
				said = true;
			}
		put_writer(w, p, k, &now);
	}
}

void race_publish(struct warp *w, const struct check_site *s, const struct check_place *p)
{
	struct checker *c = w->worker->dev->checker;
	struct check_cell *k = cell_at(w, p, 0);
	uint32_t stamp = s->releases ? ++c->stamp : w->block->check->fenced[w->number];

	if (k && k->published < stamp)
		k->published = stamp;
}

void race_acquire(struct warp *w, const struct check_place *p)
{
	const struct check_cell *k = cell_at(w, p, 0);
	uint32_t *acquired = &w->block->check->acquired[w->number];

	if (k && *acquired < k->published)
		*acquired = k->published;
}

void race_fence(struct warp *w)
{
	if (w->block->check)
		w->block->check->fenced[w->number] = ++w->worker->dev->checker->stamp;
}

/* Barriers: who waits knows afterwards what all who came knew when they came. */
static void join(uint32_t *to, const uint32_t *from, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		to[k] = to[k] > from[k] ? to[k] : from[k];
}

void check_barrier_arrive(struct warp *w, uint32_t number)
{
	struct check_block *b = w->block->check;
	uint32_t me = w->number;

	join(b->barrier[number].clock, b->clock[me], b->nwarps);
	join(&b->barrier[number].acquired, &b->acquired[me], 1);
	join(&b->barrier[number].fenced, &b->fenced[me], 1);
	b->clock[me][me]++;
}

/* Reports a warp whose threads aren't at one barrier instruction together. */
static void check_convergence(struct block *b, uint32_t k, uint32_t number)
{
	struct warp *w = &b->warps[k];
	const struct fragment *first = NULL;
	struct frame *running = w->frame;
	uint32_t missing = ~(b->barriers[number].arrived[k] | w->exited);

	for (uint32_t n = 0; n < LANES; n++) {
		const struct fragment *f = &w->frags[n];

		if (f->state != FRAG_BARRIER || f->barrier != number || f->retry)
			continue;
		w->frame = f->frame; /* for the PTX instruction */
		const struct ptx_inst *in = xinst_ptx(w, f->pc - 1);

		if (!in || (in->op == PTX_OP_BARRIER && !(in->flags & PTX_F_ALIGNED)))
			continue;
		if (!first)
			first = f;
		if (f->pc == first->pc && (!missing || first != f))
			continue;
		char line[220];

		w->frame = first->frame;
		const struct ptx_inst *other = xinst_ptx(w, first->pc - 1);

		check_describe_line(w, other ? other->line : 0, line, sizeof(line));
		w->frame = f->frame;
		if (f->pc != first->pc)
			check_report(w, f->pc - 1, first_lane(f->mask), FINDING_BARRIER,
				     other ? other->line : 0,
				     "%d threads of warp %u pass barrier %u here, %d at %s",
				     __builtin_popcount(f->mask), k, number, __builtin_popcount(first->mask),
				     line);
		else
			check_report(w, f->pc - 1, first_lane(f->mask), FINDING_BARRIER, 0,
				     "barrier %u completes while %d threads of warp %u have neither come nor "
				     "exited",
				     number, __builtin_popcount(missing), k);
		break;
	}
	w->frame = running;
}

static bool waits_at(const struct warp *w, uint32_t number)
{
	for (uint32_t n = 0; n < LANES; n++)
		if (w->frags[n].state == FRAG_BARRIER && w->frags[n].barrier == number && !w->frags[n].retry)
			return true;
	return false;
}

void check_barrier_release(struct block *b, uint32_t number)
{
	struct check_block *cb = b->check;
	struct checker *c = b->grid->dev->checker;

	pthread_mutex_lock(&c->lock);
	for (uint32_t k = 0; k < b->nwarps; k++)
		if (!b->barriers[number].expected && b->warps[k].exited == FULL_MASK) /* counts as arrived */
			join(cb->barrier[number].clock, cb->clock[k], cb->nwarps);
	for (uint32_t k = 0; k < b->nwarps; k++) {
		if (!b->barriers[number].arrived[k] || !waits_at(&b->warps[k], number))
			continue;
		if (c->what & CHECK_BARRIERS)
			check_convergence(b, k, number);
		uint32_t own = cb->clock[k][k];

		join(cb->clock[k], cb->barrier[number].clock, cb->nwarps);
		cb->clock[k][k] = own;
		join(&cb->acquired[k], &cb->barrier[number].acquired, 1);
		join(&cb->fenced[k], &cb->barrier[number].fenced, 1);
	}
	memset(&cb->barrier[number], 0, sizeof(cb->barrier[number]));
	pthread_mutex_unlock(&c->lock);
}
