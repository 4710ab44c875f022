/* SPDX-License-Identifier: Apache-2.0
 *
 * What a context remembers and tells: flags, limits, configuration, events of its own.
 */
#include "core.h"

#include <stdio.h>

CUresult cuCtxGetDevice(CUdevice *device)
{
	struct context *ctx;
	CUresult r = answerable(context_current(&ctx), device);

	if (!r)
		*device = ctx->gpu->ordinal;
	return r;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
	struct context *ctx;
	CUresult r = answerable(context_resolve(handle, &ctx), device);

	if (!r)
		*device = ctx->gpu->ordinal;
	return r;
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	struct context *ctx;
	CUresult r = answerable(context_current(&ctx), flags);

	if (!r)
		*flags = ctx->flags;
	return r;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	struct context *ctx;
	CUresult r = context_current(&ctx);

	if (r)
		return r;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	ctx->flags = flags | CU_CTX_MAP_HOST;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct context *ctx;
	CUresult r = answerable(context_resolve(handle, &ctx), id);

	if (!r)
		*id = ctx->id;
	return r;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	struct context *ctx;
	CUresult r = answerable(context_resolve(handle, &ctx), version);

	if (!r)
		*version = ctx->api_version;
	return r;
}

CUresult cuCtxSynchronize(void)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	return r ? r : context_wait(ctx);
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
	struct context *ctx;
	CUresult r = context_resolve(handle, &ctx);

	return r ? r : context_wait(ctx);
}

/* ---- limits and configuration -------------------------------------------- */

static bool limit_settable(CUlimit limit)
{
	return limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

/* Limits that code on the device runs into. A device that has its own ways doesn't know them. */
static void tell_device(struct gpu *gpu, CUlimit limit, size_t value)
{
	const char *key = limit == CU_LIMIT_MALLOC_HEAP_SIZE   ? "heap_bytes"
			  : limit == CU_LIMIT_PRINTF_FIFO_SIZE ? "print_bytes"
							       : NULL;
	char text[32];

	if (!key || !gpu->ops->control)
		return;
	snprintf(text, sizeof(text), "%zu", value);
	gpu->ops->control(gpu->dev, key, text, NULL);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if ((unsigned)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!limit_settable(limit))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128)
		return CUDA_ERROR_INVALID_VALUE;
	if (limit == CU_LIMIT_MALLOC_HEAP_SIZE)
		atomic_store(&ctx->gpu->heap_limit, value);
	tell_device(ctx->gpu, limit, value);
	ctx->limits[limit] = value;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!value || (unsigned)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*value = ctx->limits[limit];
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
	struct context *ctx;
	CUresult r = answerable(context_enter(&ctx), config);

	if (!r)
		*config = ctx->cache_config;
	return r;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	ctx->cache_config = config;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
	struct context *ctx;
	CUresult r = answerable(context_enter(&ctx), config);

	if (!r)
		*config = ctx->shared_config;
	return r;
}

/* Bank size can't be chosen on devices from 5.0 on: accepted, without effect. */
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	return config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	struct context *ctx;

	return context_enter(&ctx);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *param, CUexecAffinityType type)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!param || type >= CU_EXEC_AFFINITY_TYPE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

/* ---- peers ------------------------------------------------------------------- */

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	struct context *ctx, *other;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!peer || context_resolve(peer, &other))
		return CUDA_ERROR_INVALID_CONTEXT;
	return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	struct context *ctx, *other;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!peer || context_resolve(peer, &other))
		return CUDA_ERROR_INVALID_CONTEXT;
	return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
