/* SPDX-License-Identifier: Apache-2.0
 *
 * convergence: whether the lanes of each warp are together where PTX says that they wait for each other, when the
 * control flow of a kernel is left as it is. AMD's waves execute both sides of a branch one after the other and meet
 * behind it; a lane can't wait there for one that comes later.
 *
 * Control flow is right as it is when (1) no lane that could take part in a *.sync operation, or in a barrier, can reach
 * such an operation on another way while the others are at this one, and (2) no loop waits for what a lane does that
 * waits, in turn, behind the loop. Otherwise the kernel is lowered as dispatch.h describes. Errs on that side.
 */
#ifndef CUTRACE_PTX_LOWER_CONVERGENCE_H
#define CUTRACE_PTX_LOWER_CONVERGENCE_H

#include "ptx/lower/writer.h"

/* Sets `waits` of all functions of the kernel; *apart: control flow can't be left as it is. False: refused. */
bool convergence_find(struct lower *l, bool *apart);

/* Kinds of instructions. */
bool waits_for_warp(const struct ptx_inst *i);  /* with a member mask: shfl.sync, bar.warp.sync ... */
bool waits_for_block(const struct ptx_inst *i); /* bar, barrier, barrier.cluster */
bool reads_others(const struct ptx_inst
			  *i); /* what another thread writes: atom, volatile and ordered loads, mbarrier */
bool orders_memory(const struct ptx_inst *i);      /* plain loads may be waited for where it stands */
bool is_counted_barrier(const struct ptx_inst *i); /* not one of the whole block */
/* Whether its operation may be done together with that of another instruction. */
bool same_operation(const struct ptx_inst *a, const struct ptx_inst *b);

#endif
