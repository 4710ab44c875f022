/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target: any bytes through every reader of ptx/lexer.h, each of which
 * must leave the cursor inside the text and go forward when it succeeds. */
#include <stdlib.h>
#include <string.h>

#include "ptx/lexer.h"

static void check(const struct lexer *lx, const char *text)
{
	if (lx->p < text || lx->p > lx->end || lx->line_start < text || lx->line_start > lx->end)
		abort();
}

static void constant(struct lexer *lx)
{
	struct literal l;
	const char *why = NULL;
	uint64_t bits;
	if (!lex_constant(lx, &l, &why)) {
		if (!why)
			abort();
		return;
	}
	for (unsigned t = 0; t < PTX_NTYPES; t++)
		literal_to_bits(&l, t, &bits);
}

static void read_one(struct lexer *lx)
{
	struct lex_name name;
	const char *s;
	uint64_t v;
	size_t n;
	const char *before = lx->p;
	lex_name(lx, &name);
	lex_directive(lx, &name);
	constant(lx);
	lex_uint(lx, &v);
	lex_string(lx, &s, &n);
	if (lex_peek(lx) == '{')
		lex_skip_braces(lx);
	if (lx->p == before && lx->p < lx->end)
		lx->p++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);
	struct lexer lx;
	if (!text)
		return 0;
	memcpy(text, data, bytes);
	text[bytes] = 0;
	lex_seed();
	lex_init(&lx, text, text + bytes, 1);
	while (lex_peek(&lx), lx.p < lx.end) {
		read_one(&lx);
		check(&lx, text);
	}
	free(text);
	return 0;
}
