/* SPDX-License-Identifier: Apache-2.0
 *
 * object: a loaded code object, inside the emulator. code_object.c reads the
 * file, metadata.c the note, program.c holds the parsed instructions.
 */
#ifndef CUTRACE_AMDGPU_OBJECT_H
#define CUTRACE_AMDGPU_OBJECT_H

#include <elf.h>

#include "zluda_core/amdgpu_emulator/emulator.h"
#include "zluda_core/amdgpu_emulator/line_table.h"
#include "zluda_core/amdgpu_emulator/target.h"

struct insn;

struct amdgpu_object {
	const struct amdgpu_target *target;
	uint8_t *file;   /* aligned copy of the file, while opening */
	uint8_t *tables; /* copy of the image as it was in the file: symbols, strings, relocations */
	size_t file_bytes;
	uint8_t *image;
	uint64_t image_bytes, address;
	struct amdgpu_kernel *kernels;
	unsigned nkernels;
	struct amdgpu_code code[8];
	unsigned ncode;
	const Elf64_Sym *symbols;
	size_t nsymbols;
	const char *strings;
	size_t string_bytes;
	const Elf64_Rela *relocs;
	size_t nrelocs;
	struct insn **insns; /* by image offset / 4; NULL where none begins */
	size_t nslots;
	struct line_table lines;
};

/* Kernel names, sizes and arguments of the NT_AMDGPU_METADATA note (msgpack). */
int metadata_read(struct amdgpu_object *o, const uint8_t *note, size_t bytes, struct diag *d);
/* The kernel called `symbol` ("k.kd"), or NULL. */
struct amdgpu_kernel *object_kernel_of(struct amdgpu_object *o, const char *symbol, size_t bytes);
/* Frees the instructions. */
void amdgpu_program_free(struct amdgpu_object *o);

#endif
