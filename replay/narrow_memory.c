/* SPDX-License-Identifier: Apache-2.0
 *
 * Where all instructions gave what their operands give, the log is read beside the interpreter's. A value that was read, at
 * the same place in a thread's course and at the same address, is another one: then either the thread that stored it had
 * another one to store, and the fault is there; or this was read before it was stored, or after it was overwritten, and a
 * barrier did not hold; or else the load is wrong, or the store, which others that are right tell apart.
 */
#include "replay/narrow_memory.h"

#include <stdlib.h>
#include <string.h>

#define LOADS_COUNTED 200000

struct memory {
	const struct narrow_log *here, *interp;
	const struct narrow_place *p;
	struct stores stores;
};

/* ---- a load's value ----------------------------------------------------------------------------- */

/* The first component that is another; the number of components that are the same before it. */
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

static bool find_loaded(const struct memory *m, const struct beside *x, struct loaded *l)
{
	const struct ptx_inst *i = narrow_inst(x->here.site);
	const struct ptx_site_register *r;
	unsigned component, bytes = ptx_type_bits((enum ptx_type)i->type) / 8;

	if (x->here.site->kind != PTX_SITE_LOAD || !bytes || bytes > 8 ||
	    !narrow_address(&x->here, &l->space, &l->address) || l->space == PTX_SPACE_PARAM)
		return false;
	r = other_result(x, &component);
	for (unsigned k = 0; !r && k < x->here.site->nregisters; k++)
		if (x->here.site->registers[k].is_result) {
			r = &x->here.site->registers[k];
			component = 0;
			break;
		}
	if (!r)
		return false;
	l->bytes = (uint8_t)bytes;
	l->owner = memory_owner(l->space, x->here.thread, m->p->threads);
	l->address += (uint64_t)component * bytes;
	l->want = narrow_register(&x->interp, r);
	l->got = narrow_register(&x->here, r);
	if (bytes < 8) {
		l->want &= (1ull << 8 * bytes) - 1;
		l->got &= (1ull << 8 * bytes) - 1;
	}
	return true;
}

/* The store that the interpreter read: of that value, the latest one that was before. NULL: nobody's. */
static const struct store_entry *writer_of(const struct memory *m, const struct beside *x,
					   const struct loaded *l)
{
	const struct store_entry *best = NULL;
	size_t first, n = stores_at(&m->stores, l->space, l->owner, l->address, &first);

	for (size_t k = first; k < first + n; k++) {
		const struct store_entry *e = &m->stores.at[k];
		bool own = e->thread == x->interp.thread;

		if (e->bytes != l->bytes || e->value != l->want || e->epoch > x->epoch ||
		    (own && e->at > x->interp.at))
			continue;
		/* Whose value the load got explains more. */
		if (!best || (best->here != l->got && (e->here == l->got || e->epoch >= best->epoch)))
			best = e;
	}
	return best;
}

static bool is_written(const struct memory *m, const struct loaded *l)
{
	size_t first;

	for (uint64_t a = l->address < 7 ? 0 : l->address - 7; a < l->address + l->bytes; a++)
		if (stores_at(&m->stores, l->space, l->owner, a, &first))
			return true;
	return false;
}

/* ---- a barrier ---------------------------------------------------------------------------------- */

/* What was read is stored later, or is what was there before. */
static bool is_early(const struct memory *m, const struct beside *x, const struct loaded *l)
{
	size_t first, n = stores_at(&m->stores, l->space, l->owner, l->address, &first);

	for (size_t k = first; k < first + n; k++)
		if (m->stores.at[k].epoch > x->epoch && m->stores.at[k].here == l->got)
			return true;
	return false;
}

static bool is_stale(const struct memory *m, const struct loaded *l, const struct store_entry *writer)
{
	size_t first, n = stores_at(&m->stores, l->space, l->owner, l->address, &first);
	bool any = false;

	for (size_t k = first; k < first + n; k++) {
		const struct store_entry *e = &m->stores.at[k];

		if (e == writer || e->epoch > writer->epoch)
			continue;
		any = true;
		if (e->here == l->got)
			return true;
	}
	return !any && l->got == 0; /* never written */
}

