/* SPDX-License-Identifier: Apache-2.0 */
#include <cmath>

#include "check.h"

#define N    48
#define TILE 16

/* Fused multiply-adds in ascending k: the host repeats them to the bit. */
extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int n)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int k0 = 0; k0 < n; k0 += TILE) {
		ta[threadIdx.y][threadIdx.x] = a[row * n + k0 + threadIdx.x];
		tb[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * n + col];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum = __fmaf_rn(ta[threadIdx.y][k], tb[k][threadIdx.x], sum);
		__syncthreads();
	}
	c[row * n + col] = sum;
}

int main()
{
	static float a[N * N], b[N * N], c[N * N], expected[N * N];
	size_t bytes = sizeof(a);
	float *da, *db, *dc;
	uint32_t seed = 12;

	for (int i = 0; i < N * N; i++) {
		a[i] = next_float(&seed) - 0.5f;
		b[i] = next_float(&seed) - 0.5f;
	}
	for (int row = 0; row < N; row++) {
		for (int k = 0; k < N; k++) {
			for (int col = 0; col < N; col++)
				expected[row * N + col] =
					fmaf(a[row * N + k], b[k * N + col], expected[row * N + col]);
		}
	}
	CU(cudaMalloc(&da, bytes));
	CU(cudaMalloc(&db, bytes));
	CU(cudaMalloc(&dc, bytes));
	CU(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
	CU(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
	LAUNCH(matmul_tiled, dim3(N / TILE, N / TILE), dim3(TILE, TILE), 0, 0, da, db, dc, N);
	CU(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
	compare("c", c, expected, N * N);
	CU(cudaFree(da));
	CU(cudaFree(db));
	CU(cudaFree(dc));
	return finish();
}
