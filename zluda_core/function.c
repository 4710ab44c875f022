/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions: kernels of a module. Compiled when first asked for something that needs it; one that can't be
 * translated says why, once, and the module's others work.
 */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Guards a function's `compiling`. Kernels are compiled side by side, each of them once. */
static pthread_mutex_t compile_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t compile_done = PTHREAD_COND_INITIALIZER;

CUresult module_function(struct module *m, const char *name, struct function **out)
{
	struct ptx_func *ptx = ptx_func_find(m->ptx, name);
	struct function *f;

	if (!ptx || !ptx->is_entry)
		return CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&core.lock);
	for (f = m->functions; f && f->ptx != ptx; f = f->next)
		;
	if (!f && (f = calloc(1, sizeof(*f))) && !handle_add(f, HANDLE_FUNCTION)) {
		free(f);
		f = NULL;
	} else if (f && !f->module) {
		f->module = m;
		f->ptx = ptx;
		f->max_dynamic_shared = -1;
		f->carveout = -1;
		f->next = m->functions;
		m->functions = f;
	}
	pthread_mutex_unlock(&core.lock);
	*out = f;
	return f ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult compile(struct function *f)
{
	struct gpu *gpu = f->module->ctx->gpu;
	struct diag d = DIAG_INIT;
	char subject[448];
	int e;

	if (f->module->ptx->address_size == 32) {
		say("%s: kernel %s is for 32-bit addresses, which are not supported", f->module->ptx->name,
		    f->ptx->name);
		return f->failed = CUDA_ERROR_NOT_SUPPORTED;
	}
	e = gpu->ops->kernel_get(gpu->dev, f->module->dev, f->ptx->name, &f->dev, &d);
	if (!e) {
		gpu->ops->kernel_info(gpu->dev, f->dev, &f->info);
		return CUDA_SUCCESS;
	}
	f->dev = NULL;
	snprintf(subject, sizeof(subject), "kernel %.400s can't be translated", f->ptx->name);
	say_diag_of(subject, &d);
	for (uint32_t k = 1; k < f->ptx->nerrors; k++)
		say_diag(&f->ptx->errors[k]);
	if (e == CUTRACE_ENOENT)
		return f->failed = CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
	return f->failed =
		       e == CUTRACE_ENOTSUP || e == CUTRACE_ENOMEM ? result_of(e) : CUDA_ERROR_INVALID_PTX;
}

CUresult function_compile(struct function *f)
{
	CUresult r;

	pthread_mutex_lock(&compile_lock);
	while (f->compiling)
		pthread_cond_wait(&compile_done, &compile_lock);
	if (f->compiled) {
		r = f->failed;
		pthread_mutex_unlock(&compile_lock);
		return r;
	}
	f->compiling = true;
	pthread_mutex_unlock(&compile_lock);
	r = compile(f);
	pthread_mutex_lock(&compile_lock);
	f->compiling = false;
	f->compiled = true;
	pthread_cond_broadcast(&compile_done);
	pthread_mutex_unlock(&compile_lock);
	return r;
}

/* Without compiling. */
static CUresult function_get(CUfunction handle, struct context *ctx, struct function **f)
{
	if (handle_is(handle, HANDLE_FUNCTION)) {
		*f = (struct function *)handle;
		return CUDA_SUCCESS;
	}
	if (handle_is(handle, HANDLE_KERNEL))
		return kernel_function((struct kernel *)handle, ctx, f);
	return CUDA_ERROR_INVALID_HANDLE;
}

CUresult function_resolve(CUfunction handle, struct context *ctx, struct function **f)
{
	CUresult r = function_get(handle, ctx, f);

	return r ? r : function_compile(*f);
}

static CUresult function_enter(CUfunction handle, struct function **f)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	return r ? r : function_get(handle, ctx, f);
}

/* ---- attributes ------------------------------------------------------------------------- */

static unsigned product(const uint32_t v[3])
{
	return (v[0] ? v[0] : 1) * (v[1] ? v[1] : 1) * (v[2] ? v[2] : 1);
}

/* .maxntid, .reqntid, registers, the device: whatever allows least. */
unsigned function_max_threads(const struct function *f)
{
	const struct dev_props *p = &f->module->ctx->gpu->props;
	const struct cc_limits *cc = f->module->ctx->gpu->cc;
	unsigned max = p->max_threads_per_block;

	if (f->ptx->maxntid[0] && product(f->ptx->maxntid) < max)
		max = product(f->ptx->maxntid);
	if (f->ptx->reqntid[0] && product(f->ptx->reqntid) < max)
		max = product(f->ptx->reqntid);
	if (f->info.max_threads && f->info.max_threads < max)
		max = f->info.max_threads;
	if (f->info.num_regs) {
		unsigned per_warp = (f->info.num_regs * 32 + cc->reg_alloc_unit - 1) / cc->reg_alloc_unit *
				    cc->reg_alloc_unit;
		unsigned warps = p->regs_per_block / per_warp;

		warps -= warps % cc->warp_alloc_unit;
		if (warps * 32 < max)
			max = warps * 32;
	}
	return max;
}

