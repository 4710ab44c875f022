/* SPDX-License-Identifier: Apache-2.0
 *
 * recorded: one scenario of the program app.c under `cutrace record`, what came of it, and its trace.
 */
#ifndef CUTRACE_TESTS_INTERPOSE_RECORDED_H
#define CUTRACE_TESTS_INTERPOSE_RECORDED_H

#include "harness.h"

extern struct outcome o; /* of the last one */
extern char trace[512];  /* its file */

/* Records it with an option of `cutrace record` (or NULL); the trace is the caller's to close. */
struct trace *recorded(const char *scenario, const char *option);
void assert_exit(int code);
int64_t calls_of(struct trace *t, const char *name);

#endif
