/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ptx/bounds.h"

enum { MAX_PREDICATE_DEPTH = 8 };

/* ---- conditions ------------------------------------------------------------- */

static bool is_uniform_operand(const struct bounds_plan *p, const struct ptx_operand *o)
{
	if (o->kind != PTX_OPND_VALUE)
		return o->kind == PTX_OPND_IMM;
	const struct ptx_uniform *u = &p->uniformity.values[o->index];
	return u->affine && u->base <= PTX_LEVEL_BLOCK &&
	       !(u->stride[0] | u->stride[1] | u->stride[2] | u->stride[3]);
}

static int add_condition(struct bounds_plan *p, uint32_t inst, bool holds)
{
	const struct ptx_inst *i = &p->f->insts[inst];
	if (p->nconditions == p->conditions_capacity) {
		uint32_t n = p->conditions_capacity ? 2 * p->conditions_capacity : 64;
		struct condition *more = reallocarray(p->conditions, n, sizeof(*more));
		if (!more)
			return CUTRACE_ENOMEM;
		p->conditions = more;
		p->conditions_capacity = n;
	}
	p->conditions[p->nconditions++] = (struct condition){
		inst, holds, is_uniform_operand(p, &i->src[0]) && is_uniform_operand(p, &i->src[1])};
	return 0;
}

static int predicate_holds(struct bounds_plan *p, uint32_t value, bool holds, unsigned depth);

static int operand_holds(struct bounds_plan *p, const struct ptx_operand *o, bool holds, unsigned depth)
{
	return o->kind == PTX_OPND_VALUE ? predicate_holds(p, o->index, holds != o->negate, depth) : 0;
}

static int setp_holds(struct bounds_plan *p, uint32_t inst, bool holds, unsigned depth)
{
	const struct ptx_inst *i = &p->f->insts[inst];
	bool integers = !ptx_type_is_float(i->type) && ptx_type_bits(i->type) >= 16 && i->type != PTX_U16X2 &&
			i->type != PTX_S16X2 && ptx_type_bits(i->type) <= 64;
	int rc = 0;
	if (i->boolop != PTX_BOOL_NONE) { /* a and q: both hold; a or q: neither does */
		if ((i->boolop != PTX_BOOL_AND || !holds) && (i->boolop != PTX_BOOL_OR || holds))
			return 0;
		rc = i->nsrc > 2 ? operand_holds(p, &i->src[2], holds, depth) : 0;
	}
	return rc || !integers ? rc : add_condition(p, inst, holds);
}

/* What is known of values where a predicate is true, or false. */
static int predicate_holds(struct bounds_plan *p, uint32_t value, bool holds, unsigned depth)
{
	uint32_t def = p->f->values[value].def;
	if (def == PTX_NONE || depth == MAX_PREDICATE_DEPTH)
		return 0;
	const struct ptx_inst *i = &p->f->insts[def];
	if (i->guarded || i->dst[0].kind != PTX_OPND_VALUE || i->dst[0].index != value)
		return 0;
	switch (i->op) {
	case PTX_OP_SETP: return setp_holds(p, def, holds, depth + 1);
	case PTX_OP_MOV: return i->nsrc == 1 ? operand_holds(p, &i->src[0], holds, depth + 1) : 0;
	case PTX_OP_NOT: return operand_holds(p, &i->src[0], !holds, depth + 1);
	case PTX_OP_AND:
	case PTX_OP_OR: break;
	default: return 0;
	}
	if ((i->op == PTX_OP_AND) != holds)
		return 0;
	int rc = operand_holds(p, &i->src[0], holds, depth + 1);
	return rc ? rc : operand_holds(p, &i->src[1], holds, depth + 1);
}

static int note_branch(struct bounds_plan *p, uint32_t b)
{
	const struct ptx_block *block = &p->f->blocks[b];
	const struct ptx_inst *i = block->ninsts ? &p->f->insts[block->first + block->ninsts - 1] : NULL;
	if (!i || i->op != PTX_OP_BRA || !i->guarded || block->nsuccs != 2 ||
	    block->succs[0] == block->succs[1])
		return 0;
	p->taken[b].first = p->nconditions;
	int rc = predicate_holds(p, i->guard, !i->guard_negate, 0);
	p->taken[b].n = p->nconditions - p->taken[b].first;
	p->passed[b].first = p->nconditions;
	if (!rc)
		rc = predicate_holds(p, i->guard, i->guard_negate, 0);
	p->passed[b].n = p->nconditions - p->passed[b].first;
	return rc;
}

