/* SPDX-License-Identifier: Apache-2.0
 *
 * amdgpu_decode: fills a code object's instructions with the text of LLVM 19's
 * disassembler. Apart from the emulator, which links no LLVM.
 */
#ifndef CUTRACE_AMDGPU_DECODE_H
#define CUTRACE_AMDGPU_DECODE_H

#include "zluda_core/amdgpu_emulator/emulator.h"

/* Disassembles all executable segments and adds the lines. */
int amdgpu_decode(struct amdgpu_object *o, struct diag *d);

#endif
