/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse_var: declarations of variables and parameters (ISA chapter 5.4). */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

static int parse_align(struct parser *p, uint32_t *align)
{
	uint64_t n;
	lex_peek(&p->lx);
	const char *at = p->lx.p;
	if (!lex_uint(&p->lx, &n) || !n || n & (n - 1) || n > 1u << 20)
		return parser_fail(p, CUTRACE_EFORMAT, at, "an alignment is a power of two");
	*align = (uint32_t)n;
	return 0;
}

/* ".attribute(.managed, .unified(1, 2))": only .managed changes what we do. */
int parse_attributes(struct parser *p, struct declaration *d)
{
	struct lex_name word;
	uint64_t n;
	int rc = parser_expect(p, '(');
	while (!rc) {
		if (!lex_directive(&p->lx, &word))
			return parser_fail(p, CUTRACE_EFORMAT, p->lx.p, "expected an attribute");
		if (lex_is(&word, "managed"))
			d->managed = true;
		else if (!lex_is(&word, "unified"))
			return parser_fail(p, CUTRACE_ENOTSUP, word.s - 1, "unknown attribute '.%.*s'",
					   (int)word.n, word.s);
		if (lex_accept(&p->lx, '(')) {
			while (lex_uint(&p->lx, &n) && lex_accept(&p->lx, ','))
				;
			rc = parser_expect(p, ')');
		}
		if (rc || !lex_accept(&p->lx, ','))
			break;
	}
	return rc ? rc : parser_expect(p, ')');
}

static int space_of(const struct lex_name *w)
{
	return lex_is(w, "global")   ? PTX_SPACE_GLOBAL
	       : lex_is(w, "const")  ? PTX_SPACE_CONST
	       : lex_is(w, "shared") ? PTX_SPACE_SHARED
	       : lex_is(w, "local")  ? PTX_SPACE_LOCAL
				     : -1;
}

static int declaration_word(struct parser *p, struct declaration *d, const struct lex_name *w)
{
	enum ptx_type t = ptx_type_parse(w->s, w->n);
	if (t != PTX_TYPE_NONE) {
		d->type = t;
		return 0;
	}
	if (lex_is(w, "align"))
		return parse_align(p, d->is_ptr ? &d->ptr_align : &d->align);
	if (lex_is(w, "attribute"))
		return parse_attributes(p, d);
	if (lex_is(w, "ptr")) {
		d->is_ptr = true;
		d->ptr_space = PTX_SPACE_GENERIC;
	} else if (d->is_ptr && space_of(w) >= 0) {
		d->ptr_space = (uint8_t)space_of(w);
	} else if (lex_is(w, "v2") || lex_is(w, "v4")) {
		d->vector = (uint8_t)(w->s[1] - '0');
	} else {
		return parser_fail(p, CUTRACE_EFORMAT, w->s - 1, "unexpected '.%.*s' in a declaration",
				   (int)w->n, w->s);
	}
	return 0;
}

int parse_declaration_type(struct parser *p, struct declaration *d)
{
	struct lex_name word;
	*d = (struct declaration){.vector = 1, .ptr_space = PTX_SPACE_REG};
	lex_peek(&p->lx);
	const char *at = p->lx.p;
	while (lex_directive(&p->lx, &word)) {
		int rc = declaration_word(p, d, &word);
		if (rc)
			return rc;
	}
	if (d->type == PTX_TYPE_NONE)
		return parser_fail(p, CUTRACE_EFORMAT, at, "a declaration needs a type");
	return 0;
}

static int parse_dimension(struct parser *p, struct declaration *d)
{
	struct literal l = {0};
	const char *why;
	if (d->ndims == PTX_MAX_DIMENSIONS)
		return parser_fail(p, CUTRACE_ENOTSUP, p->lx.p, "an array has at most %d dimensions",
				   PTX_MAX_DIMENSIONS);
	d->is_array = true;
	if (d->ndims == 0 && lex_peek(&p->lx) == ']') {
		d->unsized = true;
	} else {
		lex_peek(&p->lx);
		const char *at = p->lx.p;
		if (!lex_constant(&p->lx, &l, &why))
			return parser_fail(p, CUTRACE_EFORMAT, at, "%s", why);
		if (l.kind != LITERAL_INT || l.bits > PTX_MAX_VARIABLE_BYTES)
			return parser_fail(p, CUTRACE_ENOTSUP, at,
					   "the size of an array must be an integer up to 2^40");
	}
	d->dims[d->ndims++] = l.bits;
	return parser_expect(p, ']');
}

