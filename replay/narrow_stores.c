/* SPDX-License-Identifier: Apache-2.0
 *
 * What the logged threads stored, by address: one entry for each element of each store, as the interpreter's log has it, with
 * what the same store stored on the target.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/narrow_memory.h"

bool beside_first(const struct narrow_log *a, const struct narrow_log *b, uint64_t thread, struct beside *x)
{
	*x = (struct beside){0};
	return narrow_first(a, thread, &x->here) && narrow_first(b, thread, &x->interp) &&
	       x->here.site == x->interp.site;
}

bool is_block_barrier(const struct narrow_record *r)
{
	uint16_t op = narrow_inst(r->site)->op;

	return (op == PTX_OP_BAR || op == PTX_OP_BARRIER) && narrow_guard_holds(r);
}

bool beside_next(const struct narrow_log *a, const struct narrow_log *b, struct beside *x)
{
	bool more_here, more_there;

	x->epoch += is_block_barrier(&x->interp);
	more_here = narrow_next(a, &x->here);
	more_there = narrow_next(b, &x->interp);
	return more_here && more_there && x->here.site == x->interp.site;
}

const struct ptx_site *narrow_barrier_after(const struct narrow_log *l, uint64_t thread, uint64_t epoch,
					    uint64_t *at)
{
	struct narrow_record r;
	uint64_t e = 0;

	for (bool more = narrow_first(l, thread, &r); more; more = narrow_next(l, &r)) {
		if (!is_block_barrier(&r))
			continue;
		if (e++ == epoch) {
			*at = r.at;
			return r.site;
		}
	}
	return NULL;
}

bool narrow_operand_value(const struct narrow_record *r, unsigned k, uint64_t *value)
{
	const struct ptx_operand *o = &narrow_inst(r->site)->src[k];

	*value = o->imm;
	if (o->kind == PTX_OPND_IMM)
		return true;
	for (unsigned n = 0; o->kind == PTX_OPND_VALUE && n < r->site->nregisters; n++)
		if (!r->site->registers[n].is_result &&
		    r->site->registers[n].slot == r->site->f->values[o->index].slot) {
			*value = narrow_register(r, &r->site->registers[n]);
			return true;
		}
	return false;
}

static uint64_t low_bytes(uint64_t v, unsigned bytes)
{
	return bytes < 8 ? v & ((1ull << 8 * bytes) - 1) : v;
}

/* The first element that is another one behind the store than was stored; NULL: none. */
static const struct ptx_site_register *wrong_element(const struct narrow_record *r, uint64_t *value)
{
	unsigned element = 0;

	for (unsigned k = 0; k < r->site->nregisters; k++) {
		const struct ptx_site_register *s = &r->site->registers[k];

		if (s->is_result && narrow_operand_value(r, ++element, value) &&
		    low_bytes(*value, s->bits / 8) != narrow_register(r, s))
			return s;
	}
	return NULL;
}

static void offer_stored(const struct narrow_record *r, const struct narrow_place *p,
			 struct narrow_finding *best)
{
	struct narrow_finding f = {.how = NARROW_INSTRUCTION,
				   .site = r->site,
				   .thread = r->thread,
				   .at = r->at,
				   .rank = narrow_rank(p, r->thread),
				   .has_got = true,
				   .has_want = true};
	uint64_t value;

	f.result = wrong_element(r, &value);
	if (!f.result || r->site->words > sizeof(f.got) / 4 || !narrow_is_better(&f, best))
		return;
	memcpy(f.got, r->words, 4u * r->site->words);
	memcpy(f.want, f.got, sizeof(f.want));
	memcpy(&f.want[f.result->at], &value, f.result->bits > 32 ? 8 : 4);
	narrow_offer(best, &f);
}

