/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

__global__ void step(u32 *v, u32 factor)
{
	u32 i = global_x();

	v[i] = v[i] * factor + i;
}