static bool blame_barrier(const struct memory *m, const struct beside *x, const struct loaded *l,
			  const struct store_entry *writer, struct narrow_finding *f)
{
	uint64_t thread = x->here.thread, after = x->epoch;

	if (is_early(m, x, l)) {
		f->note = "what was read before this barrier is stored behind it only: it did not hold";
	} else if (writer && writer->epoch < x->epoch && is_stale(m, l, writer)) {
		f->note = "what was stored before this barrier was not read behind it: it did not hold";
		thread = writer->thread;
		after = writer->epoch;
	} else {
		return false;
	}
	f->site = narrow_barrier_after(m->interp, thread, after, &f->at);
	f->thread = thread;
	f->how = NARROW_VALUES;
	f->result = NULL;
	f->has_got = f->has_want = false;
	return f->site != NULL;
}

/* ---- the store, or the load --------------------------------------------------------------------- */

/* What one store stored is wrong for all who read it, while a load is wrong for one thread, or from wherever it reads. Of
 * sites: a store that others read as it was stored is right, and so is a load that reads others' as they were. */
struct evidence {
	const struct beside *x;
	const struct store_entry *store;
	unsigned right_same, wrong_same;     /* other loads of this store's value */
	unsigned right_elsewhere;            /* this load site, of other values */
	unsigned wrong_loads, right_loads;   /* other load sites, of this store site */
	unsigned wrong_stores, right_stores; /* this load site, of other store sites */
};

static void count_load(const struct memory *m, const struct beside *x, struct evidence *v)
{
	const struct store_entry *writer;
	const struct ptx_site *load = v->x->here.site;
	struct loaded l;
	bool right;

	if (!narrow_same_operands(&x->here, &x->interp) || !narrow_guard_holds(&x->here) ||
	    !find_loaded(m, x, &l))
		return;
	writer = writer_of(m, x, &l);
	if (writer && writer->here != writer->value)
		return;
	right = l.want == l.got;
	if (writer == v->store && (x->here.thread != v->x->here.thread || x->here.at != v->x->here.at)) {
		v->right_same += right;
		v->wrong_same += !right;
	}
	if (writer != v->store && x->here.site == load)
		v->right_elsewhere += right;
	if (writer && writer->site == v->store->site && x->here.site != load) {
		v->wrong_loads += !right;
		v->right_loads += right;
	}
	if (x->here.site == load && (!writer || writer->site != v->store->site)) {
		v->wrong_stores += !right;
		v->right_stores += right;
	}
}

static bool is_stores_fault(const struct memory *m, const struct beside *wrong,
			    const struct store_entry *store)
{
	struct evidence v = {.x = wrong, .store = store};
	uint64_t n = 0;

	for (uint64_t t = 0; t < m->here->nthreads && t < m->interp->nthreads && n < LOADS_COUNTED; t++) {
		struct beside x;

		for (bool more = beside_first(m->here, m->interp, t, &x); more && n < LOADS_COUNTED;
		     more = beside_next(m->here, m->interp, &x))
			if (x.here.site->kind == PTX_SITE_LOAD) {
				count_load(m, &x, &v);
				n++;
			}
	}
	if (v.right_same)
		return false;
	if (v.wrong_same && v.right_elsewhere)
		return true;
	if (v.wrong_stores || v.right_loads)
		return false;
	return v.wrong_loads || v.right_stores;
}

static void set_records(struct narrow_finding *f, const struct narrow_record *here,
			const struct narrow_record *interp)
{
	unsigned words = here->site->words;

	f->has_got = f->has_want = words <= sizeof(f->got) / 4;
	if (!f->has_got)
		return;
	memcpy(f->got, here->words, 4 * words);
	memcpy(f->want, interp->words, 4 * words);
}

static void blame_store(const struct memory *m, const struct store_entry *e, struct narrow_finding *f)
{
	struct beside x;
	bool more = beside_first(m->here, m->interp, e->thread, &x);

	while (more && x.interp.at != e->at)
		more = beside_next(m->here, m->interp, &x);
	f->site = e->site;
	f->thread = e->thread;
	f->at = e->at;
	f->result = NULL;
	f->has_got = f->has_want = false;
	f->note = "what it stored is not what was read, by no load";
	if (more)
		set_records(f, &x.here, &x.interp);
}

