/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/verify: the invariants of the IR that other components rely on. */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

struct verifier {
	const struct ptx_module *m;
	const struct ptx_func *f;
	struct diag *d;
	uint32_t *block_of; /* by instruction, PTX_NONE = in no block */
	uint8_t *defined;   /* by value */
	uint32_t *enter, *leave;
};

static int bad(struct verifier *v, const struct ptx_inst *i, const char *fmt, ...) DIAG_PRINTF(3, 4);
static int bad(struct verifier *v, const struct ptx_inst *i, const char *fmt, ...)
{
	char where[sizeof(v->d->where)];
	va_list ap;
	snprintf(where, sizeof(where), "%.200s:%u:%u", v->m->name, i ? i->line : v->f->line, i ? i->col : 1);
	va_start(ap, fmt);
	diag_vset(v->d, CUTRACE_ECORRUPT, where, fmt, ap);
	va_end(ap);
	return CUTRACE_ECORRUPT;
}

static bool is_terminator(const struct verifier *v, const struct ptx_inst *i)
{
	return i->op == PTX_OP_BRA || i->op == PTX_OP_BRX_IDX || i->op == PTX_OP_RET ||
	       i->op == PTX_OP_EXIT ||
	       (i->op == PTX_OP_CALL && i->target != PTX_NONE && v->m->funcs[i->target]->noreturn);
}

static int check_block(struct verifier *v, uint32_t k)
{
	const struct ptx_block *b = &v->f->blocks[k];
	if (!b->ninsts || b->first > v->f->ninsts || b->ninsts > v->f->ninsts - b->first)
		return bad(v, NULL, "block %u has no or foreign instructions", k);
	for (uint32_t n = b->first; n < b->first + b->ninsts; n++) {
		if (v->block_of[n] != PTX_NONE)
			return bad(v, &v->f->insts[n], "instruction %u is in two blocks", n);
		v->block_of[n] = k;
		if (n + 1 < b->first + b->ninsts && is_terminator(v, &v->f->insts[n]))
			return bad(v, &v->f->insts[n], "a branch in the middle of block %u", k);
	}
	for (uint32_t s = 0; s < b->nsuccs; s++)
		if (b->succs[s] >= v->f->nblocks)
			return bad(v, NULL, "block %u has a successor that doesn't exist", k);
	return 0;
}

static bool is_reachable(const struct ptx_func *f, uint32_t k)
{
	return k == 0 || f->blocks[k].idom != PTX_NONE;
}

static uint32_t count_edges(const uint32_t *list, uint32_t n, uint32_t to)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i++)
		count += list[i] == to;
	return count;
}

static int check_edges(struct verifier *v, uint32_t k)
{
	const struct ptx_block *b = &v->f->blocks[k];
	if (k == 0 && b->npreds)
		return bad(v, NULL, "the entry block has predecessors");
	for (uint32_t p = 0; p < b->npreds; p++) {
		if (b->preds[p] >= v->f->nblocks || !is_reachable(v->f, b->preds[p]))
			return bad(v, NULL,
				   "block %u has a predecessor that doesn't exist or is never reached", k);
		const struct ptx_block *from = &v->f->blocks[b->preds[p]];
		if (count_edges(from->succs, from->nsuccs, k) !=
		    count_edges(b->preds, b->npreds, b->preds[p]))
			return bad(v, NULL, "blocks %u and %u disagree about their edges", b->preds[p], k);
	}
	for (uint32_t s = 0; is_reachable(v->f, k) && s < b->nsuccs; s++) {
		const struct ptx_block *to = &v->f->blocks[b->succs[s]];
		if (!count_edges(to->preds, to->npreds, k))
			return bad(v, NULL, "block %u lacks its predecessor %u", b->succs[s], k);
	}
	return 0;
}

/* idom is a tree over the reached blocks: give it preorder intervals. */
static int number_tree(struct verifier *v)
{
	const struct ptx_func *f = v->f;
	uint32_t n = f->nblocks, clock = 0, depth = 0;
	uint32_t *child = malloc((size_t)n * 3 * sizeof(*child));
	if (!child)
		return diag_set(v->d, CUTRACE_ENOMEM, v->m->name, "out of memory");
	uint32_t *sibling = child + n, *stack = child + 2 * (size_t)n;
	memset(child, 0xff, (size_t)n * 2 * sizeof(*child));
	memset(v->enter, 0xff, n * sizeof(*v->enter));
	for (uint32_t k = n; k-- > 1;) {
		uint32_t p = f->blocks[k].idom;
		if (p == PTX_NONE || p >= n || p == k)
			continue;
		sibling[k] = child[p];
		child[p] = k;
	}
	for (uint32_t node = 0; node != PTX_NONE;) {
		v->enter[node] = clock++;
		stack[depth++] = node;
		uint32_t next = child[node];
		while (next == PTX_NONE && depth) {
			v->leave[stack[--depth]] = clock - 1;
			next = sibling[stack[depth]];
		}
		node = next;
	}
	free(child);
	for (uint32_t k = 1; k < n; k++)
		if (f->blocks[k].idom != PTX_NONE && v->enter[k] == PTX_NONE)
			return bad(v, NULL, "the dominators of block %u don't lead to the entry", k);
	return 0;
}

