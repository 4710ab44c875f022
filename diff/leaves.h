/* SPDX-License-Identifier: Apache-2.0
 *
 * leaves: a decoded call as a list of (path, text), in which equal texts mean the same in two traces: "hStream" is
 * "CUstream#2", the second stream that this thread's role saw first; a device address is an allocation and an offset;
 * contents are their hash. Values that differ from run to run are not in it.
 */
#ifndef CUTRACE_DIFF_LEAVES_H
#define CUTRACE_DIFF_LEAVES_H

#include "base/arena.h"
#include "dump/row.h"

struct leaf {
	const char *path, *text;
};

struct leaves {
	struct arena arena;
	struct leaf *v;
	unsigned n, capacity;
	bool failed; /* out of memory */
};

/* Objects by who saw them first. */
struct object_names;
/* hashes: those of `record --check` count. */
struct object_names *object_names_new(struct trace *t, bool hashes);
void object_names_free(struct object_names *o);

/* Replaces what *l holds. Calls must come in ascending order; role: of the call's thread. */
void leaves_of(struct leaves *l, struct object_names *names, const struct row *r, unsigned role);
void leaves_free(struct leaves *l);
uint64_t leaves_hash(const struct leaves *l);

#endif
