/* SPDX-License-Identifier: Apache-2.0
 *
 * The names in bodies, heads and initialisers. A new name is put for every occurrence of the old one in its
 * module, local declarations that hide it included: that keeps what each of them means. Only opcodes must be
 * told from names: "ret" may be a variable. */
#include <string.h>

#include "ptx/link_parts.h"

void link_tokens_open(struct link_tokens *t, const struct link_span *span, bool is_body)
{
	*t = (struct link_tokens){
		.p = span->begin, .end = span->end, .is_body = is_body, .at_start = is_body};
}

static const char *skip_word(const char *p)
{
	while (lex_class[(uint8_t)*p] & LEX_NAME || (p[0] == ':' && p[1] == ':'))
		p += *p == ':' ? 2 : 1;
	return p;
}

static void enqueue(struct link_tokens *t, const struct lex_name *name, bool is_file)
{
	if (t->queued < sizeof(t->queue) / sizeof(t->queue[0]))
		t->queue[t->queued++] = (struct link_token){*name, is_file};
}

static void position(struct link_tokens *t, struct lexer *lx)
{
	struct lex_name file;
	uint64_t n;
	lex_peek(lx);
	file.s = lx->p;
	if (!lex_uint(lx, &n))
		return;
	file.n = (uint32_t)(lx->p - file.s);
	file.hash = (uint32_t)n;
	enqueue(t, &file, true);
	lex_uint(lx, &n);
	lex_uint(lx, &n);
}

/* .loc 1 17 5, function_name label + 3, inlined_at 1 30 3 (ISA 11.5.3): it has no ';' at its end. */
static void loc(struct link_tokens *t)
{
	struct lex_name word, label;
	struct lexer lx;
	uint64_t n;
	lex_init(&lx, t->p, t->end, 1);
	position(t, &lx);
	while (lex_accept(&lx, ',') && lex_name(&lx, &word)) {
		if (lex_is(&word, "inlined_at")) {
			position(t, &lx);
		} else if (lex_name(&lx, &label)) {
			enqueue(t, &label, false);
			if (lex_accept(&lx, '+'))
				lex_uint(&lx, &n);
		}
	}
	t->p = lx.p;
	t->at_start = t->is_body;
}

static void directive(struct link_tokens *t)
{
	const char *word = t->p + 1;
	size_t n = (size_t)(skip_word(word) - word);
	t->p = n ? word + n : word;
	if (!t->at_start)
		return;
	t->at_start = false;
	if (n == 3 && !memcmp(word, "loc", 3))
		loc(t);
}

static void word(struct link_tokens *t, struct lexer *lx)
{
	struct lex_name name;
	if (!lex_name(lx, &name)) { /* a lone '%' */
		t->p++;
		return;
	}
	t->p = lx->p;
	struct lexer after = *lx;
	int c = lex_peek(&after);
	bool is_label = c == ':' && after.p[1] != ':';
	if (t->at_start && !is_label) {
		t->at_start = false; /* an opcode */
		return;
	}
	if (!(lex_is(&name, "generic") && c == '('))
		enqueue(t, &name, false);
}

/* "@!%p1": the guard of a statement whose opcode is to come. */
static void guard(struct link_tokens *t, struct lexer *lx)
{
	struct lex_name name;
	lx->p++;
	lex_accept(lx, '!');
	if (lex_name(lx, &name))
		enqueue(t, &name, false);
	t->p = lx->p;
}

static void step(struct link_tokens *t)
{
	struct lexer lx;
	const char *string;
	size_t n;
	lex_init(&lx, t->p, t->end, 1);
	int c = lex_peek(&lx);
	t->p = lx.p;
	if (!c || t->p >= t->end) {
		t->p = t->end;
	} else if (lex_class[c] & LEX_START) {
		word(t, &lx);
	} else if (c == '.') {
		directive(t);
	} else if (lex_class[c] & LEX_DIGIT) {
		while (lex_class[(uint8_t)*t->p] & LEX_NAME || *t->p == '.')
			t->p++;
	} else if (c == '"' && lex_string(&lx, &string, &n)) {
		t->p = lx.p;
	} else if (c == '@') {
		guard(t, &lx);
	} else {
		if (c == ';')
			t->at_start = t->is_body;
		t->p++; /* braces open scopes, where a statement may begin, or vectors, inside of one */
	}
}

bool link_token_next(struct link_tokens *t, struct link_token *out)
{
	if (t->next == t->queued) {
		t->next = t->queued = 0;
		while (!t->queued && t->p < t->end)
			step(t);
	}
	if (t->next == t->queued)
		return false;
	*out = t->queue[t->next++];
	return true;
}
