/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: arguments packed, limits checked, work put into the stream's queue.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

struct launch_op {
	struct op op;
	struct function *function;
	struct dev_launch launch;
	uint64_t origin; /* say_origin() of the call */
	uint8_t params[];
};

static CUresult run_launch(struct op *op)
{
	struct launch_op *l = (struct launch_op *)op;
	struct context *ctx = queue_context(op->queue);
	struct dev_fault fault = {0};
	CUresult r;

	if (!ctx->gpu->ops->launch(ctx->gpu->dev, &l->launch, &fault))
		return CUDA_SUCCESS;
	r = result_of_fault(fault.kind == DEV_FAULT_NONE ? DEV_FAULT_INTERNAL : fault.kind);
	print_flush_try(); /* what the kernel printed comes before the reason */
	/* Said before it can be seen: a program that sees the error may end at once. */
	say_about(l->origin, "%s",
		  fault.message[0] ? fault.message : "a kernel failed for a reason the device did not give");
	context_set_error(ctx, r, &fault);
	return r;
}

/* ---- arguments ---------------------------------------------------------------------- */

static CUresult pack_pointers(const struct ptx_func *f, void **values, uint8_t *out)
{
	for (uint32_t i = 0; i < f->nparams; i++) {
		if (!values[i])
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(out + f->params[i].offset, values[i], f->params[i].size);
	}
	return CUDA_SUCCESS;
}

/* extra: (name, value) pairs up to CU_LAUNCH_PARAM_END. */
static CUresult pack_extra(const struct ptx_func *f, void **extra, uint8_t *out)
{
	const void *buffer = NULL;
	size_t size = SIZE_MAX;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
			size = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!f->param_bytes)
		return CUDA_SUCCESS;
	if (!buffer || size == SIZE_MAX || size < f->param_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(out, buffer, f->param_bytes);
	return CUDA_SUCCESS;
}

