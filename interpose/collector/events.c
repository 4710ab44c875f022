/* SPDX-License-Identifier: Apache-2.0
 *
 * events: the queue of what is to be derived. An event is settled, that is, everything that can have caused
 * it has been read, one round after all sequence numbers up to its own were seen entering: a call that made a
 * handle had published its exit before another call could use it, and every ring is read in every round.
 */
#include <stdlib.h>
#include <string.h>

#include "interpose/collector/internal.h"

/* A thread may have died, or been stopped, between taking its number and publishing. */
#define STUCK_NS 200000000

static bool before(const struct event *a, const struct event *b)
{
	return a->key != b->key ? a->key < b->key : a->order < b->order;
}

bool event_add(struct collector *c, const struct event *e)
{
	struct event *copy = malloc(sizeof(*copy));
	size_t i;

	if (c->nheap == c->heap_capacity) {
		size_t n = c->heap_capacity ? 2 * c->heap_capacity : 256;
		struct event **bigger = reallocarray(c->heap, n, sizeof(*bigger));

		if (!bigger) {
			free(copy);
			return false;
		}
		c->heap = bigger;
		c->heap_capacity = n;
	}
	if (!copy)
		return false;
	*copy = *e;
	image_hold(copy->image);
	if (copy->process)
		copy->process->nevents++;
	copy->order = c->norder++;
	for (i = c->nheap++; i && before(copy, c->heap[(i - 1) / 2]); i = (i - 1) / 2)
		c->heap[i] = c->heap[(i - 1) / 2];
	c->heap[i] = copy;
	return true;
}

static struct event *pop(struct collector *c)
{
	struct event *top = c->heap[0], *last = c->heap[--c->nheap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < c->nheap) {
		if (child + 1 < c->nheap && before(c->heap[child + 1], c->heap[child]))
			child++;
		if (!before(c->heap[child], last))
			break;
		c->heap[i] = c->heap[child];
		i = child;
	}
	c->heap[i] = last;
	return top;
}

void events_run(struct collector *c, uint64_t key)
{
	while (c->nheap && c->heap[0]->key <= key) {
		struct event *e = pop(c);

		e->run(c, e);
		image_drop(c, e->image);
		if (e->process)
			e->process->nevents--;
		free(e->text);
		free(e);
	}
}

static void seen_grow(struct collector *c, uint64_t words)
{
	uint64_t n = c->seen_words ? c->seen_words : 64;
	uint64_t *p;

	while (n < words)
		n *= 2;
	p = reallocarray(c->seen, n, sizeof(*p));
	if (!p)
		return;
	memset(p + c->seen_words, 0, (n - c->seen_words) * sizeof(*p));
	if (!c->seen_words)
		p[0] |= 1; /* numbers begin at 1 */
	c->seen = p;
	c->seen_words = n;
}

void events_entered(struct collector *c, uint64_t seq)
{
	uint64_t bit = seq - c->seen_base;

	if (seq < c->seen_base || bit / 64 > (1u << 24)) /* given up on; or nonsense */
		return;
	if (bit / 64 >= c->seen_words)
		seen_grow(c, bit / 64 + 1);
	if (bit / 64 < c->seen_words)
		c->seen[bit / 64] |= 1ull << (bit % 64);
}

/* Newest number up to which all have been seen. Full words leave the map. */
static uint64_t watermark(struct collector *c)
{
	uint64_t full = 0;

	while (full < c->seen_words && c->seen[full] == UINT64_MAX)
		full++;
	if (full > c->seen_words / 2) {
		memmove(c->seen, c->seen + full, (c->seen_words - full) * sizeof(*c->seen));
		memset(c->seen + c->seen_words - full, 0, full * sizeof(*c->seen));
		c->seen_base += full * 64;
		full = 0;
	}
	if (full == c->seen_words)
		return c->seen_base + full * 64 - 1;
	return c->seen_base + full * 64 + (uint64_t)__builtin_ctzll(~c->seen[full]) - 1;
}

static void forget_ended(struct collector *c)
{
	for (struct process *p = c->processes; p; p = p->next)
		if (p->gone && !p->nevents && !p->forgotten)
			derive_forget(c, p);
}

void events_round(struct collector *c)
{
	uint64_t now_settled, newest;

	if (!c->seen_words)
		seen_grow(c, 64);
	if (!c->seen_words)
		return;
	events_run(c, 2 * c->settled + 1);
	now_settled = watermark(c);
	newest = ring_newest(c->session);
	if (now_settled == newest || now_settled != c->stuck_at) {
		c->stuck_at = now_settled;
		c->stuck_newest = newest;
		c->stuck_since = session_now(c);
	} else if (session_now(c) - c->stuck_since > STUCK_NS) {
		/* Whatever was taken by then and has not come since is not waited for. */
		for (uint64_t seq = now_settled + 1; seq <= c->stuck_newest; seq++)
			events_entered(c, seq);
	}
	c->settled = now_settled;
	forget_ended(c);
}
