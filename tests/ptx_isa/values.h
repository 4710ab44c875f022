/* SPDX-License-Identifier: Apache-2.0
 *
 * values: input values and register classes of operand letters (see form.h).
 */
#ifndef TESTS_PTX_ISA_VALUES_H
#define TESTS_PTX_ISA_VALUES_H

#include "form.h"
#include "reference.h"

/* Register class of the letter: h, w, d, or p. */
char letter_reg(char letter);
unsigned letter_bits(char letter);
/* Format of its elements; FORMAT_NONE for integers. */
enum float_format letter_format(char letter);
/* How many tuples for these inputs: a multiple of 32. */
unsigned values_count(const char *ins);
/* Tuple t of total. */
void values_of(const char *ins, unsigned t, unsigned total, uint64_t *in);

#endif
