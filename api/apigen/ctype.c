/* SPDX-License-Identifier: Apache-2.0
 *
 * C types as the descriptions spell them, and the type table.
 */
#include "apigen.h"

#include <string.h>

/* The words of which C makes its integer types: "unsigned long long int". */
static bool is_base_word(const char *w)
{
	static const char *const words[] = {"unsigned", "signed", "char", "short", "int", "long"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(w, words[i]))
			return true;
	return false;
}

/* "unsigned" -> "unsigned int", "long long int" -> "long long". */
static const char *parse_base_words(struct parser *p)
{
	bool is_unsigned = false, is_signed = false, is_char = false, is_short = false;
	unsigned longs = 0;
	for (; p->t->kind == TOK_NAME && is_base_word(p->t->text); p->t++) {
		is_unsigned |= at_name(p, "unsigned");
		is_signed |= at_name(p, "signed");
		is_char |= at_name(p, "char");
		is_short |= at_name(p, "short");
		longs += at_name(p, "long");
	}
	if (is_char)
		return is_unsigned ? "unsigned char" : is_signed ? "signed char" : "char";
	if (is_short)
		return is_unsigned ? "unsigned short" : "short";
	if (longs)
		return longs > 1 ? (is_unsigned ? "unsigned long long" : "long long")
				 : (is_unsigned ? "unsigned long" : "long");
	return is_unsigned ? "unsigned int" : "int";
}

static void report_unknown(struct parser *p)
{
	const char *near = symbol_suggest(p->g, p->t->text, SYM_DEF);
	if (near)
		error_at(p->g, p->t->loc, "unknown type '%s'; is it '%s'?", p->t->text, near);
	else
		error_at(p->g, p->t->loc, "unknown type '%s'; a type must be described before it is used",
			 p->t->text);
}

bool parse_ctype(struct parser *p, struct ctype *out)
{
	const char *name;
	memset(out, 0, sizeof(*out));
	out->is_const = accept_name(p, "const");
	if (p->t->kind != TOK_NAME) {
		error_at(p->g, p->t->loc, "expected a type, found %s", p->t->text);
		return false;
	}
	if (is_base_word(p->t->text)) {
		name = parse_base_words(p);
		out->base = def_find(p->g, name);
	} else {
		name = p->t->text;
		out->base = def_find(p->g, name);
		if (!out->base || out->base->kind == DEF_CONST) {
			report_unknown(p);
			return false;
		}
		p->t++;
	}
	while (accept_punct(p, "*"))
		out->stars++;
	if (!out->stars && !strcmp(name, "void")) {
		error_at(p->g, p->t[-1].loc, "a value can't be void");
		return false;
	}
	out->text = arena_printf(&p->g->arena, "%s%s%s%.*s", out->is_const ? "const " : "", name,
				 out->stars ? " " : "", (int)out->stars, "********");
	if (out->stars > 3) {
		error_at(p->g, p->t[-1].loc, "more than three levels of pointers");
		return false;
	}
	return true;
}

unsigned type_intern(struct apigen *g, const struct type *t)
{
	for (unsigned i = 0; i < g->types.n; i++) {
		const struct type *o = &g->types.v[i];
		if (o->kind == t->kind && o->size == t->size && o->elem == t->elem && o->count == t->count &&
		    o->d == t->d && o->align == t->align && !strcmp(o->name, t->name))
			return i;
	}
	*list_add(g, &g->types) = *t;
	return (unsigned)g->types.n - 1;
}

static uint8_t kind_of_def(const struct def *d)
{
	switch (d->kind) {
	case DEF_SCALAR:
		if (!strcmp(d->name, "void"))
			return API_KIND_VOID;
		if (!strcmp(d->name, "char"))
			return API_KIND_CHAR;
		return d->is_float ? API_KIND_FLOAT : d->is_signed ? API_KIND_INT : API_KIND_UINT;
	case DEF_DEVPTR: return API_KIND_DEVPTR;
	case DEF_HANDLE: return API_KIND_HANDLE;
	case DEF_ENUM: return API_KIND_ENUM;
	case DEF_MASK: return API_KIND_MASK;
	case DEF_STRUCT: return API_KIND_STRUCT;
	case DEF_UNION: return API_KIND_UNION;
	case DEF_CALLBACK: return API_KIND_CALLBACK;
	case DEF_CONST: break;
	}
	return API_KIND_OPAQUE;
}

unsigned type_of_def(struct apigen *g, struct def *d, const char *name)
{
	struct type t = {.name = name, .kind = kind_of_def(d), .size = d->size, .align = d->align};
	if (t.kind == API_KIND_VOID)
		return 0;
	if (d->kind == DEF_HANDLE || d->kind == DEF_ENUM || d->kind == DEF_MASK || d->kind == DEF_STRUCT ||
	    d->kind == DEF_UNION)
		t.d = d;
	return type_intern(g, &t);
}

unsigned type_pointer(struct apigen *g, const char *name, unsigned elem)
{
	return type_intern(
		g,
		&(struct type){.name = name, .kind = API_KIND_POINTER, .size = 8, .align = 8, .elem = elem});
}

static const char *without_star(struct apigen *g, const char *text)
{
	size_t n = strlen(text) - 1;
	while (n && text[n - 1] == ' ')
		n--;
	return arena_strndup(&g->arena, text, n);
}

unsigned type_of_ctype(struct apigen *g, const struct ctype *c, bool bytes)
{
	struct type t = {.name = c->text, .size = 8, .align = 8};
	bool is_void = !strcmp(c->base->name, "void"), is_char = !strcmp(c->base->name, "char");
	if (!c->stars)
		return type_of_def(g, c->base, c->text);
	if (c->stars == 1 && is_void && bytes)
		return type_pointer(g, c->text, 1);
	if (c->stars == 1 && (is_void || c->base->kind == DEF_CALLBACK)) {
		t.kind = is_void ? API_KIND_OPAQUE : API_KIND_CALLBACK;
		return type_intern(g, &t);
	}
	if (c->stars == 1 && is_char && c->is_const && !bytes) {
		t.kind = API_KIND_STRING;
		return type_intern(g, &t);
	}
	struct ctype inner = *c;
	inner.stars--;
	inner.text = without_star(g, c->text);
	if (!inner.stars && inner.is_const) {
		inner.is_const = false;
		inner.text += strlen("const ");
	}
	return type_pointer(g, c->text, type_of_ctype(g, &inner, false));
}

/* "void *" + "p" -> "void *p"; "int" + "n" -> "int n". */
const char *ctype_declare(struct apigen *g, const char *type_text, const char *name)
{
	size_t n = strlen(type_text);
	return arena_printf(&g->arena, "%s%s%s", type_text, n && type_text[n - 1] == '*' ? "" : " ", name);
}
