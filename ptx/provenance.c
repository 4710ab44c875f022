/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/provenance.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 64, MAX_CELLS = 1 << 20, CELL_BYTES = 4 };

int provenance_init(struct provenance *p, struct ptx_module *m, struct ptx_func *f)
{
	p->m = m;
	p->f = f;
	p->ncells = f->local_bytes / CELL_BYTES < MAX_CELLS ? (uint32_t)(f->local_bytes / CELL_BYTES) + 1 : 0;
	p->first_symbol = f->first_symbol;
	p->nsymbols = f->nsymbols;
	p->origin = calloc(f->nvalues, sizeof(*p->origin));
	p->place = malloc(f->nvalues * sizeof(*p->place));
	p->cells = calloc(p->ncells + 1, sizeof(*p->cells));
	p->arguments = calloc(p->nsymbols + 1, sizeof(*p->arguments));
	if (!p->origin || !p->place || !p->cells || !p->arguments)
		return CUTRACE_ENOMEM;
	for (uint32_t v = 0; v < f->nvalues; v++)
		p->place[v] = PLACE_UNSET;
	return 0;
}

void provenance_free(struct provenance *p)
{
	free(p->origin);
	free(p->place);
	free(p->cells);
	free(p->arguments);
}

static uint64_t symbol_origin(const struct ptx_symbol *s)
{
	switch (s->space) {
	case PTX_SPACE_LOCAL: return ORIGIN_LOCAL;
	case PTX_SPACE_SHARED: return ORIGIN_SHARED;
	case PTX_SPACE_PARAM: return ORIGIN_PARAM_SPACE;
	default: return ORIGIN_MODULE;
	}
}

static uint64_t param_at(const struct ptx_func *f, uint64_t offset)
{
	for (uint32_t k = f->nparams; k-- > 0;)
		if (f->params[k].slot == PTX_NONE && offset >= f->params[k].offset)
			return ORIGIN_PARAM(k);
	return 0;
}

uint64_t operand_origin(const struct provenance *p, const struct ptx_operand *o)
{
	switch (o->kind) {
	case PTX_OPND_VALUE: return p->origin[o->index];
	case PTX_OPND_SYMBOL: return symbol_origin(p->m->symbols[o->index]);
	case PTX_OPND_PARAM: return ORIGIN_PARAM_SPACE | (o->index ? 0 : param_at(p->f, o->imm));
	default: return 0;
	}
}

/* The place in the local frame that an operand, as an address, names. */
static int64_t operand_place(const struct provenance *p, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_SYMBOL && p->m->symbols[o->index]->space == PTX_SPACE_LOCAL)
		return (int64_t)(p->m->symbols[o->index]->offset + o->imm);
	if (o->kind != PTX_OPND_VALUE)
		return PLACE_ANY;
	int64_t at = p->place[o->index];
	return at == PLACE_UNSET || at == PLACE_ANY ? at : at + (int64_t)o->imm;
}

static void add(struct provenance *p, uint64_t *to, uint64_t origin)
{
	if ((*to | origin) == *to)
		return;
	*to |= origin;
	p->changed = true;
}

static void set_place(struct provenance *p, uint32_t value, int64_t at)
{
	int64_t *old = &p->place[value];
	if (at == PLACE_UNSET || *old == at || *old == PLACE_ANY)
		return;
	*old = *old == PLACE_UNSET ? at : PLACE_ANY;
	p->changed = true;
}

static void set_result(struct provenance *p, const struct ptx_inst *i, uint64_t origin, int64_t at)
{
	for (unsigned k = 0; k < i->ndst; k++) {
		if (i->dst[k].kind != PTX_OPND_VALUE)
			continue;
		uint32_t v = i->dst[k].index;
		if (p->f->values[v].bits < 32)
			continue;
		add(p, &p->origin[v], origin);
		set_place(p, v, at);
		if (!i->prev)
			continue;
		add(p, &p->origin[v], p->origin[i->prev[k]]);
		if (i->prev[k])
			set_place(p, v, p->place[i->prev[k]]);
	}
}

/* base + offset: when one side is certainly a pointer and the other isn't, the other is a number. */
static uint64_t sum(const struct provenance *p, uint64_t a, uint64_t b)
{
	uint64_t certain = p->strong | ORIGIN_KNOWN_BASE;
	if (a & certain && !(b & certain))
		return a;
	if (b & certain && !(a & certain))
		return b;
	return a | b;
}

static int64_t displaced(const struct provenance *p, const struct ptx_operand *base,
			 const struct ptx_operand *o, int sign)
{
	int64_t at = operand_place(p, base);
	if (at == PLACE_UNSET || at == PLACE_ANY)
		return at;
	return o->kind == PTX_OPND_IMM ? at + sign * (int64_t)o->imm : PLACE_ANY;
}

