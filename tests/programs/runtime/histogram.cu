/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#define N    20000
#define BINS 64

/* Counts in shared memory first, then adds each block's counts to the total; the weights (64-bit) and the
 * largest value go straight to global memory. */
extern "C" __global__ void histogram(const unsigned *in, int n, unsigned *bins, unsigned long long *weight,
				     int *largest)
{
	__shared__ unsigned local[BINS];

	for (int i = threadIdx.x; i < BINS; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		atomicAdd(&local[in[i] % BINS], 1u);
		atomicAdd(weight, (unsigned long long)in[i]);
		atomicMax(largest, (int)(in[i] >> 1));
	}
	__syncthreads();
	for (int i = threadIdx.x; i < BINS; i += blockDim.x)
		atomicAdd(&bins[i], local[i]);
}

int main()
{
	static unsigned in[N], bins[BINS], expected[BINS];
	unsigned long long weight, expected_weight = 0, *dweight;
	int largest, expected_largest = 0, *dlargest;
	unsigned *din, *dbins;
	uint32_t seed = 14;

	for (int i = 0; i < N; i++) {
		in[i] = next_random(&seed);
		expected[in[i] & 63]++;
		expected_weight += in[i];
		if ((int)(in[i] / 2) > expected_largest)
			expected_largest = in[i] / 2;
	}
	CU(cudaMalloc(&din, sizeof(in)));
	CU(cudaMalloc(&dbins, sizeof(bins)));
	CU(cudaMalloc(&dweight, sizeof(weight)));
	CU(cudaMalloc(&dlargest, sizeof(largest)));
	CU(cudaMemcpy(din, in, sizeof(in), cudaMemcpyHostToDevice));
	CU(cudaMemset(dbins, 0, sizeof(bins)));
	CU(cudaMemset(dweight, 0, sizeof(weight)));
	CU(cudaMemset(dlargest, 0, sizeof(largest)));
	LAUNCH(histogram, dim3(4), dim3(128), 0, 0, din, N, dbins, dweight, dlargest);
	CU(cudaMemcpy(bins, dbins, sizeof(bins), cudaMemcpyDeviceToHost));
	CU(cudaMemcpy(&weight, dweight, sizeof(weight), cudaMemcpyDeviceToHost));
	CU(cudaMemcpy(&largest, dlargest, sizeof(largest), cudaMemcpyDeviceToHost));
	compare("bins", bins, expected, BINS);
	compare("weight", &weight, &expected_weight, 1);
	compare("largest", &largest, &expected_largest, 1);
	CU(cudaFree(din));
	CU(cudaFree(dbins));
	CU(cudaFree(dweight));
	CU(cudaFree(dlargest));
	return finish();
}
