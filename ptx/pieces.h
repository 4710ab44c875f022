/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/pieces: a module's text cut into what it is made of: directives, functions, variables, and inside of bodies
 * statements. For tools that make another text by leaving pieces out or writing them otherwise (cutrace reduce, cutrace
 * report); positions are offsets in the text. Pieces of a body lie between its function's begin and end, in order.
 *
 * Nothing is checked beyond what tells pieces apart: a text that is no PTX is one piece of kind OTHER from there on.
 */
#ifndef CUTRACE_PTX_PIECES_H
#define CUTRACE_PTX_PIECES_H

#include <stddef.h>
#include <stdint.h>

enum ptx_piece_kind {
	PTX_PIECE_OTHER,    /* .version, .target, .address_size, .alias, braces of scopes, what isn't known */
	PTX_PIECE_FUNCTION, /* .entry or .func, with its body */
	PTX_PIECE_PROTOTYPE, /* .func without */
	PTX_PIECE_VARIABLE,  /* of the module */
	PTX_PIECE_FILE,      /* .file */
	PTX_PIECE_SECTION,   /* .section {...}, @@DWARF lines */
	PTX_PIECE_PRAGMA,
	PTX_PIECE_STATEMENT,   /* of a body, with its guard */
	PTX_PIECE_DECLARATION, /* of a body: .reg, .local, .shared, .param, .branchtargets, ... */
	PTX_PIECE_LABEL,
	PTX_PIECE_LOC,
};

struct ptx_piece {
	enum ptx_piece_kind kind;
	size_t begin, end;   /* without the blanks around it */
	uint32_t line;       /* from 1 */
	size_t name, name_n; /* FUNCTION, PROTOTYPE, VARIABLE: where the (first) name is; name_n 0: none */
};

struct ptx_pieces {
	struct ptx_piece *v;
	size_t n;
};

/* The text must end with a NUL. 0, or CUTRACE_ENOMEM. */
int ptx_pieces_cut(const char *text, size_t bytes, struct ptx_pieces *out);
void ptx_pieces_free(struct ptx_pieces *p);

/* The text without the pieces that `keep` (one byte each) has as 0, and without comments; lines that become empty go,
 * too. malloc'ed. */
char *ptx_pieces_join(const char *text, size_t bytes, const struct ptx_pieces *p, const uint8_t *keep);

#endif
