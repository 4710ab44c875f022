/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules: PTX with its variables in device memory and its kernels compiled when they are asked for.
 */
#include "texture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variables --------------------------------------------------------------------- */

static bool in_memory(const struct ptx_symbol *s)
{
	return s->owner == PTX_NONE && !s->dynamic &&
	       (s->space == PTX_SPACE_GLOBAL || s->space == PTX_SPACE_CONST);
}

static uint64_t placed_at(const char *name)
{
	const struct placement *p = &thread_state()->place;

	for (unsigned i = 0; i < p->nglobals; i++)
		if (!strcmp(p->global_names[i], name))
			return p->global_addrs[i];
	return 0;
}

CUresult global_alloc(const struct ptx_symbol *s, struct gpu *gpu, struct range **out)
{
	struct range_request req = {.bytes = s->size ? s->size : 1,
				    .align = s->align,
				    .kind = s->managed ? RANGE_MANAGED : RANGE_GLOBAL,
				    .gpu = gpu,
				    .hint = placed_at(s->name)};

	CUresult r;

	req.exact = req.hint != 0;
	r = s->managed ? memory_alloc_host(&req, out) : memory_alloc(&req, out);
	if (r != CUDA_ERROR_ALREADY_MAPPED || !options.va_of_device)
		return r;
	req.hint = 0; /* hardware doesn't take every address: elsewhere, then */
	req.exact = false;
	return s->managed ? memory_alloc_host(&req, out) : memory_alloc(&req, out);
}

static CUresult allocate_global(struct module *m, uint32_t index)
{
	const struct ptx_symbol *s = m->ptx->symbols[index];
	bool shared = s->managed && m->library;
	struct range *r;
	CUresult e =
		shared ? library_managed(m->library, s, m->ctx->gpu, &r) : global_alloc(s, m->ctx->gpu, &r);

	if (e)
		return e;
	m->symbol_addr[index] = r->addr;
	m->globals[m->nglobals++] = (struct global){index, r, shared};
	return CUDA_SUCCESS;
}

static CUresult allocate_globals(struct module *m, struct jit *jit)
{
	uint32_t n = m->ptx->nsymbols;

	m->symbol_addr = calloc(n + 1, sizeof(*m->symbol_addr));
	m->globals = calloc(n + 1, sizeof(*m->globals));
	if (!m->symbol_addr || !m->globals)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_symbol *s = m->ptx->symbols[i];
		CUresult r;

		if (!in_memory(s))
			continue;
		if (s->linkage == PTX_LINK_EXTERN) {
			jit_log(jit, true, "%s:%u: error: extern variable %s is defined nowhere\n",
				m->ptx->name, s->line, s->name);
			say("%s:%u: extern variable %s is defined nowhere", m->ptx->name, s->line, s->name);
			return CUDA_ERROR_INVALID_PTX;
		}
		r = allocate_global(m, i);
		if (r)
			return r;
	}
	return CUDA_SUCCESS;
}

static void relocate(struct module *m, const struct ptx_symbol *s, uint8_t *bytes)
{
	const struct device_ops *ops = m->ctx->gpu->ops;

	for (uint32_t i = 0; i < s->nrelocs; i++) {
		const struct ptx_reloc *r = &s->relocs[i];
		uint64_t value = 0;

		if (!r->is_func)
			value = m->symbol_addr[r->symbol];
		else if (ops->func_address)
			value = ops->func_address(m->ctx->gpu->dev, m->dev, r->symbol);
		value = (value + (uint64_t)r->addend) >> r->shift;
		if (r->bytes <= 8 && r->offset <= s->size && r->bytes <= s->size - r->offset)
			memcpy(bytes + r->offset, &value, r->bytes);
	}
}

static CUresult initialise_globals(struct module *m)
{
	struct gpu *gpu = m->ctx->gpu;

	for (unsigned i = 0; i < m->nglobals; i++) {
		const struct ptx_symbol *s = m->ptx->symbols[m->globals[i].symbol];
		uint8_t *bytes;
		CUresult r;

		if (!s->size || m->globals[i].shared || is_reference_type(s))
			continue;
		bytes = calloc(1, s->size);
		if (!bytes)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (s->init)
			memcpy(bytes, s->init, s->size);
		relocate(m, s, bytes);
		r = memory_write(gpu, m->globals[i].range->addr, bytes, s->size);
		free(bytes);
		if (r)
			return r;
	}
	return CUDA_SUCCESS;
}

