/* SPDX-License-Identifier: Apache-2.0
 *
 * huge_block: code generation for modules with a block of hundreds of loads and stores, such as loops unrolled by the
 * dozen make. LLVM's schedulers take time that grows with the square of their number, and more; two of its options
 * prevent that, but hold for a whole process, and would cost speed of other code. So such a module is emitted in a
 * process of its own. So is one that spills SGPRs and VGPRs.
 */
#ifndef CUTRACE_COMPILER_HUGE_BLOCK_H
#define CUTRACE_COMPILER_HUGE_BLOCK_H

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

bool has_huge_block(LLVMModuleRef module);

/* Makes *out, malloc'ed. */
typedef int (*emit_work)(void *ctx, char **out, size_t *bytes);
enum {
	EMIT_HUGE_BLOCK = 1,
	/* LLVM 19 spills SGPRs into lanes of a VGPR. Where that VGPR is spilled in turn it is loaded again in all lanes, and
	 * overwrites what other lanes, which are not active there, have in the register. With this SGPRs go to memory. */
	EMIT_SPILLS = 2,
};
/* Runs emit in a child with the options of LLVM that these stand for. name is for messages; *d is the one that emit fills. */
int emit_apart(emit_work emit, void *ctx, unsigned options, const char *name, char **out, size_t *bytes,
	       struct diag *d);

#endif
