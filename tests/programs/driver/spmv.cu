/* SPDX-License-Identifier: Apache-2.0
 *
 * y = A x for a sparse matrix in compressed rows, in double precision. */
#include "device.h"

/* One thread per row. */
__global__ void spmv_rows(u32 rows, const u32 *starts, const u32 *columns, const double *values,
			  const double *x, double *y)
{
	u32 row = global_x();
	double sum = 0;

	if (row >= rows)
		return;
	for (u32 i = starts[row]; i < starts[row + 1]; i++)
		sum += values[i] * x[columns[i]];
	y[row] = sum;
}

DEVICE_INLINE double shuffle_down_f64(double value, u32 delta)
{
	u64 bits = __builtin_bit_cast(u64, value);
	u64 low = shuffle_down((u32)bits, delta), high = shuffle_down((u32)(bits >> 32), delta);

	return __builtin_bit_cast(double, high << 32 | low);
}

/* One warp per row: each lane takes every 32nd entry, the lanes' sums are added as a tree. */
__global__ void spmv_warps(u32 rows, const u32 *starts, const u32 *columns, const double *values,
			   const double *x, double *y)
{
	u32 row = global_x() / 32, lane = thread_x() % 32;
	double sum = 0;

	if (row >= rows)
		return;
	for (u32 i = starts[row] + lane; i < starts[row + 1]; i += 32)
		sum += values[i] * x[columns[i]];
	for (u32 delta = 16; delta > 0; delta /= 2)
		sum += shuffle_down_f64(sum, delta);
	if (lane == 0)
		y[row] = sum;
}
