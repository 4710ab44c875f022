/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/uniformity: facts about values start optimistic and move downwards until nothing changes; each can do so a
 * few times only, so the work is linear in the number of uses. */
#include <stdlib.h>
#include <string.h>

#include "ptx/uniform.h"

/* Values whose fact must be computed (again): a queue in a ring, each value in it once. */
struct solver {
	struct uniform u; /* first, so that revisit finds the solver */
	uint32_t *queue, head, count;
	uint8_t *waiting;
	uint32_t *phi_index; /* by value: place among its block's phis */
};

const char *ptx_level_name(enum ptx_level l)
{
	static const char *const names[] = {"grid", "block", "warp", "thread"};
	return l <= PTX_LEVEL_THREAD ? names[l] : "?";
}

static void enqueue(struct uniform *u, uint32_t v)
{
	struct solver *s = (struct solver *)(void *)u;
	if (s->waiting[v])
		return;
	s->waiting[v] = 1;
	uint32_t at = s->head + s->count++;
	s->queue[at >= u->f->nvalues ? at - u->f->nvalues : at] = v;
}

static uint32_t dequeue(struct solver *s)
{
	uint32_t v = s->queue[s->head++];
	s->head = s->head == s->u.f->nvalues ? 0 : s->head;
	s->count--;
	s->waiting[v] = 0;
	return v;
}

static struct fact phi_fact(const struct uniform *u, uint32_t v)
{
	const struct ptx_block *b = &u->f->blocks[u->f->values[v].phi_block];
	struct fact r = {.kind = FACT_TOP};
	uint32_t k = ((const struct solver *)(const void *)u)->phi_index[v], same = PTX_NONE;
	bool one = true;
	for (uint32_t n = 0; n < b->npreds; n++) {
		struct ptx_operand o = {.kind = PTX_OPND_VALUE, .index = b->phis[k].args[n]};
		struct fact x = fact_of_operand(u, &o, 64);
		r = fact_union(&r, &x);
		one = one && (n == 0 || o.index == same);
		same = o.index;
	}
	return one ? r : fact_spread(&r, u->join[u->f->values[v].phi_block]);
}

static struct fact inst_fact(const struct uniform *u, uint32_t v)
{
	const struct ptx_inst *i = &u->f->insts[u->f->values[v].def];
	unsigned k = 0;
	while (k < i->ndst && (i->dst[k].kind != PTX_OPND_VALUE || i->dst[k].index != v))
		k++;
	struct fact r = fact_of_result(u, i, k);
	if (!i->guarded || r.kind == FACT_TOP || k == i->ndst)
		return r;
	struct ptx_operand guard = {.kind = PTX_OPND_VALUE, .index = i->guard},
			   old = {.kind = PTX_OPND_VALUE,
				  .index = i->prev && i->prev[k] != PTX_NONE ? i->prev[k] : 0};
	struct fact g = fact_of_operand(u, &guard, 1), p = fact_of_operand(u, &old, 64);
	if (g.kind == FACT_TOP)
		return g;
	r = fact_union(&r, &p);
	return fact_spread(&r, fact_level(&g));
}

static struct fact compute(const struct uniform *u, uint32_t v)
{
	const struct ptx_value *x = &u->f->values[v];
	if (x->phi_block != PTX_NONE)
		return phi_fact(u, v);
	return x->def != PTX_NONE ? inst_fact(u, v) : fact_none(); /* a parameter of a .func */
}

static struct fact branch_fact(const struct uniform *u, const struct ptx_inst *i)
{
	struct ptx_operand guard = {.kind = PTX_OPND_VALUE, .index = i->guard};
	struct fact g = i->guarded ? fact_of_operand(u, &guard, 1) : fact_uniform(PTX_LEVEL_GRID);
	if (i->op != PTX_OP_BRX_IDX || !i->nsrc)
		return g;
	struct fact x = fact_of_operand(u, &i->src[0], 32);
	if (x.kind == FACT_TOP || g.kind == FACT_TOP)
		return x.kind == FACT_TOP ? x : g;
	return fact_level(&x) > fact_level(&g) ? x : g;
}

static void check_branch(struct uniform *u, uint32_t b)
{
	const struct ptx_block *block = &u->f->blocks[b];
	if (block->nsuccs < 2 || (b && !block->npreds))
		return;
	struct fact x = branch_fact(u, &u->f->insts[block->first + block->ninsts - 1]);
	uint8_t level = (uint8_t)fact_level(&x);
	if (level <= u->divergent[b])
		return;
	u->divergent[b] = level;
	divergence_spread(u, b);
}

