/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* One line per thread of block 0, with each kind of argument that vprintf packs. */
__global__ void print_line(u32 n, const float *x)
{
	if (global_x() != 0)
		return;
	for (u32 i = 0; i < n; i++)
		printf("element %u: %.3f, %s, %lld, %c\n", i, x[i], i % 2 ? "odd" : "even", (long long)i << 40,
		       (int)('a' + i));
	printf("100%% of %d\n", -1);
}
