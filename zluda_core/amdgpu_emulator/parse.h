/* SPDX-License-Identifier: Apache-2.0
 *
 * parse: a disassembler's line in pieces, before it is bound to an op. The text is
 * LLVM's assembler syntax: "AMDGPU operand syntax" and "AMDGPU instruction
 * modifiers" of LLVM's documentation.
 */
#ifndef CUTRACE_AMDGPU_PARSE_H
#define CUTRACE_AMDGPU_PARSE_H

#include "zluda_core/amdgpu_emulator/insn.h"

#define OPERANDS_MAX 8

/* What a line holds before it is bound to an op. */
struct line {
	unsigned gfx;
	struct operand operands[OPERANDS_MAX];
	unsigned count;
	bool bad; /* something was not understood */
	bool returns, has_op_sel_hi;
	uint8_t op_sel_count;
	uint8_t src_sel[2];
	uint16_t index_mode;
};

/* Both change the text; false when it is none. */
bool amdgpu_parse_operand(struct operand *o, char *s);
bool parse_modifier(struct insn *in, struct line *line, const char *t);

#endif
