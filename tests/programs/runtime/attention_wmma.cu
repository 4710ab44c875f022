/* SPDX-License-Identifier: Apache-2.0
 *
 * The attention block with the matrix classes of mma.h: scores go through shared memory, because fragments are opaque.
 */
#include <mma.h>

#include "attention.h"

using namespace nvcuda;

static __device__ void store_as(float f, __half *v)
{
	*v = __float2half_rn(f);
}

static __device__ void store_as(float f, __nv_bfloat16 *v)
{
	*v = __float2bfloat16_rn(f);
}

static __device__ float load_as(__half v)
{
	return __half2float(v);
}

static __device__ float load_as(__nv_bfloat16 v)
{
	return __bfloat162float(v);
}

/* Lane r makes the weights of row r of the scores, and their sum. */
template <typename T> static __device__ void soften(const float *score, T *weight, float *sums)
{
	const int row = threadIdx.x;
	float max = -INFINITY, sum = 0;

	if (row >= ROWS)
		return;
	for (int j = 0; j < KEYS; j++)
		max = fmaxf(max, score[row * KEYS + j]);
	for (int j = 0; j < KEYS; j++) {
		store_as(exp2f((score[row * KEYS + j] - max) * (SCALE * LOG2E)), &weight[row * KEYS + j]);
		sum += load_as(weight[row * KEYS + j]);
	}
	sums[row] = sum;
}

template <typename T> static __device__ void attend(const T *q, const T *k, const T *v, float *out)
{
	__shared__ __align__(32) float score[ROWS * KEYS], result[ROWS * DEPTH], sums[ROWS];
	__shared__ __align__(32) T weight[ROWS * KEYS];
	const int row0 = blockIdx.x * ROWS;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> transposed;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> b;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;

	for (int j = 0; j < KEYS; j += 16) {
		wmma::fill_fragment(sum, 0.0f);
		for (int d = 0; d < DEPTH; d += 16) {
			wmma::load_matrix_sync(a, q + row0 * DEPTH + d, DEPTH);
			wmma::load_matrix_sync(transposed, k + j * DEPTH + d, DEPTH);
			wmma::mma_sync(sum, a, transposed, sum);
		}
		wmma::store_matrix_sync(score + j, sum, KEYS, wmma::mem_row_major);
	}
	__syncwarp();
	soften(score, weight, sums);
	__syncwarp();
	for (int d = 0; d < DEPTH; d += 16) {
		wmma::fill_fragment(sum, 0.0f);
		for (int j = 0; j < KEYS; j += 16) {
			wmma::load_matrix_sync(a, weight + j, KEYS);
			wmma::load_matrix_sync(b, v + j * DEPTH + d, DEPTH);
			wmma::mma_sync(sum, a, b, sum);
		}
		wmma::store_matrix_sync(result + d, sum, DEPTH, wmma::mem_row_major);
	}
	__syncwarp();
#pragma unroll 1
	for (int i = threadIdx.x; i < ROWS * DEPTH; i += 32)
		out[row0 * DEPTH + i] = result[i] / sums[i / DEPTH];
}

extern "C" __global__ void attention_wmma_f16(const __half *q, const __half *k, const __half *v, float *out)
{
	attend(q, k, v, out);
}

extern "C" __global__ void attention_wmma_bf16(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
					       const __nv_bfloat16 *v, float *out)
{
	attend(q, k, v, out);
}

int main()
{
	static attention<__half> f16;
	static attention<__nv_bfloat16> bf16;

	make_inputs(&f16, 19);
	RUN_ATTENTION(attention_wmma_f16, __half, &f16);
	check_outputs("f16", &f16, 0x1p-11);
	make_inputs(&bf16, 20);
	RUN_ATTENTION(attention_wmma_bf16, __nv_bfloat16, &bf16);
	check_outputs("bf16", &bf16, 0x1p-8);
	return finish();
}