void narrow_stored(const struct narrow_log *log, const struct narrow_place *p, struct narrow_finding *best)
{
	struct narrow_record r;

	for (uint64_t t = 0; t < log->nthreads; t++)
		for (bool more = narrow_first(log, t, &r); more; more = narrow_next(log, &r))
			if (r.site->kind == PTX_SITE_STORE && narrow_guard_holds(&r))
				offer_stored(&r, p, best);
}

bool narrow_stored_rarely(const struct narrow_log *log, const struct ptx_site *s)
{
	uint64_t all = 0, wrong = 0, value;
	struct narrow_record r;

	for (uint64_t t = 0; s->kind == PTX_SITE_STORE && t < log->nthreads; t++)
		for (bool more = narrow_first(log, t, &r); more; more = narrow_next(log, &r))
			if (r.site == s && narrow_guard_holds(&r)) {
				all++;
				wrong += wrong_element(&r, &value) != NULL;
			}
	return 4 * wrong < all;
}

/* Whose memory it is: all threads', a block's, a thread's. */
uint64_t memory_owner(uint8_t space, uint64_t thread, uint64_t threads)
{
	return space == PTX_SPACE_SHARED ? thread / threads : space == PTX_SPACE_LOCAL ? thread : 0;
}

static bool add(struct stores *s, const struct store_entry *e)
{
	if (s->n == s->capacity) {
		size_t more = s->n ? 2 * s->n : 1024;
		struct store_entry *grown = realloc(s->at, more * sizeof(*grown));

		if (!grown)
			return false;
		s->at = grown;
		s->capacity = more;
	}
	s->at[s->n++] = *e;
	return true;
}

static bool add_store(struct stores *s, const struct beside *x, uint64_t threads)
{
	const struct ptx_inst *i = narrow_inst(x->interp.site);
	unsigned bytes = ptx_type_bits((enum ptx_type)i->type) / 8;
	uint64_t address, there;
	uint8_t space, its;
	bool same_address;

	if (x->interp.site->kind != PTX_SITE_STORE || !bytes || bytes > 8 ||
	    !narrow_guard_holds(&x->interp) || !narrow_address(&x->interp, &space, &address) ||
	    space == PTX_SPACE_PARAM)
		return true;
	same_address =
		narrow_guard_holds(&x->here) && narrow_address(&x->here, &its, &there) && there == address;
	for (unsigned k = 1; k < i->nsrc; k++) {
		struct store_entry e = {.owner = memory_owner(space, x->interp.thread, threads),
					.address = address + (uint64_t)(k - 1) * bytes,
					.thread = x->interp.thread,
					.at = x->interp.at,
					.epoch = x->epoch,
					.site = x->interp.site,
					.space = space,
					.bytes = (uint8_t)bytes};

		if (!narrow_operand_value(&x->interp, k, &e.value) ||
		    !narrow_operand_value(&x->here, k, &e.here))
			continue;
		e.value = low_bytes(e.value, bytes);
		e.here = same_address ? low_bytes(e.here, bytes) : ~e.value;
		if (!add(s, &e))
			return false;
	}
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct store_entry *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

bool stores_find(struct stores *s, const struct narrow_log *here, const struct narrow_log *interp,
		 uint64_t threads)
{
	*s = (struct stores){0};
	for (uint64_t t = 0; t < here->nthreads && t < interp->nthreads; t++) {
		struct beside x;

		for (bool more = beside_first(here, interp, t, &x); more;
		     more = beside_next(here, interp, &x))
			if (!add_store(s, &x, threads)) {
				free(s->at);
				return false;
			}
	}
	qsort(s->at, s->n, sizeof(*s->at), by_address);
	return true;
}

size_t stores_at(const struct stores *s, uint8_t space, uint64_t owner, uint64_t address, size_t *first)
{
	const struct store_entry key = {.space = space, .owner = owner, .address = address};
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_address(&s->at[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	while (high < s->n && s->at[high].space == space && s->at[high].owner == owner &&
	       s->at[high].address == address)
		high++;
	return high - low;
}
