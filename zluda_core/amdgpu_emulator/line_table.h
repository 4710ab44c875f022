/* SPDX-License-Identifier: Apache-2.0
 *
 * line_table: which source line an instruction is from, by a code object's
 * .debug_line section: DWARF 4, 6.2; DWARF 5, 6.2. Other versions are skipped,
 * a damaged section is an error. Owns copies of the file names.
 */
#ifndef CUTRACE_AMDGPU_LINE_TABLE_H
#define CUTRACE_AMDGPU_LINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct line_range {
	uint64_t start, end;
	uint32_t line, file;
};

struct line_table {
	struct line_range *ranges; /* sorted by start, without overlaps of one sequence */
	size_t nranges, room;
	char **files;
	size_t nfiles;
};

/* Reads an ELF64 file's section .debug_line; a file without one has an empty table. */
int line_table_read(struct line_table *t, const uint8_t *file, size_t bytes, struct diag *d);
bool line_table_find(const struct line_table *t, uint64_t address, const char **file, unsigned *line);
void line_table_free(struct line_table *t);

#endif
