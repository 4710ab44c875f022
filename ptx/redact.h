/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/redact: a module's text without what its author said and the code does not need: comments, paths of source files,
 * debug sections, what is printed. Lines keep their numbers, names of kernels, functions and variables stay.
 */
#ifndef CUTRACE_PTX_REDACT_H
#define CUTRACE_PTX_REDACT_H

#include <stdbool.h>
#include <stddef.h>

struct ptx_redaction {
	unsigned comments, files, sections, pragmas;
	unsigned strings; /* variables whose letters became x; conversions of printf stay */
};

/* The text must end with a NUL. strings: those too; a kernel may compute with them. malloc'ed, as long as the text; NULL:
 * out of memory. counts may be NULL. */
char *ptx_redact(const char *text, size_t bytes, bool strings, struct ptx_redaction *counts);

#endif
