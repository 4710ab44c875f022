/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/parse: what the parts of the parser share: the module while and after it
 * is read, one body while it is read, and how errors are reported. Private to
 * ptx/.
 */
#ifndef CUTRACE_PTX_PARSE_H
#define CUTRACE_PTX_PARSE_H

#include "ptx/ir.h"
#include "ptx/lexer.h"
#include "ptx/names.h"
#include "ptx/op_table.h"

/* Bounds on what a text may ask for; each is far above what compilers emit. */
enum {
	PTX_MAX_OPERANDS = 512,
	PTX_MAX_DEPTH = 1024,        /* nested scopes */
	PTX_MAX_REGISTERS = 1 << 24, /* of one name: %r<n> */
	PTX_MAX_DIMENSIONS = 16,
	PTX_MAX_FILES = 1 << 20,
	PTX_MAX_EDGES = 1 << 25, /* of one function's control flow */
	PTX_MAX_PHIS = 1 << 25,  /* arguments of all its phis, and entries of its dominance frontiers */
};
#define PTX_MAX_VARIABLE_BYTES (UINT64_C(1) << 40)
#define PTX_MAX_PARAM_BYTES    (1u << 20)

/* Opcodes repeat: each spelling is decoded once per module. */
struct opcode_cache {
	struct opcode_entry {
		const char *text;
		uint32_t n, hash;
		struct ptx_inst *fields;
	} * slots;
	uint32_t capacity, used;
};

struct module_state {
	struct ptx_module m; /* must be first: the public handle is a pointer to it */
	struct name_table names;
	struct opcode_cache opcodes;
	uint32_t funcs_capacity, symbols_capacity, locs_capacity;
	const char *debug_str, *debug_str_end; /* body of .section .debug_str */
	struct name_table debug_names;         /* its labels met so far: index into debug_strings */
	const char **debug_strings;
	uint32_t ndebug_strings, debug_strings_capacity;
	struct effects *effects; /* by function, once one is analysed (access.c) */
	uint64_t init_bytes;     /* of all initialisers so far */
	bool checked;            /* ptx_module_check has seen all bodies */
};

static inline struct module_state *module_state(struct ptx_module *m)
{
	return (struct module_state *)m;
}

/* report.c: fills *d with "name:line:col", the message, and the line with a caret. Returns code. `at` points
 * into the module's text. */
int ptx_report(const struct ptx_module *m, const struct ptx_func *f, struct diag *d, int code, const char *at,
	       const char *fmt, ...) DIAG_PRINTF(6, 7);

/* A variable or parameter declaration behind its state space: ".align 8 .b8 name[16]". */
struct declaration {
	struct lex_name name;
	const char *at;
	uint8_t type;
	uint8_t vector; /* 1, 2, 4 */
	uint32_t align; /* as written or by type and vector */
	bool is_array, unsized, managed;
	bool is_ptr; /* .ptr attribute of a parameter */
	uint8_t ptr_space;
	uint32_t ptr_align;
	uint32_t ndims;
	uint64_t dims[PTX_MAX_DIMENSIONS];
	uint64_t count; /* elements, vector lanes included */
	uint64_t bytes;
};

/* parse_module.c: keeps an error when there is room; false when memory ran out. */
bool module_add_error(struct ptx_module *m, const struct diag *d);

/* Where a parser reports and what it reads. */
struct parser {
	struct module_state *ms;
	struct ptx_module *m;
	struct ptx_func *f; /* whose body, or NULL */
	struct lexer lx;
	struct diag *error;
};
int parser_fail(struct parser *p, int code, const char *at, const char *fmt, ...) DIAG_PRINTF(4, 5);
int parser_expect(struct parser *p, char c);
int parser_out_of_memory(struct parser *p);

/* parse_var.c */
int parse_declaration_type(struct parser *p, struct declaration *d);
int parse_attributes(struct parser *p, struct declaration *d); /* "(.managed)" */
int parse_declarator(struct parser *p, struct declaration *d); /* name and dimensions */
/* Variables of one declaration, initialisers included, up to ';'. Adds symbols; calls `named` for each. */
int parse_variables(struct parser *p, enum ptx_space space, enum ptx_linkage linkage, uint32_t owner,
		    int (*named)(void *ctx, const struct lex_name *name, uint32_t symbol), void *ctx);
int add_symbol(struct parser *p, const struct ptx_symbol *s, uint32_t *index);

/* initializer.c */
int parse_initializer(struct parser *p, struct declaration *d, struct ptx_symbol *s);
/* parse_opaque.c */
int parse_opaque_initializer(struct parser *p, struct declaration *d, struct ptx_symbol *s);

/* parse_module.c: ".visible", ".extern", ".weak", ".common"; false: another word. */
bool linkage_word(const struct lex_name *w, uint8_t *linkage);

/* parse_func.c */
int parse_function(struct parser *p, bool is_entry, enum ptx_linkage linkage);
/* "(.param .b32 a, ...)" into an array in the arena and the size of its block. */
int parse_params(struct parser *p, bool is_entry, struct ptx_param **params, uint32_t *n, uint32_t *bytes);

/* debug_info.c */
int parse_file(struct parser *p);
int parse_loc(struct parser *p, uint32_t *loc);
int parse_section(struct parser *p);

/* opcode_cache.c: NULL when it is no opcode; then the error is set. */
const struct ptx_inst *opcode_lookup(struct parser *p, const char *text, uint32_t n, uint32_t hash);
void opcode_cache_free(struct opcode_cache *c);

/* special_register.c: PTX_NSREGS when the name is none. */
enum ptx_sreg ptx_sreg_find(const char *s, uint32_t n);

static inline uint64_t align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) / align * align;
}

#endif
