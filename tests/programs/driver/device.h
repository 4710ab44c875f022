/* SPDX-License-Identifier: Apache-2.0
 *
 * device.h: the little of CUDA C++ that our kernels use, for clang without a CUDA toolkit
 * (`clang -x cuda --cuda-device-only -nocudainc -nocudalib`). Everything is a compiler attribute
 * or builtin; nothing needs libdevice. Only the .cu files of this folder include it.
 */
#ifndef PROGRAMS_DEVICE_H
#define PROGRAMS_DEVICE_H

#define __global__   extern "C" __attribute__((global))
#define __device__   __attribute__((device))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define DEVICE_INLINE static inline __device__ __attribute__((always_inline))

DEVICE_INLINE u32 thread_x(void)
{
	return __nvvm_read_ptx_sreg_tid_x();
}
DEVICE_INLINE u32 thread_y(void)
{
	return __nvvm_read_ptx_sreg_tid_y();
}
DEVICE_INLINE u32 block_x(void)
{
	return __nvvm_read_ptx_sreg_ctaid_x();
}
DEVICE_INLINE u32 block_y(void)
{
	return __nvvm_read_ptx_sreg_ctaid_y();
}
DEVICE_INLINE u32 block_width(void)
{
	return __nvvm_read_ptx_sreg_ntid_x();
}
DEVICE_INLINE u32 grid_width(void)
{
	return __nvvm_read_ptx_sreg_nctaid_x();
}
/* Index of this thread in a one-dimensional grid. */
DEVICE_INLINE u32 global_x(void)
{
	return block_x() * block_width() + thread_x();
}
DEVICE_INLINE void barrier(void)
{
	__syncthreads();
}
DEVICE_INLINE void fence(void)
{
	__nvvm_membar_gl();
}
/* Value of the lane `delta` above; all 32 lanes take part. */
DEVICE_INLINE u32 shuffle_down(u32 value, u32 delta)
{
	return __nvvm_shfl_sync_down_i32(0xffffffffu, value, delta, 31);
}
DEVICE_INLINE u32 atomic_add(u32 *p, u32 v)
{
	return __nvvm_atom_add_gen_i((int *)p, v);
}
DEVICE_INLINE u32 atomic_min(u32 *p, u32 v)
{
	return __nvvm_atom_min_gen_ui(p, v);
}
DEVICE_INLINE u32 atomic_cas(u32 *p, u32 expected, u32 v)
{
	return __nvvm_atom_cas_gen_i((int *)p, expected, v);
}
DEVICE_INLINE u32 atomic_exchange(u32 *p, u32 v)
{
	return __nvvm_atom_xchg_gen_i((int *)p, v);
}
DEVICE_INLINE float fma_rn(float a, float b, float c)
{
	return __nvvm_fma_rn_f(a, b, c);
}
DEVICE_INLINE float sqrt_rn(float a)
{
	return __nvvm_sqrt_rn_f(a);
}
/* Becomes a call of vprintf with a packed argument block, as in nvcc's code. */
extern "C" __device__ int printf(const char *format, ...);

#endif
