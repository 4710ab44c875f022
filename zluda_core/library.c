/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries: code without a context. It is parsed at load, so that its errors come then; each context that
 * uses it gets a module of its own at first use.
 */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct library_module {
	struct library_module *next;
	struct context *ctx;
	struct module *module;
	struct ptx_module *ptx;
};

struct library_variable {
	struct library_variable *next;
	const char *name;
	struct range *range;
};

struct library {
	struct library *next;
	struct ptx_module *ptx; /* of the first module; names and parameters for all */
	bool ptx_used;
	struct kernel *kernels;
	struct library_variable *managed;
	struct library_module *modules;
};

static struct library *libraries;
/* Guards the list of libraries and each one's modules: one module of a library and context, not two. Taken
 * before core.lock. */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult add_kernels(struct library *lib)
{
	struct kernel **tail = &lib->kernels;

	for (uint32_t i = 0; i < lib->ptx->nfuncs; i++) {
		const struct ptx_func *f = lib->ptx->funcs[i];
		struct kernel *k;

		if (!f->is_entry)
			continue;
		k = calloc(1, sizeof(*k));
		if (!k || !handle_add(k, HANDLE_KERNEL)) {
			free(k);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		*k = (struct kernel){.library = lib, .name = f->name, .ptx = f};
		*tail = k;
		tail = &k->next;
	}
	return CUDA_SUCCESS;
}

static void free_module(struct library *lib, struct library_module *lm)
{
	module_destroy(lm->module);
	if (lm->ptx == lib->ptx)
		lib->ptx_used = false;
	else
		ptx_module_free(lm->ptx);
	free(lm);
}

static void library_free(struct library *lib)
{
	handle_remove(lib);
	pthread_mutex_lock(&load_lock);
	for (struct library **at = &libraries; *at; at = &(*at)->next) {
		if (*at == lib) {
			*at = lib->next;
			break;
		}
	}
	while (lib->modules) {
		struct library_module *next = lib->modules->next;

		free_module(lib, lib->modules);
		lib->modules = next;
	}
	pthread_mutex_unlock(&load_lock);
	while (lib->managed) {
		struct library_variable *next = lib->managed->next;

		memory_free(lib->managed->range);
		free((char *)lib->managed->name);
		free(lib->managed);
		lib->managed = next;
	}
	while (lib->kernels) {
		struct kernel *next = lib->kernels->next;

		handle_remove(lib->kernels);
		free(lib->kernels);
		lib->kernels = next;
	}
	ptx_module_free(lib->ptx);
	free(lib);
}

/* The context ends: its modules go, the library stays. */
void libraries_forget(struct context *ctx)
{
	pthread_mutex_lock(&load_lock);
	for (struct library *lib = libraries; lib; lib = lib->next) {
		for (struct library_module **at = &lib->modules; *at;) {
			struct library_module *lm = *at;

			if (lm->ctx != ctx) {
				at = &lm->next;
				continue;
			}
			*at = lm->next;
			free_module(lib, lm);
		}
	}
	pthread_mutex_unlock(&load_lock);
}

static CUresult make_module(struct library *lib, struct context *ctx, struct module **out)
{
	struct library_module *lm = calloc(1, sizeof(*lm));
	struct jit jit = {0};
	struct diag d = DIAG_INIT;
	CUresult r;

	if (!lm)
		return CUDA_ERROR_OUT_OF_MEMORY;
	lm->ctx = ctx;
	lm->ptx = lib->ptx_used ? ptx_module_parse(lib->ptx->text, lib->ptx->text_bytes, lib->ptx->name, &d)
				: lib->ptx;
	if (!lm->ptx) {
		free(lm);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r = module_create(ctx, lm->ptx, &jit, lib, &lm->module);
	if (r) {
		if (lm->ptx != lib->ptx)
			ptx_module_free(lm->ptx);
		free(lm);
		return r;
	}
	if (lm->ptx == lib->ptx)
		lib->ptx_used = true;
	lm->next = lib->modules;
	lib->modules = lm;
	*out = lm->module;
	return CUDA_SUCCESS;
}

CUresult library_module(struct library *lib, struct context *ctx, struct module **out)
{
	CUresult r;

	pthread_mutex_lock(&load_lock);
	for (struct library_module *lm = lib->modules; lm; lm = lm->next) {
		if (lm->ctx == ctx) {
			*out = lm->module;
			pthread_mutex_unlock(&load_lock);
			return CUDA_SUCCESS;
		}
	}
	r = make_module(lib, ctx, out);
	pthread_mutex_unlock(&load_lock);
	return r;
}

/* Needs no context: the runtime asks before it makes one. */
CUresult library_managed(struct library *lib, const struct ptx_symbol *s, struct gpu *gpu, struct range **out)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct library_variable *v;
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	for (v = lib->managed; v && strcmp(v->name, s->name); v = v->next)
		;
	if (!v) {
		v = calloc(1, sizeof(*v));
		r = v ? global_alloc(s, gpu, &v->range) : CUDA_ERROR_OUT_OF_MEMORY;
		if (r) {
			free(v);
		} else {
			if (s->init)
				memcpy(v->range->host, s->init, s->size);
			v->name = strdup(s->name);
			v->next = lib->managed;
			lib->managed = v;
		}
	}
	pthread_mutex_unlock(&lock);
	if (!r)
		*out = v->range;
	return r;
}

/* ---- loading -------------------------------------------------------------------------- */

static struct gpu *gpu_for_choice(void)
{
	struct context *ctx;

	return context_current(&ctx) ? &core.gpus[0] : ctx->gpu;
}

static const char *next_name(char *buf, size_t bytes)
{
	static atomic_uint count;

	snprintf(buf, bytes, "library%u", atomic_fetch_add(&count, 1) + 1);
	return buf;
}

static CUresult load(CUlibrary *out, const void *image, size_t bytes, const char *name,
		     CUjit_option *jit_options, void **values, unsigned n)
{
	struct library *lib;
	struct jit jit;
	char buf[32];
	CUresult r = core_check();

	if (r)
		return r;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	r = jit_parse(&jit, n, jit_options, values);
	if (r)
		return r;
	lib = calloc(1, sizeof(*lib));
	if (!lib)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = image_parse(image, bytes, name ? name : next_name(buf, sizeof(buf)), gpu_for_choice(), &jit,
			&lib->ptx);
	jit_finish(&jit);
	if (!r)
		r = add_kernels(lib);
	if (!r && !handle_add(lib, HANDLE_LIBRARY))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r) {
		library_free(lib);
		return r;
	}
	pthread_mutex_lock(&load_lock);
	lib->next = libraries;
	libraries = lib;
	pthread_mutex_unlock(&load_lock);
	*out = (CUlibrary)lib;
	return CUDA_SUCCESS;
}

