/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse_func: heads of functions: parameters and their layout, performance
 * directives, and where the body is. */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

enum { MAX_PARAMS = 4096 };

/* A list of parameters while it grows. */
struct param_list {
	struct ptx_param *items;
	uint32_t n, capacity;
	uint64_t bytes;
};

static int add_param(struct parser *p, struct param_list *l, const struct declaration *d, bool is_reg)
{
	if (l->n == MAX_PARAMS)
		return parser_fail(p, CUTRACE_ENOTSUP, d->at, "more than %d parameters", MAX_PARAMS);
	if (l->n == l->capacity) {
		uint32_t capacity = l->capacity ? l->capacity * 2 : 8;
		struct ptx_param *grown = realloc(l->items, capacity * sizeof(*grown));
		if (!grown)
			return parser_out_of_memory(p);
		l->items = grown;
		l->capacity = capacity;
	}
	if (ptx_has_open_param(l->items, l->n))
		return parser_fail(p, CUTRACE_EFORMAT, d->at,
				   "only the last parameter can be an array without size");
	uint64_t offset = align_up(l->bytes, d->align);
	if (offset + d->bytes > PTX_MAX_PARAM_BYTES)
		return parser_fail(p, CUTRACE_ENOTSUP, d->at, "parameters take more than 1 MiB");
	l->bytes = offset + d->bytes;
	l->items[l->n++] = (struct ptx_param){
		.type = d->type,
		.ptr_space = d->ptr_space,
		.align = d->align,
		.size = (uint32_t)d->bytes,
		.offset = (uint32_t)offset,
		.count = (uint32_t)d->count,
		.ptr_align = d->ptr_align,
		.slot = is_reg ? 0 : PTX_NONE,
		.is_open = d->unsized,
		.name = arena_strndup(&p->m->arena, d->name.s, d->name.n),
	};
	return l->items[l->n - 1].name ? 0 : parser_out_of_memory(p);
}

static int parse_param(struct parser *p, bool is_entry, struct param_list *l)
{
	struct lex_name word;
	struct declaration d;
	if (!lex_directive(&p->lx, &word) || !(lex_is(&word, "param") || (lex_is(&word, "reg") && !is_entry)))
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p,
				   is_entry ? "expected .param" : "expected .param or .reg");
	bool is_reg = lex_is(&word, "reg");
	int rc = parse_declaration_type(p, &d);
	if (rc)
		return rc;
	lex_peek(&p->lx);
	d.at = p->lx.p;
	if (is_reg && d.type == PTX_PRED) { /* predicates can be passed in registers, not in memory */
		if (!lex_name(&p->lx, &d.name))
			return parser_fail(p, CUTRACE_EFORMAT, d.at, "expected a name");
		d.count = d.align = d.bytes = 1;
	} else if ((rc = parse_declarator(p, &d))) {
		return rc;
	}
	if (d.unsized && (is_entry || is_reg))
		return parser_fail(p, CUTRACE_EFORMAT, d.at, "the array '%.*s' needs a size", (int)d.name.n,
				   d.name.s);
	return add_param(p, l, &d, is_reg);
}

static int keep_params(struct parser *p, struct param_list *l, struct ptx_param **params, uint32_t *n,
		       uint32_t *bytes)
{
	*n = l->n;
	*bytes = (uint32_t)l->bytes;
	*params = arena_array(&p->m->arena, l->n, sizeof(**params));
	if (l->n && !*params)
		return parser_out_of_memory(p);
	if (l->n)
		memcpy(*params, l->items, l->n * sizeof(**params));
	return 0;
}

int parse_params(struct parser *p, bool is_entry, struct ptx_param **params, uint32_t *n, uint32_t *bytes)
{
	struct param_list l = {0};
	int rc = parser_expect(p, '(');
	*params = NULL;
	*n = *bytes = 0;
	while (!rc && lex_peek(&p->lx) != ')') {
		rc = parse_param(p, is_entry, &l);
		if (!lex_accept(&p->lx, ','))
			break;
	}
	if (!rc && !(rc = parser_expect(p, ')')))
		rc = keep_params(p, &l, params, n, bytes);
	free(l.items);
	return rc;
}

