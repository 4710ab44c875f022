/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/build_ssa: turns slots into values. Phis go to the iterated dominance
 * frontier of a slot's definitions (Cytron et al., TOPLAS 13(4), 1991), where
 * the slot is live; slots with one definition that dominates all uses, which is
 * nearly all of what compilers emit, need none. */
#include <stdlib.h>
#include <string.h>

#include "ptx/body.h"

/* Pairs (slot, block), then sorted into rows by slot. */
struct rows {
	uint32_t *slots, *blocks;
	uint32_t n, capacity, capacity2;
	uint32_t *first, *sorted;
};

struct ssa {
	struct body *b;
	struct ptx_func *f;
	struct rows defs, uses;               /* blocks that define a slot; that read it before defining it */
	uint32_t *first_child, *next_sibling; /* dominator tree */
	uint32_t *enter, *leave;              /* its preorder intervals */
	uint32_t *first_frontier, *frontier;
	uint32_t *phi_slots, *phi_blocks;
	uint32_t nphis, phis_capacity, phis_capacity2;
	uint64_t nphi_args;
	uint32_t *current; /* value by slot while renaming */
	uint32_t *undo_slots, *undo_values;
	uint32_t nundo, undo_capacity, undo_capacity2;
	uint32_t values_capacity;
	struct ptx_value *values;
	uint32_t nvalues;
};

static bool add_row(struct rows *r, uint32_t slot, uint32_t block)
{
	if (!grow(&r->slots, &r->capacity, r->n, sizeof(uint32_t)) ||
	    !grow(&r->blocks, &r->capacity2, r->n, sizeof(uint32_t)))
		return false;
	r->slots[r->n] = slot;
	r->blocks[r->n++] = block;
	return true;
}

static bool sort_rows(struct rows *r, uint32_t nslots)
{
	r->first = calloc((size_t)nslots + 2, sizeof(uint32_t));
	r->sorted = malloc(((size_t)r->n + 1) * sizeof(uint32_t));
	if (!r->first || !r->sorted)
		return false;
	for (uint32_t i = 0; i < r->n; i++)
		r->first[r->slots[i] + 2]++;
	for (uint32_t s = 0; s < nslots; s++)
		r->first[s + 2] += r->first[s + 1];
	for (uint32_t i = 0; i < r->n; i++)
		r->sorted[r->first[r->slots[i] + 1]++] = r->blocks[i];
	return true;
}

static void free_rows(struct rows *r)
{
	free(r->slots);
	free(r->blocks);
	free(r->first);
	free(r->sorted);
}

/* The registers an instruction reads: sources, the guard, and what a guarded definition keeps. */
static uint32_t reads(const struct ptx_inst *i, uint32_t k)
{
	if (k < i->nsrc)
		return i->src[k].kind == PTX_OPND_VALUE ? i->src[k].index : PTX_NONE;
	k -= i->nsrc;
	if (k == 0)
		return i->guarded ? i->guard : PTX_NONE;
	const struct ptx_operand *d = &i->dst[k - 1];
	return i->guarded && d->kind == PTX_OPND_VALUE ? d->index : PTX_NONE;
}

static bool collect_block(struct ssa *s, uint32_t block, uint32_t *defined_in, uint32_t *used_in)
{
	const struct ptx_block *bb = &s->f->blocks[block];
	for (uint32_t n = bb->first; n < bb->first + bb->ninsts; n++) {
		const struct ptx_inst *i = &s->f->insts[n];
		for (uint32_t k = 0; k < (uint32_t)i->nsrc + 1 + i->ndst; k++) {
			uint32_t slot = reads(i, k);
			if (slot == PTX_NONE || defined_in[slot] == block || used_in[slot] == block)
				continue;
			used_in[slot] = block;
			if (!add_row(&s->uses, slot, block))
				return false;
		}
		for (uint32_t k = 0; k < i->ndst; k++) {
			uint32_t slot = i->dst[k].kind == PTX_OPND_VALUE ? i->dst[k].index : PTX_NONE;
			if (slot == PTX_NONE || defined_in[slot] == block)
				continue;
			defined_in[slot] = block;
			if (!add_row(&s->defs, slot, block))
				return false;
		}
	}
	return true;
}

