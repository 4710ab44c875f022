/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#define N      16384
#define BLOCK  256
#define FLOATS 2048

static void sum_words(void)
{
	static uint32_t in[N];
	uint32_t n = N, seed = 3, expected = 0, total;

	for (int i = 0; i < N; i++)
		expected += in[i] = host_random(&seed);
	CUfunction reduce = host_kernel("reduce_sum");
	CUdeviceptr din = host_buffer(in, sizeof(in)), dtotal = host_buffer(NULL, sizeof(total));

	CU(cuMemsetD32_v2(dtotal, 0, 1));
	host_launch(reduce, "reduce_sum", (struct dim){8, 1, 1}, (struct dim){BLOCK, 1, 1}, 0, NULL,
		    (void *[]){&n, &din, &dtotal});
	host_read(&total, dtotal, sizeof(total));
	host_compare_u32("total", &total, &expected, 1);
	CU(cuMemFree_v2(din));
	CU(cuMemFree_v2(dtotal));
}

/* The sum of BLOCK floats as a balanced tree: halves are added element by element. */
static float tree_sum(const float *in)
{
	float v[BLOCK];

	for (int i = 0; i < BLOCK; i++)
		v[i] = in[i];
	for (int half = BLOCK / 2; half > 0; half /= 2) {
		for (int i = 0; i < half; i++)
			v[i] += v[i + half];
	}
	return v[0];
}

static void sum_floats(void)
{
	static float in[FLOATS];
	float expected[FLOATS / BLOCK], out[FLOATS / BLOCK];
	uint32_t seed = 4;

	for (int i = 0; i < FLOATS; i++)
		in[i] = host_random_float(&seed) * 100.0f;
	for (int b = 0; b < FLOATS / BLOCK; b++)
		expected[b] = tree_sum(in + b * BLOCK);
	CUfunction reduce = host_kernel("reduce_tree");
	CUdeviceptr din = host_buffer(in, sizeof(in)), dout = host_buffer(NULL, sizeof(out));

	host_launch(reduce, "reduce_tree", (struct dim){FLOATS / BLOCK, 1, 1}, (struct dim){BLOCK, 1, 1},
		    BLOCK * sizeof(float), NULL, (void *[]){&din, &dout});
	host_read(out, dout, sizeof(out));
	host_compare_f32("block_sum", out, expected, COUNT(out));
	CU(cuMemFree_v2(din));
	CU(cuMemFree_v2(dout));
}

int main(void)
{
	host_start();
	sum_words();
	sum_floats();
	return host_finish();
}
