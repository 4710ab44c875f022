/* SPDX-License-Identifier: Apache-2.0
 *
 * The device `amdemu:gfxNNNN`. Options and controls, besides those of device_amd:
 *   gfxNNNN           the GPU: one of `models` (at open only; default gfx1100)
 *   deterministic=1   blocks in order, on one thread
 *   workers=N         threads that run blocks (default: the processors)
 *   watchdog_ms=N     end a kernel that runs longer (0 = never)
 *   perturb=N         move what hardware only estimates within its stated error; N seeds it (0 = don't)
 *   check_waits=1     a register used before an instruction that writes it was waited for is a fault
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "zluda_core/compiler/service.h"
#include "zluda_core/device_amdemu/amdemu.h"

/* The largest GPU of each target, by AMD's data sheets: MI250X (one die), MI300X, RX 6900 XT, RX 7900 XTX, Radeon 8060S,
 * RX 9070 XT. */
static const struct emu_model models[] = {
	{"gfx90a", 110, 1700, 1600, 4096, 8192}, {"gfx942", 304, 2100, 2600, 8192, 4096},
	{"gfx1030", 80, 2250, 2000, 256, 4096},  {"gfx1100", 96, 2500, 2500, 384, 6144},
	{"gfx1151", 40, 2900, 4000, 256, 2048},  {"gfx1201", 64, 2970, 2518, 256, 8192},
};
enum { NMODELS = sizeof(models) / sizeof(models[0]) };

static const struct emu_model *model_find(const char *target)
{
	for (unsigned k = 0; k < NMODELS; k++)
		if (!strcmp(models[k].target, target))
			return &models[k];
	return NULL;
}

/* ---- options ------------------------------------------------------------------------------ */

static int set_number(const char *key, const char *value, uint32_t least, uint32_t most, uint32_t *out,
		      struct diag *d)
{
	char *end;

	errno = 0;
	unsigned long v = strtoul(value, &end, 0);
	if (errno || end == value || *end || v < least || v > most)
		return diag_set(d, CUTRACE_EINVAL, "", "%s=%s: expected a number from %u to %u", key, value,
				least, most);
	*out = (uint32_t)v;
	return 0;
}

static int set_flag(const char *key, const char *value, _Atomic bool *out, struct diag *d)
{
	uint32_t v = 0;
	int rc = set_number(key, value, 0, 1, &v, d);

	if (!rc)
		*out = v;
	return rc;
}

static int emu_control(struct amd_backend *b, const char *key, const char *value, struct diag *d)
{
	const struct {
		const char *key;
		uint32_t least, most;
		_Atomic uint32_t *field;
	} numbers[] = {{"workers", 1, 256, &b->workers},
		       {"watchdog_ms", 0, UINT32_MAX, &b->watchdog_ms},
		       {"perturb", 0, UINT32_MAX, &b->perturb}};
	uint32_t v = 0;
	int rc;

	if (!strcmp(key, "deterministic"))
		return set_flag(key, value, &b->deterministic, d);
	if (!strcmp(key, "check_waits"))
		return set_flag(key, value, &b->check_waits, d);
	for (unsigned k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
		if (strcmp(numbers[k].key, key))
			continue;
		rc = set_number(key, value, numbers[k].least, numbers[k].most, &v, d);
		if (!rc)
			*numbers[k].field = v;
		return rc;
	}
	return CUTRACE_ENOTSUP;
}

static int no_target(const char *word, struct diag *d)
{
	char all[128] = "";

	for (unsigned k = 0; k < NMODELS; k++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", k ? ", " : "",
			 models[k].target);
	return diag_set(d, CUTRACE_EINVAL, "", "the emulator has no GPU \"%s\"; it has %s", word, all);
}

static int take_option(struct amd_backend *b, char *word, struct diag *d)
{
	char *value = strchr(word, '=');
	int rc;

	if (!value && strcmp(word, "deterministic") && strcmp(word, "check_waits")) {
		b->model = model_find(word);
		return b->model ? 0 : no_target(word, d);
	}
	if (value)
		*value++ = 0;
	rc = emu_control(b, word, value ? value : "1", d);
	if (rc == CUTRACE_ENOTSUP)
		return diag_set(d, CUTRACE_EINVAL, "", "the emulator has no option \"%s\"", word);
	return rc;
}

static int take_options(struct amd_backend *b, const char *options, struct diag *d)
{
	char *copy = strdup(options), *save = NULL;
	int rc = copy ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "out of memory");

	for (char *p = copy ? strtok_r(copy, ",", &save) : NULL; p && !rc; p = strtok_r(NULL, ",", &save))
		rc = take_option(b, p, d);
	free(copy);
	return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void emu_close(struct amd_backend *b)
{
	emu_memory_destroy(&b->memory);
	free(b);
}

static int emu_open(struct amd_backend **out, unsigned ordinal, const char *options, struct diag *d)
{
	struct amd_backend *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	b->ordinal = ordinal;
	b->model = model_find("gfx1100");
	rc = emu_memory_init(&b->memory, d);
	rc = rc ? rc : take_options(b, options, d);
	if (rc)
		emu_close(b);
	else
		*out = b;
	return rc;
}