static void settle(struct solver *s, uint32_t v)
{
	struct uniform *u = &s->u;
	struct fact now = compute(u, v), old = u->facts[v];
	now = fact_spread(&now, u->leaves_loop[v]);
	now = fact_union(&old, &now);
	if (fact_same(&old, &now))
		return;
	u->facts[v] = now;
	for (uint32_t k = u->uses.first[v]; k < u->uses.first[v + 1]; k++) {
		const struct ptx_use *use = &u->uses.at[k];
		if (use->inst != PTX_NONE) {
			const struct ptx_inst *i = &u->f->insts[use->inst];
			for (unsigned d = 0; d < i->ndst; d++)
				if (i->dst[d].kind == PTX_OPND_VALUE && i->dst[d].index)
					enqueue(u, i->dst[d].index);
			if (i->op == PTX_OP_BRA || i->op == PTX_OP_BRX_IDX)
				check_branch(u, use->block);
			continue;
		}
		enqueue(u, use->phi);
	}
}

static int open_solver(struct solver *s)
{
	struct uniform *u = &s->u;
	size_t n = (size_t)u->f->nvalues + 1;
	u->revisit = enqueue;
	u->facts = calloc(n, sizeof(*u->facts));
	u->leaves_loop = calloc(n, 1);
	s->queue = malloc(n * sizeof(*s->queue));
	s->waiting = calloc(n, 1);
	s->phi_index = calloc(n, sizeof(*s->phi_index));
	for (uint32_t b = 0; s->phi_index && b < u->f->nblocks; b++)
		for (uint32_t k = 0; k < u->f->blocks[b].nphis; k++)
			s->phi_index[u->f->blocks[b].phis[k].value] = k;
	int rc = ptx_uses_find(u->f, &u->uses);
	if (!rc)
		rc = divergence_open(u);
	return u->facts && u->leaves_loop && s->queue && s->waiting && s->phi_index ? rc : CUTRACE_ENOMEM;
}

static void close_solver(struct solver *s)
{
	divergence_close(&s->u);
	ptx_uses_free(&s->u.uses);
	free(s->u.facts);
	free(s->u.leaves_loop);
	free(s->queue);
	free(s->waiting);
	free(s->phi_index);
}

static void solve(struct solver *s)
{
	for (uint32_t v = 1; v < s->u.f->nvalues; v++)
		if (ptx_value_block(s->u.f, &s->u.uses, v) != PTX_NONE)
			enqueue(&s->u, v);
	for (uint32_t b = 0; b < s->u.f->nblocks; b++) /* branches on special registers */
		check_branch(&s->u, b);
	while (s->count)
		settle(s, dequeue(s));
}

static void publish(const struct uniform *u, struct ptx_uniform *out)
{
	for (uint32_t v = 1; v < u->f->nvalues; v++) {
		const struct fact *x = &u->facts[v];
		bool known = x->kind == FACT_KNOWN;
		out[v].level = (uint8_t)fact_level(x);
		out[v].affine = known;
		out[v].base = known ? x->base : PTX_LEVEL_THREAD;
		out[v].may_wrap = known && x->may_wrap;
		memcpy(out[v].stride, x->stride, sizeof(out[v].stride));
	}
	out[0] = (struct ptx_uniform){.affine = true};
}

int ptx_uniformity_find(const struct ptx_func *f, const struct ptx_module *m, struct ptx_uniformity *out)
{
	struct solver s = {.u = {.f = f, .m = m}};
	*out = (struct ptx_uniformity){0};
	out->values = calloc((size_t)f->nvalues + 1, sizeof(*out->values));
	out->control = calloc((size_t)f->nblocks + 1, 1);
	int rc = open_solver(&s);
	if (!out->values || !out->control)
		rc = CUTRACE_ENOMEM;
	if (!rc) {
		solve(&s);
		publish(&s.u, out->values);
		rc = divergence_control(&s.u, out->control);
		out->divergent = s.u.divergent;
		out->bounded = s.u.bounded;
		s.u.divergent = NULL;
	}
	free(s.u.divergent);
	close_solver(&s);
	if (rc)
		ptx_uniformity_free(out);
	return rc;
}

void ptx_uniformity_free(struct ptx_uniformity *u)
{
	free(u->values);
	free(u->control);
	free(u->divergent);
	*u = (struct ptx_uniformity){0};
}
