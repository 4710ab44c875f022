/* SPDX-License-Identifier: Apache-2.0
 *
 * Where all instructions gave what their operands give, the log is read beside the interpreter's. A value that was read, at
 * the same place in a thread's course and at the same address, is another one: then either the thread that stored it had
 * another one to store, and the fault is there; or this was read before it was stored, or after it was overwritten, and a
 * barrier did not hold; or else the load is wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/narrow.h"

/* The same place in both logs. */
struct beside {
	struct narrow_record here, interp;
	uint64_t number; /* of the record in its thread's log */
	uint64_t epoch;  /* barriers before it */
};

static bool beside_first(const struct narrow_log *a, const struct narrow_log *b, uint64_t thread,
			 struct beside *x)
{
	*x = (struct beside){0};
	return narrow_first(a, thread, &x->here) && narrow_first(b, thread, &x->interp) &&
	       x->here.site == x->interp.site;
}

static bool is_block_barrier(const struct narrow_record *r)
{
	uint16_t op = narrow_inst(r->site)->op;

	return (op == PTX_OP_BAR || op == PTX_OP_BARRIER) && narrow_guard_holds(r);
}

/* False: the end of either, or another course. */
static bool beside_next(const struct narrow_log *a, const struct narrow_log *b, struct beside *x)
{
	bool more_here, more_there;

	x->epoch += is_block_barrier(&x->interp);
	x->number++;
	more_here = narrow_next(a, &x->here);
	more_there = narrow_next(b, &x->interp);
	return more_here && more_there && x->here.site == x->interp.site;
}

/* ---- who stored it ------------------------------------------------------------------------- */

struct stored {
	bool found;
	uint64_t thread, number, epoch, at;
	struct narrow_record r;
};

static bool covers(const struct narrow_record *store, uint8_t space, uint64_t address, unsigned bytes)
{
	uint8_t its;
	uint64_t at;

	return store->site->kind == PTX_SITE_STORE && narrow_guard_holds(store) &&
	       narrow_address(store, &its, &at) && its == space && at < address + bytes &&
	       address < at + narrow_access_bytes(store->site);
}

/* The bytes at `address` of what the store stores. */
static bool stored_value(const struct narrow_record *store, uint64_t address, unsigned bytes, uint64_t *value)
{
	const struct ptx_inst *i = narrow_inst(store->site);
	unsigned element = ptx_type_bits((enum ptx_type)i->type) / 8;
	uint64_t at;
	uint8_t space;

	if (!element || !narrow_address(store, &space, &at) || address < at || (address - at) % element ||
	    bytes != element)
		return false;
	for (unsigned k = 1; k < i->nsrc; k++) {
		const struct ptx_operand *o = &i->src[k];

		if (at + (k - 1) * (uint64_t)element != address)
			continue;
		*value = o->imm;
		for (unsigned r = 0; o->kind == PTX_OPND_VALUE && r < store->site->nregisters; r++)
			if (!store->site->registers[r].is_result &&
			    store->site->registers[r].slot == store->site->f->values[o->index].slot)
				*value = narrow_register(store, &store->site->registers[r]);
		if (bytes < 8)
			*value &= (1ull << 8 * bytes) - 1;
		return true;
	}
	return false;
}

/* What is looked for: the store, of this block if memory is the block's, of which the load should have read. */
struct search {
	const struct narrow_log *log;
	uint64_t first, end; /* threads */
	uint8_t space;
	uint64_t address;
	unsigned bytes;
};

static struct stored last_store(const struct search *q, uint64_t thread, uint64_t number, uint64_t epoch)
{
	struct stored best = {0};

	for (uint64_t t = q->first; t < q->end; t++) {
		struct narrow_record r;
		uint64_t n = 0, e = 0;

		for (bool more = narrow_first(q->log, t, &r); more; more = narrow_next(q->log, &r), n++) {
			bool before = t == thread ? n < number : e < epoch;

			if (before && covers(&r, q->space, q->address, q->bytes) &&
			    (!best.found || e >= best.epoch))
				best = (struct stored){true, t, n, e, r.at, r};
			e += is_block_barrier(&r);
		}
	}
	return best;
}

