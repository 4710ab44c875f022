/* SPDX-License-Identifier: Apache-2.0
 *
 * staging: the bytes of asynchronous copies with pinned memory. Behind the program's copy, on the same
 * stream, the recorder enqueues a copy of the same device range into pinned memory of its own and a host
 * function that puts the bytes into the ring of the driver's thread. Work on a stream runs in order, so one
 * staging buffer serves all pieces of a copy. Each copy is announced first: a stream that faults never comes
 * to the host function, and then the trace says so.
 */
#include "interpose/recorder.h"

/* Ordinary buffers have one of these sizes, and are kept for the next copy; a piece is never larger. All that
 * a process holds at a time is limited: page-locked memory is taken from everybody. A copy that is larger
 * than that is let pass when nothing else is under way. */
#define STAGE_BYTES     (1u << 20)
#define STAGE_MAX       (256u << 20)
#define STAGE_ALL_BYTES (64u << 20)
static const size_t classes[] = {4u << 10, 64u << 10, 256u << 10, STAGE_BYTES};

/* Page-locked memory ends with the context that it was taken in. */
struct stage {
	struct stage *next;     /* idle or free */
	struct stage *next_all; /* all that were ever made: the struct is used again */
	char *host;
	size_t bytes;
	CUcontext context;
	bool dead; /* its context has ended while a copy used it */
};

struct job {
	struct job *next;
	struct rec_payload p;
	uint64_t id, total;
	unsigned flags;
	size_t bytes;
	struct stage *stage;
	bool last; /* the buffer is free afterwards */
};

static struct stage *idle, *unused, *all;
static size_t held; /* bytes of all that are allocated */
static struct job *jobs;

#define ON_STREAM(fn, per_thread)                                                                           \
	((per_thread) && rec_driver_has(API_ID_##fn##_ptsz) ? (__typeof__(&fn))rec_true(API_ID_##fn##_ptsz) \
							    : REAL(fn))

bool rec_capturing(CUstream stream, bool per_thread)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct rec_thread *t = rec_own_begin();
	CUresult r = ON_STREAM(cuStreamIsCapturing, per_thread)(stream, &status);

	rec_own_end(t);
	/* CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: asked about the legacy stream while another one is captured;
	 * touching it would spoil that. */
	return r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
	       (r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
}

static struct job *new_job(void)
{
	struct job *j;

	rec_lock(REC_LOCK_STAGES);
	if (!jobs) {
		struct job *block = rec_pages(64 * sizeof(*block));

		for (unsigned i = 0; block && i < 64; i++) {
			block[i].next = jobs;
			jobs = &block[i];
		}
	}
	j = jobs;
	if (j)
		jobs = j->next;
	rec_unlock(REC_LOCK_STAGES);
	return j;
}

/* Under the lock. The memory of a dead one has ended. */
static void give_back(struct stage *s)
{
	struct stage **list = s->dead ? &unused : &idle;

	if (s->dead)
		held -= s->bytes;
	s->next = *list;
	*list = s;
}

static void free_job(struct job *j)
{
	rec_lock(REC_LOCK_STAGES);
	if (j->last && j->stage)
		give_back(j->stage);
	j->next = jobs;
	jobs = j;
	rec_unlock(REC_LOCK_STAGES);
}

/* The smallest that is not wastefully large. */
static struct stage *find_stage(CUcontext context, size_t bytes)
{
	struct stage **p, **best = NULL, *s = NULL;

	rec_lock(REC_LOCK_STAGES);
	for (p = &idle; *p; p = &(*p)->next)
		if ((*p)->context == context && (*p)->bytes >= bytes && (*p)->bytes / 4 <= bytes &&
		    (!best || (*p)->bytes < (*best)->bytes))
			best = p;
	if (best) {
		s = *best;
		*best = s->next;
	}
	rec_unlock(REC_LOCK_STAGES);
	return s;
}

/* A struct for new memory, known to rec_stages_drop from now on. */
static struct stage *new_stage(CUcontext context, char *host, size_t bytes)
{
	struct stage *s, *block = NULL;

	rec_lock(REC_LOCK_STAGES);
	if (!unused)
		block = rec_pages(64 * sizeof(*block));
	for (unsigned i = 0; block && i < 64; i++) {
		block[i].next = unused;
		unused = &block[i];
		block[i].next_all = all;
		all = &block[i];
	}
	s = unused;
	if (s) {
		unused = s->next;
		s->host = host;
		s->bytes = bytes;
		s->context = context;
		s->dead = false;
	}
	rec_unlock(REC_LOCK_STAGES);
	return s;
}

static void put_stage(struct stage *s)
{
	rec_lock(REC_LOCK_STAGES);
	give_back(s);
	rec_unlock(REC_LOCK_STAGES);
}

/* Freed and not just forgotten: a primary context may have other holders and live on. */
static void free_stages(struct stage *s)
{
	struct stage *next;

	for (; s; s = next) {
		next = s->next;
		REAL(cuMemFreeHost)(s->host);
		s->dead = true;
		put_stage(s);
	}
}

/* Buffers of other sizes, or of other contexts, give way to one of `bytes`. */
static bool free_idle(size_t bytes)
{
	struct stage *dropped = NULL, *s;
	size_t found = 0;

	rec_lock(REC_LOCK_STAGES);
	while ((s = idle) && held - found + bytes > STAGE_ALL_BYTES) {
		idle = s->next;
		s->next = dropped;
		dropped = s;
		found += s->bytes;
	}
	rec_unlock(REC_LOCK_STAGES);
	free_stages(dropped);
	return dropped != NULL;
}

static size_t class_of(size_t bytes)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (bytes <= classes[i])
			return classes[i];
	return bytes;
}

