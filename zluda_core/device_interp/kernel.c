/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules, their kernels, launches. A kernel is decoded when it is first asked for, and again when a control that
 * changes its code is set: a fault to inject, products and sums to fuse.
 */
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/check.h"

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

int interp_module_load(struct device *device, struct ptx_module *ptx, const struct dev_module_env *env,
		       struct dev_module **out, struct diag *d)
{
	struct interp_device *dev = interp_own(device);
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

void interp_module_unload(struct device *device, struct dev_module *m)
{
	(void)device;
	while (m->kernels) {
		struct dev_kernel *k = m->kernels;

		m->kernels = k->next;
		program_free(k->program);
		while (k->variants) {
			struct program *p = k->variants;

			k->variants = p->next;
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
		k->program = program_build(k, &(struct program_variant){0}, &k->error);
		if (!k->program)
			k->status = k->error.code ? k->error.code : CUTRACE_ENOTSUP;
	}
	k->next = m->kernels;
	m->kernels = k;
	return k;
}

int interp_kernel_get(struct device *device, struct dev_module *m, const char *name, struct dev_kernel **out,
		      struct diag *d)
{
	struct interp_device *dev = interp_own(device);
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

void interp_kernel_info(struct device *device, struct dev_kernel *k, struct dev_kernel_info *out)
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

uint64_t interp_func_address(struct device *device, struct dev_module *m, uint32_t func)
{
	(void)device;
	return code_address(m, func);
}

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

/* Which program a kernel needs now: the plain one is decoded without anything. */
static bool wants_variant(const struct interp_device *dev, const struct dev_kernel *k,
			  struct program_variant *v)
{
	*v = (struct program_variant){.contraction = dev->contraction};
	if (dev->inject.active && !strcmp(dev->inject.kernel, k->func->name))
		v->inject = &dev->inject;
	return v->inject || v->contraction.which != CONTRACT_NONE;
}

static const struct program *program_for(struct interp_device *dev, struct dev_kernel *k, struct diag *d)
{
	const struct program *p = k->program;
	struct program_variant v;

	pthread_mutex_lock(&dev->code_lock);
	if (wants_variant(dev, k, &v)) {
		if (!k->variants || k->variants->generation != dev->variant_generation) {
			struct program *n = program_build(k, &v, d);

			if (n) {
				n->generation = dev->variant_generation;
				n->next = k->variants; /* a running launch may still use the old one */
				k->variants = n;
			}
			p = n;
		} else {
			p = k->variants;
		}
	}
	pthread_mutex_unlock(&dev->code_lock);
	return p;
}

void kernel_variants_changed(struct interp_device *dev, const struct inject_spec *inject,
			     const struct contraction_mode *contraction)
{
	pthread_mutex_lock(&dev->code_lock);
	if (inject) {
		dev->inject = *inject;
		atomic_store(&dev->inject_hits, 0);
	}
	if (contraction)
		dev->contraction = *contraction;
	dev->variant_generation++;
	pthread_mutex_unlock(&dev->code_lock);
}

int interp_launch(struct device *device, const struct dev_launch *l, struct dev_fault *fault)
{
	struct interp_device *dev = interp_own(device);
	struct diag d = DIAG_INIT;
	int rc = check_launch(dev, l, fault);

	if (rc)
		return rc;
	const struct program *p = program_for(dev, l->kernel, &d);

	if (!p)
		return bad_launch(l, fault, "%s", d.what);
	return grid_run(dev, p, l, fault);
}
