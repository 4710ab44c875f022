/* SPDX-License-Identifier: Apache-2.0
 *
 * isa_table: which instruction forms there are (isa_table.c), and how often programs use them (opcode_counts.c).
 */
#ifndef TESTS_PTX_ISA_ISA_TABLE_H
#define TESTS_PTX_ISA_ISA_TABLE_H

#include <stdint.h>

struct isa_set {
	const char *name, *text;
};

struct isa_row {
	const char *section, *pattern;
};

struct opcode_count {
	const char *opcode;
	uint32_t count;
};

/* Each ends with a row of NULLs. */
extern const struct isa_set isa_sets[];
extern const struct isa_row isa_rows[];
extern const struct opcode_count opcode_counts[];

#endif
