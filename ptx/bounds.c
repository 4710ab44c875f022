/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/bounds: intervals grow until nothing changes. What grows in a loop jumps, after a few rounds, to the next number
 * that it is compared with, and when that doesn't hold it, to everything. */
#include <string.h>

#include "ptx/bounds.h"

enum { MAX_ROUNDS = 64, PATIENCE = 3, MAX_JUMPS = 24, MAX_DOMINATORS = 256 };

/* ---- conditions --------------------------------------------------------------- */

static enum ptx_cmp opposite(uint8_t cmp)
{
	static const uint8_t of[][2] = {
		{PTX_EQ, PTX_NE}, {PTX_NE, PTX_EQ}, {PTX_LT, PTX_GE}, {PTX_LE, PTX_GT}, {PTX_GT, PTX_LE},
		{PTX_GE, PTX_LT}, {PTX_LO, PTX_HS}, {PTX_LS, PTX_HI}, {PTX_HI, PTX_LS}, {PTX_HS, PTX_LO}};
	for (unsigned k = 0; k < sizeof(of) / sizeof(of[0]); k++)
		if (of[k][0] == cmp)
			return of[k][1];
	return PTX_CMP_NONE;
}

/* b cmp a, for a cmp b */
static enum ptx_cmp turned(enum ptx_cmp cmp)
{
	switch (cmp) {
	case PTX_LT: return PTX_GT;
	case PTX_LE: return PTX_GE;
	case PTX_GT: return PTX_LT;
	case PTX_GE: return PTX_LE;
	case PTX_LO: return PTX_HI;
	case PTX_LS: return PTX_HS;
	case PTX_HI: return PTX_LO;
	case PTX_HS: return PTX_LS;
	default: return cmp;
	}
}

static bool compares_signed(const struct ptx_inst *i)
{
	return ptx_type_is_signed(i->type) &&
	       (i->cmp == PTX_EQ || i->cmp == PTX_NE || (i->cmp >= PTX_LT && i->cmp <= PTX_GE));
}

static struct interval plain(const struct bounds *b, const struct ptx_operand *o, unsigned bits)
{
	bool lost = false;
	if (o->kind == PTX_OPND_VALUE)
		return o->index ? b->values[o->index] : interval_one(0);
	return o->kind == PTX_OPND_IMM ? interval_as(interval_one((int64_t)o->imm), bits, true, &lost)
				       : INTERVAL_ALL;
}

/* x, narrowed by "x cmp y" among numbers of that type. */
static struct interval narrowed(struct interval x, enum ptx_cmp cmp, struct interval y, unsigned bits,
				bool is_signed)
{
	bool lost_x = false, lost_y = false;
	struct interval a = interval_as(x, bits, is_signed, &lost_x),
			c = interval_as(y, bits, is_signed, &lost_y);
	bool half = bits >= 64 && !is_signed; /* the upper half of unsigned numbers isn't there */
	if (half && lost_y)
		return x;
	if (half && lost_x) {
		bool below =
			cmp == PTX_LT || cmp == PTX_LE || cmp == PTX_LO || cmp == PTX_LS || cmp == PTX_EQ;
		if (!below)
			return x;
		a = (struct interval){0, INT64_MAX};
	}
	return interval_where(a, cmp, c);
}

static struct interval narrow_by(const struct bounds *b, uint32_t value, struct interval x,
				 const struct condition *c)
{
	const struct ptx_inst *i = &b->p->f->insts[c->inst];
	enum ptx_cmp cmp = c->holds ? i->cmp : opposite(i->cmp);
	unsigned bits = ptx_type_bits(i->type);
	if (cmp == PTX_CMP_NONE || b->p->f->values[value].bits != bits || (b->at_origin && !c->is_uniform))
		return x;
	for (unsigned k = 0; k < 2; k++)
		if (i->src[k].kind == PTX_OPND_VALUE && i->src[k].index == value)
			x = narrowed(x, k ? turned(cmp) : cmp, plain(b, &i->src[!k], bits), bits,
				     compares_signed(i));
	return x;
}

static struct interval narrow_by_all(const struct bounds *b, uint32_t value, struct interval x,
				     struct conditions of)
{
	for (uint32_t k = 0; k < of.n && !interval_is_none(x); k++)
		x = narrow_by(b, value, x, &b->p->conditions[of.first + k]);
	return x;
}

static struct conditions on_edge(const struct bounds *b, uint32_t from, uint32_t to)
{
	return b->p->f->blocks[from].succs[0] == to ? b->p->taken[from] : b->p->passed[from];
}

struct interval bounds_at(struct bounds *b, uint32_t value, uint32_t block)
{
	const struct ptx_func *f = b->p->f;
	struct interval x = value ? b->values[value] : interval_one(0);
	if (!value)
		return x;
	for (unsigned n = 0; block != PTX_NONE && block && n < MAX_DOMINATORS; n++) {
		const struct ptx_block *at = &f->blocks[block];
		if (at->npreds == 1)
			x = narrow_by_all(b, value, x, on_edge(b, at->preds[0], block));
		block = at->idom;
	}
	return x;
}

