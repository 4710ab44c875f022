/* SPDX-License-Identifier: Apache-2.0
 *
 * visit: a replay that goes as far as one launch, and lets somebody look at it: a debugger. What launches before it wrote
 * stands in for them where the trace has it; else they are made.
 */
#ifndef CUTRACE_REPLAY_VISIT_H
#define CUTRACE_REPLAY_VISIT_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct cutrace_extension; /* api/extension.h */

/* Memory that is there when the launch begins. */
struct visit_memory {
	uint64_t base, bytes;
	const char *kind;      /* "device", "host", "managed", "global"... */
	const char *elem_type; /* with which kernels stored it; "" unknown */
	const char *name;      /* of a variable; NULL */
};

struct visit {
	uint64_t call; /* of the launch */
	uint32_t process;
	const char *device; /* "interp", perhaps with options */
	void *ctx;
	/* Both are called in a child process, which has the caller's stdin and stdout. The launch comes next. */
	void (*arrived)(void *ctx, const struct cutrace_extension *x, const struct visit_memory *memory,
			size_t n);
	/* It is over, or could not be made: then `why` is not NULL. */
	void (*left)(void *ctx, const char *why);
};

/* 0 when the child process came to its end, whatever it says. */
int replay_visit(const char *trace, const struct visit *v, struct diag *d);

struct engine;
struct call;
void visit_arrived(struct engine *e, const struct call *c); /* for launches.c */
void visit_left(struct engine *e, const struct call *c);

#endif
