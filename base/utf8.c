/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t utf8_char_bytes(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t bytes = s[0] < 0x80       ? 1
		       : s[0] >> 5 == 6  ? 2
		       : s[0] >> 4 == 14 ? 3
		       : s[0] >> 3 == 30 ? 4
					 : 0,
	       i;
	uint32_t c;

	if (bytes < 2 || bytes > n)
		return bytes == 1;
	c = s[0] & (0x7fu >> bytes);
	for (i = 1; i < bytes; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c >= least[bytes] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? bytes : 0;
}
