/* SPDX-License-Identifier: Apache-2.0
 *
 * fit: what a launch does not need is taken away from a scene, as long as the interpreter makes the same of it: buffers and
 * parts of them, code of the module, what its text says to people. Then, where it is wanted, the values in its buffers are
 * replaced by others of their kind, as long as the target is still wrong.
 */
#ifndef CUTRACE_REDUCE_FIT_H
#define CUTRACE_REDUCE_FIT_H

#include "ptx/redact.h"
#include "reduce/judge.h"

struct fit_notes {
	struct ptx_redaction ptx;
	bool strings_kept; /* the kernel computes with them */
	bool uncut;        /* the interpreter can't make the launch: nothing was cut */
	char why_uncut[256];
	unsigned synthetic, kept; /* buffers with other values, with their own */
	char kept_list[400];      /* of those: where */
};

/* j->current becomes what is left. first: as it was taken from the trace, whose heap it shares. */
int fit_scene(struct judge *j, const struct scene *first, struct fit_notes *notes, struct diag *d);
/* Values of their own kind and spread in place of all buffers' that allow it; *j->best is the new excerpt, whose results the
 * interpreter made. */
int fit_synthetic(struct judge *j, struct fit_notes *notes, struct diag *d);

#endif
