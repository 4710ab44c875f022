/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers, by the target's log alone. What a load of shared memory finds was stored last before a barrier, or since then.
 * Where loads find what was overwritten before that, or what is stored behind a later barrier only, and all that is wrong is of this
 * kind, a barrier did not hold. That is so whatever came of it: threads need not do what they do on the interpreter.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/narrow_memory.h"

/* An element of a load or a store. */
struct access {
	uint64_t owner, address, value, epoch, thread, at;
	const struct ptx_site *site;
	uint8_t bytes;
	bool is_store;
};

struct accesses {
	struct access *at;
	size_t n, capacity;
	uint64_t end;     /* epochs from here on aren't known of all threads */
	bool is_complete; /* nothing touched shared memory in ways that aren't known here */
};

/* ---- what was accessed ------------------------------------------------------------------------ */

static bool add(struct accesses *a, const struct access *x)
{
	if (a->n == a->capacity) {
		size_t more = a->n ? 2 * a->n : 1024;
		struct access *grown = realloc(a->at, more * sizeof(*grown));

		if (!grown)
			return false;
		a->at = grown;
		a->capacity = more;
	}
	a->at[a->n++] = *x;
	return true;
}

static bool result_value(const struct narrow_record *r, unsigned element, uint64_t *value)
{
	for (unsigned k = 0; k < r->site->nregisters; k++)
		if (r->site->registers[k].is_result && !element--) {
			*value = narrow_register(r, &r->site->registers[k]);
			return true;
		}
	return false;
}

static bool add_record(struct accesses *a, const struct narrow_record *r, uint64_t threads, uint64_t epoch)
{
	const struct ptx_inst *i = narrow_inst(r->site);
	struct access x = {.owner = r->thread / threads,
			   .epoch = epoch,
			   .thread = r->thread,
			   .at = r->at,
			   .site = r->site,
			   .is_store = i->op == PTX_OP_ST,
			   .bytes = (uint8_t)(ptx_type_bits((enum ptx_type)i->type) / 8)};
	unsigned elements = x.is_store ? i->nsrc - 1u : i->ndst;
	uint8_t space;

	if (!narrow_guard_holds(r) || !narrow_address(r, &space, &x.address) || space != PTX_SPACE_SHARED)
		return true;
	for (unsigned k = 0; k < elements; k++, x.address += x.bytes) {
		bool known =
			x.is_store ? narrow_operand_value(r, k + 1, &x.value) : result_value(r, k, &x.value);

		if (x.bytes < 8)
			x.value &= (1ull << 8 * x.bytes) - 1;
		if (!known || !x.bytes || x.bytes > 8)
			a->is_complete = false;
		else if (!add(a, &x))
			return false;
	}
	return true;
}

/* Of all threads, with the number 0. */
static bool is_plain_barrier(const struct ptx_inst *i)
{
	return i->sub == PTX_SUB_SYNC && i->nsrc == 1 && i->src[0].kind == PTX_OPND_IMM && !i->src[0].imm;
}

/* Whether this is all that a statement does with shared memory. */
static bool is_known(const struct ptx_site *s)
{
	const struct ptx_inst *i = narrow_inst(s);

	if (i->op == PTX_OP_BAR || i->op == PTX_OP_BARRIER)
		return is_plain_barrier(i);
	if (i->op == PTX_OP_LD || i->op == PTX_OP_ST)
		return i->space != PTX_SPACE_GENERIC;
	return s->kind != PTX_SITE_STORE && s->kind != PTX_SITE_LOAD && s->kind != PTX_SITE_ATOMIC &&
	       s->kind != PTX_SITE_BARRIER;
}

static bool add_thread(struct accesses *a, const struct narrow_log *log, uint64_t thread, uint64_t threads)
{
	struct narrow_record r;
	uint64_t epoch = 0;
	bool ok = true;

	for (bool more = narrow_first(log, thread, &r); more && ok; more = narrow_next(log, &r)) {
		const uint16_t op = narrow_inst(r.site)->op;

		if (!is_known(r.site))
			a->is_complete = false;
		else if (op == PTX_OP_LD || op == PTX_OP_ST)
			ok = add_record(a, &r, threads, epoch);
		epoch += is_block_barrier(&r);
	}
	if (narrow_log_is_cut(log, thread) && epoch < a->end)
		a->end = epoch;
	return ok;
}

