/* SPDX-License-Identifier: Apache-2.0
 *
 * Output from the device, then a failing assertion: the error must be cudaErrorAssert, and stay.
 */
#undef NDEBUG
#include <cassert>

#include "check.h"

extern "C" __global__ void say(int n, double x)
{
	for (int i = 0; i < n; i++)
		printf("thread %d of block %d: %d %5.2f %s\n", threadIdx.x, blockIdx.x, i, x * i,
		       i & 1 ? "odd" : "even");
}

extern "C" __global__ void assert_below(const int *v, int limit)
{
	assert(v[threadIdx.x] < limit);
}

int main()
{
	int v[32], *dv;

	for (int i = 0; i < 32; i++)
		v[i] = i;
	setvbuf(stdout, NULL, _IOLBF, 0);
	CU(cudaMalloc(&dv, sizeof(v)));
	CU(cudaMemcpy(dv, v, sizeof(v), cudaMemcpyHostToDevice));
	LAUNCH(say, dim3(1), dim3(1), 0, 0, 3, 1.25);
	CU(cudaDeviceSynchronize());
	LAUNCH(assert_below, dim3(1), dim3(32), 0, 0, dv, 32);
	CU(cudaDeviceSynchronize());
	LAUNCH(assert_below, dim3(1), dim3(32), 0, 0, dv, 31);
	cudaError_t failed = cudaDeviceSynchronize(), again = cudaFree(dv);

	printf("fault assert_below\n");
	if (failed != cudaErrorAssert || again != cudaErrorAssert) {
		fprintf(stderr, "errors %d and %d, expected %d twice\n", failed, again, cudaErrorAssert);
		return 1;
	}
	return finish();
}
