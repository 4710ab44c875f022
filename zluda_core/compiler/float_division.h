/* SPDX-License-Identifier: Apache-2.0
 *
 * float_division: LLVM's steps from v_rcp_f32 to the nearest quotient (AMDGPU's LowerFDIV32), with the one that fails put
 * right. v_rcp_f32 is within 1 ulp (AMD's ISA documents). One step of Newton makes the nearest reciprocal y of it, unless
 * the divisor's significand is all ones: then 1/b lies just above the middle of two numbers, y0 is the lower one, the
 * error e is one half of their distance, and y0 + e * y0 a tie that goes down (Markstein, "Computation of Elementary
 * Functions on the IBM RISC System/6000 Processor", 1990). The quotient 2^k / b then is wrong.
 *
 * Here it is y0 + e * (e > 0 ? y0 | 1 : y0), with the last bit of the significand set: two instructions more. It was
 * tried for each of the 2^23 significands of b and every y0 within 1 ulp: y is the nearest one always, and then so is the
 * quotient, where the remainder a - b * q is exact. Its last bit is worth 2^-47 of a's exponent: 2^-150, and lost, for a from
 * 2^-103 to 2^-102, which v_div_scale leaves as they are, going by the documents. Dividends below 2^-102 are scaled here,
 * with their divisors: four instructions more, none for dividends that are constants or were integers.
 */
#ifndef CUTRACE_FLOAT_DIVISION_H
#define CUTRACE_FLOAT_DIVISION_H

#include <llvm-c/Core.h>

/* Writes out the divisions of f32 that have to be rounded to nearest. After optimisation. */
void float_divisions_expand(LLVMModuleRef m);

#endif
