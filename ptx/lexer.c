/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/lexer.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#define N  (LEX_NAME | LEX_OPCODE)
#define SN (LEX_START | LEX_NAME | LEX_OPCODE)
#define DN (LEX_DIGIT | LEX_NAME | LEX_OPCODE)

/* '/' and '#' may begin something to skip, so they count as blank for lex_peek. */
const uint8_t lex_class[256] = {
	['a' ... 'z'] = SN, ['A' ... 'Z'] = SN, ['0' ... '9'] = DN, ['_'] = SN,
	['$'] = SN,         ['%'] = LEX_START,  ['.'] = LEX_OPCODE, [':'] = LEX_OPCODE,
	[' '] = LEX_BLANK,  ['\t'] = LEX_BLANK, ['\r'] = LEX_BLANK, ['\n'] = LEX_BLANK,
	['\f'] = LEX_BLANK, ['\v'] = LEX_BLANK, ['/'] = LEX_BLANK,  ['#'] = LEX_BLANK,
};

uint32_t lex_hash_seed = 2166136261u;
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void draw_seed(void)
{
	uint32_t seed;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		lex_hash_seed = seed;
}

void lex_seed(void)
{
	pthread_once(&seed_once, draw_seed);
}

uint32_t lex_hash(const char *s, size_t n)
{
	uint32_t h = LEX_HASH_INIT;
	for (size_t i = 0; i < n; i++)
		h = LEX_HASH_ADD(h, s[i]);
	return h;
}

void lex_init(struct lexer *lx, const char *text, const char *end, uint32_t line)
{
	*lx = (struct lexer){.p = text, .end = end, .line_start = text, .line = line};
}

static void newline(struct lexer *lx)
{
	lx->line++;
	lx->line_start = lx->p;
}

static void skip_line(struct lexer *lx)
{
	const char *nl = memchr(lx->p, '\n', (size_t)(lx->end - lx->p));
	lx->p = nl ? nl : lx->end;
}

static void skip_block_comment(struct lexer *lx)
{
	for (lx->p += 2; lx->p < lx->end; lx->p++) {
		if (lx->p[0] == '*' && lx->p[1] == '/') {
			lx->p += 2;
			return;
		}
		if (*lx->p == '\n') {
			lx->line++;
			lx->line_start = lx->p + 1;
		}
	}
}

int lex_peek_slow(struct lexer *lx)
{
	for (;;) {
		char c = *lx->p;
		if (c == '\n') {
			lx->p++;
			newline(lx);
		} else if (c == '/' && lx->p[1] == '/') {
			skip_line(lx);
		} else if (c == '/' && lx->p[1] == '*') {
			skip_block_comment(lx);
		} else if (c == '#') {
			skip_line(lx);
		} else if (c == '/' || !(lex_class[(uint8_t)c] & LEX_BLANK)) {
			return (uint8_t)c;
		} else {
			lx->p++;
		}
	}
}

bool lex_accept(struct lexer *lx, char c)
{
	if (lex_peek(lx) != (uint8_t)c)
		return false;
	lx->p++;
	return true;
}

bool lex_name(struct lexer *lx, struct lex_name *name)
{
	int c = lex_peek(lx);
	if (!(lex_class[c] & LEX_START))
		return false;
	const char *s = lx->p, *p = s + 1;
	uint32_t h = LEX_HASH_ADD(LEX_HASH_INIT, c);
	while (lex_class[(uint8_t)*p] & LEX_NAME) {
		h = LEX_HASH_ADD(h, *p);
		p++;
	}
	if (c == '%' && p == s + 1)
		return false;
	*name = (struct lex_name){s, (uint32_t)(p - s), h};
	lx->p = p;
	return true;
}

bool lex_directive(struct lexer *lx, struct lex_name *word)
{
	if (lex_peek(lx) != '.' || !(lex_class[(uint8_t)lx->p[1]] & LEX_NAME))
		return false;
	const char *s = lx->p + 1, *p = s;
	while (lex_class[(uint8_t)*p] & LEX_NAME || (p[0] == ':' && p[1] == ':'))
		p += *p == ':' ? 2 : 1;
	*word = (struct lex_name){s, (uint32_t)(p - s), 0};
	lx->p = p;
	return true;
}

bool lex_is(const struct lex_name *w, const char *s)
{
	return !strncmp(w->s, s, w->n) && !s[w->n];
}

bool lex_uint(struct lexer *lx, uint64_t *value)
{
	struct lexer before = *lx;
	struct literal l;
	const char *why;
	if (lex_class[lex_peek(lx)] & LEX_DIGIT && lex_number(lx, &l, &why) && l.kind == LITERAL_INT) {
		*value = l.bits;
		return true;
	}
	*lx = before;
	return false;
}

bool lex_string(struct lexer *lx, const char **s, size_t *n)
{
	if (lex_peek(lx) != '"')
		return false;
	const char *p = lx->p + 1;
	while (p < lx->end && *p != '"' && *p != '\n')
		p += *p == '\\' && p + 1 < lx->end && p[1] != '\n' ? 2 : 1;
	if (p >= lx->end || *p != '"')
		return false;
	*s = lx->p + 1;
	*n = (size_t)(p - lx->p - 1);
	lx->p = p + 1;
	return true;
}

/* A string in code that is skipped: to its end, or to the end of the line when it has none. */
static void skip_string(struct lexer *lx)
{
	const char *s;
	size_t n;
	if (!lex_string(lx, &s, &n))
		lx->p++;
}

/* What matters while code is skipped. */
static const bool skip_stops[256] = {
	['{'] = true, ['}'] = true, ['"'] = true, ['/'] = true, ['\n'] = true, [0] = true,
};

static void skip_slash(struct lexer *lx)
{
	if (lx->p[1] == '*')
		skip_block_comment(lx);
	else if (lx->p[1] == '/')
		skip_line(lx);
	else
		lx->p++;
}

bool lex_skip_braces(struct lexer *lx)
{
	struct lexer before = *lx;
	size_t depth = 0;
	for (;;) {
		while (!skip_stops[(uint8_t)*lx->p])
			lx->p++;
		if (lx->p >= lx->end)
			break;
		switch (*lx->p) {
		case '"': skip_string(lx); continue;
		case '/': skip_slash(lx); continue;
		case '{': depth++; break;
		case '}':
			if (--depth == 0) {
				lx->p++;
				return true;
			}
			break;
		default: break;
		}
		bool is_newline = *lx->p++ == '\n';
		if (is_newline)
			newline(lx);
	}
	*lx = before;
	return false;
}

uint32_t lex_column(const struct lexer *lx, const char *at)
{
	return at >= lx->line_start ? (uint32_t)(at - lx->line_start) + 1 : 1;
}

bool lex_skip_to(struct lexer *lx, const char *stops)
{
	unsigned depth = 0;
	const char *string;
	size_t n;

	for (int c; (c = lex_peek(lx)) && lx->p < lx->end;) {
		if (!depth && strchr(stops, c))
			return true;
		if (c == '"') {
			if (!lex_string(lx, &string, &n))
				return false;
			continue;
		}
		if (strchr("({[", c))
			depth++;
		else if (strchr(")}]", c) && depth)
			depth--;
		lx->p++;
	}
	return false;
}
