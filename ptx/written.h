/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/written: which bytes a launch of a kernel may write. The kernel is prepared once; for each launch, whose shape and
 * parameters are known, intervals are found for the addresses that it stores to, with the conditions that guard them.
 * What the recorder keeps of a launch, and what a replay looks at, are these ranges.
 *
 * Errs on the side of "may": a parameter through which something is stored whose place isn't bounded is written anywhere
 * in the allocation that it points to. Taken for granted, as by everything that follows pointers here, is that a pointer
 * made from a parameter stays in that parameter's allocation.
 */
#ifndef CUTRACE_PTX_WRITTEN_H
#define CUTRACE_PTX_WRITTEN_H

#include "ptx/ir.h"

struct ptx_launch {
	uint32_t grid[3], block[3];
	const uint8_t *params; /* the parameter block; what lies behind `bytes` of it isn't known */
	uint32_t bytes;
};

/* What is stored through one parameter. */
struct ptx_written_range {
	bool is_written;
	bool is_bounded;     /* only addresses in [first, end) */
	uint64_t first, end; /* first == end: nothing is stored after all */
};

struct ptx_written;

/* CUTRACE_ENOMEM, or what ptx_func_analyse gives. The module must outlive it. */
int ptx_written_open(struct ptx_written **out, struct ptx_module *m, struct ptx_func *f);
void ptx_written_close(struct ptx_written *w);
/* May store where no parameter points: the ranges are then not all. */
bool ptx_written_elsewhere(const struct ptx_written *w);
/* ranges: one for each parameter of the kernel. */
void ptx_written_find(struct ptx_written *w, const struct ptx_launch *l, struct ptx_written_range *ranges);

#endif
