/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomics of one address make a chain: each finds what another one left, but for the first, and each leaves what is found,
 * but for the last. Where a block's shared memory is logged whole, or all blocks of a grid, a broken chain shows an atomic that did something else.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/narrow_memory.h"

struct link {
	uint64_t owner, address, old, new; /* a store: new alone */
	uint64_t epoch, thread, at;
	const struct ptx_site *site;
	uint8_t bytes;
	bool is_store;
};

struct links {
	struct link *at;
	size_t n, capacity;
};

static int64_t as_signed(uint64_t v, unsigned bytes)
{
	return bytes == 4 ? (int32_t)v : (int64_t)v;
}

static uint64_t least(const struct ptx_inst *i, uint64_t a, uint64_t b, unsigned bytes, bool largest)
{
	bool a_first = ptx_type_is_signed((enum ptx_type)i->type) ? as_signed(a, bytes) < as_signed(b, bytes)
								  : a < b;

	return a_first != largest ? a : b;
}

static uint64_t sum(const struct ptx_inst *i, uint64_t a, uint64_t b)
{
	uint32_t low;
	double x, y;
	float f, g;

	switch (i->type) {
	case PTX_F32:
		memcpy(&f, &a, 4);
		memcpy(&g, &b, 4);
		f += g;
		memcpy(&low, &f, 4);
		return low;
	case PTX_F64:
		memcpy(&x, &a, 8);
		memcpy(&y, &b, 8);
		x += y;
		memcpy(&a, &x, 8);
		return a;
	default: return a + b;
	}
}

/* ISA 9.7.13.8. False: not known here. */
static bool result_of(const struct ptx_inst *i, uint64_t old, uint64_t b, uint64_t c, unsigned bytes,
		      uint64_t *new)
{
	bool is_float = ptx_type_is_float((enum ptx_type)i->type);

	if (is_float && (i->sub != PTX_SUB_ADD || (i->type != PTX_F32 && i->type != PTX_F64)))
		return false;
	switch (i->sub) {
	case PTX_SUB_ADD: *new = sum(i, old, b); break;
	case PTX_SUB_AND: *new = old &b; break;
	case PTX_SUB_OR: *new = old | b; break;
	case PTX_SUB_XOR: *new = old ^ b; break;
	case PTX_SUB_EXCH: *new = b; break;
	case PTX_SUB_CAS: *new = old == b ? c : old; break;
	case PTX_SUB_INC: *new = old >= b ? 0 : old + 1; break;
	case PTX_SUB_DEC: *new = old == 0 || old > b ? b : old - 1; break;
	case PTX_SUB_MIN: *new = least(i, old, b, bytes, false); break;
	case PTX_SUB_MAX: *new = least(i, old, b, bytes, true); break;
	default: return false;
	}
	if (bytes < 8)
		*new &= (1ull << 8 * bytes) - 1;
	return true;
}

static bool find_old(const struct narrow_record *r, uint64_t *old)
{
	for (unsigned k = 0; k < r->site->nregisters; k++)
		if (r->site->registers[k].is_result) {
			*old = narrow_register(r, &r->site->registers[k]);
			return true;
		}
	return false;
}

/* False: memory ran out. */
static bool add(struct links *l, const struct link *link)
{
	if (l->n == l->capacity) {
		size_t more = l->n ? 2 * l->n : 256;
		struct link *grown = realloc(l->at, more * sizeof(*grown));

		if (!grown)
			return false;
		l->at = grown;
		l->capacity = more;
	}
	l->at[l->n++] = *link;
	return true;
}

static bool add_record(struct links *l, const struct narrow_record *r, const struct narrow_place *p,
		       uint64_t epoch)
{
	const struct ptx_inst *i = narrow_inst(r->site);
	struct link k = {.owner = r->thread / p->threads,
			 .epoch = epoch,
			 .thread = r->thread,
			 .at = r->at,
			 .site = r->site,
			 .is_store = r->site->kind == PTX_SITE_STORE};
	uint64_t b = 0, c = 0;
	uint8_t space;

	if ((r->site->kind != PTX_SITE_ATOMIC && !k.is_store) || !narrow_guard_holds(r) ||
	    !narrow_address(r, &space, &k.address) ||
	    (space != PTX_SPACE_SHARED && !(p->whole && space == PTX_SPACE_GLOBAL)))
		return true;
	if (space == PTX_SPACE_GLOBAL)
		k.owner = UINT64_MAX; /* all blocks, whose barriers say nothing of one another */
	k.bytes = (uint8_t)narrow_access_bytes(r->site);
	if (!k.is_store && (i->vec > 1 || !narrow_operand_value(r, 1, &b) ||
			    (i->nsrc > 2 && !narrow_operand_value(r, 2, &c)) || !find_old(r, &k.old) ||
			    !result_of(i, k.old, b, c, k.bytes, &k.new)))
		k.bytes = 0; /* its chain isn't known */
	return add(l, &k);
}