static bool is_reachable(const struct ptx_func *f, uint32_t block)
{
	return block == 0 || f->blocks[block].idom != PTX_NONE;
}

/* Register parameters of a .func are defined before its first instruction. */
static bool collect_params(struct ssa *s, uint32_t *defined_in)
{
	for (uint32_t k = 0; k < s->f->nparams; k++) {
		uint32_t slot = s->f->params[k].slot;
		if (slot == PTX_NONE || !slot)
			continue;
		defined_in[slot] = 0;
		if (!add_row(&s->defs, slot, 0))
			return false;
	}
	return true;
}

static bool collect(struct ssa *s)
{
	uint32_t nslots = s->b->nslots;
	uint32_t *stamps = malloc((size_t)nslots * 2 * sizeof(*stamps));
	if (!stamps)
		return false;
	memset(stamps, 0xff, (size_t)nslots * 2 * sizeof(*stamps));
	bool ok = collect_params(s, stamps);
	for (uint32_t block = 0; ok && block < s->f->nblocks; block++)
		if (is_reachable(s->f, block))
			ok = collect_block(s, block, stamps, stamps + nslots);
	free(stamps);
	return ok && sort_rows(&s->defs, nslots) && sort_rows(&s->uses, nslots);
}

static bool make_tree(struct ssa *s)
{
	struct ptx_func *f = s->f;
	size_t n = f->nblocks;
	uint32_t *memory = malloc(n * 4 * sizeof(*memory)), *stack = malloc(n * sizeof(*stack));
	if (!memory || !stack) {
		free(memory);
		free(stack);
		return false;
	}
	s->first_child = memory;
	s->next_sibling = memory + n;
	s->enter = memory + 2 * n;
	s->leave = memory + 3 * n;
	memset(memory, 0xff, n * 4 * sizeof(*memory));
	for (uint32_t k = f->nblocks; k-- > 1;) {
		uint32_t parent = f->blocks[k].idom;
		if (parent == PTX_NONE)
			continue;
		s->next_sibling[k] = s->first_child[parent];
		s->first_child[parent] = k;
	}
	uint32_t depth = 0, clock = 0, node = 0;
	for (;;) { /* preorder; leave = the last number given inside */
		s->enter[node] = clock++;
		stack[depth++] = node;
		uint32_t next = s->first_child[node];
		while (next == PTX_NONE && depth) {
			uint32_t done = stack[--depth];
			s->leave[done] = clock - 1;
			next = s->next_sibling[done];
		}
		if (next == PTX_NONE)
			break;
		node = next;
	}
	free(stack);
	return true;
}

static bool dominates(const struct ssa *s, uint32_t a, uint32_t b)
{
	return s->enter[a] <= s->enter[b] && s->enter[b] <= s->leave[a];
}

/* Calls `visit` for each (block, member of its frontier); Cooper, Harvey, Kennedy 2001, figure 5. */
static uint64_t walk_frontiers(const struct ssa *s, uint32_t *counts, uint32_t *out)
{
	const struct ptx_func *f = s->f;
	uint64_t total = 0;
	for (uint32_t k = 0; k < f->nblocks && total <= PTX_MAX_PHIS; k++) {
		const struct ptx_block *b = &f->blocks[k];
		for (uint32_t p = 0; b->npreds > 1 && p < b->npreds; p++)
			for (uint32_t r = b->preds[p]; r != b->idom && r != PTX_NONE; r = f->blocks[r].idom) {
				total++;
				if (out)
					out[counts[r]++] = k;
				else
					counts[r]++;
				if (total > PTX_MAX_PHIS)
					return total;
			}
	}
	return total;
}

