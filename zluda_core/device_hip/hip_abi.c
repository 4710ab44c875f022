/* SPDX-License-Identifier: Apache-2.0 */
#include "zluda_core/device_hip/hip_abi.h"

#define MODERN_PROPERTIES "hipGetDevicePropertiesR0600", 1472, 1160
/* HIP 5.1 and 5.2 had the members in another order, and no device on Linux that could use them. */
#define VMM_LAYOUT          \
	{                   \
		0, 4, 8, 12 \
	}
#define ENDS_PROCESS "a fault of a kernel ends the process"
#define IS_STICKY    "a fault of a kernel is an error that stays until the process ends"

static const struct hip_abi abis[] = {
	{5, "hipGetDeviceProperties", 792, 396, 3, VMM_LAYOUT, ENDS_PROCESS},
	{6, MODERN_PROPERTIES, 0, VMM_LAYOUT, ENDS_PROCESS},
	{7, MODERN_PROPERTIES, 0, VMM_LAYOUT, IS_STICKY},
	{8, MODERN_PROPERTIES, 0, VMM_LAYOUT, IS_STICKY},
	{10, MODERN_PROPERTIES, 0, VMM_LAYOUT, IS_STICKY},
};

const struct hip_abi *hip_abi_find(unsigned major)
{
	for (size_t i = 0; i < sizeof(abis) / sizeof(abis[0]); i++)
		if (abis[i].major == major)
			return &abis[i];
	return NULL;
}

const char *hip_abi_known(void)
{
	return "5, 6, 7, 8 and 10";
}