static int by_place(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

/* ---- one address ----------------------------------------------------------------------------------- */

/* What was found wrong, and the barrier for it that comes first. */
struct findings {
	uint64_t wrong, explained;
	bool is_early;
	struct access load, store;
};

/* The last epoch before the load's in which something was stored; UINT64_MAX: none. */
static uint64_t epoch_before(const struct access *a, size_t n, const struct access *load)
{
	uint64_t last = UINT64_MAX;

	for (size_t k = 0; k < n && a[k].epoch < load->epoch; k++)
		if (a[k].is_store)
			last = a[k].epoch;
	return last;
}

/* Whether the load may find what it found; else who stored that, too early or too late. NULL: nobody. */
static bool may_find(const struct access *a, size_t n, const struct access *load, const struct access **store)
{
	const uint64_t before = epoch_before(a, n, load);
	const struct access *missed = NULL;

	*store = NULL;
	for (size_t k = 0; k < n; k++) {
		if (!a[k].is_store)
			continue;
		if (a[k].epoch == before)
			missed = &a[k];
		if (a[k].value != load->value)
			continue;
		if (a[k].epoch == before || a[k].epoch == load->epoch)
			return true;
		*store = a[k].epoch > load->epoch ? &a[k] : *store ? *store : &a[k];
	}
	if (!missed) /* what was there before anything was stored isn't known */
		return !*store || (*store)->epoch <= load->epoch;
	/* Behind a barrier that did not hold, what was there before; memory begins with zeros on our devices. */
	if ((*store && (*store)->epoch < load->epoch) || (!*store && !load->value))
		*store = missed;
	return false;
}

static void judge_place(const struct access *a, size_t n, uint64_t end, struct findings *v)
{
	for (size_t k = 0; k < n; k++) {
		const struct access *store;

		if (a[k].bytes != a[0].bytes)
			return;
		if (a[k].is_store || a[k].epoch >= end || may_find(a, n, &a[k], &store))
			continue;
		v->wrong++;
		if (!store)
			continue;
		if (!v->explained++ || a[k].epoch < v->load.epoch) {
			v->load = a[k];
			v->store = *store;
			v->is_early = store->epoch > a[k].epoch;
		}
	}
}

static void judge_places(const struct accesses *a, struct findings *v)
{
	for (size_t first = 0, n; first < a->n; first += n) {
		const struct access *x = &a->at[first], *next;

		for (n = 1; first + n < a->n && a->at[first + n].owner == x->owner &&
			    a->at[first + n].address == x->address;
		     n++)
			;
		next = first + n < a->n ? x + n : NULL;
		if (next && next->owner == x->owner && next->address < x->address + x->bytes)
			return; /* parts of one another */
		judge_place(x, n, a->end, v);
	}
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static bool offer(const struct narrow_log *log, const struct narrow_place *p, const struct findings *v,
		  struct narrow_finding *best)
{
	const struct access *from = v->is_early ? &v->load : &v->store;
	struct narrow_finding f = {
		.how = NARROW_VALUES,
		.thread = from->thread,
		.rank = narrow_rank(p, from->thread),
		.note = v->is_early
				? "what was read before this barrier is stored behind it only: it did not hold"
				: "what was stored before this barrier was not read behind it: it did not hold"};

	f.site = narrow_barrier_after(log, from->thread, from->epoch, &f.at);
	if (f.site)
		narrow_offer(best, &f);
	return f.site != NULL;
}

bool narrow_barriers(const struct narrow_log *log, const struct narrow_place *p, struct narrow_finding *best)
{
	struct accesses a = {.end = UINT64_MAX, .is_complete = !log->control.skip};
	struct findings v = {0};
	bool ok = true, found = false;

	for (uint64_t t = 0; ok && a.is_complete && t < log->nthreads; t++)
		ok = add_thread(&a, log, t, p->threads);
	if (ok && a.is_complete && a.n) {
		qsort(a.at, a.n, sizeof(*a.at), by_place);
		judge_places(&a, &v);
		/* A load or store that is wrong finds other things, too. */
		if (v.explained && v.explained >= v.wrong - v.wrong / 10)
			found = offer(log, p, &v, best);
	}
	free(a.at);
	return found;
}
