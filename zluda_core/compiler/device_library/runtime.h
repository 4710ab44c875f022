/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the device library that use the run-time block share: pointers into it, who runs, one lane at a time.
 * On the host, where tests run, there is one lane, in block and thread 0.
 */
#ifndef CUTRACE_DEVICE_LIBRARY_RUNTIME_H
#define CUTRACE_DEVICE_LIBRARY_RUNTIME_H

#include "zluda_core/compiler/device_library/device_library.h"

#define CT_AT(type, address) ((ct_global type *)(uintptr_t)(address))

#ifdef __AMDGCN__

static inline uint32_t ct_lane(void)
{
	return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

static inline void ct_place(ct_global uint32_t *block, ct_global uint32_t *thread)
{
	block[0] = __builtin_amdgcn_workgroup_id_x();
	block[1] = __builtin_amdgcn_workgroup_id_y();
	block[2] = __builtin_amdgcn_workgroup_id_z();
	thread[0] = __builtin_amdgcn_workitem_id_x();
	thread[1] = __builtin_amdgcn_workitem_id_y();
	thread[2] = __builtin_amdgcn_workitem_id_z();
}

static inline void ct_pause(void)
{
	__builtin_amdgcn_s_sleep(1);
}

/* The statement that follows is executed by the active lanes one after another. The barrier at the end, which only the
 * compiler sees, keeps it from moving the statement behind the loop, where all lanes would meet in it. */
#	define CT_EACH_LANE                                                          \
		for (uint32_t ct_done = 0; !ct_done; __builtin_amdgcn_wave_barrier()) \
			if (__builtin_amdgcn_readfirstlane((int)ct_lane()) == (int)ct_lane() && (ct_done = 1))

#else

static inline void ct_place(uint32_t *block, uint32_t *thread)
{
	for (unsigned k = 0; k < 3; k++)
		block[k] = thread[k] = 0;
}

static inline void ct_pause(void)
{
}

#	define CT_EACH_LANE

#endif

#endif
