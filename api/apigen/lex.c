/* SPDX-License-Identifier: Apache-2.0
 *
 * Text to lines of tokens. Blank lines and comments (# to the end of the line) vanish;
 * indentation is kept, since it is what makes blocks.
 */
#include "apigen.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lexer {
	struct apigen *g;
	const struct source *src;
	const char *line_text, *at, *end;
	unsigned line;
};

static struct loc here(const struct lexer *lx, const char *from, size_t len)
{
	return (struct loc){lx->src, lx->line_text, lx->line, (unsigned)(from - lx->line_text) + 1,
			    (unsigned)len};
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t punct_length(const char *s, const char *end)
{
	static const char pairs[][3] = {"->", "==", "!=", "&&", "||", "<<"};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (end - s >= 2 && s[0] == pairs[i][0] && s[1] == pairs[i][1])
			return 2;
	return *s && strchr("*()[]=,:?+-/.|", *s) ? 1 : 0;
}

static void read_number(struct lexer *lx, struct token *t, const char *from)
{
	char *stop;
	errno = 0;
	unsigned long long v = strtoull(t->text, &stop, 0);
	if (*stop || errno) {
		error_at(lx->g, here(lx, from, strlen(t->text)), "'%s' is not a number", t->text);
		return;
	}
	t->value = (int64_t)v;
}

/* False: not a token (reported). */
static bool read_token(struct lexer *lx, struct token *t)
{
	const char *from = lx->at;
	size_t n = 0;
	if (is_name_char(*from)) {
		while (from + n < lx->end && is_name_char(from[n]))
			n++;
		t->kind = isdigit((unsigned char)*from) ? TOK_NUMBER : TOK_NAME;
	} else {
		n = punct_length(from, lx->end);
		t->kind = TOK_PUNCT;
	}
	if (!n) {
		unsigned char c = (unsigned char)*from;
		error_at(lx->g, here(lx, from, 1),
			 isprint(c) ? "unexpected character '%c'" : "unexpected byte 0x%02x", c);
		lx->at++;
		return false;
	}
	lx->at += n;
	t->text = arena_strndup(&lx->g->arena, from, n);
	t->loc = here(lx, from, n);
	if (t->kind == TOK_NUMBER)
		read_number(lx, t, from); /* a malformed one is 0: its error has been told */
	return true;
}

static unsigned measure_indent(struct lexer *lx)
{
	unsigned col = 0;
	for (; lx->at < lx->end && (*lx->at == ' ' || *lx->at == '\t'); lx->at++)
		col = *lx->at == '\t' ? (col / 8 + 1) * 8 : col + 1;
	return col;
}

static void lex_line(struct lexer *lx, struct line *out)
{
	LIST(struct token) tokens = {0};
	out->indent = measure_indent(lx);
	while (lx->at < lx->end && *lx->at != '#') {
		struct token t = {0};
		if (isspace((unsigned char)*lx->at)) {
			lx->at++;
			continue;
		}
		if (read_token(lx, &t))
			*list_add(lx->g, &tokens) = t;
	}
	out->ntokens = (unsigned)tokens.n;
	struct token *last = list_add(lx->g, &tokens);
	const char *stop = lx->at;
	while (stop > lx->line_text && isspace((unsigned char)stop[-1]))
		stop--;
	last->kind = TOK_END;
	last->text = "the end of the line";
	last->loc = here(lx, stop, 1);
	out->tokens = tokens.v;
}

struct line *lex_lines(struct apigen *g, const struct source *src, size_t *nlines)
{
	LIST(struct line) lines = {0};
	struct lexer lx = {.g = g, .src = src, .at = src->text};
	const char *end = src->text + src->size;
	while (lx.at < end) {
		struct line l = {0};
		const char *nl = memchr(lx.at, '\n', (size_t)(end - lx.at));
		lx.line++;
		lx.line_text = lx.at;
		lx.end = nl ? nl : end;
		lex_line(&lx, &l);
		if (l.ntokens)
			*list_add(g, &lines) = l;
		lx.at = lx.end + 1;
	}
	*nlines = lines.n;
	return lines.v;
}
