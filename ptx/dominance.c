/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/dominance: immediate dominators by Lengauer and Tarjan's algorithm in its
 * O(m log n) form (TOPLAS 1(1), 1979), without recursion. Post-dominators are
 * dominators of the reversed graph behind a virtual exit, to which every block
 * that can't reach a real exit is tied as well. Irreducible graphs are fine. */
#include <stdlib.h>
#include <string.h>

#include "ptx/body.h"

struct tarjan {
	const uint32_t *first_succ, *succs, *first_pred, *preds;
	uint32_t n, visited;
	uint32_t *number; /* of a node, preorder from 1; 0 = unreachable */
	uint32_t *vertex; /* node by number */
	uint32_t *parent; /* the following are by number */
	uint32_t *semi, *ancestor, *best, *idom, *bucket, *next_in_bucket;
	uint32_t *stack, *edge;
};

static void number_nodes(struct tarjan *t, uint32_t entry)
{
	uint32_t depth = 0;
	t->number[entry] = ++t->visited;
	t->vertex[t->visited] = entry;
	t->stack[depth] = entry;
	t->edge[depth++] = t->first_succ[entry];
	while (depth) {
		uint32_t node = t->stack[depth - 1];
		if (t->edge[depth - 1] == t->first_succ[node + 1]) {
			depth--;
			continue;
		}
		uint32_t to = t->succs[t->edge[depth - 1]++];
		if (t->number[to])
			continue;
		t->number[to] = ++t->visited;
		t->vertex[t->visited] = to;
		t->parent[t->visited] = t->number[node];
		t->stack[depth] = to;
		t->edge[depth++] = t->first_succ[to];
	}
}

/* Path compression; the path is kept on the stack. */
static uint32_t evaluate(struct tarjan *t, uint32_t v)
{
	if (!t->ancestor[v])
		return v;
	uint32_t depth = 0;
	for (uint32_t u = v; t->ancestor[t->ancestor[u]]; u = t->ancestor[u])
		t->stack[depth++] = u;
	while (depth) {
		uint32_t u = t->stack[--depth], a = t->ancestor[u];
		if (t->semi[t->best[a]] < t->semi[t->best[u]])
			t->best[u] = t->best[a];
		t->ancestor[u] = t->ancestor[a];
	}
	return t->best[v];
}

static void find_semi(struct tarjan *t, uint32_t w)
{
	uint32_t node = t->vertex[w];
	for (uint32_t e = t->first_pred[node]; e < t->first_pred[node + 1]; e++) {
		uint32_t v = t->number[t->preds[e]];
		if (!v)
			continue;
		uint32_t u = evaluate(t, v);
		if (t->semi[u] < t->semi[w])
			t->semi[w] = t->semi[u];
	}
}

static void solve(struct tarjan *t)
{
	for (uint32_t w = 1; w <= t->visited; w++)
		t->semi[w] = t->best[w] = w;
	for (uint32_t w = t->visited; w >= 2; w--) {
		find_semi(t, w);
		t->next_in_bucket[w] = t->bucket[t->semi[w]];
		t->bucket[t->semi[w]] = w;
		uint32_t p = t->parent[w];
		t->ancestor[w] = p;
		for (uint32_t v = t->bucket[p]; v; v = t->next_in_bucket[v]) {
			uint32_t u = evaluate(t, v);
			t->idom[v] = t->semi[u] < t->semi[v] ? u : p;
		}
		t->bucket[p] = 0;
	}
	for (uint32_t w = 2; w <= t->visited; w++)
		if (t->idom[w] != t->semi[w])
			t->idom[w] = t->idom[t->idom[w]];
}

int dominators(uint32_t n, uint32_t entry, const uint32_t *first_succ, const uint32_t *succs,
	       const uint32_t *first_pred, const uint32_t *preds, uint32_t *idom)
{
	enum { ARRAYS = 11 };
	size_t each = (size_t)n + 2;
	uint32_t *memory = calloc(each * ARRAYS, sizeof(*memory));
	if (!memory)
		return CUTRACE_ENOMEM;
	struct tarjan t = {
		.first_succ = first_succ, .succs = succs, .first_pred = first_pred, .preds = preds, .n = n};
	uint32_t **arrays[ARRAYS] = {&t.number, &t.vertex, &t.parent, &t.semi,           &t.ancestor, &t.best,
				     &t.idom,   &t.bucket, &t.stack,  &t.next_in_bucket, &t.edge};
	for (int i = 0; i < ARRAYS; i++)
		*arrays[i] = memory + each * (size_t)i;
	number_nodes(&t, entry);
	solve(&t);
	for (uint32_t v = 0; v < n; v++) {
		uint32_t w = t.number[v];
		idom[v] = w >= 2 ? t.vertex[t.idom[w]] : PTX_NONE;
	}
	free(memory);
	return 0;
}

