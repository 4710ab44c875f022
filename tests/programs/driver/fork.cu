/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

__global__ void fill(u32 *v, u32 factor)
{
	v[thread_x()] = thread_x() * factor;
}
