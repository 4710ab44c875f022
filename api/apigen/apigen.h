/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen: reads descriptions of library functions (*.api, see
 * docs/adding-an-api-function.md) and writes C: an ABI header, constant
 * tables, stubs, entry points and SQL views. A build-time tool: everything
 * lives in one arena and is never freed before exit.
 *
 * Flow: source.c + lex.c (text to lines of tokens) -> parse_*.c + expr.c +
 * ctype.c (the model below, checked) -> emit_*.c (one output each).
 */
#ifndef CUTRACE_APIGEN_H
#define CUTRACE_APIGEN_H

#include "api/api.h"
#include "base/arena.h"

#include <stdio.h>

/* ---- sources, tokens, errors (source.c, lex.c) ------------------------- */

struct source {
	const char *path;
	char *text;
	size_t size;
};

struct loc {
	const struct source *src;
	const char *line_text; /* start of the line inside src->text */
	unsigned line, col, len;
};

enum token_kind { TOK_END, TOK_NAME, TOK_NUMBER, TOK_PUNCT };

struct token {
	enum token_kind kind;
	const char *text; /* NUL-terminated copy */
	struct loc loc;
	int64_t value; /* TOK_NUMBER */
};

struct line {
	unsigned indent; /* columns */
	unsigned ntokens;
	struct token *tokens; /* ntokens + 1, the last is TOK_END */
};

#define LIST(T)                \
	struct {               \
		T *v;          \
		size_t n, cap; \
	}
#define list_add(g, l) \
	(list_grow((g), (void **)&(l)->v, (l)->n, &(l)->cap, sizeof(*(l)->v)), &(l)->v[(l)->n++])

/* ---- the model --------------------------------------------------------- */

enum def_kind {
	DEF_SCALAR, /* an integer or floating type */
	DEF_DEVPTR,
	DEF_HANDLE,
	DEF_ENUM,
	DEF_MASK,
	DEF_STRUCT,
	DEF_UNION,
	DEF_CALLBACK,
	DEF_CONST, /* not a type: #define NAME value */
};

struct value {
	const char *name;
	int64_t value;
	struct loc loc;
};

struct def;

struct field {
	const char *name; /* "" for an anonymous union */
	struct loc loc;
	const char *type_text; /* without array suffix: "unsigned int", "void *" */
	unsigned count;        /* array elements, 0 = not an array */
	unsigned type;
	struct def *def; /* struct or union by value, else NULL */
	unsigned offset, size, since;
	int len, active;
	uint8_t payload;
	struct token *len_at;       /* first token of the len expression; resolved at the block's end */
	struct token *tag;          /* of a union: the field that selects */
	LIST(struct token *) cases; /* of a union's member */
};

struct size_at {
	unsigned since, size;
};

struct def {
	enum def_kind kind;
	const char *name;
	struct loc loc;
	unsigned index; /* in its table */
	unsigned size, align;
	bool is_signed, is_float, nested, macros;
	const char *base; /* C spelling of what a typedef stands for */
	const char *tag;  /* struct tag, for source compatibility */
	LIST(const char *) aka;
	LIST(struct value) values;
	struct def *handle_alias;
	/* structs and unions */
	LIST(struct field) fields;
	struct field *self_tag;
	struct def *tagged_by; /* the struct whose field selects a member of this union */
	unsigned max_align;    /* asked for */
};

struct ctype {
	struct def *base;
	bool is_const;
	unsigned stars;
	const char *text; /* normalised: "const char *" */
};

struct type {
	const char *name;
	uint8_t kind;
	unsigned size, align, elem, count, def;
	struct def *d;
};

struct param {
	const char *name;
	struct loc loc;
	struct ctype ctype;
	unsigned type;
	uint8_t dir, abi, payload;
	unsigned flags;
	int len, poly;
	struct token *len_at;
	struct token *selector;
	const char *poly_name;
};

struct func {
	const char *name, *base;
	struct loc loc;
	unsigned since, pt_since; /* pt_since: of the per-thread variant, 0 = none */
	const char *pt_suffix;    /* "_ptsz" or "_ptds" */
	unsigned flags;
	uint8_t replay;
	const char *macro; /* the name that maps to this one in source code, or NULL */
	unsigned ret;
	const char *ret_text;
	LIST(struct param) params;
	const struct func *legacy; /* of a per-thread variant: the function described */
	unsigned index;
};

struct poly_block {
	const char *name;
	struct loc loc;
	LIST(struct api_poly_case) cases;
	LIST(struct loc) locs;
	unsigned index;
};

struct poly_use {
	const struct poly_block *block;
	unsigned selector;
};

enum symbol_kind { SYM_DEF = 1, SYM_VALUE, SYM_FUNC, SYM_POLY };

struct symbol {
	const char *name;
	enum symbol_kind kind;
	struct loc loc;
	void *what;
	int64_t value;
	struct symbol *next;
};

#define SYMBOL_BUCKETS 4096