/* ".param .u32 a, b;" of a body before ISA 1.4 */
static int parse_body_params(struct parser *p, struct param_list *l)
{
	struct declaration d;
	int rc = parse_declaration_type(p, &d);
	uint32_t align = d.align;
	while (!rc) {
		d.align = align;
		if ((rc = parse_declarator(p, &d)) || (rc = add_param(p, l, &d, false)) ||
		    !lex_accept(&p->lx, ','))
			break;
	}
	return rc;
}

/* Before ISA 1.4 an entry declares its parameters in its body (ISA 11.2.1). */
static int find_body_params(struct parser *p, struct ptx_func *f)
{
	struct parser inside = *p;
	struct param_list l = {0};
	struct lex_name word;
	int c, rc = 0;
	lex_init(&inside.lx, p->m->text + f->body_begin, p->m->text + f->body_end, f->body_line);
	bool begins = true; /* a statement: the .param of "ld.param" declares nothing */
	while (!rc && (c = lex_peek(&inside.lx), inside.lx.p < inside.lx.end)) {
		if (begins && c == '.' && lex_directive(&inside.lx, &word) && lex_is(&word, "param"))
			rc = parse_body_params(&inside, &l);
		else if (c == '{')
			inside.lx.p = lex_skip_braces(&inside.lx) ? inside.lx.p : inside.lx.end;
		else
			inside.lx.p++;
		begins = c == ';' || c == ':' || c == '{';
	}
	if (!rc)
		rc = keep_params(p, &l, &f->params, &f->nparams, &f->param_bytes);
	free(l.items);
	return rc;
}

/* "16", "16, 16" or "16, 16, 1": missing ones are 1. */
static int parse_sizes(struct parser *p, uint32_t *sizes, unsigned max)
{
	for (unsigned i = 0; i < max; i++) {
		uint64_t v;
		lex_peek(&p->lx);
		const char *at = p->lx.p;
		if (!lex_uint(&p->lx, &v) || v > UINT32_MAX)
			return parser_fail(p, CUTRACE_EFORMAT, at, "expected a number");
		sizes[i] = (uint32_t)v;
		if (i + 1 == max || !lex_accept(&p->lx, ',')) {
			for (unsigned k = i + 1; k < max; k++)
				sizes[k] = 1;
			return 0;
		}
	}
	return 0;
}

static int parse_pragma(struct parser *p)
{
	const char *s;
	size_t n;
	do {
		if (!lex_string(&p->lx, &s, &n))
			return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected a string");
	} while (lex_accept(&p->lx, ','));
	return parser_expect(p, ';');
}