static void solve_add(struct provenance *p, const struct ptx_inst *i, int sign)
{
	uint64_t a = operand_origin(p, &i->src[0]), b = operand_origin(p, &i->src[1]);
	if (sign < 0) { /* a difference of pointers is a number */
		set_result(p, i, a, displaced(p, &i->src[0], &i->src[1], -1));
		return;
	}
	bool second = !(a & ORIGIN_LOCAL) && b & ORIGIN_LOCAL;
	int64_t at = displaced(p, &i->src[second], &i->src[!second], 1);
	set_result(p, i, sum(p, a, b), (a | b) & ORIGIN_LOCAL ? at : PLACE_UNSET);
}

static void solve_union(struct provenance *p, const struct ptx_inst *i, unsigned first, unsigned n)
{
	uint64_t origin = 0;
	for (unsigned k = first; k < first + n && k < i->nsrc; k++)
		origin |= operand_origin(p, &i->src[k]);
	set_result(p, i, origin, origin & ORIGIN_LOCAL ? PLACE_ANY : PLACE_UNSET);
}

static void solve_copy(struct provenance *p, const struct ptx_inst *i)
{
	if (i->ndst != 1 || i->nsrc != 1) {
		solve_union(p, i, 0, i->nsrc);
		return;
	}
	uint64_t origin = operand_origin(p, &i->src[0]);
	set_result(p, i, origin, origin & ORIGIN_LOCAL ? operand_place(p, &i->src[0]) : PLACE_UNSET);
}

static bool may_hold_pointer(const struct ptx_inst *i)
{
	return !ptx_type_is_float(i->type) && ptx_type_bits(i->type) >= 32;
}

static bool cell_range(const struct provenance *p, int64_t at, unsigned bytes, uint32_t *first,
		       uint32_t *last)
{
	if (at < 0 || !p->ncells || (uint64_t)at / CELL_BYTES >= p->ncells)
		return false;
	*first = (uint32_t)(at / CELL_BYTES);
	uint64_t end = ((uint64_t)at + bytes - 1) / CELL_BYTES;
	*last = end < p->ncells ? (uint32_t)end : p->ncells - 1;
	return true;
}

static uint64_t load_local(const struct provenance *p, int64_t at, unsigned bytes)
{
	uint32_t first, last;
	uint64_t origin = p->everywhere;
	if (!cell_range(p, at, bytes, &first, &last))
		return at == PLACE_UNSET ? 0 : p->anywhere;
	for (uint32_t k = first; k <= last; k++)
		origin |= p->cells[k];
	return origin;
}

static void store_local(struct provenance *p, int64_t at, unsigned bytes, uint64_t origin)
{
	uint32_t first, last;
	if (at == PLACE_UNSET)
		return;
	add(p, &p->anywhere, origin);
	if (!cell_range(p, at, bytes, &first, &last)) {
		add(p, &p->everywhere, origin);
		return;
	}
	for (uint32_t k = first; k <= last; k++)
		add(p, &p->cells[k], origin);
}

static uint64_t *argument_cell(const struct provenance *p, const struct ptx_operand *o)
{
	if (o->kind != PTX_OPND_SYMBOL || o->index < p->first_symbol ||
	    o->index - p->first_symbol >= p->nsymbols)
		return NULL;
	return p->m->symbols[o->index]->space == PTX_SPACE_PARAM ? &p->arguments[o->index - p->first_symbol]
								 : NULL;
}

static unsigned access_bytes(const struct ptx_inst *i)
{
	return ptx_type_bits(i->type) / 8;
}

/* What one loaded element may be. */
static uint64_t loaded(const struct provenance *p, const struct ptx_inst *i, unsigned element)
{
	const struct ptx_operand *a = &i->src[0];
	uint64_t base = operand_origin(p, a), origin = 0;
	const uint64_t *argument = argument_cell(p, a);
	if (argument)
		return *argument;
	if (base &
	    ORIGIN_PARAM_SPACE) { /* a pointer is at least 8 bytes of a parameter; 4 may be half of one */
		uint64_t params = base & ORIGIN_ALL_PARAMS;
		for (uint32_t k = 0; k < p->f->nparams && k < ORIGIN_PARAMS; k++)
			if (params >> k & 1 && p->f->params[k].size < p->m->address_size / 8)
				params &= ~ORIGIN_PARAM(k);
		return params;
	}
	if (base & ORIGIN_LOCAL || i->space == PTX_SPACE_LOCAL) {
		int64_t at = operand_place(p, a);
		bool known = at != PLACE_UNSET && at != PLACE_ANY;
		origin |=
			load_local(p, known ? at + (int64_t)element * access_bytes(i) : at, access_bytes(i));
	}
	if (base & ORIGIN_SHARED || i->space == PTX_SPACE_SHARED || i->space == PTX_SPACE_SHARED_CLUSTER)
		origin |= p->shared;
	else if (base & ~ORIGIN_LOCAL || (!base && i->space != PTX_SPACE_LOCAL))
		origin |= ORIGIN_UNKNOWN;
	return origin;
}

