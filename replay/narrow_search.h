/* SPDX-License-Identifier: Apache-2.0
 *
 * One launch that is looked into: between narrow.c, which chooses it, narrow_search.c and narrow_row.c.
 */
#ifndef CUTRACE_REPLAY_NARROW_SEARCH_H
#define CUTRACE_REPLAY_NARROW_SEARCH_H

#include "replay/narrow.h"

#define MAX_STOPS 8 /* lines of a kernel at which threads end, since they fault there */

struct narrow_launch {
	struct session *s;
	struct trace *t;
	uint32_t process;
	uint64_t call, address; /* of the element, recorded */
	unsigned bytes;
	struct trace_launch row;
	const struct trace_kernel *kernel;
	uint64_t image, beyond; /* beyond: a device address behind all recorded ones */
	struct ptx_module *m;
	struct ptx_func *f;
	struct narrow_said *said; /* shared memory */
	uint64_t threads, blocks; /* of a block; of the grid */
	struct extension_hit hit; /* who stored it, on the interpreter */
	bool has_hit;
	bool faults;               /* the launch, on the target; no element is known then */
	bool legal;                /* its results may be; is what made them? */
	uint32_t stops[MAX_STOPS]; /* PTX lines at which it does */
	unsigned nstops;
	bool other_result;       /* with the log, the element is another one */
	bool spares, any_spared; /* products that go into sums are not logged */
	char note[640], place_note[160];
	bool everywhere; /* what was found is no matter of a thread */
	struct narrow_finding best;
	uint64_t best_block, best_thread; /* in the grid, in the block */
};

/* What is first wrong in the launch, into l->best, l->note, l->hit. */
void narrow_search(struct narrow_launch *l);
/* That, in the result. */
void narrow_write(struct narrow_launch *l);

#endif
