/* SPDX-License-Identifier: Apache-2.0
 *
 * ledger: what the processes of one replay know of each other, in memory that they share: how far it is, whether it
 * shall end early, and, of an isolated replay, who judges which launches. A process's launches are cut into chunks in
 * their order; whoever comes to one first judges it, for the others what was recorded stands in. So processes share
 * the work evenly, however unlike the launches are. What an earlier, interrupted replay has judged is nobody's.
 */
#ifndef CUTRACE_REPLAY_LEDGER_H
#define CUTRACE_REPLAY_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct sqlite3;

/* Calls from first to before end, of one process of the trace. */
struct ledger_range {
	uint32_t process;
	uint64_t first, end;
};

/* Shared. */
struct ledger_board {
	_Atomic uint64_t launches, differences, call; /* done, found, the one at hand */
	_Atomic int stop;                             /* a signal's number: end after the call at hand */
	_Atomic uint32_t owner[]; /* of chunks: a worker's number from 1 on, 0: nobody yet */
};

struct ledger {
	struct ledger_board *board;
	size_t board_bytes;
	struct ledger_range *chunks; /* in order of process and call */
	size_t nchunks;
	struct ledger_range *done; /* by an earlier replay; in the same order */
	size_t ndone;
	uint64_t launches, launches_done; /* to judge, or to make; judged already */
};

/* All launches of the trace between calls `first` and before `end`; chunks only when `share`. `done`, which becomes the
 * ledger's, needs no order. */
struct ledger_plan {
	struct sqlite3 *trace;
	const char *trace_path;
	const uint32_t *processes;
	unsigned nprocesses;
	unsigned shard, shards; /* of them; shards 0: all */
	uint64_t first, end;
	bool share;
	struct ledger_range *done;
	size_t ndone;
};
int ledger_make(struct ledger *l, const struct ledger_plan *p, struct diag *d);
void ledger_free(struct ledger *l);

/* Whether the call's launch is the worker's to judge. Asking for a call of a chunk that is nobody's takes it. */
bool ledger_take(const struct ledger *l, uint32_t process, uint64_t call, unsigned worker);
/* The chunk with the call in it; chunks of one process leave no gaps. NULL: there are none. */
const struct ledger_range *ledger_chunk(const struct ledger *l, uint32_t process, uint64_t call);
/* None of the process's launches from this call on can become the worker's. */
bool ledger_is_over(const struct ledger *l, uint32_t process, uint64_t call, unsigned worker);

#endif
