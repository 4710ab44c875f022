/* SPDX-License-Identifier: Apache-2.0
 *
 * or_ones: LLVM 19 folds `or x, -1` of machine instructions to a move of x instead of -1 (SIFoldOperands.cpp,
 * tryConstantFoldOp; LLVM's issue 189677). Operands that are -1 earlier are folded before, rightly; the others are words
 * of wider numbers, like the low one of `or(shl(x, 32), not(shl(y, 32)))`, which are only split when instructions
 * are selected.
 */
#ifndef CUTRACE_OR_ONES_H
#define CUTRACE_OR_ONES_H

#include <llvm-c/Core.h>

/* Takes words of which an operand is all ones out of each `or` of 64 and 128 bits. After optimisation. */
void or_ones_split(LLVMModuleRef m);

#endif
