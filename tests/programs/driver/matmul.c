/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>

#include "host.h"

#define N    64
#define TILE 16

/* The textbook triple loop, with the fused multiply-add of the kernel. */
static void multiply(const float *a, const float *b, float *c)
{
	for (int row = 0; row < N; row++) {
		for (int col = 0; col < N; col++) {
			float sum = 0.0f;

			for (int k = 0; k < N; k++)
				sum = fmaf(a[row * N + k], b[k * N + col], sum);
			c[row * N + col] = sum;
		}
	}
}

int main(void)
{
	static float a[N * N], b[N * N], c[N * N], expected[N * N];
	uint32_t n = N, seed = 2;

	for (int i = 0; i < N * N; i++) {
		a[i] = host_random_float(&seed) - 0.5f;
		b[i] = host_random_float(&seed) - 0.5f;
	}
	multiply(a, b, expected);
	host_start();
	CUfunction matmul = host_kernel("matmul");
	CUdeviceptr da = host_buffer(a, sizeof(a)), db = host_buffer(b, sizeof(b));
	CUdeviceptr dc = host_buffer(NULL, sizeof(c));

	host_launch(matmul, "matmul", (struct dim){N / TILE, N / TILE, 1}, (struct dim){TILE, TILE, 1}, 0,
		    NULL, (void *[]){&n, &da, &db, &dc});
	host_read(c, dc, sizeof(c));
	host_compare_f32("c", c, expected, COUNT(c));
	CU(cuMemFree_v2(da));
	CU(cuMemFree_v2(db));
	CU(cuMemFree_v2(dc));
	return host_finish();
}
