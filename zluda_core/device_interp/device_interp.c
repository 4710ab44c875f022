/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's operations (zluda_core/device.h): options, properties, memory,
 * modules, launches.
 *
 * Options at open, key=value separated by commas; most are controls, too:
 *   deterministic=1   blocks in order on one thread, fixed schedule, clocks count instructions
 *   workers=N         threads that run blocks, the launching one included (default: the processors)
 *   watchdog_ms=N     end a kernel that runs longer, naming the lines where it is (0 = never)
 *   seed=N            kept for randomised schedules
 *   tensor=seed:N     sums of matrix products as some hardware might make them, see docs/tensor.md; tensor=default
 *   stack_bytes=N     of a thread, for recursion and indirect calls (at open only; default 64 KiB)
 *   cc=M.N            compute capability to report (at open only; default 9.0)
 *   simd=0            don't use AVX2 (at open only)
 *   inject=KERNEL:PTXLINE:BIT[:BLOCK[:THREAD]]   flip a bit of a result; empty = off
 *   watch=ADDRESS:BYTES                          remember the last store there; empty = off
 *   check=uninit+races+barriers, or all          checked mode, see check.h (at open only)
 *   check_error=1     the first finding of the checked mode ends the launch with an error
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "zluda_core/device_interp/check.h"

/* struct device is opaque outside; here it is ours. */
static struct interp_device *own(struct device *d)
{
	return (struct interp_device *)(void *)d;
}

/* Options and controls
 * ------------------------------------------------------------------------------------------ */
static int set_u32(struct interp_device *dev, const char *key, const char *value, struct diag *d,
		   uint32_t *out)
{
	char *end;

	(void)dev;
	errno = 0;
	unsigned long v = strtoul(value, &end, 0);
	if (errno || end == value || *end || v > UINT32_MAX)
		return diag_set(d, CUTRACE_EINVAL, "", "%s=%s: expected a number", key, value);
	*out = (uint32_t)v;
	return 0;
}

static int set_deterministic(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	dev->deterministic = !rc && v;
	return rc;
}

static int set_simd(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	dev->simd = !rc && v;
	return rc;
}

static int set_watchdog(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	return set_u32(dev, key, value, d, &dev->watchdog_ms);
}

static int set_workers(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	if (!rc && (v < 1 || v > 1024))
		rc = diag_set(d, CUTRACE_EINVAL, "", "workers=%s: expected 1 to 1024", value);
	if (rc || v == dev->nworkers)
		return rc;
	pool_stop(dev);
	dev->nworkers = v;
	return 0;
}

static int set_stack(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	return set_u32(dev, key, value, d, &dev->stack_limit);
}

static int set_seed(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	if (!rc)
		dev->seed = v;
	return rc;
}

static int set_tensor(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v = 0;
	const bool seeded = !strncmp(value, "seed:", 5);

	if (!seeded && strcmp(value, "default"))
		return diag_set(d, CUTRACE_EINVAL, "", "tensor=%s: expected default or seed:N", value);
	int rc = seeded ? set_u32(dev, key, value + 5, d, &v) : 0;

	if (rc)
		return rc;
	dev->tensor_seeded = seeded;
	dev->tensor_seed = v;
	return 0;
}

static int set_watch(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	(void)key;
	return watch_set(dev, value, d);
}

static int set_inject(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	(void)key;
	return inject_set(dev, value, d);
}

static int set_cc(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	unsigned major, minor;
	char rest;

	(void)key;
	if (sscanf(value, "%u.%u%c", &major, &minor, &rest) != 2 || major < 5 || major > 99 || minor > 9)
		return diag_set(d, CUTRACE_EINVAL, "", "cc=%s: expected a compute capability like 9.0",
				value);
	dev->cc_major = major;
	dev->cc_minor = minor;
	return 0;
}

static int set_check(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	(void)key;
	return check_set(dev, value, d);
}

static int set_check_error(struct interp_device *dev, const char *key, const char *value, struct diag *d)
{
	uint32_t v;
	int rc = set_u32(dev, key, value, d, &v);

	dev->check_error = !rc && v;
	return rc;
}

