/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#define WIDTH  64
#define HEIGHT 48
#define LIMIT  200

/* Neighbouring threads leave the loop at different times. Explicitly rounded operations: no contraction, so
 * that the host's counts are the same. */
extern "C" __global__ void mandelbrot(int *count, double x0, double y0, double step)
{
	int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
	double cx = __dadd_rn(x0, __dmul_rn(px, step)), cy = __dadd_rn(y0, __dmul_rn(py, step)), x = 0, y = 0;
	int n = 0;

	while (n < LIMIT) {
		double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);

		if (__dadd_rn(xx, yy) > 4.0)
			break;
		y = __dadd_rn(__dmul_rn(__dmul_rn(2.0, x), y), cy);
		x = __dadd_rn(__dsub_rn(xx, yy), cx);
		n++;
	}
	count[py * WIDTH + px] = n;
}

static int escape_count(double cx, double cy)
{
	double x = 0, y = 0;

	for (int n = 0; n < LIMIT; n++) {
		double xx = x * x, yy = y * y;

		if (xx + yy > 4.0)
			return n;
		y = 2.0 * x * y + cy;
		x = xx - yy + cx;
	}
	return LIMIT;
}

int main()
{
	static int count[WIDTH * HEIGHT], expected[WIDTH * HEIGHT];
	double x0 = -2.1, y0 = -1.2, step = 0.05;
	int *dcount;

	for (int py = 0; py < HEIGHT; py++) {
		for (int px = 0; px < WIDTH; px++)
			expected[py * WIDTH + px] = escape_count(x0 + px * step, y0 + py * step);
	}
	CU(cudaMalloc(&dcount, sizeof(count)));
	LAUNCH(mandelbrot, dim3(WIDTH / 16, HEIGHT / 8), dim3(16, 8), 0, 0, dcount, x0, y0, step);
	CU(cudaMemcpy(count, dcount, sizeof(count), cudaMemcpyDeviceToHost));
	compare("count", count, expected, WIDTH * HEIGHT);
	CU(cudaFree(dcount));
	return finish();
}
