/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/access: what a function does with its parameters that are pointers, and
 * whether it may write memory that no parameter leads to. Errs on the side of
 * "may". */
#include <stdlib.h>
#include <string.h>

#include "ptx/provenance.h"

enum { MAX_CALL_DEPTH = 64, MAX_RECURSION_ROUNDS = 4 };

struct analysis {
	struct ptx_module *m;
	struct ptx_func *f;
	uint32_t index, depth;
	struct provenance p;
	uint8_t *value_type; /* float type that uses or definitions of a value suggest */
	struct effects now;
	struct ptx_access *access;
	struct ptx_store *stores;
	uint32_t nstores, inst, block; /* inst, block: that are being looked at */
};

static const struct effects *analyse(struct ptx_module *m, uint32_t index, uint32_t depth);

static const struct memory_effect memory_effects[] = {
	{PTX_OP_LD, 1, 0, false},
	{PTX_OP_LDU, 1, 0, false},
	{PTX_OP_ST, 0, 1, false},
	{PTX_OP_ATOM, 1, 1, true},
	{PTX_OP_RED, 1, 1, true},
	{PTX_OP_DISCARD, 0, 1, false},
	{PTX_OP_CP_ASYNC, 2, 0, false},
	{PTX_OP_CP_ASYNC_BULK, 2, 1, false},
	{PTX_OP_CP_REDUCE_ASYNC_BULK, 2, 1, true},
	{PTX_OP_ST_ASYNC, 0, 1, false},
	{PTX_OP_RED_ASYNC, 0, 1, true},
	{PTX_OP_WMMA_LOAD, 1, 0, false},
	{PTX_OP_WMMA_STORE, 0, 1, false},
	{PTX_OP_MULTIMEM_LD_REDUCE, 1, 0, false},
	{PTX_OP_MULTIMEM_ST, 0, 1, false},
	{PTX_OP_MULTIMEM_RED, 0, 1, true},
	{PTX_OP_TENSORMAP_REPLACE, 0, 1, false},
	{PTX_OP_TENSORMAP_CP_FENCEPROXY, 2, 1, false},
};

/* Operations that write memory of which no operand is the address: surfaces, memory behind a tensor map. */
bool memory_written_elsewhere(const struct ptx_inst *i)
{
	bool to_global = i->space == PTX_SPACE_GLOBAL || i->space == PTX_SPACE_GENERIC;
	return i->op == PTX_OP_SUST || i->op == PTX_OP_SURED || i->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR ||
	       i->op == PTX_OP_MULTIMEM_CP_ASYNC_BULK || i->op == PTX_OP_MULTIMEM_CP_REDUCE_ASYNC_BULK ||
	       (i->op == PTX_OP_CP_ASYNC_BULK_TENSOR && to_global);
}

/* Likewise, reads. */
static bool reads_elsewhere(const struct ptx_inst *i)
{
	return i->op == PTX_OP_TEX || i->op == PTX_OP_TLD4 || i->op == PTX_OP_SULD || i->op == PTX_OP_SURED ||
	       i->op == PTX_OP_CP_ASYNC_BULK_TENSOR || i->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR;
}

const struct memory_effect *memory_effect_of(const struct ptx_inst *i)
{
	for (size_t k = 0; k < sizeof(memory_effects) / sizeof(memory_effects[0]); k++)
		if (memory_effects[k].op == i->op)
			return &memory_effects[k];
	return NULL;
}

static bool is_global_space(uint8_t space)
{
	return space == PTX_SPACE_GENERIC || space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST;
}

/* Functions of the CUDA runtime that a kernel may call (they have no PTX). */
static const struct effects *known_function(const char *name)
{
	static const struct effects harmless = {.done = true};
	static const struct effects allocates = {.done = true, .returned = ORIGIN_HEAP};
	static const char *const names[] = {"vprintf",
					    "__assertfail",
					    "free",
					    "cudaGraphSetConditional",
					    "__cudaCDP2GetLastError",
					    "__cudaCDP2PeekAtLastError"};
	if (!strcmp(name, "malloc"))
		return &allocates;
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		if (!strcmp(name, names[k]))
			return &harmless;
	return NULL;
}

