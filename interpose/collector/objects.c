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

/* Long dead: no record that is still to be read can mean it. */
#define LONG_DEAD (1u << 20)

static bool forgettable(const struct object_map *m, const struct object_slot *s)
{
	return s->newest->destroyed < m->newest && m->newest - s->newest->destroyed > LONG_DEAD;
}

static void free_versions(struct version *v)
{
	for (struct version *older; v; v = older) {
		older = v->older;
		free(v);
	}
}

/* Handles that mean nothing any more leave when the table is full, so that it grows with what lives. */
static bool grow(struct object_map *m)
{
	struct object_map bigger = {.newest = m->newest};
	size_t keep = 0;

	for (size_t i = 0; i < m->capacity; i++)
		keep += m->slots[i].kind && !forgettable(m, &m->slots[i]);
	for (bigger.capacity = 256; bigger.capacity < 4 * keep; bigger.capacity *= 2)
		;
	bigger.count = keep;
	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < m->capacity; i++) {
		const struct object_slot *s = &m->slots[i];

		if (s->kind && forgettable(m, s))
			free_versions(s->newest);
		else if (s->kind)
			bigger.slots[slot_index(&bigger, s->kind, s->handle)] = *s;
	}
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
	m->newest = key > m->newest ? key : m->newest;
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

void object_clear(struct object_map *m, enum object_kind kind, uint64_t key,
		  bool (*match)(void *ctx, void *object), void *ctx)
{
	for (size_t i = 0; i < m->capacity; i++) {
		if (m->slots[i].kind != kind)
			continue;
		for (struct version *v = m->slots[i].newest; v; v = v->older)
			if (v->object && match(ctx, v->object)) {
				v->object = NULL;
				v->destroyed = key < v->destroyed ? key : v->destroyed;
			}
	}
}

void object_map_free(struct object_map *m)
{
	for (size_t i = 0; i < m->capacity; i++)
		free_versions(m->slots[i].newest);
	free(m->slots);
	*m = (struct object_map){0};
}