static int make_frontiers(struct ssa *s)
{
	uint32_t n = s->f->nblocks;
	uint32_t *counts = calloc((size_t)n + 1, sizeof(*counts));
	s->first_frontier = calloc((size_t)n + 2, sizeof(uint32_t));
	if (!counts || !s->first_frontier) {
		free(counts);
		return CUTRACE_ENOMEM;
	}
	uint64_t total = walk_frontiers(s, counts, NULL);
	if (total > PTX_MAX_PHIS) {
		free(counts);
		return CUTRACE_ENOTSUP;
	}
	s->frontier = malloc((total + 1) * sizeof(uint32_t));
	if (!s->frontier) {
		free(counts);
		return CUTRACE_ENOMEM;
	}
	for (uint32_t k = 0; k < n; k++) {
		s->first_frontier[k + 1] = s->first_frontier[k] + counts[k];
		counts[k] = s->first_frontier[k];
	}
	walk_frontiers(s, counts, s->frontier);
	free(counts);
	return 0;
}

/* One slot's problem: where is it live, where do its definitions meet. Stamps are slot numbers, so that
 * nothing has to be cleared between slots. */
struct meeting {
	uint32_t *live, *defined, *has_phi, *queued, *stack;
};

static void find_live(const struct ssa *s, uint32_t slot, struct meeting *m)
{
	uint32_t depth = 0;
	for (uint32_t u = s->uses.first[slot]; u < s->uses.first[slot + 1]; u++) {
		m->live[s->uses.sorted[u]] = slot;
		m->stack[depth++] = s->uses.sorted[u];
	}
	while (depth) {
		const struct ptx_block *b = &s->f->blocks[m->stack[--depth]];
		for (uint32_t p = 0; p < b->npreds; p++) {
			uint32_t pred = b->preds[p];
			if (m->defined[pred] == slot || m->live[pred] == slot)
				continue;
			m->live[pred] = slot;
			m->stack[depth++] = pred;
		}
	}
}

static int add_phi(struct ssa *s, uint32_t slot, uint32_t block)
{
	s->nphi_args += s->f->blocks[block].npreds;
	if (s->nphi_args > PTX_MAX_PHIS)
		return CUTRACE_ENOTSUP;
	if (!grow(&s->phi_slots, &s->phis_capacity, s->nphis, sizeof(uint32_t)) ||
	    !grow(&s->phi_blocks, &s->phis_capacity2, s->nphis, sizeof(uint32_t)))
		return CUTRACE_ENOMEM;
	s->phi_slots[s->nphis] = slot;
	s->phi_blocks[s->nphis++] = block;
	s->f->blocks[block].nphis++;
	return 0;
}

static int place_phis_of(struct ssa *s, uint32_t slot, struct meeting *m)
{
	uint32_t depth = 0;
	for (uint32_t d = s->defs.first[slot]; d < s->defs.first[slot + 1]; d++)
		m->defined[s->defs.sorted[d]] = slot;
	find_live(s, slot, m);
	for (uint32_t d = s->defs.first[slot]; d < s->defs.first[slot + 1]; d++) {
		m->queued[s->defs.sorted[d]] = slot;
		m->stack[depth++] = s->defs.sorted[d];
	}
	while (depth) {
		uint32_t block = m->stack[--depth];
		for (uint32_t e = s->first_frontier[block]; e < s->first_frontier[block + 1]; e++) {
			uint32_t to = s->frontier[e];
			if (m->has_phi[to] == slot || m->live[to] != slot)
				continue;
			m->has_phi[to] = slot;
			int rc = add_phi(s, slot, to);
			if (rc)
				return rc;
			if (m->queued[to] == slot)
				continue;
			m->queued[to] = slot;
			m->stack[depth++] = to;
		}
	}
	return 0;
}

static bool needs_phis(const struct ssa *s, uint32_t slot)
{
	uint32_t ndefs = s->defs.first[slot + 1] - s->defs.first[slot];
	if (!ndefs || s->uses.first[slot + 1] == s->uses.first[slot])
		return false;
	if (ndefs > 1)
		return true;
	uint32_t def = s->defs.sorted[s->defs.first[slot]];
	for (uint32_t u = s->uses.first[slot]; u < s->uses.first[slot + 1]; u++) {
		uint32_t use = s->uses.sorted[u];
		if (use == def || !dominates(s, def, use))
			return true;
	}
	return false;
}