/* CU_LIBRARY_BINARY_IS_PRESERVED saves a copy that is not made here anyway: parsed PTX has its own text. */
static CUresult check_options(const CUlibraryOption *lib_options, void **values, unsigned n, bool from_file)
{
	if (n && (!lib_options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		if ((unsigned)lib_options[i] >= CU_LIBRARY_NUM_OPTIONS ||
		    (from_file && lib_options[i] == CU_LIBRARY_BINARY_IS_PRESERVED))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit_options, void **jit_values,
			   unsigned int njit, CUlibraryOption *lib_options, void **lib_values,
			   unsigned int nlib)
{
	CUresult r = check_options(lib_options, lib_values, nlib, false);

	return r ? r : load(out, code, 0, NULL, jit_options, jit_values, njit);
}

CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit_options, void **jit_values,
			       unsigned int njit, CUlibraryOption *lib_options, void **lib_values,
			       unsigned int nlib)
{
	CUresult r = check_options(lib_options, lib_values, nlib, true);
	const char *name;
	size_t bytes;
	void *data;

	if (!r && !path)
		r = CUDA_ERROR_INVALID_VALUE;
	if (!r)
		r = core_check();
	if (!r)
		r = file_read(path, &data, &bytes);
	if (r)
		return r;
	name = strrchr(path, '/');
	r = load(out, data, bytes + 1, name ? name + 1 : path, jit_options, jit_values, njit);
	free(data);
	return r;
}

static CUresult library_enter(CUlibrary handle, struct library **lib)
{
	*lib = (struct library *)handle;
	return handle_enter(handle, HANDLE_LIBRARY);
}

CUresult cuLibraryUnload(CUlibrary handle)
{
	struct library *lib;
	CUresult r = library_enter(handle, &lib);

	if (!r)
		library_free(lib);
	return r;
}

/* ---- what is in it ---------------------------------------------------------------------------- */

CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name)
{
	struct library *lib;
	CUresult r = library_enter(handle, &lib);

	if (r)
		return r;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct kernel *k = lib->kernels; k; k = k->next) {
		if (!strcmp(k->name, name)) {
			*out = (CUkernel)k;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
	struct library *lib;
	CUresult r = library_enter(handle, &lib);

	if (r)
		return r;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = 0;
	for (struct kernel *k = lib->kernels; k; k = k->next)
		++*count;
	return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary handle)
{
	struct library *lib;
	CUresult r = library_enter(handle, &lib);
	struct kernel *k;

	if (r)
		return r;
	if (!kernels)
		return CUDA_ERROR_INVALID_VALUE;
	k = lib->kernels;
	for (unsigned i = 0; i < n && k; i++, k = k->next)
		kernels[i] = (CUkernel)k;
	return CUDA_SUCCESS;
}

static CUresult module_here(CUlibrary handle, struct module **m)
{
	struct library *lib;
	struct context *ctx;
	CUresult r = library_enter(handle, &lib);

	if (!r)
		r = context_enter(&ctx);
	return r ? r : library_module(lib, ctx, m);
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
	struct module *m;
	CUresult r = out ? module_here(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		*out = (CUmodule)m;
	return r;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *addr, size_t *bytes, CUlibrary handle, const char *name)
{
	struct module *m;
	CUresult r = name && (addr || bytes) ? module_here(handle, &m) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : module_global(m, name, addr, bytes);
}

CUresult cuLibraryGetManaged(CUdeviceptr *addr, size_t *bytes, CUlibrary handle, const char *name)
{
	const struct ptx_symbol *s;
	struct library *lib;
	struct range *range;
	CUresult r = library_enter(handle, &lib);

	if (r)
		return r;
	if (!name || (!addr && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	s = ptx_symbol_find(lib->ptx, name);
	if (!s || !s->managed)
		return CUDA_ERROR_NOT_FOUND;
	r = library_managed(lib, s, gpu_for_choice(), &range);
	if (r)
		return r;
	if (addr)
		*addr = range->addr;
	if (bytes)
		*bytes = s->size;
	return CUDA_SUCCESS;
}

/* ---- kernels ------------------------------------------------------------------------------------- */

CUresult kernel_function(struct kernel *k, struct context *ctx, struct function **out)
{
	struct module *m;
	bool fresh;
	CUresult r = library_module(k->library, ctx, &m);

	if (r)
		return r;
	r = module_function(m, k->name, out);
	if (r)
		return r;
	fresh = !(*out)->kernel_seen;
	(*out)->kernel_seen = true;
	for (int a = 0; fresh && a < (int)ARRAY_SIZE(k->attr_set); a++)
		if (k->attr_set[a])
			function_set_attribute(*out, (CUfunction_attribute)a, k->attr_value[a]);
	return CUDA_SUCCESS;
}

static CUresult kernel_enter(CUkernel handle, struct kernel **k)
{
	*k = (struct kernel *)handle;
	return handle_enter(handle, HANDLE_KERNEL);
}

CUresult cuKernelGetFunction(CUfunction *out, CUkernel handle)
{
	struct context *ctx;
	struct function *f;
	struct kernel *k;
	CUresult r = kernel_enter(handle, &k);

	if (!r)
		r = context_enter(&ctx);
	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	r = kernel_function(k, ctx, &f);
	if (!r)
		*out = (CUfunction)f;
	return r;
}

CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel handle)
{
	struct kernel *k;
	CUresult r = answerable(kernel_enter(handle, &k), out);

	if (!r)
		*out = (CUlibrary)k->library;
	return r;
}

CUresult cuKernelGetName(const char **name, CUkernel handle)
{
	struct kernel *k;
	CUresult r = answerable(kernel_enter(handle, &k), name);

	if (!r)
		*name = k->name;
	return r;
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *size)
{
	struct kernel *k;
	CUresult r = kernel_enter(handle, &k);

	return r ? r : param_info(k->ptx, index, offset, size);
}

/* The device's primary context, or the current one when it is on the device. */
static CUresult kernel_on(CUkernel handle, CUdevice dev, struct function **f)
{
	struct gpu *gpu = gpu_get(dev);
	struct context *ctx;
	struct kernel *k;
	CUresult r = kernel_enter(handle, &k);

	if (r)
		return r;
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	if (context_enter(&ctx) || ctx->gpu != gpu)
		ctx = gpu->primary && gpu->primary->active ? gpu->primary : NULL;
	return ctx ? kernel_function(k, ctx, f) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle, CUdevice dev)
{
	struct function *f;
	CUresult r = kernel_on(handle, dev, &f);

	if (r)
		return r;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	r = function_compile(f);
	return r ? r : function_get_attribute(f, attribute, value);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice dev)
{
	struct function *f;
	struct kernel *k;
	CUresult r = kernel_enter(handle, &k);

	if (r)
		return r;
	r = kernel_on(handle, dev, &f);
	if (!r)
		r = function_compile(f);
	if (!r)
		r = function_set_attribute(f, attribute, value);
	if (!r) { /* for contexts that load it later */
		k->attr_set[attribute] = 1;
		k->attr_value[attribute] = value;
	}
	return r;
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice dev)
{
	struct function *f;
	CUresult r = kernel_on(handle, dev, &f);

	if (r)
		return r;
	if (config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	f->cache_config = config;
	return CUDA_SUCCESS;
}
