/* SPDX-License-Identifier: Apache-2.0
 *
 * An attention block as fused kernels make it: tiles in shared memory, ldmatrix, mma.sync, the weights kept in registers
 * between the two products. In f16 and in bf16.
 */
#include "attention.h"

/* Four 8 x 8 matrices of 16-bit elements; `row` is this lane's row of one of them. */
static __device__ void load_four(unsigned r[4], const void *row)
{
	unsigned address = (unsigned)__cvta_generic_to_shared(row);

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
		     : "r"(address));
}

static __device__ void load_two(unsigned r[2], const void *row)
{
	unsigned address = (unsigned)__cvta_generic_to_shared(row);

	asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
		     : "=r"(r[0]), "=r"(r[1])
		     : "r"(address));
}

static __device__ void load_two_transposed(unsigned r[2], const void *row)
{
	unsigned address = (unsigned)__cvta_generic_to_shared(row);

	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
		     : "=r"(r[0]), "=r"(r[1])
		     : "r"(address));
}

#define MMA(type)                                                           \
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type \
		     ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "            \
		     "{%8, %9}, {%0, %1, %2, %3};"                          \
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])       \
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

static __device__ void multiply(float d[4], const unsigned a[4], const unsigned b[2], __half)
{
	MMA("f16");
}

static __device__ void multiply(float d[4], const unsigned a[4], const unsigned b[2], __nv_bfloat16)
{
	MMA("bf16");
}

static __device__ unsigned pack(float x, float y, __half)
{
	__half2 h = __floats2half2_rn(x, y);

	return *(unsigned *)&h;
}

static __device__ unsigned pack(float x, float y, __nv_bfloat16)
{
	__nv_bfloat162 h = __floats2bfloat162_rn(x, y);

	return *(unsigned *)&h;
}

static __device__ float sum_of(unsigned pair, __half)
{
	__half2 h = *(__half2 *)&pair;

	return __low2float(h) + __high2float(h);
}

static __device__ float sum_of(unsigned pair, __nv_bfloat16)
{
	__nv_bfloat162 h = *(__nv_bfloat162 *)&pair;

	return __low2float(h) + __high2float(h);
}

/* Over the four lanes that share a row. */
static __device__ float row_max(float x)
{
	x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
	return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

static __device__ float row_sum(float x)
{
	x += __shfl_xor_sync(0xffffffff, x, 1);
	return x + __shfl_xor_sync(0xffffffff, x, 2);
}

template <typename T> static __device__ void copy_tile(T *to, const T *from, int count)
{
	for (int i = threadIdx.x; i < count; i += 32)
		to[i] = from[i];
}

template <typename T>
static __device__ void attend(const T *__restrict__ q, const T *__restrict__ k, const T *__restrict__ v,
			      float *out)
{
	__shared__ __align__(16) T sq[ROWS * DEPTH], sk[KEYS * DEPTH], sv[KEYS * DEPTH];
	const int lane = threadIdx.x, row0 = blockIdx.x * ROWS;
	float score[KEYS / 8][4] = {}, o[DEPTH / 8][4] = {}, sum[2] = {};
	unsigned a[4], b[2], weight[KEYS / 8][2];

	copy_tile(sq, q + row0 * DEPTH, ROWS * DEPTH);
	copy_tile(sk, k, KEYS * DEPTH);
	copy_tile(sv, v, KEYS * DEPTH);
	__syncthreads();
#pragma unroll
	for (int d = 0; d < DEPTH; d += 16) {
		load_four(a, sq + lane % 16 * DEPTH + d + lane / 16 * 8);
#pragma unroll
		for (int j = 0; j < KEYS / 8; j++) {
			load_two(b, sk + (j * 8 + lane % 8) * DEPTH + d + lane / 8 % 2 * 8);
			multiply(score[j], a, b, T());
		}
	}
	float max[2] = {-INFINITY, -INFINITY};
#pragma unroll
	for (int j = 0; j < KEYS / 8; j++)
		for (int h = 0; h < 2; h++)
			max[h] = fmaxf(max[h], fmaxf(score[j][2 * h], score[j][2 * h + 1]));
	max[0] = row_max(max[0]);
	max[1] = row_max(max[1]);
#pragma unroll
	for (int j = 0; j < KEYS / 8; j++)
		for (int h = 0; h < 2; h++) {
			float x = exp2f((score[j][2 * h] - max[h]) * (SCALE * LOG2E));
			float y = exp2f((score[j][2 * h + 1] - max[h]) * (SCALE * LOG2E));

			weight[j][h] = pack(x, y, T());
			sum[h] += sum_of(weight[j][h], T());
		}
	sum[0] = row_sum(sum[0]);
	sum[1] = row_sum(sum[1]);
	/* An accumulator's registers, packed, are A's. */
#pragma unroll
	for (int j = 0; j < KEYS; j += 16) {
		unsigned p[4] = {weight[j / 8][0], weight[j / 8][1], weight[j / 8 + 1][0],
				 weight[j / 8 + 1][1]};
#pragma unroll
		for (int d = 0; d < DEPTH / 8; d++) {
			load_two_transposed(b, sv + (j + lane % 16) * DEPTH + d * 8);
			multiply(o[d], p, b, T());
		}
	}
#pragma unroll
	for (int d = 0; d < DEPTH / 8; d++)
		for (int i = 0; i < 4; i++)
			out[(row0 + lane / 4 + i / 2 * 8) * DEPTH + d * 8 + lane % 4 * 2 + i % 2] =
				o[d][i] / sum[i / 2];
}

extern "C" __global__ void attention_f16(const __half *q, const __half *k, const __half *v, float *out)
{
	attend(q, k, v, out);
}

extern "C" __global__ void attention_bf16(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
					  const __nv_bfloat16 *v, float *out)
{
	attend(q, k, v, out);
}

int main()
{
	static attention<__half> f16;
	static attention<__nv_bfloat16> bf16;

	make_inputs(&f16, 17);
	RUN_ATTENTION(attention_f16, __half, &f16);
	check_outputs("f16", &f16, 0x1p-11);
	make_inputs(&bf16, 18);
	RUN_ATTENTION(attention_bf16, __nv_bfloat16, &bf16);
	check_outputs("bf16", &bf16, 0x1p-8);
	return finish();
}
