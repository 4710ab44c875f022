/* SPDX-License-Identifier: Apache-2.0
 *
 * struct and union blocks, their nesting, tags and layout (x86-64 System V).
 *
 *   struct NAME [align N] [aka NAMES]
 *       TYPE NAME[N]  [len EXPR] [since N] [mask M] [enum E] [opaque] [params] [extra] [tag FIELD]
 *                     [case CONSTANT ...]
 *       struct NAME / union [NAME] [tag FIELD] [case ...]
 *           ...
 *   union NAME [tag FIELD] [aka NAMES]
 */
#include "apigen.h"

#include <string.h>

#define MAX_NESTING 6

static unsigned round_up(unsigned v, unsigned align)
{
	return align ? (v + align - 1) / align * align : v;
}

static struct field *field_find(struct def *d, const char *name)
{
	for (size_t i = 0; i < d->fields.n; i++)
		if (!strcmp(d->fields.v[i].name, name))
			return &d->fields.v[i];
	return NULL;
}

static void parse_cases(struct parser *p, struct field *f)
{
	int64_t ignored;
	do {
		struct token *at = p->t;
		if (!parse_constant(p, &ignored))
			return;
		*list_add(p->g, &f->cases) = at;
	} while (accept_punct(p, ","));
}

/* `enum E` and `mask M` say what an integer means. */
static void retype(struct parser *p, struct ctype *c, unsigned *type, enum def_kind kind)
{
	struct token *t = expect_name(p, "the name of an enum");
	struct def *d = t ? def_find(p->g, t->text) : NULL;
	if (!t)
		return;
	if (!d || (d->kind != DEF_ENUM && d->kind != DEF_MASK)) {
		error_at(p->g, t->loc, "'%s' is not an enum or a mask", t->text);
		return;
	}
	if (c->base->kind != DEF_SCALAR || c->base->is_float || c->stars > 1) {
		error_at(p->g, t->loc, "only an integer, or a pointer to one, can be an enum or a mask");
		return;
	}
	struct type ty = {.name = c->base->name, .size = c->base->size, .align = c->base->align, .d = d};
	ty.kind = kind == DEF_MASK ? API_KIND_MASK : API_KIND_ENUM;
	*type = type_intern(p->g, &ty);
	if (c->stars)
		*type = type_pointer(p->g, c->text, *type);
}

static void parse_len(struct parser *p, struct field *f)
{
	struct token *at = p->t;
	unsigned errors = p->g->errors;
	parse_expr(p, NULL);
	f->len_at = p->g->errors == errors ? at : NULL;
}

static void parse_field_attributes(struct parser *p, struct def *d, struct field *f, struct ctype *c)
{
	bool opaque = false;
	int64_t n = 0;
	unsigned errors = p->g->errors;
	while (p->t->kind != TOK_END && p->g->errors == errors) {
		struct token *t = p->t;
		if (accept_name(p, "len"))
			parse_len(p, f);
		else if (accept_name(p, "since") && expect_number(p, &n, "a CUDA version"))
			f->since = (unsigned)n;
		else if (accept_name(p, "opaque"))
			opaque = true;
		else if (accept_name(p, "params"))
			f->payload = API_PAYLOAD_PARAMS;
		else if (accept_name(p, "extra"))
			f->payload = API_PAYLOAD_EXTRA;
		else if (accept_name(p, "tag"))
			f->tag = expect_name(p, "a field");
		else if (accept_name(p, "case"))
			parse_cases(p, f);
		else if (c && accept_name(p, "mask"))
			retype(p, c, &f->type, DEF_MASK);
		else if (c && accept_name(p, "enum"))
			retype(p, c, &f->type, DEF_ENUM);
		if (p->t == t)
			error_at(p->g, t->loc, "unknown attribute '%s' of a field", t->text);
	}
	if (f->cases.n && d->kind != DEF_UNION)
		error_at(p->g, f->cases.v[0]->loc, "only a member of a union can have a case");
	bool bytes = f->len_at != NULL;
	if (c && c->stars && (opaque || f->payload))
		f->type = type_intern(
			p->g,
			&(struct type){.name = c->text, .kind = API_KIND_OPAQUE, .size = 8, .align = 8});
	else if (c && c->stars && bytes)
		f->type = type_of_ctype(p->g, c, true);
	if (f->len_at && (!c || !c->stars))
		error_at(p->g, f->len_at->loc, "only a pointer has a length");
}

