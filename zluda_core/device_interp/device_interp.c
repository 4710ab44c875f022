/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's operations (zluda_core/device.h): opening, properties, the table of them all. Options are in
 * settings.c, memory in transfer.c, modules and launches in kernel.c.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zluda_core/device_interp/check.h"
#include "zluda_core/device_interp/debug.h"

static void interp_close(struct device *device)
{
	struct interp_device *dev = interp_own(device);

	pool_stop(dev);
	check_close(dev);
	memory_map_destroy(&dev->map);
	free(atomic_load(&dev->textures));
	free(dev);
}

static int interp_open(struct device **out, unsigned ordinal, const char *options,
		       const struct dev_host *host, struct diag *d)
{
	struct interp_device *dev = calloc(1, sizeof(*dev));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int rc;

	if (!dev || !exec_choose(false) || !exec_choose(true)) {
		free(dev);
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	if (host)
		dev->host = *host;
	dev->ordinal = ordinal;
	dev->cc_major = 9;
	dev->sm_count = 16;
	dev->simd = true;
	dev->nworkers = cpus > 0 ? (uint32_t)cpus : 1;
	dev->stack_limit = 64 << 10;
	dev->total_bytes = 16ull << 30;
	pthread_mutex_init(&dev->code_lock, NULL);
	pthread_mutex_init(&dev->pool_lock, NULL);
	pthread_cond_init(&dev->pool_wake, NULL);
	pthread_mutex_init(&dev->watch.lock, NULL);
	rc = memory_map_init(&dev->map, d);
	if (rc) {
		free(dev);
		return rc;
	}
	rc = interp_settings(dev, options, d);
	if (rc) {
		interp_close((struct device *)(void *)dev);
		return rc;
	}
	*out = (struct device *)(void *)dev;
	return 0;
}

/* Limits by compute capability: CUDA programming guide, "Compute Capabilities". */
static const struct cc_limits {
	uint8_t major, minor;
	uint16_t threads_per_sm, blocks_per_sm, shared_sm_kb, shared_optin_kb;
} cc_limits[] = {
	{5, 0, 2048, 32, 64, 48},   {6, 0, 2048, 32, 64, 48},   {7, 0, 2048, 32, 96, 96},
	{7, 5, 1024, 16, 64, 64},   {8, 0, 2048, 32, 164, 163}, {8, 6, 1536, 16, 100, 99},
	{8, 9, 1536, 24, 100, 99},  {9, 0, 2048, 32, 228, 227}, {10, 0, 2048, 32, 228, 227},
	{12, 0, 1536, 24, 100, 99},
};

static const struct cc_limits *limits_of(const struct interp_device *dev)
{
	const struct cc_limits *best = &cc_limits[0];

	for (unsigned k = 0; k < sizeof(cc_limits) / sizeof(cc_limits[0]); k++)
		if (cc_limits[k].major * 10u + cc_limits[k].minor <= dev->cc_major * 10 + dev->cc_minor)
			best = &cc_limits[k];
	return best;
}

uint32_t device_shared_bytes(const struct interp_device *dev)
{
	return (uint32_t)limits_of(dev)->shared_sm_kb << 10;
}

static void interp_props(struct device *device, struct dev_props *out)
{
	const struct interp_device *dev = interp_own(device);
	const struct cc_limits *l = limits_of(dev);

	*out = (struct dev_props){
		.name = "cutrace interpreter",
		.cc_major = dev->cc_major,
		.cc_minor = dev->cc_minor,
		.total_bytes = dev->total_bytes,
		.sm_count = dev->sm_count,
		.clock_khz = 1000000,
		.mem_clock_khz = 1000000,
		.bus_width_bits = 256,
		.l2_bytes = 4u << 20,
		.max_threads_per_block = 1024,
		.max_threads_per_sm = l->threads_per_sm,
		.max_blocks_per_sm = l->blocks_per_sm,
		.max_block = {1024, 1024, 64},
		.max_grid = {2147483647, 65535, 65535},
		.shared_per_block = 48u << 10,
		.shared_per_block_optin = (uint32_t)l->shared_optin_kb << 10,
		.shared_per_sm = (uint32_t)l->shared_sm_kb << 10,
		.regs_per_block = 65536,
		.regs_per_sm = 65536,
		.const_bytes = 65536,
		.warp_size = LANES,
		.unified_addressing = true,
		.cooperative = true,
	};
	snprintf((char *)out->uuid, sizeof(out->uuid), "cutrace-interp%u", dev->ordinal % 10);
}

static bool interp_watch_result(struct device *device, struct dev_watch_hit *out)
{
	return watch_last(interp_own(device), out);
}

static uint64_t interp_inject_hits(struct device *device)
{
	return atomic_load(&interp_own(device)->inject_hits);
}

static int interp_texture_set(struct device *device, const struct dev_texture *t, struct diag *d)
{
	struct interp_device *dev = interp_own(device);
	struct dev_texture *table;

	pthread_mutex_lock(&dev->code_lock);
	table = atomic_load(&dev->textures);
	if (!table) {
		table = calloc(DEV_TEXTURES, sizeof(*table)); /* pages that are never touched cost nothing */
		atomic_store(&dev->textures, table);
	}
	if (table)
		table[t->handle % DEV_TEXTURES] = *t;
	pthread_mutex_unlock(&dev->code_lock);
	return table ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "no memory for the table of textures");
}

const struct device_ops device_interp = {
	.name = "interp",
	.open = interp_open,
	.close = interp_close,
	.props = interp_props,
	.mem_create = interp_mem_create,
	.mem_import_host = interp_mem_import,
	.mem_destroy = interp_mem_destroy,
	.map = interp_map,
	.unmap = interp_unmap,
	.host_view = interp_host_view,
	.module_load = interp_module_load,
	.module_unload = interp_module_unload,
	.kernel_get = interp_kernel_get,
	.kernel_info = interp_kernel_info,
	.launch = interp_launch,
	.read = interp_read,
	.write = interp_write,
	.copy = interp_copy,
	.fill = interp_fill,
	.control = interp_control,
	.watch_result = interp_watch_result,
	.func_address = interp_func_address,
	.inject_hits = interp_inject_hits,
	.texture_set = interp_texture_set,
	.attach_debugger = debug_attach,
};
