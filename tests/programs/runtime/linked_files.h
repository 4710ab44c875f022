/* SPDX-License-Identifier: Apache-2.0
 *
 * What the three files of linked_files know of each other. */
#ifndef PROGRAMS_LINKED_FILES_H
#define PROGRAMS_LINKED_FILES_H

typedef float (*operation)(float a, float b);

extern __constant__ float weights[4]; /* linked_files_tables.cu, written by the host */
extern __device__ operation table[3]; /* the same: functions of linked_files_math.cu */
extern __device__ unsigned counter;   /* linked_files_math.cu */
extern __shared__ float tile[];       /* dynamic: one piece for all files */
__device__ float weigh(float v, unsigned i);
__device__ float add(float a, float b);
__device__ float multiply(float a, float b);
__device__ float larger(float a, float b);
__device__ void tile_put(unsigned i, float v);

/* In every file that uses it: weak. */
template <typename T> __device__ __noinline__ T clamped(T v, T low, T high)
{
	return v < low ? low : v > high ? high : v;
}

#endif
