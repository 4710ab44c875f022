/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening, properties, memory, controls, textures: what goes to the backend as it is.
 *
 * Options and controls, besides the backend's own:
 *   print_bytes=N, heap_bytes=N   CUDA's limits of printf's buffer and of malloc's heap
 *   opt=0..3                      how hard code is optimised (at open only; default 3)
 *   contract=all, contract=none   products and sums may be fused where PTX allows it (at open only; default none)
 *   opt-bisect=N                  only the first N passes of LLVM that may be left out (at open only)
 *   ahead=1                       all kernels of a module are compiled in the background when it is loaded (at open only)
 */
#include "zluda_core/device_amd/device_amd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/compiler/compile_options.h"

/* ---- options and controls -------------------------------------------------------------- */

static int set_bytes(struct amd_device *dev, const char *key, const char *value, uint64_t *out,
		     struct diag *d)
{
	char *end;

	errno = 0;
	uint64_t v = strtoull(value, &end, 0);
	if (errno || end == value || *end || v >> 40)
		return diag_set(d, CUTRACE_EINVAL, "", "%s=%s: expected a number of bytes", key, value);
	pthread_mutex_lock(&dev->run_lock);
	*out = v;
	pthread_mutex_unlock(&dev->run_lock);
	return 0;
}

static int no_control(const struct amd_device *dev, const char *key, struct diag *d)
{
	if (!strcmp(key, "watch") || !strcmp(key, "inject"))
		return diag_set(d, CUTRACE_ENOTSUP, "",
				"the device %s can't %s; the interpreter (device interp) can", dev->ops->name,
				key[0] == 'w' ? "watch an address" : "damage a result");
	return diag_set(d, CUTRACE_ENOTSUP, "", "the device %s has no control \"%s\"", dev->ops->name, key);
}

int amd_device_control(struct device *device, const char *key, const char *value, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	if (!strcmp(key, "print_bytes"))
		return set_bytes(dev, key, value, &dev->print_bytes, d);
	if (!strcmp(key, "heap_bytes"))
		return set_bytes(dev, key, value, &dev->heap_bytes, d);
	if ((!strcmp(key, "watch") || !strcmp(key, "inject")) && !*value)
		return 0; /* off, as it is */
	int rc = dev->ops->control ? dev->ops->control(dev->backend, key, value, d) : CUTRACE_ENOTSUP;
	return rc == CUTRACE_ENOTSUP ? no_control(dev, key, d) : rc;
}

/* What the compile service is given with every request. */
static int add_compile_option(struct amd_device *dev, const char *p, struct diag *d)
{
	size_t n = strlen(dev->compile_options);

	if (compile_options_check(p, d))
		return d->code;
	if (n + strlen(p) + 2 > sizeof(dev->compile_options))
		return diag_set(d, CUTRACE_EINVAL, "", "%s: it was said too often", p);
	snprintf(dev->compile_options + n, sizeof(dev->compile_options) - n, "%s%s", n ? "," : "", p);
	return 0;
}

static int set_ahead(struct amd_device *dev, const char *value, struct diag *d)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return diag_set(d, CUTRACE_EINVAL, "", "ahead=%s: expected 0 or 1", value);
	dev->ahead = *value == '1';
	return 0;
}

/* Takes our own words out of the options; the others are the backend's. */
static int take_options(struct amd_device *dev, char *options, char *rest, struct diag *d)
{
	char *save = NULL;
	int rc = 0;

	for (char *p = strtok_r(options, ",", &save); p && !rc; p = strtok_r(NULL, ",", &save)) {
		if (compile_option_is_known(p)) {
			rc = add_compile_option(dev, p, d);
		} else if (!strncmp(p, "ahead=", 6)) {
			rc = set_ahead(dev, p + 6, d);
		} else if (!strncmp(p, "print_bytes=", 12)) {
			rc = set_bytes(dev, "print_bytes", p + 12, &dev->print_bytes, d);
		} else if (!strncmp(p, "heap_bytes=", 11)) {
			rc = set_bytes(dev, "heap_bytes", p + 11, &dev->heap_bytes, d);
		} else {
			if (*rest)
				strcat(rest, ",");
			strcat(rest, p);
		}
	}
	return rc;
}

/* ---- opening ------------------------------------------------------------------------------- */

void amd_device_close(struct device *device)
{
	struct amd_device *dev = amd_own(device);

	amd_run_close(dev);
	if (dev->backend)
		dev->ops->close(dev->backend);
	if (dev->service)
		service_close(dev->service);
	pthread_mutex_destroy(&dev->code_lock);
	pthread_mutex_destroy(&dev->run_lock);
	free(dev);
}

static int open_parts(struct amd_device *dev, unsigned ordinal, const char *options, struct diag *d)
{
	size_t n = strlen(options) + 1;
	char *copy = malloc(n), *rest = calloc(1, n);
	int rc = 0;

	if (!copy || !rest)
		rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	if (!rc) {
		memcpy(copy, options, n);
		rc = take_options(dev, copy, rest, d);
	}
	if (!rc)
		rc = dev->ops->open(&dev->backend, ordinal, rest, d);
	if (!rc)
		rc = service_open(&dev->service, NULL, d);
	if (!rc && dev->ops->set_service)
		rc = dev->ops->set_service(dev->backend, dev->service, d);
	free(copy);
	free(rest);
	return rc;
}

