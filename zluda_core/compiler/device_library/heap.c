/* SPDX-License-Identifier: Apache-2.0
 *
 * malloc and free of kernels. Two-level segregated fit (Masmano, Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator
 * for real-time systems", 2004): free blocks are in lists by size, a level for each power of two and parts of it; two
 * bitmaps find the first list that fits. Neighbours that are free are joined. One lock guards it all; lanes of a
 * wave take it one after another, so that none waits for another of its own wave.
 *
 * Sizes and places count units of 16 bytes; place 0 is none. In front of each block is a header of one unit.
 */
#include "zluda_core/compiler/device_library/runtime.h"

enum { UNIT = LOWER_HEAP_UNIT, PARTS = LOWER_HEAP_PARTS, LEAST = 2 };
enum { USED = 0x75736564, FREE = 0x66726565 };

struct block {
	uint32_t units;  /* header included; 0: the arena's end */
	uint32_t before; /* units of the block before it in memory; 0: none */
	uint32_t state;
	uint32_t reserved;
	uint32_t next, previous; /* in the list, of a free block */
};

typedef ct_global struct lower_heap *heap_pointer;
typedef ct_global struct block *block_pointer;

static block_pointer block_at(heap_pointer h, uint32_t place)
{
	return CT_AT(struct block, h->address + (uint64_t)place * UNIT);
}

/* ---- lists ------------------------------------------------------------------------------- */

struct list {
	uint32_t level, part;
};

static struct list list_of(uint32_t units)
{
	uint32_t level = 31u - (uint32_t)__builtin_clz(units);

	return (struct list){level, level >= 2 ? units >> (level - 2) & 3 : units << (2 - level) & 3};
}

static void insert(heap_pointer h, uint32_t place)
{
	block_pointer b = block_at(h, place);
	struct list l = list_of(b->units);
	uint32_t first = h->first[l.level][l.part];

	b->state = FREE;
	b->next = first;
	b->previous = 0;
	if (first)
		block_at(h, first)->previous = place;
	h->first[l.level][l.part] = place;
	h->parts[l.level] |= 1u << l.part;
	h->levels |= 1u << l.level;
}

static void take_out(heap_pointer h, uint32_t place)
{
	block_pointer b = block_at(h, place);
	struct list l = list_of(b->units);

	if (b->next)
		block_at(h, b->next)->previous = b->previous;
	if (b->previous) {
		block_at(h, b->previous)->next = b->next;
		return;
	}
	h->first[l.level][l.part] = b->next;
	if (b->next)
		return;
	h->parts[l.level] &= ~(1u << l.part);
	if (!h->parts[l.level])
		h->levels &= ~(1u << l.level);
}

/* A free block of at least that size, or 0: from the first list all of whose blocks fit. */
static uint32_t find(heap_pointer h, uint32_t units)
{
	uint32_t level = 31u - (uint32_t)__builtin_clz(units);
	uint64_t round = level >= 2 ? units + (1ull << (level - 2)) - 1 : units;

	if (round >> 31)
		return 0;
	struct list l = list_of((uint32_t)round);
	uint32_t parts = h->parts[l.level] & ~0u << l.part;
	if (!parts) {
		uint32_t levels = l.level < 31 ? h->levels & ~0u << (l.level + 1) : 0;
		if (!levels)
			return 0;
		l.level = (uint32_t)__builtin_ctz(levels);
		parts = h->parts[l.level];
	}
	return h->first[l.level][__builtin_ctz(parts)];
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* One free block between the first unit, which is place 0, and a header of no units at the end. */
static void prepare(heap_pointer h)
{
	uint64_t units = h->bytes / UNIT;

	h->ready = 1;
	if (units > 0x7fffffff)
		units = 0x7fffffff;
	if (units < LEAST + 2)
		return;
	block_pointer b = block_at(h, 1), end = block_at(h, (uint32_t)units - 1);
	b->units = (uint32_t)units - 2;
	b->before = 0;
	end->units = 0;
	end->before = b->units;
	end->state = USED;
	insert(h, 1);
}

static void set_units(heap_pointer h, uint32_t place, uint32_t units)
{
	block_at(h, place)->units = units;
	block_at(h, place + units)->before = units;
}

static uint64_t allocate(heap_pointer h, uint32_t units)
{
	uint32_t place = find(h, units), rest;

	if (!place)
		return 0;
	take_out(h, place);
	block_pointer b = block_at(h, place);
	rest = b->units - units;
	if (rest >= LEAST) {
		set_units(h, place, units);
		set_units(h, place + units, rest);
		insert(h, place + units);
	}
	b->state = USED;
	return h->address + (uint64_t)(place + 1) * UNIT;
}

static void release(heap_pointer h, uint32_t place)
{
	block_pointer b = block_at(h, place);
	uint32_t units = b->units, before = b->before;
	block_pointer next = block_at(h, place + units);

	if (next->units && next->state == FREE) {
		take_out(h, place + units);
		units += next->units;
	}
	if (before && block_at(h, place - before)->state == FREE) {
		b->state = 0;
		place -= before;
		take_out(h, place);
		units += before;
	}
	set_units(h, place, units);
	insert(h, place);
}

/* Whether a block in use begins there: its neighbour must know its size. */
static bool is_block(heap_pointer h, uint64_t address)
{
	uint64_t offset = address - h->address;

	if (address < h->address + 2 * UNIT || offset >= h->bytes || offset % UNIT)
		return false;
	uint32_t place = (uint32_t)(offset / UNIT) - 1;
	block_pointer b = block_at(h, place);
	if (b->state != USED || b->units < LEAST || place + (uint64_t)b->units >= h->bytes / UNIT)
		return false;
	return block_at(h, place + b->units)->before == b->units;
}

/* ---- one at a time ------------------------------------------------------------------------------ */

static void lock(heap_pointer h)
{
	uint32_t unlocked = 0;

	while (!__atomic_compare_exchange_n(&h->lock, &unlocked, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		unlocked = 0;
		ct_pause();
	}
	if (!h->ready)
		prepare(h);
}

static void unlock(heap_pointer h)
{
	__atomic_store_n(&h->lock, 0, __ATOMIC_RELEASE);
}

uint64_t ct_malloc(ct_global struct lower_runtime *r, uint64_t bytes)
{
	heap_pointer h = CT_AT(struct lower_heap, r->heap);
	uint64_t address = 0;

	if (!r->heap || !bytes || bytes >= h->bytes || bytes >> 34)
		return 0;
	CT_EACH_LANE
	{
		lock(h);
		address = allocate(h, (uint32_t)((bytes + UNIT - 1) / UNIT + 1));
		unlock(h);
	}
	return address;
}

uint32_t ct_free(ct_global struct lower_runtime *r, uint32_t line, uint64_t address)
{
	heap_pointer h = CT_AT(struct lower_heap, r->heap);
	bool ok = true;

	if (!address)
		return 0;
	CT_EACH_LANE
	{
		ok = r->heap != 0;
		if (ok) {
			lock(h);
			ok = is_block(h, address);
			if (ok)
				release(h, (uint32_t)((address - h->address) / UNIT) - 1);
			unlock(h);
		}
	}
	if (!ok)
		ct_fault(r, LOWER_FAULT_FREE, line, address);
	return !ok;
}
