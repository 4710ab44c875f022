/* SPDX-License-Identifier: Apache-2.0
 *
 * A load that reads another value than in the interpreter, where atomic operations wrote. What they returned tells them from
 * a barrier that did not hold: additions that are right return a chain, each one the sum of another's result and its operand.
 * Where it is a chain, the load was too early; where it is several that begin with the same value, what stored that was late.
 */
#include <stdlib.h>

#include "replay/narrow_memory.h"

struct step {
	uint64_t old, add, thread, at;
	const struct ptx_site *site;
};

struct steps {
	struct step *at;
	size_t n, capacity;
	bool adds; /* all are additions that tell what was there */
	uint64_t mask;
};

static bool find_record(const struct narrow_log *l, uint64_t thread, uint64_t at, struct narrow_record *r)
{
	for (bool more = narrow_first(l, thread, r); more && r->at <= at; more = narrow_next(l, r))
		if (r->at == at)
			return true;
	return false;
}

static const struct ptx_site_register *result_of(const struct ptx_site *s)
{
	for (unsigned k = 0; k < s->nregisters; k++)
		if (s->registers[k].is_result)
			return &s->registers[k];
	return NULL;
}

static bool add_step(struct steps *s, const struct narrow_record *r)
{
	const struct ptx_inst *i = narrow_inst(r->site);
	const struct ptx_site_register *result = result_of(r->site);
	unsigned bits = ptx_type_bits((enum ptx_type)i->type);
	struct step x = {.thread = r->thread, .at = r->at, .site = r->site};

	if (s->n == s->capacity) {
		size_t more = s->n ? 2 * s->n : 64;
		struct step *grown = realloc(s->at, more * sizeof(*grown));

		if (!grown)
			return false;
		s->at = grown;
		s->capacity = more;
	}
	s->mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	s->adds &= result && i->sub == PTX_SUB_ADD && !ptx_type_is_float((enum ptx_type)i->type) &&
		   narrow_operand_value(r, 1, &x.add);
	if (result)
		x.old = narrow_register(r, result) & s->mask;
	s->at[s->n++] = x;
	return true;
}

/* The block's, in shared memory; of all blocks that are logged, else. */
static void find_steps(const struct narrow_log *l, uint64_t threads, uint64_t owner, uint8_t space,
		       uint64_t address, struct steps *s)
{
	*s = (struct steps){.adds = true};
	for (uint64_t t = 0; t < l->nthreads; t++) {
		struct narrow_record r;

		if (memory_owner(space, t, threads) != owner)
			continue;
		for (bool more = narrow_first(l, t, &r); more; more = narrow_next(l, &r)) {
			uint64_t there;
			uint8_t its;

			if (r.site->kind == PTX_SITE_ATOMIC && narrow_guard_holds(&r) &&
			    narrow_address(&r, &its, &there) && its == space && there == address &&
			    !add_step(s, &r))
				return;
		}
	}
}

static int by_old(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->old < y->old ? -1 : x->old > y->old;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* What is returned that no other one made: the beginning of a chain; of several, where it was stored anew in between. */
struct beginnings {
	const struct step *first;
	size_t n;
	bool equal; /* all of one value */
};

static struct beginnings find_beginnings(struct steps *s)
{
	struct beginnings b = {.equal = true};
	uint64_t *made = malloc(s->n * sizeof(*made));
	size_t k = 0, i = 0;

	for (size_t n = 0; made && n < s->n; n++)
		made[n] = (s->at[n].old + s->at[n].add) & s->mask;
	if (made) {
		qsort(made, s->n, sizeof(*made), by_value);
		qsort(s->at, s->n, sizeof(*s->at), by_old);
	}
	while (made && k < s->n) {
		while (i < s->n && made[i] < s->at[k].old)
			i++;
		if (i < s->n && made[i] == s->at[k].old) {
			i++;
		} else {
			b.equal &= !b.n || b.first->old == s->at[k].old;
			b.first = &s->at[k];
			b.n++;
		}
		k++;
	}
	free(made);
	return b;
}

/* The last barrier of the block that the thread passed before. */
static bool last_barrier(const struct narrow_log *l, uint64_t thread, uint64_t before,
			 struct narrow_record *out)
{
	struct narrow_record r;
	bool found = false;

	for (bool more = narrow_first(l, thread, &r); more && r.at < before; more = narrow_next(l, &r))
		if (is_block_barrier(&r)) {
			*out = r;
			found = true;
		}
	return found;
}

static void blame(struct narrow_finding *f, const struct ptx_site *site, uint64_t thread, uint64_t at,
		  const char *note)
{
	*f = (struct narrow_finding){.how = NARROW_VALUES,
				     .site = site,
				     .thread = thread,
				     .at = at,
				     .rank = f->rank,
				     .note = note};
}

/* The barrier before the load, or before an addition that began a chain anew. */
static void blame_barrier(const struct narrow_log *here, uint8_t space, const struct beginnings *b,
			  struct narrow_finding *f)
{
	const uint64_t thread = b->n > 1 ? b->first->thread : f->thread, at = b->n > 1 ? b->first->at : f->at;
	struct narrow_record barrier;

	if (space == PTX_SPACE_SHARED && last_barrier(here, thread, at, &barrier))
		blame(f, barrier.site, thread, barrier.at,
		      "the atomic operations on what was read are right, but some were done on the wrong side of "
		      "this barrier: it did not hold");
}

void narrow_atomics(const struct narrow_log *here, const struct narrow_place *p, struct narrow_finding *f)
{
	struct narrow_record r;
	struct steps s;
	uint64_t address;
	uint8_t space;

	if (f->how != NARROW_VALUES || f->note || narrow_inst(f->site)->op != PTX_OP_LD ||
	    !find_record(here, f->thread, f->at, &r) || !narrow_address(&r, &space, &address))
		return;
	find_steps(here, p->threads, memory_owner(space, f->thread, p->threads), space, address, &s);
	if (s.n) {
		const struct beginnings b = find_beginnings(&s);

		if (s.adds && b.equal)
			blame_barrier(here, space, &b, f);
		else
			blame(f, s.at[0].site, s.at[0].thread, s.at[0].at,
			      "what is read behind it from that address is another value than in the interpreter");
	}
	free(s.at);
}
