/* SPDX-License-Identifier: Apache-2.0
 *
 * The question of convergence.h, asked of one function at a time. For a branch that lanes of a wave take differently:
 * those that go to where the others wait behind it (its post-dominator) must not meet, there or later, an operation
 * that the former wait at. Behind a barrier of the whole block all are together again.
 */
#include "ptx/lower/convergence.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/analysis.h"
#include "ptx/lower/call_graph.h"
#include "ptx/lower/loops.h"
#include "ptx/lower/spin.h"
#include "ptx/lower/together.h"

bool waits_for_warp(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_BAR_WARP_SYNC:
	case PTX_OP_REDUX:
	case PTX_OP_ELECT: return true;
	case PTX_OP_SHFL:
	case PTX_OP_VOTE:
	case PTX_OP_MATCH: return i->flags & PTX_F_SYNC;
	default: return false;
	}
}

bool waits_for_block(const struct ptx_inst *i)
{
	return i->op == PTX_OP_BAR || i->op == PTX_OP_BARRIER || i->op == PTX_OP_BARRIER_CLUSTER_ARRIVE ||
	       i->op == PTX_OP_BARRIER_CLUSTER_WAIT;
}

bool is_counted_barrier(const struct ptx_inst *i)
{
	return i->nsrc > (i->sub == PTX_SUB_RED ? 2 : 1);
}

bool reads_others(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_ATOM:
	case PTX_OP_MBARRIER_TEST_WAIT:
	case PTX_OP_MBARRIER_TRY_WAIT: return true;
	case PTX_OP_LD:
		return i->sem > PTX_WEAK && i->space != PTX_SPACE_LOCAL && i->space != PTX_SPACE_PARAM &&
		       i->space != PTX_SPACE_CONST;
	default: return false;
	}
}

bool orders_memory(const struct ptx_inst *i)
{
	return i->op == PTX_OP_MEMBAR || i->op == PTX_OP_FENCE || i->op == PTX_OP_NANOSLEEP ||
	       i->op == PTX_OP_BAR_WARP_SYNC;
}

bool same_operation(const struct ptx_inst *a, const struct ptx_inst *b)
{
	const uint32_t matter = PTX_F_NAN | PTX_F_ABS;

	return a->op == b->op && a->sub == b->sub && a->type == b->type &&
	       (a->flags & matter) == (b->flags & matter);
}

/* What a search looks for. */
struct goal {
	enum { OPERATION, WAITING, SPIN, EFFECT, OTHER_EFFECT } kind;
	const struct ptx_inst *like; /* OPERATION */
};

enum event { NOTHING, FOUND, ALL_WAIT }; /* what comes first in a block */

struct flow {
	struct lower *l;
	const struct ptx_func *f;
	struct ptx_uniformity u;
	uint8_t *spins;         /* by instruction: spin.h */
	uint32_t *loop;         /* by block: its loop */
	uint8_t *event, *other; /* by block: enum event */
	bool *leads;            /* by block: a way leads from it to fl->other, wherever it meets the others */
	uint32_t *stack, *seen; /* of a search; seen: by block, its number */
	uint32_t search;
};

static bool full_mask(const struct ptx_inst *i)
{
	const struct ptx_operand *m = &i->src[i->nsrc - 1];

	return waits_for_warp(i) && m->kind == PTX_OPND_IMM && (uint32_t)m->imm == UINT32_MAX;
}

/* No lane passes while others of its warp, or with waves of two warps of its wave, are elsewhere. */
static bool all_wait(const struct flow *fl, const struct ptx_inst *i, const struct goal *g)
{
	if (i->guarded)
		return false;
	if (i->op == PTX_OP_BAR || i->op == PTX_OP_BARRIER)
		return i->sub != PTX_SUB_ARRIVE && !is_counted_barrier(i);
	return (fl->l->target->wave == 32 || g->kind == OPERATION) && full_mask(i);
}

static bool has_effect(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_BRA:
	case PTX_OP_BRX_IDX:
	case PTX_OP_MEMBAR:
	case PTX_OP_FENCE:
	case PTX_OP_NANOSLEEP:
	case PTX_OP_PREFETCH:
	case PTX_OP_PREFETCHU:
	case PTX_OP_PMEVENT:
	case PTX_OP_BAR_WARP_SYNC:
	case PTX_OP_RET:
	case PTX_OP_EXIT: return false;
	case PTX_OP_ATOM:
	case PTX_OP_CALL: return true;
	case PTX_OP_BAR:
	case PTX_OP_BARRIER: return i->sub == PTX_SUB_ARRIVE || is_counted_barrier(i);
	default: return !i->ndst || (i->op >= PTX_OP_MBARRIER_INIT && i->op <= PTX_OP_MBARRIER_ARRIVE_DROP);
	}
}