static const struct setting {
	const char *key;
	int (*set)(struct interp_device *dev, const char *key, const char *value, struct diag *d);
	bool at_open_only;
} settings[] = {
	{"deterministic", set_deterministic, false},
	{"watchdog_ms", set_watchdog, false},
	{"workers", set_workers, false},
	{"seed", set_seed, false},
	{"tensor", set_tensor, false},
	{"stack_bytes", set_stack, true},
	{"watch", set_watch, false},
	{"inject", set_inject, false},
	{"cc", set_cc, true},
	{"simd", set_simd, true},
	{"check", set_check, true},
	{"check_error", set_check_error, false},
};

static int apply(struct interp_device *dev, const char *key, const char *value, bool opening, struct diag *d)
{
	for (unsigned k = 0; k < sizeof(settings) / sizeof(settings[0]); k++)
		if (!strcmp(settings[k].key, key) && (opening || !settings[k].at_open_only))
			return settings[k].set(dev, key, value ? value : "", d);
	return diag_set(d, CUTRACE_ENOTSUP, "", "the interpreter has no %s \"%s\"",
			opening ? "option" : "control", key);
}

static int apply_options(struct interp_device *dev, const char *options, struct diag *d)
{
	char *copy = strdup(options ? options : ""), *save = NULL;
	int rc = copy ? 0 : diag_set(d, CUTRACE_ENOMEM, "", "out of memory");

	for (char *p = copy ? strtok_r(copy, ",", &save) : NULL; p && !rc; p = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(p, '=');

		if (eq)
			*eq = 0;
		rc = apply(dev, p, eq ? eq + 1 : "1", true, d);
	}
	free(copy);
	return rc;
}

static int interp_control(struct device *device, const char *key, const char *value, struct diag *d)
{
	return apply(own(device), key, value, false, d);
}

/* Opening
 * -------------------------------------------------------------------------------------------------------- */
static void interp_close(struct device *device)
{
	struct interp_device *dev = own(device);

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
	rc = apply_options(dev, options, d);
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
	const struct interp_device *dev = own(device);
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

/* Memory
 * ---------------------------------------------------------------------------------------------------------
 */
static int interp_mem_create(struct device *device, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	struct dev_mem *m = calloc(1, sizeof(*m));
	void *host = MAP_FAILED;

	(void)device;
	if (m && bytes)
		host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
	if (host == MAP_FAILED) {
		free(m);
		return diag_set(d, CUTRACE_ENOMEM, "", "no host memory for %llu bytes: %s",
				(unsigned long long)bytes, strerror(errno));
	}
	*m = (struct dev_mem){.host = host, .bytes = bytes};
	if (own(device)->checker)
		check_memory_created(own(device)->checker, m->host, bytes);
	*out = m;
	return 0;
}

static int interp_mem_import(struct device *device, void *host, uint64_t bytes, struct dev_mem **out,
			     struct diag *d)
{
	struct dev_mem *m = calloc(1, sizeof(*m));

	(void)device;
	if (!m)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	*m = (struct dev_mem){.host = host, .bytes = bytes, .imported = true};
	*out = m;
	return 0;
}

static void interp_mem_destroy(struct device *device, struct dev_mem *m)
{
	if (m && own(device)->checker)
		check_memory_gone(own(device)->checker, m->host, m->bytes);
	if (m && !m->imported)
		munmap(m->host, m->bytes);
	free(m);
}

static int interp_map(struct device *device, uint64_t addr, uint64_t bytes, struct dev_mem *mem,
		      uint64_t offset, bool adjacent, struct diag *d)
{
	if (offset > mem->bytes || bytes > mem->bytes - offset)
		return diag_set(d, CUTRACE_EINVAL, "",
				"mapping %llu bytes at offset %llu of a memory of %llu bytes",
				(unsigned long long)bytes, (unsigned long long)offset,
				(unsigned long long)mem->bytes);
	return memory_map_add(&own(device)->map, addr, bytes, mem->host + offset, adjacent, d);
}

static int interp_unmap(struct device *device, uint64_t addr, uint64_t bytes, struct diag *d)
{
	return memory_map_remove(&own(device)->map, addr, bytes, d);
}

static void *interp_host_view(struct device *device, uint64_t addr, uint64_t bytes)
{
	struct memory_map *map = &own(device)->map;
	void *p = NULL;

	pthread_mutex_lock(&map->lock);
	const struct mapping *m = map_find(atomic_load(&map->current), addr);
	if (m && bytes <= m->end - addr)
		p = m->host + (addr - m->base);
	pthread_mutex_unlock(&map->lock);
	if (p && own(device)->checker) /* whoever asks may write there */
		check_written(own(device)->checker, p, bytes);
	return p;
}

/* Transfers: a cursor over host memory, moved along as pieces of device memory come. */
struct transfer {
	struct interp_device *dev;
	uint8_t *host;
	uint64_t dst;
	uint32_t value;
	unsigned width;
	uint64_t done;
	struct diag *d;
	bool from_device; /* host is memory of the device */
};

static int read_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct transfer *t = ctx;

	memmove(t->host, host, n);
	t->host += n;
	return 0;
}

