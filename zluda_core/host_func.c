/* SPDX-License-Identifier: Apache-2.0
 *
 * Host code as work in a stream. While it runs, CUDA functions refuse (CUDA_ERROR_NOT_PERMITTED), as the
 * driver API's documentation of cuLaunchHostFunc and cuStreamAddCallback allows.
 */
#include "core.h"

struct host_op {
	struct op op;
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream stream;
	void *data;
};

static CUresult run_host(struct op *op)
{
	struct host_op *h = (struct host_op *)op;
	struct context *ctx = queue_context(op->queue);
	struct thread_state *t = thread_state();

	print_flush_try();
	t->in_callback = true;
	if (h->callback)
		h->callback(h->stream, (CUresult)atomic_load(&ctx->error), h->data);
	else if (!atomic_load(&ctx->error))
		h->fn(h->data);
	t->in_callback = false;
	return CUDA_SUCCESS;
}

static CUresult add(CUstream handle, CUhostFn fn, CUstreamCallback callback, void *data)
{
	struct context *ctx;
	struct queue *q;
	struct host_op *op;
	CUresult r = stream_resolve(handle, &ctx, &q);

	if (r)
		return r;
	if (!fn && !callback)
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(sizeof(*op), run_host);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->op.own_thread = true;
	op->op.always = true; /* a callback learns the error; run_host skips functions itself */
	op->fn = fn;
	op->callback = callback;
	op->stream = handle;
	op->data = data;
	queue_submit(q, &op->op);
	return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *data)
{
	return add(handle, fn, NULL, data);
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	return add(handle, NULL, callback, data);
}
