/* SPDX-License-Identifier: Apache-2.0
 *
 * launches: faults that one launch alone does not show: it takes what launches before it did or left behind on the device.
 * The fewest launches that show it when they are replayed one after the other, found by delta debugging.
 */
#ifndef CUTRACE_REDUCE_LAUNCHES_H
#define CUTRACE_REDUCE_LAUNCHES_H

#include <stdint.h>

#include "reduce/judge.h"
#include "reduce/reduce.h"

/* How many launches the call's process makes in all; 0: the trace can't be read. */
unsigned launches_of(const char *trace, uint64_t call, struct diag *d);
/* Leaves the smallest excerpt in j->best; its last launch is the one that differs. *left: its launches. */
int launches_reduce(struct judge *j, const char *trace, const struct culprit *c, unsigned *left,
		    struct diag *d);

#endif
