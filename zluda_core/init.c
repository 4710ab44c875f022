/* SPDX-License-Identifier: Apache-2.0
 *
 * Initialisation, the driver's version, and what happens at fork and at exit.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct core core = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t core_next_id(void)
{
	return atomic_fetch_add(&core.next_id, 1) + 1;
}

/* The threads that hold the locks and run the queues don't exist in the child: nothing here can work again.
 * NVIDIA's driver says CUDA_ERROR_NOT_INITIALIZED too. */
static void in_child(void)
{
	if (core.initialised)
		core.forked = true;
}

/* "GPU-0011..." or a beginning of it that fits one device only; -1 = none. */
static int by_uuid(const char *word, size_t n)
{
	int found = -1;

	for (unsigned i = 0; i < options.device_count; i++) {
		char name[48];

		if (!gpu_uuid_name(i, name, sizeof(name)) || strncasecmp(name, word, n))
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

static int by_number(const char *word, size_t n)
{
	char *end;
	long v = strtol(word, &end, 10);

	return end == word + n && v >= 0 && v < (long)options.device_count ? (int)v : -1;
}

/* CUDA_VISIBLE_DEVICES: numbers or UUIDs, in the order in which the program sees the devices. The list ends
 * at the first that does not exist; a device named twice hides all (CUDA C++ Programming Guide, "CUDA
 * Environment Variables"). */
static unsigned visible_list(unsigned *out)
{
	const char *p = options.visible_devices;
	unsigned n = 0;

	if (!p) {
		for (; n < options.device_count; n++)
			out[n] = n;
		return n;
	}
	for (; *p && n < CORE_MAX_DEVICES; p += *p == ',') {
		size_t skip = strspn(p, " "), len = strcspn(p + skip, ", ");
		int v = !strncmp(p + skip, "GPU-", 4) ? by_uuid(p + skip, len) : by_number(p + skip, len);

		if (v < 0)
			break;
		for (unsigned i = 0; i < n; i++)
			if (out[i] == (unsigned)v)
				return 0;
		out[n++] = (unsigned)v;
		p += skip + len;
		p += strspn(p, " ");
	}
	return n;
}

static CUresult open_devices(void)
{
	unsigned list[CORE_MAX_DEVICES];
	unsigned n = visible_list(list);

	for (unsigned i = 0; i < n; i++) {
		CUresult r;

		core.gpus[i].ordinal = (CUdevice)i;
		r = gpu_open(&core.gpus[i], list[i]);
		if (r)
			return r;
		core.ngpus = i + 1;
	}
	return n ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult core_start(void)
{
	static CUresult result;

	if (core.forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&init_lock);
	if (!core.initialised) {
		options_read();
		devices_choose();
		result = open_devices();
		if (!result) {
			pthread_atfork(NULL, NULL, in_child);
			core.initialised = true;
		}
	}
	pthread_mutex_unlock(&init_lock);
	return result;
}

CUresult core_check(void)
{
	if (core.forked || !core.initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	return thread_state()->in_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

__attribute__((destructor)) static void at_exit(void)
{
	if (!core.initialised || core.forked)
		return;
	core.exiting = true;
	print_flush();
}

CUresult cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return core_start();
}

/* Allowed before cuInit. */
CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&init_lock);
	if (!options.driver_version)
		options_read();
	*version = options.driver_version;
	pthread_mutex_unlock(&init_lock);
	return CUDA_SUCCESS;
}

CUresult cuProfilerStart(void)
{
	struct context *ctx;

	return context_enter(&ctx);
}

CUresult cuProfilerStop(void)
{
	struct context *ctx;

	return context_enter(&ctx);
}
