/* SPDX-License-Identifier: Apache-2.0
 *
 * coverage: which of the instruction forms of the ISA (isa_table.h) the forms that ran contain, plainly and weighted
 * by how often programs use them.
 */
#ifndef TESTS_PTX_ISA_COVERAGE_H
#define TESTS_PTX_ISA_COVERAGE_H

#include <stdbool.h>

struct coverage;
struct coverage *coverage_new(void);
/* Notes every instruction of a form's text; `executed`: it ran and its results were right. */
void coverage_note(struct coverage *c, const char *text, bool executed);
/* The tables; with `all`, every missing form by name. Returns how many opcodes that programs use are neither in the
 * ISA's table nor in its list of other spellings. */
unsigned coverage_print(struct coverage *c, bool all);
void coverage_free(struct coverage *c);

#endif
