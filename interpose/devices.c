/* SPDX-License-Identifier: Apache-2.0
 *
 * devices: what the driver offers. Programs need not ask, but whoever reads the trace wants to know; so the
 * recorder asks once a process, when the driver has been initialised.
 */
#include "interpose/recorder.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int attribute(CUdevice_attribute what, CUdevice device)
{
	int value = 0;

	return REAL(cuDeviceGetAttribute)(&value, what, device) == CUDA_SUCCESS ? value : 0;
}

/* False when there is no such device, or the driver lacks a function that would tell. */
static bool describe(int ordinal, struct ring_device *d)
{
	CUdevice device;
	size_t bytes = 0;
	CUuuid uuid;
	int version = 0;

	memset(d, 0, sizeof(*d));
	if (REAL(cuDeviceGet)(&device, ordinal) != CUDA_SUCCESS ||
	    REAL(cuDeviceGetName)(d->name, (int)sizeof(d->name) - 1, device) != CUDA_SUCCESS)
		return false;
	d->ordinal = (uint32_t)ordinal;
	d->cc_major = (uint32_t)attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	d->cc_minor = (uint32_t)attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	d->is_ours = rec_driver_is_ours;
	d->sm_count = (uint32_t)attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	if (rec_driver_has(API_ID_cuDeviceTotalMem_v2) &&
	    REAL(cuDeviceTotalMem_v2)(&bytes, device) == CUDA_SUCCESS)
		d->bytes = bytes;
	if (rec_driver_has(API_ID_cuDeviceGetUuid) && REAL(cuDeviceGetUuid)(&uuid, device) == CUDA_SUCCESS)
		memcpy(d->uuid, &uuid, sizeof(d->uuid));
	if (rec_driver_has(API_ID_cuDriverGetVersion) && REAL(cuDriverGetVersion)(&version) == CUDA_SUCCESS)
		d->driver_version = (uint32_t)version;
	return true;
}

static bool can_ask(void)
{
	return rec_driver_has(API_ID_cuDeviceGetCount) && rec_driver_has(API_ID_cuDeviceGet) &&
	       rec_driver_has(API_ID_cuDeviceGetName) && rec_driver_has(API_ID_cuDeviceGetAttribute);
}

static void tell(void)
{
	static _Atomic pid_t told;
	struct ring_device d;
	struct rec_thread *t;
	int n = 0, saved = errno;
	bool ok;

	if (!can_ask() || atomic_exchange(&told, getpid()) == getpid())
		return;
	t = rec_own_begin();
	if (REAL(cuDeviceGetCount)(&n) != CUDA_SUCCESS)
		n = 0;
	rec_own_end(t);
	for (int i = 0; i < n; i++) {
		t = rec_own_begin();
		ok = describe(i, &d);
		rec_own_end(t);
		if (ok)
			rec_device_record(&d);
	}
	errno = saved;
}

static CUresult hook_cuInit(unsigned flags)
{
	CUresult r = REAL(cuInit)(flags);

	if (r == CUDA_SUCCESS && rec_current())
		tell();
	return r;
}

const struct rec_hook rec_device_hooks[] = {{API_ID_cuInit, (void *)hook_cuInit}};
const unsigned rec_ndevice_hooks = 1;
