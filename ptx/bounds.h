/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/bounds: intervals of a function's integer values in one launch, over all threads and iterations. Private to ptx/.
 * bounds_plan.c finds, once for a function, what has to be looked at and which conditions hold where; bounds.c finds the
 * intervals; bounds_op.c knows what operations do to them.
 */
#ifndef CUTRACE_PTX_BOUNDS_H
#define CUTRACE_PTX_BOUNDS_H

#include "ptx/analysis.h"
#include "ptx/interval.h"
#include "ptx/written.h"

/* A comparison and how it came out. */
struct condition {
	uint32_t inst; /* a setp of integers */
	bool holds;
	bool is_uniform; /* of values that are the same in all threads of a block */
};

struct conditions {
	uint32_t first, n; /* in bounds_plan.conditions */
};

/* One value to be found: made by instruction `inst`, or by phi `phi` of `block`. */
struct bounds_step {
	uint32_t value, block, inst, phi;
	uint8_t dst;
};

struct bounds_plan {
	struct ptx_module *m;
	struct ptx_func *f;
	struct ptx_uniformity uniformity;
	struct condition *conditions;
	uint32_t nconditions, conditions_capacity;
	struct conditions *taken,
		*passed; /* by block: what holds where its branch is taken, and where it isn't */
	struct bounds_step *steps;
	uint32_t nsteps;
	uint8_t *wanted; /* by value */
};

int bounds_plan_open(struct bounds_plan *p, struct ptx_module *m, struct ptx_func *f, const uint32_t *roots,
		     uint32_t nroots);
void bounds_plan_close(struct bounds_plan *p);

struct bounds {
	const struct bounds_plan *p;
	const struct ptx_launch *launch;
	bool at_origin; /* of the thread (0, 0, 0) of each block; only what holds for all threads of it is used */
	struct interval *values; /* by value */
	uint8_t *growths;        /* by value: of phis, how often they grew */
	bool lost;               /* somewhere a narrower sum may have wrapped around */
};

/* False when no fixed point was reached: nothing is known. */
bool bounds_find(struct bounds *b);
/* Of a value as it is read in `block`. */
struct interval bounds_at(struct bounds *b, uint32_t value, uint32_t block);
/* False: no thread comes to the block. */
bool bounds_reaches(const struct bounds *b, uint32_t block);
/* bounds_op.c: what instruction i, in `block`, gives its destination k, guard left out. */
struct interval bounds_of_result(struct bounds *b, const struct ptx_inst *i, uint32_t block, unsigned k);
struct interval bounds_of_operand(struct bounds *b, const struct ptx_operand *o, uint32_t block,
				  unsigned bits);

#endif
