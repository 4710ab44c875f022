/* SPDX-License-Identifier: Apache-2.0
 *
 * pass_bisect: LLVM's opt-bisect. Passes that may be left out are counted; those after the limit are. The limit holds for
 * a whole process, so each such compilation is one of its own.
 *
 * Depends on LLVM.
 */
#ifndef CUTRACE_COMPILER_PASS_BISECT_H
#define CUTRACE_COMPILER_PASS_BISECT_H

#include <stdbool.h>
#include <stddef.h>

/* Once in a process: the limit, and LLVM's list of passes goes into a file of its own instead of stderr. apart: enum
 * emit_apart_why of code generation, known from an earlier try. */
void pass_bisect_begin(unsigned limit, unsigned apart);
bool pass_bisect_on(void);
unsigned pass_bisect_apart(void);
/* That what was made needs another try, in another process, with these. */
void pass_bisect_again(unsigned apart);
unsigned pass_bisect_wants(void);
/* LLVM's list so far, malloc'ed: "BISECT: running pass (1) SROAPass on saxpy" and "NOT running" lines. */
char *pass_bisect_log(void);

#endif