static const struct effects *unknown_function(void)
{
	static const struct effects e = {.done = true,
					 .pointers = ORIGIN_ALL_PARAMS,
					 .read = ORIGIN_ALL_PARAMS,
					 .written = ORIGIN_ALL_PARAMS,
					 .returned = ORIGIN_UNKNOWN | ORIGIN_ALL_PARAMS,
					 .writes_unknown = true,
					 .writes_module_vars = true,
					 .reads_unknown = true,
					 .reads_module_vars = true};
	return &e;
}

static const struct effects *call_effects(void *ctx, const struct ptx_inst *call)
{
	struct analysis *a = ctx;
	if (call->target == PTX_NONE)
		return unknown_function();
	if (call->target == a->index) {
		a->now.is_recursive = true;
		return &module_state(a->m)
				->effects[a->index]; /* what is known so far; repeated until stable */
	}
	const struct ptx_func *callee = a->m->funcs[call->target];
	if (!callee->is_decl)
		return analyse(a->m, call->target, a->depth + 1);
	const struct effects *known = known_function(callee->name);
	return known ? known : unknown_function();
}

static uint64_t only_param(uint64_t origin)
{
	uint64_t params = origin & ORIGIN_ALL_PARAMS;
	return params && !(params & (params - 1)) && !(origin & (ORIGIN_UNKNOWN | ORIGIN_PARAM_SPACE))
		       ? params
		       : 0;
}

static void find_strong_call(struct analysis *a, const struct ptx_inst *i)
{
	const struct effects *e = call_effects(a, i);
	for (uint32_t k = 0; k < i->nsrc && e != unknown_function(); k++)
		if (e->pointers & ORIGIN_PARAM(k))
			a->p.strong |= only_param(argument_origin(&a->p, i, k));
}

/* Parameters that are pointers for certain: declared so, converted as addresses, or used alone as one. */
static void find_strong(struct analysis *a)
{
	for (uint32_t k = 0; k < a->f->nparams; k++)
		if (a->f->params[k].ptr_space != PTX_SPACE_REG)
			a->p.strong |= ORIGIN_PARAM(k);
	for (uint32_t n = 0; n < a->f->ninsts; n++) {
		const struct ptx_inst *i = &a->f->insts[n];
		const struct memory_effect *e = memory_effect_of(i);
		if (i->op == PTX_OP_CVTA)
			a->p.strong |= only_param(operand_origin(&a->p, &i->src[0]));
		if (i->op == PTX_OP_CALL)
			find_strong_call(a, i);
		for (unsigned k = 0; e && k < 2; k++) {
			unsigned operand = k ? e->write : e->read;
			if (operand && operand <= i->nsrc)
				a->p.strong |= only_param(operand_origin(&a->p, &i->src[operand - 1]));
		}
	}
}

static enum ptx_type element_type(enum ptx_type t)
{
	switch (t) {
	case PTX_F16X2: return PTX_F16;
	case PTX_BF16X2: return PTX_BF16;
	case PTX_F32X2: return PTX_F32;
	case PTX_TF32: return PTX_F32;
	default: return t;
	}
}

static int type_rank(enum ptx_type t)
{
	return t == PTX_TYPE_NONE ? 0 : ptx_type_is_float(t) ? 3 : t >= PTX_B8 && t <= PTX_B128 ? 1 : 2;
}

/* The better of two opinions: floats over integers over bits; of the same kind the narrower. */
static void note_type(struct ptx_access *x, enum ptx_type t)
{
	t = element_type(t);
	int old = type_rank(x->elem_type), now = type_rank(t);
	if (now < old || (now == old && ptx_type_bits(t) >= ptx_type_bits(x->elem_type)))
		return;
	x->elem_type = (uint8_t)t;
	x->elem_bytes = (uint8_t)(ptx_type_bits(t) / 8);
}

