/* SPDX-License-Identifier: Apache-2.0
 *
 * contexts: what ends with a context besides what the program made in it: functions, whose handles may come
 * back for others, and the recorder's own page-locked memory.
 */
#include "interpose/recorder.h"

#include <errno.h>

static void gone(CUcontext context)
{
	if (context && rec_looking)
		rec_allocations_end(context);
}

static void ending(CUcontext context)
{
	rec_layouts_flush();
	if (!context)
		return;
	rec_stages_drop(context);
}

/* NULL when the device has none at present. Retaining it is the only way to learn its handle. */
static CUcontext primary_of(CUdevice device)
{
	struct rec_thread *t = rec_own_begin();
	CUcontext context = NULL;
	unsigned flags;
	int active = 0, saved = errno;

	if (rec_driver_has(API_ID_cuDevicePrimaryCtxGetState) &&
	    rec_driver_has(API_ID_cuDevicePrimaryCtxRelease_v2) &&
	    REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) == CUDA_SUCCESS && active &&
	    REAL(cuDevicePrimaryCtxRetain)(&context, device) == CUDA_SUCCESS)
		REAL(cuDevicePrimaryCtxRelease_v2)(device);
	else
		context = NULL;
	rec_own_end(t);
	errno = saved;
	return context;
}

/* Of several holders only the last one ends it, and not all of them are seen: the runtime has its own ways.
 */
static CUresult primary_left(uint64_t seq, CUdevice device, CUcontext context, CUresult r)
{
	if (r != CUDA_SUCCESS || !context)
		return r;
	if (primary_of(device) != context)
		gone(context);
	else if (seq)
		rec_stream_record(seq, 0, (uintptr_t)context);
	return r;
}

#define DESTROY(fn)                            \
	static CUresult hook_##fn(CUcontext c) \
	{                                      \
		gone(c);                       \
		ending(c);                     \
		return REAL(fn)(c);            \
	}
#define RESET(fn)                             \
	static CUresult hook_##fn(CUdevice d) \
	{                                     \
		CUcontext c = primary_of(d);  \
                                              \
		gone(c);                      \
		ending(c);                    \
		return REAL(fn)(d);           \
	}
#define RELEASE(fn)                                          \
	static CUresult hook_##fn(CUdevice d)                \
	{                                                    \
		uint64_t seq = rec_current();                \
		CUcontext c = primary_of(d);                 \
                                                             \
		ending(c);                                   \
		return primary_left(seq, d, c, REAL(fn)(d)); \
	}
DESTROY(cuCtxDestroy)
DESTROY(cuCtxDestroy_v2)
DESTROY(cuCtxDetach)
RELEASE(cuDevicePrimaryCtxRelease)
RELEASE(cuDevicePrimaryCtxRelease_v2)
RESET(cuDevicePrimaryCtxReset)
RESET(cuDevicePrimaryCtxReset_v2)

/* ---- which context allocations belong to: they end with it ---------------------------------- */

CUresult rec_context_record(uint64_t seq, CUresult r)
{
	CUcontext context = NULL;
	int saved = errno;

	if (r != CUDA_SUCCESS || !seq || !rec_driver_has(API_ID_cuCtxGetCurrent))
		return r;
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS)
		context = NULL;
	if (context)
		rec_stream_record(seq, 0, (uintptr_t)context);
	errno = saved;
	return r;
}

CUresult rec_hook_cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	uint64_t seq = rec_current();

	return rec_context_record(seq, REAL(cuMemAlloc_v2)(p, n));
}

CUresult rec_hook_cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height,
				     unsigned element)
{
	uint64_t seq = rec_current();

	return rec_context_record(seq, REAL(cuMemAllocPitch_v2)(p, pitch, width, height, element));
}

CUresult rec_hook_cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned flags)
{
	uint64_t seq = rec_current();

	return rec_context_record(seq, REAL(cuMemAllocManaged)(p, n, flags));
}

CUresult rec_hook_cuMemAllocHost_v2(void **p, size_t n)
{
	uint64_t seq = rec_current();

	return rec_context_record(seq, REAL(cuMemAllocHost_v2)(p, n));
}

CUresult rec_hook_cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
	uint64_t seq = rec_current();

	return rec_context_record(seq, REAL(cuMemHostAlloc)(p, n, flags));
}

CUresult rec_hook_cuMemHostRegister_v2(void *p, size_t n, unsigned flags)
{
	uint64_t seq = rec_current();

	return rec_context_record(seq, REAL(cuMemHostRegister_v2)(p, n, flags));
}

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_context_hooks[] = {
	HOOK(cuCtxDestroy),
	HOOK(cuCtxDestroy_v2),
	HOOK(cuCtxDetach),
	HOOK(cuDevicePrimaryCtxRelease),
	HOOK(cuDevicePrimaryCtxRelease_v2),
	HOOK(cuDevicePrimaryCtxReset),
	HOOK(cuDevicePrimaryCtxReset_v2),
	{API_ID_cuMemAllocHost_v2, (void *)rec_hook_cuMemAllocHost_v2},
	{API_ID_cuMemHostAlloc, (void *)rec_hook_cuMemHostAlloc},
	{API_ID_cuMemHostRegister_v2, (void *)rec_hook_cuMemHostRegister_v2},
	{API_ID_cuMemAlloc_v2, (void *)rec_hook_cuMemAlloc_v2},
	{API_ID_cuMemAllocPitch_v2, (void *)rec_hook_cuMemAllocPitch_v2},
	{API_ID_cuMemAllocManaged, (void *)rec_hook_cuMemAllocManaged},
};
const unsigned rec_ncontext_hooks = sizeof(rec_context_hooks) / sizeof(rec_context_hooks[0]);
