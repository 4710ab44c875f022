/* SPDX-License-Identifier: Apache-2.0
 *
 * Four host threads, each with a stream and buffers of its own. Their launches are said after all have
 * ended, so that the text does not depend on who was first; a trace has to show them all, in any order.
 */
#include <pthread.h>

#include "check.h"

#define THREADS 4
#define ROUNDS  5
#define N       512

extern "C" __global__ void step(unsigned *v, unsigned factor)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	v[i] = v[i] * factor + i;
}

static void *work(void *arg)
{
	unsigned me = *(unsigned *)arg, factor = 2 * me + 3, v[N], expected[N], *dv;
	cudaStream_t stream;

	for (unsigned i = 0; i < N; i++) {
		v[i] = expected[i] = i ^ me;
		for (int r = 0; r < ROUNDS; r++)
			expected[i] = expected[i] * factor + i;
	}
	CU(cudaStreamCreate(&stream));
	CU(cudaMalloc(&dv, sizeof(v)));
	CU(cudaMemcpyAsync(dv, v, sizeof(v), cudaMemcpyHostToDevice, stream));
	for (int r = 0; r < ROUNDS; r++) {
		step<<<N / 128, 128, 0, stream>>>(dv, factor);
		CU(cudaGetLastError());
	}
	CU(cudaMemcpyAsync(v, dv, sizeof(v), cudaMemcpyDeviceToHost, stream));
	CU(cudaStreamSynchronize(stream));
	compare("v", v, expected, N);
	CU(cudaFree(dv));
	CU(cudaStreamDestroy(stream));
	return NULL;
}

int main()
{
	pthread_t thread[THREADS];
	unsigned index[THREADS];

	CU(cudaFree(0)); /* one thread initialises */
	for (unsigned t = 0; t < THREADS; t++) {
		index[t] = t;
		if (pthread_create(&thread[t], NULL, work, &index[t]) != 0)
			return 1;
	}
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	for (unsigned t = 0; t < THREADS * ROUNDS; t++)
		say_launch("step", dim3(N / 128), dim3(128));
	return finish();
}
