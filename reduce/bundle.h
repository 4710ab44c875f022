/* SPDX-License-Identifier: Apache-2.0
 *
 * bundle: files as one, for a bug tracker: an archive NAME.tar.zst (libarchive), or a folder.
 */
#ifndef CUTRACE_REDUCE_BUNDLE_H
#define CUTRACE_REDUCE_BUNDLE_H

#include <stdbool.h>

#include "base/diag.h"

struct bundle_file {
	const char *name; /* in the bundle */
	const char *path;
	const char *what; /* for who is shown the list */
};

bool bundle_is_archive(const char *path);
/* Whether it could be written there. */
int bundle_check(const char *path, struct diag *d);
int bundle_write(const char *path, const struct bundle_file *files, unsigned n, struct diag *d);

#endif