static void add_field(struct parser *p, struct def *d, const struct field *f)
{
	struct field *old = *f->name ? field_find(d, f->name) : NULL;
	if (old) {
		error_at(p->g, f->loc, "'%s' already has a field '%s'", d->name, f->name);
		note_at(p->g, old->loc, "here");
		return;
	}
	*list_add(p->g, &d->fields) = *f;
}

static void parse_array(struct parser *p, struct field *f)
{
	int64_t n;
	if (!accept_punct(p, "["))
		return;
	struct token *t = p->t;
	if (!parse_constant(p, &n) || !expect_punct(p, "]"))
		return;
	if (n < 1 || n > 4096) {
		error_at(p->g, t->loc, "an array of %s elements", t->text);
		return;
	}
	f->count = (unsigned)n;
}

static void parse_plain_field(struct parser *p, struct def *d)
{
	struct field f = {.len = -1, .active = -1};
	struct ctype c;
	if (!parse_ctype(p, &c))
		return;
	struct token *name = expect_name(p, "a field's name");
	if (!name)
		return;
	f.name = name->text;
	f.loc = name->loc;
	f.type_text = c.text;
	f.type = type_of_ctype(p->g, &c, false);
	if (!c.stars && (c.base->kind == DEF_STRUCT || c.base->kind == DEF_UNION)) {
		f.def = c.base;
		if (!c.base->size) {
			error_at(p->g, f.loc, "'%s' contains itself or is not complete", c.base->name);
			return;
		}
	}
	parse_array(p, &f);
	parse_field_attributes(p, d, &f, &c);
	add_field(p, d, &f);
}

static void parse_body(struct parser *p, struct def *d, unsigned parent_indent, unsigned nesting);

static struct def *nested_def(struct parser *p, struct def *outer, enum def_kind kind, const char *name,
			      struct loc loc)
{
	size_t nameless = 0;
	for (size_t i = 0; i < outer->fields.n; i++)
		nameless += !*outer->fields.v[i].name;
	const char *full =
		*name      ? arena_printf(&p->g->arena, "%s.%s", outer->name, name)
		: nameless ? arena_printf(&p->g->arena, "%s.(anonymous %zu)", outer->name, nameless + 1)
			   : arena_printf(&p->g->arena, "%s.(anonymous)", outer->name);
	struct def *d = def_new(p->g, kind, full, loc);
	d->nested = true;
	return d;
}

static void parse_nested(struct parser *p, struct def *outer, enum def_kind kind, unsigned indent,
			 unsigned nesting)
{
	struct field f = {.name = "", .loc = p->t[-1].loc, .len = -1, .active = -1};
	if (p->t->kind == TOK_NAME && !at_name(p, "tag") && !at_name(p, "case")) {
		f.name = p->t->text;
		f.loc = p->t++->loc;
	} else if (kind == DEF_STRUCT) {
		error_at(p->g, f.loc, "a nested struct needs a name");
	}
	f.def = nested_def(p, outer, kind, f.name, f.loc);
	parse_array(p, &f);
	parse_field_attributes(p, outer, &f, NULL);
	parse_body(p, f.def, indent, nesting + 1);
	f.type = type_of_def(p->g, f.def, f.def->name);
	f.type_text = f.def->name;
	if (f.def->size)
		add_field(p, outer, &f);
}

static void lay_out(struct parser *p, struct def *d)
{
	unsigned offset = 0;
	d->align = 1;
	for (size_t i = 0; i < d->fields.n; i++) {
		struct field *f = &d->fields.v[i];
		const struct type *t = &p->g->types.v[f->type];
		f->size = t->size * (f->count ? f->count : 1);
		f->offset = d->kind == DEF_UNION ? 0 : round_up(offset, t->align);
		offset = d->kind == DEF_UNION && offset > f->size ? offset : f->offset + f->size;
		if (t->align > d->align)
			d->align = t->align;
	}
	if (d->max_align > d->align)
		d->align = d->max_align;
	d->size = round_up(offset, d->align);
	if (d->size > 0xffff)
		error_at(p->g, d->loc, "'%s' is larger than 65535 bytes", d->name);
}

/* The condition under which a member of a union is the live one: tag == case || ... */
static int case_condition(struct parser *p, const struct field *member, int tag_field)
{
	int result = -1, tag = expr_make(p->g, API_EXPR_FIELD, -1, -1, -1, tag_field);
	for (size_t i = 0; i < member->cases.n; i++) {
		int64_t value = 0;
		struct parser at = *p;
		at.t = member->cases.v[i];
		if (!parse_constant(&at, &value))
			return -1;
		int one = expr_make(p->g, API_EXPR_EQ, tag, expr_const(p->g, value), -1, 0);
		result = result < 0 ? one : expr_make(p->g, API_EXPR_OR, result, one, -1, 0);
	}
	return result;
}

