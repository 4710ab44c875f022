/* SPDX-License-Identifier: Apache-2.0
 *
 * launch: kernel arguments. A launch names no number of parameters: the layout comes from the driver or the
 * collector, once per function (layouts.c). The packed block goes into the ring before the call.
 */
#include "interpose/recorder.h"

#include <alloca.h>
#include <errno.h>

/* PTX ISA, "Parameter State Space": kernel parameters end at 32764 bytes. */
#define PARAM_BYTES_MAX 32764u

struct launch {
	uint64_t seq, function;
	const struct rec_layout *layout;
	const void *params; /* packed */
	uint32_t bytes;
	CUstream stream;
	bool per_thread;
};

/* CU_LAUNCH_PARAM_BUFFER_POINTER p, CU_LAUNCH_PARAM_BUFFER_SIZE &n, CU_LAUNCH_PARAM_END in any order. */
static const void *extra_block(void **extra, size_t *bytes)
{
	const void *p = NULL;

	*bytes = 0;
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			p = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*bytes = *(const size_t *)extra[1];
		else
			return NULL;
	}
	return p && *bytes <= PARAM_BYTES_MAX ? p : NULL;
}

static void pack(uint8_t *to, const struct rec_layout *l, void **params)
{
	memset(to, 0, l->total);
	for (uint32_t i = 0; i < l->nparams; i++)
		if (params[i])
			memcpy(to + l->p[i].offset, params[i], l->p[i].bytes);
}

static void record(struct launch *l, const struct rec_layout *layout, const void *params, size_t bytes,
		   bool known)
{
	l->layout = layout;
	l->params = params;
	l->bytes = (uint32_t)bytes;
	rec_launch_record(l->seq, l->function, layout ? layout->nparams : 0, params, (uint32_t)bytes, known);
}

/* A macro because the packed block has to live in the caller's frame until the launch has been checked. */
#define TAKE_PARAMS(l, kernel_params, extra)                                                           \
	do {                                                                                           \
		const struct rec_layout *lay_ = (l)->seq ? rec_layout((l)->function, (l)->seq) : NULL; \
		size_t n_ = 0;                                                                         \
		const void *block_ = (l)->seq ? extra_block(extra, &n_) : NULL;                        \
		if (block_) {                                                                          \
			record(l, lay_, block_, n_, true);                                             \
		} else if (lay_ && lay_->known && (lay_->nparams == 0 || (kernel_params))) {           \
			uint8_t *packed_ = alloca(lay_->total + 8);                                    \
			pack(packed_, lay_, kernel_params);                                            \
			record(l, lay_, packed_, lay_->total, true);                                   \
		} else if ((l)->seq) {                                                                 \
			record(l, lay_, "", 0, false);                                                 \
		}                                                                                      \
	} while (0)

static CUresult finish(struct launch *l, CUresult r)
{
	int saved = errno;

	if (r == CUDA_SUCCESS && l->seq && rec_checking())
		rec_check_launch(l->seq, l->layout, l->bytes ? l->params : NULL, l->bytes, l->stream,
				 l->per_thread);
	errno = saved;
	return r;
}

#define LAUNCH(fn, ptsz)                                                                                     \
	static CUresult hook_##fn(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,          \
				  unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params, \
				  void **extra)                                                              \
	{                                                                                                    \
		struct launch l = {.seq = rec_current(),                                                     \
				   .function = (uintptr_t)f,                                                 \
				   .stream = stream,                                                         \
				   .per_thread = ptsz};                                                      \
		TAKE_PARAMS(&l, params, extra);                                                              \
		return finish(&l, REAL(fn)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra));       \
	}
#define LAUNCH_COOPERATIVE(fn, ptsz)                                                                         \
	static CUresult hook_##fn(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,          \
				  unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params) \
	{                                                                                                    \
		struct launch l = {.seq = rec_current(),                                                     \
				   .function = (uintptr_t)f,                                                 \
				   .stream = stream,                                                         \
				   .per_thread = ptsz};                                                      \
		TAKE_PARAMS(&l, params, NULL);                                                               \
		return finish(&l, REAL(fn)(f, gx, gy, gz, bx, by, bz, shared, stream, params));              \
	}
#define LAUNCH_EX(fn, ptsz)                                                                                \
	static CUresult hook_##fn(const CUlaunchConfig *config, CUfunction f, void **params, void **extra) \
	{                                                                                                  \
		struct launch l = {.seq = rec_current(),                                                   \
				   .function = (uintptr_t)f,                                               \
				   .stream = config ? config->hStream : NULL,                              \
				   .per_thread = ptsz};                                                    \
		TAKE_PARAMS(&l, params, extra);                                                            \
		return finish(&l, REAL(fn)(config, f, params, extra));                                     \
	}

LAUNCH(cuLaunchKernel, false)
LAUNCH(cuLaunchKernel_ptsz, true)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, false)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, true)
LAUNCH_EX(cuLaunchKernelEx, false)
LAUNCH_EX(cuLaunchKernelEx_ptsz, true)

/* The forms of CUDA 3: parameters were set by earlier calls, which are in the trace. */
static CUresult hook_cuLaunch(CUfunction f)
{
	struct launch l = {.seq = rec_current(), .function = (uintptr_t)f};

	TAKE_PARAMS(&l, NULL, NULL);
	return finish(&l, REAL(cuLaunch)(f));
}

static CUresult hook_cuLaunchGrid(CUfunction f, int w, int h)
{
	struct launch l = {.seq = rec_current(), .function = (uintptr_t)f};

	TAKE_PARAMS(&l, NULL, NULL);
	return finish(&l, REAL(cuLaunchGrid)(f, w, h));
}

static CUresult hook_cuLaunchGridAsync(CUfunction f, int w, int h, CUstream stream)
{
	struct launch l = {.seq = rec_current(), .function = (uintptr_t)f, .stream = stream};

	TAKE_PARAMS(&l, NULL, NULL);
	return finish(&l, REAL(cuLaunchGridAsync)(f, w, h, stream));
}

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_launch_hooks[] = {
	HOOK(cuLaunchKernel),
	HOOK(cuLaunchKernel_ptsz),
	HOOK(cuLaunchKernelEx),
	HOOK(cuLaunchKernelEx_ptsz),
	HOOK(cuLaunchCooperativeKernel),
	HOOK(cuLaunchCooperativeKernel_ptsz),
	HOOK(cuLaunch),
	HOOK(cuLaunchGrid),
	HOOK(cuLaunchGridAsync),
};
const unsigned rec_nlaunch_hooks = sizeof(rec_launch_hooks) / sizeof(rec_launch_hooks[0]);
