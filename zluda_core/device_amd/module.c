/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules and kernels: the text goes to the compile service when a kernel is asked for; the code object that comes
 * back is loaded, and its contract read.
 */
#include "zluda_core/device_amd/device_amd.h"

#include <stdlib.h>
#include <string.h>

int amd_device_module_load(struct device *device, struct ptx_module *ptx, const struct dev_module_env *env,
			   struct dev_module **out, struct diag *d)
{
	struct dev_module *m = calloc(1, sizeof(*m));
	uint32_t n = env ? env->nsymbols : 0;

	if (m)
		m->symbol_addr = calloc(n + 1, sizeof(uint64_t));
	if (!m || !m->symbol_addr) {
		free(m);
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	m->dev = amd_own(device);
	m->ptx = ptx;
	m->nsymbols = n;
	if (n)
		memcpy(m->symbol_addr, env->symbol_addr, n * sizeof(uint64_t));
	m->text = (struct service_module){.text = ptx->text, .name = ptx->name, .bytes = ptx->text_bytes};
	service_hash(ptx->text, ptx->text_bytes, m->text.hash);
	/* What fails ahead is said when its kernel is asked for. */
	if (m->dev->ahead)
		service_compile_ahead(m->dev->service, &m->text, m->dev->props.target,
				      m->dev->compile_options, NULL);
	service_warm_up(m->dev->service, &m->text);
	*out = m;
	return 0;
}

static void kernel_free(struct amd_device *dev, struct dev_kernel *k)
{
	if (k->code)
		dev->ops->code_unload(dev->backend, k->code);
	free(k->code_object);
	free(k->variables);
	free(k);
}

void amd_device_module_unload(struct device *device, struct dev_module *m)
{
	while (m->kernels) {
		struct dev_kernel *k = m->kernels;

		m->kernels = k->next;
		kernel_free(amd_own(device), k);
	}
	free(m->symbol_addr);
	free(m);
}

/* Where the variables are that the kernel's code has to be told of. */
static int resolve_variables(struct dev_kernel *k, struct diag *d)
{
	const struct dev_module *m = k->module;
	const struct contract *c = &k->contract;

	k->variables = calloc(c->nvariables + 1, sizeof(*k->variables));
	if (!k->variables)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	for (uint32_t v = 0; v < c->nvariables; v++) {
		const char *name = contract_variable(c, v);
		uint32_t s = 0;

		while (s < m->nsymbols &&
		       (m->ptx->symbols[s]->owner != PTX_NONE || strcmp(m->ptx->symbols[s]->name, name)))
			s++;
		if (s == m->nsymbols)
			return diag_set(d, CUTRACE_EFORMAT, m->ptx->name,
					"kernel %s names a variable %s that the module does not have",
					k->func->name, name);
		k->variables[v] = m->symbol_addr[s];
	}
	return 0;
}

static int check_contract(const struct dev_kernel *k, struct diag *d)
{
	const struct contract *c = &k->contract;
	const uint64_t end = c->kernarg_bytes;

	if (c->param_bytes <= end && c->variables_offset <= end &&
	    c->nvariables <= (end - c->variables_offset) / 8 && c->kernarg_bytes < 1u << 20 &&
	    (!c->runtime_offset || (uint64_t)c->runtime_offset + 8 <= end))
		return 0;
	return diag_set(d, CUTRACE_EFORMAT, k->module->ptx->name,
			"the code object of kernel %s describes an impossible kernarg segment",
			k->func->name);
}

static int kernel_compile(struct dev_kernel *k, struct diag *d)
{
	struct amd_device *dev = k->module->dev;
	struct service_request r = {.module = &k->module->text,
				    .kernel = k->func->name,
				    .target = dev->props.target,
				    .options = dev->compile_options};
	struct service_answer a = {0};
	int rc = service_compile(dev->service, &r, &a, d);

	if (rc) {
		service_answer_free(&a);
		return rc;
	}
	k->code_object = a.code_object; /* ours from here */
	k->code_bytes = a.bytes;
	a.code_object = NULL;
	service_answer_free(&a);
	rc = contract_read(k->code_object, k->code_bytes, &k->contract, d);
	rc = rc ? rc : check_contract(k, d);
	rc = rc ? rc : resolve_variables(k, d);
	rc = rc ? rc : dev->ops->code_load(dev->backend, k->code_object, k->code_bytes, &k->code, d);
	return rc ? rc : dev->ops->code_function(dev->backend, k->code, k->func->name, &k->function, d);
}

static struct dev_kernel *kernel_find(struct dev_module *m, const struct ptx_func *f)
{
	struct dev_kernel *k = m->kernels;

	while (k && k->func != f)
		k = k->next;
	return k;
}

/* Two threads may compile one kernel at once; the second's is dropped. A failure isn't kept: the core does that. */
static int kernel_new(struct dev_module *m, struct ptx_func *f, struct dev_kernel **out, struct diag *d)
{
	struct dev_kernel *k = calloc(1, sizeof(*k)), *other;
	int rc;

	if (!k)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	k->module = m;
	k->func = f;
	rc = kernel_compile(k, d);
	if (rc) {
		kernel_free(m->dev, k);
		return rc;
	}
	pthread_mutex_lock(&m->dev->code_lock);
	other = kernel_find(m, f);
	if (!other) {
		k->next = m->kernels;
		m->kernels = k;
	}
	pthread_mutex_unlock(&m->dev->code_lock);
	if (other)
		kernel_free(m->dev, k);
	*out = other ? other : k;
	return 0;
}

int amd_device_kernel_get(struct device *device, struct dev_module *m, const char *name,
			  struct dev_kernel **out, struct diag *d)
{
	struct amd_device *dev = amd_own(device);
	struct ptx_func *f = ptx_func_find(m->ptx, name);

	if (!f || !f->is_entry || f->is_decl)
		return diag_set(d, CUTRACE_ENOENT, m->ptx->name, "there is no kernel %s", name);
	pthread_mutex_lock(&dev->code_lock);
	*out = kernel_find(m, f);
	pthread_mutex_unlock(&dev->code_lock);
	return *out ? 0 : kernel_new(m, f, out, d);
}

/* An AMD GPU has other registers than the compute capability that is reported. What is said must let every launch
 * through that the kernel was compiled for: registers come in units of 8 a thread, warps in fours. */
static uint32_t count_registers(uint32_t vgprs, uint32_t threads)
{
	const uint32_t fit = 65536 / ((threads + 127) / 128 * 128) / 8 * 8, most = fit < 255 ? fit : 255;

	return vgprs < 16 ? 16 : vgprs > most ? most : vgprs;
}

void amd_device_kernel_info(struct device *device, struct dev_kernel *k, struct dev_kernel_info *out)
{
	const struct contract *c = &k->contract;
	const uint32_t most = c->max_threads ? c->max_threads : 1024;

	(void)device;
	*out = (struct dev_kernel_info){.func = k->func,
					.num_regs = count_registers(c->vgprs, most),
					.shared_bytes = c->shared_bytes,
					.local_bytes = c->scratch_bytes,
					.max_threads = most};
}
