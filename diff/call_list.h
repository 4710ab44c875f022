/* SPDX-License-Identifier: Apache-2.0
 *
 * call_list: calls as pairs of hashes, 24 bytes each, in a temporary file that several lists share.
 */
#ifndef CUTRACE_DIFF_CALL_LIST_H
#define CUTRACE_DIFF_CALL_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

/* A call, for the alignment. */
struct entry {
	uint64_t call;
	uint64_t kind;  /* what was called: function and kernel */
	uint64_t whole; /* with all values */
};

enum { ENTRIES_PER_BLOCK = 1024 };

struct call_file {
	int fd; /* -1: not open */
	uint32_t blocks;
};

/* Which blocks of the file hold the list; a zeroed one is empty. */
struct call_list {
	uint64_t n;
	uint32_t *blocks;
	uint32_t nblocks, capacity;
	struct entry *open; /* the last block, not yet written */
};

int call_file_open(struct call_file *f, struct diag *d); /* in TMPDIR, without a name */
void call_file_close(struct call_file *f);
/* False with errno set: out of memory, or the file can't be written or read. */
bool call_list_append(struct call_list *l, struct call_file *f, const struct entry *e);
bool call_list_read(const struct call_list *l, const struct call_file *f, uint64_t first, unsigned n,
		    struct entry *out);
void call_list_free(struct call_list *l);

#endif
