/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

static void prints_where_what_and_hint(void **state)
{
	struct diag d = DIAG_INIT;
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	(void)state;
	assert_int_equal(diag_set(&d, CUTRACE_EIO, "a.trace", "cannot open: %s", "no such file"), CUTRACE_EIO);
	diag_hint(&d, "check the path of %s", "a.trace");
	diag_print(&d, f);
	fclose(f);
	assert_string_equal(text, "a.trace: error: cannot open: no such file\n  hint: check the path of a.trace\n");
	free(text);
}

static void a_caret_stays_below_its_character(void **state)
{
	struct diag d = DIAG_INIT;
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	(void)state;
	diag_set(&d, CUTRACE_EINVAL, "a.ptx:1:5", "unknown name");
	diag_hint(&d, "ret x;\n    ^");
	diag_print(&d, f);
	fclose(f);
	assert_string_equal(text, "a.ptx:1:5: error: unknown name\n  hint: ret x;\n            ^\n");
	free(text);
}

static void long_text_is_cut_not_overrun(void **state)
{
	struct { struct diag d; unsigned char guard[64]; } s;
	char text[4096];

	(void)state;
	memset(&s, 0xa5, sizeof(s));
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	diag_set(&s.d, CUTRACE_EINVAL, text, "%s", text);
	diag_hint(&s.d, "%s", text);
	assert_int_equal(strlen(s.d.where), sizeof(s.d.where) - 1);
	assert_int_equal(strlen(s.d.what), sizeof(s.d.what) - 1);
	assert_int_equal(strlen(s.d.hint), sizeof(s.d.hint) - 1);
	for (size_t i = 0; i < sizeof(s.guard); i++)
		assert_int_equal(s.guard[i], 0xa5);
}

static void a_caller_without_a_diag_still_gets_the_code(void **state)
{
	(void)state;
	assert_int_equal(diag_set(NULL, CUTRACE_ENOENT, "x", "y"), CUTRACE_ENOENT);
	diag_hint(NULL, "nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_where_what_and_hint),
		cmocka_unit_test(a_caret_stays_below_its_character),
		cmocka_unit_test(long_text_is_cut_not_overrun),
		cmocka_unit_test(a_caller_without_a_diag_still_gets_the_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
