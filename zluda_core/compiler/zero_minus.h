/* SPDX-License-Identifier: Apache-2.0
 *
 * zero_minus: LLVM 19 takes `0 - x` for `-x` where an operand may have a sign (AMDGPUISelDAGToDAG.cpp, SelectVOP3ModsImpl: "Fold
 * fsub [+-]0 into fneg"); of x = +0 the one is +0, the other -0. Sums with zero of what is negated become such a
 * difference when instructions are selected.
 */
#ifndef CUTRACE_ZERO_MINUS_H
#define CUTRACE_ZERO_MINUS_H

#include <llvm-c/Core.h>

/* Makes a zero that is added or subtracted from no constant while instructions are selected; it is one again in the code. After
 * optimisation. */
void zeros_hide(LLVMModuleRef m);

#endif
