/* SPDX-License-Identifier: Apache-2.0
 *
 * isa_forms: reads isa_forms.txt, the table of all forms of all instructions of
 * the PTX ISA, and writes one module per target from it, one kernel a form, so
 * that our parser and the toolkit's assembler can both judge the same text.
 */
#ifndef CUTRACE_TEST_PTX_ISA_FORMS_H
#define CUTRACE_TEST_PTX_ISA_FORMS_H

#include <stddef.h>
#include <stdint.h>

struct isa_target {
	char name[64]; /* "sm_75, texmode_independent" */
	char *text;    /* the module */
	size_t bytes;
	unsigned nforms;
	uint32_t *lines; /* of the table, by form; kernel k<i> is form i */
	char **forms;    /* expanded statements */
	unsigned capacity;
};

struct isa_table {
	struct isa_target targets[64];
	unsigned ntargets, nforms, nlines;
	char error[200]; /* what is wrong with the table, or empty */
};

/* 0, or -1 with `error` set. */
int isa_table_read(struct isa_table *t, const char *path);
void isa_table_free(struct isa_table *t);

#endif