static int by_address(const void *a, const void *b)
{
	const struct link *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static bool is_found(const struct link *l, size_t n, uint64_t value)
{
	for (size_t k = 0; k < n; k++)
		if (!l[k].is_store && l[k].old == value)
			return true;
	return false;
}

/* All of one address: nothing but atomics of one width, behind at most stores of epochs before. */
static bool is_chain(const struct link *l, size_t n, size_t *atomics)
{
	uint64_t first = UINT64_MAX, last_store = 0;
	bool stores = false;

	*atomics = 0;
	for (size_t k = 0; k < n; k++) {
		if (!l[k].is_store && (!l[k].bytes || l[k].bytes != l[0].bytes))
			return false;
		if (l[k].is_store && l[k].owner == UINT64_MAX)
			return false;
		if (l[k].is_store) {
			stores = true;
			last_store = l[k].epoch > last_store ? l[k].epoch : last_store;
		} else {
			first = l[k].epoch < first ? l[k].epoch : first;
			++*atomics;
		}
	}
	return *atomics > 1 && *atomics <= 4096 && (!stores || last_store < first);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

enum chain { CHAIN_WHOLE, CHAIN_BROKEN, CHAIN_RESTARTED };

static const struct link *store_of(const struct link *l, size_t n, uint64_t value)
{
	for (size_t k = 0; k < n; k++)
		if (l[k].is_store && l[k].new == value)
			return &l[k];
	return NULL;
}

/* What was found, less what was left, must be one value. More of what a store before stored: it wasn't before. */
static enum chain check_chain(const struct link *l, size_t n, size_t atomics)
{
	uint64_t *old = calloc(2 * atomics, sizeof(*old)), *new = old ? old + atomics : NULL;
	size_t at = 0, i = 0, k = 0, only_old = 0, stored = 0;

	if (!old)
		return CHAIN_WHOLE;
	for (size_t j = 0; j < n; j++)
		if (!l[j].is_store) {
			old[at] = l[j].old;
			new[at++] = l[j].new;
		}
	qsort(old, atomics, sizeof(*old), by_value);
	qsort(new, atomics, sizeof(*new), by_value);
	while (i < atomics)
		if (k < atomics && new[k] < old[i]) {
			k++;
		} else if (k < atomics && new[k] == old[i]) {
			i++;
			k++;
		} else {
			stored += store_of(l, n, old[i]) != NULL;
			i++;
			only_old++;
		}
	free(old);
	if (only_old <= 1)
		return CHAIN_WHOLE;
	return only_old - stored <= 1 && stored ? CHAIN_RESTARTED : CHAIN_BROKEN;
}

/* The barrier behind the store. */
static void offer_barrier(const struct link *l, size_t n, const struct narrow_log *log,
			  const struct narrow_place *p, struct narrow_finding *best)
{
	for (size_t k = 0; k < n; k++) {
		struct narrow_finding f = {
			.how = NARROW_VALUES,
			.thread = l[k].thread,
			.rank = narrow_rank(p, l[k].thread),
			.note = "atomics behind this barrier found what was there before it: it did not hold"};

		if (!l[k].is_store)
			continue;
		f.site = narrow_barrier_after(log, l[k].thread, l[k].epoch, &f.at);
		if (f.site)
			narrow_offer(best, &f);
	}
}

static void offer_chain(const struct link *l, size_t n, const struct narrow_log *log,
			const struct narrow_place *p, struct narrow_finding *best)
{
	for (size_t k = 0; k < n; k++) {
		struct narrow_finding f = {.how = NARROW_INSTRUCTION,
					   .site = l[k].site,
					   .thread = l[k].thread,
					   .at = l[k].at,
					   .rank = narrow_rank(p, l[k].thread),
					   .note = "what it left is not what others found"};
		struct narrow_record r;

		if (l[k].is_store || is_found(l, n, l[k].new) || !narrow_is_better(&f, best) ||
		    l[k].site->words > sizeof(f.got) / 4)
			continue;
		for (bool more = narrow_first(log, f.thread, &r); more && r.at < f.at;
		     more = narrow_next(log, &r))
			;
		memcpy(f.got, r.words, 4u * r.site->words);
		f.has_got = r.site == f.site;
		narrow_offer(best, &f);
	}
}

void narrow_atomics(const struct narrow_log *log, const struct narrow_place *p, struct narrow_finding *best)
{
	struct links l = {0};
	struct narrow_place where = *p;
	bool ok = true;

	for (uint64_t t = 0; where.whole && t < log->nthreads; t++)
		where.whole = !log->control.skip && !narrow_log_is_cut(log, t);
	for (uint64_t t = 0; ok && t < log->nthreads; t++) {
		struct narrow_record r;
		uint64_t epoch = 0;

		for (bool more = narrow_first(log, t, &r); more && ok; more = narrow_next(log, &r)) {
			ok = add_record(&l, &r, &where, epoch);
			epoch += is_block_barrier(&r);
		}
	}
	if (l.n)
		qsort(l.at, l.n, sizeof(*l.at), by_address);
	for (size_t first = 0, n, atomics; ok && first < l.n; first += n) {
		for (n = 1; first + n < l.n && !by_address(&l.at[first], &l.at[first + n]); n++)
			;
		if (!is_chain(l.at + first, n, &atomics))
			continue;
		switch (check_chain(l.at + first, n, atomics)) {
		case CHAIN_WHOLE: break;
		case CHAIN_BROKEN: offer_chain(l.at + first, n, log, p, best); break;
		case CHAIN_RESTARTED: offer_barrier(l.at + first, n, log, p, best); break;
		}
	}
	free(l.at);
}

/* ---- what a load should have found --------------------------------------------------------------- */

/* Whether something between nothing and all of the atomics can give it: as where a barrier did not hold. */
static bool is_part(const struct ptx_inst *i, uint64_t want, uint64_t got, bool is_operand)
{
	switch (i->sub) {
	case PTX_SUB_ADD: return got < want && !ptx_type_is_float((enum ptx_type)i->type);
	case PTX_SUB_OR: return !(got & ~want);
	case PTX_SUB_AND: return !(want & ~got);
	case PTX_SUB_MIN:
	case PTX_SUB_MAX:
	case PTX_SUB_EXCH: return is_operand || got == 0;
	default: return false;
	}
}

enum atomics_say atomics_before(const struct narrow_log *here, const struct narrow_log *interp,
				const struct narrow_place *p, const struct loaded *l, uint64_t epoch,
				struct atomic_entry *last)
{
	uint64_t first = l->space == PTX_SPACE_SHARED ? l->owner * p->threads : 0;
	uint64_t end = l->space == PTX_SPACE_SHARED ? first + p->threads : here->nthreads;
	enum atomics_say say = ATOMICS_NONE;
	bool is_operand = false;

	for (uint64_t t = first; t < end && t < here->nthreads && t < interp->nthreads; t++) {
		struct beside x;

		for (bool more = beside_first(here, interp, t, &x); more && x.epoch <= epoch;
		     more = beside_next(here, interp, &x)) {
			uint64_t address, b;
			uint8_t space;

			if (x.here.site->kind != PTX_SITE_ATOMIC || !narrow_guard_holds(&x.interp) ||
			    !narrow_address(&x.interp, &space, &address) || space != l->space ||
			    address != l->address)
				continue;
			if (!narrow_same_operands(&x.here, &x.interp))
				return ATOMICS_OTHERS;
			is_operand |= narrow_operand_value(&x.here, 1, &b) && b == l->got;
			if (say == ATOMICS_NONE || x.epoch >= last->epoch)
				*last = (struct atomic_entry){x.here.site, t, x.here.at, x.epoch};
			say = ATOMICS_WRONG;
		}
	}
	if (say == ATOMICS_WRONG && last->epoch < epoch &&
	    is_part(narrow_inst(last->site), l->want, l->got, is_operand))
		return ATOMICS_PART;
	return say;
}
