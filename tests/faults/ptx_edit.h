/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_edit: a rule applied to the instructions of a PTX text, one by one. Lines keep their numbers. Instructions are
 * given to patterns with single blanks, without guard, label and comments: "add.f32 %f1, %f2, %f3"; what a rule makes of
 * one gets its guard.
 *
 * Depends on libc only.
 */
#ifndef CUTRACE_FAULTS_PTX_EDIT_H
#define CUTRACE_FAULTS_PTX_EDIT_H

#include <stddef.h>

#include "rules.h"

struct ptx_edited {
	char *text; /* NUL-terminated, malloc'ed; NULL: no memory */
	size_t bytes;
	unsigned edits;
};

/* For each instruction changed (rule NULL: for each instruction): function, line from 1, the instruction. */
typedef void ptx_edit_note(void *ctx, const char *function, unsigned line, const char *instruction);

/* note may be NULL. */
struct ptx_edited ptx_edit(const char *text, size_t bytes, const struct fault_rule *rule, ptx_edit_note *note,
			   void *ctx);

#endif
