/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, and errors that stay. Operations of several threads run side by side, each on a stream that doesn't wait for
 * HIP's default one; streams are kept for the next operation.
 */
#include "zluda_core/device_hip/hip_backend.h"

#include <stdlib.h>
#include <time.h>

struct hip_stream {
	struct hip_stream *next;
	hip_handle handle;
};

/* Errors of a running kernel. From HIP 7.0 on every later call gives them again; before, the process did not live to
 * see them. */
enum dev_fault_kind hip_fault_kind(int error)
{
	switch (error) {
	case HIP_ILLEGAL_ADDRESS: return DEV_FAULT_ILLEGAL_ADDRESS;
	case HIP_NOT_READY: return DEV_FAULT_TIMEOUT;
	case 702: return DEV_FAULT_TIMEOUT; /* hipErrorLaunchTimeOut */
	case 710: return DEV_FAULT_ASSERT;  /* hipErrorAssert */
	case HIP_LAUNCH_FAILURE: return DEV_FAULT_TRAP;
	default: return DEV_FAULT_INTERNAL;
	}
}

static bool stays(int error)
{
	return hip_fault_kind(error) != DEV_FAULT_INTERNAL;
}

int hip_check(struct amd_backend *b, int error, const char *call, struct diag *d)
{
	if (!error)
		return 0;
	if (stays(error))
		atomic_store(&b->dead, error);
	return hip_failed(error, call, d);
}

int hip_enter(struct amd_backend *b, struct diag *d)
{
	int dead = atomic_load(&b->dead);

	if (dead)
		return hip_failed(dead, "an earlier kernel", d);
	return hip_check(b, b->lib->fn.hipSetDevice(b->device), "hipSetDevice", d);
}

int hip_stream_take(struct amd_backend *b, struct hip_stream **out, struct diag *d)
{
	struct hip_stream *s;
	int rc = hip_enter(b, d);

	if (rc)
		return rc;
	pthread_mutex_lock(&b->lock);
	s = b->streams;
	if (s)
		b->streams = s->next;
	pthread_mutex_unlock(&b->lock);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return diag_set(d, CUTRACE_ENOMEM, "", "out of memory for a stream");
		rc = hip_check(b, b->lib->fn.hipStreamCreateWithFlags(&s->handle, HIP_STREAM_NON_BLOCKING),
			       "hipStreamCreateWithFlags", d);
		if (rc) {
			free(s);
			return rc;
		}
	}
	*out = s;
	return 0;
}

hip_handle hip_stream_handle(const struct hip_stream *s)
{
	return s->handle;
}

/* A kernel can't be ended: who waits is, and the GPU is not used any more. */
static int finish_until(struct amd_backend *b, struct hip_stream *s, unsigned watchdog_ms)
{
	const struct timespec pause = {.tv_nsec = 500000};
	struct timespec begin, now;
	int error;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while ((error = b->lib->fn.hipStreamQuery(s->handle)) == HIP_NOT_READY) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 >=
		    watchdog_ms)
			break;
		nanosleep(&pause, NULL);
	}
	return error;
}

int hip_stream_finish(struct amd_backend *b, struct hip_stream *s)
{
	unsigned watchdog_ms = atomic_load(&b->watchdog_ms);

	return watchdog_ms && b->lib->fn.hipStreamQuery ? finish_until(b, s, watchdog_ms)
							: b->lib->fn.hipStreamSynchronize(s->handle);
}

void hip_stream_give(struct amd_backend *b, struct hip_stream *s)
{
	pthread_mutex_lock(&b->lock);
	s->next = b->streams;
	b->streams = s;
	pthread_mutex_unlock(&b->lock);
}

void hip_streams_close(struct amd_backend *b)
{
	while (b->streams) {
		struct hip_stream *s = b->streams;

		b->streams = s->next;
		if (!atomic_load(&b->dead))
			b->lib->fn.hipStreamDestroy(s->handle);
		free(s);
	}
}
