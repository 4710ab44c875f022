/* SPDX-License-Identifier: Apache-2.0
 *
 * align: which calls of one role stand opposite each other in two traces. Looks at hashes only, in windows, so memory
 * doesn't grow with the traces.
 */
#ifndef CUTRACE_DIFF_ALIGN_H
#define CUTRACE_DIFF_ALIGN_H

#include "diff/call_list.h"

enum hunk_kind {
	HUNK_CHANGED, /* the same function, other values */
	HUNK_ONLY_A,
	HUNK_ONLY_B,
};

struct hunk {
	enum hunk_kind kind;
	unsigned role;
	uint64_t a, b;  /* calls; 0: none */
	uint64_t order; /* where in A: its call, or one near */
};

/* Calls found(ctx, hunk) for each difference, in the order of the role's calls, and counts the equal ones. False:
 * a temporary file can't be read, or memory ran out. */
bool align_lists(const struct call_list *a, const struct call_file *fa, const struct call_list *b,
		 const struct call_file *fb, unsigned role, void (*found)(void *ctx, const struct hunk *h),
		 void *ctx, uint64_t *equal);

#endif