static void apply_tag(struct parser *p, struct def *outer, struct def *u, struct token *tag)
{
	struct field *f = field_find(outer, tag->text);
	if (!f || u->kind != DEF_UNION) {
		error_at(p->g, tag->loc, f ? "only a union has a tag" : "'%s' has no field '%s'", outer->name,
			 tag->text);
		return;
	}
	int index = (int)(f - outer->fields.v);
	for (size_t i = 0; i < u->fields.n; i++) {
		struct field *m = &u->fields.v[i];
		int active = m->cases.n ? case_condition(p, m, index) : -1;
		if (u->tagged_by && active != m->active) {
			error_at(p->g, tag->loc, "'%s' is tagged differently in '%s'", u->name,
				 u->tagged_by->name);
			return;
		}
		m->active = active;
	}
	u->tagged_by = outer;
}

static void resolve_fields(struct parser *p, struct def *d)
{
	struct scope scope = {NULL, d};
	for (size_t i = 0; i < d->fields.n; i++) {
		struct field *f = &d->fields.v[i];
		if (f->len_at) {
			struct parser at = *p;
			at.t = f->len_at;
			f->len = parse_expr(&at, &scope);
		}
		if (f->tag && f->def)
			apply_tag(p, d, f->def, f->tag);
		else if (f->tag)
			error_at(p->g, f->tag->loc, "only a union has a tag");
		if (f->count)
			f->type = type_intern(p->g, &(struct type){.name = f->type_text,
								   .kind = API_KIND_ARRAY,
								   .size = f->size,
								   .align = p->g->types.v[f->type].align,
								   .elem = f->type,
								   .count = f->count});
	}
}

static void parse_body(struct parser *p, struct def *d, unsigned parent_indent, unsigned nesting)
{
	unsigned indent = 0, errors = p->g->errors;
	if (nesting > MAX_NESTING) {
		error_at(p->g, d->loc, "nested too deeply");
		skip_block(p, parent_indent);
		return;
	}
	while (next_line(p, parent_indent, &indent)) {
		bool is_struct = accept_name(p, "struct");
		if (is_struct || accept_name(p, "union"))
			parse_nested(p, d, is_struct ? DEF_STRUCT : DEF_UNION, indent, nesting);
		else
			parse_plain_field(p, d);
	}
	if (!d->fields.n) {
		error_at(p->g, d->loc, "'%s' has no fields", d->name);
		return;
	}
	lay_out(p, d);
	if (p->g->errors == errors)
		resolve_fields(p, d);
	*list_add(p->g, &p->g->structs) = d;
}

static void parse_struct_attributes(struct parser *p, struct def *d, struct token **tag)
{
	int64_t n;
	while (p->t->kind != TOK_END) {
		struct token *t = p->t;
		if (accept_name(p, "align")) {
			if (expect_number(p, &n, "an alignment"))
				d->max_align = (unsigned)n;
			if (!d->max_align || d->max_align > 4096 || (d->max_align & (d->max_align - 1)))
				error_at(p->g, t->loc, "an alignment is a power of two up to 4096");
		} else if (accept_name(p, "tag")) {
			*tag = expect_name(p, "a field");
		} else if (accept_name(p, "ctag")) {
			struct token *c = expect_name(p, "a struct tag");
			d->tag = c ? c->text : NULL;
		} else if (accept_name(p, "aka")) {
			while (p->t->kind == TOK_NAME) {
				struct token *a = p->t++;
				if (symbol_add(p->g, a->text, SYM_DEF, a->loc, d, 0))
					*list_add(p->g, &d->aka) = a->text;
			}
		}
		if (p->t == t) {
			error_at(p->g, t->loc, "unknown attribute '%s' of a struct", t->text);
			return;
		}
	}
}

void parse_struct(struct parser *p, enum def_kind kind)
{
	struct token *name = expect_name(p, "a name"), *tag = NULL;
	if (!name)
		return;
	struct def *d = def_new(p->g, kind, name->text, name->loc);
	bool added = symbol_add(p->g, d->name, SYM_DEF, d->loc, d, 0);
	parse_struct_attributes(p, d, &tag);
	unsigned errors = p->g->errors;
	parse_body(p, d, 0, 0);
	if (tag && p->g->errors == errors) {
		struct field *f = field_find(d, tag->text);
		apply_tag(p, d, d, tag);
		d->self_tag = f;
	}
	if (added && d->size)
		*list_add(p->g, &p->g->defs) = d;
}
