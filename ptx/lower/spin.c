/* SPDX-License-Identifier: Apache-2.0
 *
 * Backwards from the condition of each branch of a loop through what computes it, to the reads it depends on.
 */
#include "ptx/lower/spin.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/analysis.h"
#include "ptx/lower/convergence.h"

struct spin {
	const struct ptx_func *f;
	struct ptx_uses uses;
	uint32_t *loop;         /* by block: number of its strongly connected component; 0: in no loop */
	uint32_t *stack, *walk; /* of blocks */
	uint32_t *values;       /* to be looked at */
	uint8_t *seen;          /* by value */
	uint8_t *been;          /* by block */
	uint8_t *found;         /* by instruction */
	uint32_t nvalues;
	bool carried; /* the condition depends on what the loop hands on from turn to turn */
	uint8_t *spins;
};

/* Tarjan's components, without recursion: index 0 = not visited. */
struct components {
	uint32_t *index, *low, *edge, *path, *open;
	uint32_t next, npath, nopen, count;
};

static void component_done(struct spin *s, struct components *c, uint32_t b)
{
	uint32_t size = 0, k = c->nopen;
	bool itself = false;

	do
		size++;
	while (c->open[--k] != b);
	for (uint32_t e = 0; e < s->f->blocks[b].nsuccs; e++)
		itself |= s->f->blocks[b].succs[e] == b;
	c->count += size > 1 || itself;
	for (; c->nopen > k; c->nopen--) {
		s->loop[c->open[c->nopen - 1]] = size > 1 || itself ? c->count : 0;
		c->low[c->open[c->nopen - 1]] = PTX_NONE;
	}
}

static void enter(struct components *c, uint32_t b)
{
	c->index[b] = c->low[b] = ++c->next;
	c->path[c->npath++] = b;
	c->open[c->nopen++] = b;
}

static void find_components(struct spin *s, struct components *c)
{
	enter(c, 0);
	while (c->npath) {
		uint32_t b = c->path[c->npath - 1];
		const struct ptx_block *k = &s->f->blocks[b];
		if (c->edge[b] < k->nsuccs) {
			uint32_t to = k->succs[c->edge[b]++];
			if (!c->index[to])
				enter(c, to);
			else if (c->low[to] != PTX_NONE && c->index[to] < c->low[b])
				c->low[b] = c->index[to];
			continue;
		}
		c->npath--;
		if (c->npath) {
			uint32_t up = c->path[c->npath - 1];
			c->low[up] = c->low[b] < c->low[up] ? c->low[b] : c->low[up];
		}
		if (c->low[b] == c->index[b])
			component_done(s, c, b);
	}
}

static int find_loops(struct spin *s)
{
	size_t n = (size_t)s->f->nblocks + 1;
	uint32_t *memory = calloc(5 * n, sizeof(*memory));
	struct components c = {.index = memory,
			       .low = memory + n,
			       .edge = memory + 2 * n,
			       .path = memory + 3 * n,
			       .open = memory + 4 * n};

	if (!memory)
		return CUTRACE_ENOMEM;
	find_components(s, &c);
	free(memory);
	return 0;
}

static void look_at(void *ctx, uint32_t value)
{
	struct spin *s = ctx;

	if (value == PTX_NONE || !value || s->seen[value])
		return;
	s->seen[value] = 1;
	s->values[s->nvalues++] = value;
}

static uint32_t block_of_value(const struct spin *s, uint32_t v)
{
	return ptx_value_block(s->f, &s->uses, v);
}

static bool in_same_loop(const struct spin *s, uint32_t v, uint32_t loop)
{
	uint32_t b = block_of_value(s, v);

	return b != PTX_NONE && s->loop[b] == loop;
}

static const struct ptx_phi *phi_of(const struct spin *s, uint32_t v)
{
	const struct ptx_block *b = &s->f->blocks[s->f->values[v].phi_block];

	for (uint32_t k = 0; k < b->nphis; k++)
		if (b->phis[k].value == v)
			return &b->phis[k];
	return NULL;
}

