/* SPDX-License-Identifier: Apache-2.0
 *
 * program: random kernels that are well-typed and end, each as PTX and as C with the same meaning. What the device
 * computes has to be what the C compiler's code computes, bit for bit: the meaning of every operation is written
 * twice, in the device under test and, from the PTX ISA document alone, in operations.c and meaning.h.
 *
 * A program has four registers of each class. They are filled from the input, one 8-byte cell a register and
 * thread; statements change them; at the end they are stored the same way, NaNs in one form. Undefined results,
 * approximations and races do not occur.
 */
#ifndef RANDOM_PROGRAMS_PROGRAM_H
#define RANDOM_PROGRAMS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define THREADS      64 /* per block */
#define BLOCKS       2
#define REGISTERS    4 /* of each class */
#define MAX_ARGS     4
#define MAX_BRANCHES 4
#define SCRATCH      64 /* bytes of memory of a thread's own, in each function and in the kernel */
#define NO_STATEMENT UINT32_MAX

enum reg_class { PRED, H16, R16, R32, R64, F32, F64, NCLASSES };
#define CELLS (NCLASSES * REGISTERS) /* per thread */

/* One operation. In the templates %d is the destination, %0 to %3 are the operands, %k is a number up to kmax. A PTX
 * template of several instructions has braces; a C template is an expression, or statements in braces. */
struct operation {
	enum reg_class dst;
	uint8_t nargs;
	enum reg_class args[MAX_ARGS];
	uint32_t kmax;
	const char *ptx, *c;
};
extern const struct operation operations[];
extern const unsigned noperations;

enum statement_kind {
	OPERATION,
	IF,        /* two branches */
	LOOP,      /* branch 0, up to k + 1 times or as often as a register says */
	BREAK,     /* leaves the innermost loop when a predicate holds */
	TWO_ENTRY, /* a loop which is entered at its top or in its middle: an irreducible graph */
	SWITCH,    /* brx.idx over four branches */
	CALL,      /* of a function of the program, directly or through a register */
	/* The rest only outside of all control flow, where all threads are. */
	SHUFFLE,
	VOTE,
	MATCH,
	REDUX,
	EXCHANGE,
	BARRIER_RED,
	SHARED_ATOMIC,
};

struct operand {
	bool constant;
	uint8_t reg;
	uint64_t bits;
};

struct statement {
	enum statement_kind kind;
	uint32_t id;   /* for labels and counters */
	uint32_t next; /* in its sequence */
	uint32_t branch[MAX_BRANCHES];
	const struct operation *op;
	uint8_t dst, mode, callee;
	uint32_t k;
	struct operand args[MAX_ARGS];
	bool guarded, negated; /* OPERATION: @p or @!p */
	uint8_t guard;
	bool removed; /* by the reduction of a program that fails */
};

#define MAX_STATEMENTS 512
#define MAX_FUNCTIONS  3

struct program {
	uint64_t seed;
	struct statement statements[MAX_STATEMENTS];
	uint32_t nstatements;
	uint32_t body, functions[MAX_FUNCTIONS]; /* first statements */
	uint32_t nfunctions;
	uint32_t table[16]; /* of constant and global memory */
};

/* The same seed makes the same program and the same input, everywhere. */
void program_generate(struct program *p, uint64_t seed);
void program_input(const struct program *p, uint64_t *cells); /* BLOCKS * THREADS * CELLS */

/* The PTX module: entry `program(.param .u64 in, .param .u64 out)`. */
void program_emit_ptx(const struct program *p, FILE *out);
/* A C function `void program_NUMBER(const uint64_t *in, uint64_t *out)`; includes nothing. */
void program_emit_c(const struct program *p, unsigned number, FILE *out);

/* Writes a template with its holes filled; `reg` names a register of a class. */
typedef void write_operand(FILE *out, enum reg_class class, struct operand operand);
void program_expand(FILE *out, const char *text, const struct operation *op, const struct statement *s,
		    write_operand *write);

#endif
