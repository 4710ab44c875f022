/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_generate: large PTX modules that look like what compilers write: parameters,
 * address arithmetic, loops, loads, products and stores, about 11 instructions a loop.
 */
#ifndef CUTRACE_BENCH_PTX_GENERATE_H
#define CUTRACE_BENCH_PTX_GENERATE_H

#include <stddef.h>

/* A module of `kernels` kernels "kernel_<n>" (a pointer and a count as parameters) and about `bytes` bytes, malloc'ed and
 * NUL-terminated; *size is its length. NULL when memory ran out. Running a kernel with count 0 does next to nothing. */
char *ptx_generate(size_t bytes, unsigned kernels, size_t *size);

#endif
