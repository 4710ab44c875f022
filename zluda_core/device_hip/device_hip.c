/* SPDX-License-Identifier: Apache-2.0
 *
 * The device "hip" of zluda_core/device.h: device_amd over hip_backend.
 */
#include "zluda_core/device_hip/device_hip.h"

#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_hip/hip_backend.h"

/* "1", "opt=2,1": what else the options are is seen when the device is opened. */
static bool names_one(const char *options)
{
	for (const char *p = options; p && *p;) {
		size_t n = strcspn(p, ",");

		if (n && strspn(p, "0123456789") == n)
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

/* Without virtual memory management a process can have one GPU only: see hip_window.c. */
unsigned hip_gpu_count(const char *options, struct diag *d)
{
	int devices = 0;
	const struct hip_library *lib = hip_library_get(&devices, d);

	if (!lib)
		return 0;
	if (names_one(options) || (options && strstr(options, "arena=")) || !hip_has_vmm(lib, 0))
		return 1;
	return (unsigned)devices;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

bool hip_obeys_cuda_visible_devices(void)
{
	return is_set("CUDA_VISIBLE_DEVICES") && !is_set("HIP_VISIBLE_DEVICES");
}

static int open_device(struct device **out, unsigned ordinal, const char *options,
		       const struct dev_host *host, struct diag *d)
{
	return amd_device_open(&hip_backend, out, ordinal, options, host, d);
}

const struct device_ops device_hip = {
	AMD_DEVICE_FUNCTIONS("hip", open_device),
	.window = amd_device_window,
	.host_alloc = amd_device_host_alloc,
	.mem_address = amd_device_mem_address,
	.count = hip_gpu_count,
};
