/* SPDX-License-Identifier: Apache-2.0
 *
 * Three files of relocatable device code: the runtime hands them over as one list, the driver links their PTX. */
#include "check.h"
#include "linked_files.h"

#define N     1200
#define BLOCK 128

static __device__ __noinline__ unsigned note(unsigned i)
{
	return i % 3;
}

extern "C" __global__ void combine(const float *a, const float *b, float *c, int n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, peer = threadIdx.x ^ 1;

	if (i >= (unsigned)n)
		return;
	tile_put(threadIdx.x, table[note(i)](a[i], b[i]));
	__syncwarp();
	c[i] = weigh(tile[peer], i) + clamped(b[i], 0.25f, 0.75f);
}

static float combined(const float *a, const float *b, int i, const float *w)
{
	int p = i ^ 1;
	float v = p % 3 == 0 ? a[p] + b[p] : p % 3 == 1 ? a[p] * b[p] : a[p] > b[p] ? a[p] : b[p];
	float low = b[i] < 0.25f ? 0.25f : b[i] > 0.75f ? 0.75f : b[i];

	v *= w[i % 4];
	v = v < -64 ? -64 : v > 64 ? 64 : v;
	return v + low;
}

int main()
{
	static const float w[4] = {1, -2, 100, 0.5f};
	static float a[N], b[N], c[N], expected[N];
	float *da, *db, *dc;
	unsigned count, wanted = 3 + N;
	uint32_t seed = 23;

	for (int i = 0; i < N; i++) {
		a[i] = next_float(&seed);
		b[i] = next_float(&seed);
	}
	for (int i = 0; i < N; i++)
		expected[i] = combined(a, b, i, w);
	CU(cudaMalloc(&da, sizeof(a)));
	CU(cudaMalloc(&db, sizeof(b)));
	CU(cudaMalloc(&dc, sizeof(c)));
	CU(cudaMemcpy(da, a, sizeof(a), cudaMemcpyHostToDevice));
	CU(cudaMemcpy(db, b, sizeof(b), cudaMemcpyHostToDevice));
	CU(cudaMemcpyToSymbol(weights, w, sizeof(w)));
	LAUNCH(combine, dim3((N + BLOCK - 1) / BLOCK), dim3(BLOCK), BLOCK * sizeof(float), 0, da, db, dc, N);
	CU(cudaMemcpy(c, dc, sizeof(c), cudaMemcpyDeviceToHost));
	compare("c", c, expected, N);
	CU(cudaMemcpyFromSymbol(&count, counter, sizeof(count)));
	compare("counter", &count, &wanted, 1);
	CU(cudaFree(da));
	CU(cudaFree(db));
	CU(cudaFree(dc));
	return finish();
}
