/* SPDX-License-Identifier: Apache-2.0
 *
 * The word of a block's barrier: bits 0 to 11 threads that have arrived, 12 to 23 those of them that count in a
 * reduction, 24 to 35 and 36 to 47 that number of the last round and of the one before, 48 to 63 the round.
 * Threads that have ended count as arrived where the whole block is expected.
 */
#include "zluda_core/compiler/device_library/device_library.h"

enum { FIELD = 12, FIELD_MASK = (1 << FIELD) - 1, LAST = 24, BEFORE = 36, ROUND = 48 };

static uint32_t round_of(uint64_t word)
{
	return (uint32_t)(word >> ROUND);
}

static bool complete(uint64_t word, uint32_t ended, uint32_t expected, uint32_t threads)
{
	uint32_t arrived = word & FIELD_MASK;

	return arrived && (expected ? arrived >= expected : arrived + ended >= threads);
}

/* The next round: nobody has arrived, the results move up. */
static uint64_t turned(uint64_t word)
{
	uint64_t hits = word >> FIELD & FIELD_MASK, last = word >> LAST & FIELD_MASK;

	return (uint64_t)(uint16_t)(round_of(word) + 1) << ROUND | last << BEFORE | hits << LAST;
}

uint32_t ct_barrier_arrive(ct_shared uint64_t *barrier, const ct_shared uint32_t *ended, uint32_t add,
			   uint32_t hits, uint32_t expected, uint32_t threads)
{
	uint64_t old = __atomic_load_n(barrier, __ATOMIC_RELAXED), new;

	do {
		new = old + add + ((uint64_t)hits << FIELD);
		if (complete(new, __atomic_load_n(ended, __ATOMIC_RELAXED), expected, threads))
			new = turned(new);
	} while (!__atomic_compare_exchange_n(barrier, &old, new, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return round_of(old);
}

uint32_t ct_barrier_poll(ct_shared uint64_t *barrier, const ct_shared uint32_t *ended, uint32_t round,
			 uint32_t expected, uint32_t threads)
{
	uint64_t word = __atomic_load_n(barrier, __ATOMIC_RELAXED);

	while (round_of(word) == round &&
	       complete(word, __atomic_load_n(ended, __ATOMIC_RELAXED), expected, threads))
		if (__atomic_compare_exchange_n(barrier, &word, turned(word), false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	return round_of(word) != round;
}

uint32_t ct_barrier_hits(const ct_shared uint64_t *barrier, uint32_t round)
{
	uint64_t word = __atomic_load_n(barrier, __ATOMIC_RELAXED);
	unsigned place = (uint16_t)(round_of(word) - round) == 1 ? LAST : BEFORE;

	return word >> place & FIELD_MASK;
}
