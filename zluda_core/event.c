/* SPDX-License-Identifier: Apache-2.0
 *
 * Events: a point in a queue's timeline and, unless disabled, the time when it was reached.
 */
#include "core.h"

#include <stdlib.h>
#include <time.h>

struct event {
	struct event *next; /* in its context */
	struct context *ctx;
	unsigned flags;
	unsigned refs;       /* the handle's and those of record ops; under the lock below */
	struct queue *queue; /* of the last record, NULL = never recorded */
	uint64_t seq;
	uint64_t record;  /* number of the last record */
	uint64_t time_ns; /* when that one was reached */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void event_unref(struct event *e)
{
	bool last;

	pthread_mutex_lock(&lock);
	last = !--e->refs;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	queue_unref(e->queue);
	free(e);
}

static CUresult event_enter(CUevent handle, struct event **e)
{
	*e = (struct event *)handle;
	return handle_enter(handle, HANDLE_EVENT);
}

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
	const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
	struct context *ctx;
	struct event *e;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out || flags & ~known || (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS)
		return CUDA_ERROR_NOT_SUPPORTED;
	e = calloc(1, sizeof(*e));
	if (!e || !handle_add(e, HANDLE_EVENT)) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	e->ctx = ctx;
	e->flags = flags;
	e->refs = 1;
	pthread_mutex_lock(&core.lock);
	e->next = ctx->events;
	ctx->events = e;
	pthread_mutex_unlock(&core.lock);
	*out = (CUevent)e;
	return CUDA_SUCCESS;
}

static void event_free(struct event *e)
{
	pthread_mutex_lock(&core.lock);
	for (struct event **at = &e->ctx->events; *at; at = &(*at)->next) {
		if (*at == e) {
			*at = e->next;
			break;
		}
	}
	pthread_mutex_unlock(&core.lock);
	handle_remove(e);
	event_unref(e);
}

void events_destroy(struct context *ctx)
{
	while (ctx->events)
		event_free(ctx->events);
}

CUresult cuEventDestroy_v2(CUevent handle)
{
	struct event *e;
	CUresult r = event_enter(handle, &e);

	if (!r)
		event_free(e);
	return r;
}

CUresult cuEventDestroy(CUevent handle)
{
	return cuEventDestroy_v2(handle);
}

/* ---- recording ------------------------------------------------------------ */

struct record_op {
	struct op op;
	struct event *event;
	uint64_t record;
};

static CUresult run_record(struct op *op)
{
	struct record_op *r = (struct record_op *)op;

	pthread_mutex_lock(&lock);
	if (r->event->record == r->record)
		r->event->time_ns = now_ns();
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

static void release_record(struct op *op)
{
	event_unref(((struct record_op *)op)->event);
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags)
{
	struct record_op *op;
	struct context *ctx;
	struct queue *q, *old;
	struct event *e;
	CUresult r = event_enter(handle, &e);

	if (!r)
		r = stream_resolve(stream, &ctx, &q);
	if (r)
		return r;
	if (flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx != e->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	op = op_new(sizeof(*op), run_record);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->op.always = true;
	op->op.release = release_record;
	op->event = e;
	queue_ref(q);
	pthread_mutex_lock(&lock);
	e->refs++;
	old = e->queue;
	op->record = ++e->record;
	e->queue = q;
	e->seq = queue_submit(q, &op->op);
	pthread_mutex_unlock(&lock);
	queue_unref(old);
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent handle, CUstream stream)
{
	return cuEventRecordWithFlags(handle, stream, 0);
}

/* ---- waiting and asking ------------------------------------------------------ */

/* The point the event stands for; the queue is referenced. NULL = never recorded. */
static struct queue *event_point(struct event *e, uint64_t *seq)
{
	struct queue *q;

	pthread_mutex_lock(&lock);
	q = e->queue;
	*seq = e->seq;
	if (q)
		queue_ref(q);
	pthread_mutex_unlock(&lock);
	return q;
}

CUresult cuEventQuery(CUevent handle)
{
	struct event *e;
	struct queue *q;
	uint64_t seq;
	CUresult r = event_enter(handle, &e);

	if (r)
		return r;
	q = event_point(e, &seq);
	if (q && !queue_done(q, seq))
		r = CUDA_ERROR_NOT_READY;
	queue_unref(q);
	return r ? r : (CUresult)atomic_load(&e->ctx->error);
}

CUresult cuEventSynchronize(CUevent handle)
{
	struct event *e;
	struct queue *q;
	uint64_t seq;
	CUresult r = event_enter(handle, &e);

	if (r)
		return r;
	q = event_point(e, &seq);
	if (q)
		queue_wait(q, seq);
	queue_unref(q);
	print_flush();
	return (CUresult)atomic_load(&e->ctx->error);
}

static CUresult time_of(struct event *e, uint64_t *ns)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!e->queue || e->flags & CU_EVENT_DISABLE_TIMING)
		r = CUDA_ERROR_INVALID_HANDLE;
	else if (!queue_done(e->queue, e->seq))
		r = CUDA_ERROR_NOT_READY;
	*ns = e->time_ns;
	pthread_mutex_unlock(&lock);
	return r;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	uint64_t t0 = 0, t1 = 0;
	struct event *a, *b;
	CUresult r = event_enter(start, &a), r2;

	if (!r)
		r = event_enter(end, &b);
	if (r)
		return r;
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	r = time_of(a, &t0);
	r2 = time_of(b, &t1);
	if (r == CUDA_ERROR_INVALID_HANDLE || r2 == CUDA_ERROR_INVALID_HANDLE)
		return CUDA_ERROR_INVALID_HANDLE;
	if (r || r2)
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)((int64_t)(t1 - t0)) / 1e6);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return cuEventElapsedTime(ms, start, end);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int flags)
{
	struct context *ctx;
	struct queue *q, *point;
	struct event *e;
	struct op *op;
	uint64_t seq;
	CUresult r = event_enter(handle, &e);

	if (!r)
		r = stream_resolve(stream, &ctx, &q);
	if (r)
		return r;
	if (flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	point = event_point(e, &seq);
	if (!point)
		return CUDA_SUCCESS;
	op = op_new(sizeof(*op), op_nothing);
	if (op && op_depend(op, point, seq)) {
		op->always = true;
		queue_submit(q, op);
	} else {
		if (op)
			op_drop(op);
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	queue_unref(point);
	return r;
}
