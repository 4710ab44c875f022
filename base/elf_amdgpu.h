/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_amdgpu: what <elf.h> of older C libraries lacks of AMD's code objects (LLVM's AMDGPUUsage, "ELF Code Object").
 */
#ifndef CUTRACE_ELF_AMDGPU_H
#define CUTRACE_ELF_AMDGPU_H

#include <elf.h>

enum { EM_AMDGPU_MACHINE = 224 };

#endif
