/* SPDX-License-Identifier: Apache-2.0
 *
 * The lanes of a warp, for files of the device library that only AMD GPUs execute. A warp is 32 lanes: a wave, or half
 * of one.
 */
#ifndef CUTRACE_DEVICE_LIBRARY_LANES_H
#define CUTRACE_DEVICE_LIBRARY_LANES_H

#include "zluda_core/compiler/device_library/device_library.h"

static inline uint32_t wave_lane(void)
{
	return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

static inline uint32_t warp_lane(void)
{
	return wave_lane() & 31;
}

/* What lane `lane` of this warp has as v. */
static inline uint32_t from_lane(uint32_t v, uint32_t lane)
{
	return (uint32_t)__builtin_amdgcn_ds_bpermute((int)(((wave_lane() & ~31u) | lane) << 2), (int)v);
}

#endif
