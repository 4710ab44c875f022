/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices that exist, and opening one for the program.
 */
#include "core.h"

#include <stdio.h>
#include <string.h>

#include "zluda_core/device_hip/device_hip.h"
#include "zluda_core/device_hip/hip_library.h"

static const struct device_ops *const devices[] = {
	&device_interp,
	&device_amdemu,
	&device_hip,
};

const struct device_ops *device_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		if (!strcmp(devices[i]->name, name))
			return devices[i];
	return NULL;
}

/* An AMD GPU where there is one that HIP can use, else the interpreter. A GPU without HIP is what `cutrace doctor`
 * tells about. */
static const char *preferred(void)
{
	struct diag d = DIAG_INIT;

	if (!hip_driver_there())
		return "interp";
	if (hip_gpu_count("", &d))
		return "hip";
	say_verbose("an AMD GPU is not used: %s", d.what);
	return "interp";
}

void devices_choose(void)
{
	const struct device_ops *ops;
	unsigned n;

	if (!strcmp(options.device, "auto"))
		strcpy(options.device, preferred());
	ops = device_find(options.device);
	if (ops == &device_hip && hip_obeys_cuda_visible_devices())
		options.visible_devices = NULL; /* not a second time */
	if (!ops || !ops->count || options.count_given)
		return;
	n = ops->count(options.device_options, NULL); /* 0: opening the first one says why */
	if (n)
		options.device_count = n < CORE_MAX_DEVICES ? n : CORE_MAX_DEVICES;
}

/* Memory of malloc in kernels. Called from a launch, so no core lock is held. */
static uint64_t heap_alloc(void *ctx, uint64_t bytes)
{
	struct gpu *gpu = ctx;
	struct range_request req = {.bytes = bytes, .align = 16, .kind = RANGE_HEAP, .gpu = gpu};
	struct range *r;

	if (!bytes || atomic_load(&gpu->heap_used) + bytes > atomic_load(&gpu->heap_limit))
		return 0;
	if (memory_alloc(&req, &r))
		return 0;
	atomic_fetch_add(&gpu->heap_used, bytes);
	return r->addr;
}

static int heap_free(void *ctx, uint64_t addr)
{
	struct gpu *gpu = ctx;
	struct range *r = range_find(addr);

	if (!r || r->kind != RANGE_HEAP || r->addr != addr)
		return CUTRACE_EINVAL;
	atomic_fetch_sub(&gpu->heap_used, r->bytes);
	memory_free(r);
	return 0;
}

static void report(void *ctx, uint64_t launch_id, const char *text)
{
	(void)ctx;
	(void)launch_id;
	say("%s", text);
}

/* The window of addresses that hardware gave, in place of ours. */
static CUresult take_window(struct gpu *gpu)
{
	uint64_t base = options.va_base, bytes = options.va_bytes;
	struct diag d = DIAG_INIT;

	if (!gpu->ops->window)
		return CUDA_SUCCESS;
	if (gpu->ops->window(gpu->dev, &base, &bytes, &d)) {
		say_diag(&d);
		return CUDA_ERROR_NO_DEVICE;
	}
	if (base != options.va_base)
		say_verbose("device memory is from %#llx on, not %#llx: the device gave other addresses",
			    (unsigned long long)base, (unsigned long long)options.va_base);
	options.va_base = base;
	options.va_bytes = bytes;
	options.va_of_device = true;
	return CUDA_SUCCESS;
}

static void control(struct gpu *gpu, const char *key, const char *value, const char *variable)
{
	struct diag d = DIAG_INIT;

	if (!value)
		return;
	if (gpu->ops->control && !gpu->ops->control(gpu->dev, key, value, &d))
		return;
	if (d.what[0])
		say_diag(&d);
	else
		say("%s: device %s does not know \"%s\"", variable, gpu->ops->name, key);
}

/* The command line tells by it what is not there from what is wrong (base/device_option.c). */
static CUresult open_failed(int e)
{
	switch (e) {
	case CUTRACE_ENOENT: return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
	case CUTRACE_EINVAL: return CUDA_ERROR_INVALID_DEVICE; /* an option */
	default: return CUDA_ERROR_NO_DEVICE;
	}
}

