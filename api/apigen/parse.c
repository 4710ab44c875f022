/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser's ground: lines, tokens, constants, top-level items. After an error the
 * rest of the item is skipped, so that one run reports many errors.
 */
#include "apigen.h"

#include <string.h>

/* Moves to the next line if it is indented deeper than its parent. The first such line sets
 * the block's indentation (*indent == 0 before), the others must keep it. */
bool next_line(struct parser *p, unsigned parent_indent, unsigned *indent)
{
	while (p->at < p->nlines && p->lines[p->at].indent > parent_indent) {
		struct line *l = &p->lines[p->at];
		if (!*indent)
			*indent = l->indent;
		p->at++;
		if (l->indent == *indent) {
			p->t = l->tokens;
			return true;
		}
		error_at(p->g, l->tokens[0].loc,
			 "indented differently from the lines above (column %u, not %u)", l->indent + 1,
			 *indent + 1);
	}
	return false;
}

void skip_block(struct parser *p, unsigned indent)
{
	while (p->at < p->nlines && p->lines[p->at].indent > indent)
		p->at++;
}

bool at_name(const struct parser *p, const char *word)
{
	return p->t->kind == TOK_NAME && !strcmp(p->t->text, word);
}

bool at_punct(const struct parser *p, const char *punct)
{
	return p->t->kind == TOK_PUNCT && !strcmp(p->t->text, punct);
}

bool accept_name(struct parser *p, const char *word)
{
	if (!at_name(p, word))
		return false;
	p->t++;
	return true;
}

bool accept_punct(struct parser *p, const char *punct)
{
	if (!at_punct(p, punct))
		return false;
	p->t++;
	return true;
}

struct token *expect_name(struct parser *p, const char *what)
{
	if (p->t->kind == TOK_NAME)
		return p->t++;
	error_at(p->g, p->t->loc, "expected %s, found %s", what, p->t->text);
	return NULL;
}

bool expect_punct(struct parser *p, const char *punct)
{
	if (accept_punct(p, punct))
		return true;
	error_at(p->g, p->t->loc, "expected '%s', found %s", punct, p->t->text);
	return false;
}

bool expect_number(struct parser *p, int64_t *value, const char *what)
{
	if (p->t->kind == TOK_NUMBER) {
		*value = p->t++->value;
		return true;
	}
	error_at(p->g, p->t->loc, "expected %s, found %s", what, p->t->text);
	return false;
}

static bool parse_one_constant(struct parser *p, int64_t *value)
{
	bool minus = accept_punct(p, "-");
	if (p->t->kind == TOK_NAME) {
		struct symbol *s = symbol_find(p->g, p->t->text);
		if (!s || s->kind != SYM_VALUE) {
			const char *near = symbol_suggest(p->g, p->t->text, SYM_VALUE);
			error_at(p->g, p->t->loc, "unknown constant '%s'%s%s%s", p->t->text,
				 near ? "; is it '" : "", near ? near : "", near ? "'?" : "");
			return false;
		}
		*value = s->value;
		p->t++;
	} else if (!expect_number(p, value, "a number or the name of a constant")) {
		return false;
	}
	if (minus)
		*value = (int64_t)(0 - (uint64_t)*value);
	return true;
}

/* 1, -1, 0x10, NAME, 1 << 3, A | B */
bool parse_constant(struct parser *p, int64_t *value)
{
	int64_t v;
	if (!parse_one_constant(p, value))
		return false;
	for (;;) {
		if (accept_punct(p, "|")) {
			if (!parse_one_constant(p, &v))
				return false;
			*value |= v;
		} else if (accept_punct(p, "<<")) {
			struct token *t = p->t;
			if (!parse_one_constant(p, &v))
				return false;
			if (v < 0 || v > 62) {
				error_at(p->g, t->loc, "shift by %s is out of range", t->text);
				return false;
			}
			*value = (int64_t)((uint64_t)*value << v);
		} else {
			return true;
		}
	}
}

void expect_end(struct parser *p)
{
	if (p->t->kind != TOK_END)
		error_at(p->g, p->t->loc, "expected the end of the line, found %s", p->t->text);
}

static void parse_result(struct parser *p)
{
	struct ctype c;
	if (!parse_ctype(p, &c))
		return;
	p->g->result_type = c.text;
	expect_end(p);
}

static bool parse_item(struct parser *p)
{
	static const struct {
		const char *word;
		enum def_kind kind;
		void (*with_kind)(struct parser *, enum def_kind);
		void (*plain)(struct parser *);
	} items[] = {
		{"func", 0, NULL, parse_func},
		{"struct", DEF_STRUCT, parse_struct, NULL},
		{"union", DEF_UNION, parse_struct, NULL},
		{"enum", DEF_ENUM, parse_enum, NULL},
		{"mask", DEF_MASK, parse_enum, NULL},
		{"handle", 0, NULL, parse_handle},
		{"scalar", DEF_SCALAR, parse_scalar, NULL},
		{"devptr", DEF_DEVPTR, parse_scalar, NULL},
		{"callback", 0, NULL, parse_callback},
		{"const", 0, NULL, parse_const},
		{"poly", 0, NULL, parse_poly},
		{"result", 0, NULL, parse_result},
	};
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (accept_name(p, items[i].word)) {
			if (items[i].plain)
				items[i].plain(p);
			else
				items[i].with_kind(p, items[i].kind);
			return true;
		}
	error_at(p->g, p->t->loc,
		 "expected func, struct, union, enum, mask, handle, devptr, scalar, callback, poly, const or "
		 "result, found %s",
		 p->t->text);
	return false;
}

void parse_file(struct apigen *g, const struct source *src)
{
	struct parser p = {.g = g, .src = src};
	p.lines = lex_lines(g, src, &p.nlines);
	while (p.at < p.nlines) {
		struct line *l = &p.lines[p.at++];
		p.t = l->tokens;
		if (l->indent) {
			error_at(g, l->tokens[0].loc,
				 "an indented line must follow the item that it belongs to");
			skip_block(&p, 0);
			continue;
		}
		parse_item(&p);
		skip_block(&p, 0); /* what an erroneous item has left */
	}
}
