/* SPDX-License-Identifier: Apache-2.0
 *
 * passes: what a scene can be made smaller in. Each works on j->current, and leaves it as small as it got.
 */
#ifndef CUTRACE_REDUCE_PASSES_H
#define CUTRACE_REDUCE_PASSES_H

#include "reduce/judge.h"

/* Functions and variables that the kernel has no use for, and what does nothing: debug information, comments. */
void pass_unused_code(struct judge *j);
/* Statements, then labels and declarations. */
void pass_statements(struct judge *j);
/* Blocks, so that the one with the wrong element is left (block: where it is, NULL: not known), and threads. */
void pass_grid(struct judge *j, const uint32_t *block);
void pass_drop_buffers(struct judge *j);
void pass_shrink_buffers(struct judge *j);

/* Whether a scene with this text, which is malloc'ed and taken, instead of the module's still shows it. */
bool pass_try_text(struct judge *j, unsigned module, char *text);

#endif
