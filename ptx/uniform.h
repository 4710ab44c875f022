/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/uniform: the inside of the uniformity analysis. A fact says of a value: nothing known yet (TOP), base +
 * stride . position with a base that is the same among some threads (KNOWN), or varying (NONE); facts only ever
 * move in that order. uniform_fact.c: facts and what operations make of them. divergence.c: what branches that
 * threads take differently do to phis and to values that leave loops. uniformity.c: the solver. */
#ifndef CUTRACE_PTX_UNIFORM_H
#define CUTRACE_PTX_UNIFORM_H

#include "ptx/analysis.h"

enum fact_kind { FACT_TOP, FACT_KNOWN, FACT_NONE };
struct fact {
	uint8_t kind, base; /* base: enum ptx_level */
	bool may_wrap, has_constant;
	int32_t stride[PTX_AXES];
	int64_t constant; /* the base, when it is one, sign-extended */
};

struct uniform {
	const struct ptx_func *f;
	const struct ptx_module *m;
	struct ptx_uses uses;
	struct fact *facts; /* by value */
	uint8_t *
		leaves_loop; /* by value: level at which threads leave the loop that makes it at different times */
	uint8_t *join;       /* by block: level at which threads come to it by different ways */
	uint8_t *divergent;    /* by block: level of its branch */
	uint32_t *order;       /* by block: number in reverse postorder */
	uint32_t *heap, nheap; /* blocks to visit, lowest order first */
	uint8_t *queued;
	uint32_t *label, *stamp; /* by block, of one propagation */
	uint8_t *is_join, *in_loop;
	uint32_t *region, nregion, run;
	uint64_t budget;
	uint8_t assumed; /* once the budget is spent: level at which every join is taken to be divergent */
	bool bounded;
	void (*revisit)(struct uniform *u, uint32_t value); /* a value's fact may change */
};

/* uniform_fact.c */
struct fact fact_uniform(enum ptx_level base);
struct fact fact_none(void);
bool fact_is_uniform(const struct fact *x); /* no strides */
enum ptx_level fact_level(const struct fact *x);
struct fact fact_union(const struct fact *a, const struct fact *b);
/* The value is chosen, or seen, differently among threads at `level`. */
struct fact fact_spread(const struct fact *x, enum ptx_level level);
bool fact_same(const struct fact *a, const struct fact *b);
struct fact fact_of_operand(const struct uniform *u, const struct ptx_operand *o, unsigned bits);
/* What instruction i gives its destination k, guard left out. TOP: an operand isn't known yet. */
struct fact fact_of_result(const struct uniform *u, const struct ptx_inst *i, unsigned k);

/* divergence.c */
int divergence_open(struct uniform *u);
void divergence_close(struct uniform *u);
/* Block d's branch is taken differently among threads at its level: raises joins and leaves_loop. */
void divergence_spread(struct uniform *u, uint32_t d);
/* control[b] of ptx_uniformity from u->divergent. */
int divergence_control(struct uniform *u, uint8_t *control);

#endif
