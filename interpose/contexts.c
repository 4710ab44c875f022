/* SPDX-License-Identifier: Apache-2.0
 *
 * contexts: what ends with a context besides what the program made in it: functions, whose handles may come
 * back for others, and the recorder's own page-locked memory.
 */
#include "interpose/recorder.h"

#include <errno.h>

static void ending(CUcontext context)
{
	rec_layouts_flush();
	if (context)
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
	    REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) == CUDA_SUCCESS && active &&
	    REAL(cuDevicePrimaryCtxRetain)(&context, device) == CUDA_SUCCESS)
		REAL(cuDevicePrimaryCtxRelease_v2)(device);
	else
		context = NULL;
	rec_own_end(t);
	errno = saved;
	return context;
}

/* Of several holders only the last one ends it; the others lose no more than time. */
#define DESTROY(fn)                            \
	static CUresult hook_##fn(CUcontext c) \
	{                                      \
		ending(c);                     \
		return REAL(fn)(c);            \
	}
#define PRIMARY(fn)                           \
	static CUresult hook_##fn(CUdevice d) \
	{                                     \
		ending(primary_of(d));        \
		return REAL(fn)(d);           \
	}
DESTROY(cuCtxDestroy)
DESTROY(cuCtxDestroy_v2)
DESTROY(cuCtxDetach)
PRIMARY(cuDevicePrimaryCtxRelease)
PRIMARY(cuDevicePrimaryCtxRelease_v2)
PRIMARY(cuDevicePrimaryCtxReset)
PRIMARY(cuDevicePrimaryCtxReset_v2)

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
};
const unsigned rec_ncontext_hooks = sizeof(rec_context_hooks) / sizeof(rec_context_hooks[0]);