/* The value is one that was read in this loop, unchanged (or, at first, a guess from outside). */
static bool is_last_read(const struct spin *s, uint32_t v, uint32_t loop, unsigned depth)
{
	const struct ptx_value *value = &s->f->values[v];

	if (depth > 8 || !in_same_loop(s, v, loop))
		return false;
	if (value->phi_block != PTX_NONE) {
		const struct ptx_phi *phi = phi_of(s, v);
		for (uint32_t k = 0; phi && k < s->f->blocks[value->phi_block].npreds; k++)
			if (phi->args[k] != v && in_same_loop(s, phi->args[k], loop) &&
			    !is_last_read(s, phi->args[k], loop, depth + 1))
				return false;
		return phi != NULL;
	}
	const struct ptx_inst *i = &s->f->insts[value->def];
	if (i->op == PTX_OP_MOV && i->ndst == 1 && i->nsrc == 1 && i->src[0].kind == PTX_OPND_VALUE &&
	    !i->guarded)
		return is_last_read(s, i->src[0].index, loop, depth + 1);
	return i->op == PTX_OP_ATOM || i->op == PTX_OP_LD || i->op == PTX_OP_LDU;
}

static const struct ptx_inst *atom_of(const struct spin *s, const struct ptx_operand *o)
{
	uint32_t def = o->kind == PTX_OPND_VALUE ? s->f->values[o->index].def : PTX_NONE;
	const struct ptx_inst *i = def == PTX_NONE ? NULL : &s->f->insts[def];

	return i && i->op == PTX_OP_ATOM ? i : NULL;
}

static bool is_value(const struct ptx_operand *o, uint32_t v)
{
	return o->kind == PTX_OPND_VALUE && o->index == v;
}

/* "Did my compare-and-swap succeed", and "did my count reach a limit": false only where another lane got ahead. */
static bool is_progress(const struct spin *s, const struct ptx_inst *i, uint32_t loop)
{
	for (unsigned k = 0; i->op == PTX_OP_SETP && !i->boolop && k < 2; k++) {
		const struct ptx_inst *a = atom_of(s, &i->src[k]);
		const struct ptx_operand *other = &i->src[!k];
		if (!a)
			continue;
		if (a->sub == PTX_SUB_CAS && (i->cmp == PTX_EQ || i->cmp == PTX_NE) &&
		    a->src[1].kind == PTX_OPND_VALUE && is_value(other, a->src[1].index) &&
		    is_last_read(s, a->src[1].index, loop, 0))
			return true;
		if (a->sub == PTX_SUB_ADD && a->src[1].kind == PTX_OPND_IMM && a->src[1].imm &&
		    i->cmp >= PTX_LT && i->cmp <= PTX_HS)
			return true;
	}
	return false;
}

/* The branch at the end of b, when it has a condition. */
static const struct ptx_inst *branch_of(const struct spin *s, uint32_t b)
{
	const struct ptx_block *k = &s->f->blocks[b];
	const struct ptx_inst *i = k->ninsts ? &s->f->insts[k->first + k->ninsts - 1] : NULL;

	return i && ((i->op == PTX_OP_BRA && i->guarded) || i->op == PTX_OP_BRX_IDX) ? i : NULL;
}

static void look_at_branch(struct spin *s, uint32_t b)
{
	const struct ptx_inst *i = branch_of(s, b);

	if (i)
		ptx_inst_reads(i, look_at, s);
}

/* The ways that came together in block b chose the value. */
static void look_at_ways(struct spin *s, uint32_t b, uint32_t loop)
{
	unsigned inside = 0;

	for (uint32_t k = 0; k < s->f->blocks[b].npreds; k++)
		inside += s->loop[s->f->blocks[b].preds[k]] == loop;
	for (uint32_t k = 0; inside > 1 && k < s->f->nblocks; k++)
		if (s->loop[k] == loop)
			look_at_branch(s, k);
}

static bool has_fence(const struct spin *s, uint32_t loop)
{
	for (uint32_t b = 0; b < s->f->nblocks; b++)
		for (uint32_t n = s->f->blocks[b].first; n < s->f->blocks[b].first + s->f->blocks[b].ninsts;
		     n++)
			if (s->loop[b] == loop && orders_memory(&s->f->insts[n]))
				return true;
	return false;
}

