/* SPDX-License-Identifier: Apache-2.0
 *
 * tolerances: what a user accepts, by kernel and buffer, from a small text file: one rule a line,
 *
 *   KERNEL BUFFER [rtol=X] [atol=X] [ulp=N]
 *
 * where KERNEL is a glob over the name of who wrote the bytes last, and BUFFER one over the name of the parameter through which
 * it did, or over the name of a module's variable, or #N, an allocation of the trace. Elsewhere # begins a comment. Of
 * the rules that match, the first one is used, instead of --ulp, --rtol and --atol. None is part of a default verdict.
 */
#ifndef CUTRACE_REPLAY_TOLERANCES_H
#define CUTRACE_REPLAY_TOLERANCES_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "replay/compare.h"

struct tolerance {
	char *kernel, *buffer;
	struct compare_limits limits;
	unsigned line;
};

struct tolerances {
	struct tolerance *v;
	size_t n;
	uint64_t hash; /* of the file: replays with other rules are other replays */
};

/* Errors name the file and line. */
int tolerances_read(struct tolerances *t, const char *path, struct diag *d);
void tolerances_free(struct tolerances *t);
/* NULL: no rule matches. Names may be NULL: only * matches them. */
const struct tolerance *tolerances_find(const struct tolerances *t, const char *kernel, const char *buffer,
					uint64_t allocation);

#endif