/* A graph in compressed rows, both ways. */
struct graph {
	uint32_t n, nedges;
	uint32_t *first_out, *out, *first_in, *in;
};

static void free_graph(struct graph *g)
{
	free(g->first_out);
	free(g->out);
	free(g->first_in);
	free(g->in);
}

static int make_graph(struct graph *g, uint32_t n, const uint32_t *from, const uint32_t *to, uint32_t nedges)
{
	*g = (struct graph){.n = n, .nedges = nedges};
	g->first_out = calloc((size_t)n + 2, sizeof(uint32_t));
	g->first_in = calloc((size_t)n + 2, sizeof(uint32_t));
	g->out = malloc(((size_t)nedges + 1) * sizeof(uint32_t));
	g->in = malloc(((size_t)nedges + 1) * sizeof(uint32_t));
	if (!g->first_out || !g->first_in || !g->out || !g->in)
		return CUTRACE_ENOMEM;
	for (uint32_t e = 0; e < nedges; e++) {
		g->first_out[from[e] + 2]++;
		g->first_in[to[e] + 2]++;
	}
	for (uint32_t v = 0; v < n; v++) {
		g->first_out[v + 2] += g->first_out[v + 1];
		g->first_in[v + 2] += g->first_in[v + 1];
	}
	for (uint32_t e = 0; e < nedges; e++) {
		g->out[g->first_out[from[e] + 1]++] = to[e];
		g->in[g->first_in[to[e] + 1]++] = from[e];
	}
	return 0;
}

struct edges {
	uint32_t *from, *to;
	uint32_t n, capacity, capacity2;
};

static bool add_edge(struct edges *e, uint32_t from, uint32_t to)
{
	if (!grow(&e->from, &e->capacity, e->n, sizeof(uint32_t)) ||
	    !grow(&e->to, &e->capacity2, e->n, sizeof(uint32_t)))
		return false;
	e->from[e->n] = from;
	e->to[e->n++] = to;
	return true;
}

static void free_edges(struct edges *e)
{
	free(e->from);
	free(e->to);
}

/* Blocks that the entry reaches, in depth-first postorder. Returns their number. */
static uint32_t postorder(const struct ptx_func *f, uint32_t *order, uint8_t *reached, uint32_t *stack,
			  uint32_t *edge)
{
	uint32_t depth = 0, n = 0;
	reached[0] = 1;
	stack[depth] = 0;
	edge[depth++] = 0;
	while (depth) {
		const struct ptx_block *b = &f->blocks[stack[depth - 1]];
		if (edge[depth - 1] == b->nsuccs) {
			order[n++] = stack[--depth];
			continue;
		}
		uint32_t to = b->succs[edge[depth - 1]++];
		if (reached[to])
			continue;
		reached[to] = 1;
		stack[depth] = to;
		edge[depth++] = 0;
	}
	return n;
}

static int set_preds(struct body *b, const uint8_t *reached)
{
	struct ptx_func *f = b->p.f;
	for (uint32_t k = 0; k < f->nblocks; k++)
		for (uint32_t s = 0; reached[k] && s < f->blocks[k].nsuccs; s++)
			f->blocks[f->blocks[k].succs[s]].npreds++;
	for (uint32_t k = 0; k < f->nblocks; k++) {
		f->blocks[k].preds = arena_array(&b->p.m->arena, f->blocks[k].npreds, sizeof(uint32_t));
		if (f->blocks[k].npreds && !f->blocks[k].preds)
			return parser_out_of_memory(&b->p);
		f->blocks[k].npreds = 0;
	}
	for (uint32_t k = 0; k < f->nblocks; k++)
		for (uint32_t s = 0; reached[k] && s < f->blocks[k].nsuccs; s++) {
			struct ptx_block *to = &f->blocks[f->blocks[k].succs[s]];
			to->preds[to->npreds++] = k;
		}
	return 0;
}

