/* SPDX-License-Identifier: Apache-2.0
 *
 * A module's text in pieces, joined again without some, and without what its author said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir.h"
#include "ptx/pieces.h"
#include "ptx/redact.h"

static const char text[] = "// a comment; with {braces}\n"
			   ".version 8.0\n"
			   ".target sm_80, debug // what for\n"
			   ".address_size 64\n"
			   ".file 1 \"/home/me/x;{.cu\", 1, 2\n"
			   ".visible .global .align 4 .u32 a[2] = {1, 2};\n"
			   ".global .align 1 .b8 $str[6] = {104, 105, 37, 100, 10, 0};\n"
			   ".extern .func (.param .b32 r) g(.param .b64 x);\n"
			   ".func (.reg .b32 %r) f(.reg .b32 %x)\n"
			   "{\n"
			   "\tadd.s32 %r, %x, 1;\n"
			   "\tret;\n"
			   "}\n"
			   ".weak .entry k(.param .u64 p)\n"
			   ".maxntid 32, 1, 1\n"
			   "{\n"
			   "\t.reg .b32 %r<4>;\n"
			   "\t.reg .pred %p;\n"
			   "\t.loc 1 7 3, function_name $L__s\n"
			   "\tmov.u32 %r1, %tid.x; /* two\n lines */\n"
			   "$again:\n"
			   "\t@!%p bra $again;\n"
			   "\t{ .reg .b32 t; mov.b64 {t, %r2}, 7; }\n"
			   "\tcall (%r3), f, (%r1);\n"
			   "$ts: .branchtargets $again;\n"
			   "\tret;\n"
			   "}\n"
			   ".section .debug_str {\n$L__s: .b8 104\n.b8 0\n}\n";

static const char *kind_names[] = {"other",  "function",  "prototype",   "variable", "file", "section",
				   "pragma", "statement", "declaration", "label",    "loc"};

/* "kind name-or-text", a line each, as it should be. */
static const char want[] = "other .version 8.0\n"
			   "other .target sm_80, debug\n"
			   "other .address_size 64\n"
			   "file .file 1 \"/home/me/x;{.cu\", 1, 2\n"
			   "variable a\n"
			   "variable $str\n"
			   "prototype g\n"
			   "function f\n"
			   "other {\n"
			   "statement add.s32 %r, %x, 1;\n"
			   "statement ret;\n"
			   "other }\n"
			   "function k\n"
			   "other {\n"
			   "declaration .reg .b32 %r<4>;\n"
			   "declaration .reg .pred %p;\n"
			   "loc .loc 1 7 3, function_name $L__s\n"
			   "statement mov.u32 %r1, %tid.x;\n"
			   "label $again:\n"
			   "statement @!%p bra $again;\n"
			   "other {\n"
			   "declaration .reg .b32 t;\n"
			   "statement mov.b64 {t, %r2}, 7;\n"
			   "other }\n"
			   "statement call (%r3), f, (%r1);\n"
			   "declaration $ts: .branchtargets $again;\n"
			   "statement ret;\n"
			   "other }\n"
			   "section .section .debug_str {\n$L__s: .b8 104\n.b8 0\n}\n";

static void is_cut(void **state)
{
	char got[4096] = "";
	struct ptx_pieces p;
	size_t n = 0;

	(void)state;
	assert_int_equal(ptx_pieces_cut(text, strlen(text), &p), 0);
	for (size_t i = 0; i < p.n; i++) {
		const struct ptx_piece *x = &p.v[i];
		size_t at = x->name_n ? x->name : x->begin, end = x->name_n ? x->name + x->name_n : x->end;

		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s %.*s\n", kind_names[x->kind],
				      (int)(end - at), text + at);
	}
	assert_string_equal(got, want);
	assert_int_equal(p.v[0].line, 2);
	assert_int_equal(p.v[12].line, 14);
	ptx_pieces_free(&p);
}

