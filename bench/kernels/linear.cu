/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense linear algebra. */
#include "device.h"

__global__ void gemv(u32 rows, u32 columns, const float *a, const float *x, float *y)
{
	u32 row = global_x();
	float sum = 0.0f;

	if (row >= rows)
		return;
	for (u32 k = 0; k < columns; k++)
		sum = fma_rn(a[row * columns + k], x[k], sum);
	y[row] = sum;
}

/* 64 x 64 of c by 16 x 16 threads: each has 4 x 4 sums in registers. */
__global__ void matmul_registers(u32 n, const float *a, const float *b, float *c)
{
	__shared__ float ta[16][64], tb[16][64];
	u32 tx = thread_x(), ty = thread_y(), t = ty * 16 + tx;
	float sum[4][4] = {};

	for (u32 k0 = 0; k0 < n; k0 += 16) {
		for (u32 i = t; i < 16 * 64; i += 256) {
			ta[i / 64][i % 64] = a[(block_y() * 64 + i % 64) * n + k0 + i / 64];
			tb[i / 64][i % 64] = b[(k0 + i / 64) * n + block_x() * 64 + i % 64];
		}
		barrier();
		for (u32 k = 0; k < 16; k++)
			for (u32 i = 0; i < 4; i++)
				for (u32 j = 0; j < 4; j++)
					sum[i][j] = fma_rn(ta[k][ty * 4 + i], tb[k][tx * 4 + j], sum[i][j]);
		barrier();
	}
	for (u32 i = 0; i < 4; i++)
		for (u32 j = 0; j < 4; j++)
			c[(block_y() * 64 + ty * 4 + i) * n + block_x() * 64 + tx * 4 + j] = sum[i][j];
}

__global__ void matmul_double(u32 n, const double *a, const double *b, double *c)
{
	u32 col = block_x() * 16 + thread_x(), row = block_y() * 16 + thread_y();
	double sum = 0.0;

	for (u32 k = 0; k < n; k++)
		sum = __builtin_fma(a[row * n + k], b[k * n + col], sum);
	c[row * n + col] = sum;
}

__global__ void transpose(u32 width, u32 height, const float *in, float *out)
{
	__shared__ float tile[32][33];
	u32 x = block_x() * 32 + thread_x(), y = block_y() * 32 + thread_y();

	for (u32 k = 0; k < 32; k += 8)
		if (x < width && y + k < height)
			tile[thread_y() + k][thread_x()] = in[(y + k) * width + x];
	barrier();
	x = block_y() * 32 + thread_x();
	y = block_x() * 32 + thread_y();
	for (u32 k = 0; k < 32; k += 8)
		if (x < height && y + k < width)
			out[(y + k) * height + x] = tile[thread_x()][thread_y() + k];
}

/* Solves small triangular systems, one a thread. */
__global__ void triangular(u32 n, u32 systems, const float *l, float *x)
{
	u32 s = global_x();

	if (s >= systems)
		return;
	for (u32 i = 0; i < n; i++) {
		float v = x[i * systems + s];
		for (u32 k = 0; k < i; k++)
			v = fma_rn(-l[i * n + k], x[k * systems + s], v);
		x[i * systems + s] = v / l[i * n + i];
	}
}
