/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/lexer: a cursor over PTX text that knows its line, and the readers of
 * names, numbers and punctuation on it (ISA chapter 4). There is no token
 * array: the parser asks for what the grammar expects next. The text must end
 * with a NUL. Functions leave the cursor where it was when they answer false.
 */
#ifndef CUTRACE_PTX_LEXER_H
#define CUTRACE_PTX_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/ir.h"

struct lexer {
	const char *p, *end;
	const char *line_start;
	uint32_t line; /* from 1 */
};

struct lex_name {
	const char *s;
	uint32_t n;
	uint32_t hash; /* of all n bytes */
};

/* A constant as written; what it means depends on the type of the operand. */
struct literal {
	enum { LITERAL_INT, LITERAL_F32, LITERAL_F64 } kind;
	bool is_unsigned;
	uint64_t bits; /* of the integer, or of the float in its own width */
};

enum { LEX_START = 1, LEX_NAME = 2, LEX_DIGIT = 4, LEX_BLANK = 8, LEX_OPCODE = 16 };
extern const uint8_t lex_class[256];

extern uint32_t lex_hash_seed; /* random per process, so that no text can be made to collide */
#define LEX_HASH_INIT      lex_hash_seed
#define LEX_HASH_ADD(h, c) (((h) ^ (uint8_t)(c)) * 16777619u)
uint32_t lex_hash(const char *s, size_t n);
void lex_seed(void); /* before the first hash; any number of times */

void lex_init(struct lexer *lx, const char *text, const char *end, uint32_t line);
/* Past blanks, comments and preprocessor lines; returns the next character (0 = end). */
int lex_peek_slow(struct lexer *lx);
static inline int lex_peek(struct lexer *lx)
{
	while (*lx->p == ' ' || *lx->p == '\t')
		lx->p++;
	return lex_class[(uint8_t)*lx->p] & LEX_BLANK ? lex_peek_slow(lx) : (uint8_t)*lx->p;
}
bool lex_accept(struct lexer *lx, char c);
bool lex_name(struct lexer *lx, struct lex_name *name);
/* A directive's word without the dot: ".align" -> "align". Keeps "::" inside: "shared::cta". */
bool lex_directive(struct lexer *lx, struct lex_name *word);
bool lex_is(const struct lex_name *w, const char *s);
bool lex_uint(struct lexer *lx, uint64_t *value);
bool lex_string(struct lexer *lx, const char **s, size_t *n);
/* To the next of `stops` outside of brackets and strings; false: there is none. */
bool lex_skip_to(struct lexer *lx, const char *stops);
/* Skips from an opening brace to behind its partner; false at the end of the text. */
bool lex_skip_braces(struct lexer *lx);
uint32_t lex_column(const struct lexer *lx, const char *at);

/* literal.c. On failure *why says what is wrong. */
bool lex_number(struct lexer *lx, struct literal *out, const char **why);
/* A constant expression (ISA 4.5); a lone number is the fast case. */
bool lex_constant(struct lexer *lx, struct literal *out, const char **why);
/* Converts to the bits of `t`, NULL or why that can't be; PTX_TYPE_NONE keeps the literal's own bits. */
const char *literal_to_bits(const struct literal *l, enum ptx_type t, uint64_t *bits);

#endif
