/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/pieces.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/lexer.h"

struct cutter {
	const char *text;
	struct lexer lx;
	struct ptx_pieces *out;
	size_t capacity;
	bool failed;
};

static struct ptx_piece *add(struct cutter *c, enum ptx_piece_kind kind, const char *begin, uint32_t line)
{
	struct ptx_pieces *o = c->out;

	if (o->n == c->capacity) {
		size_t more = c->capacity ? 2 * c->capacity : 256;
		struct ptx_piece *grown = reallocarray(o->v, more, sizeof(*grown));

		if (!grown) {
			c->failed = true;
			return NULL;
		}
		o->v = grown;
		c->capacity = more;
	}
	o->v[o->n] = (struct ptx_piece){.kind = kind,
					.begin = (size_t)(begin - c->text),
					.end = (size_t)(c->lx.p - c->text),
					.line = line};
	return &o->v[o->n++];
}

/* Behind the next ';'; the end of the text, where there is none. */
static void skip_statement(struct lexer *lx)
{
	if (lex_skip_to(lx, ";"))
		lx->p++;
	else
		lx->p = lx->end;
}

static void skip_line(struct lexer *lx)
{
	const char *nl = memchr(lx->p, '\n', (size_t)(lx->end - lx->p)), *comment;

	if (!nl)
		nl = lx->end;
	comment = memmem(lx->p, (size_t)(nl - lx->p), "//", 2);
	lx->p = comment ? comment : nl;
	while (lx->p[-1] == ' ' || lx->p[-1] == '\t' || lx->p[-1] == '\r')
		lx->p--;
}

static bool is_one_of(const struct lex_name *w, const char *const *words)
{
	for (; *words; words++)
		if (lex_is(w, *words))
			return true;
	return false;
}

/* ---- bodies -------------------------------------------------------------------------------- */

static void cut_directive(struct cutter *c, const char *begin, uint32_t line)
{
	static const char *const declarations[] = {
		"reg",           "local",       "shared",        "param", "const", "global",
		"branchtargets", "calltargets", "callprototype", "align", NULL};
	struct lex_name w;

	if (!lex_directive(&c->lx, &w)) {
		c->lx.p++;
		add(c, PTX_PIECE_OTHER, begin, line);
	} else if (lex_is(&w, "loc")) {
		skip_line(&c->lx);
		add(c, PTX_PIECE_LOC, begin, line);
	} else {
		skip_statement(&c->lx);
		add(c,
		    lex_is(&w, "pragma")          ? PTX_PIECE_PRAGMA
		    : is_one_of(&w, declarations) ? PTX_PIECE_DECLARATION
						  : PTX_PIECE_STATEMENT,
		    begin, line);
	}
}

/* "name:", of a branch; with a directive behind it (a list of targets, a prototype) both are one piece. */
static bool cut_label(struct cutter *c, const char *begin, uint32_t line)
{
	struct lexer at = c->lx;
	struct lex_name name, w;

	if (!lex_name(&at, &name) || lex_peek(&at) != ':' || at.p[1] == ':')
		return false;
	at.p++;
	c->lx = at;
	if (lex_peek(&at) == '.' && lex_directive(&at, &w) &&
	    (lex_is(&w, "branchtargets") || lex_is(&w, "calltargets") || lex_is(&w, "callprototype"))) {
		c->lx = at;
		skip_statement(&c->lx);
		add(c, PTX_PIECE_DECLARATION, begin, line);
	} else {
		add(c, PTX_PIECE_LABEL, begin, line);
	}
	return true;
}

static void cut_body(struct cutter *c, const char *end)
{
	while (lex_peek(&c->lx) && c->lx.p < end && !c->failed) {
		const char *begin = c->lx.p;
		uint32_t line = c->lx.line;

		if (*begin == '{' || *begin == '}' || *begin == ';') {
			c->lx.p++;
			add(c, PTX_PIECE_OTHER, begin, line);
		} else if (*begin == '.') {
			cut_directive(c, begin, line);
		} else if (!cut_label(c, begin, line)) {
			skip_statement(&c->lx);
			add(c, PTX_PIECE_STATEMENT, begin, line);
		}
	}
}

/* ---- the module ------------------------------------------------------------------------------- */

/* ".func (rets) name (params)": the first name that is no directive, outside of brackets. */
static void find_name(struct cutter *c, struct ptx_piece *p, const char *from)
{
	struct lexer lx;
	struct lex_name w;

	lex_init(&lx, from, c->text + p->end, 1);
	while (lex_peek(&lx) && lx.p < lx.end) {
		if (*lx.p == '(' || *lx.p == '[') {
			lx.p++;
			if (!lex_skip_to(&lx, ")]"))
				return;
			lx.p++;
		} else if (*lx.p == '.') {
			if (!lex_directive(&lx, &w))
				return;
		} else if (lex_name(&lx, &w)) {
			p->name = (size_t)(w.s - c->text);
			p->name_n = w.n;
			return;
		} else {
			lx.p++;
		}
	}
}

