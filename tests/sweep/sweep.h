/* SPDX-License-Identifier: Apache-2.0
 *
 * sweep: runs an instruction on very many operands and judges each result. A group is one mathematical function of
 * operands of one type, evaluated once per operand tuple; its forms are the instructions that round it, in every
 * mode, with every modifier. One kernel executes all forms of a group, on thousands of tuples a launch.
 *
 * groups.c describes, evaluate.c knows the mathematics (MPFR) and the ISA's rules, machine.c runs the device,
 * values.c makes operands, judge.c compares and keeps the worst errors.
 */
#ifndef TESTS_SWEEP_SWEEP_H
#define TESTS_SWEEP_SWEEP_H

#include "exact.h"

enum fn {
	FN_MOVE,
	FN_NEG,
	FN_ABS,
	FN_RCP,
	FN_SQRT,
	FN_RSQRT,
	FN_SIN,
	FN_COS,
	FN_LG2,
	FN_EX2,
	FN_TANH,
	FN_ADD,
	FN_SUB,
	FN_MUL,
	FN_DIV,
	FN_FMA,
	FN_MIN,
	FN_MAX
};

enum bound_kind { EXACT, ULP, RELATIVE, ABSOLUTE, UNSTATED };

enum {
	FTZ = 1,
	SAT = 2,
	RELU = 4,
	SATFINITE = 8,
	NAN_MOD = 16,   /* .NaN of min and max */
	XORSIGN = 32,   /* .xorsign.abs */
	UPPER_WORD = 64 /* .ftz.f64 approximations: upper words only */
};

struct sweep_form {
	char opcode[48];
	enum float_format format; /* of the result; FORMAT_NONE: an integer of `integer` */
	const struct int_type *integer;
	unsigned lanes; /* elements in the result; in the operand too unless `same` */
	bool same;      /* cvt of two operands, both given the same value */
	enum rounding mode;
	int integral; /* rounding to an integral value first: 1 + enum rounding, or 0 */
	unsigned flags;
	enum bound_kind kind;
	double bound;
};

/* What was seen. Errors are in units of the format's last place at the exact value, and as the ISA measures. */
struct sweep_result {
	uint64_t checked, open, wrong;
	double worst_ulp, worst, where_bound;
	uint64_t worst_ulp_in[3], worst_in[3];
	uint64_t first_in[3], first_got, first_want;
};

enum { MAX_FORMS = 96, BATCH = 1 << 14 };

struct group {
	const char *name;
	enum fn fn;
	enum float_format format; /* of the operands; FORMAT_NONE: integers of `integer` */
	const struct int_type *integer;
	unsigned bits, nin;
	struct sweep_form forms[MAX_FORMS];
	struct sweep_result results[MAX_FORMS];
	unsigned n;
	unsigned cost; /* of an evaluation, roughly: divides the samples */
};

/* The groups; *n of them, to be freed. */
struct group *groups_make(unsigned *n);

/* One operand tuple under one form. */
struct verdict {
	bool open;   /* the ISA says nothing */
	bool second; /* `alternative` is right as well */
	uint64_t bits, alternative;
	struct exact value; /* of approximations */
};
struct evaluation {
	struct exact value, flushed;
	bool same;
};
void evaluate(const struct group *g, const uint64_t *in, struct evaluation *e);
void verdict_of(const struct group *g, const struct sweep_form *f, const uint64_t *in,
		const struct evaluation *e, struct verdict *v);
void evaluate_free(void);

/* How many tuples there are when all are taken; 0 where that is out of reach. */
uint64_t values_all(const struct group *g);
/* Tuple `index`: of all, or of a seeded sample that begins with the special values. */
void sweep_values(const struct group *g, bool all, uint64_t index, uint64_t *in);

void judge(struct group *g, const uint64_t *in, const uint64_t *out, unsigned count);
/* Prints the lines of a group; returns how many forms were wrong. */
unsigned report(const struct group *g, bool every_form);

struct machine;
/* Another device than the interpreter, "amdemu:gfx1100"; false: there is none of this name. */
bool machine_choose(const char *name);
struct machine *machine_open(struct group *groups, unsigned n);
/* in[tuple * nin + i], out[tuple * g->n + form]. Returns 0 or prints why not. */
int machine_run(struct machine *m, unsigned group, const uint64_t *in, uint64_t *out, unsigned count);
void machine_close(struct machine *m);

#endif
