/* SPDX-License-Identifier: Apache-2.0
 *
 * Software queues: what makes streams asynchronous on a device that has only synchronous functions.
 *
 * A queue is a FIFO with a timeline: its ops are numbered from 1, `completed` says how far it has come. An op
 * may run when it is the head of its queue and every (queue, number) it depends on has been reached. The
 * legacy default stream's rule is made of such dependencies: an op in it waits for all that was submitted to
 * blocking queues of its context before, and an op in a blocking queue waits for what was submitted to the
 * legacy queue before (CUDA Driver API, "Stream synchronization behavior").
 *
 * Ops are run by a pool of threads that grows while ready work is waiting: two kernels that wait for each
 * other in two streams must both run. An op of a synchronous call is run by the calling thread when its turn
 * comes.
 */
#include "core.h"

#include <stdlib.h>
#include <time.h>

#include "base/worker_thread.h"

#define MAX_WORKERS  1024
#define IDLE_SECONDS 2

struct queue {
	struct queue *next;                       /* in its context */
	struct queue *next_active, **prev_active; /* among those with work */
	struct context *ctx;
	enum queue_kind kind;
	int priority;
	unsigned refs;
	uint64_t id;
	uint64_t submitted, completed;
	struct op *head, *tail;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct queue *active, **active_tail;
	unsigned workers, idle;
	unsigned waking;   /* idle workers that were signalled and have not looked yet */
	unsigned starting; /* new ones that have not looked yet */
} qs = {.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
	.active_tail = &qs.active};

void *op_new(size_t bytes, CUresult (*run)(struct op *op))
{
	struct op *op = calloc(1, bytes);

	if (op)
		op->run = run;
	return op;
}

static void op_free(struct op *op)
{
	if (op->release)
		op->release(op);
	free(op->deps);
	free(op);
}

/* With the lock held. */
static void unref_locked(struct queue *q)
{
	struct queue **at;

	if (--q->refs)
		return;
	for (at = &q->ctx->queues; *at; at = &(*at)->next) {
		if (*at == q) {
			*at = q->next;
			break;
		}
	}
	free(q);
}

static bool depend_locked(struct op *op, struct queue *q, uint64_t seq)
{
	if (q->completed >= seq)
		return true;
	if (op->ndeps == op->deps_size) {
		unsigned size = op->deps_size ? op->deps_size * 2 : 4;
		struct op_dep *deps = realloc(op->deps, size * sizeof(*deps));

		if (!deps)
			return false;
		op->deps = deps;
		op->deps_size = size;
	}
	q->refs++;
	op->deps[op->ndeps++] = (struct op_dep){q, seq};
	return true;
}

bool op_depend(struct op *op, struct queue *q, uint64_t seq)
{
	bool ok;

	pthread_mutex_lock(&qs.lock);
	ok = depend_locked(op, q, seq);
	pthread_mutex_unlock(&qs.lock);
	return ok;
}

void op_drop(struct op *op)
{
	pthread_mutex_lock(&qs.lock);
	while (op->ndeps)
		unref_locked(op->deps[--op->ndeps].queue);
	pthread_mutex_unlock(&qs.lock);
	op_free(op);
}

struct queue *queue_new(struct context *ctx, enum queue_kind kind, int priority)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->ctx = ctx;
	q->kind = kind;
	q->priority = priority;
	q->refs = 1;
	q->id = core_next_id();
	pthread_mutex_lock(&qs.lock);
	q->next = ctx->queues;
	ctx->queues = q;
	pthread_mutex_unlock(&qs.lock);
	return q;
}

struct queue *queue_ref(struct queue *q)
{
	pthread_mutex_lock(&qs.lock);
	q->refs++;
	pthread_mutex_unlock(&qs.lock);
	return q;
}

void queue_unref(struct queue *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&qs.lock);
	unref_locked(q);
	pthread_mutex_unlock(&qs.lock);
}

uint64_t queue_id(const struct queue *q)
{
	return q->id;
}

struct context *queue_context(struct queue *q)
{
	return q->ctx;
}

/* ---- which op may run ------------------------------------------------------ */

