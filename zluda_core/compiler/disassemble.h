/* SPDX-License-Identifier: Apache-2.0
 *
 * disassemble: code of AMD GPUs as text, by LLVM 19's disassembler.
 */
#ifndef CUTRACE_COMPILER_DISASSEMBLE_H
#define CUTRACE_COMPILER_DISASSEMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/* For each instruction a byte with its size, its text, NUL; together the sizes are `bytes`. What is no instruction is
 * ".long 0x…". *lines is malloc'ed. */
int disassemble(const char *target, const void *code, size_t bytes, char **lines, size_t *lines_bytes,
		struct diag *d);

#endif