static int write_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct transfer *t = ctx;

	if (t->dev->checker && t->from_device)
		check_copied(t->dev->checker, host, t->host, n);
	else if (t->dev->checker)
		check_written(t->dev->checker, host, n);
	memmove(host, t->host, n);
	t->host += n;
	return 0;
}

static int copy_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct transfer *t = ctx;
	struct transfer inner = {.dev = t->dev, .host = host, .from_device = true};
	int rc = memory_map_walk(&t->dev->map, t->dst, n, write_piece, &inner, t->d);

	t->dst += n;
	return rc;
}

static int fill_piece(void *ctx, uint8_t *host, uint64_t n)
{
	struct transfer *t = ctx;
	const uint8_t *v = (const uint8_t *)&t->value;

	if (t->dev->checker)
		check_written(t->dev->checker, host, n);
	if (t->width == 1) {
		memset(host, v[0], n);
	} else {
		for (uint64_t k = 0; k < n; k++)
			host[k] = v[(t->done + k) % t->width];
	}
	t->done += n;
	return 0;
}

static int walk_locked(struct interp_device *dev, uint64_t addr, uint64_t bytes,
		       int (*fn)(void *ctx, uint8_t *host, uint64_t n), struct transfer *t, struct diag *d)
{
	pthread_rwlock_rdlock(&dev->map.host_lock);
	int rc = memory_map_walk(&dev->map, addr, bytes, fn, t, d);

	pthread_rwlock_unlock(&dev->map.host_lock);
	return rc;
}

static int interp_read(struct device *device, void *dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	struct transfer t = {.host = dst};

	return walk_locked(own(device), src, bytes, read_piece, &t, d);
}

static int interp_write(struct device *device, uint64_t dst, const void *src, uint64_t bytes, struct diag *d)
{
	struct transfer t = {.dev = own(device), .host = (uint8_t *)(uintptr_t)src};

	return walk_locked(own(device), dst, bytes, write_piece, &t, d);
}

static int interp_copy(struct device *device, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	struct transfer t = {.dev = own(device), .dst = dst, .d = d};

	return walk_locked(own(device), src, bytes, copy_piece, &t, d);
}

static int interp_fill(struct device *device, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		       struct diag *d)
{
	struct transfer t = {.dev = own(device), .value = value, .width = width};

	if ((width != 1 && width != 2 && width != 4) || count > UINT64_MAX / 4)
		return diag_set(d, CUTRACE_EINVAL, "", "a fill of %llu values of %u bytes",
				(unsigned long long)count, width);
	return walk_locked(own(device), dst, count * width, fill_piece, &t, d);
}

/* Code
 * -----------------------------------------------------------------------------------------------------------
 */
static int mark_piece(void *ctx, uint8_t *host, uint64_t n)
{
	check_written(ctx, host, n);
	return 0;
}

/* Variables without an initialiser are zero (ISA 5.4.4): written, whether or not somebody wrote the zeros. */
static void mark_variables(struct interp_device *dev, const struct dev_module *m)
{
	for (uint32_t s = 0; dev->checker && s < m->nsymbols && s < m->ptx->nsymbols; s++)
		if (m->symbol_addr[s])
			memory_map_walk(&dev->map, m->symbol_addr[s], m->ptx->symbols[s]->size, mark_piece,
					dev->checker, NULL);
}