/* Nothing runs without the compiler, not even what the cache has: instructions come from its disassembler. */
static int emu_set_service(struct amd_backend *b, struct service *s, struct diag *d)
{
	b->service = s;
	return service_compiler(s, d) ? 0 : d && d->code ? d->code : CUTRACE_ENOENT;
}

static void emu_properties(struct amd_backend *b, struct amd_properties *out)
{
	const struct emu_model *m = b->model;

	*out = (struct amd_properties){.total_bytes = 16ull << 30,
				       .compute_units = m->compute_units,
				       .clock_khz = m->clock_mhz * 1000,
				       .mem_clock_khz = m->mem_clock_mhz * 1000,
				       .bus_width_bits = m->bus_width_bits,
				       .l2_bytes = m->l2_kb << 10,
				       .lds_bytes = 64u << 10,
				       .threads_per_cu = 2048,
				       .max_threads_per_block = 1024,
				       .timer_khz = 100000,
				       .cooperative = true};
	snprintf(out->name, sizeof(out->name), "AMD %s (emulated)", m->target);
	snprintf(out->target, sizeof(out->target), "%s", m->target);
	memcpy(out->uuid, "amdemu ", 7);
	memcpy(out->uuid + 7, m->target, strlen(m->target));
	out->uuid[15] = (uint8_t)('0' + b->ordinal % 10);
}

/* ---- memory: device.h's functions ---------------------------------------------------------------- */

static int mem_create(struct amd_backend *b, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	(void)b;
	return emu_memory_create(bytes, out, d);
}

static int mem_import(struct amd_backend *b, void *host, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	(void)b;
	return emu_memory_import(host, bytes, out, d);
}

static void mem_destroy(struct amd_backend *b, struct dev_mem *mem)
{
	emu_memory_release(&b->memory, mem);
}

static int map(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
	       bool adjacent, struct diag *d)
{
	const struct emu_mapping mapping = {{addr, bytes, mem->host + offset, true}, false};

	(void)adjacent;
	if (offset > mem->bytes || bytes > mem->bytes - offset)
		return diag_set(d, CUTRACE_EINVAL, "",
				"mapping %llu bytes at offset %llu of a memory of %llu bytes",
				(unsigned long long)bytes, (unsigned long long)offset,
				(unsigned long long)mem->bytes);
	return emu_map(&b->memory, &mapping, d);
}

static int unmap(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d)
{
	return emu_unmap(&b->memory, addr, bytes, d);
}

static void *host_view(struct amd_backend *b, uint64_t addr, uint64_t bytes)
{
	return emu_host(&b->memory, addr, bytes);
}

static int read_memory(struct amd_backend *b, void *dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	return emu_read(&b->memory, dst, src, bytes, d);
}

static int write_memory(struct amd_backend *b, uint64_t dst, const void *src, uint64_t bytes, struct diag *d)
{
	return emu_write(&b->memory, dst, src, bytes, d);
}

static int copy_memory(struct amd_backend *b, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	return emu_copy(&b->memory, dst, src, bytes, d);
}

static int fill_memory(struct amd_backend *b, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		       struct diag *d)
{
	return emu_fill(&b->memory, dst, value, width, count, d);
}

static bool nearest(struct amd_backend *b, uint64_t addr, uint64_t *base, uint64_t *bytes)
{
	return emu_nearest(&b->memory, addr, base, bytes);
}

static int own_alloc(struct amd_backend *b, uint64_t bytes, uint64_t *addr, void **host, struct diag *d)
{
	void *p =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int rc;

	*addr = 0;
	if (p == MAP_FAILED)
		return diag_set(d, CUTRACE_ENOMEM, "", "no host memory for %llu bytes: %s",
				(unsigned long long)bytes, strerror(errno));
	rc = emu_map_own(&b->memory, p, bytes, true, addr, d);
	if (rc) {
		munmap(p, bytes);
		*addr = 0;
	} else if (host) {
		*host = p;
	}
	return rc;
}

static void own_free(struct amd_backend *b, uint64_t addr)
{
	struct amdgpu_window w;

	if (!emu_find(&b->memory, addr, &w))
		return;
	emu_unmap(&b->memory, addr, w.bytes, NULL);
	munmap(w.host, w.bytes);
}

static const struct amd_backend_ops backend = {
	.name = "amdemu",
	.open = emu_open,
	.close = emu_close,
	.properties = emu_properties,
	.mem_create = mem_create,
	.mem_import_host = mem_import,
	.mem_destroy = mem_destroy,
	.map = map,
	.unmap = unmap,
	.host_view = host_view,
	.read = read_memory,
	.write = write_memory,
	.copy = copy_memory,
	.fill = fill_memory,
	.nearest = nearest,
	.own_alloc = own_alloc,
	.own_free = own_free,
	.set_service = emu_set_service,
	.code_load = emu_code_load,
	.code_unload = emu_code_unload,
	.code_function = emu_code_function,
	.launch = emu_launch,
	.control = emu_control,
};

static int amdemu_open(struct device **out, unsigned ordinal, const char *options,
		       const struct dev_host *host, struct diag *d)
{
	return amd_device_open(&backend, out, ordinal, options, host, d);
}

const struct device_ops device_amdemu = AMD_DEVICE_OPS("amdemu", amdemu_open);