static bool calls_waiting(const struct flow *fl, const struct ptx_inst *i)
{
	const struct lower *l = fl->l;

	for (uint32_t k = 0; i->op == PTX_OP_CALL && k < l->norder; k++)
		if (l->facts[l->order[k]].waits && call_may_reach(l, fl->f, i, l->order[k]))
			return true;
	return false;
}

/* Behind the return of a function anything may come. */
static bool is_goal(const struct flow *fl, uint32_t n, const struct goal *g)
{
	const struct ptx_inst *i = &fl->f->insts[n];

	if (i->op == PTX_OP_RET && !fl->f->is_entry)
		return true;
	if (calls_waiting(fl, i))
		return true;
	switch (g->kind) {
	case OPERATION: return waits_for_warp(i) && same_operation(i, g->like);
	case WAITING: return waits_for_block(i) || waits_for_warp(i);
	case SPIN: return fl->spins[n];
	case OTHER_EFFECT: return has_effect(i) && !fl->spins[n];
	default: return has_effect(i);
	}
}

static enum event first_event(const struct flow *fl, uint32_t from, uint32_t end, const struct goal *g)
{
	for (uint32_t n = from; n < end; n++) {
		if (is_goal(fl, n, g))
			return FOUND;
		if (all_wait(fl, &fl->f->insts[n], g))
			return ALL_WAIT;
	}
	return NOTHING;
}

static void find_events(struct flow *fl, const struct goal *g, uint8_t *event)
{
	for (uint32_t b = 0; b < fl->f->nblocks; b++) {
		const struct ptx_block *k = &fl->f->blocks[b];
		event[b] = (uint8_t)first_event(fl, k->first, k->first + k->ninsts, g);
	}
}

/* Whether a way leads from the start of block b to an event of the kind, before `stop` and before all wait. */
static bool leads_to(struct flow *fl, const uint8_t *event, uint32_t b, uint32_t stop)
{
	uint32_t n = 0;

	if (b == stop)
		return false;
	fl->search++;
	fl->stack[n++] = b;
	fl->seen[b] = fl->search;
	while (n) {
		b = fl->stack[--n];
		if (event[b] == FOUND)
			return true;
		const struct ptx_block *k = &fl->f->blocks[b];
		for (uint32_t s = 0; event[b] == NOTHING && s < k->nsuccs; s++)
			if (k->succs[s] != stop && fl->seen[k->succs[s]] != fl->search) {
				fl->seen[k->succs[s]] = fl->search;
				fl->stack[n++] = k->succs[s];
			}
	}
	return false;
}

/* leads_to of all blocks at once, without a stop: backwards from where the events are. */
static void find_leads(struct flow *fl)
{
	const struct ptx_func *f = fl->f;
	uint32_t n = 0;

	for (uint32_t b = 0; b < f->nblocks; b++) {
		fl->leads[b] = fl->other[b] == FOUND;
		if (fl->leads[b])
			fl->stack[n++] = b;
	}
	while (n) {
		const struct ptx_block *k = &f->blocks[fl->stack[--n]];
		for (uint32_t p = 0; p < k->npreds; p++)
			if (!fl->leads[k->preds[p]] && fl->other[k->preds[p]] == NOTHING) {
				fl->leads[k->preds[p]] = true;
				fl->stack[n++] = k->preds[p];
			}
	}
}

static bool listed_before(const struct ptx_block *b, uint32_t s)
{
	for (uint32_t k = 0; k < s; k++)
		if (b->succs[k] == b->succs[s])
			return true;
	return false;
}

/* Some lanes go from block d to fl->event on one way, others may meet fl->other meanwhile. */
static bool branch_parts(struct flow *fl, uint32_t d)
{
	const struct ptx_block *b = &fl->f->blocks[d];
	unsigned towards = 0, elsewhere = 0;

	for (uint32_t s = 0; s < b->nsuccs; s++) {
		if (listed_before(b, s))
			continue;
		if (leads_to(fl, fl->event, b->succs[s], b->ipdom))
			towards++;
		else if (fl->leads[b->succs[s]])
			elsewhere++;
	}
	return towards > 1 || (towards && elsewhere);
}