/* A store of that value, whenever it was; *epoch: which one's. */
static bool stores_value(const struct search *q, uint64_t value, uint64_t after, uint64_t *epoch)
{
	for (uint64_t t = q->first; t < q->end; t++) {
		struct narrow_record r;
		uint64_t e = 0, v;

		for (bool more = narrow_first(q->log, t, &r); more; more = narrow_next(q->log, &r)) {
			if (e >= after && covers(&r, q->space, q->address, q->bytes) &&
			    stored_value(&r, q->address, q->bytes, &v) && v == value) {
				*epoch = e;
				return true;
			}
			e += is_block_barrier(&r);
		}
	}
	return false;
}

static bool record_at(const struct narrow_log *l, uint64_t thread, uint64_t number, struct narrow_record *r)
{
	bool more = narrow_first(l, thread, r);

	while (more && number--)
		more = narrow_next(l, r);
	return more;
}

/* The barrier that ends a thread's epoch, counted from 0. */
static const struct ptx_site *barrier_after(const struct narrow_log *l, uint64_t thread, uint64_t epoch,
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

/* ---- a load ------------------------------------------------------------------------------------ */

/* The first component that is another. */
static const struct ptx_site_register *other_result(const struct beside *x, unsigned *component)
{
	const struct ptx_site *s = x->here.site;

	*component = 0;
	for (unsigned k = 0; k < s->nregisters; k++) {
		if (!s->registers[k].is_result)
			continue;
		if (narrow_register(&x->here, &s->registers[k]) !=
		    narrow_register(&x->interp, &s->registers[k]))
			return &s->registers[k];
		++*component;
	}
	return NULL;
}

static void set_records(struct narrow_finding *f, const struct beside *x)
{
	unsigned words = x->here.site->words;

	f->has_got = f->has_want = words <= sizeof(f->got) / 4;
	if (!f->has_got)
		return;
	memcpy(f->got, x->here.words, 4 * words);
	memcpy(f->want, x->interp.words, 4 * words);
}

static bool blame_barrier(const struct narrow_log *here, const struct narrow_log *interp,
			  const struct beside *x, const struct search *q, const struct stored *writer,
			  uint64_t got, struct narrow_finding *f)
{
	struct search there = *q;
	uint64_t epoch, thread = x->here.thread, after = x->epoch;

	there.log = here;
	if (stores_value(&there, got, x->epoch + 1, &epoch)) {
		f->note = "what was read here is stored only behind this barrier, which did not hold";
	} else if (writer->epoch < x->epoch) {
		f->note = "what was stored before this barrier was not read behind it: it did not hold";
		thread = writer->thread;
		after = writer->epoch;
	} else {
		return false;
	}
	f->site = barrier_after(interp, thread, after, &f->at);
	f->thread = thread;
	f->how = NARROW_VALUES;
	f->result = NULL;
	f->has_got = f->has_want = false;
	return f->site != NULL;
}

/* False: the thread that stored it had another value: the fault isn't here. */
static bool examine_load(const struct narrow_log *here, const struct narrow_log *interp,
			 const struct narrow_place *p, const struct beside *x, struct narrow_finding *f)
{
	unsigned component;
	const struct ptx_site_register *r = other_result(x, &component);
	const struct ptx_inst *i = narrow_inst(x->here.site);
	uint64_t block = x->here.thread / p->threads * p->threads;
	struct search q = {
		.log = interp, .end = interp->nthreads, .bytes = ptx_type_bits((enum ptx_type)i->type) / 8};
	struct stored writer;
	struct narrow_record here_too;
	uint64_t there, stored;

	*f = (struct narrow_finding){.how = NARROW_INSTRUCTION,
				     .site = x->here.site,
				     .thread = x->here.thread,
				     .at = x->here.at,
				     .rank = narrow_rank(p, x->here.thread),
				     .result = r};
	set_records(f, x);
	if (x->here.site->kind != PTX_SITE_LOAD || !narrow_address(&x->here, &q.space, &q.address))
		return true;
	if (q.space == PTX_SPACE_PARAM)
		return true;
	q.address += (uint64_t)component * q.bytes;
	if (q.space == PTX_SPACE_SHARED) {
		q.first = block;
		q.end = block + p->threads;
	} else if (q.space == PTX_SPACE_LOCAL) {
		q.first = x->here.thread;
		q.end = q.first + 1;
	}
	writer = last_store(&q, x->here.thread, x->number, x->epoch);
	if (!writer.found) {
		/* Another block's, perhaps. */
		f->how = q.space == PTX_SPACE_GLOBAL ? NARROW_VALUES : NARROW_INSTRUCTION;
		return true;
	}
	if (record_at(here, writer.thread, writer.number, &here_too) && here_too.site == writer.r.site &&
	    stored_value(&here_too, q.address, q.bytes, &there) &&
	    stored_value(&writer.r, q.address, q.bytes, &stored) && there != stored)
		return false;
	if (q.space == PTX_SPACE_SHARED && writer.thread / 32 != x->here.thread / 32)
		blame_barrier(here, interp, x, &q, &writer, narrow_register(&x->here, r), f);
	return true;
}

/* ---- a thread's course --------------------------------------------------------------------------- */

/* The branch before went another way, with the same operands. */
static void examine_course(const struct narrow_place *p, const struct beside *last,
			   struct narrow_finding *best)
{
	struct narrow_finding f = {.how = NARROW_INSTRUCTION,
				   .site = last->here.site,
				   .thread = last->here.thread,
				   .at = last->here.at,
				   .rank = narrow_rank(p, last->here.thread),
				   .note = "control went elsewhere from here, with the same operands"};

	set_records(&f, last);
	if (last->here.site->kind != PTX_SITE_BRANCH || !narrow_same_operands(&last->here, &last->interp))
		return;
	narrow_offer(best, &f);
}

static void examine_thread(const struct narrow_log *here, const struct narrow_log *interp,
			   const struct narrow_place *p, uint64_t thread, struct narrow_finding *best,
			   struct narrow_finding *first)
{
	struct beside x, last;
	bool more = beside_first(here, interp, thread, &x), found = false;

	if (!more)
		return;
	for (; more; last = x, more = beside_next(here, interp, &x)) {
		struct narrow_finding f = {.how = NARROW_VALUES,
					   .site = x.here.site,
					   .thread = thread,
					   .at = x.here.at,
					   .rank = narrow_rank(p, thread)};
		unsigned component;
		bool reads = x.here.site->kind == PTX_SITE_LOAD || x.here.site->kind == PTX_SITE_PLACE;

		if (found || narrow_same_results(&x.here, &x.interp))
			continue;
		f.result = other_result(&x, &component);
		set_records(&f, &x);
		narrow_offer(first, &f);
		if (!reads || !narrow_same_operands(&x.here, &x.interp) || !narrow_guard_holds(&x.here))
			continue;
		if (examine_load(here, interp, p, &x, &f)) {
			narrow_offer(best, &f);
			found = true;
		}
	}
	if (x.here.site != x.interp.site)
		examine_course(p, &last, best);
}

void narrow_memory(const struct narrow_log *here, const struct narrow_log *interp,
		   const struct narrow_place *p, struct narrow_finding *best)
{
	struct narrow_finding first = {0};

	for (uint64_t t = 0; t < here->nthreads && t < interp->nthreads; t++)
		examine_thread(here, interp, p, t, best, &first);
	if (best->how == NARROW_NOTHING)
		*best = first;
}
