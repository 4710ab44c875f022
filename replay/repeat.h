/* SPDX-License-Identifier: Apache-2.0
 *
 * repeat: how long launches take here (replay --repeat). Each launch is first made, and its results are compared, as ever;
 * then it is made again, to warm up and to be timed, always from the memory that it began with, and what it left the first
 * time is put back: what follows it, and the verdict, are those of a replay without repetitions. Nothing waits for a launch
 * that never reads what it writes: that one begins with the same memory anyhow.
 */
#ifndef CUTRACE_REPLAY_REPEAT_H
#define CUTRACE_REPLAY_REPEAT_H

#include "replay/engine.h"

/* Around a launch: before it is issued, and when it was compared. */
void repeat_before(struct engine *e, const struct call *c, const struct trace_launch *l,
		   const struct trace_kernel *k);
void repeat_after(struct engine *e, struct call *c);
void repeat_free(struct engine *e);

#endif