static int place_phis(struct ssa *s)
{
	size_t n = s->f->nblocks;
	uint32_t *memory =
		calloc(n * 5, sizeof(*memory)); /* slot 0 is reserved, so a zero stamp is no slot's */
	if (!memory)
		return CUTRACE_ENOMEM;
	struct meeting m = {memory, memory + n, memory + 2 * n, memory + 3 * n, memory + 4 * n};
	int rc = 0;
	for (uint32_t slot = 1; slot < s->b->nslots && !rc; slot++)
		if (needs_phis(s, slot))
			rc = place_phis_of(s, slot, &m);
	free(memory);
	return rc;
}

static bool new_value(struct ssa *s, uint32_t slot, uint32_t def, uint32_t phi_block, uint32_t *value)
{
	if (!grow(&s->values, &s->values_capacity, s->nvalues, sizeof(*s->values)) ||
	    !grow(&s->undo_slots, &s->undo_capacity, s->nundo, sizeof(uint32_t)) ||
	    !grow(&s->undo_values, &s->undo_capacity2, s->nundo, sizeof(uint32_t)))
		return false;
	*value = s->nvalues;
	s->values[s->nvalues++] = (struct ptx_value){def, phi_block, slot, s->b->slots[slot].bits};
	s->undo_slots[s->nundo] = slot;
	s->undo_values[s->nundo++] = s->current[slot];
	s->current[slot] = *value;
	return true;
}

static bool make_phis(struct ssa *s)
{
	struct arena *a = &s->b->p.m->arena;
	for (uint32_t k = 0; k < s->f->nblocks; k++) {
		struct ptx_block *b = &s->f->blocks[k];
		if (b->nphis && !(b->phis = arena_array(a, b->nphis, sizeof(*b->phis))))
			return false;
		b->nphis = 0;
	}
	for (uint32_t i = 0; i < s->nphis; i++) { /* `value` holds the slot until the block is renamed */
		struct ptx_block *b = &s->f->blocks[s->phi_blocks[i]];
		struct ptx_phi *phi = &b->phis[b->nphis++];
		phi->value = s->phi_slots[i];
		phi->args = arena_array(a, b->npreds, sizeof(uint32_t));
		if (!phi->args)
			return false;
	}
	return true;
}

static bool rename_definitions(struct ssa *s, struct ptx_inst *i, uint32_t index)
{
	bool keeps = false;
	for (uint32_t k = 0; k < i->ndst; k++)
		keeps |= i->guarded && i->dst[k].kind == PTX_OPND_VALUE;
	if (keeps && !(i->prev = arena_array(&s->b->p.m->arena, i->ndst, sizeof(uint32_t))))
		return false;
	for (uint32_t k = 0; keeps && k < i->ndst; k++)
		i->prev[k] = i->dst[k].kind == PTX_OPND_VALUE ? s->current[i->dst[k].index] : PTX_NONE;
	for (uint32_t k = 0; k < i->ndst; k++)
		if (i->dst[k].kind == PTX_OPND_VALUE &&
		    !new_value(s, i->dst[k].index, index, PTX_NONE, &i->dst[k].index))
			return false;
	return true;
}

static bool rename_block(struct ssa *s, uint32_t block)
{
	struct ptx_block *b = &s->f->blocks[block];
	for (uint32_t k = 0; k < b->nphis; k++)
		if (!new_value(s, b->phis[k].value, PTX_NONE, block, &b->phis[k].value))
			return false;
	for (uint32_t n = b->first; n < b->first + b->ninsts; n++) {
		struct ptx_inst *i = &s->f->insts[n];
		if (i->guarded)
			i->guard = s->current[i->guard];
		for (uint32_t k = 0; k < i->nsrc; k++)
			if (i->src[k].kind == PTX_OPND_VALUE)
				i->src[k].index = s->current[i->src[k].index];
		if (!rename_definitions(s, i, n))
			return false;
	}
	return true;
}

/* Phi arguments of the successors. While they aren't renamed themselves, `value` is the slot; afterwards the
 * slot is the value's. */
static void fill_phis(struct ssa *s, uint32_t block, const bool *renamed)
{
	const struct ptx_block *b = &s->f->blocks[block];
	for (uint32_t e = 0; e < b->nsuccs; e++) {
		struct ptx_block *to = &s->f->blocks[b->succs[e]];
		for (uint32_t p = 0; to->nphis && p < to->npreds; p++) {
			if (to->preds[p] != block)
				continue;
			for (uint32_t k = 0; k < to->nphis; k++) {
				uint32_t v = to->phis[k].value;
				to->phis[k].args[p] =
					s->current[renamed[b->succs[e]] ? s->values[v].slot : v];
			}
		}
	}
}

