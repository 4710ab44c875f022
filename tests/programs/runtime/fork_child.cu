/* SPDX-License-Identifier: Apache-2.0
 *
 * A fork before CUDA is used (a context does not survive a fork): both processes then work on the device,
 * and both belong into the trace. The parent waits first, so that the text has one order.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define N 256

extern "C" __global__ void fill(unsigned *v, unsigned factor)
{
	v[threadIdx.x] = threadIdx.x * factor;
}

static void work(unsigned factor)
{
	unsigned v[N], expected[N], *dv;

	for (unsigned i = 0; i < N; i++)
		expected[i] = i * factor;
	CU(cudaMalloc(&dv, sizeof(v)));
	LAUNCH(fill, dim3(1), dim3(N), 0, 0, dv, factor);
	CU(cudaMemcpy(v, dv, sizeof(v), cudaMemcpyDeviceToHost));
	compare("v", v, expected, N);
	CU(cudaFree(dv));
}

int main()
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		work(3);
		printf("child done\n");
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "the child failed\n");
		return 1;
	}
	work(5);
	return finish();
}
