/* SPDX-License-Identifier: Apache-2.0
 *
 * target: what differs between the AMD GPUs that the emulator executes.
 */
#ifndef CUTRACE_AMDGPU_TARGET_H
#define CUTRACE_AMDGPU_TARGET_H

#include <stdbool.h>
#include <stdint.h>

struct amdgpu_target {
	uint32_t mach;           /* EF_AMDGPU_MACH of e_flags */
	const char *name;        /* "gfx90a" */
	uint8_t gfx;             /* generation: 9 .. 12 */
	uint8_t vgpr_granule[2]; /* VGPRs a step of the descriptor's count: wave32, wave64 */
	bool packed_ids;         /* the three work-item ids in VGPR 0 */
	bool flat_scratch;       /* scratch needs no SGPRs ("architected flat scratch") */
	bool accum_split;        /* rsrc3 says where accumulation registers begin (unified register file) */
	uint32_t lds_bytes;
};

/* NULL: not a target that the emulator executes. */
const struct amdgpu_target *amdgpu_target_find(uint32_t mach);

#endif
