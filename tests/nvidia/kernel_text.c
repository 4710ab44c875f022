/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/pieces.h"

struct named {
	const char *name; /* in the text */
	size_t n;
	size_t piece;
};

struct kernel_texts {
	const char *text;
	struct ptx_pieces pieces;
	struct named *names; /* sorted */
	size_t nnames;
};

static int compare(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = memcmp(x->name, y->name, x->n < y->n ? x->n : y->n);

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* The next piece that is not inside of piece k. */
static size_t behind(const struct ptx_pieces *p, size_t k)
{
	size_t next = k + 1;

	while (next < p->n && p->v[next].begin < p->v[k].end)
		next++;
	return next;
}

struct kernel_texts *kernel_texts_open(const char *text, size_t bytes)
{
	struct kernel_texts *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->text = text;
	if (!ptx_pieces_cut(text, bytes, &t->pieces))
		t->names = calloc(t->pieces.n + 1, sizeof(*t->names));
	if (!t->names) {
		kernel_texts_close(t);
		return NULL;
	}
	for (size_t k = 0; k < t->pieces.n; k = behind(&t->pieces, k)) {
		const struct ptx_piece *p = &t->pieces.v[k];

		if (p->name_n)
			t->names[t->nnames++] = (struct named){text + p->name, p->name_n, k};
	}
	qsort(t->names, t->nnames, sizeof(*t->names), compare);
	return t;
}

void kernel_texts_close(struct kernel_texts *t)
{
	ptx_pieces_free(&t->pieces);
	free(t->names);
	free(t);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

/* Marks all pieces of that name (prototypes, too), and what they name. */
static bool need(const struct kernel_texts *t, const char *name, size_t n, uint8_t *keep)
{
	const struct named key = {name, n, 0};
	const struct named *found = bsearch(&key, t->names, t->nnames, sizeof(key), compare);

	if (!found)
		return false;
	while (found > t->names && !compare(found - 1, &key))
		found--;
	for (; found < t->names + t->nnames && !compare(found, &key); found++) {
		const struct ptx_piece *p = &t->pieces.v[found->piece];
		const char *at = t->text + p->begin, *end = t->text + p->end;

		if (keep[found->piece])
			continue;
		keep[found->piece] = 1;
		while (at < end) {
			const char *begin = at;

			while (at < end && is_word(*at))
				at++;
			if (at > begin)
				need(t, begin, (size_t)(at - begin), keep);
			else
				at++;
		}
	}
	return true;
}

static bool starts(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

static void write_directive(FILE *o, const char *text, size_t bytes, const char *version, const char *target)
{
	if (version && starts(text, ".version"))
		fprintf(o, ".version %s\n", version);
	else if (target && starts(text, ".target"))
		fprintf(o, ".target %s\n", target);
	else
		fprintf(o, "%.*s\n", (int)bytes, text);
}

static void write_pieces(FILE *o, const struct kernel_texts *t, const uint8_t *keep, const char *version,
			 const char *target)
{
	for (size_t k = 0; k < t->pieces.n; k = behind(&t->pieces, k)) {
		const struct ptx_piece *p = &t->pieces.v[k];
		bool has_name = p->kind == PTX_PIECE_FUNCTION || p->kind == PTX_PIECE_PROTOTYPE ||
				p->kind == PTX_PIECE_VARIABLE;

		if (!has_name || keep[k])
			write_directive(o, t->text + p->begin, p->end - p->begin, version, target);
	}
}

char *kernel_text(const struct kernel_texts *t, const char *kernel, const char *version, const char *target)
{
	uint8_t *keep = calloc(t->pieces.n + 1, 1);
	char *text = NULL;
	size_t bytes;
	FILE *o = NULL;

	if (keep && need(t, kernel, strlen(kernel), keep))
		o = open_memstream(&text, &bytes);
	if (o) {
		write_pieces(o, t, keep, version, target);
		fclose(o);
	}
	free(keep);
	return text;
}
