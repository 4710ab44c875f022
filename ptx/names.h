/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/names: what a name means. A module has one flat table; a body has scopes
 * that open and close with braces, and labels that may be used before they are
 * defined. Names point into the module's text.
 */
#ifndef CUTRACE_PTX_NAMES_H
#define CUTRACE_PTX_NAMES_H

#include "ptx/lexer.h"

enum name_kind {
	NAME_NONE,
	NAME_FUNC,   /* index into module->funcs */
	NAME_SYMBOL, /* index into module->symbols */
	NAME_REG,    /* index into the body's registers */
	NAME_VECTOR, /* the same, of the first of its elements */
	NAME_RANGE,  /* %r<100>: index into the body's ranges */
	NAME_PARAM,  /* index into func->params */
	NAME_RET,    /* index into func->rets */
};

/* Open addressing, for a module. */
struct name_table {
	struct name_slot {
		const char *s;
		uint32_t n, hash, index;
		uint32_t kind;
	} * slots;
	uint32_t capacity, used;
};
struct name_slot *name_table_find(const struct name_table *t, const struct lex_name *name);
/* 0, or CUTRACE_ENOMEM; an existing name gets the new meaning. */
int name_table_put(struct name_table *t, const struct lex_name *name, enum name_kind kind, uint32_t index);
void name_table_free(struct name_table *t);

/* A stack of declarations with chains by hash; closing a scope pops what it declared. */
struct scope_entry {
	const char *s;
	uint32_t n, hash;
	uint8_t kind;
	uint16_t depth;
	uint32_t index, next;
};
struct scope_table {
	struct scope_entry *entries;
	uint32_t *buckets; /* newest entry + 1, 0 = none */
	uint32_t nentries, capacity, nbuckets;
};
const struct scope_entry *scope_find(const struct scope_table *t, const char *s, uint32_t n, uint32_t hash);
/* 0, CUTRACE_EINVAL when the name is taken at this depth, CUTRACE_ENOMEM. */
int scope_add(struct scope_table *t, const struct lex_name *name, enum name_kind kind, uint32_t index,
	      uint16_t depth);
void scope_close(struct scope_table *t, uint32_t nentries); /* back to so many entries */
void scope_free(struct scope_table *t);

/* Labels by the scope that defines them. */
struct label_table {
	struct label {
		const char *s;
		uint32_t n, hash, scope;
		uint32_t inst; /* index of the instruction that follows, or of a list: is_list */
		bool is_list;
	} * labels;
	uint32_t *index; /* open addressing; label + 1 */
	uint32_t nlabels, capacity, nindex;
};
const struct label *label_find(const struct label_table *t, const struct lex_name *name, uint32_t scope);
int label_add(struct label_table *t, const struct lex_name *name, uint32_t scope, uint32_t inst,
	      bool is_list);
void label_free(struct label_table *t);

#endif
