/* SPDX-License-Identifier: Apache-2.0
 *
 * streams: which context a new stream belongs to. A call does not say it, and contexts become current in ways
 * that no call shows (the runtime's private tables), so the driver is asked.
 */
#include "interpose/recorder.h"

#include <errno.h>

static CUresult made(uint64_t seq, CUresult r, const CUstream *stream)
{
	CUcontext context = NULL;
	struct rec_thread *t;
	int saved = errno;

	if (r != CUDA_SUCCESS || !seq || !stream || !*stream)
		return r;
	t = rec_own_begin();
	if (rec_driver_has(API_ID_cuStreamGetCtx) && REAL(cuStreamGetCtx)(*stream, &context) != CUDA_SUCCESS)
		context = NULL;
	if (!context && rec_driver_has(API_ID_cuCtxGetCurrent) &&
	    REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS)
		context = NULL;
	rec_own_end(t);
	if (context)
		rec_stream_record(seq, (uintptr_t)*stream, (uintptr_t)context);
	errno = saved;
	return r;
}

static CUresult hook_cuStreamCreate(CUstream *stream, unsigned flags)
{
	uint64_t seq = rec_current();

	return made(seq, REAL(cuStreamCreate)(stream, flags), stream);
}

static CUresult hook_cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	uint64_t seq = rec_current();

	return made(seq, REAL(cuStreamCreateWithPriority)(stream, flags, priority), stream);
}

static CUresult hook_cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned flags, int priority)
{
	uint64_t seq = rec_current();

	return made(seq, REAL(cuGreenCtxStreamCreate)(stream, green, flags, priority), stream);
}

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_stream_hooks[] = {
	HOOK(cuStreamCreate),
	HOOK(cuStreamCreateWithPriority),
	HOOK(cuGreenCtxStreamCreate),
};
const unsigned rec_nstream_hooks = sizeof(rec_stream_hooks) / sizeof(rec_stream_hooks[0]);
