/* SPDX-License-Identifier: Apache-2.0
 *
 * amd.h: what tests/programs/driver/device.h offers to kernels, for clang's direct compilation for AMD GPUs
 * (`-x hip -DPROGRAMS_DEVICE_H -include amd.h`), with the meaning that HIP's own headers give it.
 */
#ifndef BENCH_KERNELS_AMD_H
#define BENCH_KERNELS_AMD_H

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
	return __builtin_amdgcn_workitem_id_x();
}
DEVICE_INLINE u32 thread_y(void)
{
	return __builtin_amdgcn_workitem_id_y();
}
DEVICE_INLINE u32 block_x(void)
{
	return __builtin_amdgcn_workgroup_id_x();
}
DEVICE_INLINE u32 block_y(void)
{
	return __builtin_amdgcn_workgroup_id_y();
}
DEVICE_INLINE u32 block_width(void)
{
	return __builtin_amdgcn_workgroup_size_x();
}
/* Blocks: the first hidden argument. */
DEVICE_INLINE u32 grid_width(void)
{
	return *(const __attribute__((address_space(4))) u32 *)__builtin_amdgcn_implicitarg_ptr();
}
DEVICE_INLINE u32 global_x(void)
{
	return block_x() * block_width() + thread_x();
}
DEVICE_INLINE void barrier(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
DEVICE_INLINE void fence(void)
{
	__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
/* Of 32 lanes, as HIP's __shfl_down with that width. */
DEVICE_INLINE u32 shuffle_down(u32 value, u32 delta)
{
	u32 lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
	u32 from = (lane & 31) + delta >= 32 ? lane : lane + delta;
	return (u32)__builtin_amdgcn_ds_bpermute((int)(from << 2), (int)value);
}
DEVICE_INLINE u32 atomic_add(u32 *p, u32 v)
{
	return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE_INLINE u32 atomic_min(u32 *p, u32 v)
{
	return __hip_atomic_fetch_min(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE_INLINE u32 atomic_cas(u32 *p, u32 expected, u32 v)
{
	__hip_atomic_compare_exchange_strong(p, &expected, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
					     __HIP_MEMORY_SCOPE_AGENT);
	return expected;
}
DEVICE_INLINE u32 atomic_exchange(u32 *p, u32 v)
{
	return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE_INLINE float fma_rn(float a, float b, float c)
{
	return __builtin_fmaf(a, b, c);
}
DEVICE_INLINE float sqrt_rn(float a)
{
	return __builtin_sqrtf(a);
}

#endif
