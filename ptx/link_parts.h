/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/link_parts: what the steps of linking share: modules as lists of symbols that know their pieces of text
 * (link_scan.c), what the names mean together (link_resolve.c), the text of the result (link_write.c). Private to
 * link*.c.
 */
#ifndef CUTRACE_PTX_LINK_PARTS_H
#define CUTRACE_PTX_LINK_PARTS_H

#include "ptx/ir.h"
#include "ptx/link.h"
#include "ptx/names.h"

#define LINK_FIRST_LINE "// Linked:"

enum link_kind {
	LINK_FUNC,
	LINK_ENTRY,
	LINK_VARIABLE,
	LINK_LABEL, /* in .debug_str */
};

struct link_span {
	const char *begin, *end;
};

/* A name of a module's own scope. Pieces point into the module's text. */
struct link_symbol {
	struct lex_name name; /* where it is defined, or else declared first */
	uint32_t line;        /* of it */
	uint8_t kind, linkage;
	bool defined;
	struct link_span head;        /* without linkage: ".func (...) f (...)"; ".global .align 4 .u32" */
	struct link_span body;        /* "{...}" of a function; of a variable name, dimensions, initialiser */
	struct lex_name alias_of;     /* .alias; n = 0: none */
	const struct ptx_func *func;  /* FUNC, ENTRY */
	const struct ptx_symbol *var; /* VARIABLE */
	uint32_t global;              /* index of a link_global; PTX_NONE: the module's own */
	const char *use;              /* first reference, of one that is defined elsewhere */
	const char *renamed;          /* NULL: keeps its name */
};

struct link_module {
	const char *name;
	struct ptx_module *ptx;
	struct name_table names; /* index in symbols */
	struct link_symbol *symbols;
	uint32_t nsymbols, symbols_capacity;
	struct link_span debug_str, pragma;
	bool texmode_independent;
	bool any_renamed;
	uint32_t *files; /* by number in the module: number in the result */
};

/* A name that modules share. */
struct link_global {
	struct lex_name name;
	uint32_t module, symbol; /* the definition that counts, or the first declaration */
	uint32_t align;          /* of a variable: the strictest */
	bool forward;            /* an initialiser of another module wants its address */
};

struct link {
	struct arena arena;
	struct link_module *modules;
	unsigned nmodules;
	struct link_global *globals;
	uint32_t nglobals, globals_capacity;
	struct name_table names; /* of globals */
	struct name_table taken; /* other names of the result */
	struct diag *errors;
	unsigned nerrors;
	unsigned tag; /* underscores in new names */
	int code;     /* of the first error */
};

/* link.c. `at` points into the module's text. Returns code. */
int link_fail(struct link *l, const struct link_module *m, int code, const char *at, const char *fmt, ...)
	DIAG_PRINTF(5, 6);
int link_out_of_memory(struct link *l);

/* link_scan.c */
int link_scan(struct link *l, struct link_module *m);

/* The names in a piece of text that may be a module's symbols, and numbers of files. */
struct link_token {
	struct lex_name name;
	bool is_file; /* `name` is a number */
};
struct link_tokens {
	const char *p, *end;
	bool is_body;  /* statements: opcodes are no names */
	bool at_start; /* of a statement */
	unsigned queued, next;
	struct link_token queue[8];
};
void link_tokens_open(struct link_tokens *t, const struct link_span *span, bool is_body);
bool link_token_next(struct link_tokens *t, struct link_token *out);
struct link_symbol *link_find(const struct link_module *m, const struct lex_name *name);

/* link_resolve.c: gives symbols their globals, reports what does not fit, finds new names. */
int link_resolve(struct link *l);
/* Whether this symbol's piece is part of the result. */
bool link_is_kept(const struct link *l, uint32_t module, uint32_t symbol);

/* link_write.c */
int link_write(struct link *l, struct ptx_linked *out);

#endif
