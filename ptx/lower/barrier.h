/* SPDX-License-Identifier: Apache-2.0
 *
 * barrier: bar, barrier and barrier.cluster. A barrier of the whole block that all waves meet in the same order is an
 * s_barrier. Others count arrivals in LDS, behind the kernel's own shared memory, and waves poll: a word for each of
 * the block's barriers, one for the cluster's, and the number of lanes that have ended.
 */
#ifndef CUTRACE_PTX_LOWER_BARRIER_H
#define CUTRACE_PTX_LOWER_BARRIER_H

#include "ptx/lower/writer.h"

/* Sets l->counted. `apart`: the kernel is dispatched. */
void barrier_find_counted(struct lower *l, bool apart);
/* Of static shared memory, what the barriers need included. */
uint64_t barrier_shared_bytes(const struct lower *l);
/* In the kernel, before anything else; where lanes end; the states of a dispatched kernel. */
void barrier_kernel_begins(struct lower *l);
void barrier_lanes_end(struct lower *l);
void barrier_write_states(struct lower *l);

#endif