static int parse_directive(struct parser *p, struct ptx_func *f, const struct lex_name *w)
{
	uint32_t ignored[3];
	const struct {
		const char *name;
		uint32_t *sizes;
		unsigned n;
	} numbers[] = {
		{"maxntid", f->maxntid, 3},
		{"reqntid", f->reqntid, 3},
		{"minnctapersm", &f->minnctapersm, 1},
		{"maxnreg", &f->maxnreg, 1},
		{"reqnctapercluster", f->cluster, 3},
		{"maxnctapersm", ignored, 1},
		{"maxclusterrank", ignored, 1},
		{"abi_preserve", ignored, 1},
		{"abi_preserve_control", ignored, 1},
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (lex_is(w, numbers[i].name))
			return parse_sizes(p, numbers[i].sizes, numbers[i].n);
	if (lex_is(w, "noreturn"))
		f->noreturn = true;
	else if (lex_is(w, "pragma"))
		return parse_pragma(p);
	else if (!lex_is(w, "explicitcluster") && !lex_is(w, "blocksareclusters") && !lex_is(w, "unique"))
		return parser_fail(p, CUTRACE_ENOTSUP, w->s - 1, "unknown directive '.%.*s' of a function",
				   (int)w->n, w->s);
	return 0;
}

static int find_body(struct parser *p, struct ptx_func *f)
{
	if (lex_accept(&p->lx, ';')) {
		f->is_decl = true;
		return 0;
	}
	if (lex_peek(&p->lx) != '{')
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected '{' or ';'");
	f->body_line = p->lx.line;
	f->body_begin = (size_t)(p->lx.p + 1 - p->m->text);
	const char *at = p->lx.p;
	if (!lex_skip_braces(&p->lx)) {
		f->body_begin = 0;
		return parser_fail(p, CUTRACE_EFORMAT, at, "the body of '%s' has no closing brace", f->name);
	}
	f->body_end = (size_t)(p->lx.p - 1 - p->m->text);
	return 0;
}

static int add_func(struct parser *p, const struct lex_name *name, const struct ptx_func *f)
{
	struct ptx_module *m = p->m;
	if (m->nfuncs == p->ms->funcs_capacity) {
		uint32_t capacity = m->nfuncs ? m->nfuncs * 2 : 16;
		struct ptx_func **funcs = realloc(m->funcs, capacity * sizeof(*funcs));
		if (!funcs)
			return parser_out_of_memory(p);
		m->funcs = funcs;
		p->ms->funcs_capacity = capacity;
	}
	struct ptx_func *copy = arena_alloc(&m->arena, sizeof(*copy), 16);
	if (!copy || name_table_put(&p->ms->names, name, NAME_FUNC, m->nfuncs))
		return parser_out_of_memory(p);
	*copy = *f;
	copy->index = m->nfuncs;
	m->funcs[m->nfuncs++] = copy;
	return 0;
}

/* A name may be declared many times and defined once. */
static int keep_func(struct parser *p, const struct lex_name *name, const struct ptx_func *f)
{
	const struct name_slot *slot = name_table_find(&p->ms->names, name);
	if (!slot)
		return add_func(p, name, f);
	if (slot->kind != NAME_FUNC)
		return parser_fail(p, CUTRACE_EFORMAT, name->s, "'%s' is a variable already", f->name);
	struct ptx_func *old = p->m->funcs[slot->index];
	bool noreturn = old->noreturn || f->noreturn;
	if (!old->is_decl && !f->is_decl)
		return parser_fail(p, CUTRACE_EFORMAT, name->s, "'%s' is defined already, in line %u",
				   f->name, old->line);
	if (old->is_decl) {
		*old = *f;
		old->index = slot->index;
	}
	old->noreturn = noreturn;
	return 0;
}

int parse_function(struct parser *p, bool is_entry, enum ptx_linkage linkage)
{
	struct ptx_func f = {.is_entry = is_entry, .linkage = linkage};
	struct lex_name name, word;
	int rc = 0;
	struct declaration ignored;
	if (lex_peek(&p->lx) == '.') {
		if (!lex_directive(&p->lx, &word) || !lex_is(&word, "attribute"))
			return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected the name of a function");
		rc = parse_attributes(p, &ignored);
		if (rc)
			return rc;
	}
	if (!is_entry && lex_peek(&p->lx) == '(')
		rc = parse_params(p, false, &f.rets, &f.nrets, &f.ret_bytes);
	if (rc)
		return rc;
	lex_peek(&p->lx);
	f.line = p->lx.line;
	if (!lex_name(&p->lx, &name))
		return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected the name of a function");
	f.name = arena_strndup(&p->m->arena, name.s, name.n);
	if (!f.name)
		return parser_out_of_memory(p);
	if (lex_peek(&p->lx) == '(')
		rc = parse_params(p, is_entry, &f.params, &f.nparams, &f.param_bytes);
	while (!rc && lex_directive(&p->lx, &word))
		rc = parse_directive(p, &f, &word);
	if (!rc)
		rc = find_body(p, &f);
	if (!rc && is_entry && !f.is_decl && p->m->version < 14 && !f.nparams)
		rc = find_body_params(p, &f);
	return rc ? rc : keep_func(p, &name, &f);
}
