/* SPDX-License-Identifier: Apache-2.0
 *
 * emit_apart: code generation in a process of its own, for modules that need options of LLVM which hold for a whole
 * process and would be bad for other code:
 *
 * - A block of hundreds of loads and stores, such as loops unrolled by the dozen make: LLVM's schedulers take time that
 *   grows with the square of their number, and more.
 * - Kernels that spill scalar registers into lanes of vector registers, and those into memory: LLVM 19 reloads such a
 *   vector register for all lanes, also where lanes that are inactive have something else in it (LLVM 20 keeps vector
 *   registers of its own for that). Then scalar registers are spilled into memory.
 */
#ifndef CUTRACE_COMPILER_EMIT_APART_H
#define CUTRACE_COMPILER_EMIT_APART_H

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

enum emit_apart_why { APART_HUGE_BLOCK = 1, APART_SPILLS = 2 };

bool has_huge_block(LLVMModuleRef module);

/* Makes *out, malloc'ed. */
typedef int (*emit_work)(void *ctx, char **out, size_t *bytes);
/* Runs emit in a child with the options for `why` (enum emit_apart_why). name is for messages; *d is the one that emit
 * fills. */
int emit_apart(emit_work emit, void *ctx, unsigned why, const char *name, char **out, size_t *bytes,
	       struct diag *d);

#endif
