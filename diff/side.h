/* SPDX-License-Identifier: Apache-2.0
 *
 * side: one of the two traces while it is compared: its calls by role, as pairs of hashes in a temporary file.
 *
 * Two threads that do the same thing in the two traces have the same role: 0 is the first process's first thread.
 */
#ifndef CUTRACE_DIFF_SIDE_H
#define CUTRACE_DIFF_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "diff/call_list.h"
#include "diff/leaves.h"
#include "dump/decode.h"
#include "trace/trace.h"

struct side {
	const char *path;
	struct trace *trace;
	bool hashes; /* both traces have hashes of what launches wrote, of equally many */
	bool replay; /* its program is a replay: `cutrace enrich`, or a replay that was recorded */
	bool loose;  /* one of both traces is: what a replay does of its own, or differently, is left out */
	uint32_t *roles; /* by thread.id */
	uint32_t nthreads;
	unsigned nroles;
	struct call_list *lists; /* by role */
	uint64_t calls, polls;
	struct call_file file;
};

int side_open(struct side *s, const char *path, struct diag *d);
void side_close(struct side *s);
/* Gives the threads of both their roles; *nroles is how many there are, at least 1. */
int sides_pair(struct side *a, struct side *b, unsigned *nroles, struct diag *d);
/* Reads all calls. progress may be NULL. */
int side_read(struct side *s, unsigned nroles, void (*progress)(void *ctx, uint64_t calls), void *ctx,
	      struct diag *d);
/* Whether the call is left out: a poll, whose number is chance; and beside a replay queries, waits, and what it does for
 * itself. */
bool side_leaves_out(const struct side *s, const struct trace_call *c);
/* Of a thread; 0 of one that the trace does not have, as in a damaged one. */
unsigned side_role(const struct side *s, uint32_t thread);

#endif
