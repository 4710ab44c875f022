/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of 0 to 100 entries. Values and vector are small integers over 16, so every sum is exact in double precision and
 * has the same bits in any order. */
#include "host.h"

#define ROWS    300
#define COLUMNS 500
#define MOST    100
#define BLOCK   128

static uint32_t starts[ROWS + 1], columns[ROWS * MOST];
static double values[ROWS * MOST], x[COLUMNS], expected[ROWS];

static double random_sixteenths(uint32_t *seed)
{
	return ((int)(host_random(seed) % 2001) - 1000) / 16.0;
}

static void make_matrix(void)
{
	uint32_t seed = 24, n = 0;

	for (int i = 0; i < COLUMNS; i++)
		x[i] = random_sixteenths(&seed);
	for (uint32_t row = 0; row < ROWS; row++) {
		uint32_t entries = row % 10 == 9 ? 0 : host_random(&seed) % (MOST + 1);

		starts[row] = n;
		for (uint32_t i = 0; i < entries; i++, n++) {
			columns[n] = host_random(&seed) % COLUMNS;
			values[n] = random_sixteenths(&seed);
			expected[row] += values[n] * x[columns[n]];
		}
	}
	starts[ROWS] = n;
}

static void multiply(const char *name, unsigned threads_per_row, CUdeviceptr matrix[4])
{
	static double y[ROWS];
	uint32_t rows = ROWS;
	CUfunction kernel = host_kernel(name);
	CUdeviceptr dy = host_buffer(NULL, sizeof(y));
	unsigned blocks = (ROWS * threads_per_row + BLOCK - 1) / BLOCK;

	host_launch(kernel, name, (struct dim){blocks, 1, 1}, (struct dim){BLOCK, 1, 1}, 0, NULL,
		    (void *[]){&rows, &matrix[0], &matrix[1], &matrix[2], &matrix[3], &dy});
	host_read(y, dy, sizeof(y));
	for (int row = 0; row < ROWS; row++) {
		if (y[row] != expected[row])
			host_wrong("%s: y[%d] is %.17g, expected %.17g", name, row, y[row], expected[row]);
	}
	CU(cuMemFree_v2(dy));
}

int main(void)
{
	make_matrix();
	host_start();
	CUdeviceptr matrix[4] = {host_buffer(starts, sizeof(starts)), host_buffer(columns, sizeof(columns)),
				 host_buffer(values, sizeof(values)), host_buffer(x, sizeof(x))};

	multiply("spmv_rows", 1, matrix);
	multiply("spmv_warps", 32, matrix);
	for (int i = 0; i < 4; i++)
		CU(cuMemFree_v2(matrix[i]));
	return host_finish();
}
