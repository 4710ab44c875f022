/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#define N 1500

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

int main()
{
	static float a[N], b[N], c[N], expected[N];
	float *da, *db, *dc;
	uint32_t seed = 11;

	for (int i = 0; i < N; i++) {
		a[i] = next_float(&seed);
		b[i] = next_float(&seed);
		expected[i] = a[i] + b[i];
	}
	CU(cudaMalloc(&da, sizeof(a)));
	CU(cudaMalloc(&db, sizeof(b)));
	CU(cudaMalloc(&dc, sizeof(c)));
	CU(cudaMemcpy(da, a, sizeof(a), cudaMemcpyHostToDevice));
	CU(cudaMemcpy(db, b, sizeof(b), cudaMemcpyHostToDevice));
	LAUNCH(vector_add, dim3((N + 255) / 256), dim3(256), 0, 0, da, db, dc, N);
	CU(cudaMemcpy(c, dc, sizeof(c), cudaMemcpyDeviceToHost));
	compare("c", c, expected, N);
	CU(cudaFree(da));
	CU(cudaFree(db));
	CU(cudaFree(dc));
	return finish();
}
