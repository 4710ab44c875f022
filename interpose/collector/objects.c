/* SPDX-License-Identifier: Apache-2.0
 *
 * objects: what a handle meant at a point of the recording. Drivers use handles again, and threads' records
 * are read in any order, so each handle has a chain of versions, newest first. Only the two newest are kept:
 * nothing asks for older ones.
 */
#include <stdlib.h>

#include "interpose/collector/internal.h"

struct object_slot {
	uint64_t handle;
	struct version *newest;
	uint8_t kind; /* 0 = free */
};

static size_t slot_index(const struct object_map *m, enum object_kind kind, uint64_t handle)
{
	size_t i = (size_t)(((handle ^ ((uint64_t)kind << 56)) * 0x9e3779b97f4a7c15ull) >> 20) &
		   (m->capacity - 1);

	while (m->slots[i].kind && (m->slots[i].kind != kind || m->slots[i].handle != handle))
		i = (i + 1) & (m->capacity - 1);
	return i;
}

static bool grow(struct object_map *m)
{
	struct object_map bigger = {.capacity = m->capacity ? 2 * m->capacity : 256, .count = m->count};

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < m->capacity; i++)
		if (m->slots[i].kind)
			bigger.slots[slot_index(&bigger, m->slots[i].kind, m->slots[i].handle)] = m->slots[i];
	free(m->slots);
	*m = bigger;
	return true;
}

struct version *object_at(const struct object_map *m, enum object_kind kind, uint64_t handle, uint64_t key)
{
	struct version *v;

	if (!m->capacity)
		return NULL;
	for (v = m->slots[slot_index(m, kind, handle)].newest; v; v = v->older)
		if (v->created <= key)
			return v->destroyed > key ? v : NULL;
	return NULL;
}

struct version *object_add(struct object_map *m, enum object_kind kind, uint64_t handle, uint64_t key)
{
	struct version *v;
	struct object_slot *s;

	if (m->count * 2 >= m->capacity && !grow(m))
		return NULL;
	s = &m->slots[slot_index(m, kind, handle)];
	v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	if (!s->kind) {
		s->kind = (uint8_t)kind;
		s->handle = handle;
		m->count++;
	}
	v->created = key;
	v->destroyed = UINT64_MAX;
	v->older = s->newest;
	if (v->older && v->older->older) {
		free(v->older->older);
		v->older->older = NULL;
	}
	s->newest = v;
	return v;
}

void object_each(struct object_map *m, enum object_kind kind, uint64_t low, uint64_t high, uint64_t key,
		 void (*fn)(void *ctx, uint64_t handle, struct version *v), void *ctx)
{
	for (size_t i = 0; i < m->capacity; i++) {
		struct version *v;

		if (m->slots[i].kind != kind || m->slots[i].handle < low || m->slots[i].handle >= high)
			continue;
		v = object_at(m, kind, m->slots[i].handle, key);
		if (v)
			fn(ctx, m->slots[i].handle, v);
	}
}

void object_map_free(struct object_map *m)
{
	for (size_t i = 0; i < m->capacity; i++)
		for (struct version *v = m->slots[i].newest, *older; v; v = older) {
			older = v->older;
			free(v);
		}
	free(m->slots);
	*m = (struct object_map){0};
}
