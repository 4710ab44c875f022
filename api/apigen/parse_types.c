/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptions of everything that is not a struct or a function: scalars, handles, enums,
 * masks, callbacks, constants, polymorphic tables.
 */
#include "apigen.h"

#include <string.h>

static struct def *declare(struct parser *p, enum def_kind kind)
{
	struct token *name = expect_name(p, "a name");
	if (!name)
		return NULL;
	struct def *d = def_new(p->g, kind, name->text, name->loc);
	if (!symbol_add(p->g, d->name, SYM_DEF, d->loc, d, 0))
		return NULL;
	*list_add(p->g, &p->g->defs) = d;
	return d;
}

/* aka NAME NAME ...: further typedef names of the same type */
static void parse_aka(struct parser *p, struct def *d)
{
	while (p->t->kind == TOK_NAME) {
		struct token *t = p->t++;
		if (symbol_add(p->g, t->text, SYM_DEF, t->loc, d, 0))
			*list_add(p->g, &d->aka) = t->text;
	}
}

static void parse_value_line(struct parser *p, struct def *d)
{
	struct value v = {0};
	struct token *name = expect_name(p, "the name of a constant");
	if (!name || !expect_punct(p, "=") || !parse_constant(p, &v.value))
		return;
	expect_end(p);
	v.name = name->text;
	v.loc = name->loc;
	if (symbol_add(p->g, v.name, SYM_VALUE, v.loc, d, v.value))
		*list_add(p->g, &d->values) = v;
}

static void parse_value_block(struct parser *p, struct def *d)
{
	unsigned indent = 0;
	while (next_line(p, 0, &indent))
		parse_value_line(p, d);
}

/* scalar NAME : TYPE; devptr NAME : TYPE [aka NAMES] */
void parse_scalar(struct parser *p, enum def_kind kind)
{
	struct ctype c;
	struct def *d = declare(p, kind);
	if (!d || !expect_punct(p, ":") || !parse_ctype(p, &c))
		return;
	d->base = c.text;
	d->size = c.stars ? 8 : c.base->size;
	d->align = c.stars ? 8 : c.base->align;
	d->is_signed = !c.stars && c.base->is_signed;
	d->is_float = !c.stars && c.base->is_float;
	if (kind == DEF_DEVPTR && c.stars)
		error_at(p->g, p->t[-1].loc, "a device pointer is an integer to the host");
	if (accept_name(p, "aka"))
		parse_aka(p, d);
	expect_end(p);
}

/* handle NAME : TAG * or handle NAME : TYPE; [accepts HANDLE] [aka NAMES]; special values indented */
void parse_handle(struct parser *p)
{
	struct ctype c;
	struct def *d = declare(p, DEF_HANDLE);
	if (!d || !expect_punct(p, ":"))
		return;
	*list_add(p->g, &p->g->handles) = d;
	d->size = d->align = 8;
	if (p->t->kind == TOK_NAME && p->t[1].kind == TOK_PUNCT && !strcmp(p->t[1].text, "*") &&
	    !def_find(p->g, p->t->text)) {
		d->tag = p->t->text;
		d->base = arena_printf(&p->g->arena, "struct %s *", d->tag);
		p->t += 2;
	} else if (parse_ctype(p, &c)) {
		d->base = c.text;
		d->size = d->align = c.stars ? 8 : c.base->size;
		d->is_signed = !c.stars && c.base->is_signed;
	} else {
		return;
	}
	if (accept_name(p, "accepts")) {
		struct token *t = expect_name(p, "a handle");
		d->handle_alias = t ? def_find(p->g, t->text) : NULL;
		if (t && (!d->handle_alias || d->handle_alias->kind != DEF_HANDLE))
			error_at(p->g, t->loc, "'%s' is not a handle", t->text);
	}
	if (accept_name(p, "aka"))
		parse_aka(p, d);
	expect_end(p);
	parse_value_block(p, d);
}

/* enum NAME [aka NAMES]; mask NAME [macros] [aka NAMES]; lines NAME = VALUE */
void parse_enum(struct parser *p, enum def_kind kind)
{
	struct def *d = declare(p, kind);
	if (!d)
		return;
	*list_add(p->g, &p->g->enums) = d;
	d->size = d->align = 4;
	d->is_signed = true;
	d->macros = accept_name(p, "macros");
	if (accept_name(p, "aka"))
		parse_aka(p, d);
	expect_end(p);
	parse_value_block(p, d);
	if (!d->values.n)
		error_at(p->g, d->loc, "'%s' has no values", d->name);
}

/* callback NAME = RET (*)(PARAMS), or RET (PARAMS) for a function type */
void parse_callback(struct parser *p)
{
	struct def *d = declare(p, DEF_CALLBACK);
	if (!d || !expect_punct(p, "="))
		return;
	d->size = d->align = 8;
	const struct loc *loc = &p->t->loc;
	const char *from = loc->line_text + loc->col - 1;
	while (p->t->kind != TOK_END)
		p->t++;
	size_t n = (size_t)(p->t->loc.line_text + p->t->loc.col - 1 - from);
	const char *hash = memchr(from, '#', n);
	d->base = arena_strndup(&p->g->arena, from, hash ? (size_t)(hash - from) : n);
	if (!strchr(d->base, '(') || !strchr(d->base, ')'))
		error_at(p->g, *loc, "expected a function type, as in: void (*)(void *data)");
}

/* const NAME = VALUE, or const NAME = (TYPE) VALUE */
void parse_const(struct parser *p)
{
	struct token *name = expect_name(p, "a name");
	struct value v = {0};
	struct ctype c = {0};
	if (!name || !expect_punct(p, "="))
		return;
	if (accept_punct(p, "(") && (!parse_ctype(p, &c) || !expect_punct(p, ")")))
		return;
	if (!parse_constant(p, &v.value))
		return;
	expect_end(p);
	struct def *d = def_new(p->g, DEF_CONST, name->text, name->loc);
	d->base = c.text;
	v.name = name->text;
	*list_add(p->g, &d->values) = v;
	if (symbol_add(p->g, d->name, SYM_VALUE, d->loc, d, v.value))
		*list_add(p->g, &p->g->defs) = d;
}

/* poly NAME; lines CONSTANT TYPE: what a pointer points to when a selector has this value */
void parse_poly(struct parser *p)
{
	struct token *name = expect_name(p, "a name");
	unsigned indent = 0;
	if (!name)
		return;
	expect_end(p);
	struct poly_block *b = arena_zalloc(&p->g->arena, sizeof(*b));
	b->name = name->text;
	b->loc = name->loc;
	/* Its own name space: a table is called like the enum that selects. */
	const char *key = arena_printf(&p->g->arena, "poly %s", b->name);
	symbol_add(p->g, key, SYM_POLY, b->loc, b, 0);
	*list_add(p->g, &p->g->polys) = b;
	while (next_line(p, 0, &indent)) {
		struct api_poly_case c = {0};
		struct ctype type;
		struct loc loc = p->t->loc;
		if (!parse_constant(p, &c.value) || !parse_ctype(p, &type))
			continue;
		expect_end(p);
		c.type = (uint16_t)type_of_ctype(p->g, &type, false);
		*list_add(p->g, &b->cases) = c;
		*list_add(p->g, &b->locs) = loc;
	}
}
