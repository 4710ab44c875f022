/* SPDX-License-Identifier: Apache-2.0
 *
 * A block's threads together: histograms, scans, normalisation. */
#include "device.h"

__global__ void histogram(u32 n, const u8 *in, u32 *bins)
{
	__shared__ u32 mine[256];

	mine[thread_x() & 255] = 0;
	barrier();
	for (u32 i = global_x(); i < n; i += grid_width() * block_width())
		atomic_add(&mine[in[i]], 1);
	barrier();
	if (thread_x() < 256)
		atomic_add(&bins[thread_x()], mine[thread_x()]);
}

/* Inclusive sums of 256 elements a block. */
__global__ void scan(u32 n, const u32 *in, u32 *out, u32 *totals)
{
	__shared__ u32 a[2][256];
	u32 t = thread_x(), i = global_x(), from = 0;

	a[0][t] = i < n ? in[i] : 0;
	barrier();
	for (u32 d = 1; d < 256; d *= 2) {
		a[1 - from][t] = t >= d ? a[from][t] + a[from][t - d] : a[from][t];
		from = 1 - from;
		barrier();
	}
	if (i < n)
		out[i] = a[from][t];
	if (t == 255)
		totals[block_x()] = a[from][t];
}

/* Rows to mean 0 and variance 1. */
__global__ void normalize(u32 columns, float epsilon, const float *in, float *out)
{
	__shared__ float sums[256], squares[256];
	const float *row = in + (u64)block_x() * columns;
	float sum = 0.0f, square = 0.0f;

	for (u32 k = thread_x(); k < columns; k += 256) {
		float v = row[k];
		sum += v;
		square = fma_rn(v, v, square);
	}
	sums[thread_x()] = sum;
	squares[thread_x()] = square;
	barrier();
	for (u32 half = 128; half; half /= 2) {
		if (thread_x() < half) {
			sums[thread_x()] += sums[thread_x() + half];
			squares[thread_x()] += squares[thread_x() + half];
		}
		barrier();
	}
	float mean = sums[0] / columns;
	float scale = 1.0f / sqrt_rn(squares[0] / columns - mean * mean + epsilon);
	for (u32 k = thread_x(); k < columns; k += 256)
		out[(u64)block_x() * columns + k] = (row[k] - mean) * scale;
}

/* The largest of a row, its place, by lanes. */
__global__ void row_argmax(u32 columns, const u32 *in, u32 *best, u32 *place)
{
	u32 row = block_x() * (block_width() / 32) + thread_x() / 32, lane = thread_x() % 32;
	u32 value = 0, at = 0;

	for (u32 k = lane; k < columns; k += 32) {
		u32 v = in[(u64)row * columns + k];
		if (v > value) {
			value = v;
			at = k;
		}
	}
	for (u32 d = 16; d; d /= 2) {
		u32 v = shuffle_down(value, d), p = shuffle_down(at, d);
		if (v > value || (v == value && p < at)) {
			value = v;
			at = p;
		}
	}
	if (lane == 0) {
		best[row] = value;
		place[row] = at;
	}
}

/* Keys sought in a sorted table. */
__global__ void binary_search(u32 n, u32 size, const u64 *table, const u64 *keys, u32 *found)
{
	u32 i = global_x(), low = 0, high = size;

	if (i >= n)
		return;
	while (low < high) {
		u32 middle = low + (high - low) / 2;
		if (table[middle] < keys[i])
			low = middle + 1;
		else
			high = middle;
	}
	found[i] = low;
}

struct particle {
	float x, y, z, mass, vx, vy, vz, charge;
};

__global__ void move_particles(u32 n, float dt, float gx, float gy, float gz, struct particle *p)
{
	u32 i = global_x();

	if (i >= n)
		return;
	struct particle q = p[i];
	q.vx += gx * dt;
	q.vy += gy * dt;
	q.vz += gz * dt;
	q.x += q.vx * dt;
	q.y += q.vy * dt;
	q.z += q.vz * dt;
	if (q.z < 0.0f) {
		q.z = -q.z;
		q.vz = -0.5f * q.vz;
	}
	p[i] = q;
}
