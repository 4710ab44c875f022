/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_cases: one cmocka test for each kernel of kernels.cl, and what they share.
 */
#ifndef CUTRACE_TEST_KERNEL_CASES_H
#define CUTRACE_TEST_KERNEL_CASES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/amdgpu_emulator/device_memory.h"

extern struct device_memory memory;
extern struct amdgpu_object *object;

/* Pseudo-random, the same in each run. */
uint32_t rnd(void);
/* The seed that launch gives for estimates; 0 after each test. */
extern uint32_t perturb;
/* Runs a kernel; a fault fails the test. Empties the arguments. */
void launch(const char *kernel, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by, struct kernel_args *a);
/* Adds a pointer to a new buffer, a copy of `from` or zero. */
void buffer(struct kernel_args *a, const void *from, size_t bytes, void *host);

#define INT(a, v)   ARGS_VALUE(a, int32_t, v)
#define FLOAT(a, v) ARGS_VALUE(a, float, v)

void test_vadd(void **unused);
void test_saxpy4(void **unused);
void test_sgemm(void **unused);
void test_dgemm(void **unused);
void test_reduce(void **unused);
void test_scan(void **unused);
void test_histogram(void **unused);
void test_transpose(void **unused);
void test_mandelbrot(void **unused);
void test_bitonic(void **unused);
void test_sha256(void **unused);
void test_half(void **unused);
void test_narrow(void **unused);
void test_calls(void **unused);
void test_switch(void **unused);
void test_private(void **unused);
void test_divergent(void **unused);
void test_generic(void **unused);
void test_dynamic_lds(void **unused);
void test_divide(void **unused);
void test_divide_perturbed(void **unused);
void test_integers(void **unused);
void test_convert(void **unused);
void test_bits(void **unused);
void test_rounding(void **unused);
void test_atomics(void **unused);
void test_spin_lock(void **unused);
void test_lanes(void **unused);

#endif