/* Counts what is about to be allocated. */
static bool may_hold(size_t bytes)
{
	bool ok;

	rec_lock(REC_LOCK_STAGES);
	ok = held == 0 || held + bytes <= STAGE_ALL_BYTES;
	if (ok)
		held += bytes;
	rec_unlock(REC_LOCK_STAGES);
	return ok;
}

static void no_longer_held(size_t bytes)
{
	rec_lock(REC_LOCK_STAGES);
	held -= bytes;
	rec_unlock(REC_LOCK_STAGES);
}

static const char no_memory[] = "the driver gave no page-locked memory for it";
static const char too_much_memory[] = "64 MB of page-locked memory are in use for copies that are under way";

/* NULL, and *why, when there is none. */
static struct stage *get_stage(size_t bytes, const char **why)
{
	CUcontext context = NULL;
	struct stage *s;
	void *host = NULL;

	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS)
		context = NULL;
	bytes = class_of(bytes);
	s = find_stage(context, bytes);
	if (s)
		return s;
	*why = too_much_memory;
	if (!may_hold(bytes) && !(free_idle(bytes) && may_hold(bytes)))
		return NULL;
	*why = no_memory;
	/* Portable: a stream of any context may use it. */
	if (REAL(cuMemHostAlloc)(&host, bytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS) {
		s = new_stage(context, host, bytes);
		if (s)
			return s;
		REAL(cuMemFreeHost)(host);
	}
	no_longer_held(bytes);
	return NULL;
}

void rec_stages_drop(CUcontext context)
{
	struct stage **p, *s, *dropped = NULL;
	struct rec_thread *t;

	rec_lock(REC_LOCK_STAGES);
	for (p = &idle; (s = *p);) {
		if (s->context != context) {
			p = &s->next;
			continue;
		}
		*p = s->next;
		s->next = dropped;
		dropped = s;
	}
	/* Those in use, too. */
	for (s = all; s; s = s->next_all)
		if (s->context == context)
			s->dead = true;
	rec_unlock(REC_LOCK_STAGES);
	t = rec_own_begin();
	free_stages(dropped);
	rec_own_end(t);
}

/* On a thread of the driver's. */
static void publish(void *arg)
{
	struct job *j = arg;

	rec_payload_piece(&j->p, j->id, j->total, j->flags, j->stage->host, j->bytes);
	free_job(j);
}

static bool enqueue_publish(struct job *j, CUstream stream, bool per_thread)
{
	return ON_STREAM(cuLaunchHostFunc, per_thread)(stream, publish, j) == CUDA_SUCCESS;
}

