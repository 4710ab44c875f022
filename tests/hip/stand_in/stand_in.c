/* SPDX-License-Identifier: Apache-2.0
 *
 * Initialisation, devices, errors, streams.
 */
#include "stand_in.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if FLAVOUR == 5
#	define VERSION 50221153
#	define TARGET  "gfx90a"
#	define WAVE    64
#elif FLAVOUR == 6
#	define VERSION 60241134
#	define TARGET  "gfx1100"
#	define WAVE    32
#else
#	define VERSION 70125424
#	define TARGET  "gfx942"
#	define WAVE    64
#endif

static _Thread_local int device_now, last_error;
static _Atomic int sticky;

uint64_t environment_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* HIP_VISIBLE_DEVICES, and only without it CUDA_VISIBLE_DEVICES: numbers, up to the first that isn't there. */
static int visible(int list[MAX_DEVICES])
{
	int n = 0, all = (int)environment_number("HIP_STAND_IN_DEVICES", 1);
	const char *text = getenv("HIP_VISIBLE_DEVICES");

	if (!text || !*text)
		text = getenv("CUDA_VISIBLE_DEVICES");
	if (!text || !*text) {
		for (; n < all && n < MAX_DEVICES; n++)
			list[n] = n;
		return n;
	}
	for (char *end; *text && n < MAX_DEVICES; text = end + (*end == ',')) {
		long v = strtol(text, &end, 10);

		if (end == text || v < 0 || v >= all)
			break;
		list[n++] = (int)v;
	}
	return n;
}

int device_count(void)
{
	int list[MAX_DEVICES];

	return visible(list);
}

static int physical(int device)
{
	int list[MAX_DEVICES];

	return device < visible(list) ? list[device] : 0;
}

const char *device_target(void)
{
	const char *text = getenv("HIP_STAND_IN_TARGET");

	return text && *text ? text : TARGET;
}

uint64_t device_bytes(void)
{
	return environment_number("HIP_STAND_IN_BYTES", 4ull << 30);
}

bool refuses_addresses(void)
{
	return environment_number("HIP_STAND_IN_REFUSE", 0) != 0;
}

int current_device(void)
{
	return device_now;
}

void set_sticky(int error)
{
	atomic_store(&sticky, error);
}

/* Before HIP 7 a call that works resets what hipGetLastError says; from 7.0 on only asking does. */
int result(int r)
{
	int stays = atomic_load(&sticky);

	if (IS_STICKY && stays)
		r = stays;
	if (r || !IS_STICKY)
		last_error = r;
	return r;
}

EXPORT int hipGetLastError(void);
int hipGetLastError(void)
{
	int r = last_error;

	last_error = 0;
	return r;
}

EXPORT int hipPeekAtLastError(void);
int hipPeekAtLastError(void)
{
	return last_error;
}

EXPORT int hipInit(unsigned flags);
int hipInit(unsigned flags)
{
	if (environment_number("HIP_STAND_IN_CRASH", 0))
		abort();
	if (!device_count())
		return result(E_DEVICE); /* not the error of hipGetDeviceCount */
	return result(flags ? E_VALUE : E_OK);
}

static int version(int *out)
{
	if (!out)
		return result(E_VALUE);
	*out = (int)environment_number("HIP_STAND_IN_VERSION", VERSION);
	return result(E_OK);
}

EXPORT int hipRuntimeGetVersion(int *out);
int hipRuntimeGetVersion(int *out)
{
	return version(out);
}

EXPORT int hipDriverGetVersion(int *out);
int hipDriverGetVersion(int *out)
{
	return version(out);
}

/* ---- devices ---- */

EXPORT int hipGetDeviceCount(int *count);
int hipGetDeviceCount(int *count)
{
	if (!count)
		return result(E_VALUE);
	*count = device_count();
	return result(*count ? E_OK : E_NO_DEVICE);
}

static bool is_device(int device)
{
	return device >= 0 && device < device_count();
}

EXPORT int hipSetDevice(int device);
int hipSetDevice(int device)
{
	if (!is_device(device))
		return result(E_DEVICE);
	device_now = device;
	return result(E_OK);
}

EXPORT int hipDeviceGetName(char *name, int bytes, int device);
int hipDeviceGetName(char *name, int bytes, int device)
{
	if (!name || bytes <= 0)
		return result(E_VALUE);
	if (!is_device(device))
		return result(E_DEVICE);
	snprintf(name, (size_t)bytes, "stand-in for %s", device_target());
	return result(E_OK);
}

EXPORT int hipDeviceTotalMem(size_t *bytes, int device);
int hipDeviceTotalMem(size_t *bytes, int device)
{
	if (!bytes)
		return result(E_VALUE);
	if (!is_device(device))
		return result(E_DEVICE);
	*bytes = device_bytes();
	return result(E_OK);
}

