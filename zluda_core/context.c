/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: ordinary and primary ones, the stack of each thread, sticky errors.
 *
 * A struct context is never freed: a destroyed one may still be on some thread's stack, and must then be
 * told from a new one. It is a few hundred bytes.
 */
#include "texture.h"

#include <stdlib.h>
#include <string.h>

static __thread struct thread_state *tls;
static pthread_key_t tls_key;
static pthread_once_t tls_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;

static void thread_end(void *arg)
{
	struct thread_state *t = arg;

	tls = NULL;
	if (!core.forked && !core.exiting) {
		while (t->queues) {
			struct thread_queue *next = t->queues->next;

			queue_unref(t->queues->queue);
			free(t->queues);
			t->queues = next;
		}
	}
	free(t);
}

static void make_key(void)
{
	pthread_key_create(&tls_key, thread_end);
}

struct thread_state *thread_state(void)
{
	static struct thread_state out_of_memory;

	if (!tls) {
		pthread_once(&tls_once, make_key);
		tls = calloc(1, sizeof(*tls));
		if (!tls)
			return &out_of_memory;
		tls->capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
		pthread_setspecific(tls_key, tls);
	}
	return tls;
}

/* ---- entering ------------------------------------------------------------ */

CUresult context_current(struct context **ctx)
{
	struct thread_state *t = thread_state();
	CUresult r = core_check();

	if (r)
		return r;
	if (!t->depth || !t->stack[t->depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	*ctx = t->stack[t->depth - 1];
	return (*ctx)->active ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult context_enter(struct context **ctx)
{
	CUresult r = context_current(ctx);

	return r ? r : (CUresult)atomic_load(&(*ctx)->error);
}

CUresult context_resolve(CUcontext handle, struct context **ctx)
{
	CUresult r;

	if (!handle)
		return context_current(ctx);
	r = core_check();
	if (r)
		return r;
	if (!handle_is(handle, HANDLE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ctx = (struct context *)handle;
	return (*ctx)->active ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* The first error stays. The fault is there before the error can be seen. */
void context_set_error(struct context *ctx, CUresult r, const struct dev_fault *fault)
{
	pthread_mutex_lock(&fault_lock);
	if (!atomic_load(&ctx->error)) {
		free(ctx->fault);
		ctx->fault = fault ? malloc(sizeof(*fault)) : NULL;
		if (ctx->fault)
			*ctx->fault = *fault;
		atomic_store(&ctx->error, (int)r);
	}
	pthread_mutex_unlock(&fault_lock);
}

bool context_last_fault(struct context *ctx, struct dev_fault *out)
{
	bool has;

	pthread_mutex_lock(&fault_lock);
	has = atomic_load(&ctx->error) && ctx->fault;
	if (has)
		*out = *ctx->fault;
	pthread_mutex_unlock(&fault_lock);
	return has;
}

CUresult context_wait(struct context *ctx)
{
	context_queues_wait(ctx);
	pools_reap(ctx, NULL);
	print_flush();
	return (CUresult)atomic_load(&ctx->error);
}

/* New contexts come in front of the list's head, none leaves it: from the head on it can be walked without the
 * lock. */
void gpu_wait(struct gpu *gpu)
{
	struct context *c;

	pthread_mutex_lock(&core.lock);
	c = core.contexts;
	pthread_mutex_unlock(&core.lock);
	for (; c; c = c->next)
		if (c->gpu == gpu && c->active)
			context_queues_wait(c);
}

/* ---- making and destroying ---------------------------------------------------- */

/* Defaults as NVIDIA's driver reports them; a kernel's stack is the device's matter. */
static const size_t default_limits[CU_LIMIT_MAX] = {
	[CU_LIMIT_STACK_SIZE] = 1024,
	[CU_LIMIT_PRINTF_FIFO_SIZE] = 7u << 20,
	[CU_LIMIT_MALLOC_HEAP_SIZE] = 8u << 20,
	[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
	[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
	[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
};

static CUresult context_start(struct context *ctx, unsigned flags)
{
	ctx->flags = flags | CU_CTX_MAP_HOST;
	ctx->refs = 1;
	ctx->id = core_next_id();
	ctx->api_version = 3020;
	ctx->cache_config = CU_FUNC_CACHE_PREFER_NONE;
	ctx->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	memcpy(ctx->limits, default_limits, sizeof(default_limits));
	atomic_store(&ctx->error, CUDA_SUCCESS);
	ctx->null_queue = queue_new(ctx, QUEUE_LEGACY, 0);
	if (!ctx->null_queue)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->active = true;
	return CUDA_SUCCESS;
}

static struct context *context_new(struct gpu *gpu)
{
	struct context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	if (!handle_add(ctx, HANDLE_CONTEXT)) {
		free(ctx);
		return NULL;
	}
	ctx->gpu = gpu;
	pthread_mutex_lock(&core.lock);
	ctx->next = core.contexts;
	core.contexts = ctx;
	pthread_mutex_unlock(&core.lock);
	return ctx;
}

static void free_range(struct range *r, void *arg)
{
	(void)arg;
	pool_forget(r);
	memory_free(r);
}

static void context_stop(struct context *ctx)
{
	context_queues_wait(ctx);
	pools_reap(ctx, NULL);
	print_flush();
	local_values_clear(ctx);
	libraries_forget(ctx);
	while (ctx->modules)
		module_destroy(ctx->modules);
	streams_destroy(ctx);
	events_destroy(ctx);
	references_drop(ctx);
	textures_destroy(ctx);
	arrays_destroy(ctx);
	range_each(ctx, free_range, NULL);
	ctx->active = false;
	thread_queues_drop(ctx);
	queue_unref(ctx->null_queue);
	ctx->null_queue = NULL;
	pthread_mutex_lock(&fault_lock);
	free(ctx->fault);
	ctx->fault = NULL;
	atomic_store(&ctx->error, CUDA_SUCCESS);
	pthread_mutex_unlock(&fault_lock);
}

static CUresult push(struct context *ctx)
{
	struct thread_state *t = thread_state();

	if (t->depth == CORE_MAX_STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->stack[t->depth++] = ctx;
	return CUDA_SUCCESS;
}

static bool flags_valid(unsigned flags)
{
	unsigned sched = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && (sched & (sched - 1)) == 0;
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice dev, unsigned api_version)
{
	CUresult r = core_check();
	struct gpu *gpu = gpu_get(dev);
	struct context *ctx;

	if (r)
		return r;
	if (!out || !flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	if (thread_state()->depth ==
	    CORE_MAX_STACK) /* before anything is made that the program has no name of */
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx = context_new(gpu);
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = context_start(ctx, flags);
	if (!r)
		r = push(ctx);
	if (r)
		return r;
	ctx->api_version = api_version;
	*out = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice dev)
{
	return create(out, flags, dev, 3010);
}

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev)
{
	return create(out, flags, dev, 3020);
}

CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params, int n, unsigned int flags, CUdevice dev)
{
	if (n < 0 || (n && !params))
		return CUDA_ERROR_INVALID_VALUE;
	if (n) /* as cuDeviceGetExecAffinitySupport says */
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create(out, flags, dev, 3020);
}

CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (params)
		return cuCtxCreate_v3(out, params->execAffinityParams, params->numExecAffinityParams, flags,
				      dev);
	return create(out, flags, dev, 3020);
}

CUresult cuCtxDestroy_v2(CUcontext handle)
{
	struct thread_state *t = thread_state();
	struct context *ctx;
	CUresult r = core_check();

	if (r)
		return r;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	r = context_resolve(handle, &ctx);
	if (r)
		return r;
	if (ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (t->depth && t->stack[t->depth - 1] == ctx)
		t->depth--;
	context_stop(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	return cuCtxDestroy_v2(ctx);
}

CUresult cuCtxAttach(CUcontext *out, unsigned int flags)
{
	struct context *ctx;
	CUresult r = context_current(&ctx);

	if (r)
		return r;
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	ctx->refs++;
	*out = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext handle)
{
	struct context *ctx;
	CUresult r = context_resolve(handle, &ctx);

	if (r)
		return r;
	if (--ctx->refs)
		return CUDA_SUCCESS;
	return cuCtxDestroy_v2(handle);
}

/* ---- the thread's stack ------------------------------------------------------------ */

CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
	struct context *ctx;
	CUresult r = core_check();

	if (r)
		return r;
	if (!handle)
		return CUDA_ERROR_INVALID_CONTEXT;
	r = context_resolve(handle, &ctx);
	return r ? r : push(ctx);
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	return cuCtxPushCurrent_v2(ctx);
}

CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
	struct thread_state *t = thread_state();
	CUresult r = core_check();

	if (r)
		return r;
	if (!t->depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	t->depth--;
	if (out)
		*out = (CUcontext)t->stack[t->depth];
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
	return cuCtxPopCurrent_v2(out);
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
	struct thread_state *t = thread_state();
	struct context *ctx;
	CUresult r = core_check();

	if (r)
		return r;
	if (!handle) {
		if (t->depth)
			t->depth--;
		return CUDA_SUCCESS;
	}
	r = context_resolve(handle, &ctx);
	if (r)
		return r;
	if (!t->depth)
		return push(ctx);
	t->stack[t->depth - 1] = ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
	struct thread_state *t = thread_state();
	CUresult r = core_check();

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = t->depth ? (CUcontext)t->stack[t->depth - 1] : NULL;
	return CUDA_SUCCESS;
}

/* ---- primary contexts ------------------------------------------------------------------ */

CUresult context_primary(struct gpu *gpu, struct context **ctx)
{
	if (!gpu->primary) {
		gpu->primary = context_new(gpu);
		if (!gpu->primary)
			return CUDA_ERROR_OUT_OF_MEMORY;
		gpu->primary->primary = true;
	}
	*ctx = gpu->primary;
	return gpu->primary->active ? CUDA_SUCCESS : context_start(gpu->primary, gpu->primary_flags);
}

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult primary_enter(CUdevice dev, struct gpu **gpu)
{
	CUresult r = core_check();

	if (r)
		return r;
	*gpu = gpu_get(dev);
	return *gpu ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
	struct context *ctx;
	struct gpu *gpu;
	CUresult r = primary_enter(dev, &gpu);

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&primary_lock);
	r = context_primary(gpu, &ctx);
	if (!r) {
		gpu->primary_refs++;
		*out = (CUcontext)ctx;
	}
	pthread_mutex_unlock(&primary_lock);
	return r;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = primary_enter(dev, &gpu);

	if (r)
		return r;
	pthread_mutex_lock(&primary_lock);
	if (!gpu->primary_refs)
		r = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--gpu->primary_refs && gpu->primary->active)
		context_stop(gpu->primary);
	pthread_mutex_unlock(&primary_lock);
	return r;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return cuDevicePrimaryCtxRelease_v2(dev);
}

/* The handle and the references stay, the context is inactive until it is retained again. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct gpu *gpu;
	CUresult r = primary_enter(dev, &gpu);

	if (r)
		return r;
	pthread_mutex_lock(&primary_lock);
	if (gpu->primary && gpu->primary->active)
		context_stop(gpu->primary);
	pthread_mutex_unlock(&primary_lock);
	return r;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	return cuDevicePrimaryCtxReset_v2(dev);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	struct gpu *gpu;
	CUresult r = primary_enter(dev, &gpu);

	if (r)
		return r;
	if (!flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	gpu->primary_flags = flags;
	if (gpu->primary && gpu->primary->active)
		gpu->primary->flags = flags | CU_CTX_MAP_HOST;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	struct gpu *gpu;
	CUresult r = primary_enter(dev, &gpu);

	if (r)
		return r;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*active = gpu->primary && gpu->primary->active;
	*flags = *active ? gpu->primary->flags & ~(unsigned)CU_CTX_MAP_HOST : gpu->primary_flags;
	return CUDA_SUCCESS;
}