int amd_device_open(const struct amd_backend_ops *ops, struct device **out, unsigned ordinal,
		    const char *options, const struct dev_host *host, struct diag *d)
{
	struct amd_device *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	dev->ops = ops;
	dev->ordinal = ordinal;
	dev->print_bytes = 7u << 20; /* CUDA's defaults */
	dev->heap_bytes = 8u << 20;
	if (host)
		dev->host = *host;
	pthread_mutex_init(&dev->code_lock, NULL);
	pthread_mutex_init(&dev->run_lock, NULL);
	int rc = open_parts(dev, ordinal, options ? options : "", d);
	if (rc) {
		amd_device_close((struct device *)(void *)dev);
		return rc;
	}
	ops->properties(dev->backend, &dev->props);
	*out = (struct device *)(void *)dev;
	return 0;
}

/* Programs see CUDA's warps of 32 whatever the waves are, and registers and blocks of a compute capability. */
void amd_device_props(struct device *device, struct dev_props *out)
{
	const struct amd_properties *p = &amd_own(device)->props;

	*out = (struct dev_props){
		.cc_major = 9,
		.total_bytes = p->total_bytes,
		.sm_count = p->compute_units,
		.clock_khz = p->clock_khz,
		.mem_clock_khz = p->mem_clock_khz,
		.bus_width_bits = p->bus_width_bits,
		.l2_bytes = p->l2_bytes,
		.max_threads_per_block = p->max_threads_per_block,
		.max_threads_per_sm = p->threads_per_cu,
		.max_blocks_per_sm = 32,
		.max_block = {1024, 1024, 64},
		.max_grid = {2147483647, 65535, 65535},
		.shared_per_block = p->lds_bytes < 48u << 10 ? p->lds_bytes : 48u << 10,
		.shared_per_block_optin = p->lds_bytes,
		.shared_per_sm = p->lds_bytes,
		.regs_per_block = 65536,
		.regs_per_sm = 65536,
		.const_bytes = 65536,
		.warp_size = 32,
		.unified_addressing = true,
		.cooperative = p->cooperative,
	};
	memcpy(out->name, p->name, sizeof(out->name));
	memcpy(out->uuid, p->uuid, sizeof(out->uuid));
}

/* ---- memory ---------------------------------------------------------------------------------- */

int amd_device_mem_create(struct device *device, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->mem_create(dev->backend, bytes, out, d);
}

int amd_device_mem_import(struct device *device, void *host, uint64_t bytes, struct dev_mem **out,
			  struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->mem_import_host(dev->backend, host, bytes, out, d);
}

void amd_device_mem_destroy(struct device *device, struct dev_mem *mem)
{
	struct amd_device *dev = amd_own(device);

	dev->ops->mem_destroy(dev->backend, mem);
}

int amd_device_map(struct device *device, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
		   bool adjacent, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->map(dev->backend, addr, bytes, mem, offset, adjacent, d);
}

int amd_device_unmap(struct device *device, uint64_t addr, uint64_t bytes, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->unmap(dev->backend, addr, bytes, d);
}

void *amd_device_host_view(struct device *device, uint64_t addr, uint64_t bytes)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->host_view ? dev->ops->host_view(dev->backend, addr, bytes) : NULL;
}

int amd_device_read(struct device *device, void *dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->read(dev->backend, dst, src, bytes, d);
}

int amd_device_write(struct device *device, uint64_t dst, const void *src, uint64_t bytes, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->write(dev->backend, dst, src, bytes, d);
}

int amd_device_copy(struct device *device, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->copy(dev->backend, dst, src, bytes, d);
}

int amd_device_fill(struct device *device, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		    struct diag *d)
{
	struct amd_device *dev = amd_own(device);

	return dev->ops->fill(dev->backend, dst, value, width, count, d);
}

/* ---- the rest ---------------------------------------------------------------------------------- */

bool amd_device_watch_result(struct device *device, struct dev_watch_hit *out)
{
	(void)device;
	(void)out;
	return false;
}

uint64_t amd_device_func_address(struct device *device, struct dev_module *m, uint32_t func)
{
	(void)device;
	(void)m;
	return LOWER_FUNCTION_ADDRESS(func);
}

/* The table is made when the first texture is. */
int amd_device_texture_set(struct device *device, const struct dev_texture *t, struct diag *d)
{
	struct amd_device *dev = amd_own(device);
	int rc = 0;

	pthread_mutex_lock(&dev->run_lock);
	if (!dev->textures)
		rc = dev->ops->own_alloc(dev->backend, sizeof(*t) * DEV_TEXTURES, &dev->textures, NULL, d);
	pthread_mutex_unlock(&dev->run_lock);
	if (rc)
		return rc;
	return dev->ops->write(dev->backend, dev->textures + t->handle % DEV_TEXTURES * sizeof(*t), t,
			       sizeof(*t), d);
}
