/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/lower/together.h"

#include "ptx/lower/loops.h"

enum { MOST_DEPTH = 8, X = 1, Y = 2, Z = 4 };

static const struct ptx_inst *definition(const struct ptx_func *f, uint32_t v)
{
	uint32_t def = v ? f->values[v].def : PTX_NONE;

	return def == PTX_NONE || f->insts[def].guarded ? NULL : &f->insts[def];
}

static const struct ptx_inst *branch_of(const struct ptx_func *f, uint32_t b)
{
	const struct ptx_block *k = &f->blocks[b];
	const struct ptx_inst *i = k->ninsts ? &f->insts[k->first + k->ninsts - 1] : NULL;

	return i && i->op == PTX_OP_BRA && i->guarded && k->nsuccs == 2 ? i : NULL;
}

/* The axes of %tid in a sum or an or of such registers, of which none is negative; 0: it is something else. */
static unsigned axes_of(const struct ptx_func *f, const struct ptx_operand *o, unsigned depth)
{
	const struct ptx_inst *i;

	if (o->kind == PTX_OPND_SREG)
		return o->index == PTX_SREG_TID_X   ? X
		       : o->index == PTX_SREG_TID_Y ? Y
		       : o->index == PTX_SREG_TID_Z ? Z
						    : 0;
	i = o->kind == PTX_OPND_VALUE && depth ? definition(f, o->index) : NULL;
	if (!i || ptx_type_is_float(i->type))
		return 0;
	switch (i->op) {
	case PTX_OP_MOV: return i->nsrc == 1 && i->ndst == 1 ? axes_of(f, &i->src[0], depth - 1) : 0;
	case PTX_OP_ADD:
	case PTX_OP_OR: break;
	default: return 0;
	}
	unsigned a = axes_of(f, &i->src[0], depth - 1), b = axes_of(f, &i->src[1], depth - 1);
	return a && b && ptx_type_bits(i->type) >= 32 ? a | b : 0;
}

/* The same, of a sum's sign changed. */
static unsigned negated_axes(const struct ptx_func *f, const struct ptx_operand *o)
{
	const struct ptx_inst *i = o->kind == PTX_OPND_VALUE ? definition(f, o->index) : NULL;

	return i && i->op == PTX_OP_NEG && ptx_type_bits(i->type) >= 32 ? axes_of(f, &i->src[0], MOST_DEPTH)
									: 0;
}

/* Axes that are all 0 where the two operands are equal. */
static unsigned axes_compared(const struct ptx_func *f, const struct ptx_inst *i)
{
	unsigned a = axes_of(f, &i->src[0], MOST_DEPTH), b = negated_axes(f, &i->src[1]);

	if (i->src[1].kind == PTX_OPND_IMM && !i->src[1].imm)
		return a;
	return a && b ? a | b : 0;
}

/* The side of the branch that thread 0 of the block takes alone: successor 0 or 1; -1: there is none. */
static int side_of_one(const struct ptx_func *f, uint32_t b)
{
	const struct ptx_inst *branch = branch_of(f, b), *i = branch ? definition(f, branch->guard) : NULL;
	unsigned all = X | Y | Z;

	for (unsigned axis = 0; axis < 3; axis++)
		if (f->reqntid[0] && f->reqntid[axis] <= 1)
			all &= ~(X << axis);
	if (!i || i->op != PTX_OP_SETP || i->boolop || i->ndst != 1 || ptx_type_is_float(i->type) ||
	    (i->cmp != PTX_EQ && i->cmp != PTX_NE) || !all || (axes_compared(f, i) & all) != all)
		return -1;
	return (i->cmp == PTX_EQ) == !branch->guard_negate ? 0 : 1;
}

static void find_lonely(const struct ptx_func *f, struct ptx_uniformity *u)
{
	for (uint32_t b = 0; b < f->nblocks; b++) {
		int side = u->divergent[b] > PTX_LEVEL_BLOCK ? side_of_one(f, b) : -1;
		uint32_t to = side < 0 ? PTX_NONE : f->blocks[b].succs[side];
		if (to == PTX_NONE || f->blocks[to].npreds != 1)
			continue;
		for (uint32_t k = 0; k < f->nblocks; k++)
			if (loops_dominates(f, to, k))
				u->divergent[k] = PTX_LEVEL_GRID;
	}
}

struct search {
	const struct ptx_func *f;
	const struct ptx_uniformity *u;
	const uint8_t *spins;
	enum ptx_level level;
	uint32_t reads[MOST_DEPTH], nreads;
};

static bool operand_same(struct search *s, const struct ptx_operand *o, unsigned depth);

/* A generic address, though the same, may be of each thread's own memory. */
static bool is_shared_read(const struct ptx_inst *i)
{
	return i->op != PTX_OP_LD || i->space == PTX_SPACE_GLOBAL || i->space == PTX_SPACE_SHARED ||
	       i->space == PTX_SPACE_SHARED_CLUSTER;
}

/* What has the same value for all lanes that execute it, once these reads do. */
static bool value_same(struct search *s, uint32_t v, unsigned depth)
{
	const struct ptx_inst *i = definition(s->f, v);

	if (s->u->values[v].level <= s->level)
		return true;
	if (!i || !depth || i->op == PTX_OP_CALL || i->op == PTX_OP_ATOM)
		return false;
	uint32_t n = (uint32_t)(i - s->f->insts);
	bool reads =
		i->op == PTX_OP_LD || i->op == PTX_OP_MBARRIER_TEST_WAIT || i->op == PTX_OP_MBARRIER_TRY_WAIT;
	if (reads && (!s->spins[n] || !is_shared_read(i) || s->nreads == MOST_DEPTH || i->ndst != 1))
		return false;
	if (reads)
		s->reads[s->nreads++] = n;
	switch (i->op) {
	case PTX_OP_LD:
	case PTX_OP_MBARRIER_TEST_WAIT:
	case PTX_OP_MBARRIER_TRY_WAIT:
	case PTX_OP_MOV:
	case PTX_OP_SETP:
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
	case PTX_OP_NOT:
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_SHL:
	case PTX_OP_SHR:
	case PTX_OP_CVT:
	case PTX_OP_SELP: break;
	default: return false;
	}
	for (uint32_t k = 0; k < i->nsrc; k++)
		if (!operand_same(s, &i->src[k], depth - 1))
			return false;
	return true;
}

static bool operand_same(struct search *s, const struct ptx_operand *o, unsigned depth)
{
	if (o->kind == PTX_OPND_VALUE)
		return value_same(s, o->index, depth);
	return o->kind != PTX_OPND_SREG;
}

void together_find(const struct ptx_func *f, struct ptx_uniformity *u, const uint8_t *spins,
		   enum ptx_level level, uint8_t *reads)
{
	find_lonely(f, u);
	for (uint32_t b = 0; b < f->nblocks; b++) {
		struct search s = {.f = f, .u = u, .spins = spins, .level = level};
		const struct ptx_inst *i = u->divergent[b] > level ? branch_of(f, b) : NULL;
		if (!i || !value_same(&s, i->guard, MOST_DEPTH) || !s.nreads)
			continue;
		u->divergent[b] = (uint8_t)level;
		for (uint32_t k = 0; k < s.nreads; k++)
			reads[s.reads[k]] = 1;
	}
}