CUresult module_global(struct module *m, const char *name, CUdeviceptr *addr, size_t *bytes)
{
	for (unsigned i = 0; i < m->nglobals; i++) {
		const struct ptx_symbol *s = m->ptx->symbols[m->globals[i].symbol];

		if (strcmp(s->name, name) || is_reference_type(s))
			continue;
		if (addr)
			*addr = m->globals[i].range->addr;
		if (bytes)
			*bytes = s->size;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_FOUND;
}

/* ---- life --------------------------------------------------------------------------------- */

static void unlink_module(struct module *m)
{
	pthread_mutex_lock(&core.lock);
	for (struct module **at = &m->ctx->modules; *at; at = &(*at)->next) {
		if (*at == m) {
			*at = m->next;
			break;
		}
	}
	pthread_mutex_unlock(&core.lock);
}

void module_destroy(struct module *m)
{
	struct gpu *gpu = m->ctx->gpu;

	gpu_wait(gpu);
	print_flush();
	unlink_module(m);
	handle_remove(m);
	references_destroy(m);
	while (m->functions) {
		struct function *next = m->functions->next;

		handle_remove(m->functions);
		free(m->functions->old_params);
		free(m->functions);
		m->functions = next;
	}
	if (m->dev)
		gpu->ops->module_unload(gpu->dev, m->dev);
	for (unsigned i = 0; i < m->nglobals; i++)
		if (!m->globals[i].shared)
			memory_free(m->globals[i].range);
	if (!m->library)
		ptx_module_free(m->ptx);
	free(m->symbol_addr);
	free(m->globals);
	free(m);
}

static CUresult load_on_device(struct module *m, struct jit *jit)
{
	struct dev_module_env env = {m->symbol_addr, m->ptx->nsymbols};
	struct gpu *gpu = m->ctx->gpu;
	struct diag d = DIAG_INIT;
	int e = gpu->ops->module_load(gpu->dev, m->ptx, &env, &m->dev, &d);

	if (!e)
		return CUDA_SUCCESS;
	jit_diag(jit, &d);
	return e == CUTRACE_ENOMEM || e == CUTRACE_ENOTSUP ? result_of(e) : CUDA_ERROR_INVALID_PTX;
}

/* With a library the PTX is the library's, otherwise the module's. */
CUresult module_create(struct context *ctx, struct ptx_module *ptx, struct jit *jit, struct library *lib,
		       struct module **out)
{
	struct module *m = calloc(1, sizeof(*m));
	CUresult r;

	if (!m) {
		if (!lib)
			ptx_module_free(ptx);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m->ctx = ctx;
	m->ptx = ptx;
	m->library = lib;
	pthread_mutex_lock(&core.lock);
	m->next = ctx->modules;
	ctx->modules = m;
	pthread_mutex_unlock(&core.lock);
	r = handle_add(m, HANDLE_MODULE) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	if (!r)
		r = allocate_globals(m, jit);
	placement_clear_globals(&thread_state()->place);
	if (!r)
		r = load_on_device(m, jit);
	if (!r)
		r = initialise_globals(m);
	if (!r)
		r = references_create(m);
	if (r) {
		module_destroy(m);
		return r;
	}
	*out = m;
	return CUDA_SUCCESS;
}

/* "module3", in messages "module3.ptx": modules have no name of their own. The count makes it the same in
 * every run. */
static const char *next_name(char *buf, size_t bytes)
{
	static atomic_uint count;

	snprintf(buf, bytes, "module%u", atomic_fetch_add(&count, 1) + 1);
	return buf;
}

static CUresult load(CUmodule *out, const void *image, size_t bytes, const char *name, unsigned n,
		     CUjit_option *jit_options, void **values)
{
	struct ptx_module *ptx;
	struct context *ctx;
	struct module *m;
	struct jit jit;
	char buf[32];
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	r = jit_parse(&jit, n, jit_options, values);
	if (r)
		return r;
	r = image_parse(image, bytes, name ? name : next_name(buf, sizeof(buf)), ctx->gpu, &jit, &ptx);
	if (!r)
		r = module_create(ctx, ptx, &jit, NULL, &m);
	jit_finish(&jit);
	if (!r)
		*out = (CUmodule)m;
	return r;
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int n, CUjit_option *jit_options,
			    void **values)
{
	return load(out, image, 0, NULL, n, jit_options, values);
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
	return load(out, image, 0, NULL, 0, NULL, NULL);
}

CUresult cuModuleLoadFatBinary(CUmodule *out, const void *fatbin)
{
	return load(out, fatbin, 0, NULL, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *out, const char *path)
{
	const char *name;
	size_t bytes;
	void *data;
	CUresult r;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	r = core_check();
	if (!r)
		r = file_read(path, &data, &bytes);
	if (r)
		return r;
	name = strrchr(path, '/');
	r = load(out, data, bytes + 1, name ? name + 1 : path, 0, NULL, NULL);
	free(data);
	return r;
}

static CUresult module_enter(CUmodule handle, struct module **m)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	*m = (struct module *)handle;
	return r ? r : handle_enter(handle, HANDLE_MODULE);
}

CUresult cuModuleUnload(CUmodule handle)
{
	struct module *m;
	CUresult r = module_enter(handle, &m);

	if (r)
		return r;
	if (m->library) /* goes with its library */
		return CUDA_ERROR_NOT_PERMITTED;
	module_destroy(m);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	CUresult r = core_check();

	if (r)
		return r;
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = options.eager_loading ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
	struct function *f;
	struct module *m;
	CUresult r = module_enter(handle, &m);

	if (r)
		return r;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	r = module_function(m, name, &f);
	if (!r)
		r = function_compile(f);
	if (!r)
		*out = (CUfunction)f;
	return r;
}

static unsigned count_entries(const struct ptx_module *ptx)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < ptx->nfuncs; i++)
		n += ptx->funcs[i]->is_entry;
	return n;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
	struct module *m;
	CUresult r = answerable(module_enter(handle, &m), count);

	if (!r)
		*count = count_entries(m->ptx);
	return r;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int n, CUmodule handle)
{
	struct function *f;
	struct module *m;
	unsigned k = 0;
	CUresult r = module_enter(handle, &m);

	if (r)
		return r;
	if (!functions)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < m->ptx->nfuncs && k < n && !r; i++) {
		if (!m->ptx->funcs[i]->is_entry)
			continue;
		r = module_function(m, m->ptx->funcs[i]->name, &f);
		if (!r)
			functions[k++] = (CUfunction)f;
	}
	return r;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *addr, size_t *bytes, CUmodule handle, const char *name)
{
	struct module *m;
	CUresult r = module_enter(handle, &m);

	if (r)
		return r;
	return name ? module_global(m, name, addr, bytes) : CUDA_ERROR_INVALID_VALUE;
}
