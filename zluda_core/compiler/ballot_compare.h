/* SPDX-License-Identifier: Apache-2.0
 *
 * ballot_compare: LLVM 19 selects v_cmp_neq, which is true of NaNs, for a ballot of `fcmp one`, which is not (VOPCInstructions.td,
 * the patterns of AMDGPUsetcc).
 */
#ifndef CUTRACE_BALLOT_COMPARE_H
#define CUTRACE_BALLOT_COMPARE_H

#include <llvm-c/Core.h>

/* Makes two ballots of each such one: of what is ordered, and of what is not equal. After optimisation. */
void ballot_compares_split(LLVMModuleRef m);

#endif
