/* SPDX-License-Identifier: Apache-2.0
 *
 * compare: all that differs between two traces, as data for the printers.
 */
#ifndef CUTRACE_DIFF_COMPARE_H
#define CUTRACE_DIFF_COMPARE_H

#include "diff/align.h"
#include "diff/side.h"

/* A value that differs; a NULL text: that side has no such value. */
struct value_pair {
	const char *path, *a, *b;
};

/* A difference that is shown. */
struct difference {
	struct hunk hunk;
	const char *function, *kernel; /* kernel: NULL if it is no launch */
	uint32_t thread_a, thread_b;   /* 0: only on the other side */
	unsigned nvalues;
	struct value_pair *values; /* HUNK_CHANGED */
};

/* A line of a table: what the two traces say of one name. */
struct table_row {
	const char *name;
	uint64_t count[2];
	int64_t ns[2];
	bool in[2], same_code;
};
struct table {
	unsigned n, capacity;
	struct table_row *v;
};

struct comparison {
	struct side a, b;
	struct arena arena;
	unsigned nroles, limit, n;
	struct difference *v;     /* the first of all, in A's order, at most `limit` */
	uint64_t equal, count[3]; /* by enum hunk_kind */
	struct table functions, kernels, code;
	double ratio; /* of durations that are a difference; 0: none is */
};

/* 0, or CUTRACE_E* with *d. The comparison must be freed in both cases. */
int comparison_make(struct comparison *c, const char *a, const char *b, unsigned limit,
		    void (*progress)(void *ctx, const char *path, uint64_t calls), void *ctx, struct diag *d);
void comparison_free(struct comparison *c);
/* Whether anything differs. Code that is loaded and not used is no difference, nor are
 * times without a ratio. */
bool comparison_differs(const struct comparison *c);
/* 1: a call of the function takes longer in B, by more than the ratio; -1: in A; 0: neither, or nobody asked. */
int comparison_slower(const struct comparison *c, const struct table_row *r);

/* tables.c */
bool tables_make(struct comparison *c);

/* print.c */
struct diff_print {
	bool all; /* tables whole */
};
void comparison_print_text(const struct comparison *c, const struct diff_print *o);
void comparison_print_json(const struct comparison *c);

#endif
