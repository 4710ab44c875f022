/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#define TILE 16

/* c = a * b, all n x n row-major, n a multiple of TILE. One fused multiply-add per k, in ascending
 * order of k, so the result is the same to the bit wherever it is computed. */
__global__ void matmul(u32 n, const float *a, const float *b, float *c)
{
	__shared__ float ta[TILE][TILE];
	__shared__ float tb[TILE][TILE];
	u32 tx = thread_x(), ty = thread_y();
	u32 col = block_x() * TILE + tx, row = block_y() * TILE + ty;
	float sum = 0.0f;

	for (u32 k0 = 0; k0 < n; k0 += TILE) {
		ta[ty][tx] = a[row * n + k0 + tx];
		tb[ty][tx] = b[(k0 + ty) * n + col];
		barrier();
		for (u32 k = 0; k < TILE; k++)
			sum = fma_rn(ta[ty][k], tb[k][tx], sum);
		barrier();
	}
	c[row * n + col] = sum;
}
