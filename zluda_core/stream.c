/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams: handles to queues, the default streams, attributes, callbacks. Capture is not implemented: a
 * stream is never capturing.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* ---- which queue a CUstream means --------------------------------------------- */

static CUresult per_thread_queue(struct context *ctx, struct queue **q)
{
	struct thread_state *t = thread_state();
	struct thread_queue **at = &t->queues;

	while (*at) {
		struct thread_queue *tq = *at;

		if (tq->ctx == ctx && tq->ctx_id == ctx->id) {
			*q = tq->queue;
			return CUDA_SUCCESS;
		}
		if (tq->ctx_id != tq->ctx->id || !tq->ctx->active) { /* of a context that is gone */
			*at = tq->next;
			queue_unref(tq->queue);
			free(tq);
			continue;
		}
		at = &tq->next;
	}
	*at = calloc(1, sizeof(**at));
	if (!*at)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*at)->ctx = ctx;
	(*at)->ctx_id = ctx->id;
	(*at)->queue = *q = queue_new(ctx, QUEUE_BLOCKING, 0);
	if (*q)
		return CUDA_SUCCESS;
	free(*at);
	*at = NULL;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void thread_queues_drop(struct context *ctx)
{
	struct thread_state *t = thread_state();

	for (struct thread_queue **at = &t->queues; *at;) {
		struct thread_queue *tq = *at;

		if (tq->ctx != ctx) {
			at = &tq->next;
			continue;
		}
		*at = tq->next;
		queue_unref(tq->queue);
		free(tq);
	}
}

static CUresult default_stream(CUstream s, struct context **ctx, struct queue **q)
{
	CUresult r = context_enter(ctx);

	if (r)
		return r;
	if (s == CU_STREAM_PER_THREAD)
		return per_thread_queue(*ctx, q);
	*q = (*ctx)->null_queue;
	return CUDA_SUCCESS;
}

static bool is_default(CUstream s)
{
	return !s || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD;
}

CUresult stream_resolve(CUstream s, struct context **ctx, struct queue **q)
{
	CUresult r;

	if (is_default(s))
		return default_stream(s, ctx, q);
	r = handle_enter(s, HANDLE_STREAM);
	if (r)
		return r;
	*ctx = ((struct stream *)s)->ctx;
	*q = ((struct stream *)s)->queue;
	return (CUresult)atomic_load(&(*ctx)->error);
}

/* ---- creating and destroying ---------------------------------------------------- */

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
	struct context *ctx;
	struct stream *s;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	s->flags = flags;
	s->ctx = ctx;
	s->queue = queue_new(ctx, flags & CU_STREAM_NON_BLOCKING ? QUEUE_NON_BLOCKING : QUEUE_BLOCKING,
			     s->priority);
	if (!s->queue || !handle_add(s, HANDLE_STREAM)) {
		queue_unref(s->queue);
		free(s);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_lock(&core.lock);
	s->next = ctx->streams;
	ctx->streams = s;
	pthread_mutex_unlock(&core.lock);
	*out = (CUstream)s;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
	return cuStreamCreateWithPriority(out, flags, 0);
}

/* Work that is still in the queue goes on; the queue goes when it is done. */
static void stream_free(struct stream *s)
{
	pthread_mutex_lock(&core.lock);
	for (struct stream **at = &s->ctx->streams; *at; at = &(*at)->next) {
		if (*at == s) {
			*at = s->next;
			break;
		}
	}
	pthread_mutex_unlock(&core.lock);
	handle_remove(s);
	queue_unref(s->queue);
	free(s);
}

void streams_destroy(struct context *ctx)
{
	while (ctx->streams)
		stream_free(ctx->streams);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
	CUresult r = core_check();

	if (r)
		return r;
	if (is_default(handle) || !handle_is(handle, HANDLE_STREAM))
		return CUDA_ERROR_INVALID_HANDLE;
	r = (CUresult)atomic_load(&((struct stream *)handle)->ctx->error);
	stream_free((struct stream *)handle);
	return r;
}

CUresult cuStreamDestroy(CUstream handle)
{
	return cuStreamDestroy_v2(handle);
}

/* ---- waiting and asking ------------------------------------------------------------ */

CUresult cuStreamSynchronize(CUstream handle)
{
	struct context *ctx;
	struct queue *q;
	CUresult r = stream_resolve(handle, &ctx, &q);

	if (r)
		return r;
	r = queue_drain(q);
	pools_reap(ctx, q);
	print_flush();
	return r ? r : (CUresult)atomic_load(&ctx->error);
}

