/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: lengths and conditions over parameters, or over a struct's fields.
 *
 *   cond    = or [ "?" cond ":" cond ]        or    = and { "||" and }
 *   and     = equal { "&&" equal }            equal = sum [ ("==" | "!=") sum ]
 *   sum     = product { ("+" | "-") product } product = unary { ("*" | "/") unary }
 *   unary   = "*" NAME | NUMBER | NAME [ "->" NAME ] | "(" cond ")" | CALL
 *   CALL    = min(a, b) | max(a, b) | strlen(NAME) | image(NAME) | sizeof(TYPE)
 */
#include "apigen.h"

#include <string.h>

#define MAX_DEPTH 32

struct ctx {
	struct parser *p;
	const struct scope *scope;
	unsigned depth;
};

int expr_make(struct apigen *g, enum api_expr_op op, int a, int b, int c, int64_t value)
{
	struct api_expr e = {(uint8_t)op, (int16_t)a, (int16_t)b, (int16_t)c, value};
	for (size_t i = 0; i < g->exprs.n; i++) {
		const struct api_expr *o = &g->exprs.v[i];
		if (o->op == e.op && o->a == e.a && o->b == e.b && o->c == e.c && o->value == e.value)
			return (int)i;
	}
	*list_add(g, &g->exprs) = e;
	return (int)g->exprs.n - 1;
}

int expr_const(struct apigen *g, int64_t value)
{
	return expr_make(g, API_EXPR_CONST, -1, -1, -1, value);
}

static int parse_cond(struct ctx *x);

static int find_param(const struct scope *s, const char *name)
{
	for (size_t i = 0; s->func && i < s->func->params.n; i++)
		if (!strcmp(s->func->params.v[i].name, name))
			return (int)i;
	return -1;
}

static int find_field(const struct def *d, const char *name)
{
	for (size_t i = 0; d && i < d->fields.n; i++)
		if (!strcmp(d->fields.v[i].name, name))
			return (int)i;
	return -1;
}

static int report_name(struct ctx *x, const struct token *t)
{
	error_at(x->p->g, t->loc, "'%s' is neither a %s nor a constant", t->text,
		 x->scope->func ? "parameter" : "field");
	return -1;
}

/* A parameter that an operator needs to be a pointer. */
static int pointer_param(struct ctx *x, const struct token *t, const char *why)
{
	int i = x->scope->func ? find_param(x->scope, t->text) : -1;
	if (!x->scope->func)
		error_at(x->p->g, t->loc, "%s works on parameters only, not on fields", why);
	else if (i < 0)
		report_name(x, t);
	else if (!x->scope->func->params.v[i].ctype.stars) {
		error_at(x->p->g, t->loc, "'%s' is not a pointer", t->text);
		i = -1;
	}
	return i;
}

static int parse_member(struct ctx *x, const struct token *t)
{
	struct token *field = expect_name(x->p, "a field");
	if (!field || !x->scope)
		return -1;
	int i = pointer_param(x, t, "'->'");
	if (i < 0)
		return -1;
	const struct def *d = x->scope->func->params.v[i].ctype.base;
	int f = find_field(d, field->text);
	if (f < 0) {
		error_at(x->p->g, field->loc, "'%s' has no field '%s'", d->name, field->text);
		return -1;
	}
	return expr_make(x->p->g, API_EXPR_MEMBER, i, f, -1, 0);
}

static int parse_deref(struct ctx *x)
{
	struct token *t = expect_name(x->p, "a parameter");
	if (!t || !x->scope)
		return -1;
	int i = pointer_param(x, t, "'*'");
	return i < 0 ? -1 : expr_make(x->p->g, API_EXPR_DEREF, -1, -1, -1, i);
}

static int parse_call(struct ctx *x, const struct token *t)
{
	struct parser *p = x->p;
	int r = -1;
	if (!strcmp(t->text, "sizeof")) {
		struct ctype c;
		if (!parse_ctype(p, &c))
			return -1;
		r = expr_const(p->g, c.stars ? 8 : c.base->size);
	} else if (!strcmp(t->text, "strlen") || !strcmp(t->text, "image")) {
		struct token *arg = expect_name(p, "a parameter");
		int i = arg && x->scope ? pointer_param(x, arg, t->text) : -1;
		if (!arg || (x->scope && i < 0))
			return -1;
		if (x->scope)
			r = expr_make(p->g, *t->text == 's' ? API_EXPR_STRLEN : API_EXPR_IMAGE, -1, -1, -1,
				      i);
	} else if (!strcmp(t->text, "min") || !strcmp(t->text, "max")) {
		int a = parse_cond(x);
		if (!expect_punct(p, ","))
			return -1;
		int b = parse_cond(x);
		if (x->scope)
			r = expr_make(p->g, t->text[1] == 'i' ? API_EXPR_MIN : API_EXPR_MAX, a, b, -1, 0);
	} else {
		error_at(p->g, t->loc, "unknown operator '%s'; there are min, max, strlen, image and sizeof",
			 t->text);
		return -1;
	}
	return expect_punct(p, ")") ? r : -1;
}