/* Marks everything from which `k` is reached. */
static void mark_backwards(const struct ptx_func *f, uint32_t k, uint8_t *seen, uint32_t *stack)
{
	uint32_t depth = 0;
	if (seen[k])
		return;
	seen[k] = 1;
	stack[depth++] = k;
	while (depth) {
		const struct ptx_block *b = &f->blocks[stack[--depth]];
		for (uint32_t i = 0; i < b->npreds; i++) {
			if (seen[b->preds[i]])
				continue;
			seen[b->preds[i]] = 1;
			stack[depth++] = b->preds[i];
		}
	}
}

/* Edges to the virtual exit: from blocks that no thread leaves otherwise (a guarded exit is none: the threads
 * that go on are those that reconverge), and from one block of each loop that never ends (the one that comes
 * last, so that the loop's inner joins stay joins). */
static bool exit_edges(const struct ptx_func *f, const uint32_t *order, uint32_t n, uint8_t *seen,
		       uint32_t *stack, struct edges *e)
{
	for (uint32_t i = 0; i < n; i++) {
		if (f->blocks[order[i]].nsuccs == 0) {
			if (!add_edge(e, f->nblocks, order[i]))
				return false;
			mark_backwards(f, order[i], seen, stack);
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (seen[order[i]])
			continue;
		if (!add_edge(e, f->nblocks, order[i]))
			return false;
		mark_backwards(f, order[i], seen, stack);
	}
	return true;
}

static bool reversed_edges(const struct ptx_func *f, const uint8_t *reached, struct edges *e)
{
	for (uint32_t k = 0; k < f->nblocks; k++)
		for (uint32_t s = 0; reached[k] && s < f->blocks[k].nsuccs; s++)
			if (!add_edge(e, f->blocks[k].succs[s], k))
				return false;
	return true;
}

static int solve_graph(const struct edges *e, uint32_t n, uint32_t entry, uint32_t *idom)
{
	struct graph g;
	int rc = make_graph(&g, n, e->from, e->to, e->n);
	if (!rc)
		rc = dominators(n, entry, g.first_out, g.out, g.first_in, g.in, idom);
	free_graph(&g);
	return rc;
}

static int forward(struct ptx_func *f, const uint8_t *reached, uint32_t *idom)
{
	struct edges e = {0};
	int rc = 0;
	for (uint32_t k = 0; k < f->nblocks && !rc; k++)
		for (uint32_t s = 0; reached[k] && s < f->blocks[k].nsuccs && !rc; s++)
			rc = add_edge(&e, k, f->blocks[k].succs[s]) ? 0 : CUTRACE_ENOMEM;
	if (!rc)
		rc = solve_graph(&e, f->nblocks, 0, idom);
	for (uint32_t k = 0; k < f->nblocks && !rc; k++)
		f->blocks[k].idom = idom[k];
	free_edges(&e);
	return rc;
}

static int backward(struct ptx_func *f, const uint8_t *reached, const uint32_t *order, uint32_t n,
		    uint32_t *scratch, uint32_t *idom)
{
	struct edges e = {0};
	uint8_t *seen = calloc(f->nblocks, 1);
	int rc = seen && exit_edges(f, order, n, seen, scratch, &e) && reversed_edges(f, reached, &e)
			 ? 0
			 : CUTRACE_ENOMEM;
	if (!rc)
		rc = solve_graph(&e, f->nblocks + 1, f->nblocks, idom);
	for (uint32_t k = 0; k < f->nblocks && !rc; k++)
		f->blocks[k].ipdom = idom[k] == f->nblocks ? PTX_NONE : idom[k];
	free_edges(&e);
	free(seen);
	return rc;
}

int build_dominance(struct body *b)
{
	struct ptx_func *f = b->p.f;
	uint32_t n = f->nblocks;
	uint32_t *memory = malloc(((size_t)n + 2) * 4 * sizeof(*memory));
	uint8_t *reached = calloc(n, 1);
	int rc = memory && reached ? 0 : parser_out_of_memory(&b->p);
	if (!rc) {
		uint32_t *order = memory, *stack = memory + n, *edge = memory + 2 * (size_t)n,
			 *idom = memory + 3 * (size_t)n;
		uint32_t count = postorder(f, order, reached, stack, edge);
		rc = set_preds(b, reached);
		if (!rc && (forward(f, reached, idom) || backward(f, reached, order, count, stack, idom)))
			rc = parser_out_of_memory(&b->p);
	}
	free(memory);
	free(reached);
	return rc;
}