CUresult cuStreamQuery(CUstream handle)
{
	struct context *ctx;
	struct queue *q;
	CUresult r = stream_resolve(handle, &ctx, &q);

	if (r)
		return r;
	if (!queue_idle(q))
		return CUDA_ERROR_NOT_READY;
	return (CUresult)atomic_load(&ctx->error);
}

/* For the questions that follow: what a stream is, and somewhere to put the answer. */
struct asked {
	struct context *ctx;
	struct queue *queue;
	const struct stream *stream; /* NULL: a default stream */
};

static CUresult ask(CUstream handle, const void *answer, struct asked *a)
{
	CUresult r = stream_resolve(handle, &a->ctx, &a->queue);

	a->stream = is_default(handle) ? NULL : (struct stream *)handle;
	return answerable(r, answer);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
	struct asked a;
	CUresult r = ask(handle, flags, &a);

	if (!r)
		*flags = a.stream ? a.stream->flags : CU_STREAM_DEFAULT;
	return r;
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
	struct asked a;
	CUresult r = ask(handle, priority, &a);

	if (!r)
		*priority = a.stream ? a.stream->priority : 0;
	return r;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *out)
{
	struct asked a;
	CUresult r = ask(handle, out, &a);

	if (!r)
		*out = (CUcontext)a.ctx;
	return r;
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *out, CUgreenCtx *green)
{
	CUresult r = cuStreamGetCtx(handle, out);

	if (!r && green)
		*green = NULL;
	return r;
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *device)
{
	struct asked a;
	CUresult r = ask(handle, device, &a);

	if (!r)
		*device = a.ctx->gpu->ordinal;
	return r;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id)
{
	struct asked a;
	CUresult r = ask(handle, id, &a);

	if (!r)
		*id = queue_id(a.queue);
	return r;
}

/* ---- attributes: stored, without effect on a device that has none of this hardware ---- */

static CUresult attribute_slot(CUstream handle, CUstreamAttrID attr, CUstreamAttrValue **slot)
{
	static CUstreamAttrValue of_default_streams[8];
	static const CUstreamAttrID stored[] = {
		CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
		CU_LAUNCH_ATTRIBUTE_PRIORITY,
		CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
		CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
	};
	struct context *ctx;
	struct queue *q;
	CUresult r = stream_resolve(handle, &ctx, &q);

	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(stored); i++) {
		if (stored[i] != attr)
			continue;
		*slot = is_default(handle) ? &of_default_streams[i] : &((struct stream *)handle)->attrs[i];
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID attr, CUstreamAttrValue *value)
{
	CUstreamAttrValue *slot;
	CUresult r = attribute_slot(handle, attr, &slot);

	if (r)
		return r;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		return cuStreamGetPriority(handle, &value->priority);
	if (attr == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY && !slot->syncPolicy)
		slot->syncPolicy = CU_SYNC_POLICY_AUTO;
	*value = *slot;
	return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
	CUstreamAttrValue *slot;
	CUresult r = attribute_slot(handle, attr, &slot);

	if (r)
		return r;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	*slot = *value;
	return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	CUstreamAttrValue *to, *from;
	CUresult r = attribute_slot(dst, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &to);

	if (!r)
		r = attribute_slot(src, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &from);
	if (!r)
		memmove(to, from, sizeof(((struct stream *)NULL)->attrs));
	return r;
}

/* Managed memory is one host allocation that every stream may use at any time. */
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr ptr, size_t length, unsigned int flags)
{
	struct context *ctx;
	struct queue *q;
	struct range *range = range_find(ptr);
	CUresult r = stream_resolve(handle, &ctx, &q);

	(void)length;
	if (r)
		return r;
	if (!range || flags & ~7u || !flags || (flags & (flags - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- capture: none --------------------------------------------------------------------- */

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
	struct asked a;
	CUresult r = ask(handle, status, &a);

	if (!r)
		*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return r;
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	(void)id; /* set only while capturing, like the rest of the later forms */
	return cuStreamIsCapturing(handle, status);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
				   CUgraph *graph, const CUgraphNode **dependencies, size_t *n)
{
	(void)id;
	(void)graph;
	(void)dependencies;
	(void)n;
	return cuStreamIsCapturing(handle, status);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
				   CUgraph *graph, const CUgraphNode **dependencies,
				   const CUgraphEdgeData **edges, size_t *n)
{
	(void)id;
	(void)graph;
	(void)dependencies;
	(void)edges;
	(void)n;
	return cuStreamIsCapturing(handle, status);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct thread_state *t = thread_state();
	CUresult r = core_check();
	int old;

	if (r)
		return r;
	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	old = t->capture_mode;
	t->capture_mode = *mode;
	*mode = (CUstreamCaptureMode)old;
	return CUDA_SUCCESS;
}
