/* SPDX-License-Identifier: Apache-2.0
 *
 * In a copy of the text, what goes becomes blanks, and what is replaced keeps its length: so nothing moves. */
#include "ptx/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/pieces.h"

static void blank(char *s, char *end)
{
	for (; s < end; s++)
		if (*s != '\n')
			*s = ' ';
}

/* ---- comments ---------------------------------------------------------------------------------- */

static void blank_comments(char *s, char *end, struct ptx_redaction *r)
{
	while (s < end) {
		char *from = s;

		if (*s == '"') {
			for (s++; s < end && *s != '"'; s++)
				;
			s++;
		} else if (s + 1 < end && s[0] == '/' && s[1] == '/') {
			while (s < end && *s != '\n')
				s++;
		} else if (s + 1 < end && s[0] == '/' && s[1] == '*') {
			for (s += 2; s + 1 < end && (s[0] != '*' || s[1] != '/'); s++)
				;
			s = s + 2 < end ? s + 2 : end;
		} else {
			s++;
			continue;
		}
		if (*from == '/') {
			blank(from, s);
			r->comments++;
		}
	}
}

/* ---- directives --------------------------------------------------------------------------------- */

/* .file 1 "/home/me/saxpy.cu", 1700000000, 1234: the name is file1, or as much of it as there is room for. */
static void redact_file(char *s, char *end)
{
	char *open = memchr(s, '"', (size_t)(end - s)), name[32];
	char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
	unsigned number = 0;
	size_t n;

	if (!close) {
		blank(s, end);
		return;
	}
	number = (unsigned)strtoul(s + strlen(".file"), NULL, 10);
	n = (size_t)snprintf(name, sizeof(name), "file%u", number);
	if (n > (size_t)(close - open - 1))
		n = (size_t)(close - open - 1);
	memcpy(open + 1, name, n);
	open[n + 1] = '"';
	blank(open + n + 2, end);
}

/* .loc 1 27 5, function_name $L__info_string0, inlined_at 2 22 5: names of a section that is gone. */
static void redact_loc(char *s, char *end)
{
	char *comma = memchr(s, ',', (size_t)(end - s));

	if (comma)
		blank(comma, end);
}

static bool is_known_pragma(const char *s, const char *end)
{
	static const char *const known[] = {"nounroll", "used_bytes_mask", "enable_smem_spilling",
					    "frequency"};

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i]);
		const char *at = memmem(s, (size_t)(end - s), known[i], n);

		/* "frequency 100": a word, and perhaps numbers */
		if (at && at[-1] == '"' &&
		    strspn(at + n, " \t0123456789xabcdefABCDEF") == strcspn(at + n, "\""))
			return true;
	}
	return false;
}

/* ---- strings ------------------------------------------------------------------------------------- */

/* A number of an initialiser: {72, 0x6f, 10U}. */
struct number {
	char *s, *end;
	unsigned long value;
};

static bool next_number(char **at, char *end, struct number *n)
{
	char *s = *at;

	while (s < end && !(*s >= '0' && *s <= '9'))
		s++;
	if (s >= end)
		return false;
	n->s = s;
	n->value = strtoul(s, &n->end, 0);
	if (n->end == s)
		return false;
	for (s = n->end; s < end && ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_'); s++)
		;
	*at = s;
	return true;
}

static bool is_text(char *s, char *end)
{
	unsigned letters = 0, n = 0;
	struct number x;

	while (next_number(&s, end, &x)) {
		bool printable =
			(x.value >= 32 && x.value < 127) || x.value == 0 || (x.value >= 7 && x.value <= 13);

		if (!printable)
			return false;
		n++;
		letters += x.value >= 32;
	}
	return letters >= 2 && letters + 8 >= n - n / 2;
}

/* As many digits: 'X' is 88, 'x' 120. Of one digit are only ends of lines and strings. */
static void put_x(const struct number *n)
{
	size_t digits = (size_t)(n->end - n->s);

	if (digits == 2 && n->s[0] != '0')
		memcpy(n->s, "88", 2);
	else if (digits == 3 && n->s[0] != '0')
		memcpy(n->s, "120", 3);
	else if (digits == 4 && (n->s[1] == 'x' || n->s[1] == 'X'))
		memcpy(n->s + 2, "58", 2);
	else if (digits == 4 && n->s[0] == '0') /* octal */
		memcpy(n->s, "0130", 4);
}

static void redact_numbers(char *s, char *end)
{
	bool conversion = false;
	struct number x;

	while (next_number(&s, end, &x)) {
		if (conversion) /* flags, width and length go on with it; a letter ends it, or a second % */
			conversion = x.value == '#' || x.value == '.' || x.value == '+' || x.value == '-' ||
				     x.value == ' ' || x.value == 'l' || x.value == 'h' || x.value == 'z' ||
				     (x.value >= '0' && x.value <= '9');
		else if (x.value == '%')
			conversion = true;
		else if (x.value > 32 && x.value < 127)
			put_x(&x);
	}
}

static void redact_letters(char *s, char *end)
{
	for (; s < end; s++)
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
		    *s == '/')
			*s = 'x';
}

/* Only the module's own bytes: others may be what the program computes with, and asks for by name. */
static bool redact_string(char *s, char *end)
{
	char *open = memchr(s, '=', (size_t)(end - s)), *quote;
	size_t head = open ? (size_t)(open - s) : 0;

	if (!open || !memmem(s, head, ".b8", 3) || !memcmp(s, ".visible", 8) || !memcmp(s, ".extern", 7))
		return false;
	quote = memchr(open, '"', (size_t)(end - open));
	if (quote) {
		char *close = memrchr(open, '"', (size_t)(end - open));

		redact_letters(quote + 1, close > quote ? close : end);
		return true;
	}
	if (!is_text(open, end))
		return false;
	redact_numbers(open, end);
	return true;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static void redact_piece(char *text, const struct ptx_piece *p, bool strings, struct ptx_redaction *r)
{
	char *s = text + p->begin, *end = text + p->end;

	switch (p->kind) {
	case PTX_PIECE_FILE:
		redact_file(s, end);
		r->files++;
		break;
	case PTX_PIECE_SECTION:
		blank(s, end);
		r->sections++;
		break;
	case PTX_PIECE_LOC: redact_loc(s, end); break;
	case PTX_PIECE_PRAGMA:
		if (is_known_pragma(s, end))
			break;
		blank(s, end);
		r->pragmas++;
		break;
	case PTX_PIECE_VARIABLE: r->strings += strings && redact_string(s, end); break;
	default: break;
	}
}

char *ptx_redact(const char *text, size_t bytes, bool strings, struct ptx_redaction *counts)
{
	struct ptx_redaction ignored = {0};
	struct ptx_redaction *r = counts ? counts : &ignored;
	char *copy = malloc(bytes + 1);
	struct ptx_pieces p;

	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	blank_comments(copy, copy + bytes, r);
	if (ptx_pieces_cut(copy, bytes, &p)) {
		free(copy);
		return NULL;
	}
	for (size_t i = 0; i < p.n; i++)
		redact_piece(copy, &p.v[i], strings, r);
	ptx_pieces_free(&p);
	return copy;
}