static int parse_name(struct ctx *x)
{
	struct token *t = x->p->t++;
	struct symbol *s;
	if (accept_punct(x->p, "("))
		return parse_call(x, t);
	if (accept_punct(x->p, "->"))
		return parse_member(x, t);
	if (!x->scope)
		return -1;
	int i = x->scope->func ? find_param(x->scope, t->text) : find_field(x->scope->fields, t->text);
	if (i >= 0)
		return expr_make(x->p->g, x->scope->func ? API_EXPR_PARAM : API_EXPR_FIELD, -1, -1, -1, i);
	s = symbol_find(x->p->g, t->text);
	if (s && s->kind == SYM_VALUE)
		return expr_const(x->p->g, s->value);
	return report_name(x, t);
}

static int parse_unary(struct ctx *x)
{
	struct parser *p = x->p;
	if (accept_punct(p, "*"))
		return parse_deref(x);
	if (accept_punct(p, "(")) {
		int e = parse_cond(x);
		return expect_punct(p, ")") ? e : -1;
	}
	if (p->t->kind == TOK_NUMBER)
		return expr_const(p->g, p->t++->value);
	if (p->t->kind == TOK_NAME)
		return parse_name(x);
	error_at(p->g, p->t->loc, "expected an expression, found %s", p->t->text);
	return -1;
}

struct binary {
	const char *punct;
	enum api_expr_op op;
};

static int parse_binary(struct ctx *x, const struct binary *ops, size_t nops, int (*operand)(struct ctx *))
{
	int left = operand(x);
	for (size_t i = 0; i < nops; i++) {
		if (!accept_punct(x->p, ops[i].punct))
			continue;
		int right = operand(x);
		left = left < 0 || right < 0 ? -1 : expr_make(x->p->g, ops[i].op, left, right, -1, 0);
		i = (size_t)-1; /* look for another operator of this level */
	}
	return left;
}

static int parse_product(struct ctx *x)
{
	static const struct binary ops[] = {{"*", API_EXPR_MUL}, {"/", API_EXPR_DIV}};
	return parse_binary(x, ops, 2, parse_unary);
}

static int parse_sum(struct ctx *x)
{
	static const struct binary ops[] = {{"+", API_EXPR_ADD}, {"-", API_EXPR_SUB}};
	return parse_binary(x, ops, 2, parse_product);
}

static int parse_equal(struct ctx *x)
{
	static const struct binary ops[] = {{"==", API_EXPR_EQ}, {"!=", API_EXPR_NE}};
	return parse_binary(x, ops, 2, parse_sum);
}

static int parse_and(struct ctx *x)
{
	static const struct binary ops[] = {{"&&", API_EXPR_AND}};
	return parse_binary(x, ops, 1, parse_equal);
}

static int parse_or(struct ctx *x)
{
	static const struct binary ops[] = {{"||", API_EXPR_OR}};
	return parse_binary(x, ops, 1, parse_and);
}

static int parse_cond(struct ctx *x)
{
	if (++x->depth > MAX_DEPTH) {
		error_at(x->p->g, x->p->t->loc, "the expression is nested too deeply");
		while (x->p->t->kind != TOK_END)
			x->p->t++;
		return -1;
	}
	int a = parse_or(x);
	if (accept_punct(x->p, "?")) {
		int b = parse_cond(x), c = -1;
		if (expect_punct(x->p, ":"))
			c = parse_cond(x);
		a = a < 0 || b < 0 || c < 0 ? -1 : expr_make(x->p->g, API_EXPR_COND, a, b, c, 0);
	}
	x->depth--;
	return a;
}

int parse_expr(struct parser *p, const struct scope *scope)
{
	struct ctx x = {p, scope, 0};
	return parse_cond(&x);
}
