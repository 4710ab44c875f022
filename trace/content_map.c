/* SPDX-License-Identifier: Apache-2.0
 * A bounded table from hash to row. It grows up to MAX_SLOTS; from then on an entry takes the place of
 * another one in its neighbourhood. Contents larger than SMALL_BYTES have an index in the file behind it, so
 * that they are always stored once; a small one that was pushed out would be stored again, after a million
 * others. */
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

#define FIRST_SLOTS   (1u << 12)
#define MAX_SLOTS     (1u << 21) /* 64 MiB */
#define NEIGHBOURHOOD 8u

struct entry {
	struct trace_hash hash;
	uint64_t bytes, id; /* id 0: empty */
};

struct content_map {
	struct entry *slots;
	size_t nslots, count;
};

struct content_map *content_map_new(void)
{
	struct content_map *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->nslots = FIRST_SLOTS;
	m->slots = calloc(m->nslots, sizeof(*m->slots));
	if (m->slots)
		return m;
	free(m);
	return NULL;
}

void content_map_free(struct content_map *m)
{
	if (!m)
		return;
	free(m->slots);
	free(m);
}

static uint64_t bits(const struct trace_hash *h)
{
	uint64_t u;

	memcpy(&u, h->b, sizeof(u));
	return u;
}

static struct entry *slot(const struct content_map *m, const struct trace_hash *h, unsigned i)
{
	return &m->slots[(bits(h) + i) & (m->nslots - 1)];
}

uint64_t content_map_find(const struct content_map *m, const struct trace_hash *h, uint64_t bytes)
{
	unsigned i;

	for (i = 0; i < NEIGHBOURHOOD; i++) {
		const struct entry *e = slot(m, h, i);

		if (e->id && e->bytes == bytes && !memcmp(&e->hash, h, sizeof(*h)))
			return e->id;
	}
	return 0;
}

/* False when the neighbourhood is full: then, when allowed, the oldest of it goes. */
static bool place(struct content_map *m, const struct entry *x, bool replace)
{
	struct entry *victim = slot(m, &x->hash, 0);
	unsigned i;

	for (i = 0; i < NEIGHBOURHOOD; i++) {
		struct entry *e = slot(m, &x->hash, i);

		if (!e->id) {
			*e = *x;
			m->count++;
			return true;
		}
		if (e->id < victim->id)
			victim = e;
	}
	if (replace)
		*victim = *x;
	return replace;
}

static bool grow(struct content_map *m)
{
	struct content_map bigger = {.nslots = m->nslots * 2};
	size_t i;

	if (bigger.nslots > MAX_SLOTS)
		return false;
	bigger.slots = calloc(bigger.nslots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (i = 0; i < m->nslots; i++)
		if (m->slots[i].id)
			place(&bigger, &m->slots[i], true);
	free(m->slots);
	*m = bigger;
	return true;
}

void content_map_put(struct content_map *m, const struct trace_hash *h, uint64_t bytes, uint64_t id)
{
	struct entry x = {*h, bytes, id};

	while (m->count * 2 > m->nslots && grow(m))
		;
	while (!place(m, &x, m->nslots >= MAX_SLOTS))
		if (!grow(m)) {
			place(m, &x, true);
			return;
		}
}