static enum ptx_type accessed_type(const struct analysis *a, const struct ptx_inst *i)
{
	const struct ptx_operand *o = i->op == PTX_OP_ST ? (i->nsrc > 1 ? &i->src[1] : NULL)
				      : i->ndst          ? &i->dst[0]
							 : NULL;
	if (!o || o->kind != PTX_OPND_VALUE || ptx_type_is_float(i->type))
		return i->type;
	enum ptx_type hint = a->value_type[o->index];
	return hint != PTX_TYPE_NONE && ptx_type_bits(hint) == ptx_type_bits(i->type) ? hint : i->type;
}

/* "b32" loads and stores whose values are used or made by float operations are floats. */
static void suggest_types(struct analysis *a)
{
	for (uint32_t n = 0; n < a->f->ninsts; n++) {
		const struct ptx_inst *i = &a->f->insts[n];
		bool moves = i->op == PTX_OP_MOV || i->op == PTX_OP_LD || i->op == PTX_OP_ST ||
			     i->op == PTX_OP_CALL || i->op == PTX_OP_CVT || i->op == PTX_OP_MMA ||
			     i->op == PTX_OP_WMMA_MMA;
		if (moves || !ptx_type_is_float(i->type))
			continue;
		for (unsigned k = 0; k < (unsigned)i->ndst + i->nsrc; k++) {
			const struct ptx_operand *o = &i->dst[k];
			if (o->kind == PTX_OPND_VALUE && o->index &&
			    a->f->values[o->index].bits == ptx_type_bits(i->type))
				a->value_type[o->index] = i->type;
		}
	}
}

/* One for each instruction, in their order; there is room for all. */
static void note_store(struct analysis *a, uint64_t params)
{
	if (!a->nstores || a->stores[a->nstores - 1].inst != a->inst)
		a->stores[a->nstores++] = (struct ptx_store){.inst = a->inst, .block = a->block};
	a->stores[a->nstores - 1].params |= params;
}

static void note_access(struct analysis *a, uint64_t origin, bool reads, bool writes, bool atomic,
			enum ptx_type t)
{
	uint64_t params = origin & ORIGIN_ALL_PARAMS;
	if (origin & ORIGIN_PARAM_SPACE) /* the parameter itself is read, not what it points to */
		return;
	if (params & a->p.strong)
		params &= a->p.strong;
	a->now.pointers |= params;
	a->now.read |= reads ? params : 0;
	a->now.written |= writes ? params : 0;
	if (writes && params)
		note_store(a, params);
	a->now.atomic |= atomic ? params : 0;
	if (writes && (origin & ORIGIN_UNKNOWN || !(params | (origin & ORIGIN_KNOWN_BASE))))
		a->now.writes_unknown = true;
	if (writes && origin & ORIGIN_MODULE)
		a->now.writes_module_vars = true;
	if (reads && (origin & ORIGIN_UNKNOWN || !(params | (origin & ORIGIN_KNOWN_BASE))))
		a->now.reads_unknown = true;
	if (reads && origin & ORIGIN_MODULE)
		a->now.reads_module_vars = true;
	for (uint32_t k = 0; k < a->f->nparams; k++)
		if (params & ORIGIN_PARAM(k))
			note_type(&a->access[k], t);
}

static void note_memory(struct analysis *a, const struct ptx_inst *i, const struct memory_effect *e)
{
	enum ptx_type t = i->type == PTX_TYPE_NONE ? PTX_TYPE_NONE : accessed_type(a, i);
	uint8_t read_space = e->read == 2 ? i->space2 : i->space;
	if (e->atomic && e->read == e->write) {
		if (is_global_space(i->space))
			note_access(a, operand_origin(&a->p, &i->src[0]), true, true, true, t);
		return;
	}
	if (e->read && e->read <= i->nsrc && is_global_space(read_space))
		note_access(a, operand_origin(&a->p, &i->src[e->read - 1]), true, false, false, t);
	if (e->write && e->write <= i->nsrc && is_global_space(i->space))
		note_access(a, operand_origin(&a->p, &i->src[e->write - 1]), e->atomic, true, e->atomic, t);
}

/* What the operand that names a texture, a sampler or a surface is; NONE for other operations. */
static enum ptx_type opaque_type(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_TEX:
	case PTX_OP_TLD4:
	case PTX_OP_TXQ: return PTX_TEXREF;
	case PTX_OP_SULD:
	case PTX_OP_SUST:
	case PTX_OP_SURED:
	case PTX_OP_SUQ: return PTX_SURFREF;
	default: return PTX_TYPE_NONE;
	}
}

