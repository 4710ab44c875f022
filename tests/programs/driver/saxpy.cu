/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

__global__ void saxpy(u32 n, float a, const float *x, float *y)
{
	u32 i = global_x();

	if (i < n)
		y[i] = fma_rn(a, x[i], y[i]);
}
