/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/op_table: what ops.def and modifiers.def say, in a form that the parser
 * and the verifier use: rows of operations, classes of modifiers, sets of types,
 * and the decoding of an opcode ("ld.global.nc.v4.f32") with them.
 */
#ifndef CUTRACE_PTX_OP_TABLE_H
#define CUTRACE_PTX_OP_TABLE_H

#include "ptx/ir.h"

/* Classes of modifiers, as bits of the `modifiers` column. */
enum ptx_mod_class {
	PTX_CLASS_TYPE,
	PTX_CLASS_ROUND,
	PTX_CLASS_FLUSH,
	PTX_CLASS_SATURATE,
	PTX_CLASS_ROUNDINT,
	PTX_CLASS_MINMAX,
	PTX_CLASS_CARRY,
	PTX_CLASS_HALVES,
	PTX_CLASS_CLAMPS,
	PTX_CLASS_DIRECTION,
	PTX_CLASS_APPROX,
	PTX_CLASS_SHIFTAMT,
	PTX_CLASS_TESTPOP,
	PTX_CLASS_COMPARE,
	PTX_CLASS_BOOLOP,
	PTX_CLASS_ALIGNED,
	PTX_CLASS_SYNC,
	PTX_CLASS_SHUFFLE,
	PTX_CLASS_PERMUTE,
	PTX_CLASS_SPACE,
	PTX_CLASS_SEM,
	PTX_CLASS_SCOPE,
	PTX_CLASS_VECTOR,
	PTX_CLASS_CACHE,
	PTX_CLASS_NONCOHERENT,
	PTX_CLASS_REDUCTION,
	PTX_CLASS_TO,
	PTX_CLASS_CVTFLAGS,
	PTX_CLASS_VOTING,
	PTX_CLASS_UNIFORM,
	PTX_CLASS_BARRIER,
	PTX_CLASS_SHAPE,
	PTX_CLASS_LAYOUT,
	PTX_CLASS_REPEAT,
	PTX_CLASS_TRANSPOSE,
	PTX_CLASS_GEOMETRY,
	PTX_CLASS_NOINC,
	PTX_CLASS_OTHER,
};

/* Where a modifier's value goes. */
enum ptx_mod_field {
	PTX_FIELD_NONE,
	PTX_FIELD_FLAG,
	PTX_FIELD_RND,
	PTX_FIELD_CMP,
	PTX_FIELD_BOOLOP,
	PTX_FIELD_SEM,
	PTX_FIELD_SCOPE,
	PTX_FIELD_SPACE,
	PTX_FIELD_VEC,
	PTX_FIELD_SUB,
	PTX_FIELD_SHAPE,
	PTX_FIELD_LAYOUT,
};

struct ptx_op_row {
	const char *name, *dst, *src;
	uint64_t modifiers;     /* bits 1 << enum ptx_mod_class */
	uint64_t types, types2; /* bits 1 << enum ptx_type; bit 0 = may be absent */
	uint8_t name_length;
};
extern const struct ptx_op_row ptx_op_rows[PTX_NOPS];

/* Decodes `n` bytes of opcode text into the fields of an instruction that its modifiers determine (mods is
 * left NULL). When the answer is false, `detail` says why and *at points to the offending part of the text.
 */
bool ptx_opcode_decode(const char *text, size_t n, struct ptx_inst *fields, char *detail, size_t detail_bytes,
		       const char **at);

/* targets.c: whether a module for sm_<sm><suffix> may use the opcode; else `detail` says what it needs. */
bool ptx_target_fits(const struct ptx_inst *i, unsigned sm, char suffix, char *detail, size_t detail_bytes);
/* legacy.c: completes the fields of an opcode from a text of ISA 1.x or for sm_1x. */
void ptx_legacy_defaults(struct ptx_inst *i, unsigned version, unsigned sm);

enum ptx_type ptx_type_parse(const char *s, size_t n); /* PTX_TYPE_NONE when it is no type */

/* signature.c: how operands relate to the letters of a row. */
enum { PTX_LETTER_MAX = 12 };
/* The type that a letter of the row gives an operand of `i` (index `n` of its sources, or -1: a destination),
 * and the width that its register must have; 0 = any. PTX_TYPE_NONE: constants keep their own width. */
enum ptx_type ptx_letter_type(const struct ptx_inst *i, char letter, int n, unsigned *bits,
			      bool *may_be_wider);

#endif