/* A guard skips the instruction n of block b for some lanes, which go on behind it. */
static bool guard_parts(struct flow *fl, uint32_t b, uint32_t n, const struct goal *g)
{
	const struct ptx_block *k = &fl->f->blocks[b];
	enum event e = first_event(fl, n + 1, k->first + k->ninsts, g);

	for (uint32_t s = 0; e == NOTHING && s < k->nsuccs; s++)
		if (fl->leads[k->succs[s]])
			e = FOUND;
	return e == FOUND;
}

/* Lanes that return early from a function, which the others go on in, may go anywhere. */
static bool guarded_parts(struct flow *fl, uint32_t b, enum ptx_level limit, const struct goal *g,
			  const struct goal *other)
{
	const struct ptx_func *f = fl->f;

	for (uint32_t n = f->blocks[b].first; n < f->blocks[b].first + f->blocks[b].ninsts; n++) {
		const struct ptx_inst *i = &f->insts[n];
		if (!i->guarded || fl->u.values[i->guard].level <= limit || i->op == PTX_OP_BRA ||
		    i->op == PTX_OP_BRX_IDX || i->op == PTX_OP_EXIT)
			continue;
		if ((i->op == PTX_OP_RET && f->is_entry) || g->kind == SPIN)
			continue;
		if (is_goal(fl, n, g) && guard_parts(fl, b, n, other))
			return true;
	}
	return false;
}

static bool parts(struct flow *fl, enum ptx_level limit, const struct goal *g, const struct goal *other)
{
	find_events(fl, g, fl->event);
	find_events(fl, other, fl->other);
	find_leads(fl);
	for (uint32_t b = 0; b < fl->f->nblocks; b++)
		if ((fl->u.divergent[b] > limit && branch_parts(fl, b)) ||
		    guarded_parts(fl, b, limit, g, other))
			return true;
	return false;
}

static bool in_region(struct flow *fl, uint32_t d, uint32_t block)
{
	const struct ptx_block *b = &fl->f->blocks[d];
	bool in = false;

	memset(fl->event, NOTHING, fl->f->nblocks);
	fl->event[block] = FOUND;
	for (uint32_t s = 0; s < b->nsuccs; s++)
		in |= leads_to(fl, fl->event, b->succs[s], b->ipdom);
	return in;
}

/* The branch at the end of block d goes to `block` just for the lanes that voted so. */
static bool branch_is_vote(struct flow *fl, uint32_t d, const struct ptx_inst *vote, uint32_t block)
{
	const struct ptx_block *b = &fl->f->blocks[d];
	const struct ptx_inst *i = &fl->f->insts[b->first + b->ninsts - 1];

	if (vote->op != PTX_OP_VOTE || i->op != PTX_OP_BRA || !i->guarded || b->nsuccs != 2 ||
	    vote->src[0].kind != PTX_OPND_VALUE || vote->src[0].index != i->guard)
		return false;
	memset(fl->event, NOTHING, fl->f->nblocks);
	fl->event[block] = FOUND;
	unsigned side = vote->src[0].negate == i->guard_negate ? 0 : 1;
	return leads_to(fl, fl->event, b->succs[side], b->ipdom) &&
	       !leads_to(fl, fl->event, b->succs[!side], b->ipdom);
}

/* Members that the lanes at this place agreed upon here, or that are just those that came here: none is elsewhere. */
static bool mask_is_of_here(struct flow *fl, const struct ptx_inst *i, uint32_t block,
			    const uint32_t *block_of)
{
	const struct ptx_operand *m = &i->src[i->nsrc - 1];
	uint32_t def = m->kind == PTX_OPND_VALUE ? fl->f->values[m->index].def : PTX_NONE;

	if (def == PTX_NONE)
		return false;
	const struct ptx_inst *from = &fl->f->insts[def];
	if (from->guarded || (from->op != PTX_OP_ACTIVEMASK && from->op != PTX_OP_MATCH &&
			      !(from->op == PTX_OP_VOTE && from->sub == PTX_SUB_BALLOT)))
		return false;
	for (uint32_t d = 0; d < fl->f->nblocks; d++)
		if (fl->u.divergent[d] > PTX_LEVEL_WARP &&
		    in_region(fl, d, block) != in_region(fl, d, block_of[def]) &&
		    !branch_is_vote(fl, d, from, block))
			return false;
	return true;
}

/* At n lanes may be apart whom the operation's mask may name. */
static bool operation_exposed(struct flow *fl, uint32_t n, const uint32_t *block_of)
{
	const struct ptx_inst *i = &fl->f->insts[n];
	bool guarded = i->guarded && fl->u.values[i->guard].level > PTX_LEVEL_WARP;

	if (fl->f->is_entry && !guarded && fl->u.control[block_of[n]] <= PTX_LEVEL_WARP)
		return false;
	return !mask_is_of_here(fl, i, block_of[n], block_of);
}