/* An argument or a result of a call, which this thread itself stored: whether it stored another value. */
static bool was_passed(const struct memory *m, const struct beside *wrong)
{
	struct beside x;
	uint64_t want, got;
	unsigned component;
	const struct ptx_site_register *r = other_result(wrong, &component);
	bool passed = false;

	if (!r || narrow_inst(wrong->here.site)->space != PTX_SPACE_PARAM)
		return false;
	want = narrow_register(&wrong->interp, r);
	got = narrow_register(&wrong->here, r);
	for (bool more = beside_first(m->here, m->interp, wrong->here.thread, &x);
	     more && x.here.at < wrong->here.at; more = beside_next(m->here, m->interp, &x)) {
		uint64_t stored, stored_here;

		if (x.here.site->kind == PTX_SITE_STORE &&
		    narrow_inst(x.here.site)->space == PTX_SPACE_PARAM &&
		    narrow_operand_value(&x.interp, 1, &stored) && stored == want &&
		    narrow_operand_value(&x.here, 1, &stored_here))
			passed = stored_here == got;
	}
	return passed;
}

/* Stores of which no value is known here: tiles of matrices, copies. */
static bool stores_unseen(const struct ptx_site *s)
{
	switch (narrow_inst(s)->op) {
	case PTX_OP_WMMA_STORE:
	case PTX_OP_STMATRIX:
	case PTX_OP_CP_ASYNC:
	case PTX_OP_CP_ASYNC_BULK:
	case PTX_OP_CP_ASYNC_BULK_TENSOR:
	case PTX_OP_ST_ASYNC:
	case PTX_OP_ST_BULK: return true;
	default: return false;
	}
}

/* The last of them in the block, with the operands that it should have. */
static bool blame_unseen(const struct memory *m, const struct beside *wrong, struct narrow_finding *f)
{
	uint64_t first = wrong->here.thread / m->p->threads * m->p->threads, epoch = 0;
	bool found = false;

	for (uint64_t t = first; t < first + m->p->threads && t < m->interp->nthreads; t++) {
		struct beside x;

		for (bool more = beside_first(m->here, m->interp, t, &x); more && x.epoch <= wrong->epoch;
		     more = beside_next(m->here, m->interp, &x)) {
			if (!stores_unseen(x.here.site) ||
			    (t == wrong->here.thread && x.here.at > wrong->here.at) ||
			    (found && x.epoch < epoch))
				continue;
			found = true;
			epoch = x.epoch;
			f->site = x.here.site;
			f->thread = t;
			f->at = x.here.at;
		}
	}
	if (!found)
		return false;
	f->how = NARROW_VALUES;
	f->result = NULL;
	f->has_got = f->has_want = false;
	f->note = "what was read where it stores is wrong";
	return true;
}

static bool has_result(const struct narrow_record *r, uint64_t value)
{
	for (unsigned k = 0; k < r->site->nregisters; k++)
		if (r->site->registers[k].is_result && narrow_register(r, &r->site->registers[k]) == value)
			return true;
	return false;
}

/* A vector with the right elements in another order: whoever stored them, it is the load that mixes them. */
static bool is_mixed(const struct beside *x)
{
	const struct ptx_site *s = x->here.site;

	if (narrow_inst(s)->ndst < 2)
		return false;
	for (unsigned k = 0; k < s->nregisters; k++)
		if (s->registers[k].is_result &&
		    (!has_result(&x->interp, narrow_register(&x->here, &s->registers[k])) ||
		     !has_result(&x->here, narrow_register(&x->interp, &s->registers[k]))))
			return false;
	return true;
}

static void blame_atomic(const struct atomic_entry *a, struct narrow_finding *f)
{
	f->site = a->site;
	f->thread = a->thread;
	f->at = a->at;
	f->result = NULL;
	f->has_got = f->has_want = false;
	f->note = "what atomics of this address left is not what was read";
}

/* True: it was about atomics; *isnt_here: they had other operands. */
static bool examine_atomics(const struct memory *m, const struct beside *x, const struct loaded *l,
			    struct narrow_finding *f, bool *isnt_here)
{
	struct atomic_entry a;
	enum atomics_say say = atomics_before(m->here, m->interp, m->p, l, x->epoch, &a);
	const struct ptx_site *barrier;
	uint64_t at;

	*isnt_here = say == ATOMICS_OTHERS;
	if (say == ATOMICS_NONE)
		return false;
	if (say == ATOMICS_OTHERS)
		return true;
	blame_atomic(&a, f);
	if (l->space != PTX_SPACE_SHARED)
		f->how = NARROW_VALUES; /* other blocks' aren't known */
	barrier = say == ATOMICS_PART ? narrow_barrier_after(m->interp, a.thread, a.epoch, &at) : NULL;
	if (barrier) {
		f->site = barrier;
		f->at = at;
		f->how = NARROW_VALUES;
		f->note = "not all atomics before this barrier were seen behind it: it did not hold";
	}
	return true;
}

