/* SPDX-License-Identifier: Apache-2.0
 *
 * half: IEEE 754 binary16 to float, exactly (every binary16 value is a binary32 value).
 */
#ifndef CUTRACE_DUMP_HALF_H
#define CUTRACE_DUMP_HALF_H

#include <stdint.h>
#include <string.h>

static inline float half_to_float(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff, bits;
	float f;

	if (exponent == 31) { /* infinity, NaN */
		bits = sign | 0x7f800000 | fraction << 13;
	} else if (exponent) {
		bits = sign | (exponent + 112) << 23 | fraction << 13;
	} else { /* zero, subnormal: fraction * 2^-24 */
		f = (float)fraction * 0x1p-24f;
		memcpy(&bits, &f, sizeof(bits));
		bits |= sign;
	}
	memcpy(&f, &bits, sizeof(f));
	return f;
}

#endif