EXPORT int hipDeviceGetUuid(void *uuid, int device);
int hipDeviceGetUuid(void *uuid, int device)
{
	if (!uuid)
		return result(E_VALUE);
	if (!is_device(device))
		return result(E_DEVICE);
	memcpy(uuid, "stand-in uuid 0", 16);
	((char *)uuid)[14] = (char)('0' + physical(device));
	return result(E_OK);
}

EXPORT int hipDeviceGetPCIBusId(char *id, int bytes, int device);
int hipDeviceGetPCIBusId(char *id, int bytes, int device)
{
	if (!id || bytes < 13)
		return result(E_VALUE);
	if (!is_device(device))
		return result(E_DEVICE);
	snprintf(id, (size_t)bytes, "0000:%02x:00.0", 0x41 + device);
	return result(E_OK);
}

/* By the order of hipDeviceAttribute_t in hip_runtime_api.h. */
static const struct {
	int attribute, value;
} attributes[] = {
	{3, 1},          /* CanMapHostMemory */
	{5, 1700000},    /* ClockRate */
	{10, 1},         /* CooperativeLaunch */
	{19, 8 << 20},   /* L2CacheSize */
	{24, 1},         /* ManagedMemory */
	{56, 1024},      /* MaxThreadsPerBlock */
	{57, 2048},      /* MaxThreadsPerMultiProcessor */
	{59, 4096},      /* MemoryBusWidth */
	{60, 1600000},   /* MemoryClockRate */
	{63, 4},         /* MultiprocessorCount */
	{67, 0x41},      /* PciBusId */
	{68, 0},         /* PciDeviceId */
	{69, 0},         /* PciDomainID */
	{74, 64 << 10},  /* MaxSharedMemoryPerBlock */
	{85, 1},         /* UnifiedAddressing */
	{87, WAVE},      /* WarpSize */
	{89, HAS_VMM},   /* VirtualMemoryManagementSupported */
	{10017, 100000}, /* WallClockRate */
};

EXPORT int hipDeviceGetAttribute(int *value, int attribute, int device);
int hipDeviceGetAttribute(int *value, int attribute, int device)
{
	if (!value)
		return result(E_VALUE);
	if (!is_device(device))
		return result(E_DEVICE);
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].attribute != attribute ||
		    (attribute >= 89 && attribute != 10017 && FLAVOUR == 5) ||
		    (attribute == 10017 && FLAVOUR == 5))
			continue;
		*value = attributes[i].value;
		return result(E_OK);
	}
	return result(E_VALUE);
}

/* hipDeviceProp_t, as far as anybody may rely on it: 792 bytes until 5, 1472 from 6.0 on. The old function goes on
 * giving the old structure. */
static int properties(char *out, int device, size_t bytes, size_t target)
{
	if (!out)
		return result(E_VALUE);
	if (!is_device(device))
		return result(E_DEVICE);
	memset(out, 0, bytes);
	snprintf(out, 256, "stand-in for %s", device_target());
	snprintf(out + target, 256, "%s:sramecc+:xnack-", device_target());
	return result(E_OK);
}

EXPORT int hipGetDeviceProperties(char *out, int device);
int hipGetDeviceProperties(char *out, int device)
{
	return properties(out, device, 792, 396);
}

#if FLAVOUR >= 6
EXPORT int hipGetDevicePropertiesR0600(char *out, int device);
int hipGetDevicePropertiesR0600(char *out, int device)
{
	return properties(out, device, 1472, 1160);
}

EXPORT int hipExtGetLastError(void);
int hipExtGetLastError(void)
{
	return hipGetLastError();
}
#endif

/* ---- streams: work is done when it is enqueued, and its error comes when it is waited for (module.c) ---- */

struct stream {
	int error;
};

EXPORT int hipStreamCreateWithFlags(struct stream **out, unsigned flags);
int hipStreamCreateWithFlags(struct stream **out, unsigned flags)
{
	if (!out || flags > 1)
		return result(E_VALUE);
	*out = calloc(1, sizeof(**out));
	return result(*out ? E_OK : E_MEMORY);
}

EXPORT int hipStreamDestroy(struct stream *s);
int hipStreamDestroy(struct stream *s)
{
	free(s);
	return result(s ? E_OK : E_HANDLE);
}

EXPORT int hipStreamSynchronize(struct stream *s);
int hipStreamSynchronize(struct stream *s)
{
	(void)s;
	return result(E_OK);
}

EXPORT int hipStreamQuery(struct stream *s);
int hipStreamQuery(struct stream *s)
{
	(void)s;
	return result(E_OK);
}

EXPORT int hipDeviceSynchronize(void);
int hipDeviceSynchronize(void)
{
	return result(E_OK);
}