static CUresult pack(const struct ptx_func *f, void **values, void **extra, uint8_t *out)
{
	if (values && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		return pack_extra(f, extra, out);
	if (!f->nparams)
		return CUDA_SUCCESS;
	return values ? pack_pointers(f, values, out) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- limits --------------------------------------------------------------------------- */

static CUresult check_shape(const struct function *f, const struct dev_launch *l)
{
	const struct dev_props *p = &f->module->ctx->gpu->props;
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	for (int i = 0; i < 3; i++)
		if (!l->grid[i] || l->grid[i] > p->max_grid[i] || !l->block[i] ||
		    l->block[i] > p->max_block[i])
			return CUDA_ERROR_INVALID_VALUE;
	if (threads > p->max_threads_per_block)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < 3 && f->ptx->reqntid[0]; i++)
		if (l->block[i] != (f->ptx->reqntid[i] ? f->ptx->reqntid[i] : 1))
			return CUDA_ERROR_INVALID_VALUE; /* PTX ISA, .reqntid: no other shape */
	return threads > function_max_threads(f) ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : CUDA_SUCCESS;
}

static CUresult check_shared(struct function *f, const struct dev_launch *l)
{
	int max;

	function_get_attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &max);
	return l->shared_bytes > (uint32_t)max ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult check_cooperative(const struct function *f, const struct dev_launch *l)
{
	const struct dev_props *p = &f->module->ctx->gpu->props;
	unsigned threads = l->block[0] * l->block[1] * l->block[2];
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];

	if (!l->cooperative)
		return CUDA_SUCCESS;
	if (!p->cooperative)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (blocks > (uint64_t)occupancy_blocks(f, threads, l->shared_bytes) * p->sm_count)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

static bool product_is_one(const uint32_t v[3])
{
	return v[0] <= 1 && v[1] <= 1 && v[2] <= 1;
}

static CUresult check_cluster(const struct function *f)
{
	if (product_is_one(f->ptx->cluster))
		return CUDA_SUCCESS;
	say("kernel %s needs thread block clusters, which are not supported", f->ptx->name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- launching ------------------------------------------------------------------------------- */

struct launch_request {
	CUfunction function;
	unsigned grid[3], block[3], shared;
	CUstream stream;
	bool cooperative;
	void **values, **extra;
};

static CUresult launch(const struct launch_request *req)
{
	struct launch_op *l;
	struct function *f;
	struct context *ctx;
	struct queue *q;
	CUresult r = stream_resolve(req->stream, &ctx, &q);

	if (!r)
		r = function_resolve(req->function, ctx, &f);
	if (r)
		return r;
	if (f->module->ctx != ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	l = op_new(sizeof(*l) + f->ptx->param_bytes + 16, run_launch);
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->function = f;
	l->origin = say_origin();
	l->launch = (struct dev_launch){.kernel = f->dev,
					.shared_bytes = req->shared,
					.cooperative = req->cooperative,
					.params = l->params,
					.param_bytes = f->ptx->param_bytes};
	memcpy(l->launch.grid, req->grid, sizeof(req->grid));
	memcpy(l->launch.block, req->block, sizeof(req->block));
	r = check_shape(f, &l->launch);
	r = r ? r : check_shared(f, &l->launch);
	r = r ? r : check_cooperative(f, &l->launch);
	r = r ? r : check_cluster(f);
	r = r ? r : pack(f->ptx, req->values, req->extra, l->params);
	if (r) {
		free(l);
		return r;
	}
	l->launch.launch_id = atomic_fetch_add(&core.launches, 1) + 1; /* in the order of the calls */
	if (options.launch_blocking) {
		r = queue_run(q, &l->op);
		print_flush();
		return r;
	}
	queue_submit(q, &l->op);
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
			unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **values,
			void **extra)
{
	return launch(&(struct launch_request){
		f, {gx, gy, gz}, {bx, by, bz}, shared, stream, false, values, extra});
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
				   unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
				   CUstream stream, void **values)
{
	return launch(
		&(struct launch_request){f, {gx, gy, gz}, {bx, by, bz}, shared, stream, true, values, NULL});
}

/* ---- attributes of cuLaunchKernelEx ---------------------------------------------------------------- */

/* Recorded after the kernel: later than a device with programmatic launch would, never earlier. */
struct after {
	CUevent events[4];
	unsigned n;
};

static CUresult one_cluster(const char *what, unsigned x, unsigned y, unsigned z)
{
	if (x <= 1 && y <= 1 && z <= 1)
		return CUDA_SUCCESS;
	say("a launch with %s %ux%ux%u is refused: thread block clusters are not supported", what, x, y, z);
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult add_event(struct after *after, CUevent e)
{
	if (!handle_is(e, HANDLE_EVENT) || after->n == ARRAY_SIZE(after->events))
		return CUDA_ERROR_INVALID_VALUE;
	after->events[after->n++] = e;
	return CUDA_SUCCESS;
}

static CUresult take_attribute(const CUlaunchAttribute *a, struct launch_request *req, struct after *after)
{
	const CUlaunchAttributeValue *v = &a->value;

	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: /* hints */
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: /* an allowance: full order is legal */
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: req->cooperative = v->cooperative != 0; return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		return one_cluster("cluster dimension", v->clusterDim.x, v->clusterDim.y, v->clusterDim.z);
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return CUDA_SUCCESS; /* a preference */
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: return add_event(after, v->programmaticEvent.event);
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return add_event(after, v->launchCompletionEvent.event);
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return v->deviceUpdatableKernelNode.deviceUpdatable ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **values, void **extra)
{
	struct after after = {0};
	struct launch_request req;
	CUresult r = core_check();

	if (r)
		return r;
	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	req = (struct launch_request){f,
				      {c->gridDimX, c->gridDimY, c->gridDimZ},
				      {c->blockDimX, c->blockDimY, c->blockDimZ},
				      c->sharedMemBytes,
				      c->hStream,
				      false,
				      values,
				      extra};
	for (unsigned i = 0; i < c->numAttrs && !r; i++)
		r = take_attribute(&c->attrs[i], &req, &after);
	if (!r)
		r = launch(&req);
	for (unsigned i = 0; i < after.n && !r; i++)
		r = cuEventRecord(after.events[i], c->hStream);
	return r;
}

/* ---- the launch of CUDA 3: state in the function ------------------------------------------------------ */

static CUresult old_enter(CUfunction handle, struct function **f)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	if (!r)
		r = function_resolve(handle, ctx, f);
	if (!r && !(*f)->old_params)
		(*f)->old_params = calloc(1, (*f)->ptx->param_bytes + 16);
	return r || (*f)->old_params ? r : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z)
{
	struct function *f;
	CUresult r = old_enter(handle, &f);

	if (r)
		return r;
	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	f->old_block[0] = (unsigned)x;
	f->old_block[1] = (unsigned)y;
	f->old_block[2] = (unsigned)z;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction handle, unsigned int bytes)
{
	struct function *f;
	CUresult r = old_enter(handle, &f);

	if (!r)
		f->old_shared = bytes;
	return r;
}

CUresult cuParamSetSize(CUfunction handle, unsigned int bytes)
{
	struct function *f;
	CUresult r = old_enter(handle, &f);

	if (r)
		return r;
	return bytes > f->ptx->param_bytes ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuParamSetv(CUfunction handle, int offset, void *data, unsigned int bytes)
{
	struct function *f;
	CUresult r = old_enter(handle, &f);

	if (r)
		return r;
	if (!data || offset < 0 || bytes > f->ptx->param_bytes ||
	    (unsigned)offset > f->ptx->param_bytes - bytes)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(f->old_params + offset, data, bytes);
	return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction handle, int offset, unsigned int value)
{
	return cuParamSetv(handle, offset, &value, sizeof(value));
}

CUresult cuParamSetf(CUfunction handle, int offset, float value)
{
	return cuParamSetv(handle, offset, &value, sizeof(value));
}

CUresult cuLaunchGridAsync(CUfunction handle, int width, int height, CUstream stream)
{
	struct function *f;
	size_t bytes;
	CUresult r = old_enter(handle, &f);

	if (r)
		return r;
	if (width <= 0 || height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = f->ptx->param_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, f->old_params, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			 CU_LAUNCH_PARAM_END};

	return cuLaunchKernel(handle, (unsigned)width, (unsigned)height, 1, f->old_block[0], f->old_block[1],
			      f->old_block[2], f->old_shared, stream, NULL, extra);
}

CUresult cuLaunchGrid(CUfunction handle, int width, int height)
{
	return cuLaunchGridAsync(handle, width, height, NULL);
}

CUresult cuLaunch(CUfunction handle)
{
	return cuLaunchGridAsync(handle, 1, 1, NULL);
}
