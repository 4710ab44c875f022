/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

/* Prints one line per element, with each kind of argument that vprintf packs, and doubles the element. */
__global__ void print_and_double(u32 n, float *x)
{
	if (global_x() != 0)
		return;
	for (u32 i = 0; i < n; i++) {
		printf("element %u: %.3f, %s, %lld, %c\n", i, x[i], i % 2 ? "odd" : "even",
		       (long long)i << 40, (int)('a' + i));
		x[i] = x[i] + x[i];
	}
	printf("100%% of %d\n", -1);
}