/* Whether every comparison on the way there can come out as it must. */
bool bounds_reaches(const struct bounds *b, uint32_t block)
{
	for (unsigned n = 0; block != PTX_NONE && block && n < MAX_DOMINATORS; n++) {
		const struct ptx_block *at = &b->p->f->blocks[block];
		struct conditions of = {0};
		if (at->npreds == 1)
			of = on_edge(b, at->preds[0], block);
		for (uint32_t k = 0; k < of.n; k++) {
			const struct condition *c = &b->p->conditions[of.first + k];
			const struct ptx_operand *o = &b->p->f->insts[c->inst].src[0];
			if (o->kind == PTX_OPND_VALUE && o->index &&
			    interval_is_none(narrow_by(b, o->index, b->values[o->index], c)))
				return false;
		}
		block = at->idom;
	}
	return true;
}

struct interval bounds_of_operand(struct bounds *b, const struct ptx_operand *o, uint32_t block,
				  unsigned bits)
{
	return o->kind == PTX_OPND_VALUE ? bounds_at(b, o->index, block) : plain(b, o, bits);
}

/* ---- fixed point ---------------------------------------------------------------- */

/* The nearest number from x on, upwards or downwards, that anything is compared with, or a neighbour of one. */
static int64_t next_known(const struct bounds *b, int64_t x, bool up)
{
	int64_t best = up ? INT64_MAX : x < 0 ? INT64_MIN : 0;
	for (uint32_t n = 0; n < 2 * b->p->nconditions; n++) {
		const struct ptx_inst *i = &b->p->f->insts[b->p->conditions[n / 2].inst];
		struct interval y = plain(b, &i->src[n % 2], ptx_type_bits(i->type));
		if (!interval_is_one(y) || y.low < INT64_MIN / 2 || y.low > INT64_MAX / 2)
			continue;
		for (int64_t z = y.low - 1; z <= y.low + 1; z++)
			if (up ? z >= x && z < best : z <= x && z > best)
				best = z;
	}
	return best;
}

static struct interval phi_bounds(struct bounds *b, const struct bounds_step *s)
{
	const struct ptx_block *block = &b->p->f->blocks[s->block];
	struct interval r = INTERVAL_NONE;
	for (uint32_t n = 0; n < block->npreds; n++) {
		uint32_t v = block->phis[s->phi].args[n], from = block->preds[n];
		struct interval x = bounds_at(b, v, from);
		if (v)
			x = narrow_by_all(b, v, x, on_edge(b, from, s->block));
		r = interval_union(r, x);
	}
	return r;
}

static struct interval step_bounds(struct bounds *b, const struct bounds_step *s)
{
	if (s->phi != PTX_NONE)
		return phi_bounds(b, s);
	const struct ptx_inst *i = &b->p->f->insts[s->inst];
	struct interval r = bounds_of_result(b, i, s->block, s->dst);
	if (i->guarded)
		r = interval_union(r, i->prev && i->prev[s->dst] != PTX_NONE
					      ? bounds_at(b, i->prev[s->dst], s->block)
					      : INTERVAL_ALL);
	return r;
}

/* Of old and now, what a growing phi is taken to be. */
static struct interval widened(struct bounds *b, const struct bounds_step *s, struct interval old,
			       struct interval now)
{
	uint8_t *n = &b->growths[s->value];
	if (*n < UINT8_MAX)
		(*n)++;
	if (*n <= PATIENCE || interval_is_none(old))
		return now;
	if (*n > PATIENCE + MAX_JUMPS)
		return INTERVAL_ALL;
	if (now.low < old.low)
		now.low = next_known(b, now.low, false);
	if (now.high > old.high)
		now.high = next_known(b, now.high, true);
	return now.low == INT64_MIN || now.high == INT64_MAX ? INTERVAL_ALL : now;
}

static bool run_step(struct bounds *b, const struct bounds_step *s)
{
	struct interval *at = &b->values[s->value], now = interval_union(*at, step_bounds(b, s));
	unsigned bits = b->p->f->values[s->value].bits;
	if (interval_same(*at, now))
		return false;
	if (s->phi != PTX_NONE)
		now = widened(b, s, *at, now);
	/* more than all values there are */
	if (bits < 64 && !interval_is_none(now) && ((uint64_t)now.high - (uint64_t)now.low) >> (bits - 1) > 1)
		now = INTERVAL_ALL;
	*at = now;
	return true;
}

bool bounds_find(struct bounds *b)
{
	const struct bounds_plan *p = b->p;
	for (uint32_t v = 0; v < p->f->nvalues; v++)
		b->values[v] = p->wanted[v] ? INTERVAL_NONE : INTERVAL_ALL;
	memset(b->growths, 0, p->f->nvalues);
	b->lost = false;
	bool changed = true;
	for (unsigned round = 0; changed; round++) {
		if (round == MAX_ROUNDS)
			return false;
		changed = false;
		for (uint32_t k = 0; k < p->nsteps; k++)
			changed |= run_step(b, &p->steps[k]);
	}
	return true;
}
