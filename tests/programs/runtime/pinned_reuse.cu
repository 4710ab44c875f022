/* SPDX-License-Identifier: Apache-2.0
 *
 * Asynchronous copies from pinned memory whose staging buffer is overwritten as soon as an event says that
 * the copy is done, and whose result buffer is reused by the next copy. Whoever looks at the buffers at the
 * time of the call, or at the end, sees the wrong bytes.
 */
#include "check.h"

#define N      1024
#define ROUNDS 6

extern "C" __global__ void accumulate(const unsigned *in, unsigned *sum, unsigned round)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] += in[i] * (round + 1);
}

/* Keeps the stream busy, so that the copies behind it really are in flight when their call returns. */
extern "C" __global__ void delay(unsigned *sink, unsigned rounds)
{
	unsigned x = threadIdx.x;

	for (unsigned i = 0; i < rounds; i++)
		x = x * 1664525u + 1013904223u;
	sink[threadIdx.x] = x;
}

int main()
{
	static unsigned expected[N];
	unsigned *staging, *result, *din, *dsum, *dsink;
	cudaStream_t stream;
	cudaEvent_t copied;

	CU(cudaHostAlloc(&staging, N * sizeof(unsigned), cudaHostAllocDefault));
	CU(cudaHostAlloc(&result, N * sizeof(unsigned), cudaHostAllocDefault));
	CU(cudaMalloc(&din, N * sizeof(unsigned)));
	CU(cudaMalloc(&dsum, N * sizeof(unsigned)));
	CU(cudaMalloc(&dsink, 32 * sizeof(unsigned)));
	CU(cudaStreamCreate(&stream));
	CU(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
	CU(cudaMemsetAsync(dsum, 0, N * sizeof(unsigned), stream));
	for (unsigned r = 0; r < ROUNDS; r++) {
		for (unsigned i = 0; i < N; i++) {
			staging[i] = i * 7 + r;
			expected[i] += staging[i] * (r + 1);
		}
		LAUNCH(delay, dim3(1), dim3(32), 0, stream, dsink, 2000u);
		CU(cudaMemcpyAsync(din, staging, N * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
		CU(cudaEventRecord(copied, stream));
		LAUNCH(accumulate, dim3(N / 256), dim3(256), 0, stream, din, dsum, r);
		CU(cudaMemcpyAsync(result, dsum, N * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
		CU(cudaEventSynchronize(copied));
		memset(staging, 0xee, N * sizeof(unsigned));
	}
	CU(cudaStreamSynchronize(stream));
	compare("result", result, expected, N);
	CU(cudaEventDestroy(copied));
	CU(cudaStreamDestroy(stream));
	CU(cudaFree(din));
	CU(cudaFree(dsum));
	CU(cudaFree(dsink));
	CU(cudaFreeHost(staging));
	CU(cudaFreeHost(result));
	return finish();
}
