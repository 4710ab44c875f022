/* SPDX-License-Identifier: Apache-2.0
 *
 * Stencils, images, fields. */
#include "device.h"

__global__ void heat_2d(int width, int height, float k, const float *in, float *out)
{
	int x = (int)global_x(), y = (int)(block_y() * 8 + thread_y());

	if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
		return;
	int at = y * width + x;
	float c = in[at];
	out[at] = c + k * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] - 4.0f * c);
}

__global__ void laplace_3d(int nx, int ny, int nz, const double *in, double *out)
{
	int x = (int)global_x(), y = (int)(block_y() * 4 + thread_y());

	if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
		return;
	for (int z = 1; z < nz - 1; z++) {
		long at = ((long)z * ny + y) * nx + x;
		out[at] = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - (long)nx * ny] +
			  in[at + (long)nx * ny] - 6.0 * in[at];
	}
}

/* 5 x 5 mean of bytes, with edges repeated. */
__global__ void blur(int width, int height, const u8 *in, u8 *out)
{
	int x = (int)global_x(), y = (int)(block_y() * 8 + thread_y());
	u32 sum = 0;

	if (x >= width || y >= height)
		return;
	for (int dy = -2; dy <= 2; dy++)
		for (int dx = -2; dx <= 2; dx++) {
			int px = x + dx < 0 ? 0 : x + dx >= width ? width - 1 : x + dx;
			int py = y + dy < 0 ? 0 : y + dy >= height ? height - 1 : y + dy;
			sum += in[py * width + px];
		}
	out[y * width + x] = (u8)(sum / 25);
}

struct pixel {
	u8 r, g, b, a;
};

__global__ void to_grey(u32 n, const struct pixel *in, float *out)
{
	for (u32 i = global_x(); i < n; i += grid_width() * block_width())
		out[i] = 0.299f * in[i].r + 0.587f * in[i].g + 0.114f * in[i].b;
}

__global__ void mandelbrot(u32 width, u32 limit, double x0, double y0, double step, u32 *out)
{
	u32 px = global_x(), py = block_y();
	double cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
	u32 n = 0;

	if (px >= width)
		return;
	for (; n < limit && x * x + y * y < 4.0; n++) {
		double next = x * x - y * y + cx;
		y = 2.0 * x * y + cy;
		x = next;
	}
	out[py * width + px] = n;
}

/* A walk on a table of 256 directions, 64 bits of state a thread. */
__global__ void random_walk(u32 steps, u64 seed, const int *moves, int *where)
{
	u64 state = seed + global_x() * 0x9e3779b97f4a7c15ull;
	int at = 0;

	for (u32 k = 0; k < steps; k++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		at += moves[(u32)(state >> 24) & 255];
	}
	where[global_x()] = at;
}