CUresult gpu_open(struct gpu *gpu, unsigned physical)
{
	struct diag d = DIAG_INIT;
	CUresult r;
	int e;

	gpu->ops = device_find(options.device);
	if (!gpu->ops) {
		say("CUTRACE_DEVICE names the device \"%s\", which does not exist", options.device);
		return CUDA_ERROR_NO_DEVICE;
	}
	gpu->physical = physical;
	gpu->host = (struct dev_host){gpu, print_append, heap_alloc, heap_free, report};
	e = gpu->ops->open(&gpu->dev, physical, options.device_options, &gpu->host, &d);
	if (e) {
		say_diag(&d);
		return open_failed(e);
	}
	r = take_window(gpu);
	if (r)
		return r;
	gpu->ops->props(gpu->dev, &gpu->props);
	gpu_apply_cc(gpu, options.cc ? options.cc : gpu->props.cc_major * 10 + gpu->props.cc_minor);
	atomic_store(&gpu->heap_limit, 8u << 20);
	say_verbose("device %d is %s (%s), compute capability %u.%u", gpu->ordinal, gpu->ops->name,
		    gpu->props.name, gpu->props.cc_major, gpu->props.cc_minor);
	control(gpu, "inject", options.inject, "CUTRACE_INJECT");
	if (!gpu->ops->window)
		control(gpu, "deterministic", options.deterministic, "CUTRACE_DETERMINISTIC");
	else if (options.deterministic) /* the replayer asks for it wherever it runs */
		say_verbose("CUTRACE_DETERMINISTIC: a GPU runs blocks in its own order");
	control(gpu, "watchdog_ms", options.watchdog_ms, "CUTRACE_WATCHDOG_MS");
	return CUDA_SUCCESS;
}

/* How a device's or library's error looks to a program. */
CUresult result_of(int cutrace_error)
{
	switch (cutrace_error) {
	case CUTRACE_OK: return CUDA_SUCCESS;
	case CUTRACE_ENOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
	case CUTRACE_ENOTSUP: return CUDA_ERROR_NOT_SUPPORTED;
	case CUTRACE_ENOENT: return CUDA_ERROR_NOT_FOUND;
	case CUTRACE_EIO: return CUDA_ERROR_OPERATING_SYSTEM;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult result_of_fault(enum dev_fault_kind kind)
{
	switch (kind) {
	case DEV_FAULT_NONE: return CUDA_SUCCESS;
	case DEV_FAULT_ILLEGAL_ADDRESS: return CUDA_ERROR_ILLEGAL_ADDRESS;
	case DEV_FAULT_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
	case DEV_FAULT_ILLEGAL_SPACE: return CUDA_ERROR_INVALID_ADDRESS_SPACE;
	case DEV_FAULT_ASSERT: return CUDA_ERROR_ASSERT;
	case DEV_FAULT_ILLEGAL_INSTRUCTION: return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case DEV_FAULT_INVALID_PC: return CUDA_ERROR_INVALID_PC;
	case DEV_FAULT_TIMEOUT: return CUDA_ERROR_LAUNCH_TIMEOUT;
	case DEV_FAULT_STACK: return CUDA_ERROR_HARDWARE_STACK_ERROR;
	case DEV_FAULT_TRAP:
	case DEV_FAULT_CHECK:
	case DEV_FAULT_INTERNAL: break;
	}
	return CUDA_ERROR_LAUNCH_FAILED;
}

bool gpu_uuid_name(unsigned physical, char *buf, size_t bytes)
{
	const struct device_ops *ops = device_find(options.device);
	const struct dev_host host = {0};
	struct dev_props p;
	struct device *dev;
	const uint8_t *u = p.uuid;

	if (!ops || ops->open(&dev, physical, options.device_options, &host, NULL))
		return false;
	ops->props(dev, &p);
	ops->close(dev);
	snprintf(buf, bytes, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
		 u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
		 u[15]);
	return true;
}
