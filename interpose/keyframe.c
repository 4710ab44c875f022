/* SPDX-License-Identifier: Apache-2.0
 *
 * keyframe: all device memory of the program as it is before a launch, so that a replay can begin there. Taken before
 * each N-th launch of a process, when somebody asks (SIGUSR2 to `cutrace record`), and where a range of launches begins
 * whose contents are kept. What has not changed costs the trace nothing: contents are stored once.
 */
#include "interpose/recorder.h"

#include <errno.h>

#define PIECE (1u << 20)

uint64_t rec_keyframe_every;
static _Atomic uint64_t launches, seen;

static bool take(uint64_t seq, const struct rec_allocation *a, char *buffer)
{
	struct rec_payload p = {.seq = seq,
				.kind = RING_KEYFRAME,
				.param = -1,
				.device_address = a->base,
				.width = a->bytes,
				.height = 1,
				.depth = 1};
	uint64_t id = rec_unique();

	for (uint64_t done = 0; done < a->bytes; done += PIECE) {
		size_t n = a->bytes - done < PIECE ? a->bytes - done : PIECE;
		struct rec_thread *t = rec_own_begin();
		CUresult r = REAL(cuMemcpyDtoH_v2)(buffer, a->base + done, n);

		rec_own_end(t);
		if (r != CUDA_SUCCESS)
			return false;
		p.offset = done;
		rec_payload_piece(&p, id, a->bytes,
				  (done ? 0 : RING_PAYLOAD_FIRST) |
					  (done + n == a->bytes ? RING_PAYLOAD_LAST : 0),
				  buffer, n);
	}
	return true;
}

static CUresult wait_for_all(void)
{
	struct rec_thread *t = rec_own_begin();
	CUresult r = REAL(cuCtxSynchronize)();

	rec_own_end(t);
	return r;
}

void rec_keyframe(uint64_t seq, CUstream stream, bool per_thread)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	int saved = errno;
	struct rec_allocation a;
	char *buffer;

	if (rec_capturing(stream, per_thread)) {
		rec_diag(1, seq, "no keyframe: a stream is being captured");
		return;
	}
	buffer = rec_pages(PIECE);
	if (rec_driver_has(API_ID_cuThreadExchangeStreamCaptureMode))
		REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (!buffer || wait_for_all() != CUDA_SUCCESS)
		rec_diag(1, seq, "no keyframe: the device can't be waited for, or there is no memory");
	else
		for (size_t i = 0; rec_allocation_at(i, &a); i++)
			if (!take(seq, &a, buffer))
				rec_diag(
					1, seq,
					"a keyframe lacks an allocation, which could not be read in this context");
	if (rec_driver_has(API_ID_cuThreadExchangeStreamCaptureMode))
		REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	rec_pages_free(buffer, PIECE);
	errno = saved;
}

bool rec_keyframe_is_due(void)
{
	struct ring_session *s = rec_session();
	uint64_t n, wanted = s ? atomic_load(&s->keyframes_wanted) : 0, old = atomic_load(&seen);

	if (wanted > old && atomic_compare_exchange_strong(&seen, &old, wanted))
		return true;
	if (!rec_keyframe_every)
		return false;
	n = atomic_fetch_add(&launches, 1);
	return n && n % rec_keyframe_every == 0;
}
