/* SPDX-License-Identifier: Apache-2.0
 *
 * One step of redux.sync of f32 (PTX ISA 9.7.13.13), on bits: -0 is less than +0, NaN results are canonical.
 */
#include "zluda_core/compiler/device_library/device_library.h"

static bool is_nan(uint32_t x)
{
	return (x & 0x7fffffff) > 0x7f800000;
}

/* In the order of the numbers. */
static uint32_t ordered(uint32_t x)
{
	return x >> 31 ? ~x : x | 0x80000000;
}

uint32_t ct_redux_f32(uint32_t x, uint32_t y, uint32_t max, uint32_t nan_wins)
{
	if (is_nan(x) || is_nan(y)) {
		if (nan_wins || (is_nan(x) && is_nan(y)))
			return 0x7fffffff;
		return is_nan(x) ? y : x;
	}
	return (ordered(x) < ordered(y)) != max ? x : y;
}
