/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_link: one relocatable object of LLVM's AMDGPU back end to a code object that can be loaded (LLVM's AMDGPUUsage,
 * "ELF Code Object"), in well under a millisecond where starting ld.lld takes tens. Knows what LLVM writes for one kernel
 * and what it calls; anything else is CUTRACE_ENOTSUP, and left to ld.lld. elf_link.c lays out and writes the file,
 * elf_relocate.c has symbols and relocations.
 *
 * Depends on base/.
 */
#ifndef CUTRACE_COMPILER_ELF_LINK_H
#define CUTRACE_COMPILER_ELF_LINK_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/* *out is malloc'ed. CUTRACE_EFORMAT: the object is damaged; CUTRACE_ENOENT: a symbol is defined nowhere. */
int elf_link(const void *object, size_t bytes, void **out, size_t *out_bytes, struct diag *d);

/* ---- between the two files ---- */

struct elf_section {
	Elf64_Shdr h; /* as in the object */
	const char *name;
	bool kept;
	unsigned index;           /* in the output */
	uint64_t address, offset; /* likewise */
};

struct elf_linking {
	const uint8_t *in;
	size_t in_bytes;
	Elf64_Ehdr h;
	struct elf_section *sections;
	unsigned nsections, symtab; /* symtab: index, 0: none */
	uint64_t nsymbols;
	uint64_t ndynamic; /* relocations that are left to the loader: of pointers in data */
	uint64_t next_dynamic;
	uint8_t *out;
	uint64_t dynamic_relocs; /* offset of their table in the output */
	struct diag *d;
};

Elf64_Sym elf_symbol(const struct elf_linking *l, uint64_t k);
const char *elf_symbol_name(const struct elf_linking *l, const Elf64_Sym *s); /* "" when damaged */
int elf_symbol_address(struct elf_linking *l, const Elf64_Sym *s, uint64_t *address);
/* Global or weak, defined, visible from outside. */
bool elf_symbol_exported(const Elf64_Sym *s);
/* Counts what is left to the loader, into ndynamic; then writes all others. */
int elf_relocations_count(struct elf_linking *l);
int elf_relocations_apply(struct elf_linking *l);
int elf_damaged(struct elf_linking *l, const char *what);
int elf_unsupported(struct elf_linking *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
