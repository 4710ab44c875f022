/* SPDX-License-Identifier: Apache-2.0
 *
 * keyframe: all memory of the program that devices reach, as it is before a launch, so that a replay can begin there:
 * that of all its contexts, and page-locked memory. Taken before each N-th launch of a process, when somebody asks (SIGUSR2
 * to `cutrace record`), where a range of launches begins, and one whose contents are kept. What has not changed costs the
 * trace nothing: contents are stored once.
 */
#include "interpose/recorder.h"

#include <errno.h>

#define PIECE (1u << 20)
enum { MAX_CONTEXTS = 64 };

uint64_t rec_keyframe_every;
static _Atomic uint64_t launches, seen;

/* Whose memory there is; the current one is the first. */
struct contexts {
	CUcontext all[MAX_CONTEXTS];
	unsigned n;
};

static void note(struct contexts *c, CUcontext context)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->all[i] == context)
			return;
	if (context && c->n < MAX_CONTEXTS)
		c->all[c->n++] = context;
}

static void find_contexts(struct contexts *c)
{
	struct rec_thread *t = rec_own_begin();
	CUcontext current = NULL;
	struct rec_allocation a;

	if (REAL(cuCtxGetCurrent)(&current) != CUDA_SUCCESS)
		current = NULL;
	rec_own_end(t);
	c->n = 0;
	note(c, current);
	for (size_t i = 0; rec_allocation_at(i, &a); i++)
		note(c, a.context);
}

/* Around calls of the recorder's own in another context. */
static bool enter(const struct contexts *c, unsigned i)
{
	return i == 0 || REAL(cuCtxPushCurrent_v2)(c->all[i]) == CUDA_SUCCESS;
}

static void leave(unsigned i)
{
	CUcontext was;

	if (i != 0)
		REAL(cuCtxPopCurrent_v2)(&was);
}

/* One that has ended meanwhile has no memory left; the current one, which the launch is for, has to answer. */
static bool wait_for_all(const struct contexts *c)
{
	struct rec_thread *t = rec_own_begin();
	bool ok = c->n > 0;

	for (unsigned i = 0; i < c->n; i++) {
		if (!enter(c, i))
			continue;
		if (REAL(cuCtxSynchronize)() != CUDA_SUCCESS && i == 0)
			ok = false;
		leave(i);
	}
	rec_own_end(t);
	return ok;
}

/* Its own context first; what belongs to none is read in whichever can. */
static bool read_piece(const struct contexts *c, const struct rec_allocation *a, uint64_t at, void *to,
		       size_t n)
{
	struct rec_thread *t = rec_own_begin();
	bool ok = false;

	for (unsigned i = 0; i < c->n && !ok; i++) {
		if ((a->context && a->context != c->all[i]) || !enter(c, i))
			continue;
		ok = REAL(cuMemcpyDtoH_v2)(to, a->base + at, n) == CUDA_SUCCESS;
		leave(i);
	}
	rec_own_end(t);
	return ok;
}

static bool take(uint64_t seq, const struct contexts *c, const struct rec_allocation *a, char *buffer)
{
	struct rec_payload p = {.seq = seq,
				.kind = RING_KEYFRAME,
				.param = -1,
				.address = (uintptr_t)a->host,
				.device_address = a->base,
				.width = a->bytes,
				.height = 1,
				.depth = 1};
	uint64_t id = rec_unique();

	for (uint64_t done = 0; done < a->bytes; done += PIECE) {
		size_t n = a->bytes - done < PIECE ? a->bytes - done : PIECE;

		if (!a->host && !read_piece(c, a, done, buffer, n))
			return false;
		p.offset = done;
		rec_payload_piece(&p, id, a->bytes,
				  (done ? 0 : RING_PAYLOAD_FIRST) |
					  (done + n == a->bytes ? RING_PAYLOAD_LAST : 0),
				  a->host ? (const char *)a->host + done : buffer, n);
	}
	return true;
}

void rec_keyframe(uint64_t seq, CUstream stream, bool per_thread)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	int saved = errno;
	struct rec_allocation a;
	struct contexts c;
	char *buffer;

	if (rec_capturing(stream, per_thread)) {
		rec_diag(1, seq, "no keyframe: a stream is being captured");
		return;
	}
	buffer = rec_pages(PIECE);
	find_contexts(&c);
	if (rec_driver_has(API_ID_cuThreadExchangeStreamCaptureMode))
		REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (!buffer || !wait_for_all(&c))
		rec_diag(1, seq, "no keyframe: the device can't be waited for, or there is no memory");
	else
		for (size_t i = 0; rec_allocation_at(i, &a); i++)
			if (!take(seq, &c, &a, buffer))
				rec_diag(1, seq, "a keyframe lacks an allocation, which could not be read");
	if (rec_driver_has(API_ID_cuThreadExchangeStreamCaptureMode))
		REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	rec_pages_free(buffer, PIECE);
	errno = saved;
}

bool rec_keyframe_is_due(void)
{
	struct ring_session *s = rec_session();
	bool begins = rec_range_begins();
	uint64_t n, wanted = s ? atomic_load(&s->keyframes_wanted) : 0, old = atomic_load(&seen);

	if (begins || (wanted > old && atomic_compare_exchange_strong(&seen, &old, wanted)))
		return true;
	if (!rec_keyframe_every)
		return false;
	n = atomic_fetch_add(&launches, 1);
	return n && n % rec_keyframe_every == 0;
}