static bool is_ready(struct op *op)
{
	if (op->running || op->queue->head != op)
		return false;
	while (op->ndeps) {
		struct op_dep *d = &op->deps[op->ndeps - 1];

		if (d->queue->completed < d->seq)
			return false;
		unref_locked(d->queue);
		op->ndeps--;
	}
	return true;
}

/* The ready op of highest priority (lowest number); among equals the queue that became active first. */
static struct op *find_ready(unsigned *count)
{
	struct op *best = NULL;

	*count = 0;
	for (struct queue *q = qs.active; q; q = q->next_active) {
		if (q->head->by_caller || !is_ready(q->head))
			continue;
		++*count;
		if (!best || q->priority < best->queue->priority)
			best = q->head;
	}
	return best;
}

static void *worker(void *arg);

/* Sees to it that there is a thread for each ready op. */
static void wake_workers(void)
{
	unsigned ready;
	pthread_attr_t attr;
	pthread_t thread;

	find_ready(&ready);
	for (; ready > qs.waking + qs.starting && qs.idle > qs.waking; qs.waking++)
		pthread_cond_signal(&qs.work);
	if (ready <= qs.waking + qs.starting)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	while (ready > qs.waking + qs.starting && qs.workers < MAX_WORKERS) {
		if (worker_thread_create(&thread, &attr, worker, NULL))
			break;
		qs.workers++;
		qs.starting++;
	}
	pthread_attr_destroy(&attr);
}

/* ---- submitting and running --------------------------------------------------- */

static void add_implicit_deps(struct queue *q, struct op *op)
{
	if (q->kind == QUEUE_NON_BLOCKING)
		return;
	for (struct queue *other = q->ctx->queues; other; other = other->next) {
		if (other == q || other->kind == QUEUE_NON_BLOCKING)
			continue;
		if (q->kind == QUEUE_LEGACY || other->kind == QUEUE_LEGACY)
			depend_locked(op, other, other->submitted);
	}
}

static void activate(struct queue *q)
{
	q->next_active = NULL;
	q->prev_active = qs.active_tail;
	*qs.active_tail = q;
	qs.active_tail = &q->next_active;
}

static void deactivate(struct queue *q)
{
	*q->prev_active = q->next_active;
	if (q->next_active)
		q->next_active->prev_active = q->prev_active;
	else
		qs.active_tail = q->prev_active;
}

static void submit_locked(struct queue *q, struct op *op)
{
	add_implicit_deps(q, op);
	op->queue = q;
	op->seq = ++q->submitted;
	q->refs++;
	if (q->tail) {
		q->tail->next = op;
	} else {
		q->head = op;
		activate(q);
	}
	q->tail = op;
}

/* Called without the lock; takes it for the end. */
static CUresult run_op(struct op *op)
{
	struct queue *q = op->queue;
	struct context *ctx = q->ctx;
	CUresult r = (CUresult)atomic_load(&ctx->error);

	if (!r || op->always)
		r = op->run(op);
	if (r && !op->always)
		context_set_error(ctx, r, NULL);
	return r;
}

static void complete_locked(struct op *op)
{
	struct queue *q = op->queue;

	q->head = op->next;
	if (!q->head) {
		q->tail = NULL;
		deactivate(q);
	}
	q->completed = op->seq;
	pthread_cond_broadcast(&qs.done);
	wake_workers();
	unref_locked(q);
}

/* Runs `op`, which is ready; the lock is held before and after. */
static void execute_locked(struct op *op)
{
	op->running = true;
	pthread_mutex_unlock(&qs.lock);
	run_op(op);
	pthread_mutex_lock(&qs.lock);
	complete_locked(op);
	pthread_mutex_unlock(&qs.lock);
	op_free(op);
	pthread_mutex_lock(&qs.lock);
}

/* A thread that waits for q runs what is ready in it instead of waiting for a worker to wake up. */
static void wait_locked(struct queue *q)
{
	if (q->head && !q->head->by_caller && !q->head->own_thread && is_ready(q->head))
		execute_locked(q->head);
	else
		pthread_cond_wait(&qs.done, &qs.lock);
}