static bool is_read_back(const struct ptx_site *store)
{
	return store->nregisters && store->registers[store->nregisters - 1].is_result;
}

/* False: the thread that stored it had another value: the fault isn't here. */
static bool examine_load(const struct memory *m, const struct beside *x, const struct narrow_finding *best,
			 struct narrow_finding *f)
{
	const struct store_entry *writer;
	unsigned component;
	struct loaded l;
	bool isnt_here;

	*f = (struct narrow_finding){.how = NARROW_INSTRUCTION,
				     .site = x->here.site,
				     .thread = x->here.thread,
				     .at = x->here.at,
				     .rank = narrow_rank(m->p, x->here.thread),
				     .result = other_result(x, &component)};
	set_records(f, &x->here, &x->interp);
	if (!find_loaded(m, x, &l)) {
		if (x->here.site->collective) /* of addresses of other lanes, too */
			f->how = NARROW_VALUES;
		return !was_passed(m, x);
	}
	writer = writer_of(m, x, &l);
	if (writer && writer->here != writer->value)
		return false;
	if (!narrow_is_better(f, best))
		return true;
	if (examine_atomics(m, x, &l, f, &isnt_here))
		return !isnt_here;
	if (l.space == PTX_SPACE_SHARED && blame_barrier(m, x, &l, writer, f))
		return true;
	if (!writer && is_mixed(x))
		return true;
	if (l.space == PTX_SPACE_SHARED && !writer && blame_unseen(m, x, f))
		return true;
	/* Another block's, perhaps, or of parts that several stores wrote. */
	if (!writer && (l.space == PTX_SPACE_GLOBAL || is_written(m, &l)))
		f->how = NARROW_VALUES;
	if (writer && !is_read_back(writer->site) && is_stores_fault(m, x, writer))
		blame_store(m, writer, f);
	return true;
}

/* ---- a thread's course --------------------------------------------------------------------------- */

/* The branch before went another way, with the same operands. */
static void examine_course(const struct memory *m, const struct beside *last, struct narrow_finding *best)
{
	struct narrow_finding f = {.how = NARROW_INSTRUCTION,
				   .site = last->here.site,
				   .thread = last->here.thread,
				   .at = last->here.at,
				   .rank = narrow_rank(m->p, last->here.thread),
				   .note = "control went elsewhere from here, with the same operands"};

	set_records(&f, &last->here, &last->interp);
	if (last->here.site->kind == PTX_SITE_BRANCH && narrow_same_operands(&last->here, &last->interp))
		narrow_offer(best, &f);
}

/* The first value that memory or the thread's place gave, and that is another for no reason of another thread's. */
static void examine_thread(const struct memory *m, uint64_t thread, struct narrow_finding *best,
			   struct narrow_finding *first)
{
	struct beside x, last;
	bool more = beside_first(m->here, m->interp, thread, &x), found = false;

	if (!more)
		return;
	for (; more; last = x, more = beside_next(m->here, m->interp, &x)) {
		struct narrow_finding f = {.how = NARROW_VALUES,
					   .site = x.here.site,
					   .thread = thread,
					   .at = x.here.at,
					   .rank = narrow_rank(m->p, thread)};
		unsigned component;
		bool reads = x.here.site->kind == PTX_SITE_LOAD || x.here.site->kind == PTX_SITE_PLACE;

		if (found || narrow_same_results(&x.here, &x.interp))
			continue;
		f.result = other_result(&x, &component);
		set_records(&f, &x.here, &x.interp);
		if (x.here.site->kind != PTX_SITE_ATOMIC) /* which come in any order */
			narrow_offer(first, &f);
		if (reads && narrow_same_operands(&x.here, &x.interp) && narrow_guard_holds(&x.here) &&
		    examine_load(m, &x, best, &f)) {
			narrow_offer(best, &f);
			found = true;
		}
	}
	if (x.here.site != x.interp.site)
		examine_course(m, &last, best);
}

void narrow_memory(const struct narrow_log *here, const struct narrow_log *interp,
		   const struct narrow_place *p, struct narrow_finding *best)
{
	struct memory m = {.here = here, .interp = interp, .p = p};
	struct narrow_finding first = {0};

	if (!stores_find(&m.stores, here, interp, p->threads))
		return;
	for (uint64_t t = 0; t < here->nthreads && t < interp->nthreads; t++)
		examine_thread(&m, t, best, &first);
	if (best->how == NARROW_NOTHING)
		*best = first;
	free(m.stores.at);
}
