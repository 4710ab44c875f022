/* SPDX-License-Identifier: Apache-2.0
 *
 * link: makes one PTX module of several, by the rules of a device linker: what is .extern in one is defined in
 * another; .visible wins over .common, that over .weak; of .common the largest stays; what is none of these
 * is its module's own and keeps apart from others of the same name. The result is PTX text, so everything that takes
 * a module takes it: it can be recorded, read, loaded by any driver, and its kernels are still built on demand.
 *
 * Inputs may be hostile. Nothing of them is needed after the call. DWARF sections are dropped; .file, .loc and the names
 * that .loc refers to stay.
 */
#ifndef CUTRACE_PTX_LINK_H
#define CUTRACE_PTX_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

struct ptx_link_input {
	const char *name; /* for messages: "a.ptx" */
	const char *text;
	size_t bytes;
};

struct ptx_linked {
	char *text; /* NUL-terminated; NULL after an error */
	size_t bytes;
	unsigned nerrors;
	struct diag *errors; /* where is "a.ptx:12:1" or "a.ptx:12" */
};

/* 0; CUTRACE_EFORMAT: an input is no valid PTX; CUTRACE_EINVAL: they don't fit together; CUTRACE_ENOTSUP: more or
 * larger than supported; CUTRACE_ENOMEM. ptx_linked_free in all cases. */
int ptx_link(const struct ptx_link_input *inputs, unsigned n, struct ptx_linked *out);
void ptx_linked_free(struct ptx_linked *l);

/* Whether a text is the linker's work, which says so in its first line. */
bool ptx_is_linked(const char *text, size_t bytes);

/* A function that the driver provides to kernels: declared, defined nowhere. */
bool ptx_is_system_function(const char *name);

#endif
