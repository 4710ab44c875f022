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
 * It is C of the host as well, so that tests run it there. It depends on ptx/lower/runtime.h
 * alone.
 */
#ifndef CUTRACE_DEVICE_LIBRARY_H
#define CUTRACE_DEVICE_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx/lower/device_calls.h"
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
float ct_sub_f32(float a, float b, uint32_t mode);
float ct_mul_f32(float a, float b, uint32_t mode);
float ct_fma_f32(float a, float b, float c, uint32_t mode);
float ct_div_f32(float a, float b, uint32_t mode);
float ct_sqrt_f32(float a, uint32_t mode);
double ct_add_f64(double a, double b, uint32_t mode);
double ct_sub_f64(double a, double b, uint32_t mode);
double ct_mul_f64(double a, double b, uint32_t mode);
double ct_fma_f64(double a, double b, double c, uint32_t mode);
double ct_div_f64(double a, double b, uint32_t mode);
double ct_sqrt_f64(double a, uint32_t mode);
double ct_quotient(double a, double b); /* to nearest */
/* Conversions: to f32; of f64 and integers of 64 bits to what rounds like them when it is rounded again (to odd). */
float ct_f32_of_f64(double v, uint32_t mode);
float ct_odd_f32(double v);
double ct_odd_f64_of_u64(uint64_t v);
double ct_odd_f64_of_s64(int64_t v);
double ct_f64_of_u64(uint64_t v, uint32_t mode);
double ct_f64_of_s64(int64_t v, uint32_t mode);

/* bfloat16.c: bits of a bf16, from f32; of f32 that are values of bf16. */
uint32_t ct_bf16(float v);
uint32_t ct_mul_bf16(float a, float b);
uint32_t ct_fma_bf16(float a, float b, float c);

/* narrow_float.c: enum ct_format, CT_SATFINITE, CT_RELU. */
uint32_t ct_narrow(float v, uint32_t format, uint32_t mode, uint32_t flags);
float ct_widen(uint32_t bits, uint32_t format);

/* approximation.c */
float ct_tanh(float v);
double ct_rcp_gross(double v);
double ct_rsqrt_gross(double v);

/* bits.c: the position of the offset-th set bit, upwards or downwards from base; ~0 without one. */
uint32_t ct_fns(uint32_t mask, uint32_t base, int32_t offset);

/* atomic.c: what an atomic operation makes of the old value; halves in pairs, as bits. */
uint32_t ct_atomic_sum_f32(uint32_t old, uint32_t y, uint32_t flush);
uint32_t ct_atomic_add_f16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_min_f16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_max_f16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_add_bf16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_min_bf16x2(uint32_t old, uint32_t y);
uint32_t ct_atomic_max_bf16x2(uint32_t old, uint32_t y);
#ifdef __AMDGCN__
/* At once with regard to each other; `locks`: where struct lower_runtime says. */
ct_u128 ct_atomic_cas_128(void *p, ct_u128 expected, ct_u128 value, ct_global uint32_t *locks);
ct_u128 ct_atomic_exch_128(void *p, ct_u128 value, ct_global uint32_t *locks);
#endif

/* matrix.c: a function for each shape, by the names that ptx/lower/matrix_shapes.def gives. */
#ifdef __AMDGCN__
typedef uint32_t ct_fragment __attribute__((ext_vector_type(8)));
typedef double ct_doubles __attribute__((ext_vector_type(4)));
typedef double ct_doubles8 __attribute__((ext_vector_type(8)));
typedef uint32_t ct_words4 __attribute__((ext_vector_type(4)));
uint32_t ct_from_lane(uint32_t v, uint32_t lane); /* of this warp */
#endif

/* barrier.c: `add` threads arrive at a barrier, of whom `hits` count in its reduction; the round that they arrived in.
 * `expected` threads complete it, or if 0 all `threads` of the block. Whether that round is over; its reduction. */
uint32_t ct_barrier_arrive(ct_shared uint64_t *barrier, const ct_shared uint32_t *ended, uint32_t add,
			   uint32_t hits, uint32_t expected, uint32_t threads);
uint32_t ct_barrier_poll(ct_shared uint64_t *barrier, const ct_shared uint32_t *ended, uint32_t round,
			 uint32_t expected, uint32_t threads);
uint32_t ct_barrier_hits(const ct_shared uint64_t *barrier, uint32_t round);

/* redux.c: the lesser or with `max` the greater of two f32, as bits; NaN is left out, or wins. */
uint32_t ct_redux_f32(uint32_t x, uint32_t y, uint32_t max, uint32_t nan_wins);
/* texture.c, surface.c */
#ifdef __AMDGCN__
uint64_t ct_texture_find(const ct_global struct lower_runtime *rt, uint64_t operand, uint32_t kind);
void ct_texture_fault(ct_global struct lower_runtime *rt, uint32_t line, uint64_t operand, uint32_t fault);
uint32_t ct_texture_is(const ct_global struct lower_runtime *rt, uint64_t operand, uint32_t kind);
/* at: coordinates and, last, the level; bits of f32, or integers. Descriptors of texture and sampler. */
ct_words4 ct_tex(uint64_t texture, uint64_t sampler, uint32_t how, uint32_t layer, ct_words4 at, ct_words4 dx,
		 ct_words4 dy, ct_words4 offset);
uint32_t ct_texture_query(uint64_t texture, uint32_t query, uint32_t level);
/* The address of an access; 0: outside, nothing happens; below CT_TEXTURE_FAULTS: a fault. */
uint64_t ct_surface_place(uint64_t surface, uint32_t how, uint32_t layer, uint32_t x, uint32_t y, uint32_t z);
void ct_surface_store_texel(uint64_t surface, uint64_t address, uint32_t channels, ct_words4 v);
/* is_signed: 2 = as the surface's texels are. */
void ct_surface_reduce_32(uint64_t surface, uint64_t address, uint32_t op, uint32_t is_signed, uint32_t v);
void ct_surface_reduce_64(uint64_t surface, uint64_t address, uint32_t op, uint32_t is_signed, uint64_t v);
#endif

/* fault.c: the lane ends after each, but that is the caller's business. `line` is that of the PTX text. */
void ct_fault(ct_global struct lower_runtime *r, uint32_t kind, uint32_t line, uint64_t address);
void ct_fault_text(ct_global struct lower_runtime *r, uint32_t kind, uint32_t line, uint64_t address,
		   const char *text);
void ct_assertfail(ct_global struct lower_runtime *r, uint32_t line, const char *message, const char *file,
		   uint32_t source_line, const char *function);

/* printf.c: how many arguments were printed. */
uint32_t ct_vprintf(ct_global struct lower_runtime *r, const char *format, const char *arguments);

/* heap.c: 0 when there is no room. ct_free is true after a fault. */
uint64_t ct_malloc(ct_global struct lower_runtime *r, uint64_t bytes);
uint32_t ct_free(ct_global struct lower_runtime *r, uint32_t line, uint64_t address);

#endif
