/* SPDX-License-Identifier: Apache-2.0
 *
 * scrub: what text about this machine and a recording may not say to others: host and user names, home folders, values of
 * environment variables, paths that are not the system's own.
 */
#ifndef CUTRACE_REDUCE_SCRUB_H
#define CUTRACE_REDUCE_SCRUB_H

#include <stddef.h>

#include "base/diag.h"

struct scrub_word {
	char *text;
	const char *with; /* "<host>" */
};
struct scrub {
	struct scrub_word *v;
	size_t n,
		nreplaced; /* the first nreplaced are replaced; the others, of the recording, are only looked for */
};

/* Of this machine, and of the recording. */
int scrub_open(struct scrub *s, const char *trace, struct diag *d);
void scrub_close(struct scrub *s);
char *scrub_text(const struct scrub *s, const char *text); /* malloc'ed; NULL: out of memory */
/* A text file, in place. */
int scrub_file(const struct scrub *s, const char *path, struct diag *d);
/* All texts of an SQLite file; what is deleted goes, too. */
int scrub_database(const struct scrub *s, const char *path, struct diag *d);
/* What of all of it is in these bytes: "<user>", or NULL. */
const char *scrub_look(const struct scrub *s, const void *data, size_t bytes);

#endif
