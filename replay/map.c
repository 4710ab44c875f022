/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

static size_t home(const struct map *m, uint64_t key)
{
	key *= UINT64_C(
		0x9e3779b97f4a7c15); /* Fibonacci hashing: handles are aligned, their low bits are 0 */
	return (size_t)(key >> 32) & (m->size - 1);
}

static size_t locate(const struct map *m, uint64_t key)
{
	size_t i = home(m, key);

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->size - 1);
	return i;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *value)
{
	size_t i;

	if (!m->size)
		return false;
	i = locate(m, key);
	if (m->slots[i].used && value)
		*value = m->slots[i].value;
	return m->slots[i].used;
}

static int grow(struct map *m)
{
	struct map old = *m;

	m->size = old.size ? 2 * old.size : 16;
	m->slots = calloc(m->size, sizeof(*m->slots));
	if (!m->slots) {
		*m = old;
		return CUTRACE_ENOMEM;
	}
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i].used)
			m->slots[locate(m, old.slots[i].key)] = old.slots[i];
	free(old.slots);
	return 0;
}

int map_set(struct map *m, uint64_t key, uint64_t value)
{
	size_t i;

	if (4 * (m->used + 1) > 3 * m->size && grow(m))
		return CUTRACE_ENOMEM;
	i = locate(m, key);
	m->used += !m->slots[i].used;
	m->slots[i] = (struct map_slot){key, value, true};
	return 0;
}

/* Backward-shift deletion (Knuth, TAOCP vol. 3, 6.4, algorithm R): no tombstones. */
void map_remove(struct map *m, uint64_t key)
{
	size_t mask = m->size - 1, hole, i;

	if (!m->size)
		return;
	hole = locate(m, key);
	if (!m->slots[hole].used)
		return;
	m->used--;
	for (i = (hole + 1) & mask; m->slots[i].used; i = (i + 1) & mask) {
		size_t h = home(m, m->slots[i].key);

		if (((i - h) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].used = false;
}

void map_free(struct map *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}
