/* SPDX-License-Identifier: Apache-2.0
 *
 * unsigned_division: LLVM 19 makes unsigned divisions of i32 and i64 narrower by the number of *sign* bits of their operands
 * (AMDGPUCodeGenPrepare.cpp, getDivNumBits; AMDGPUISelLowering.cpp, LowerDIVREM24), which is right for what is not
 * negative: -1 / 0xffffffff00000001 as 64 bits becomes 0xffffffff / 1 as 32.
 */
#ifndef CUTRACE_UNSIGNED_DIVISION_H
#define CUTRACE_UNSIGNED_DIVISION_H

#include <llvm-c/Core.h>

/* Hides from LLVM what it knows of operands that may be negative numbers of few bits. After optimisation. */
void unsigned_divisions_guard(LLVMModuleRef m);

#endif
