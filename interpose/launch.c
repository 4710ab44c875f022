/* SPDX-License-Identifier: Apache-2.0
 *
 * launch: kernel arguments. A launch names no number of parameters: the layout comes from the driver or the
 * collector, once per function (layouts.c). The packed block goes into the ring before the call.
 */
#include "interpose/recorder.h"

#include <errno.h>

struct launch {
	uint64_t seq, function;
	const struct rec_layout *layout;
	const void *block; /* packed by the program, or */
	void **params;     /* one by one */
	uint32_t bytes;
	uint32_t grid[3], threads[3]; /* of a block */
	CUstream stream;
	bool per_thread;
	struct rec_look *look;
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
	return p && *bytes <= REC_PARAM_BYTES_MAX ? p : NULL;
}

/* Nearly all parameters are words. */
static inline void copy_param(uint8_t *to, const void *from, uint32_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 4)
		memcpy(to, from, 4);
	else
		memcpy(to, from, bytes);
}

static inline void pack(uint8_t *to, const struct rec_layout *l, void **params)
{
	static const uint64_t zero;

	/* Only where there are gaps; the room for a block is a multiple of 8. */
	for (uint32_t i = 0; l->gaps && i < l->total; i += 8)
		memcpy(to + i, &zero, 8);
	for (uint32_t i = 0; i < l->nparams; i++)
		if (REC_LIKELY(params[i] != NULL))
			copy_param(to + l->p[i].offset, params[i], l->p[i].bytes);
		else
			memset(to + l->p[i].offset, 0, l->p[i].bytes);
}

/* Straight into the ring. */
static inline void record(const struct launch *l, const struct rec_layout *layout, const void *block,
			  uint32_t bytes, void **params)
{
	struct rec_thread *t = rec_thread_now();
	uint32_t size = (uint32_t)sizeof(struct ring_launch) + ((bytes + 7) & ~7u);
	struct ring_record head = {.bytes = size, .kind = RING_LAUNCH, .flags = block || params};
	struct ring_launch *r = t ? rec_reserve(t, head) : NULL;

	if (!r)
		return;
	/* What a launch writes beyond other calls. */
	rec_fetch_ahead((uint8_t *)r + REC_AHEAD + 64);
	rec_fetch_ahead((uint8_t *)r + REC_AHEAD + 128);
	r->seq = l->seq;
	r->function = l->function;
	r->nparams = layout ? layout->nparams : 0;
	r->param_bytes = bytes;
	if (block)
		memcpy(r->params, block, bytes);
	else if (params)
		pack(r->params, layout, params);
	rec_commit(t, r);
}

bool rec_params_pack(uint8_t *to, const struct rec_layout *layout, void **params, void **extra,
		     uint32_t *bytes)
{
	size_t n = 0;
	const void *block = extra ? extra_block(extra, &n) : NULL;

	*bytes = 0;
	if (block) {
		memcpy(to, block, n);
		*bytes = (uint32_t)n;
		return true;
	}
	if (!layout || !layout->known || (layout->nparams && !params))
		return false;
	if (layout->nparams)
		pack(to, layout, params);
	*bytes = layout->total;
	return true;
}

static void *none[1];

static inline void take_params(struct launch *l, void **params, void **extra)
{
	size_t bytes = 0;
	const struct rec_layout *layout;
	const void *block;

	if (!l->seq)
		return;
	l->layout = layout = rec_layout(l->function, l->seq);
	block = REC_UNLIKELY(extra != NULL) ? extra_block(extra, &bytes) : NULL;
	if (block) {
		l->block = block;
		l->bytes = (uint32_t)bytes;
		record(l, layout, block, l->bytes, NULL);
	} else if (layout && layout->known && (layout->nparams == 0 || params)) {
		l->params = params ? params : none;
		l->bytes = layout->total;
		record(l, layout, NULL, layout->total, l->params);
	} else {
		record(l, layout, NULL, 0, NULL);
	}
}

/* One more launch: whether it is one of those that are looked at, and the first of a range. Where no layout can be had for want of memory, those
 * that --check chooses are. */
static bool is_chosen(unsigned checked, bool *begins)
{
	struct ring_session *s = rec_session();
	uint64_t n;

	if (!(checked & RING_CHECKED))
		return checked & RING_CHECKED_ALWAYS;
	n = atomic_fetch_add(&s->launches, 1) + 1;
	*begins = n == s->check_first && n > 1 && checked & RING_CHECKED_CONTENTS;
	return checked & RING_CHECKED_ALWAYS ||
	       (n >= s->check_first && n <= s->check_last && (n - s->check_first) % s->check_every == 0);
}