/* All pieces kept: only comments and empty lines go, and the module is the same. */
static void is_joined(void **state)
{
	struct ptx_pieces p;
	uint8_t keep[64];
	char *all, *some;

	(void)state;
	assert_int_equal(ptx_pieces_cut(text, strlen(text), &p), 0);
	memset(keep, 1, sizeof(keep));
	all = ptx_pieces_join(text, strlen(text), &p, keep);
	assert_null(strstr(all, "comment"));
	assert_null(strstr(all, "two"));
	assert_null(strstr(all, "\n\n"));
	assert_non_null(strstr(all, "\"/home/me/x;{.cu\""));
	keep[7] = keep[4] = keep[22] = 0; /* f, a, mov.b64 */
	some = ptx_pieces_join(text, strlen(text), &p, keep);
	assert_null(strstr(some, "add.s32"));
	assert_null(strstr(some, ".u32 a"));
	assert_null(strstr(some, "mov.b64"));
	assert_non_null(strstr(some, "{ .reg .b32 t;  }"));
	free(all);
	free(some);
	ptx_pieces_free(&p);
}

static void is_redacted(void **state)
{
	struct ptx_redaction r = {0};
	char *out = ptx_redact(text, strlen(text), true, &r),
	     *kept = ptx_redact(text, strlen(text), false, NULL);

	(void)state;
	assert_int_equal(strlen(out), strlen(text));
	assert_int_equal(r.comments, 3);
	assert_int_equal(r.files, 1);
	assert_int_equal(r.sections, 1);
	assert_int_equal(r.strings, 1);
	for (const char *word = "comment\0what\0two\0home\0function_name\0$L__s\0debug_str\0"; *word;
	     word += strlen(word) + 1)
		assert_null(strstr(out, word));
	assert_non_null(strstr(out, ".file 1 \"file1\" "));
	assert_non_null(strstr(out, "{120, 120, 37, 100, 10, 0}")); /* "xx%d\n" */
	assert_non_null(strstr(kept, "{104, 105, 37, 100, 10, 0}"));
	assert_non_null(strstr(out, "a[2] = {1, 2};"));
	for (size_t i = 0; text[i]; i++) /* lines keep their numbers */
		assert_int_equal(text[i] == '\n', out[i] == '\n');
	free(out);
	free(kept);
}

/* Conversions with flags, widths and lengths stay; so does data that is no text, and what the program may ask for. */
static void strings(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{".global .b8 s[] = {97, 37, 48, 53, 108, 108, 117, 98, 0};",
		 ".global .b8 s[] = {88, 37, 48, 53, 108, 108, 117, 88, 0};"},
		{".const .b8 s[] = {97, 37, 37, 98, 99, 0};", ".const .b8 s[] = {88, 37, 37, 88, 88, 0};"},
		{".global .b8 s[] = {97, 98, 200, 0};", ".global .b8 s[] = {97, 98, 200, 0};"},
		{".visible .global .b8 s[] = {97, 98, 99, 0};",
		 ".visible .global .b8 s[] = {97, 98, 99, 0};"},
		{".global .b8 s[] = {0x61, 0x62, 0x63, 0};", ".global .b8 s[] = {0x58, 0x58, 0x58, 0};"},
		{".global .u32 s[] = {97, 98, 99, 0};", ".global .u32 s[] = {97, 98, 99, 0};"},
		{".global .b8 s[4];", ".global .b8 s[4];"},
		{".pragma \"nounroll\";", ".pragma \"nounroll\";"},
		{".pragma \"frequency 100\";", ".pragma \"frequency 100\";"},
		{".pragma \"mine\";", "               "},
		{".pragma \"nounroll of mine\";", "                           "},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *out = ptx_redact(rows[i].text, strlen(rows[i].text), true, NULL);

		assert_string_equal(out, rows[i].want);
		free(out);
	}
}

/* Whatever the text is, it ends, and nothing outside of it is read. */
static void hostile(void **state)
{
	(void)state;
	for (size_t n = 0; n <= strlen(text); n++) {
		char *cut = strndup(text, n), *out = ptx_redact(cut, n, true, NULL);
		uint8_t *keep = calloc(1, n + 64);
		struct ptx_pieces p;
		char *joined;

		assert_non_null(out);
		assert_int_equal(strlen(out), n);
		assert_int_equal(ptx_pieces_cut(cut, n, &p), 0);
		joined = ptx_pieces_join(cut, n, &p, keep);
		assert_true(strlen(joined) <= n + 1);
		for (size_t i = 0; i < p.n; i++)
			assert_true(p.v[i].begin < p.v[i].end && p.v[i].end <= n);
		free(joined);
		ptx_pieces_free(&p);
		free(keep);
		free(out);
		free(cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_cut),  cmocka_unit_test(is_joined), cmocka_unit_test(is_redacted),
		cmocka_unit_test(strings), cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
