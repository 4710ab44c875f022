/* SPDX-License-Identifier: Apache-2.0
 *
 * variable_address: addresses in a variable of the frame or of shared memory, as the variable and an offset, so that LLVM
 * knows what they are aligned to and can keep variables of the frame in registers.
 */
#ifndef CUTRACE_PTX_LOWER_VARIABLE_ADDRESS_H
#define CUTRACE_PTX_LOWER_VARIABLE_ADDRESS_H

#include "ptx/lower/writer.h"

/* Around a function. */
bool variable_addresses_find(struct lower *l);
void variable_addresses_free(struct lower *l);

/* Of a variable of the frame: how large its elements are, if all are alike; else 1. */
unsigned variable_element_bytes(const struct lower *l, uint32_t symbol);

/* Whether a register's value is an address in one variable, in its own space's form or the generic one. */
bool variable_home(const struct lower *l, const struct ptx_operand *o, uint32_t *symbol, bool *is_generic);
/* The variable's address in that form: an i32, or an i64. */
struct ir variable_base(struct lower *l, uint32_t symbol, bool is_generic);
struct ir variable_pointer(struct lower *l, uint32_t symbol, unsigned *as); /* its pointer */
/* What the value is beyond that, an i32. */
struct ir variable_offset(struct lower *l, const struct ptx_operand *o, uint32_t symbol, bool is_generic);

#endif