/* A parameter that such an operand comes from, unchanged or through a function, is a handle. */
static void note_handle(struct analysis *a, uint64_t origin, enum ptx_type t)
{
	uint64_t param = only_param(origin);
	for (uint32_t k = 0; k < a->f->nparams; k++)
		if (param & ORIGIN_PARAM(k) & ~a->p.strong)
			a->access[k].elem_type = (uint8_t)t;
}

static bool is_opaque(uint8_t t)
{
	return t == PTX_TEXREF || t == PTX_SAMPLERREF || t == PTX_SURFREF;
}

static void note_passed_handle(struct analysis *a, const struct ptx_inst *i, uint32_t k)
{
	const struct ptx_func *callee = i->target != PTX_NONE ? a->m->funcs[i->target] : NULL;
	if (callee && callee->access && k < callee->nparams && is_opaque(callee->access[k].elem_type))
		note_handle(a, argument_origin(&a->p, i, k), callee->access[k].elem_type);
}

static void note_call(struct analysis *a, const struct ptx_inst *i)
{
	const struct effects *e = call_effects(a, i);
	a->now.writes_unknown |= e->writes_unknown;
	a->now.writes_module_vars |= e->writes_module_vars;
	a->now.reads_unknown |= e->reads_unknown;
	a->now.reads_module_vars |= e->reads_module_vars;
	for (uint32_t k = 0; k < i->nsrc; k++) {
		uint64_t bit = ORIGIN_PARAM(k);
		if (!(e->pointers & bit)) {
			note_passed_handle(a, i, k);
			continue;
		}
		uint64_t origin = argument_origin(&a->p, i, k);
		enum ptx_type t = PTX_TYPE_NONE;
		if (i->target != PTX_NONE && a->m->funcs[i->target]->access &&
		    k < a->m->funcs[i->target]->nparams)
			t = a->m->funcs[i->target]->access[k].elem_type;
		if (!origin)
			continue; /* a number */
		note_access(a, origin, e->read & bit, e->written & bit, e->atomic & bit, t);
	}
}

static void note_all(struct analysis *a)
{
	a->nstores = a->block = 0;
	for (uint32_t n = 0; n < a->f->ninsts; n++) {
		const struct ptx_inst *i = &a->f->insts[n];
		while (n >= a->f->blocks[a->block].first + a->f->blocks[a->block].ninsts)
			a->block++;
		a->inst = n;
		const struct memory_effect *e = memory_effect_of(i);
		if (e)
			note_memory(a, i, e);
		else if (i->op == PTX_OP_CALL)
			note_call(a, i);
		if (i->nsrc && opaque_type(i) != PTX_TYPE_NONE)
			note_handle(a, operand_origin(&a->p, &i->src[0]), opaque_type(i));
		a->now.writes_unknown |= memory_written_elsewhere(i);
		a->now.reads_unknown |= reads_elsewhere(i);
	}
	a->now.pointers |= a->p.strong;
	a->now.returned = a->p.returned;
}

/* Too complex: everything may happen. */
static void assume_worst(struct analysis *a)
{
	a->now = *unknown_function();
	a->nstores = 0;
	for (uint32_t k = 0; k < a->f->nparams; k++)
		a->access[k] = (struct ptx_access){0};
}

static int solve_once(struct analysis *a)
{
	struct provenance first = {.effects_of = call_effects, .ctx = a};
	a->p = first;
	int rc = provenance_init(&a->p, a->m, a->f);
	int solved = rc ? rc : provenance_solve(&a->p);
	if (!rc)
		find_strong(a);
	uint64_t strong = a->p.strong;
	provenance_free(&a->p);
	if (rc)
		return rc;
	a->p = first; /* again, now that bases can be told from offsets */
	a->p.strong = strong;
	rc = provenance_init(&a->p, a->m, a->f);
	if (!rc && !solved)
		solved = provenance_solve(&a->p);
	if (!rc && solved)
		assume_worst(a);
	else if (!rc)
		note_all(a);
	provenance_free(&a->p);
	return rc;
}

