/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "host.h"

#define N 1000 /* not a multiple of the block: the last one is cut */

int main(void)
{
	static float x[N], y[N], expected[N];
	float a = 2.5f;
	uint32_t n = N, seed = 1;

	for (int i = 0; i < N; i++) {
		x[i] = host_random_float(&seed);
		y[i] = host_random_float(&seed);
		expected[i] = fmaf(a, x[i], y[i]);
	}
	host_start();
	CUfunction saxpy = host_kernel("saxpy");
	CUdeviceptr dx = host_buffer(x, sizeof(x)), dy = host_buffer(y, sizeof(y));

	host_launch(saxpy, "saxpy", (struct dim){(N + 255) / 256, 1, 1}, (struct dim){256, 1, 1}, 0, NULL,
		    (void *[]){&n, &a, &dx, &dy});
	host_read(y, dy, sizeof(y));
	host_compare_f32("y", y, expected, N);
	CU(cuMemFree_v2(dx));
	CU(cuMemFree_v2(dy));
	return host_finish();
}
