/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/body: a function's body while it is parsed and turned into SSA. The
 * passes, in order: parse_body (statements; operands name slots, branches name
 * labels), cfg (blocks), dominance, build_ssa (slots become values). Private to
 * ptx/.
 */
#ifndef CUTRACE_PTX_BODY_H
#define CUTRACE_PTX_BODY_H

#include "ptx/parse.h"

struct body_register {
	struct lex_name name;
	uint32_t slot; /* 0 = not used yet */
	uint8_t type;
	uint8_t lanes; /* of a vector register's first element; its other elements follow */
};

/* .reg .b32 %r<100>; */
struct body_range {
	struct lex_name prefix;
	uint32_t count;
	uint32_t *slots; /* by number, 0 = not used yet */
	uint32_t capacity;
	uint8_t type;
};

/* A label used before all labels are known. */
struct body_reference {
	struct lex_name name;
	uint32_t scope;
	enum { REFERENCE_TARGET, REFERENCE_TABLE, REFERENCE_ITEM } kind;
	uint32_t inst;       /* TARGET, TABLE */
	uint32_t list, item; /* ITEM */
};

struct body_scope {
	uint32_t id, nentries;
	uint64_t call_param_bytes;
};

struct body {
	struct parser p;
	uint32_t func_index;
	struct scope_table names;
	struct label_table labels;
	uint32_t *scope_parents; /* by scope id */
	uint32_t nscopes, scope_parents_capacity;
	struct body_scope *open; /* stack */
	uint32_t depth, open_capacity;
	uint32_t scope; /* id of the innermost */

	struct body_register *registers;
	uint32_t nregisters, registers_capacity;
	struct body_range *ranges;
	uint32_t nranges, ranges_capacity;
	struct ptx_slot *slots;
	uint32_t nslots, slots_capacity;
	uint32_t cc_slot;        /* 0 = not used */
	bool numbered_registers; /* a single register's name ends in a digit, so that it may hide one of a
				    range */

	struct ptx_inst *insts;
	uint32_t ninsts, insts_capacity;
	struct body_reference *references;
	uint32_t nreferences, references_capacity;
	struct ptx_list *lists;
	uint32_t nlists, lists_capacity;
	bool *list_noreturn; /* of .callprototype */

	uint64_t call_param_bytes, call_param_max; /* frame of .param variables: now, and at most */
	uint64_t local_bytes, shared_bytes;
	uint32_t loc;

	/* the statement being read */
	struct operand_text *operands;
	uint32_t noperands, ngroups;
	const char *statement;
	uint32_t line, col;
	bool unified; /* [a].unified was read */

	struct diag *errors; /* PTX_MAX_ERRORS of them once there is one */
	uint32_t nerrors;
};

/* An operand as read, before the operation says what it means. */
struct operand_text {
	struct ptx_operand o;
	const char *at;
	struct literal literal; /* of an IMM */
	bool is_literal, is_address, after_bar;
	bool is_element; /* array[n]: an address where the operation takes one, else the element's address */
	uint8_t bits; /* register width, 0 = none */
	uint16_t group;
};

int body_fail(struct body *b, const char *at, const char *fmt, ...) DIAG_PRINTF(3, 4);

/* parse_body.c */
int parse_body(struct body *b);

/* registers.c */
int declare_registers(struct body *b);
/* NULL-less lookup: 1 = it is a register of slot *slot, 0 = it isn't, negative = error. */
int find_register(struct body *b, const char *s, uint32_t n, uint32_t hash, uint32_t *slot);
int new_slot(struct body *b, const struct lex_name *name, enum ptx_type type, uint32_t *slot);
int register_slot(struct body *b, uint32_t index, uint32_t *slot); /* of a declared register */
int carry_slot(struct body *b, uint32_t *slot);

/* parse_operand.c: one operand or vector into b->operands as group `group`. */
int parse_operand(struct body *b, uint16_t group, bool after_bar);
/* parse_inst.c */
int parse_instruction(struct body *b, bool guarded, bool negate, uint32_t guard);
/* Copies the operands read into the arena, with those that the operation implies. */
int store_operands(struct body *b, struct ptx_inst *i);
int add_reference(struct body *b, const struct body_reference *r);
/* expand.c: what one statement becomes when it is several instructions. */
int index_by_register(struct body *b, struct operand_text *t, const struct operand_text *index, uint64_t size);
int expand_vector_move(struct body *b, const struct ptx_inst *i);
/* parse_call.c: the operands of call. */
int parse_call(struct body *b, struct ptx_inst *i);
int parse_list(struct body *b, const struct lex_name *label, const struct lex_name *directive);
/* signature.c: gives the operands read their types, splits them into dst and src. */
int match_operands(struct body *b, struct ptx_inst *i);

/* cfg.c, dominance.c, build_ssa.c: from b (and f->blocks) into f. */
int build_blocks(struct body *b);
int build_dominance(struct body *b);
int build_ssa(struct body *b);

/* dominance.c: immediate dominators of a graph in compressed rows: the successors of n are
 * succs[first_succ[n]] up to first_succ[n + 1]; preds likewise. idom[entry] and those of unreachable nodes
 * become PTX_NONE. 0 or CUTRACE_ENOMEM. */
int dominators(uint32_t n, uint32_t entry, const uint32_t *first_succ, const uint32_t *succs,
	       const uint32_t *first_pred, const uint32_t *preds, uint32_t *idom);

/* Grows a malloc'ed array by doubling; false when memory ran out. */
bool grow(void *array, uint32_t *capacity, uint32_t n, size_t size);

#endif