static void undo(struct ssa *s, uint32_t n)
{
	while (s->nundo > n) {
		s->nundo--;
		s->current[s->undo_slots[s->nundo]] = s->undo_values[s->nundo];
	}
}

/* Preorder over the dominator tree; a block's definitions are forgotten when its subtree is done. */
static bool rename_tree(struct ssa *s)
{
	uint32_t n = s->f->nblocks, depth = 0, node = 0;
	uint32_t *stack = malloc((size_t)n * 2 * sizeof(*stack));
	bool *renamed = calloc(n, sizeof(*renamed));
	bool ok = stack && renamed;
	while (ok) {
		stack[depth] = node;
		stack[n + depth++] = s->nundo;
		renamed[node] = true;
		ok = rename_block(s, node);
		if (!ok)
			break;
		fill_phis(s, node, renamed);
		uint32_t next = s->first_child[node];
		while (next == PTX_NONE && depth) {
			uint32_t done = stack[--depth];
			undo(s, stack[n + depth]);
			next = s->next_sibling[done];
		}
		if (next == PTX_NONE)
			break;
		node = next;
	}
	free(stack);
	free(renamed);
	return ok;
}

/* Blocks that are never executed: their registers are undefined unless they define them. */
static bool rename_unreachable(struct ssa *s)
{
	for (uint32_t k = 1; k < s->f->nblocks; k++) {
		if (is_reachable(s->f, k))
			continue;
		if (!rename_block(s, k))
			return false;
		undo(s, 0);
	}
	return true;
}

static bool rename_all(struct ssa *s)
{
	uint32_t value;
	s->current = calloc(s->b->nslots, sizeof(uint32_t));
	if (!s->current || !make_phis(s) || !new_value(s, 0, PTX_NONE, PTX_NONE, &value))
		return false;
	for (uint32_t k = 0; k < s->f->nparams; k++) {
		uint32_t slot = s->f->params[k].slot;
		if (slot && slot != PTX_NONE && !new_value(s, slot, PTX_NONE, PTX_NONE, &value))
			return false;
	}
	if (!rename_tree(s))
		return false;
	memset(s->current, 0, s->b->nslots * sizeof(uint32_t));
	s->nundo = 0;
	return rename_unreachable(s);
}

static bool keep(struct ssa *s)
{
	struct ptx_func *f = s->f;
	struct arena *a = &s->b->p.m->arena;
	f->values = arena_array(a, s->nvalues, sizeof(*f->values));
	f->slots = arena_array(a, s->b->nslots, sizeof(*f->slots));
	if (!f->values || !f->slots)
		return false;
	memcpy(f->values, s->values, s->nvalues * sizeof(*f->values));
	memcpy(f->slots, s->b->slots, s->b->nslots * sizeof(*f->slots));
	f->nvalues = s->nvalues;
	f->nslots = s->b->nslots;
	return true;
}

static void free_ssa(struct ssa *s)
{
	free_rows(&s->defs);
	free_rows(&s->uses);
	free(s->first_child);
	free(s->first_frontier);
	free(s->frontier);
	free(s->phi_slots);
	free(s->phi_blocks);
	free(s->current);
	free(s->undo_slots);
	free(s->undo_values);
	free(s->values);
}

int build_ssa(struct body *b)
{
	struct ssa s = {.b = b, .f = b->p.f};
	int rc = collect(&s) && make_tree(&s) ? make_frontiers(&s) : CUTRACE_ENOMEM;
	if (!rc)
		rc = place_phis(&s);
	if (!rc)
		rc = rename_all(&s) && keep(&s) ? 0 : CUTRACE_ENOMEM;
	free_ssa(&s);
	if (rc == CUTRACE_ENOTSUP)
		return body_fail(b, b->p.lx.p, "the control flow of this function joins too many registers");
	return rc ? parser_out_of_memory(&b->p) : 0;
}
