/* SPDX-License-Identifier: Apache-2.0
 *
 * expression: expressions as a tree, between who reads them (expression.c) and who evaluates them (evaluate.c); value.c has
 * the arithmetic. */
#ifndef CUTRACE_DEBUG_EXPRESSION_H
#define CUTRACE_DEBUG_EXPRESSION_H

#include "debug/session.h"

enum { MAX_NODES = 256, MAX_NEST = 64 };

enum kind {
	LITERAL,
	REGISTER,
	SPECIAL,
	VARIABLE,
	MAGIC,
	UNARY,
	BINARY,
	CAST,
	DEREF,
	INDEX,
	ADDRESS,
	IN_SPACE
};
enum operator{
	OP_NONE,
	OP_OR,
	OP_AND,
	OP_BOR,
	OP_XOR,
	OP_BAND,
	OP_EQ,
	OP_NE,
	OP_LE,
	OP_GE,
	OP_LT,
	OP_GT,
	OP_SHL,
	OP_SHR,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_REM,
	OP_NEG,
	OP_NOT,
	OP_INV
};
enum magic { MAGIC_TIME, MAGIC_STEPS, MAGIC_LINE, MAGIC_DEPTH };

struct node {
	uint8_t kind, op, type, space;
	bool pointer;
	uint32_t a, b; /* operands; of registers: slot */
	struct value literal;
	struct variable variable;
};

struct expression {
	uint32_t func, n, root;
	struct node nodes[MAX_NODES];
};

/* value.c */
void value_set_integer(struct value *v, enum ptx_type t, uint64_t bits);
void value_set_float(struct value *v, enum ptx_type t, double x);
bool value_is_float(const struct value *v);
double value_float(const struct value *v);
int value_binary(uint8_t op, const struct value *a, const struct value *b, struct value *out, struct diag *d);

#endif
