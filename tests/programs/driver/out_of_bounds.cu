/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* Writes n elements from `out` on, wherever that is. */
__global__ void fill_squares(u32 *out, u32 n)
{
	u32 i = global_x();

	if (i < n)
		out[i] = i * i;
}
