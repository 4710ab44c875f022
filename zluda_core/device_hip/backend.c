/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening a GPU, what it is, and the table of functions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/compiler/service.h"
#include "zluda_core/device_hip/hip_backend.h"

/* ---- options: "1,arena=4G" ---- */

static bool parse_bytes(const char *text, size_t n, uint64_t *out)
{
	char word[32], *end;

	if (!n || n >= sizeof(word))
		return false;
	memcpy(word, text, n);
	word[n] = '\0';
	*out = strtoull(word, &end, 10);
	if (*end == 'G' || *end == 'M')
		*out <<= *end++ == 'G' ? 30 : 20;
	return end != word && !*end && *out && *out < 1ull << 47;
}

int hip_options_parse(const char *text, struct hip_options *o, struct diag *d)
{
	*o = (struct hip_options){0};
	for (const char *p = text ? text : ""; *p;) {
		size_t n = strcspn(p, ",");

		if (strspn(p, "0123456789") == n && n && n < 4) {
			o->first = atoi(p);
			o->one = true;
		} else if (n <= 6 || strncmp(p, "arena=", 6) || !parse_bytes(p + 6, n - 6, &o->arena)) {
			diag_set(d, CUTRACE_EINVAL, "hip", "option \"%.*s\" is not understood", (int)n, p);
			diag_hint(d, "options: the number of a GPU; arena=BYTES, arena=4G");
			return CUTRACE_EINVAL;
		}
		p += n + (p[n] == ',');
	}
	return 0;
}

/* ---- properties ---- */

static uint32_t attribute(const struct amd_backend *b, enum hip_attribute which, uint32_t otherwise)
{
	int value = 0;

	if (b->lib->fn.hipDeviceGetAttribute(&value, which, b->device) || value <= 0)
		return otherwise;
	return (uint32_t)value;
}

/* From the bus address where HIP knows no UUID: two GPUs of a machine are told apart. */
static void read_uuid(struct amd_backend *b)
{
	uint8_t *u = b->properties.uuid;

	if (b->lib->fn.hipDeviceGetUuid && !b->lib->fn.hipDeviceGetUuid(u, b->device))
		return;
	memcpy(u, "AMDGPU", 6);
	u[12] = (uint8_t)attribute(b, HIP_PCI_DOMAIN, 0);
	u[13] = (uint8_t)attribute(b, HIP_PCI_BUS, 0);
	u[14] = (uint8_t)attribute(b, HIP_PCI_DEVICE, 0);
	u[15] = (uint8_t)b->device;
}

static int read_properties(struct amd_backend *b, struct diag *d)
{
	const struct hip_entries *fn = &b->lib->fn;
	struct amd_properties *p = &b->properties;
	size_t bytes = 0;
	int rc = hip_library_target(b->lib, b->device, p->target, d);

	if (!rc)
		rc = hip_check(b, fn->hipDeviceTotalMem(&bytes, b->device), "hipDeviceTotalMem", d);
	if (rc)
		return rc;
	if (fn->hipDeviceGetName(p->name, sizeof(p->name) - 1, b->device) || !p->name[0])
		snprintf(p->name, sizeof(p->name), "AMD %s", p->target);
	read_uuid(b);
	p->total_bytes = bytes;
	p->compute_units = attribute(b, HIP_COMPUTE_UNITS, 1);
	p->clock_khz = attribute(b, HIP_CLOCK_RATE, 1000000);
	p->mem_clock_khz = attribute(b, HIP_MEMORY_CLOCK_RATE, 1000000);
	p->bus_width_bits = attribute(b, HIP_MEMORY_BUS_WIDTH, 256);
	p->l2_bytes = attribute(b, HIP_L2_CACHE_BYTES, 4 << 20);
	p->lds_bytes = attribute(b, HIP_SHARED_PER_BLOCK, 64 << 10);
	p->threads_per_cu = attribute(b, HIP_MAX_THREADS_PER_CU, 2048);
	p->max_threads_per_block = attribute(b, HIP_MAX_THREADS_PER_BLOCK, 1024);
	p->timer_khz = attribute(b, HIP_WALL_CLOCK_RATE, 100000);
	p->cooperative = fn->hipModuleLaunchCooperativeKernel && attribute(b, HIP_COOPERATIVE_LAUNCH, 0);
	return 0;
}

