/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that make up a kernel. An indirect call may reach every function of its .calltargets, or, with a
 * .callprototype, those of that signature whose address the code or an initialiser takes (PTX ISA 9.7.12.5).
 */
#include "ptx/lower/call_graph.h"

#include <stdlib.h>

enum { MOST_FUNCTIONS = 2000 };

static bool same_parameters(const struct ptx_param *a, uint32_t na, const struct ptx_param *b, uint32_t nb)
{
	for (uint32_t k = 0; na == nb && k < na; k++)
		if (a[k].size != b[k].size)
			return false;
	return na == nb;
}

static bool fits(const struct ptx_list *prototype, const struct ptx_func *f)
{
	return same_parameters(prototype->params, prototype->nparams, f->params, f->nparams) &&
	       same_parameters(prototype->rets, prototype->nrets, f->rets, f->nrets);
}

bool call_may_reach(const struct lower *l, const struct ptx_func *f, const struct ptx_inst *i, uint32_t func)
{
	const struct ptx_func *callee = l->m->funcs[func];

	if (i->op != PTX_OP_CALL || callee->is_decl || callee->is_entry)
		return false;
	if (i->target != PTX_NONE)
		return i->target == func;
	if (i->table == PTX_NONE)
		return false;
	const struct ptx_list *t = &f->lists[i->table];
	if (!t->is_functions)
		return l->facts[func].addressed && fits(t, callee);
	for (uint32_t k = 0; k < t->n; k++)
		if (t->items[k] == func)
			return true;
	return false;
}

static void reach(struct lower *l, uint32_t func)
{
	const struct ptx_func *f = l->m->funcs[func];

	if (l->facts[func].reached || f->is_decl || f->state != PTX_BUILT)
		return;
	l->facts[func].reached = true;
	l->order[l->norder++] = func;
}

static void take_address(struct lower *l, uint32_t func)
{
	const struct ptx_func *f = l->m->funcs[func];

	l->facts[func].addressed |= !f->is_decl && !f->is_entry && f->state == PTX_BUILT;
}

static void initialisers(struct lower *l)
{
	for (uint32_t s = 0; s < l->m->nsymbols; s++)
		for (uint32_t k = 0; k < l->m->symbols[s]->nrelocs; k++)
			if (l->m->symbols[s]->relocs[k].is_func)
				take_address(l, l->m->symbols[s]->relocs[k].symbol);
}

static void addresses(struct lower *l, const struct ptx_func *f)
{
	for (uint32_t n = 0; n < f->ninsts; n++)
		for (uint32_t k = 0; k < f->insts[n].nsrc; k++)
			if (f->insts[n].src[k].kind == PTX_OPND_FUNC)
				take_address(l, f->insts[n].src[k].index);
}

static void callees(struct lower *l, const struct ptx_func *f)
{
	for (uint32_t n = 0; n < f->ninsts; n++) {
		const struct ptx_inst *i = &f->insts[n];
		if (i->op == PTX_OP_CALL && i->target != PTX_NONE)
			reach(l, i->target);
		for (uint32_t k = 0; i->op == PTX_OP_CALL && i->target == PTX_NONE && k < l->m->nfuncs; k++)
			if (call_may_reach(l, f, i, k))
				reach(l, k);
	}
}

/* Functions that take addresses may be found after the calls that they concern: until nothing is new. */
static void reach_all(struct lower *l)
{
	uint32_t before;

	if (l->kernel->calls_indirect)
		initialisers(l);
	reach(l, l->kernel->index);
	do {
		before = l->norder;
		for (uint32_t k = 0; k < l->norder; k++)
			addresses(l, l->m->funcs[l->order[k]]);
		for (uint32_t k = 0; k < l->norder; k++)
			callees(l, l->m->funcs[l->order[k]]);
	} while (l->norder != before);
}

/* Row a of the matrix, a bit for each function that the one at place a calls. */
static void fill_row(const struct lower *l, const struct ptx_func *f, uint64_t *row)
{
	for (uint32_t n = 0; n < f->ninsts; n++) {
		const struct ptx_inst *i = &f->insts[n];
		for (uint32_t k = 0; i->op == PTX_OP_CALL && k < l->norder; k++)
			if (call_may_reach(l, f, i, l->order[k]))
				row[k / 64] |= 1ull << k % 64;
	}
}

/* Closed transitively; who then calls itself is recursive. */
static bool find_recursion(struct lower *l)
{
	uint32_t n = l->norder, words = n / 64 + 1;
	uint64_t *calls = calloc((size_t)n * words, sizeof(*calls));

	if (!calls)
		return lower_no_memory(l);
	for (uint32_t a = 0; a < n; a++)
		fill_row(l, l->m->funcs[l->order[a]], calls + (size_t)a * words);
	for (uint32_t via = 0; via < n; via++)
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t w = 0; calls[(size_t)a * words + via / 64] >> via % 64 & 1 && w < words;
			     w++)
				calls[(size_t)a * words + w] |= calls[(size_t)via * words + w];
	for (uint32_t a = 0; a < n; a++)
		l->facts[l->order[a]].recursive = calls[(size_t)a * words + a / 64] >> a % 64 & 1;
	free(calls);
	return true;
}

bool call_graph_find(struct lower *l)
{
	l->facts = calloc(l->m->nfuncs, sizeof(*l->facts));
	l->order = calloc(l->m->nfuncs, sizeof(*l->order));
	l->norder = 0;
	if (!l->facts || !l->order)
		return lower_no_memory(l);
	reach_all(l);
	if (l->norder > MOST_FUNCTIONS)
		return lower_refuse(l, "it may call %u functions", l->norder);
	return find_recursion(l);
}

void call_graph_free(struct lower *l)
{
	for (uint32_t k = 0; l->facts && k < l->m->nfuncs; k++) {
		free(l->facts[k].together);
		free(l->facts[k].anew);
	}
	free(l->facts);
	free(l->order);
	l->facts = NULL;
	l->order = NULL;
}
