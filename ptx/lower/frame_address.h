/* SPDX-License-Identifier: Apache-2.0
 *
 * frame_address: addresses in a function's variables, as the variable and an offset, so that LLVM can keep variables in
 * registers.
 */
#ifndef CUTRACE_PTX_LOWER_FRAME_ADDRESS_H
#define CUTRACE_PTX_LOWER_FRAME_ADDRESS_H

#include "ptx/lower/writer.h"

/* Around a function. */
bool frame_addresses_find(struct lower *l);
void frame_addresses_free(struct lower *l);

/* Of a variable of the function: how large its elements are, if all are alike; else 1. */
unsigned frame_element_bytes(const struct lower *l, uint32_t symbol);

/* Whether a register's value is an address in one variable, an address of local memory or a generic one. */
bool frame_home(const struct lower *l, const struct ptx_operand *o, uint32_t *symbol, bool *is_generic);
/* The variable's address in that form: an i32, or an i64. */
struct ir frame_base(struct lower *l, uint32_t symbol, bool is_generic);
/* What the value is beyond that, an i32. */
struct ir frame_offset(struct lower *l, const struct ptx_operand *o, uint32_t symbol, bool is_generic);

#endif