/* Bytes and default alignment from type, vector and dimensions. */
static int measure(struct parser *p, struct declaration *d)
{
	uint64_t element = ptx_type_bits(d->type) / 8;
	if (!element || d->type == PTX_PRED)
		return parser_fail(p, CUTRACE_EFORMAT, d->at, "a variable can't have type .%s",
				   ptx_type_name(d->type));
	d->count = d->vector;
	for (uint32_t i = 0; i < d->ndims; i++)
		if (__builtin_mul_overflow(d->count, d->dims[i], &d->count))
			d->count = UINT64_MAX;
	if (__builtin_mul_overflow(d->count, element, &d->bytes) || d->bytes > PTX_MAX_VARIABLE_BYTES)
		return parser_fail(p, CUTRACE_ENOTSUP, d->at, "'%.*s' is larger than 2^40 bytes",
				   (int)d->name.n, d->name.s);
	if (!d->align)
		d->align = (uint32_t)(element * d->vector);
	return 0;
}

int parse_declarator(struct parser *p, struct declaration *d)
{
	lex_peek(&p->lx);
	d->at = p->lx.p;
	d->is_array = d->unsized = false;
	d->ndims = 0;
	if (!lex_name(&p->lx, &d->name))
		return parser_fail(p, CUTRACE_EFORMAT, d->at, "expected a name");
	while (lex_accept(&p->lx, '[')) {
		int rc = parse_dimension(p, d);
		if (rc)
			return rc;
	}
	return measure(p, d);
}

int add_symbol(struct parser *p, const struct ptx_symbol *s, uint32_t *index)
{
	struct ptx_module *m = p->m;
	if (m->nsymbols == p->ms->symbols_capacity) {
		uint32_t capacity = m->nsymbols ? m->nsymbols * 2 : 32;
		struct ptx_symbol **symbols = realloc(m->symbols, capacity * sizeof(*symbols));
		if (!symbols)
			return parser_out_of_memory(p);
		m->symbols = symbols;
		p->ms->symbols_capacity = capacity;
	}
	struct ptx_symbol *copy = arena_alloc(&m->arena, sizeof(*copy), 8);
	if (!copy)
		return parser_out_of_memory(p);
	*copy = *s;
	*index = m->nsymbols;
	m->symbols[m->nsymbols++] = copy;
	return 0;
}

static bool is_opaque(uint8_t type)
{
	return type == PTX_TEXREF || type == PTX_SAMPLERREF || type == PTX_SURFREF;
}

static int parse_value(struct parser *p, struct declaration *d, struct ptx_symbol *s)
{
	return is_opaque(d->type) ? parse_opaque_initializer(p, d, s) : parse_initializer(p, d, s);
}

static int parse_one(struct parser *p, struct declaration *d, struct ptx_symbol *s)
{
	int rc = parse_declarator(p, d);
	if (rc)
		return rc;
	s->line = p->lx.line;
	s->name = arena_strndup(&p->m->arena, d->name.s, d->name.n);
	if (!s->name)
		return parser_out_of_memory(p);
	s->init = NULL;
	s->relocs = NULL;
	s->nrelocs = 0;
	bool has_value = lex_accept(&p->lx, '=');
	if (has_value && (rc = parse_value(p, d, s)))
		return rc;
	if (d->unsized && !has_value && s->linkage != PTX_LINK_EXTERN)
		return parser_fail(p, CUTRACE_EFORMAT, d->at, "the array '%s' needs a size", s->name);
	s->size = d->bytes;
	s->align = d->align;
	s->dynamic = d->unsized && s->space == PTX_SPACE_SHARED;
	return 0;
}

int parse_variables(struct parser *p, enum ptx_space space, enum ptx_linkage linkage, uint32_t owner,
		    int (*named)(void *ctx, const struct lex_name *name, uint32_t symbol), void *ctx)
{
	struct declaration d;
	uint64_t bank;
	if (lex_accept(&p->lx, '[')) { /* .const[2] of ISA 1.x: banks don't matter any more */
		if (!lex_uint(&p->lx, &bank) || !lex_accept(&p->lx, ']'))
			return parser_fail(p, CUTRACE_EFORMAT, p->lx.p,
					   "expected the number of a constant bank");
	}
	int rc = parse_declaration_type(p, &d);
	while (!rc) {
		uint32_t index, declared_align = d.align;
		struct ptx_symbol s = {.space = space,
				       .type = d.type,
				       .linkage = linkage,
				       .owner = owner,
				       .managed = d.managed};
		if ((rc = parse_one(p, &d, &s)) || (rc = add_symbol(p, &s, &index)) ||
		    (rc = named(ctx, &d.name, index)))
			return rc;
		d.align = declared_align;
		if (!lex_accept(&p->lx, ','))
			return parser_expect(p, ';');
	}
	return rc;
}
