/* SPDX-License-Identifier: Apache-2.0
 *
 * What only backends with hardware behind them have: a window of addresses, memory that they place themselves.
 */
#include "zluda_core/device_amd/device_amd.h"

int amd_device_window(struct device *device, uint64_t *base, uint64_t *bytes, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->window(dev->backend, base, bytes, d);
}

int amd_device_host_alloc(struct device *device, uint64_t bytes, bool managed, void **host,
			  struct dev_mem **out, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->host_alloc(dev->backend, bytes, managed, host, out, d);
}

uint64_t amd_device_mem_address(struct device *device, struct dev_mem *mem)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->mem_address(dev->backend, mem);
}