static bool dominates(const struct verifier *v, uint32_t a, uint32_t b)
{
	return v->enter[a] <= v->enter[b] && v->enter[b] <= v->leave[a];
}

static int define(struct verifier *v, const struct ptx_inst *i, uint32_t value, uint32_t def,
		  uint32_t phi_block)
{
	const struct ptx_func *f = v->f;
	if (!value || value >= f->nvalues)
		return bad(v, i, "value %u doesn't exist or can't be written", value);
	if (v->defined[value])
		return bad(v, i, "value %u is defined twice", value);
	v->defined[value] = 1;
	const struct ptx_value *x = &f->values[value];
	if (x->def != def || x->phi_block != phi_block || x->slot >= f->nslots || !x->slot ||
	    x->bits != f->slots[x->slot].bits)
		return bad(v, i, "value %u doesn't know its definition or register", value);
	return 0;
}

static int check_definitions(struct verifier *v)
{
	const struct ptx_func *f = v->f;
	int rc = 0;
	for (uint32_t k = 0; k < f->nblocks && !rc; k++)
		for (uint32_t n = 0; n < f->blocks[k].nphis && !rc; n++)
			rc = define(v, NULL, f->blocks[k].phis[n].value, PTX_NONE, k);
	for (uint32_t n = 0; n < f->ninsts && !rc; n++)
		for (uint32_t k = 0; k < f->insts[n].ndst && !rc; k++)
			if (f->insts[n].dst[k].kind == PTX_OPND_VALUE)
				rc = define(v, &f->insts[n], f->insts[n].dst[k].index, n, PTX_NONE);
	for (uint32_t x = 1; x < f->nvalues && !rc; x++)
		if (!v->defined[x] && (f->values[x].def != PTX_NONE || f->values[x].phi_block != PTX_NONE))
			rc = bad(v, NULL, "value %u has no definition", x);
	return rc;
}

/* The value must be there at instruction `at` (or at the end of `block` when at is PTX_NONE). */
static int check_use(struct verifier *v, const struct ptx_inst *i, uint32_t value, uint32_t block,
		     uint32_t at)
{
	if (value >= v->f->nvalues)
		return bad(v, i, "value %u doesn't exist", value);
	const struct ptx_value *x = &v->f->values[value];
	if (!value || !is_reachable(v->f, block))
		return 0;
	if (x->phi_block != PTX_NONE)
		return dominates(v, x->phi_block, block)
			       ? 0
			       : bad(v, i, "a phi's value %u is used outside its reach", value);
	if (x->def == PTX_NONE)
		return 0; /* register parameter */
	uint32_t home = v->block_of[x->def];
	bool ok = home == block ? at == PTX_NONE || x->def < at : dominates(v, home, block);
	return ok ? 0 : bad(v, i, "value %u is used where its definition doesn't reach", value);
}

static int check_kind(struct verifier *v, const struct ptx_inst *i, const struct ptx_operand *o)
{
	switch (o->kind) {
	case PTX_OPND_SREG: return o->index < PTX_NSREGS ? 0 : bad(v, i, "no such special register");
	case PTX_OPND_SYMBOL: return o->index < v->m->nsymbols ? 0 : bad(v, i, "no such symbol");
	case PTX_OPND_FUNC: return o->index < v->m->nfuncs ? 0 : bad(v, i, "no such function");
	case PTX_OPND_PARAM: return o->index < 2 ? 0 : bad(v, i, "no such parameter block");
	case PTX_OPND_VALUE:
	case PTX_OPND_IMM:
	case PTX_OPND_SINK: return 0;
	default: return bad(v, i, "operand of unknown kind %u", o->kind);
	}
}

/* Register widths again, for rows whose letters and operands correspond one to one. */
static int check_widths(struct verifier *v, const struct ptx_inst *i)
{
	const struct ptx_op_row *row = &ptx_op_rows[i->op];
	unsigned nsrc = i->nsrc - !!(i->flags & PTX_F_CARRY_IN);
	if (strlen(row->src) != nsrc || strpbrk(row->src, "?*mMlck") || i->op == PTX_OP_RET)
		return 0;
	for (unsigned k = 0; k < nsrc; k++) {
		unsigned want;
		bool wider;
		if (i->src[k].kind != PTX_OPND_VALUE || !i->src[k].index || row->src[k] == 'a')
			continue;
		ptx_letter_type(i, row->src[k], (int)k, &want, &wider);
		unsigned have = v->f->values[i->src[k].index].bits;
		if (want && have != want && !(wider && have > want))
			return bad(v, i, "source %u has %u bits instead of %u", k, have, want);
	}
	return 0;
}