/* ---- what has to be looked at ------------------------------------------------ */

struct wanting {
	struct bounds_plan *p;
	uint32_t *queue, n;
};

static void want(struct wanting *w, uint32_t value)
{
	if (!value || w->p->wanted[value] || w->p->f->values[value].bits < 8)
		return;
	w->p->wanted[value] = 1;
	w->queue[w->n++] = value;
}

static void want_operand(struct wanting *w, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_VALUE)
		want(w, o->index);
}

static void want_inst(struct wanting *w, const struct ptx_inst *i)
{
	if (i->op == PTX_OP_LD || i->op == PTX_OP_LDU) /* not where it is loaded from */
		return;
	for (unsigned k = 0; k < i->nsrc; k++)
		want_operand(w, &i->src[k]);
}

static void want_what_makes(struct wanting *w, uint32_t value)
{
	const struct ptx_func *f = w->p->f;
	const struct ptx_value *v = &f->values[value];
	if (v->phi_block != PTX_NONE) {
		const struct ptx_block *b = &f->blocks[v->phi_block];
		for (uint32_t k = 0; k < b->nphis; k++)
			for (uint32_t n = 0; b->phis[k].value == value && n < b->npreds; n++)
				want(w, b->phis[k].args[n]);
		return;
	}
	if (v->def == PTX_NONE)
		return;
	const struct ptx_inst *i = &f->insts[v->def];
	want_inst(w, i);
	for (unsigned k = 0; i->prev && k < i->ndst; k++)
		if (i->prev[k] != PTX_NONE)
			want(w, i->prev[k]);
}

static int find_wanted(struct bounds_plan *p, const uint32_t *roots, uint32_t nroots)
{
	struct wanting w = {.p = p, .queue = malloc(((size_t)p->f->nvalues + 1) * sizeof(*w.queue))};
	if (!w.queue)
		return CUTRACE_ENOMEM;
	for (uint32_t k = 0; k < nroots; k++)
		want(&w, roots[k]);
	for (uint32_t k = 0; k < p->nconditions; k++)
		want_inst(&w, &p->f->insts[p->conditions[k].inst]);
	while (w.n)
		want_what_makes(&w, w.queue[--w.n]);
	free(w.queue);
	return 0;
}

static void add_steps_of(struct bounds_plan *p, uint32_t b)
{
	const struct ptx_block *block = &p->f->blocks[b];
	for (uint32_t k = 0; k < block->nphis; k++)
		if (p->wanted[block->phis[k].value])
			p->steps[p->nsteps++] = (struct bounds_step){block->phis[k].value, b, PTX_NONE, k, 0};
	for (uint32_t n = block->first; n < block->first + block->ninsts; n++)
		for (unsigned k = 0; k < p->f->insts[n].ndst; k++) {
			const struct ptx_operand *o = &p->f->insts[n].dst[k];
			if (o->kind == PTX_OPND_VALUE && o->index && p->wanted[o->index])
				p->steps[p->nsteps++] =
					(struct bounds_step){o->index, b, n, PTX_NONE, (uint8_t)k};
		}
}

int bounds_plan_open(struct bounds_plan *p, struct ptx_module *m, struct ptx_func *f, const uint32_t *roots,
		     uint32_t nroots)
{
	*p = (struct bounds_plan){.m = m, .f = f};
	p->taken = calloc((size_t)f->nblocks + 1, sizeof(*p->taken));
	p->passed = calloc((size_t)f->nblocks + 1, sizeof(*p->passed));
	p->wanted = calloc((size_t)f->nvalues + 1, 1);
	p->steps = calloc((size_t)f->nvalues + 1, sizeof(*p->steps));
	int rc = p->taken && p->passed && p->wanted && p->steps ? 0 : CUTRACE_ENOMEM;
	if (!rc)
		rc = ptx_uniformity_find(f, m, &p->uniformity);
	for (uint32_t b = 0; !rc && b < f->nblocks; b++)
		rc = note_branch(p, b);
	if (!rc)
		rc = find_wanted(p, roots, nroots);
	for (uint32_t b = 0; !rc && b < f->nblocks; b++)
		if (!b || f->blocks[b].npreds)
			add_steps_of(p, b);
	return rc;
}

void bounds_plan_close(struct bounds_plan *p)
{
	ptx_uniformity_free(&p->uniformity);
	free(p->conditions);
	free(p->taken);
	free(p->passed);
	free(p->wanted);
	free(p->steps);
}
