/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/amdgpu_emulator/target.h"

#include <stddef.h>

/* AMDGPUUsage: "Processors", EF_AMDGPU_MACH, "GRANULATED_WORKITEM_VGPR_COUNT". */
static const struct amdgpu_target targets[] = {
	{0x03f, "gfx90a", 9, {8, 8}, true, false, true, 64 << 10},
	{0x04c, "gfx942", 9, {8, 8}, true, true, true, 64 << 10},
	{0x036, "gfx1030", 10, {8, 4}, false, false, false, 64 << 10},
	{0x041, "gfx1100", 11, {8, 4}, true, true, false, 64 << 10},
	{0x04a, "gfx1151", 11, {8, 4}, true, true, false, 64 << 10},
	{0x04e, "gfx1201", 12, {8, 4}, true, true, false, 64 << 10},
};

const struct amdgpu_target *amdgpu_target_find(uint32_t mach)
{
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
		if (targets[i].mach == mach)
			return &targets[i];
	return NULL;
}