static void publish(struct analysis *a)
{
	struct ptx_func *f = a->f;
	for (uint32_t k = 0; k < f->nparams; k++) {
		uint64_t bit = ORIGIN_PARAM(k);
		struct ptx_access *x = &a->access[k];
		bool can_be = f->params[k].size >= a->m->address_size / 8u || f->params[k].slot != PTX_NONE;
		x->is_pointer = can_be && a->now.pointers & bit;
		x->is_read = x->is_pointer && a->now.read & bit;
		x->is_written = x->is_pointer && a->now.written & bit;
		x->is_atomic = x->is_pointer && a->now.atomic & bit;
	}
	f->access = a->access;
	f->stores = a->stores;
	f->nstores = a->nstores;
	f->writes_unknown = a->now.writes_unknown;
	f->writes_module_vars = a->now.writes_module_vars;
	f->reads_unknown = a->now.reads_unknown;
	f->reads_module_vars = a->now.reads_module_vars;
}

static bool same_effects(const struct effects *x, const struct effects *y)
{
	return x->pointers == y->pointers && x->read == y->read && x->written == y->written &&
	       x->atomic == y->atomic && x->returned == y->returned &&
	       x->writes_unknown == y->writes_unknown && x->writes_module_vars == y->writes_module_vars &&
	       x->reads_unknown == y->reads_unknown && x->reads_module_vars == y->reads_module_vars;
}

/* A recursive function is analysed until its own effects, which it uses, don't change any more. */
static int solve_recursion(struct analysis *a, struct effects *known)
{
	for (int round = 0;; round++) {
		a->now = (struct effects){.running = true};
		int rc = solve_once(a);
		if (rc)
			return rc;
		bool stable = same_effects(&a->now, known);
		if (a->now.is_recursive && !stable && round == MAX_RECURSION_ROUNDS)
			assume_worst(a);
		bool recursive = a->now.is_recursive;
		*known = a->now;
		if (!recursive || stable || round == MAX_RECURSION_ROUNDS)
			return 0;
	}
}

/* No more than those may be noted. */
static uint32_t count_stores(const struct ptx_func *f)
{
	uint32_t most = 1;
	for (uint32_t n = 0; n < f->ninsts; n++) {
		const struct memory_effect *e = memory_effect_of(&f->insts[n]);
		most += (e && e->write) || f->insts[n].op == PTX_OP_CALL;
	}
	return most;
}

static const struct effects *analyse(struct ptx_module *m, uint32_t index, uint32_t depth)
{
	struct effects *known = &module_state(m)->effects[index];
	if (known->done)
		return known;
	struct ptx_func *f = m->funcs[index];
	if (known->running || depth > MAX_CALL_DEPTH || ptx_func_build(m, f))
		return unknown_function();
	known->running = true;
	struct analysis a = {.m = m, .f = f, .index = index, .depth = depth};
	a.access = arena_array(&m->arena, f->nparams ? f->nparams : 1, sizeof(*a.access));
	a.value_type = calloc(f->nvalues, 1);
	a.stores = arena_array(&m->arena, count_stores(f), sizeof(*a.stores));
	int rc = a.access && a.value_type && a.stores ? 0 : CUTRACE_ENOMEM;
	if (!rc) {
		suggest_types(&a);
		rc = solve_recursion(&a, known);
	}
	free(a.value_type);
	known->running = false;
	if (rc)
		return unknown_function();
	known->done = true;
	publish(&a);
	return known;
}

int ptx_func_analyse(struct ptx_module *m, struct ptx_func *f)
{
	struct module_state *ms = module_state(m);
	int rc = ptx_func_build(m, f);
	if (rc || f->access)
		return rc;
	if (!ms->effects)
		ms->effects = arena_array(&m->arena, m->nfuncs, sizeof(*ms->effects));
	if (!ms->effects)
		return CUTRACE_ENOMEM;
	analyse(m, f->index, 0);
	return f->access ? 0 : CUTRACE_ENOMEM;
}
