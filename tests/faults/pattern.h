/* SPDX-License-Identifier: Apache-2.0
 *
 * pattern: one line of text matched whole and made anew. In a pattern '*' is any text, as short as it can be, and kept
 * as a piece, '?' is one character, and '|' stands between alternatives; everything else is itself. In the new text $1
 * to $9 are the pieces, $0 the whole line, ${N+K} and ${N-K} the piece N as a number, K added or subtracted, $$ a
 * number that no other line gets, $| a bar; '|' stands between the texts for the alternatives, of which the last one
 * serves all further ones.
 *
 * Depends on libc only.
 */
#ifndef CUTRACE_FAULTS_PATTERN_H
#define CUTRACE_FAULTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PATTERN_PIECES = 10 }; /* the first is the whole */

struct piece {
	const char *text;
	size_t n;
};

/* Which alternative matches, -1: none. */
int pattern_match(const char *pattern, const char *text, size_t n, struct piece pieces[PATTERN_PIECES]);

/* serial is what $$ becomes. */
void pattern_make(FILE *out, const char *made, int which, const struct piece *pieces, unsigned serial);

#endif
