/* SPDX-License-Identifier: Apache-2.0
 *
 * fns, PTX ISA 9.7.1.17.
 */
#include "zluda_core/compiler/device_library/device_library.h"

/* offset > 0: the offset-th set bit from base upwards; < 0: downwards; 0: base itself, if it is set. */
uint32_t ct_fns(uint32_t mask, uint32_t base, int32_t offset)
{
	bool down = offset < 0;
	uint32_t n = down ? 0u - (uint32_t)offset : (uint32_t)offset;

	if (base > 31)
		return UINT32_MAX;
	if (n == 0)
		return mask >> base & 1 ? base : UINT32_MAX;
	mask &= down ? UINT32_MAX >> (31 - base) : UINT32_MAX << base;
	for (; n > 1 && mask; n--)
		mask &= down ? ~(0x80000000u >> __builtin_clz(mask)) : mask - 1;
	if (!mask)
		return UINT32_MAX;
	return down ? 31 - (uint32_t)__builtin_clz(mask) : (uint32_t)__builtin_ctz(mask);
}