/* Of memory that another thread can write: not of parameters, which a call's results are as well, and what is local. */
static bool is_plain_load(const struct ptx_inst *i)
{
	return (i->op == PTX_OP_LD || i->op == PTX_OP_LDU) && !reads_others(i) &&
	       i->space != PTX_SPACE_PARAM && i->space != PTX_SPACE_LOCAL && i->space != PTX_SPACE_CONST &&
	       i->src[0].kind != PTX_OPND_PARAM;
}

/* Plain loads are read again only where something says so, or where the loop has nothing else that could end it. */
static bool reads_anew(const struct spin *s, const struct ptx_inst *i, uint32_t loop)
{
	return reads_others(i) || (is_plain_load(i) && (!s->carried || has_fence(s, loop)));
}

static void look_behind(struct spin *s, uint32_t v, uint32_t loop)
{
	const struct ptx_value *value = &s->f->values[v];

	if (value->phi_block != PTX_NONE) {
		const struct ptx_phi *phi = phi_of(s, v);
		s->carried = true;
		for (uint32_t k = 0; phi && k < s->f->blocks[value->phi_block].npreds; k++)
			look_at(s, phi->args[k]);
		look_at_ways(s, value->phi_block, loop);
		return;
	}
	const struct ptx_inst *i = &s->f->insts[value->def];
	if (reads_others(i) || is_plain_load(i))
		s->found[value->def] = 1;
	if (!is_progress(s, i, loop))
		ptx_inst_reads(i, look_at, s);
}

/* Whether block `to` comes again on a way from d that doesn't pass d's post-dominator. */
static bool comes_again(struct spin *s, uint32_t d, uint32_t to)
{
	uint32_t n = 0, stop = s->f->blocks[d].ipdom;

	memset(s->been, 0, s->f->nblocks);
	s->stack[n++] = d;
	while (n) {
		const struct ptx_block *k = &s->f->blocks[s->stack[--n]];
		for (uint32_t e = 0; e < k->nsuccs; e++) {
			uint32_t b = k->succs[e];
			if (b == stop || s->been[b])
				continue;
			if (b == to)
				return true;
			s->been[b] = 1;
			s->stack[n++] = b;
		}
	}
	return false;
}

static void follow_branch(struct spin *s, uint32_t d)
{
	memset(s->seen, 0, s->f->nvalues);
	memset(s->found, 0, s->f->ninsts);
	s->nvalues = 0;
	s->carried = false;
	look_at_branch(s, d);
	while (s->nvalues) {
		uint32_t v = s->values[--s->nvalues];
		if (in_same_loop(s, v, s->loop[d]))
			look_behind(s, v, s->loop[d]);
	}
	for (uint32_t n = 0; n < s->f->ninsts; n++)
		if (s->found[n] && !s->spins[n] && reads_anew(s, &s->f->insts[n], s->loop[d]))
			s->spins[n] = comes_again(s, d, s->uses.block_of[n]);
}

static bool open_spin(struct spin *s)
{
	size_t blocks = (size_t)s->f->nblocks + 1;

	memset(s->loop, 0, s->f->nblocks * sizeof(*s->loop));
	s->stack = calloc(blocks, sizeof(*s->stack));
	s->been = calloc(blocks, 1);
	s->values = calloc((size_t)s->f->nvalues + 1, sizeof(*s->values));
	s->seen = calloc((size_t)s->f->nvalues + 1, 1);
	s->found = calloc((size_t)s->f->ninsts + 1, 1);
	return s->stack && s->been && s->values && s->seen && s->found && !ptx_uses_find(s->f, &s->uses);
}

static void close_spin(struct spin *s)
{
	free(s->stack);
	free(s->been);
	free(s->values);
	free(s->seen);
	free(s->found);
	ptx_uses_free(&s->uses);
}

int spin_find(const struct ptx_func *f, uint8_t *spins, uint32_t *loop)
{
	struct spin s = {.f = f, .spins = spins, .loop = loop};
	int rc = open_spin(&s) && !find_loops(&s) ? 0 : CUTRACE_ENOMEM;

	for (uint32_t b = 0; !rc && b < f->nblocks; b++)
		if (s.loop[b] && branch_of(&s, b))
			follow_branch(&s, b);
	close_spin(&s);
	return rc;
}
