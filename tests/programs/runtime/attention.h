/* SPDX-License-Identifier: Apache-2.0
 *
 * attention.h: what the attention programs share: softmax(Q K^T / sqrt(DEPTH)) V of one head, inputs, and the check
 * against the CPU. Q, K and V are rounded to the type first; the CPU computes in double from those values.
 */
#ifndef PROGRAMS_ATTENTION_H
#define PROGRAMS_ATTENTION_H

#include <cmath>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

#define QUERIES 48
#define KEYS    32
#define DEPTH   32
#define ROWS    16                   /* queries of a block, which is one warp */
#define SCALE   0.17677669529663687f /* 1 / sqrt(DEPTH) */
#define LOG2E   1.4426950408889634f

static inline double to_double(__half v)
{
	return (double)__half2float(v);
}

static inline double to_double(__nv_bfloat16 v)
{
	return (double)__bfloat162float(v);
}

static inline void from_float(float f, __half *v)
{
	*v = __float2half_rn(f);
}

static inline void from_float(float f, __nv_bfloat16 *v)
{
	*v = __float2bfloat16_rn(f);
}

template <typename T> struct attention {
	T q[QUERIES * DEPTH], k[KEYS * DEPTH], v[KEYS * DEPTH];
	float out[QUERIES * DEPTH];
};

template <typename T> static void make_inputs(attention<T> *a, uint32_t seed)
{
	for (int i = 0; i < QUERIES * DEPTH; i++)
		from_float(4 * next_float(&seed) - 2, &a->q[i]);
	for (int i = 0; i < KEYS * DEPTH; i++) {
		from_float(4 * next_float(&seed) - 2, &a->k[i]);
		from_float(2 * next_float(&seed) - 1, &a->v[i]);
	}
}

/* The weights have a relative error of e: half a unit of the type (the weights are rounded to it before they are
 * multiplied and added up), and what scores and exp2 contribute: DEPTH + 2 roundings of f32 in a score of at most
 * 4 DEPTH, times SCALE and log 2, a few in exp2, KEYS halves of f16's smallest number. An average of |v| <= 1 with such
 * weights is off by 2 e / (1 - e) at most. */
template <typename T> static void check_outputs(const char *what, const attention<T> *a, double half_unit)
{
	const double e = half_unit + (DEPTH + 2) * 4.0 * DEPTH * (double)SCALE * 0x1p-22 + 0x1p-18;
	const double bound = 2 * e / (1 - e);

	for (int row = 0; row < QUERIES; row++) {
		double s[KEYS], max = -INFINITY, sum = 0;

		for (int j = 0; j < KEYS; j++) {
			s[j] = 0;
			for (int d = 0; d < DEPTH; d++)
				s[j] += to_double(a->q[row * DEPTH + d]) * to_double(a->k[j * DEPTH + d]);
			s[j] *= (double)SCALE;
			max = s[j] > max ? s[j] : max;
		}
		for (int j = 0; j < KEYS; j++)
			sum += s[j] = exp(s[j] - max);
		for (int d = 0; d < DEPTH; d++) {
			double want = 0, got = (double)a->out[row * DEPTH + d];

			for (int j = 0; j < KEYS; j++)
				want += s[j] / sum * to_double(a->v[j * DEPTH + d]);
			if (!(fabs(got - want) <= bound)) {
				fprintf(stderr, "%s: row %d column %d is %.9g, expected %.9g within %.2g\n",
					what, row, d, got, want, bound);
				exit(1);
			}
		}
	}
}

/* Copies in, launches, copies out. */
#define RUN_ATTENTION(kernel, T, a)                                                       \
	do {                                                                              \
		T *dq, *dk, *dv;                                                          \
		float *dout;                                                              \
                                                                                          \
		CU(cudaMalloc(&dq, sizeof((a)->q)));                                      \
		CU(cudaMalloc(&dk, sizeof((a)->k)));                                      \
		CU(cudaMalloc(&dv, sizeof((a)->v)));                                      \
		CU(cudaMalloc(&dout, sizeof((a)->out)));                                  \
		CU(cudaMemcpy(dq, (a)->q, sizeof((a)->q), cudaMemcpyHostToDevice));       \
		CU(cudaMemcpy(dk, (a)->k, sizeof((a)->k), cudaMemcpyHostToDevice));       \
		CU(cudaMemcpy(dv, (a)->v, sizeof((a)->v), cudaMemcpyHostToDevice));       \
		LAUNCH(kernel, dim3(QUERIES / ROWS), dim3(32), 0, 0, dq, dk, dv, dout);   \
		CU(cudaMemcpy((a)->out, dout, sizeof((a)->out), cudaMemcpyDeviceToHost)); \
		CU(cudaFree(dq));                                                         \
		CU(cudaFree(dk));                                                         \
		CU(cudaFree(dv));                                                         \
		CU(cudaFree(dout));                                                       \
	} while (0)

#endif