static int interp_module_load(struct device *device, struct ptx_module *ptx, const struct dev_module_env *env,
			      struct dev_module **out, struct diag *d)
{
	struct interp_device *dev = own(device);
	struct dev_module *m = calloc(1, sizeof(*m));
	uint32_t n = env ? env->nsymbols : 0;

	if (m)
		m->symbol_addr = calloc(n + 1, sizeof(uint64_t));
	if (!m || !m->symbol_addr) {
		free(m);
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	m->dev = dev;
	m->ptx = ptx;
	m->nsymbols = n;
	if (n)
		memcpy(m->symbol_addr, env->symbol_addr, n * sizeof(uint64_t));
	pthread_mutex_lock(&dev->code_lock);
	m->number = dev->next_module++ & 0xfff; /* of WINDOW_CODE_BYTES >> 24 */
	pthread_mutex_unlock(&dev->code_lock);
	mark_variables(dev, m);
	*out = m;
	return 0;
}

static void interp_module_unload(struct device *device, struct dev_module *m)
{
	(void)device;
	while (m->kernels) {
		struct dev_kernel *k = m->kernels;

		m->kernels = k->next;
		program_free(k->program);
		while (k->injected) {
			struct program *p = k->injected;

			k->injected = p->next;
			program_free(p);
		}
		free(k);
	}
	free(m->symbol_addr);
	free(m);
}

static int check_kernel(const struct dev_module *m, const struct ptx_func *f, struct diag *d)
{
	char where[256];

	snprintf(where, sizeof(where), "%.200s:%u:1", m->ptx->name, f->line);
	if (m->ptx->address_size == 32)
		return diag_set(d, CUTRACE_ENOTSUP, where, "kernel %s: 32-bit addresses are not executed",
				f->name);
	if (f->cluster[0] > 1 || f->cluster[1] > 1 || f->cluster[2] > 1)
		return diag_set(d, CUTRACE_ENOTSUP, where,
				"kernel %s: clusters of %ux%ux%u blocks are not executed", f->name,
				f->cluster[0], f->cluster[1], f->cluster[2]);
	return 0;
}

static struct dev_kernel *kernel_find(struct dev_module *m, const char *name)
{
	for (struct dev_kernel *k = m->kernels; k; k = k->next)
		if (!strcmp(k->func->name, name))
			return k;
	return NULL;
}

static struct dev_kernel *kernel_new(struct dev_module *m, struct ptx_func *f)
{
	struct dev_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->module = m;
	k->func = f;
	k->status = check_kernel(m, f, &k->error);
	if (!k->status) {
		k->program = program_build(k, NULL, &k->error);
		if (!k->program)
			k->status = k->error.code ? k->error.code : CUTRACE_ENOTSUP;
	}
	k->next = m->kernels;
	m->kernels = k;
	return k;
}

static int interp_kernel_get(struct device *device, struct dev_module *m, const char *name,
			     struct dev_kernel **out, struct diag *d)
{
	struct interp_device *dev = own(device);
	int rc = 0;

	pthread_mutex_lock(&dev->code_lock);
	struct dev_kernel *k = kernel_find(m, name);

