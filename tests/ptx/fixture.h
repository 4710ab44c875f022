/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of ptx/ share: a module around some statements, and cmocka. */
#ifndef CUTRACE_TEST_PTX_FIXTURE_H
#define CUTRACE_TEST_PTX_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/ir.h"

/* Everything that a statement in accept.txt and reject.txt may name. The statement is in line FIXTURE_LINE,
 * column 2. */
#define FIXTURE_HEAD                                                                                         \
	".version 9.0\n.target sm_90a\n.address_size 64\n"                                                   \
	".global .align 16 .b8 glob[64];\n.const .align 4 .b32 cst = 5;\n.shared .align 16 .b8 shm[1024];\n" \
	".func callee(.reg .b32 a) { ret; }\n"                                                               \
	".func (.reg .b32 r) callee2(.reg .b32 a, .reg .b64 b) { mov.u32 r, a; ret; }\n"                     \
	".visible .entry k(.param .u64 param0)\n{\n"                                                         \
	"\t.reg .pred p<8>;\n\t.reg .b16 h<8>;\n\t.reg .b32 r<8>;\n\t.reg .b64 d<8>;\n\t.reg .b128 q<4>;\n"  \
	"\t.reg .f32 f<8>;\n\t.reg .f64 g<8>;\n\t"
#define FIXTURE_TAIL "\nLAB:\n\tret;\n}\n"
enum { FIXTURE_LINE = 18 };

static inline struct ptx_module *parse_text(const char *text)
{
	struct diag d = DIAG_INIT;
	struct ptx_module *m = ptx_module_parse(text, strlen(text), "test.ptx", &d);
	if (!m)
		print_error("%s: %s\n", d.where, d.what);
	assert_non_null(m);
	return m;
}

/* A kernel `k` without parameters from statements; registers as in FIXTURE_HEAD. */
static inline struct ptx_module *parse_statements(const char *statements)
{
	size_t n = strlen(statements) + sizeof(FIXTURE_HEAD) + sizeof(FIXTURE_TAIL);
	char *text = malloc(n);
	assert_non_null(text);
	snprintf(text, n, "%s%s%s", FIXTURE_HEAD, statements, FIXTURE_TAIL);
	struct ptx_module *m = parse_text(text);
	free(text);
	return m;
}

static inline struct ptx_func *build(struct ptx_module *m, const char *name)
{
	struct diag d = DIAG_INIT;
	struct ptx_func *f = ptx_func_find(m, name);
	assert_non_null(f);
	if (ptx_func_build(m, f))
		print_error("%s: %s\n%s\n", f->error.where, f->error.what, f->error.hint);
	assert_int_equal(f->state, PTX_BUILT);
	if (ptx_func_verify(m, f, &d))
		print_error("%s: %s\n", d.where, d.what);
	assert_int_equal(d.code, 0);
	return f;
}

static inline char *read_whole(const char *path, size_t *bytes)
{
	FILE *in = fopen(path, "rb");
	if (!in)
		return NULL;
	fseek(in, 0, SEEK_END);
	long n = ftell(in);
	rewind(in);
	char *text = malloc((size_t)n + 1);
	assert_non_null(text);
	*bytes = fread(text, 1, (size_t)n, in);
	text[*bytes] = 0;
	fclose(in);
	return text;
}

#endif
