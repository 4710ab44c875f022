/* SPDX-License-Identifier: Apache-2.0
 *
 * ranges: which bytes a launch may write. The collector has the PTX and answers with a range of addresses for each
 * parameter that something is stored through; what is found is cut to allocations.
 */
#include "interpose/recorder.h"

struct list {
	struct rec_range *r;
	unsigned n;
	bool full;
};

static void add(struct list *l, uint64_t first, uint64_t end, uint8_t type)
{
	if (first >= end)
		return;
	if (l->n == REC_MAX_RANGES) {
		l->full = true;
		return;
	}
	l->r[l->n++] = (struct rec_range){first, end - first, type};
}

/* What [first, end) has of an allocation, in whole words of 16 bytes, which devices read in one. */
static void add_part(struct list *l, const struct rec_allocation *a, uint64_t first, uint64_t end,
		     uint8_t type)
{
	uint64_t stop = a->base + a->bytes;

	if (first >= stop || end <= a->base || first >= end)
		return;
	first = first > a->base ? a->base + ((first - a->base) & ~UINT64_C(15)) : a->base;
	end = end < stop ? a->base + ((end - a->base + 15) & ~UINT64_C(15)) : stop;
	add(l, first, end < stop ? end : stop, type);
}

/* Wherever there is something. */
static void add_everywhere(struct list *l, uint64_t first, uint64_t end, uint8_t type)
{
	struct rec_allocation a;
	uint64_t at = first;

	while (!l->full && rec_allocation_from(at, &a) && a.base < end) {
		add_part(l, &a, first, end, type);
		at = a.base + a.bytes;
	}
}

/* Every word of the parameter that may be a pointer: a structure has several. */
static void add_pointees(struct list *l, const uint8_t *param, uint32_t bytes, uint64_t first, uint64_t end,
			 uint8_t type)
{
	struct rec_allocation a;
	bool found = false;

	for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
		uint64_t p;

		memcpy(&p, param + at, 8);
		if (!rec_allocation_find(p, &a))
			continue;
		found = true;
		add_part(l, &a, first, end, type);
	}
	/* It points beside what is stored to. */
	if (!found && end != UINT64_MAX)
		add_everywhere(l, first, end, type);
}

static void sort_and_join(struct list *l)
{
	unsigned n = 0;

	for (unsigned i = 1; i < l->n; i++) {
		struct rec_range x = l->r[i];
		unsigned k = i;

		for (; k && l->r[k - 1].base > x.base; k--)
			l->r[k] = l->r[k - 1];
		l->r[k] = x;
	}
	for (unsigned i = 0; i < l->n; i++) {
		struct rec_range *last = n ? &l->r[n - 1] : NULL;
		uint64_t end = l->r[i].base + l->r[i].bytes;

		if (last && l->r[i].base < last->base + last->bytes) {
			if (end > last->base + last->bytes)
				last->bytes = end - last->base;
			if (l->r[i].type != last->type)
				last->type = SKETCH_NONE;
		} else {
			l->r[n++] = l->r[i];
		}
	}
	l->n = n;
}

/* ---- answers, kept: programs launch the same again and again --------------------- */

enum { KEPT = 256, KEPT_PARAMS = 256, KEPT_RANGES = 8 };

static struct kept {
	uint64_t generation, function; /* generation 0: nothing */
	uint32_t grid[3], block[3];
	uint32_t bytes, known, n;
	uint8_t params[KEPT_PARAMS];
	__typeof__(((struct ring_written *)0)->p[0]) p[KEPT_RANGES];
} * kept;

static uint64_t mixed(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return h;
}

/* The only place of an answer; NULL: it isn't kept. Under the lock. */
static struct kept *place_of(const struct rec_checked *c)
{
	uint64_t h = mixed(c->function * 0x9e3779b97f4a7c15ull, c->grid, sizeof(c->grid));

	if (c->bytes > KEPT_PARAMS)
		return NULL;
	if (!kept)
		kept = rec_pages(KEPT * sizeof(*kept));
	h = mixed(mixed(h, c->block, sizeof(c->block)), c->params, c->params ? c->bytes : 0);
	return kept ? &kept[(h ^ h >> 32) % KEPT] : NULL;
}

static bool is_of(const struct kept *k, const struct rec_checked *c)
{
	return k->generation == rec_layouts_generation() && k->function == c->function &&
	       k->bytes == c->bytes && !memcmp(k->grid, c->grid, sizeof(k->grid)) &&
	       !memcmp(k->block, c->block, sizeof(k->block)) &&
	       (!c->bytes || (c->params && !memcmp(k->params, c->params, c->bytes)));
}