	if (!k) {
		struct ptx_func *f = ptx_func_find(m->ptx, name);

		if (!f || !f->is_entry || f->is_decl)
			rc = diag_set(d, CUTRACE_ENOENT, m->ptx->name, "there is no kernel %s", name);
		else if (!(k = kernel_new(m, f)))
			rc = diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	if (k && k->status) {
		rc = k->status;
		if (d)
			*d = k->error;
	}
	pthread_mutex_unlock(&dev->code_lock);
	if (!rc)
		*out = k;
	return rc;
}

/* There is no register allocation here. What is reported must let every launch through that the bounds allow;
 * registers come in units of 8 a thread, warps in fours. */
static uint32_t count_registers(const struct ptx_func *f, uint32_t threads)
{
	const uint32_t fit = 65536 / ((threads + 127) / 128 * 128) / 8 * 8, most = fit < 255 ? fit : 255;
	uint32_t n = 0;

	for (uint32_t s = 1; s < f->nslots; s++)
		n += f->slots[s].bits <= 32 ? f->slots[s].bits > 1 : f->slots[s].bits / 32;
	return n < 16 ? 16 : n > most ? most : n;
}

static void interp_kernel_info(struct device *device, struct dev_kernel *k, struct dev_kernel_info *out)
{
	uint32_t most = 1024, threads = 1;

	(void)device;
	for (unsigned a = 0; a < 3; a++) {
		const uint32_t *dims = k->func->reqntid[0] ? k->func->reqntid : k->func->maxntid;

		threads *= dims[a] ? dims[a] : 1;
	}
	if (k->func->maxntid[0] || k->func->reqntid[0])
		most = threads < most ? threads : most;
	*out = (struct dev_kernel_info){
		.func = k->func,
		.num_regs = count_registers(k->func, most),
		.shared_bytes = (uint32_t)k->func->shared_bytes,
		.local_bytes = k->program->stack_bytes,
		.max_threads = most,
	};
}

static uint64_t interp_func_address(struct device *device, struct dev_module *m, uint32_t func)
{
	(void)device;
	return code_address(m, func);
}

/* Launch
 * ---------------------------------------------------------------------------------------------------------
 */
static int bad_launch(const struct dev_launch *l, struct dev_fault *f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int bad_launch(const struct dev_launch *l, struct dev_fault *f, const char *fmt, ...)
{
	char why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	memset(f, 0, sizeof(*f));
	f->kind = DEV_FAULT_INTERNAL;
	snprintf(f->kernel, sizeof(f->kernel), "%s", l->kernel->func->name);
	snprintf(f->message, sizeof(f->message), "kernel %s: %s", f->kernel, why);
	return CUTRACE_EINVAL;
}

static int check_launch(const struct interp_device *dev, const struct dev_launch *l, struct dev_fault *f)
{
	const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	const uint64_t shared = (uint64_t)l->kernel->program->static_shared + l->shared_bytes;

	for (unsigned a = 0; a < 3; a++)
		if (!l->grid[a] || !l->block[a])
			return bad_launch(l, f, "a grid or block dimension is 0");
	if (threads > 1024 || l->block[0] > 1024 || l->block[1] > 1024 || l->block[2] > 64)
		return bad_launch(l, f, "a block of %ux%ux%u threads", l->block[0], l->block[1], l->block[2]);
	if (shared > device_shared_bytes(dev))
		return bad_launch(l, f, "%llu bytes of shared memory", (unsigned long long)shared);
	if (l->param_bytes < l->kernel->func->param_bytes)
		return bad_launch(l, f, "%u bytes of parameters, it takes %u", l->param_bytes,
				  l->kernel->func->param_bytes);
	return 0;
}

/* The program to run: the plain one, or the one with the fault that is set. */
static const struct program *program_for(struct interp_device *dev, struct dev_kernel *k, struct diag *d)
{
	const struct program *p = k->program;

	pthread_mutex_lock(&dev->code_lock);
	if (dev->inject.active && !strcmp(dev->inject.kernel, k->func->name)) {
		if (!k->injected || k->injected->inject_generation != dev->inject_generation) {
			struct program *n = program_build(k, &dev->inject, d);

			if (n) {
				n->inject_generation = dev->inject_generation;
				n->next = k->injected; /* a running launch may still use the old one */
				k->injected = n;
			}
			p = n;
		} else {
			p = k->injected;
		}
	}
	pthread_mutex_unlock(&dev->code_lock);
	return p;
}

static int interp_launch(struct device *device, const struct dev_launch *l, struct dev_fault *fault)
{
	struct interp_device *dev = own(device);
	struct diag d = DIAG_INIT;
	int rc = check_launch(dev, l, fault);

	if (rc)
		return rc;
	const struct program *p = program_for(dev, l->kernel, &d);

	if (!p)
		return bad_launch(l, fault, "%s", d.what);
	return grid_run(dev, p, l, fault);
}

static bool interp_watch_result(struct device *device, struct dev_watch_hit *out)
{
	return watch_last(own(device), out);
}

static uint64_t interp_inject_hits(struct device *device)
{
	return atomic_load(&own(device)->inject_hits);
}

static int interp_texture_set(struct device *device, const struct dev_texture *t, struct diag *d)
{
	struct interp_device *dev = own(device);
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
};
