/* SPDX-License-Identifier: Apache-2.0
 *
 * self_replays: a trace with contents is replayed on the driver that it was recorded on, again and again, each launch by
 * itself; what is other than recorded is what that driver leaves to chance, and goes into the trace.
 */
#ifndef CUTRACE_REPLAY_SELF_REPLAYS_H
#define CUTRACE_REPLAY_SELF_REPLAYS_H

#include "base/diag.h"

struct workroom;

enum { SELF_REPLAYS_MAX = 64 };

/* target: "--driver" or "--device", which: its value. 0, or an error with *d filled; the trace is then as it was. */
int self_replays_make(const char *trace, const char *target, const char *which, unsigned runs,
		      const struct workroom *w, struct diag *d);

#endif
