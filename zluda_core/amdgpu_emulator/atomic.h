/* SPDX-License-Identifier: Apache-2.0
 *
 * atomic: one atomic operation on host memory.
 */
#ifndef CUTRACE_AMDGPU_ATOMIC_H
#define CUTRACE_AMDGPU_ATOMIC_H

#include "zluda_core/amdgpu_emulator/insn.h"

/* Applies m->atomic to m->bytes (4 or 8, aligned) at `at`; data2 is the comparand, or the second operand. Returns what
 * was there. */
uint64_t atomic_apply(void *at, const struct memory_op *m, uint64_t data, uint64_t data2);

#endif