static int default_dynamic_shared(const struct function *f)
{
	uint32_t limit = f->module->ctx->gpu->props.shared_per_block;

	return limit > f->info.shared_bytes ? (int)(limit - f->info.shared_bytes) : 0;
}

CUresult function_get_attribute(struct function *f, CUfunction_attribute a, int *value)
{
	const struct gpu *gpu = f->module->ctx->gpu;

	switch ((unsigned)a) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)function_max_threads(f); break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)f->info.shared_bytes; break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = (int)f->info.const_bytes; break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)f->info.local_bytes; break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)f->info.num_regs; break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = f->module->ptx->target; break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = (int)(gpu->props.cc_major * 10 + gpu->props.cc_minor);
		break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = f->max_dynamic_shared < 0 ? default_dynamic_shared(f) : f->max_dynamic_shared;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->carveout; break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = f->ptx->cluster[0] != 0; break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
		int i = (int)a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;

		*value = f->ptx->cluster[i] ? (int)f->ptx->cluster[i] : f->cluster[i];
		break;
	}
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->non_portable_cluster; break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = f->cluster_policy; break;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* What the reported compute capability has, and the device not. */
static void say_too_much_shared(const struct function *f, int dynamic)
{
	const struct gpu *gpu = f->module->ctx->gpu;
	const uint64_t wanted = (uint64_t)f->info.shared_bytes + (uint32_t)dynamic;

	if (dynamic >= 0 && wanted <= gpu->cc->shared_per_block_optin)
		say("kernel %s: %llu bytes of shared memory (%u static, %d dynamic) are more than a block on "
		    "%s has, %u",
		    f->ptx->name, (unsigned long long)wanted, f->info.shared_bytes, dynamic, gpu->props.name,
		    gpu->props.shared_per_block_optin);
}

CUresult function_set_attribute(struct function *f, CUfunction_attribute a, int value)
{
	uint32_t optin = f->module->ctx->gpu->props.shared_per_block_optin;

	switch ((unsigned)a) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || (uint32_t)value + f->info.shared_bytes > optin) {
			say_too_much_shared(f, value);
			return CUDA_ERROR_INVALID_VALUE;
		}
		f->max_dynamic_shared = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		f->carveout = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		if (value < 0)
			return CUDA_ERROR_INVALID_VALUE;
		if (value > 1) /* CLUSTER_LAUNCH says 0 */
			return CUDA_ERROR_NOT_SUPPORTED;
		f->cluster[(int)a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		f->non_portable_cluster = value != 0;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		f->cluster_policy = value;
		return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
	struct function *f;
	CUresult r = function_enter(handle, &f);

	if (!r)
		r = function_compile(f);
	if (r)
		return r;
	return value ? function_get_attribute(f, attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
	struct function *f;
	CUresult r = function_enter(handle, &f);

	if (!r)
		r = function_compile(f);
	return r ? r : function_set_attribute(f, attribute, value);
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	struct function *f;
	CUresult r = function_enter(handle, &f);

	if (r)
		return r;
	if (config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	f->cache_config = config;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
	struct function *f;
	CUresult r = function_enter(handle, &f);

	if (r)
		return r;
	return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- facts ---------------------------------------------------------------------------------- */

CUresult param_info(const struct ptx_func *f, size_t index, size_t *offset, size_t *size)
{
	if (!offset || index >= f->nparams)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = f->params[index].offset;
	if (size)
		*size = f->params[index].size;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
	struct function *f;
	CUresult r = function_enter(handle, &f);

	return r ? r : param_info(f->ptx, index, offset, size);
}

CUresult cuFuncGetModule(CUmodule *out, CUfunction handle)
{
	struct function *f;
	CUresult r = answerable(function_enter(handle, &f), out);

	if (!r)
		*out = (CUmodule)f->module;
	return r;
}

CUresult cuFuncGetName(const char **name, CUfunction handle)
{
	struct function *f;
	CUresult r = answerable(function_enter(handle, &f), name);

	if (!r)
		*name = f->ptx->name;
	return r;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
	struct function *f;
	CUresult r = answerable(function_enter(handle, &f), state);

	if (!r)
		*state = f->dev ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
	return r;
}

CUresult cuFuncLoad(CUfunction handle)
{
	struct function *f;
	CUresult r = function_enter(handle, &f);

	return r ? r : function_compile(f);
}