static void *worker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&qs.lock);
	qs.starting--;
	for (;;) {
		unsigned ready;
		struct op *op = find_ready(&ready);

		if (op) {
			execute_locked(op);
			continue;
		}
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += IDLE_SECONDS;
		qs.idle++;
		int timed_out = pthread_cond_timedwait(&qs.work, &qs.lock, &until);
		qs.idle--;
		qs.waking -= qs.waking > 0;
		if (timed_out && !find_ready(&ready))
			break;
	}
	qs.workers--;
	pthread_mutex_unlock(&qs.lock);
	return NULL;
}

uint64_t queue_submit(struct queue *q, struct op *op)
{
	uint64_t seq;

	pthread_mutex_lock(&qs.lock);
	submit_locked(q, op);
	seq = op->seq;
	wake_workers();
	pthread_mutex_unlock(&qs.lock);
	return seq;
}

CUresult queue_run(struct queue *q, struct op *op)
{
	CUresult r;

	op->by_caller = true;
	pthread_mutex_lock(&qs.lock);
	submit_locked(q, op);
	while (!is_ready(op))
		wait_locked(q);
	op->running = true;
	pthread_mutex_unlock(&qs.lock);
	r = run_op(op);
	pthread_mutex_lock(&qs.lock);
	complete_locked(op);
	pthread_mutex_unlock(&qs.lock);
	op_free(op);
	return r;
}

/* ---- waiting and asking ---------------------------------------------------------- */

void queue_wait(struct queue *q, uint64_t seq)
{
	pthread_mutex_lock(&qs.lock);
	q->refs++;
	while (q->completed < seq)
		wait_locked(q);
	unref_locked(q);
	pthread_mutex_unlock(&qs.lock);
}

bool queue_done(struct queue *q, uint64_t seq)
{
	bool done;

	pthread_mutex_lock(&qs.lock);
	done = q->completed >= seq;
	pthread_mutex_unlock(&qs.lock);
	return done;
}

uint64_t queue_last(struct queue *q)
{
	uint64_t seq;

	pthread_mutex_lock(&qs.lock);
	seq = q->submitted;
	pthread_mutex_unlock(&qs.lock);
	return seq;
}

static bool idle_locked(struct queue *q)
{
	if (q->completed < q->submitted)
		return false;
	if (q->kind != QUEUE_LEGACY)
		return true;
	for (struct queue *other = q->ctx->queues; other; other = other->next)
		if (other->kind == QUEUE_BLOCKING && other->completed < other->submitted)
			return false;
	return true;
}

bool queue_idle(struct queue *q)
{
	bool idle;

	pthread_mutex_lock(&qs.lock);
	idle = idle_locked(q);
	pthread_mutex_unlock(&qs.lock);
	return idle;
}

CUresult op_nothing(struct op *op)
{
	(void)op;
	return CUDA_SUCCESS;
}

CUresult queue_drain(struct queue *q)
{
	struct op *op;

	if (queue_idle(q))
		return CUDA_SUCCESS;
	op = op_new(sizeof(*op), op_nothing);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->always = true;
	return queue_run(q, op);
}

static struct queue *busy_queue(struct context *ctx)
{
	for (struct queue *q = ctx->queues; q; q = q->next)
		if (q->completed < q->submitted)
			return q;
	return NULL;
}

/* For all that was submitted before the call; work that other threads go on submitting is not waited for for
 * ever. */
void context_queues_wait(struct context *ctx)
{
	struct op waits = {0}; /* holds references to the queues, as (queue, number) pairs */

	pthread_mutex_lock(&qs.lock);
	for (struct queue *q = ctx->queues; q; q = q->next)
		if (!depend_locked(&waits, q, q->submitted))
			break;
	while (waits.ndeps) {
		struct op_dep *d = &waits.deps[waits.ndeps - 1];

		if (d->queue->completed < d->seq) {
			wait_locked(d->queue);
			continue;
		}
		unref_locked(d->queue);
		waits.ndeps--;
	}
	if (!waits.deps) /* out of memory, or nothing to do */
		while (busy_queue(ctx))
			pthread_cond_wait(&qs.done, &qs.lock);
	pthread_mutex_unlock(&qs.lock);
	free(waits.deps);
}