static void solve_load(struct provenance *p, const struct ptx_inst *i)
{
	for (unsigned k = 0; k < i->ndst && may_hold_pointer(i); k++) {
		if (i->dst[k].kind != PTX_OPND_VALUE)
			continue;
		uint32_t v = i->dst[k].index;
		uint64_t origin = loaded(p, i, k);
		add(p, &p->origin[v], origin);
		if (origin & ORIGIN_LOCAL)
			set_place(p, v, PLACE_ANY);
		if (i->prev)
			add(p, &p->origin[v], p->origin[i->prev[k]]);
	}
}

static void solve_store(struct provenance *p, const struct ptx_inst *i)
{
	const struct ptx_operand *a = &i->src[0];
	uint64_t base = operand_origin(p, a);
	uint64_t *argument = argument_cell(p, a);
	for (unsigned k = 1; k <= i->vec && k < i->nsrc && may_hold_pointer(i); k++) {
		uint64_t origin = operand_origin(p, &i->src[k]);
		if (argument) {
			add(p, argument, origin);
			continue;
		}
		if (a->kind == PTX_OPND_PARAM && a->index)
			add(p, &p->returned, origin);
		if (base & ORIGIN_LOCAL || i->space == PTX_SPACE_LOCAL) {
			int64_t at = operand_place(p, a);
			bool known = at != PLACE_UNSET && at != PLACE_ANY;
			store_local(p, known ? at + (int64_t)(k - 1) * access_bytes(i) : at, access_bytes(i),
				    origin);
		}
		if (base & ORIGIN_SHARED || i->space == PTX_SPACE_SHARED ||
		    i->space == PTX_SPACE_SHARED_CLUSTER || (!base && i->space == PTX_SPACE_GENERIC))
			add(p, &p->shared, origin);
	}
}

uint64_t argument_origin(const struct provenance *p, const struct ptx_inst *call, uint32_t k)
{
	unsigned first = call->target == PTX_NONE; /* src[0] of an indirect call is the callee */
	if (k + first >= call->nsrc)
		return 0;
	const struct ptx_operand *o = &call->src[k + first];
	const uint64_t *argument = argument_cell(p, o);
	return argument ? *argument : operand_origin(p, o);
}

/* Translates origins of the callee's parameters into the caller's. */
static uint64_t translate(const struct provenance *p, const struct ptx_inst *call, uint64_t callee)
{
	uint64_t origin = callee & ~(ORIGIN_ALL_PARAMS | ORIGIN_LOCAL | ORIGIN_PARAM_SPACE);
	for (uint32_t k = 0; k < call->nsrc; k++)
		if (callee & ORIGIN_PARAM(k))
			origin |= argument_origin(p, call, k);
	return origin;
}

static void solve_call(struct provenance *p, const struct ptx_inst *i)
{
	const struct effects *e = p->effects_of(p->ctx, i);
	uint64_t all = 0, written = 0, result = translate(p, i, e->returned);
	for (uint32_t k = 0; k < i->nsrc; k++) {
		uint64_t origin = argument_origin(p, i, k);
		all |= origin;
		written |= e->written & ORIGIN_PARAM(k) || e->writes_unknown ? origin : 0;
	}
	/* What it stores through a pointer to our memory may be any of its arguments, or anything else. */
	if (written & ORIGIN_LOCAL)
		store_local(p, PLACE_ANY, 1, all | ORIGIN_UNKNOWN);
	if (written & ORIGIN_SHARED)
		add(p, &p->shared, all | ORIGIN_UNKNOWN);
	for (unsigned k = 0; k < i->ndst; k++) {
		uint64_t *argument = argument_cell(p, &i->dst[k]);
		if (argument)
			add(p, argument, result);
		else if (i->dst[k].kind == PTX_OPND_VALUE)
			add(p, &p->origin[i->dst[k].index], result);
	}
}

