/* SPDX-License-Identifier: Apache-2.0
 * The table of well-formed byte sequences is RFC 3629, section 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/utf8.h"

static void test_characters(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
	} rows[] = {
		{"a", 1},
		{"\x7f", 1},
		{"\xc2\x80", 2},
		{"\xdf\xbf", 2},
		{"\xe0\xa0\x80", 3},
		{"\xed\x9f\xbf", 3},
		{"\xf0\x90\x80\x80", 4},
		{"\xf4\x8f\xbf\xbf", 4},
		{"\x80", 0},             /* a continuation */
		{"\xc1\xbf", 0},         /* overlong */
		{"\xe0\x9f\xbf", 0},     /* overlong */
		{"\xf0\x8f\xbf\xbf", 0}, /* overlong */
		{"\xed\xa0\x80", 0},     /* a surrogate */
		{"\xf4\x90\x80\x80", 0}, /* beyond U+10FFFF */
		{"\xff", 0},
		{"\xc2", 0}, /* cut off */
		{"\xe2\x82", 0},
		{"\xc2z", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const unsigned char *s = (const unsigned char *)rows[i].text;

		if (utf8_char_bytes(s, strlen(rows[i].text)) != rows[i].bytes)
			fail_msg("row %zu is not %zu bytes", i, rows[i].bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_characters)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