static bool same_before(const struct ptx_func *f, const uint8_t *exposed, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (exposed[k] && same_operation(&f->insts[k], &f->insts[n]))
			return true;
	return false;
}

/* One search for each kind of operation. */
static bool warp_operations_part(struct flow *fl)
{
	const struct ptx_func *f = fl->f;
	uint8_t *exposed = calloc((size_t)f->ninsts + 1, 1);
	struct ptx_uses uses = {0};
	bool apart = false;

	if (!exposed || ptx_uses_find(f, &uses))
		lower_no_memory(fl->l);
	for (uint32_t n = 0; n < f->ninsts && !apart && uses.block_of; n++) {
		struct goal g = {OPERATION, &f->insts[n]};
		if (!waits_for_warp(g.like) || same_before(f, exposed, n))
			continue;
		exposed[n] = operation_exposed(fl, n, uses.block_of);
		apart = exposed[n] && parts(fl, PTX_LEVEL_WARP, &g, &g);
	}
	ptx_uses_free(&uses);
	free(exposed);
	return apart;
}

/* A wave must be at a barrier with all of its lanes. With waves of 32, PTX itself demands that of an aligned one. */
static bool barrier_parts(const struct flow *fl, const struct ptx_inst *i, uint32_t block)
{
	bool wide = fl->l->target->wave == 64, aligned = i->op == PTX_OP_BAR || i->flags & PTX_F_ALIGNED;
	enum ptx_level level = fl->u.control[block];

	if (i->guarded && fl->u.values[i->guard].level > level)
		level = fl->u.values[i->guard].level;
	if (!wide && aligned)
		return false;
	return !fl->f->is_entry || level > (wide ? PTX_LEVEL_BLOCK : PTX_LEVEL_WARP);
}

static bool barriers_part(struct flow *fl)
{
	const struct ptx_func *f = fl->f;

	for (uint32_t b = 0; b < f->nblocks; b++)
		for (uint32_t n = f->blocks[b].first; n < f->blocks[b].first + f->blocks[b].ninsts; n++)
			if (waits_for_block(&f->insts[n]) && barrier_parts(fl, &f->insts[n], b))
				return true;
	return false;
}

static enum ptx_level wave_level(const struct flow *fl)
{
	return fl->l->target->wave == 64 ? PTX_LEVEL_BLOCK : PTX_LEVEL_WARP;
}

static bool calls_part(struct flow *fl)
{
	struct goal waiting = {WAITING, NULL}, effect = {EFFECT, NULL};
	bool any = false, spins = false;

	for (uint32_t n = 0; n < fl->f->ninsts; n++)
		any |= calls_waiting(fl, &fl->f->insts[n]);
	for (uint32_t k = 0; k < fl->l->norder; k++)
		spins |= fl->l->facts[fl->l->order[k]].spins;
	return any && (parts(fl, wave_level(fl), &waiting, &waiting) ||
		       (spins && parts(fl, wave_level(fl), &waiting, &effect)));
}

static bool loop_spins(const struct flow *fl, uint32_t loop)
{
	for (uint32_t b = 0; loop && b < fl->f->nblocks; b++)
		for (uint32_t n = fl->f->blocks[b].first;
		     n < fl->f->blocks[b].first + fl->f->blocks[b].ninsts; n++)
			if (fl->loop[b] == loop && fl->spins[n])
				return true;
	return false;
}

/* The branch at the end of block d decides whether lanes come to it again, and on the way they do something. */
static bool turn_acts(struct flow *fl, uint32_t d)
{
	const struct ptx_block *b = &fl->f->blocks[d];

	memset(fl->other, NOTHING, fl->f->nblocks);
	fl->other[d] = FOUND;
	for (uint32_t s = 0; s < b->nsuccs; s++)
		if (leads_to(fl, fl->other, b->succs[s], b->ipdom) &&
		    leads_to(fl, fl->event, b->succs[s], b->ipdom))
			return true;
	return false;
}

/* Code generators may move what some lanes do last in a loop behind it, where it waits for the lanes that stay. */
static bool loop_acts(struct flow *fl)
{
	struct goal g = {OTHER_EFFECT, NULL};

	find_events(fl, &g, fl->event);
	for (uint32_t d = 0; d < fl->f->nblocks; d++)
		if (fl->u.divergent[d] > wave_level(fl) && loop_spins(fl, fl->loop[d]) && turn_acts(fl, d))
			return true;
	return false;
}