/* x >> k << k rounds an address down; any other shift makes a number of it. */
static void solve_round_down(struct provenance *p, const struct ptx_inst *i)
{
	const struct ptx_operand *x = &i->src[0], *k = &i->src[1];
	uint32_t def = x->kind == PTX_OPND_VALUE ? p->f->values[x->index].def : PTX_NONE;
	if (def == PTX_NONE || k->kind != PTX_OPND_IMM)
		return;
	const struct ptx_inst *right = &p->f->insts[def];
	if (right->op == PTX_OP_SHR && right->src[1].kind == PTX_OPND_IMM && right->src[1].imm == k->imm) {
		uint64_t origin = operand_origin(p, &right->src[0]);
		set_result(p, i, origin, origin & ORIGIN_LOCAL ? PLACE_ANY : PLACE_UNSET);
	}
}

static void solve_inst(struct provenance *p, const struct ptx_inst *i)
{
	bool is_float = ptx_type_is_float(i->type);
	switch (i->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU: solve_load(p, i); break;
	case PTX_OP_ST: solve_store(p, i); break;
	case PTX_OP_CALL: solve_call(p, i); break;
	case PTX_OP_MOV:
	case PTX_OP_CVTA: solve_copy(p, i); break;
	case PTX_OP_CVT:
		if (!is_float && !ptx_type_is_float(i->type2))
			solve_copy(p, i);
		break;
	case PTX_OP_ADD:
		if (!is_float)
			solve_add(p, i, 1);
		break;
	case PTX_OP_SUB:
		if (!is_float)
			solve_add(p, i, -1);
		break;
	case PTX_OP_ADDC: solve_union(p, i, 0, 2); break;
	case PTX_OP_SUBC: solve_union(p, i, 0, 1); break;
	case PTX_OP_MAD:
	case PTX_OP_MADC:
		if (!is_float)
			solve_union(p, i, 2, 1);
		break;
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
	case PTX_OP_BFI:
	case PTX_OP_SHF:
	case PTX_OP_PRMT: solve_union(p, i, 0, 2); break;
	case PTX_OP_MIN:
	case PTX_OP_MAX:
	case PTX_OP_SELP:
	case PTX_OP_SLCT:
		if (!is_float)
			solve_union(p, i, 0, 2);
		break;
	case PTX_OP_LOP3: solve_union(p, i, 0, 3); break;
	case PTX_OP_NOT:
	case PTX_OP_SHFL:
	case PTX_OP_MAPA: solve_union(p, i, 0, 1); break;
	case PTX_OP_SHL: solve_round_down(p, i); break;
	case PTX_OP_ALLOCA: set_result(p, i, ORIGIN_LOCAL, PLACE_ANY); break;
	case PTX_OP_ATOM:
		if (may_hold_pointer(i))
			set_result(p, i, ORIGIN_UNKNOWN, PLACE_UNSET);
		break;
	case PTX_OP_RET:
		for (unsigned k = 0; k < i->nsrc; k++)
			add(p, &p->returned, operand_origin(p, &i->src[k]));
		break;
	case PTX_OP_CP_ASYNC:
	case PTX_OP_CP_ASYNC_BULK:
	case PTX_OP_CP_ASYNC_BULK_TENSOR: add(p, &p->shared, ORIGIN_UNKNOWN); break;
	default: break; /* products, shifts, comparisons, floats: numbers */
	}
}

static void solve_phis(struct provenance *p, const struct ptx_block *b)
{
	for (uint32_t n = 0; n < b->nphis; n++)
		for (uint32_t k = 0; k < b->npreds; k++) {
			uint32_t from = b->phis[n].args[k], to = b->phis[n].value;
			add(p, &p->origin[to], p->origin[from]);
			if (from)
				set_place(p, to, p->place[from]);
		}
}

static void seed_register_params(struct provenance *p)
{
	for (uint32_t v = 1; v < p->f->nvalues; v++) {
		const struct ptx_value *x = &p->f->values[v];
		if (x->def != PTX_NONE || x->phi_block != PTX_NONE || x->bits < 32)
			continue;
		for (uint32_t k = 0; k < p->f->nparams; k++)
			if (p->f->params[k].slot == x->slot)
				p->origin[v] |= ORIGIN_PARAM(k);
	}
}

int provenance_solve(struct provenance *p)
{
	seed_register_params(p);
	for (int round = 0; round < MAX_ROUNDS; round++) {
		p->changed = false;
		for (uint32_t k = 0; k < p->f->nblocks; k++) {
			const struct ptx_block *b = &p->f->blocks[k];
			solve_phis(p, b);
			for (uint32_t n = b->first; n < b->first + b->ninsts; n++)
				solve_inst(p, &p->f->insts[n]);
		}
		if (!p->changed)
			return 0;
	}
	return CUTRACE_ENOTSUP;
}
