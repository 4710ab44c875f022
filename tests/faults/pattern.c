/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern.h"

#include <stdlib.h>
#include <string.h>

/* Up to the bar or the end. */
static bool match(const char *pattern, const char *text, size_t n, struct piece *pieces, unsigned k)
{
	for (; *pattern && *pattern != '*' && *pattern != '|'; pattern++, text++, n--)
		if (!n || (*text != *pattern && *pattern != '?'))
			return false;
	if (*pattern != '*')
		return !n;
	for (size_t taken = 0; taken <= n; taken++) {
		if (k < PATTERN_PIECES)
			pieces[k] = (struct piece){text, taken};
		if (match(pattern + 1, text + taken, n - taken, pieces, k + 1))
			return true;
	}
	return false;
}

int pattern_match(const char *pattern, const char *text, size_t n, struct piece pieces[PATTERN_PIECES])
{
	int which = 0;

	for (const char *p = pattern; p; which++) {
		memset(pieces, 0, PATTERN_PIECES * sizeof(*pieces));
		pieces[0] = (struct piece){text, n};
		if (match(p, text, n, pieces, 1))
			return which;
		p = strchr(p, '|');
		p = p ? p + 1 : NULL;
	}
	return -1;
}

/* "{2+4}": what is behind it. */
static const char *make_number(FILE *out, const char *p, const struct piece *pieces)
{
	const struct piece *piece = &pieces[p[1] - '0'];
	long add = strtol(p + 2, NULL, 10);
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)piece->n, piece->n ? piece->text : "");
	fprintf(out, "%ld", strtol(text, NULL, 0) + add);
	return strchr(p, '}') + 1;
}

/* What stands behind a '$' at p. */
static const char *make_piece(FILE *out, const char *p, const struct piece *pieces, unsigned serial)
{
	const struct piece *piece;

	if (*p == '{')
		return make_number(out, p, pieces);
	if (*p == '$') {
		fprintf(out, "%u", serial);
	} else if (*p == '|') {
		fputc('|', out);
	} else {
		piece = &pieces[*p - '0'];
		if (piece->n)
			fwrite(piece->text, 1, piece->n, out);
	}
	return p + 1;
}

static const char *bar(const char *made)
{
	const char *p = made;

	while (*p && *p != '|')
		p += *p == '$' && p[1] ? 2 : 1;
	return *p ? p : NULL;
}

void pattern_make(FILE *out, const char *made, int which, const struct piece *pieces, unsigned serial)
{
	for (const char *next; which-- && (next = bar(made)); made = next + 1)
		;
	for (const char *p = made; *p && *p != '|';)
		if (*p == '$')
			p = make_piece(out, p + 1, pieces, serial);
		else
			fputc(*p++, out);
}
