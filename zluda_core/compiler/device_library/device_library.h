/* SPDX-License-Identifier: Apache-2.0
 *
 * The device library: what is too long to be written as LLVM IR by ptx/lower, in C. The build compiles it with clang for
 * AMD GPUs to bitcode, which the compiler carries (../library.c) and links into the kernels that call it.
 *
 * How to add a function: declare it here, name it ct_*, define it in the file of its family; ptx/lower then writes
 * `call i32 @ct_name(i32 ...)`, nothing more. Arguments and results have 32 or 64 bits or are pointers: narrower ones
 * and structures would be passed as a calling convention says. The code takes the kernel's target, wave size and mode
 * of subnormals; it must be right whatever they are. A kernel whose f32 mode flushes doesn't call it for f32.
 *
 * It is C of the host as well, so that tests run it there. It depends on nothing.
 */
#ifndef CUTRACE_DEVICE_LIBRARY_H
#define CUTRACE_DEVICE_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx/lower/runtime.h"

typedef unsigned __int128 ct_u128;
#ifdef __AMDGCN__
#	define ct_global __attribute__((address_space(1)))
#	define ct_shared __attribute__((address_space(3)))
#else
#	define ct_global
#	define ct_shared
#endif

/* The rounding modifiers, numbered as in ptx/ir.h. */
enum ct_rounding { CT_RN = 1, CT_RZ, CT_RM, CT_RP, CT_RNA, CT_RS };

/* rounding.c: arithmetic rounded towards zero, down or up. */
float ct_add_f32(float a, float b, uint32_t mode);
float ct_mul_f32(float a, float b, uint32_t mode);
float ct_fma_f32(float a, float b, float c, uint32_t mode);
float ct_div_f32(float a, float b, uint32_t mode);
float ct_sqrt_f32(float a, uint32_t mode);

/* atomic.c: what an atomic operation makes of the old value; halves in pairs, as bits. */
uint32_t ct_atomic_sum_f32(uint32_t old, uint32_t y, uint32_t flush);
uint32_t ct_atomic_add_f16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_min_f16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_max_f16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_add_bf16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_min_bf16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_max_bf16x2(uint32_t old, uint32_t y);
#ifdef __AMDGCN__
/* At once with regard to each other; `locks`: those of struct lower_runtime. */
ct_u128 ct_atomic_cas_128(void *p, ct_u128 expected, ct_u128 value, ct_global uint32_t *locks);
ct_u128 ct_atomic_exch_128(void *p, ct_u128 value, ct_global uint32_t *locks);
#endif

#endif
