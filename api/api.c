/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking things up in the tables, and expressions over a call's arguments. Runs inside the traced
 * process: no allocation, no locks, no output.
 */
#include "api/api.h"

#include <string.h>

#include "base/image.h"

#define MAX_EXPR_DEPTH   64
#define MAX_STRING_BYTES (1u << 30)

const struct api_func *api_func_find(const char *name)
{
	unsigned lo = 0, hi = api_nfuncs;
	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;
		int c = strcmp(name, api_funcs[mid].name);
		if (!c)
			return &api_funcs[mid];
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

/* First row of api_procs whose name is not less than `name`. */
static unsigned proc_lower_bound(const char *name)
{
	unsigned lo = 0, hi = api_nprocs;
	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;
		if (strcmp(api_procs[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct api_func *api_proc_find(const char *name, unsigned version, bool per_thread)
{
	const struct api_proc *best = NULL;
	for (unsigned i = proc_lower_bound(name); i < api_nprocs && !strcmp(api_procs[i].name, name); i++)
		if (api_procs[i].since <= version)
			best = &api_procs[i];
	if (!best)
		return NULL;
	return &api_funcs[per_thread ? best->per_thread : best->legacy];
}

const char *api_enum_name(const struct api_enum *e, int64_t value)
{
	unsigned lo = 0, hi = e->nvalues;
	while (lo < hi) { /* the first of equal values is the name, the others are its aliases */
		unsigned mid = lo + (hi - lo) / 2;
		if (e->values[mid].value < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < e->nvalues && e->values[lo].value == value ? e->values[lo].name : NULL;
}

const struct api_enum *api_enum_find(const char *name)
{
	for (unsigned i = 0; i < api_nenums; i++)
		if (!strcmp(api_enums[i].name, name))
			return &api_enums[i];
	return NULL;
}

const struct api_struct *api_struct_find(const char *name)
{
	for (unsigned i = 0; i < api_nstructs; i++)
		if (!strcmp(api_structs[i].name, name))
			return &api_structs[i];
	return NULL;
}

static const void *read_live(void *ctx, uint64_t addr, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	return (const void *)(uintptr_t)addr;
}

const struct api_memory api_live_memory = {read_live, NULL};

/* ---- expressions -------------------------------------------------------- */

struct eval {
	const struct api_func *f;
	const uint64_t *args;
	const void *base;
	const struct api_struct *in;
	const struct api_memory *mem;
	unsigned depth;
};

static bool is_signed_kind(uint8_t kind)
{
	return kind == API_KIND_INT || kind == API_KIND_ENUM || kind == API_KIND_CHAR;
}

static int64_t load(const void *p, const struct api_type *t)
{
	uint64_t v = 0;
	if (!p || t->size > sizeof(v) || !t->size)
		return 0;
	memcpy(&v, p, t->size);
	if (is_signed_kind(t->kind) && t->size < 8) {
		unsigned shift = 64 - t->size * 8;
		return (int64_t)(v << shift) >> shift;
	}
	return (int64_t)v;
}

static const void *read_at(const struct api_memory *mem, uint64_t addr, size_t bytes)
{
	return addr && bytes ? mem->read(mem->ctx, addr, bytes) : NULL;
}

/* With its NUL; 0 when it can't be read to its end. */
static uint64_t string_bytes(uint64_t addr, const struct api_memory *mem)
{
	if (!addr)
		return 0;
	if (mem == &api_live_memory)
		return strlen((const char *)(uintptr_t)addr) + 1;
	for (uint64_t n = 0; n < MAX_STRING_BYTES; n++) {
		const char *c = read_at(mem, addr + n, 1);
		if (!c)
			return 0;
		if (!*c)
			return n + 1;
	}
	return 0;
}

static int64_t eval_deref(const struct eval *x, unsigned p)
{
	const struct api_type *t;
	if (p >= x->f->nparams)
		return 0;
	t = api_pointee(x->f, p, x->args);
	return t ? load(read_at(x->mem, x->args[p], t->size), t) : 0;
}

static int64_t eval_field(const struct api_struct *s, unsigned field, const void *base)
{
	if (!s || !base || field >= s->nfields)
		return 0;
	const struct api_field *f = &s->fields[field];
	return load((const char *)base + f->offset, &api_types[f->type]);
}

static int64_t eval_member(const struct eval *x, unsigned p, unsigned field)
{
	const struct api_type *t = p < x->f->nparams ? api_pointee(x->f, p, x->args) : NULL;
	if (!t || (t->kind != API_KIND_STRUCT && t->kind != API_KIND_UNION))
		return 0;
	return eval_field(&api_structs[t->def], field, read_at(x->mem, x->args[p], t->size));
}

static int64_t eval_node(struct eval *x, int16_t expr);

static int64_t eval_operator(struct eval *x, const struct api_expr *e)
{
	int64_t a = eval_node(x, e->a);
	if (e->op == API_EXPR_COND)
		return eval_node(x, a ? e->b : e->c);
	if (e->op == API_EXPR_AND && !a)
		return 0;
	if (e->op == API_EXPR_OR && a)
		return 1;
	int64_t b = eval_node(x, e->b);
	/* Unsigned arithmetic: a program's arguments may overflow. A quotient keeps its sign: a negative
	 * length stays one. */
	switch (e->op) {
	case API_EXPR_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
	case API_EXPR_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
	case API_EXPR_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
	case API_EXPR_DIV: return b > 0 ? a / b : 0;
	case API_EXPR_MIN: return a < b ? a : b;
	case API_EXPR_MAX: return a > b ? a : b;
	case API_EXPR_EQ: return a == b;
	case API_EXPR_NE: return a != b;
	case API_EXPR_AND:
	case API_EXPR_OR: return b != 0;
	default: return 0;
	}
}

static uint64_t param_word(const struct eval *x, int64_t p)
{
	return p >= 0 && p < x->f->nparams ? x->args[p] : 0;
}

/* An argument's word holds garbage above a 4-byte value. */
static int64_t param_value(const struct eval *x, int64_t p)
{
	uint64_t word = param_word(x, p);
	const struct api_type *t;
	if (p < 0 || p >= x->f->nparams)
		return 0;
	t = &api_types[x->f->params[p].type];
	return t->size < 8 ? load(&word, t) : (int64_t)word;
}

/* Code is a payload of its own: recorded memory does not have it. */
static int64_t code_bytes(uint64_t addr, const struct api_memory *mem)
{
	return mem == &api_live_memory ? (int64_t)image_size((const void *)(uintptr_t)addr) : 0;
}

static int64_t eval_node(struct eval *x, int16_t expr)
{
	const struct api_expr *e;
	int64_t v;
	if (expr < 0 || x->depth >= MAX_EXPR_DEPTH)
		return 0;
	e = &api_exprs[expr];
	switch (e->op) {
	case API_EXPR_CONST: return e->value;
	case API_EXPR_FIELD: return eval_field(x->in, (unsigned)e->value, x->base);
	default: break;
	}
	if (e->op < API_EXPR_ADD && (!x->f || !x->args))
		return 0;
	switch (e->op) {
	case API_EXPR_PARAM: return param_value(x, e->value);
	case API_EXPR_DEREF: return eval_deref(x, (unsigned)e->value);
	case API_EXPR_STRLEN: return (int64_t)string_bytes(param_word(x, e->value), x->mem);
	case API_EXPR_IMAGE: return code_bytes(param_word(x, e->value), x->mem);
	case API_EXPR_MEMBER: return eval_member(x, (unsigned)e->a, (unsigned)e->b);
	default: break;
	}
	x->depth++;
	v = eval_operator(x, e);
	x->depth--;
	return v;
}

int64_t api_eval(int16_t expr, const struct api_func *f, const uint64_t *args, const void *base,
		 const struct api_struct *in, const struct api_memory *mem)
{
	struct eval x = {f, args, base, in, mem, 0};
	return eval_node(&x, expr);
}

/* ---- parameters --------------------------------------------------------- */

static const struct api_type *poly_type(const struct api_poly *poly, int64_t selector)
{
	unsigned lo = 0, hi = poly->ncases;
	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;
		if (poly->cases[mid].value == selector)
			return &api_types[poly->cases[mid].type];
		if (poly->cases[mid].value < selector)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct api_type *api_pointee(const struct api_func *f, unsigned p, const uint64_t *args)
{
	const struct api_param *q = &f->params[p];
	const struct api_type *t = &api_types[q->type], *case_type = NULL;
	if (t->kind != API_KIND_POINTER)
		return NULL;
	if (q->poly >= 0 && !(q->flags & API_PARAM_POLY_EACH)) {
		struct eval x = {f, args, NULL, NULL, NULL, 0};
		case_type = poly_type(&api_polys[q->poly], param_value(&x, api_polys[q->poly].selector));
	}
	return case_type ? case_type : &api_types[t->elem];
}

uint64_t api_param_len(const struct api_func *f, unsigned p, const uint64_t *args,
		       const struct api_memory *mem)
{
	const struct api_param *q = &f->params[p];
	const struct api_type *t = api_pointee(f, p, args);
	if (q->len < 0 || !t)
		return 1;
	int64_t n = api_eval(q->len, f, args, NULL, NULL, mem);
	if (n < 0)
		return 0;
	if (q->poly >= 0 && !(q->flags & API_PARAM_POLY_EACH) && t->kind != API_KIND_BYTES) {
		bool counted = api_exprs[q->len].op != API_EXPR_CONST; /* else one value of the case's type */
		return counted ? (uint64_t)n / (t->size ? t->size : 1) : 1;
	}
	return (uint64_t)n;
}

int api_out_slot(const struct api_func *f, unsigned p)
{
	int slot = 0;
	for (unsigned i = 0; i <= p && i < f->nparams; i++) {
		const struct api_param *q = &f->params[i];
		const struct api_type *t = &api_types[q->type];
		bool scalar = (q->dir & API_OUT) && t->kind == API_KIND_POINTER && q->len < 0 &&
			      !q->payload && q->poly < 0;
		uint8_t kind = scalar ? api_types[t->elem].kind : API_KIND_VOID;
		scalar = kind != API_KIND_VOID && kind != API_KIND_CHAR && kind != API_KIND_ARRAY &&
			 kind != API_KIND_STRUCT && kind != API_KIND_UNION && kind != API_KIND_BYTES;
		if (i == p)
			return scalar ? slot : -1;
		slot += scalar;
	}
	return -1;
}
