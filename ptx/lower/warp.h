/* SPDX-License-Identifier: Apache-2.0
 *
 * warp: operations of a warp's lanes with each other, as functions of their operands: with control flow as it is, these are
 * the instruction's own; in a dispatched kernel, those of instructions at several places.
 */
#ifndef CUTRACE_PTX_LOWER_WARP_H
#define CUTRACE_PTX_LOWER_WARP_H

#include "ptx/lower/writer.h"

struct warp_values {
	struct ir src[3], members; /* members: that are here */
	struct ir dst[2];
};

/* Operands besides the member mask, and results, by number: how many, of how many bits. */
unsigned warp_source_count(const struct ptx_inst *i);
unsigned warp_source_bits(const struct ptx_inst *i, unsigned k);
unsigned warp_result_count(const struct ptx_inst *i); /* 0, or else 1 at least */
unsigned warp_result_bits(const struct ptx_inst *i, unsigned k);
/* l->i with these operands; false: refused. */
bool warp_compute(struct lower *l, struct warp_values *v);
/* The bits of this warp's lanes that are active and for which p, an i1, holds. */
struct ir warp_ballot(struct lower *l, struct ir p);
/* The value that lane `from` of this warp has. */
struct ir warp_value_of_lane(struct lower *l, struct ir v, struct ir from);

#endif