bool rec_launch_is_chosen(unsigned checked, uint64_t seq, CUstream stream, bool per_thread)
{
	bool begins = false, due = rec_keyframes && rec_keyframe_is_due();
	bool chosen = is_chosen(checked, &begins);

	if (due || begins)
		rec_keyframe(seq, stream, per_thread);
	return chosen;
}

static void begin_look(struct launch *l)
{
	struct rec_checked c = {.seq = l->seq,
				.function = l->function,
				.layout = l->layout,
				.bytes = l->bytes,
				.stream = l->stream,
				.per_thread = l->per_thread};
	unsigned checked = l->layout ? l->layout->checked : rec_checking ? RING_CHECKED : 0u;
	int saved = errno;

	if (rec_launch_is_chosen(checked, l->seq, l->stream, l->per_thread))
		l->look = rec_look_new();
	if (l->look) {
		if (l->params)
			pack(rec_look_params(l->look), l->layout, l->params);
		c.params = !l->bytes ? NULL : l->block ? l->block : rec_look_params(l->look);
		memcpy(c.grid, l->grid, sizeof(c.grid));
		memcpy(c.block, l->threads, sizeof(c.block));
		rec_look_begin(l->look, &c);
	}
	errno = saved;
}

static inline void start(struct launch *l, void **params, void **extra)
{
	take_params(l, params, extra);
	if (REC_UNLIKELY(rec_looking) && l->seq)
		begin_look(l);
}

static inline CUresult finish(const struct launch *l, CUresult r)
{
	if (REC_UNLIKELY(l->look != NULL))
		rec_look_end(l->look, r == CUDA_SUCCESS);
	return r;
}

static inline void take_shape(struct launch *l, const CUlaunchConfig *c)
{
	const uint32_t grid[] = {c->gridDimX, c->gridDimY, c->gridDimZ};
	const uint32_t threads[] = {c->blockDimX, c->blockDimY, c->blockDimZ};

	memcpy(l->grid, grid, sizeof(grid));
	memcpy(l->threads, threads, sizeof(threads));
}

#define LAUNCH(fn, ptsz)                                                                                     \
	static CUresult hook_##fn(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,          \
				  unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params, \
				  void **extra)                                                              \
	{                                                                                                    \
		struct launch l = {.seq = rec_current(),                                                     \
				   .function = (uintptr_t)f,                                                 \
				   .grid = {gx, gy, gz},                                                     \
				   .threads = {bx, by, bz},                                                  \
				   .stream = stream,                                                         \
				   .per_thread = ptsz};                                                      \
		start(&l, params, extra);                                                                    \
		return finish(&l, REAL(fn)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra));       \
	}
#define LAUNCH_COOPERATIVE(fn, ptsz)                                                                         \
	static CUresult hook_##fn(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,          \
				  unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params) \
	{                                                                                                    \
		struct launch l = {.seq = rec_current(),                                                     \
				   .function = (uintptr_t)f,                                                 \
				   .grid = {gx, gy, gz},                                                     \
				   .threads = {bx, by, bz},                                                  \
				   .stream = stream,                                                         \
				   .per_thread = ptsz};                                                      \
		start(&l, params, NULL);                                                                     \
		return finish(&l, REAL(fn)(f, gx, gy, gz, bx, by, bz, shared, stream, params));              \
	}
#define LAUNCH_EX(fn, ptsz)                                                                                \
	static CUresult hook_##fn(const CUlaunchConfig *config, CUfunction f, void **params, void **extra) \
	{                                                                                                  \
		struct launch l = {.seq = rec_current(),                                                   \
				   .function = (uintptr_t)f,                                               \
				   .stream = config ? config->hStream : NULL,                              \
				   .per_thread = ptsz};                                                    \
                                                                                                           \
		if (config)                                                                                \
			take_shape(&l, config);                                                            \
		start(&l, params, extra);                                                                  \
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

	start(&l, NULL, NULL);
	return finish(&l, REAL(cuLaunch)(f));
}

static CUresult hook_cuLaunchGrid(CUfunction f, int w, int h)
{
	struct launch l = {.seq = rec_current(), .function = (uintptr_t)f};

	start(&l, NULL, NULL);
	return finish(&l, REAL(cuLaunchGrid)(f, w, h));
}

static CUresult hook_cuLaunchGridAsync(CUfunction f, int w, int h, CUstream stream)
{
	struct launch l = {.seq = rec_current(), .function = (uintptr_t)f, .stream = stream};

	start(&l, NULL, NULL);
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
