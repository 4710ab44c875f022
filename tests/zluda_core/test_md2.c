/* SPDX-License-Identifier: Apache-2.0
 *
 * MD2 against the test suite of RFC 1319, appendix A.5; HMAC against its definition in RFC 2104.
 */
#include "core_test.h"

void md2(const void *data, size_t bytes, uint8_t out[16]);
void hmac_md2(const void *key, size_t key_bytes, const void *data, size_t bytes, uint8_t out[16]);

static const struct {
	const char *text, *digest;
} vectors[] = {
	{"", "8350e5a3e24c153df2275c9f80692773"},
	{"a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"},
	{"abc", "da853b0d3f88d99b30283a69e6ded6bb"},
	{"message digest", "ab4f496bfb2a530b219ff33031fe06b0"},
	{"abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"},
	{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	 "da33def2a42df13975352846c30338cd"},
	{"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
	 "d5976f79d83d3a0dc9806c3c66f3efd8"},
};

static void rfc1319(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		uint8_t out[16];
		char hex[33];

		md2(vectors[i].text, strlen(vectors[i].text), out);
		for (int k = 0; k < 16; k++)
			sprintf(hex + 2 * k, "%02x", out[k]);
		assert_string_equal(hex, vectors[i].digest);
	}
}

static void hmac_is_its_definition(void **state)
{
	static const char text[] = "what is authenticated";
	uint8_t inner[16 + sizeof(text)], outer[32], expected[16], out[16];

	(void)state;
	for (int i = 0; i < 16; i++) {
		uint8_t k = i < 5 ? (uint8_t) "secre"[i] : 0;

		inner[i] = k ^ 0x36;
		outer[i] = k ^ 0x5c;
	}
	memcpy(inner + 16, text, sizeof(text));
	md2(inner, sizeof(inner), outer + 16);
	md2(outer, sizeof(outer), expected);
	hmac_md2("secre", 5, text, sizeof(text), out);
	assert_memory_equal(out, expected, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rfc1319),
					   cmocka_unit_test(hmac_is_its_definition)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