static bool stage_piece(const struct rec_payload *p, struct stage *s, CUdeviceptr device, size_t done,
			size_t bytes, uint64_t id, CUstream stream, bool per_thread)
{
	size_t n = bytes - done < s->bytes ? bytes - done : s->bytes;
	struct job *j = new_job();

	if (!j) {
		if (done == 0)
			put_stage(s);
		return false;
	}
	*j = (struct job){
		.p = *p, .id = id, .total = bytes, .bytes = n, .stage = s, .last = done + n == bytes};
	j->p.offset = done;
	j->flags = RING_PAYLOAD_STAGED | (done ? 0 : RING_PAYLOAD_FIRST) | (j->last ? RING_PAYLOAD_LAST : 0);
	if (ON_STREAM(cuMemcpyDtoHAsync_v2, per_thread)(s->host, device + done, n, stream) == CUDA_SUCCESS) {
		if (enqueue_publish(j, stream, per_thread))
			return true;
		/* The device will write into the buffer, nobody can say when: it is given up. */
		j->last = false;
	} else {
		j->last = done == 0;
	}
	free_job(j);
	return false;
}

static const char not_enqueued[] = "the copy behind the program's own could not be enqueued";

void rec_stage_linear(const struct rec_payload *p, CUdeviceptr device, size_t bytes, CUstream stream,
		      bool per_thread)
{
	uint64_t id = rec_announce(p);
	struct rec_thread *t = rec_own_begin();
	const char *why = not_enqueued;
	struct stage *s = bytes ? get_stage(bytes < STAGE_BYTES ? bytes : STAGE_BYTES, &why) : NULL;
	size_t done = 0;

	if (s)
		why = not_enqueued;
	while (s && done < bytes && stage_piece(p, s, device, done, bytes, id, stream, per_thread))
		done += bytes - done < s->bytes ? bytes - done : s->bytes;
	rec_own_end(t);
	if (done < bytes)
		rec_announced_unavailable(p, id, why);
	else if (!bytes)
		rec_payload_piece(p, id, 0, RING_PAYLOAD_STAGED | RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST, "",
				  0);
}

static bool stage_all(const struct rec_payload *p, uint64_t id, const CUDA_MEMCPY3D *copy, struct stage *s,
		      CUstream stream, bool per_thread)
{
	CUDA_MEMCPY3D m = *copy;
	struct job *j = new_job();
	size_t bytes = p->width * p->height * p->depth;

	if (!j) {
		put_stage(s);
		return false;
	}
	*j = (struct job){.p = *p, .id = id, .total = bytes, .bytes = bytes, .stage = s, .last = true};
	j->flags = RING_PAYLOAD_STAGED | RING_PAYLOAD_FIRST | RING_PAYLOAD_LAST;
	m.dstMemoryType = CU_MEMORYTYPE_HOST;
	m.dstHost = s->host;
	m.dstDevice = 0;
	m.dstArray = NULL;
	m.dstXInBytes = m.dstY = m.dstZ = m.dstLOD = 0;
	m.dstPitch = p->width;
	m.dstHeight = p->height;
	if (ON_STREAM(cuMemcpy3DAsync_v2, per_thread)(&m, stream) == CUDA_SUCCESS) {
		if (enqueue_publish(j, stream, per_thread))
			return true;
		j->last = false; /* as above */
	}
	free_job(j);
	return false;
}

void rec_stage_3d(const struct rec_payload *p, const CUDA_MEMCPY3D *copy, CUstream stream, bool per_thread)
{
	size_t bytes = p->width * p->height * p->depth;
	const char *why = not_enqueued;
	struct rec_thread *t;
	struct stage *s;
	uint64_t id;
	bool ok;

	if (bytes > STAGE_MAX) {
		rec_unavailable(p, "an asynchronous pitched copy of more than 256 MiB with pinned memory");
		return;
	}
	id = rec_announce(p);
	t = rec_own_begin();
	s = get_stage(bytes, &why);
	ok = s && stage_all(p, id, copy, s, stream, per_thread);
	rec_own_end(t);
	if (!ok)
		rec_announced_unavailable(p, id, s ? not_enqueued : why);
}