static int check_prev(struct verifier *v, const struct ptx_inst *i, uint32_t block, uint32_t n)
{
	bool writes = false;
	for (unsigned k = 0; k < i->ndst; k++)
		writes |= i->dst[k].kind == PTX_OPND_VALUE;
	if ((i->guarded && writes) != !!i->prev)
		return bad(v, i, "previous values are kept exactly for guarded definitions");
	for (unsigned k = 0; i->prev && k < i->ndst; k++) {
		if (i->dst[k].kind != PTX_OPND_VALUE)
			continue;
		int rc = check_use(v, i, i->prev[k], block, n);
		if (rc)
			return rc;
		if (i->prev[k] && v->f->values[i->prev[k]].slot != v->f->values[i->dst[k].index].slot)
			return bad(v, i, "a guarded definition keeps another register's value");
	}
	return 0;
}

static int check_inst(struct verifier *v, uint32_t n)
{
	const struct ptx_inst *i = &v->f->insts[n];
	uint32_t block = v->block_of[n];
	if (i->op >= PTX_NOPS || i->type >= PTX_NTYPES || i->src != i->dst + i->ndst)
		return bad(v, i, "malformed instruction %u", n);
	if (block == PTX_NONE)
		return bad(v, i, "instruction %u is in no block", n);
	if (i->op == PTX_OP_BRA && i->target != v->f->blocks[block].succs[0])
		return bad(v, i, "the first successor isn't the branch's target");
	if (i->guarded) {
		int rc = check_use(v, i, i->guard, block, n);
		if (rc)
			return rc;
		if (i->guard && v->f->values[i->guard].bits != 1)
			return bad(v, i, "the guard isn't a predicate");
	}
	for (unsigned k = 0; k < (unsigned)i->ndst + i->nsrc; k++) {
		int rc = check_kind(v, i, &i->dst[k]);
		if (!rc && k >= i->ndst && i->dst[k].kind == PTX_OPND_VALUE)
			rc = check_use(v, i, i->dst[k].index, block, n);
		if (rc)
			return rc;
	}
	int rc = check_prev(v, i, block, n);
	return rc ? rc : check_widths(v, i);
}

static int check_phis(struct verifier *v, uint32_t k)
{
	const struct ptx_func *f = v->f;
	const struct ptx_block *b = &f->blocks[k];
	for (uint32_t n = 0; n < b->nphis; n++)
		for (uint32_t p = 0; p < b->npreds; p++) {
			uint32_t arg = b->phis[n].args[p];
			int rc = check_use(v, NULL, arg, b->preds[p], PTX_NONE);
			if (rc)
				return rc;
			if (arg && f->values[arg].slot != f->values[b->phis[n].value].slot)
				return bad(v, NULL, "a phi of block %u joins different registers", k);
		}
	return 0;
}

static int check_all(struct verifier *v)
{
	const struct ptx_func *f = v->f;
	int rc = 0;
	for (uint32_t k = 0; k < f->nblocks && !rc; k++)
		rc = check_block(v, k);
	for (uint32_t k = 0; k < f->nblocks && !rc; k++)
		rc = check_edges(v, k);
	if (!rc)
		rc = number_tree(v);
	if (!rc)
		rc = check_definitions(v);
	for (uint32_t n = 0; n < f->ninsts && !rc; n++)
		rc = check_inst(v, n);
	for (uint32_t k = 0; k < f->nblocks && !rc; k++)
		rc = check_phis(v, k);
	return rc;
}

int ptx_func_verify(const struct ptx_module *m, const struct ptx_func *f, struct diag *d)
{
	struct diag ignored;
	struct verifier v = {.m = m, .f = f, .d = d ? d : &ignored};
	if (!f->nblocks || !f->ninsts || !f->nvalues || !f->nslots)
		return bad(&v, NULL, "'%s' isn't built", f->name);
	v.block_of = malloc(f->ninsts * sizeof(*v.block_of));
	v.enter = calloc((size_t)f->nblocks * 2, sizeof(*v.enter));
	v.defined = calloc(f->nvalues, 1);
	int rc;
	if (v.block_of && v.enter && v.defined) {
		memset(v.block_of, 0xff, f->ninsts * sizeof(*v.block_of));
		v.leave = v.enter + f->nblocks;
		rc = check_all(&v);
	} else {
		rc = diag_set(v.d, CUTRACE_ENOMEM, m->name, "out of memory");
	}
	free(v.block_of);
	free(v.enter);
	free(v.defined);
	return rc;
}
