/* SPDX-License-Identifier: Apache-2.0
 *
 * A 5-point stencil with its weights in constant memory. The two halves of the row are computed in two
 * streams; each step needs the neighbour's edge of the step before, so the streams wait for each other's
 * events.
 */
#include <cmath>

#include "check.h"

#define N      4096
#define HALF   (N / 2)
#define STEPS  4
#define RADIUS 2

__constant__ float weights[2 * RADIUS + 1];

extern "C" __global__ void stencil(const float *in, float *out, int first)
{
	int i = first + blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (int k = -RADIUS; k <= RADIUS; k++) {
		int j = min(max(i + k, 0), N - 1);

		sum = __fmaf_rn(weights[k + RADIUS], in[j], sum);
	}
	out[i] = sum;
}

static void stencil_on_host(const float *w, const float *in, float *out)
{
	for (int i = 0; i < N; i++) {
		float sum = 0;

		for (int k = 0; k < 2 * RADIUS + 1; k++) {
			int j = i + k - RADIUS;

			j = j < 0 ? 0 : j > N - 1 ? N - 1 : j;
			sum = fmaf(w[k], in[j], sum);
		}
		out[i] = sum;
	}
}

/* Leaves the result in d[STEPS % 2]. */
static void run_steps(float *d[2], cudaStream_t stream[2])
{
	cudaEvent_t done[2];

	for (int h = 0; h < 2; h++)
		CU(cudaEventCreateWithFlags(&done[h], cudaEventDisableTiming));
	for (int step = 0; step < STEPS; step++) {
		for (int h = 0; h < 2; h++) {
			if (step > 0)
				CU(cudaStreamWaitEvent(stream[h], done[1 - h], 0));
		}
		for (int h = 0; h < 2; h++)
			LAUNCH(stencil, dim3(HALF / 256), dim3(256), 0, stream[h], d[step % 2],
			       d[1 - step % 2], h * HALF);
		for (int h = 0; h < 2; h++)
			CU(cudaEventRecord(done[h], stream[h]));
	}
	for (int h = 0; h < 2; h++) {
		CU(cudaEventSynchronize(done[h]));
		CU(cudaEventDestroy(done[h]));
	}
}

int main()
{
	static float in[N], host[2][N], out[N];
	const float w[2 * RADIUS + 1] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
	cudaStream_t stream[2];
	cudaEvent_t begin, end;
	float *d[2], ms = -1;
	uint32_t seed = 15;

	for (int i = 0; i < N; i++)
		in[i] = host[0][i] = next_float(&seed);
	for (int step = 0; step < STEPS; step++)
		stencil_on_host(w, host[step % 2], host[1 - step % 2]);
	CU(cudaMemcpyToSymbol(weights, w, sizeof(w)));
	for (int i = 0; i < 2; i++) {
		CU(cudaMalloc(&d[i], sizeof(in)));
		CU(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
	}
	CU(cudaEventCreate(&begin));
	CU(cudaEventCreate(&end));
	CU(cudaMemcpy(d[0], in, sizeof(in), cudaMemcpyHostToDevice));
	CU(cudaEventRecord(begin, stream[0]));
	run_steps(d, stream);
	CU(cudaEventRecord(end, stream[0]));
	CU(cudaEventSynchronize(end));
	CU(cudaEventElapsedTime(&ms, begin, end));
	if (!(ms >= 0)) {
		fprintf(stderr, "elapsed time is %g ms\n", (double)ms);
		return 1;
	}
	CU(cudaMemcpy(out, d[STEPS % 2], sizeof(out), cudaMemcpyDeviceToHost));
	compare("out", out, host[STEPS % 2], N);
	for (int i = 0; i < 2; i++) {
		CU(cudaStreamDestroy(stream[i]));
		CU(cudaFree(d[i]));
	}
	CU(cudaEventDestroy(begin));
	CU(cudaEventDestroy(end));
	return finish();
}
