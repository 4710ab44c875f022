/* SPDX-License-Identifier: Apache-2.0
 *
 * map: a table from 64-bit keys to 64-bit values (handles, ids, addresses). A zeroed struct map is empty.
 */
#ifndef CUTRACE_REPLAY_MAP_H
#define CUTRACE_REPLAY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key, value;
	bool used;
};
struct map {
	struct map_slot *slots;
	size_t size, used; /* size is 0 or a power of two */
};

bool map_get(const struct map *m, uint64_t key, uint64_t *value);
int map_set(struct map *m, uint64_t key, uint64_t value); /* 0, or CUTRACE_ENOMEM */
void map_remove(struct map *m, uint64_t key);
void map_free(struct map *m);

#endif