static bool spins_part(struct flow *fl)
{
	struct goal spin = {SPIN, NULL}, effect = {EFFECT, NULL};

	return parts(fl, wave_level(fl), &spin, &effect) || loop_acts(fl);
}

static bool flow_open(struct flow *fl)
{
	size_t n = (size_t)fl->f->nblocks + 1;

	fl->event = calloc(n, 1);
	fl->other = calloc(n, 1);
	fl->seen = calloc(n, sizeof(*fl->seen));
	fl->leads = calloc(n, sizeof(*fl->leads));
	fl->stack = calloc(n, sizeof(*fl->stack));
	fl->spins = calloc((size_t)fl->f->ninsts + 1, 1);
	fl->loop = calloc(n, sizeof(*fl->loop));
	return fl->event && fl->other && fl->seen && fl->leads && fl->stack && fl->spins && fl->loop &&
	       !ptx_uniformity_find(fl->f, fl->l->m, &fl->u);
}

static void flow_close(struct flow *fl)
{
	free(fl->event);
	free(fl->other);
	free(fl->seen);
	free(fl->leads);
	free(fl->stack);
	free(fl->spins);
	free(fl->loop);
	ptx_uniformity_free(&fl->u);
}

/* A loop with several entries is not one that code generators bring lanes together in. */
static bool entries_part(struct flow *fl)
{
	bool irreducible;

	if (loops_irreducible(fl->f, &irreducible))
		return lower_no_memory(fl->l);
	for (uint32_t b = 0; irreducible && b < fl->f->nblocks; b++)
		if (fl->u.divergent[b] > wave_level(fl))
			return true;
	return false;
}

static bool function_apart(struct lower *l, const struct ptx_func *f)
{
	struct flow fl = {.l = l, .f = f};
	struct function_facts *facts = &l->facts[f->index];
	bool apart = false;

	facts->together = calloc((size_t)f->ninsts + 1, 1);
	if (!flow_open(&fl) || !facts->together || spin_find(f, fl.spins, fl.loop)) {
		lower_no_memory(l);
	} else {
		together_find(f, &fl.u, fl.spins, wave_level(&fl), facts->together);
		apart = entries_part(&fl) || barriers_part(&fl) || warp_operations_part(&fl) ||
			calls_part(&fl) || (facts->spins && spins_part(&fl));
	}
	flow_close(&fl);
	return apart;
}

/* Which reads loops wait for is kept: they must be made again in each turn. */
static bool has_spin(struct lower *l, const struct ptx_func *f)
{
	uint8_t *spins = calloc((size_t)f->ninsts + 1, 1);
	uint32_t *loop = calloc((size_t)f->nblocks + 1, sizeof(*loop));
	bool any = false;

	if (!spins || !loop || spin_find(f, spins, loop))
		lower_no_memory(l);
	for (uint32_t n = 0; spins && n < f->ninsts; n++)
		any |= spins[n];
	l->facts[f->index].anew = spins;
	free(loop);
	return any;
}

static void waits_by_itself(struct lower *l, const struct ptx_func *f)
{
	struct function_facts *facts = &l->facts[f->index];
	bool reads = false, irreducible = false;

	for (uint32_t n = 0; n < f->ninsts; n++) {
		facts->waits |= waits_for_warp(&f->insts[n]) || waits_for_block(&f->insts[n]);
		reads |= reads_others(&f->insts[n]) || f->insts[n].op == PTX_OP_LD ||
			 f->insts[n].op == PTX_OP_LDU;
	}
	if (loops_irreducible(f, &irreducible))
		lower_no_memory(l);
	facts->spins = reads && has_spin(l, f);
	facts->waits |= facts->spins || irreducible;
}

static void find_waiting(struct lower *l)
{
	bool more = true;

	for (uint32_t k = 0; k < l->norder; k++)
		waits_by_itself(l, l->m->funcs[l->order[k]]);
	while (more) {
		more = false;
		for (uint32_t k = 0; k < l->norder; k++) {
			struct flow fl = {.l = l, .f = l->m->funcs[l->order[k]]};
			struct function_facts *facts = &l->facts[l->order[k]];
			for (uint32_t n = 0; n < fl.f->ninsts && !facts->waits; n++)
				more |= facts->waits = calls_waiting(&fl, &fl.f->insts[n]);
		}
	}
}

bool convergence_find(struct lower *l, bool *apart)
{
	*apart = false;
	find_waiting(l);
	for (uint32_t k = 0; k < l->norder && !*apart && !l->refused; k++)
		if (l->facts[l->order[k]].waits)
			*apart = function_apart(l, l->m->funcs[l->order[k]]);
	return !l->refused;
}