static void cut_function(struct cutter *c, const char *begin, const char *after, uint32_t line)
{
	struct ptx_piece *p;
	size_t index = c->out->n;
	struct lexer body;

	if (!lex_skip_to(&c->lx, ";{")) {
		c->lx.p = c->lx.end;
		add(c, PTX_PIECE_OTHER, begin, line);
		return;
	}
	body = c->lx;
	if (*c->lx.p == '{' ? !lex_skip_braces(&c->lx) : !lex_accept(&c->lx, ';'))
		c->lx.p = c->lx.end;
	p = add(c, *body.p == '{' ? PTX_PIECE_FUNCTION : PTX_PIECE_PROTOTYPE, begin, line);
	if (!p)
		return;
	find_name(c, p, after);
	if (p->kind == PTX_PIECE_PROTOTYPE)
		return;
	c->lx = body;
	cut_body(c, c->text + c->out->v[index].end);
}

static void cut_variable(struct cutter *c, const char *begin, const char *after, uint32_t line)
{
	struct ptx_piece *p;

	skip_statement(&c->lx);
	p = add(c, PTX_PIECE_VARIABLE, begin, line);
	if (p)
		find_name(c, p, after);
}

static void cut_top(struct cutter *c, const char *begin, uint32_t line)
{
	static const char *const lines[] = {"version", "target", "address_size", NULL};
	static const char *const linkage[] = {"visible", "extern", "weak", "common", NULL};
	static const char *const functions[] = {"entry", "func", NULL};
	struct lex_name w;

	do {
		if (!lex_directive(&c->lx, &w)) {
			c->lx.p += c->lx.p < c->lx.end;
			add(c, PTX_PIECE_OTHER, begin, line);
			return;
		}
	} while (is_one_of(&w, linkage));
	if (is_one_of(&w, functions)) {
		cut_function(c, begin, c->lx.p, line);
	} else if (lex_is(&w, "file") || is_one_of(&w, lines) || lex_is(&w, "loc")) {
		skip_line(&c->lx);
		add(c,
		    lex_is(&w, "file")  ? PTX_PIECE_FILE
		    : lex_is(&w, "loc") ? PTX_PIECE_LOC
					: PTX_PIECE_OTHER,
		    begin, line);
	} else if (lex_is(&w, "section")) {
		if (!lex_skip_to(&c->lx, "{") || !lex_skip_braces(&c->lx))
			c->lx.p = c->lx.end;
		add(c, PTX_PIECE_SECTION, begin, line);
	} else if (lex_is(&w, "pragma") || lex_is(&w, "alias")) {
		skip_statement(&c->lx);
		add(c, lex_is(&w, "pragma") ? PTX_PIECE_PRAGMA : PTX_PIECE_OTHER, begin, line);
	} else {
		cut_variable(c, begin, c->lx.p, line);
	}
}

int ptx_pieces_cut(const char *text, size_t bytes, struct ptx_pieces *out)
{
	struct cutter c = {.text = text, .out = out};

	memset(out, 0, sizeof(*out));
	lex_seed();
	lex_init(&c.lx, text, text + bytes, 1);
	while (lex_peek(&c.lx) && c.lx.p < c.lx.end && !c.failed) {
		const char *begin = c.lx.p;
		uint32_t line = c.lx.line;

		if (begin[0] == '@' && begin[1] == '@') { /* @@DWARF, of ISA 1.x */
			skip_line(&c.lx);
			add(&c, PTX_PIECE_SECTION, begin, line);
		} else if (*begin == '.') {
			cut_top(&c, begin, line);
		} else {
			c.lx.p++;
			add(&c, PTX_PIECE_OTHER, begin, line);
		}
	}
	if (c.failed)
		ptx_pieces_free(out);
	return c.failed ? CUTRACE_ENOMEM : 0;
}

void ptx_pieces_free(struct ptx_pieces *p)
{
	free(p->v);
	memset(p, 0, sizeof(*p));
}

/* ---- the other way ----------------------------------------------------------------------------- */

/* Text without comments; `line` holds what the output's last line has so far. */
struct joiner {
	char *out;
	size_t n, line;
};

static void put(struct joiner *j, char c)
{
	if (c == '\n') {
		while (j->n > j->line &&
		       (j->out[j->n - 1] == ' ' || j->out[j->n - 1] == '\t' || j->out[j->n - 1] == '\r'))
			j->n--;
		if (j->n == j->line)
			return; /* an empty line */
		j->out[j->n++] = '\n';
		j->line = j->n;
		return;
	}
	j->out[j->n++] = c;
}

static void put_text(struct joiner *j, const char *s, const char *end)
{
	while (s < end) {
		if (s + 1 < end && s[0] == '/' && s[1] == '/') {
			while (s < end && *s != '\n')
				s++;
		} else if (s + 1 < end && s[0] == '/' && s[1] == '*') {
			for (s += 2; s + 1 < end && (s[0] != '*' || s[1] != '/'); s++)
				;
			s = s + 2 < end ? s + 2 : end;
			put(j, ' ');
		} else if (*s == '"') {
			do
				put(j, *s++);
			while (s < end && *s != '"');
			if (s < end)
				put(j, *s++);
		} else {
			put(j, *s++);
		}
	}
}

char *ptx_pieces_join(const char *text, size_t bytes, const struct ptx_pieces *p, const uint8_t *keep)
{
	struct joiner j = {.out = malloc(bytes + 2)};
	size_t at = 0;

	for (size_t i = 0; j.out && i < p->n; i++) {
		if (keep[i] || p->v[i].begin < at) /* in one that is left out */
			continue;
		put_text(&j, text + at, text + p->v[i].begin);
		at = p->v[i].end;
	}
	if (!j.out)
		return NULL;
	put_text(&j, text + at, text + bytes);
	put(&j, '\n');
	j.out[j.n] = '\0';
	return j.out;
}
