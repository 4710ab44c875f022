/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/liveness: from each use backwards to the definition, value by value (Boissinot et al., "Computing
 * Liveness Sets for SSA-Form Programs"): the work is that of writing the answer. Two passes: count, then fill. */
#include <stdlib.h>
#include <string.h>

#include "ptx/analysis.h"

enum { MAX_ENTRIES = 1 << 28 };

struct tracer {
	const struct ptx_func *f;
	struct ptx_liveness *l;
	uint32_t *seen_in, *seen_out; /* by block: last value that was found live there */
	uint32_t *stack;              /* blocks in which the value is live and whose predecessors are to do */
	uint32_t *next_in, *next_out; /* NULL while counting */
	uint64_t entries;
};

static void live_out(struct tracer *t, uint32_t b, uint32_t v)
{
	if (t->seen_out[b] == v)
		return;
	t->seen_out[b] = v;
	t->entries++;
	if (t->next_out)
		t->l->out[t->next_out[b]++] = v;
	else
		t->l->first_out[b + 1]++;
}

static bool live_in(struct tracer *t, uint32_t b, uint32_t v)
{
	if (t->seen_in[b] == v)
		return false;
	t->seen_in[b] = v;
	t->entries++;
	if (t->next_in)
		t->l->in[t->next_in[b]++] = v;
	else
		t->l->first_in[b + 1]++;
	return true;
}

/* v is needed in block b (at its end when `at_end`), and made in block `def`. */
static void trace(struct tracer *t, uint32_t v, uint32_t def, uint32_t b, bool at_end)
{
	uint32_t depth = 0;
	if (at_end)
		live_out(t, b, v);
	if (b != def && live_in(t, b, v))
		t->stack[depth++] = b;
	while (depth) {
		const struct ptx_block *block = &t->f->blocks[t->stack[--depth]];
		for (uint32_t k = 0; k < block->npreds; k++) {
			uint32_t p = block->preds[k];
			live_out(t, p, v);
			if (p != def && live_in(t, p, v))
				t->stack[depth++] = p;
		}
	}
}

/* A use in the block of the definition is behind it, but for instructions that read what they write the next
 * time round: those have a phi. */
static void trace_value(struct tracer *t, uint32_t v)
{
	const struct ptx_uses *u = &t->l->uses;
	uint32_t def = ptx_value_block(t->f, u, v);
	for (uint32_t k = u->first[v]; k < u->first[v + 1] && def != PTX_NONE; k++) {
		const struct ptx_use *use = &u->at[k];
		bool reachable = use->block == 0 || t->f->blocks[use->block].npreds;
		if (reachable)
			trace(t, v, def, use->block, use->inst == PTX_NONE);
	}
}

static bool trace_all(struct tracer *t)
{
	memset(t->seen_in, 0, t->f->nblocks * sizeof(*t->seen_in));
	memset(t->seen_out, 0, t->f->nblocks * sizeof(*t->seen_out));
	for (uint32_t v = 1; v < t->f->nvalues; v++) {
		trace_value(t, v);
		if (t->entries > MAX_ENTRIES)
			return false;
	}
	return true;
}

static int open_rows(struct tracer *t)
{
	struct ptx_liveness *l = t->l;
	uint32_t n = t->f->nblocks;
	for (uint32_t b = 0; b < n; b++) {
		l->first_in[b + 1] += l->first_in[b];
		l->first_out[b + 1] += l->first_out[b];
	}
	l->in = malloc(((size_t)l->first_in[n] + 1) * sizeof(*l->in));
	l->out = malloc(((size_t)l->first_out[n] + 1) * sizeof(*l->out));
	t->next_in = malloc(((size_t)n + 1) * sizeof(*t->next_in));
	t->next_out = malloc(((size_t)n + 1) * sizeof(*t->next_out));
	if (!l->in || !l->out || !t->next_in || !t->next_out)
		return CUTRACE_ENOMEM;
	memcpy(t->next_in, l->first_in, n * sizeof(*t->next_in));
	memcpy(t->next_out, l->first_out, n * sizeof(*t->next_out));
	return 0;
}

static int find(struct tracer *t)
{
	uint32_t n = t->f->nblocks;
	struct ptx_liveness *l = t->l;
	l->first_in = calloc((size_t)n + 2, sizeof(*l->first_in));
	l->first_out = calloc((size_t)n + 2, sizeof(*l->first_out));
	t->seen_in = malloc(((size_t)n + 1) * sizeof(*t->seen_in));
	t->seen_out = malloc(((size_t)n + 1) * sizeof(*t->seen_out));
	t->stack = malloc(((size_t)n + 1) * sizeof(*t->stack));
	if (!l->first_in || !l->first_out || !t->seen_in || !t->seen_out || !t->stack)
		return CUTRACE_ENOMEM;
	if (!trace_all(t))
		return CUTRACE_ENOTSUP;
	int rc = open_rows(t);
	if (!rc)
		trace_all(t);
	return rc;
}

int ptx_liveness_find(const struct ptx_func *f, struct ptx_liveness *l)
{
	struct tracer t = {.f = f, .l = l};
	*l = (struct ptx_liveness){0};
	int rc = ptx_uses_find(f, &l->uses);
	if (!rc)
		rc = find(&t);
	free(t.seen_in);
	free(t.seen_out);
	free(t.stack);
	free(t.next_in);
	free(t.next_out);
	if (rc)
		ptx_liveness_free(l);
	return rc;
}

void ptx_liveness_free(struct ptx_liveness *l)
{
	free(l->first_in);
	free(l->in);
	free(l->first_out);
	free(l->out);
	ptx_uses_free(&l->uses);
	*l = (struct ptx_liveness){0};
}

int ptx_live_walk_open(struct ptx_live_walk *w, const struct ptx_func *f)
{
	*w = (struct ptx_live_walk){.f = f};
	w->values = malloc(((size_t)f->nvalues + 1) * sizeof(*w->values));
	w->place = calloc((size_t)f->nvalues + 1, sizeof(*w->place));
	if (w->values && w->place)
		return 0;
	ptx_live_walk_close(w);
	return CUTRACE_ENOMEM;
}

void ptx_live_walk_close(struct ptx_live_walk *w)
{
	free(w->values);
	free(w->place);
	*w = (struct ptx_live_walk){0};
}

static void born(void *ctx, uint32_t v)
{
	struct ptx_live_walk *w = ctx;
	if (w->place[v])
		return;
	w->values[w->n++] = v;
	w->place[v] = w->n;
}

static void dies(struct ptx_live_walk *w, uint32_t v)
{
	uint32_t at = w->place[v];
	if (!at)
		return;
	uint32_t last = w->values[--w->n];
	w->values[at - 1] = last;
	w->place[last] = at;
	w->place[v] = 0;
}

void ptx_live_walk_begin(struct ptx_live_walk *w, const struct ptx_liveness *l, uint32_t block)
{
	while (w->n)
		w->place[w->values[--w->n]] = 0;
	w->block = block;
	w->inst = w->f->blocks[block].first + w->f->blocks[block].ninsts - 1;
	for (uint32_t k = l->first_out[block]; k < l->first_out[block + 1]; k++)
		born(w, l->out[k]);
}

bool ptx_live_walk_back(struct ptx_live_walk *w)
{
	const struct ptx_inst *i = &w->f->insts[w->inst];
	for (unsigned k = 0; k < i->ndst; k++)
		if (i->dst[k].kind == PTX_OPND_VALUE && i->dst[k].index)
			dies(w, i->dst[k].index);
	ptx_inst_reads(i, born, w);
	if (w->inst == w->f->blocks[w->block].first)
		return false;
	w->inst--;
	return true;
}