struct apigen {
	struct arena arena;
	FILE *err;
	unsigned errors;
	struct symbol *symbols[SYMBOL_BUCKETS];
	LIST(struct def *) defs; /* in order of description */
	LIST(struct def *) enums;
	LIST(struct def *) handles;
	LIST(struct def *) structs;
	LIST(struct type) types;
	LIST(struct api_expr) exprs;
	LIST(struct poly_block *) polys;
	LIST(struct poly_use) poly_uses;
	LIST(struct func *) funcs; /* sorted by name once parsing is done */
	const char *result_type;
};

/* The parser's place: one file's lines, one token in the current line. */
struct parser {
	struct apigen *g;
	const struct source *src;
	struct line *lines;
	size_t nlines, at;
	struct token *t;
};

void list_grow(struct apigen *g, void **v, size_t n, size_t *cap, size_t size);

/* source.c */
struct source *source_load(struct apigen *g, const char *path);
/* Prints file:line:col, the line and a caret. At most 50 are shown. */
void error_at(struct apigen *g, struct loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void note_at(struct apigen *g, struct loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* lex.c */
struct line *lex_lines(struct apigen *g, const struct source *src, size_t *nlines);

/* symbols.c: one name space, as in C */
bool symbol_add(struct apigen *g, const char *name, enum symbol_kind kind, struct loc loc, void *what,
		int64_t value);
struct symbol *symbol_find(struct apigen *g, const char *name);
struct def *def_find(struct apigen *g, const char *name);
struct def *def_new(struct apigen *g, enum def_kind kind, const char *name, struct loc loc);
void define_builtins(struct apigen *g);
/* The name in `names` nearest to a misspelt one, or NULL. */
const char *symbol_suggest(struct apigen *g, const char *name, enum symbol_kind kind);

/* parse.c: lines and tokens */
bool next_line(struct parser *p, unsigned parent_indent, unsigned *indent);
bool at_name(const struct parser *p, const char *word);
bool at_punct(const struct parser *p, const char *punct);
bool accept_name(struct parser *p, const char *word);
bool accept_punct(struct parser *p, const char *punct);
struct token *expect_name(struct parser *p, const char *what);
bool expect_punct(struct parser *p, const char *punct);
bool expect_number(struct parser *p, int64_t *value, const char *what);
bool parse_constant(struct parser *p, int64_t *value);
void expect_end(struct parser *p);
void skip_block(struct parser *p, unsigned indent);
void parse_file(struct apigen *g, const struct source *src);

/* parse_types.c, parse_struct.c, parse_func.c: one top-level item each */
void parse_scalar(struct parser *p, enum def_kind kind);
void parse_handle(struct parser *p);
void parse_enum(struct parser *p, enum def_kind kind);
void parse_callback(struct parser *p);
void parse_const(struct parser *p);
void parse_poly(struct parser *p);
void parse_struct(struct parser *p, enum def_kind kind);
void parse_func(struct parser *p);
/* After all files: per-thread variants, order, ids. */
void finish_funcs(struct apigen *g);

/* ctype.c: C types as the descriptions spell them */
bool parse_ctype(struct parser *p, struct ctype *out);
unsigned type_intern(struct apigen *g, const struct type *t);
unsigned type_of_def(struct apigen *g, struct def *d, const char *name);
unsigned type_pointer(struct apigen *g, const char *name, unsigned elem);
/* The type of a value that is spelt `c`. `bytes`: a void * with a known length. */
unsigned type_of_ctype(struct apigen *g, const struct ctype *c, bool bytes);
const char *ctype_declare(struct apigen *g, const char *type_text, const char *name);

/* expr.c */
struct scope {
	const struct func *func;  /* names are parameters, or */
	const struct def *fields; /* sibling fields */
};
/* Parses at p->t. Without a scope only the syntax is checked. Returns the expression's
 * index, or -1 after an error. */
int parse_expr(struct parser *p, const struct scope *scope);
int expr_const(struct apigen *g, int64_t value);
int expr_make(struct apigen *g, enum api_expr_op op, int a, int b, int c, int64_t value);

/* emit_*.c: one output each */
void emit_abi(struct apigen *g, FILE *out);
void emit_tables(struct apigen *g, FILE *out);
void emit_stubs(struct apigen *g, FILE *out);
void emit_entries(struct apigen *g, FILE *out);
void emit_ids(struct apigen *g, FILE *out);
void emit_sql(struct apigen *g, FILE *out);
void emit_check(struct apigen *g, FILE *out);
#define MAX_OUT_SLOTS 8 /* columns o0 .. o7 of a call */
/* Has it a slot? Counts as api_out_slot of api/api.c does. */
bool is_out_scalar(const struct apigen *g, const struct param *q);
void emit_head(FILE *out, const char *what);
void emit_params(struct apigen *g, FILE *out, const struct func *f);
void emit_prototype(struct apigen *g, FILE *out, const struct func *f);

#endif