/* All entry points, the layout of their structures, and the device's word for it. */
bool hip_has_vmm(const struct hip_library *lib, int device)
{
	const struct hip_entries *fn = &lib->fn;
	int supported = 0;

	return fn->hipMemGetAllocationGranularity && fn->hipMemAddressReserve && fn->hipMemAddressFree &&
	       fn->hipMemCreate && fn->hipMemRelease && fn->hipMemMap && fn->hipMemUnmap &&
	       fn->hipMemSetAccess && lib->minor >= lib->abi->vmm_minor &&
	       !fn->hipDeviceGetAttribute(&supported, HIP_VMM_SUPPORTED, device) && supported;
}

/* ---- the table ---- */

static void backend_close(struct amd_backend *b)
{
	hip_streams_close(b);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static int backend_open(struct amd_backend **out, unsigned ordinal, const char *options, struct diag *d)
{
	struct hip_options o;
	const struct hip_library *lib;
	struct amd_backend *b;
	int devices, rc = hip_options_parse(options, &o, d);

	if (rc)
		return rc;
	lib = hip_library_get(&devices, d);
	if (!lib)
		return CUTRACE_EIO;
	if (o.first + (int)ordinal >= devices)
		return diag_set(d, CUTRACE_EIO, lib->path, "there is no GPU %d: HIP has %d",
				o.first + (int)ordinal, devices);
	b = calloc(1, sizeof(*b));
	if (!b)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory for a device");
	pthread_mutex_init(&b->lock, NULL);
	b->lib = lib;
	b->device = o.first + (int)ordinal;
	b->arena_bytes = o.arena;
	rc = hip_enter(b, d);
	if (!rc)
		rc = read_properties(b, d);
	if (rc) {
		backend_close(b);
		return rc;
	}
	b->has_vmm = !o.arena && hip_has_vmm(lib, b->device);
	*out = b;
	return 0;
}

static void properties(struct amd_backend *b, struct amd_properties *out)
{
	*out = b->properties;
}

static int control(struct amd_backend *b, const char *key, const char *value, struct diag *d)
{
	unsigned long ms;
	char *end;

	if (strcmp(key, "watchdog_ms"))
		return CUTRACE_ENOTSUP;
	errno = 0;
	ms = strtoul(value, &end, 0);
	if (errno || end == value || *end || ms > UINT32_MAX)
		return diag_set(d, CUTRACE_EINVAL, "", "%s=%s: expected a number from 0 to %u", key, value,
				UINT32_MAX);
	if (ms && !b->lib->fn.hipStreamQuery)
		return diag_set(d, CUTRACE_ENOTSUP, "", "watchdog_ms: this HIP lacks hipStreamQuery");
	atomic_store(&b->watchdog_ms, (unsigned)ms);
	return 0;
}

/* Without the compiler there are no kernels. */
static int set_service(struct amd_backend *b, struct service *s, struct diag *d)
{
	(void)b;
	return service_compiler(s, d) ? 0 : CUTRACE_ENOENT;
}

const struct amd_backend_ops hip_backend = {
	.name = "hip",
	.open = backend_open,
	.close = backend_close,
	.properties = properties,
	.mem_create = hip_mem_create,
	.mem_import_host = hip_mem_import,
	.mem_destroy = hip_mem_destroy,
	.map = hip_map,
	.unmap = hip_unmap,
	.read = hip_read,
	.write = hip_write,
	.copy = hip_copy,
	.fill = hip_fill,
	.own_alloc = hip_own_alloc,
	.own_free = hip_own_free,
	.set_service = set_service,
	.code_load = hip_code_load,
	.code_unload = hip_code_unload,
	.code_function = hip_code_function,
	.launch = hip_launch,
	.control = control,
	.window = hip_window_open,
	.host_alloc = hip_host_alloc,
	.mem_address = hip_mem_address,
};