static bool recall(const struct rec_checked *c, struct ring_written *answer)
{
	const struct kept *k;
	bool found;

	rec_lock(REC_LOCK_RANGES);
	k = place_of(c);
	found = k && is_of(k, c);
	if (found) {
		answer->known = k->known;
		answer->n = k->n;
		memcpy(answer->p, k->p, k->n * sizeof(k->p[0]));
	}
	rec_unlock(REC_LOCK_RANGES);
	return found;
}

static void keep(const struct rec_checked *c, uint64_t generation, const struct ring_written *answer)
{
	struct kept *k;

	if (answer->n > KEPT_RANGES || (c->bytes && !c->params))
		return;
	rec_lock(REC_LOCK_RANGES);
	k = place_of(c);
	if (k) {
		*k = (struct kept){.generation = generation,
				   .function = c->function,
				   .bytes = c->bytes,
				   .known = answer->known,
				   .n = answer->n};
		memcpy(k->grid, c->grid, sizeof(k->grid));
		memcpy(k->block, c->block, sizeof(k->block));
		if (c->bytes)
			memcpy(k->params, c->params, c->bytes);
		memcpy(k->p, answer->p, answer->n * sizeof(k->p[0]));
	}
	rec_unlock(REC_LOCK_RANGES);
}

static bool ask(const struct rec_checked *c, struct ring_written *answer)
{
	uint64_t generation = rec_layouts_generation();
	struct ring_ask_written question;

	if (!c->grid[0] || c->bytes > RING_ASK_PARAMS)
		return false;
	if (recall(c, answer))
		return true;
	memset(&question, 0, offsetof(struct ring_ask_written, params));
	question.function = c->function;
	question.seq = c->seq;
	memcpy(question.grid, c->grid, sizeof(question.grid));
	memcpy(question.block, c->block, sizeof(question.block));
	question.param_bytes = c->params ? c->bytes : 0;
	if (c->params)
		memcpy(question.params, c->params, c->bytes);
	if (!rec_ask_written(&question, answer))
		return false;
	keep(c, generation, answer);
	return true;
}

/* By what is known of the kernel alone. */
static void ranges_of_layout(const struct rec_checked *c, struct list *l)
{
	const struct rec_layout *y = c->layout;

	for (uint32_t i = 0; i < y->nparams; i++)
		if (y->p[i].is_written && (uint32_t)y->p[i].offset + y->p[i].bytes <= c->bytes)
			add_pointees(l, c->params + y->p[i].offset, y->p[i].bytes, 0, UINT64_MAX,
				     SKETCH_NONE);
}

bool rec_ranges(const struct rec_checked *c, struct rec_range *r, unsigned *n)
{
	const struct rec_layout *y = c->layout;
	struct ring_written answer;
	struct list l = {.r = r};

	*n = 0;
	if (!y || !y->writes_known || y->writes_unknown || (!c->params && y->nparams))
		return false;
	if (ask(c, &answer)) {
		if (!answer.known)
			return false;
		for (uint32_t i = 0; i < answer.n; i++)
			if (answer.p[i].offset <= c->bytes &&
			    answer.p[i].bytes <= c->bytes - answer.p[i].offset)
				add_pointees(&l, c->params + answer.p[i].offset, answer.p[i].bytes,
					     answer.p[i].is_bounded ? answer.p[i].first : 0,
					     answer.p[i].is_bounded ? answer.p[i].end : UINT64_MAX,
					     answer.p[i].type);
	} else {
		ranges_of_layout(c, &l);
	}
	sort_and_join(&l);
	*n = l.n;
	return !l.full;
}

bool rec_ranges_join(struct rec_range *to, unsigned *n, const struct rec_range *more, unsigned m)
{
	struct list l = {.r = to, .n = *n};

	for (unsigned i = 0; i < m; i++)
		add(&l, more[i].base, more[i].base + more[i].bytes, more[i].type);
	if (m)
		sort_and_join(&l);
	*n = l.n;
	return !l.full;
}

bool rec_ranges_of_all(struct rec_range *r, unsigned *n)
{
	struct rec_allocation a;

	*n = 0;
	for (size_t i = 0; rec_allocation_at(i, &a); i++) {
		if (a.host)
			continue;
		if (*n == REC_MAX_RANGES)
			return false;
		r[(*n)++] = (struct rec_range){a.base, a.bytes, SKETCH_NONE};
	}
	return true;
}
