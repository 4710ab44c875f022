/* SPDX-License-Identifier: Apache-2.0
 *
 * Two logs beside each other, and what they say was stored where; between narrow_stores.c and narrow_memory.c.
 */
#ifndef CUTRACE_REPLAY_NARROW_MEMORY_H
#define CUTRACE_REPLAY_NARROW_MEMORY_H

#include "replay/narrow.h"

/* The same place of a thread's course in both logs. */
struct beside {
	struct narrow_record here, interp;
	uint64_t epoch; /* barriers of the block before it */
};
bool beside_first(const struct narrow_log *a, const struct narrow_log *b, uint64_t thread, struct beside *x);
/* False: the end of either, or another course: then the two sites differ. */
bool beside_next(const struct narrow_log *a, const struct narrow_log *b, struct beside *x);
bool is_block_barrier(const struct narrow_record *r);
/* The barrier that ends a thread's epoch, counted from 0. */
const struct ptx_site *narrow_barrier_after(const struct narrow_log *l, uint64_t thread, uint64_t epoch,
					    uint64_t *at);

/* Operand k of the instruction: a constant or a register. */
bool narrow_operand_value(const struct narrow_record *r, unsigned k, uint64_t *value);

struct store_entry {
	uint64_t owner, address, value, here; /* on the interpreter, on the target */
	uint64_t thread, at, epoch;
	const struct ptx_site *site;
	uint8_t space, bytes;
};
struct stores {
	struct store_entry *at; /* by space, owner, address, epoch; free() */
	size_t n, capacity;
};
bool stores_find(struct stores *s, const struct narrow_log *here, const struct narrow_log *interp,
		 uint64_t threads);
/* How many are at that address, and the first of them. */
size_t stores_at(const struct stores *s, uint8_t space, uint64_t owner, uint64_t address, size_t *first);
uint64_t memory_owner(uint8_t space, uint64_t thread, uint64_t threads);

/* One component of a load: where from, and what it is in both logs. */
struct loaded {
	uint8_t space, bytes;
	uint64_t owner, address, want, got;
};

/* narrow_atomics.c: what the atomics of an address, up to an epoch, say of a load of it. */
enum atomics_say {
	ATOMICS_NONE,
	ATOMICS_OTHERS, /* they had other operands: the fault isn't here */
	ATOMICS_PART,   /* some of them can have given it */
	ATOMICS_WRONG   /* they can't */
};
struct atomic_entry {
	const struct ptx_site *site;
	uint64_t thread, at, epoch;
};
enum atomics_say atomics_before(const struct narrow_log *here, const struct narrow_log *interp,
				const struct narrow_place *p, const struct loaded *l, uint64_t epoch,
				struct atomic_entry *last);

#endif
