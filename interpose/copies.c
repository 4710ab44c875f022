/* SPDX-License-Identifier: Apache-2.0
 *
 * copies: the bytes that copies between host and device move. In every form a copy is brought to one
 * description (struct copy); then there are two ways to have the bytes: in the call, from the program's own
 * memory, when the driver has read or written it by the time the call returns; behind it on the stream
 * (staging.c) when the memory is pinned and the call asynchronous, because then the program may reuse it, and
 * the device fill it, later.
 */
#include "interpose/recorder.h"

#include <errno.h>

struct copy {
	struct rec_payload p;
	const char *host; /* source or destination; NULL: no host memory is involved */
	bool async, per_thread, linear;
	bool later; /* the bytes are taken on the stream */
	CUstream stream;
	const CUDA_MEMCPY3D *back; /* not linear: its source half describes the device side */
};

enum side { SIDE_DEVICE, SIDE_PAGEABLE, SIDE_PINNED };

/* Not among the recorder's own calls, for which signals are blocked: too many copies come here. */
static bool attribute(CUdeviceptr p, CUpointer_attribute which, unsigned *value)
{
	*value = 0;
	return REAL(cuPointerGetAttribute)(value, which, p) == CUDA_SUCCESS;
}

/* Where a unified address is. The driver refuses to know pageable memory. */
static enum side side_of(CUdeviceptr p)
{
	unsigned type;

	if (!attribute(p, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, &type))
		return SIDE_PAGEABLE;
	return type == CU_MEMORYTYPE_HOST ? SIDE_PINNED : SIDE_DEVICE;
}

/* What a pointer that the program calls a host pointer is. Device memory must not be touched; managed memory
 * may. */
static enum side host_side_of(const void *host)
{
	CUdeviceptr p = (uintptr_t)host;
	enum side side = side_of(p);
	unsigned managed;

	if (side == SIDE_DEVICE && attribute(p, CU_POINTER_ATTRIBUTE_IS_MANAGED, &managed) &&
	    (managed & 0xff))
		return SIDE_PINNED;
	return side;
}

static const char during_capture[] =
	"issued while its stream is being captured: the copy runs at graph launches";

/* Before the real call. */
static void take_before(struct copy *c)
{
	if (!c->host || !c->p.seq)
		return;
	if (rec_no_data) {
		c->host = NULL;
		return;
	}
	if (c->async && rec_capturing(c->stream, c->per_thread)) {
		rec_unavailable(&c->p, during_capture);
		c->host = NULL;
		return;
	}
	if (c->p.kind == RING_D2H && rec_range_outside()) {
		c->host = NULL;
		return;
	}
	switch (host_side_of(c->host)) {
	case SIDE_DEVICE: c->host = NULL; return;
	case SIDE_PINNED: c->later = c->async; break;
	case SIDE_PAGEABLE: break;
	}
	if (!c->later && c->p.kind == RING_H2D)
		rec_payload(&c->p, c->host);
}

/* After it. */
static CUresult take_after(struct copy *c, CUresult r)
{
	int saved = errno;

	if (r != CUDA_SUCCESS || !c->host || !c->p.seq)
		return r;
	if (!c->later && c->p.kind == RING_D2H)
		rec_payload(&c->p, c->host);
	else if (c->later && c->linear)
		rec_stage_linear(&c->p, c->p.device_address, c->p.width, c->stream, c->per_thread);
	else if (c->later)
		rec_stage_3d(&c->p, c->back, c->stream, c->per_thread);
	errno = saved;
	return r;
}

/* ---- linear ---------------------------------------------------------------- */

static struct copy linear(enum ring_payload_kind kind, int param, const void *host, CUdeviceptr device,
			  size_t bytes)
{
	return (struct copy){
		.p = {.seq = rec_current(),
		      .kind = kind,
		      .param = param,
		      .address = (uintptr_t)host,
		      .device_address = device,
		      .width = bytes,
		      .height = 1,
		      .depth = 1},
		.host = host,
		.linear = true,
	};
}

static void on_stream(struct copy *c, CUstream stream, bool per_thread)
{
	c->async = true;
	c->stream = stream;
	c->per_thread = per_thread;
}

/* A copy between unified addresses: what they are decides. */
static struct copy unified(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	if (!rec_current())
		return (struct copy){.host = NULL};
	if (side_of(src) != SIDE_DEVICE)
		return linear(RING_H2D, 1, (void *)(uintptr_t)src, dst, bytes);
	if (side_of(dst) != SIDE_DEVICE)
		return linear(RING_D2H, 0, (void *)(uintptr_t)dst, src, bytes);
	return (struct copy){.host = NULL};
}

/* Blocking copies are short: their bytes are there, before the call or after it, wherever the memory is. */
static inline bool readable(const void *host)
{
	int saved = errno;
	bool ok = host && !rec_no_data && host_side_of(host) != SIDE_DEVICE;

	errno = saved;
	return ok;
}

#define SYNC_H2D(fn)                                                          \
	static CUresult hook_##fn(CUdeviceptr dst, const void *src, size_t n) \
	{                                                                     \
		uint64_t seq = rec_current();                                 \
		if (REC_LIKELY(seq) && readable(src))                         \
			rec_payload_linear(seq, RING_H2D, 1, src, dst, n);    \
		return REAL(fn)(dst, src, n);                                 \
	}
#define SYNC_D2H(fn)                                                       \
	static CUresult hook_##fn(void *dst, CUdeviceptr src, size_t n)    \
	{                                                                  \
		uint64_t seq = rec_current();                              \
		bool taken = seq && readable(dst);                         \
		CUresult r = REAL(fn)(dst, src, n);                        \
		if (taken && r == CUDA_SUCCESS) {                          \
			int saved = errno;                                 \
			rec_payload_linear(seq, RING_D2H, 0, dst, src, n); \
			errno = saved;                                     \
		}                                                          \
		return r;                                                  \
	}
#define SYNC_ANY(fn)                                                          \
	static CUresult hook_##fn(CUdeviceptr dst, CUdeviceptr src, size_t n) \
	{                                                                     \
		if (!rec_current())                                           \
			return REAL(fn)(dst, src, n);                         \
		struct copy c = unified(dst, src, n);                         \
		take_before(&c);                                              \
		return take_after(&c, REAL(fn)(dst, src, n));                 \
	}
#define ASYNC_H2D(fn, per_thread)                                                              \
	static CUresult hook_##fn(CUdeviceptr dst, const void *src, size_t n, CUstream stream) \
	{                                                                                      \
		if (!rec_current())                                                            \
			return REAL(fn)(dst, src, n, stream);                                  \
		struct copy c = linear(RING_H2D, 1, src, dst, n);                              \
		on_stream(&c, stream, per_thread);                                             \
		take_before(&c);                                                               \
		return take_after(&c, REAL(fn)(dst, src, n, stream));                          \
	}
#define ASYNC_D2H(fn, per_thread)                                                        \
	static CUresult hook_##fn(void *dst, CUdeviceptr src, size_t n, CUstream stream) \
	{                                                                                \
		if (!rec_current())                                                      \
			return REAL(fn)(dst, src, n, stream);                            \
		struct copy c = linear(RING_D2H, 0, dst, src, n);                        \
		on_stream(&c, stream, per_thread);                                       \
		take_before(&c);                                                         \
		return take_after(&c, REAL(fn)(dst, src, n, stream));                    \
	}
#define ASYNC_ANY(fn, per_thread)                                                              \
	static CUresult hook_##fn(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream) \
	{                                                                                      \
		if (!rec_current())                                                            \
			return REAL(fn)(dst, src, n, stream);                                  \
		struct copy c = unified(dst, src, n);                                          \
		on_stream(&c, stream, per_thread);                                             \
		take_before(&c);                                                               \
		return take_after(&c, REAL(fn)(dst, src, n, stream));                          \
	}

SYNC_H2D(cuMemcpyHtoD_v2)
SYNC_H2D(cuMemcpyHtoD_v2_ptds)
SYNC_D2H(cuMemcpyDtoH_v2)
SYNC_D2H(cuMemcpyDtoH_v2_ptds)
SYNC_ANY(cuMemcpy)
SYNC_ANY(cuMemcpy_ptds)
ASYNC_H2D(cuMemcpyHtoDAsync_v2, false)
ASYNC_H2D(cuMemcpyHtoDAsync_v2_ptsz, true)
ASYNC_D2H(cuMemcpyDtoHAsync_v2, false)
ASYNC_D2H(cuMemcpyDtoHAsync_v2_ptsz, true)
ASYNC_ANY(cuMemcpyAsync, false)
ASYNC_ANY(cuMemcpyAsync_ptsz, true)

/* ---- one-dimensional copies to and from arrays -------------------------------- */

static struct copy array(enum ring_payload_kind kind, int param, const void *host, CUarray a, size_t offset,
			 size_t bytes, CUDA_MEMCPY3D *back)
{
	struct copy c = linear(kind, param, host, 0, bytes);

	c.linear = false;
	c.back = back;
	*back = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
				.srcArray = a,
				.srcXInBytes = offset,
				.WidthInBytes = bytes,
				.Height = 1,
				.Depth = 1};
	return c;
}

#define SYNC_H2A(fn)                                                                   \
	static CUresult hook_##fn(CUarray a, size_t offset, const void *src, size_t n) \
	{                                                                              \
		CUDA_MEMCPY3D back;                                                    \
		if (!rec_current())                                                    \
			return REAL(fn)(a, offset, src, n);                            \
		struct copy c = array(RING_H2D, 2, src, a, offset, n, &back);          \
		take_before(&c);                                                       \
		return take_after(&c, REAL(fn)(a, offset, src, n));                    \
	}
#define SYNC_A2H(fn)                                                             \
	static CUresult hook_##fn(void *dst, CUarray a, size_t offset, size_t n) \
	{                                                                        \
		CUDA_MEMCPY3D back;                                              \
		if (!rec_current())                                              \
			return REAL(fn)(dst, a, offset, n);                      \
		struct copy c = array(RING_D2H, 0, dst, a, offset, n, &back);    \
		take_before(&c);                                                 \
		return take_after(&c, REAL(fn)(dst, a, offset, n));              \
	}
#define ASYNC_H2A(fn, per_thread)                                                                       \
	static CUresult hook_##fn(CUarray a, size_t offset, const void *src, size_t n, CUstream stream) \
	{                                                                                               \
		CUDA_MEMCPY3D back;                                                                     \
		if (!rec_current())                                                                     \
			return REAL(fn)(a, offset, src, n, stream);                                     \
		struct copy c = array(RING_H2D, 2, src, a, offset, n, &back);                           \
		on_stream(&c, stream, per_thread);                                                      \
		take_before(&c);                                                                        \
		return take_after(&c, REAL(fn)(a, offset, src, n, stream));                             \
	}
#define ASYNC_A2H(fn, per_thread)                                                                 \
	static CUresult hook_##fn(void *dst, CUarray a, size_t offset, size_t n, CUstream stream) \
	{                                                                                         \
		CUDA_MEMCPY3D back;                                                               \
		if (!rec_current())                                                               \
			return REAL(fn)(dst, a, offset, n, stream);                               \
		struct copy c = array(RING_D2H, 0, dst, a, offset, n, &back);                     \
		on_stream(&c, stream, per_thread);                                                \
		take_before(&c);                                                                  \
		return take_after(&c, REAL(fn)(dst, a, offset, n, stream));                       \
	}

SYNC_H2A(cuMemcpyHtoA_v2)
SYNC_H2A(cuMemcpyHtoA_v2_ptds)
SYNC_A2H(cuMemcpyAtoH_v2)
SYNC_A2H(cuMemcpyAtoH_v2_ptds)
ASYNC_H2A(cuMemcpyHtoAAsync_v2, false)
ASYNC_H2A(cuMemcpyHtoAAsync_v2_ptsz, true)
ASYNC_A2H(cuMemcpyAtoHAsync_v2, false)
ASYNC_A2H(cuMemcpyAtoHAsync_v2_ptsz, true)

/* ---- two and three dimensions ---------------------------------------------------- */

static bool side_is_host(CUmemorytype type, const void *host, CUdeviceptr device, const char **base)
{
	if (type == CU_MEMORYTYPE_HOST)
		*base = host;
	else if (type == CU_MEMORYTYPE_UNIFIED && side_of(device) != SIDE_DEVICE)
		*base = (const char *)(uintptr_t)device;
	else
		return false;
	return true;
}

/* The device half of `m` as the source half of a copy back. */
static CUDA_MEMCPY3D copy_back(const CUDA_MEMCPY3D *m, bool from_destination)
{
	CUDA_MEMCPY3D b = *m;

	if (from_destination) {
		b.srcMemoryType = m->dstMemoryType;
		b.srcHost = m->dstHost;
		b.srcDevice = m->dstDevice;
		b.srcArray = m->dstArray;
		b.srcLOD = m->dstLOD;
		b.srcXInBytes = m->dstXInBytes;
		b.srcY = m->dstY;
		b.srcZ = m->dstZ;
		b.srcPitch = m->dstPitch;
		b.srcHeight = m->dstHeight;
	}
	return b;
}

static void place_3d(struct copy *c, const char *base, size_t x, size_t y, size_t z, size_t pitch,
		     size_t height, const CUDA_MEMCPY3D *m)
{
	pitch = pitch ? pitch : m->WidthInBytes;
	height = height ? height : m->Height;
	c->host = base + z * pitch * height + y * pitch + x;
	c->p.address = (uintptr_t)c->host;
	c->p.width = m->WidthInBytes;
	c->p.height = m->Height;
	c->p.depth = m->Depth;
	c->p.pitch = pitch;
	c->p.slice = pitch * height;
}

static uint64_t device_address(CUmemorytype type, CUdeviceptr p, size_t x, size_t y, size_t z, size_t pitch,
			       size_t height)
{
	return type == CU_MEMORYTYPE_ARRAY ? 0 : p + z * pitch * height + y * pitch + x;
}

static struct copy copy_3d(const CUDA_MEMCPY3D *m, CUDA_MEMCPY3D *back)
{
	struct copy c = {.p = {.seq = rec_current(), .param = 0}, .back = back};
	const char *base;

	if (!m || !c.p.seq || !m->WidthInBytes || !m->Height || !m->Depth)
		return c;
	if (side_is_host(m->srcMemoryType, m->srcHost, m->srcDevice, &base)) {
		c.p.kind = RING_H2D;
		place_3d(&c, base, m->srcXInBytes, m->srcY, m->srcZ, m->srcPitch, m->srcHeight, m);
		c.p.device_address = device_address(m->dstMemoryType, m->dstDevice, m->dstXInBytes, m->dstY,
						    m->dstZ, m->dstPitch, m->dstHeight);
		*back = copy_back(m, true);
	} else if (side_is_host(m->dstMemoryType, m->dstHost, m->dstDevice, &base)) {
		c.p.kind = RING_D2H;
		place_3d(&c, base, m->dstXInBytes, m->dstY, m->dstZ, m->dstPitch, m->dstHeight, m);
		c.p.device_address = device_address(m->srcMemoryType, m->srcDevice, m->srcXInBytes, m->srcY,
						    m->srcZ, m->srcPitch, m->srcHeight);
		*back = copy_back(m, false);
	}
	return c;
}

static struct copy copy_2d(const CUDA_MEMCPY2D *m, CUDA_MEMCPY3D *back)
{
	CUDA_MEMCPY3D t;

	if (!m)
		return (struct copy){.host = NULL};
	t = (CUDA_MEMCPY3D){
		.srcXInBytes = m->srcXInBytes,
		.srcY = m->srcY,
		.srcMemoryType = m->srcMemoryType,
		.srcHost = m->srcHost,
		.srcDevice = m->srcDevice,
		.srcArray = m->srcArray,
		.srcPitch = m->srcPitch,
		.dstXInBytes = m->dstXInBytes,
		.dstY = m->dstY,
		.dstMemoryType = m->dstMemoryType,
		.dstHost = m->dstHost,
		.dstDevice = m->dstDevice,
		.dstArray = m->dstArray,
		.dstPitch = m->dstPitch,
		.WidthInBytes = m->WidthInBytes,
		.Height = m->Height,
		.Depth = 1,
	};
	return copy_3d(&t, back);
}

/* CUDA_MEMCPY3D_PEER has contexts in the two reserved words and is laid out like CUDA_MEMCPY3D otherwise. */
static struct copy copy_peer(const CUDA_MEMCPY3D_PEER *m, CUDA_MEMCPY3D *back)
{
	CUDA_MEMCPY3D t;

	_Static_assert(sizeof(t) == sizeof(*m) &&
			       offsetof(CUDA_MEMCPY3D, Depth) == offsetof(CUDA_MEMCPY3D_PEER, Depth),
		       "layout");
	if (!m)
		return (struct copy){.host = NULL};
	memcpy(&t, m, sizeof(t));
	t.reserved0 = t.reserved1 = NULL;
	return copy_3d(&t, back);
}

#define SYNC_ND(fn, type, describe)                 \
	static CUresult hook_##fn(const type *m)    \
	{                                           \
		CUDA_MEMCPY3D back;                 \
		if (!rec_current())                 \
			return REAL(fn)(m);         \
		struct copy c = describe(m, &back); \
		take_before(&c);                    \
		return take_after(&c, REAL(fn)(m)); \
	}
#define ASYNC_ND(fn, type, describe, per_thread)                  \
	static CUresult hook_##fn(const type *m, CUstream stream) \
	{                                                         \
		CUDA_MEMCPY3D back;                               \
		if (!rec_current())                               \
			return REAL(fn)(m, stream);               \
		struct copy c = describe(m, &back);               \
		on_stream(&c, stream, per_thread);                \
		take_before(&c);                                  \
		return take_after(&c, REAL(fn)(m, stream));       \
	}

SYNC_ND(cuMemcpy2D_v2, CUDA_MEMCPY2D, copy_2d)
SYNC_ND(cuMemcpy2D_v2_ptds, CUDA_MEMCPY2D, copy_2d)
SYNC_ND(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, copy_2d)
SYNC_ND(cuMemcpy2DUnaligned_v2_ptds, CUDA_MEMCPY2D, copy_2d)
SYNC_ND(cuMemcpy3D_v2, CUDA_MEMCPY3D, copy_3d)
SYNC_ND(cuMemcpy3D_v2_ptds, CUDA_MEMCPY3D, copy_3d)
SYNC_ND(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, copy_peer)
SYNC_ND(cuMemcpy3DPeer_ptds, CUDA_MEMCPY3D_PEER, copy_peer)
ASYNC_ND(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, copy_2d, false)
ASYNC_ND(cuMemcpy2DAsync_v2_ptsz, CUDA_MEMCPY2D, copy_2d, true)
ASYNC_ND(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, copy_3d, false)
ASYNC_ND(cuMemcpy3DAsync_v2_ptsz, CUDA_MEMCPY3D, copy_3d, true)
ASYNC_ND(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, copy_peer, false)
ASYNC_ND(cuMemcpy3DPeerAsync_ptsz, CUDA_MEMCPY3D_PEER, copy_peer, true)

/* ---- batches ------------------------------------------------------------------------ */

/* One description per copy of a batch, before the call; NULL when none is wanted or there is no memory. */
static struct copy *batch_before(const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes,
				 size_t count, CUstream stream, bool per_thread)
{
	struct rec_payload p = {.seq = rec_current(), .param = -1};
	struct copy *c;

	if (!p.seq || !count || !dsts || !srcs || !sizes)
		return NULL;
	c = count < SIZE_MAX / sizeof(*c) ? rec_pages(count * sizeof(*c)) : NULL;
	if (!c)
		rec_unavailable(&p, "out of memory for a batch of copies");
	for (size_t i = 0; c && i < count; i++) {
		c[i] = unified(dsts[i], srcs[i], sizes[i]);
		on_stream(&c[i], stream, per_thread);
		take_before(&c[i]);
	}
	return c;
}

static CUresult batch_after(struct copy *c, size_t count, CUresult r)
{
	for (size_t i = 0; c && i < count; i++)
		take_after(&c[i], r);
	rec_pages_free(c, c ? count * sizeof(*c) : 0);
	return r;
}

#define BATCH_V1(fn, per_thread)                                                                        \
	static CUresult hook_##fn(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,    \
				  CUmemcpyAttributes *attrs, size_t *idxs, size_t nattrs, size_t *fail, \
				  CUstream s)                                                           \
	{                                                                                               \
		struct copy *c = batch_before(dsts, srcs, sizes, count, s, per_thread);                 \
		return batch_after(c, count,                                                            \
				   REAL(fn)(dsts, srcs, sizes, count, attrs, idxs, nattrs, fail, s));   \
	}
#define BATCH_V2(fn, per_thread)                                                                          \
	static CUresult hook_##fn(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,      \
				  CUmemcpyAttributes *attrs, size_t *idxs, size_t nattrs, CUstream s)     \
	{                                                                                                 \
		struct copy *c = batch_before(dsts, srcs, sizes, count, s, per_thread);                   \
		return batch_after(c, count, REAL(fn)(dsts, srcs, sizes, count, attrs, idxs, nattrs, s)); \
	}
BATCH_V1(cuMemcpyBatchAsync, false)
BATCH_V1(cuMemcpyBatchAsync_ptsz, true)
BATCH_V2(cuMemcpyBatchAsync_v2, false)
BATCH_V2(cuMemcpyBatchAsync_v2_ptsz, true)

static void no_3d_batches(void)
{
	struct rec_payload p = {.seq = rec_current(), .param = 1};

	if (p.seq)
		rec_unavailable(&p, "batches of three-dimensional copies are recorded without their bytes");
}

#define BATCH_3D_V1(fn)                                                                \
	static CUresult hook_##fn(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail, \
				  unsigned long long flags, CUstream s)                \
	{                                                                              \
		no_3d_batches();                                                       \
		return REAL(fn)(n, ops, fail, flags, s);                               \
	}
#define BATCH_3D_V2(fn)                                                                            \
	static CUresult hook_##fn(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags, \
				  CUstream s)                                                      \
	{                                                                                          \
		no_3d_batches();                                                                   \
		return REAL(fn)(n, ops, flags, s);                                                 \
	}
BATCH_3D_V1(cuMemcpy3DBatchAsync)
BATCH_3D_V1(cuMemcpy3DBatchAsync_ptsz)
BATCH_3D_V2(cuMemcpy3DBatchAsync_v2)
BATCH_3D_V2(cuMemcpy3DBatchAsync_v2_ptsz)

#define HOOK(fn)                               \
	{                                      \
		API_ID_##fn, (void *)hook_##fn \
	}
const struct rec_hook rec_copy_hooks[] = {
	HOOK(cuMemcpyHtoD_v2),
	HOOK(cuMemcpyHtoD_v2_ptds),
	HOOK(cuMemcpyDtoH_v2),
	HOOK(cuMemcpyDtoH_v2_ptds),
	HOOK(cuMemcpy),
	HOOK(cuMemcpy_ptds),
	HOOK(cuMemcpyHtoDAsync_v2),
	HOOK(cuMemcpyHtoDAsync_v2_ptsz),
	HOOK(cuMemcpyDtoHAsync_v2),
	HOOK(cuMemcpyDtoHAsync_v2_ptsz),
	HOOK(cuMemcpyAsync),
	HOOK(cuMemcpyAsync_ptsz),
	HOOK(cuMemcpyHtoA_v2),
	HOOK(cuMemcpyHtoA_v2_ptds),
	HOOK(cuMemcpyAtoH_v2),
	HOOK(cuMemcpyAtoH_v2_ptds),
	HOOK(cuMemcpyHtoAAsync_v2),
	HOOK(cuMemcpyHtoAAsync_v2_ptsz),
	HOOK(cuMemcpyAtoHAsync_v2),
	HOOK(cuMemcpyAtoHAsync_v2_ptsz),
	HOOK(cuMemcpy2D_v2),
	HOOK(cuMemcpy2D_v2_ptds),
	HOOK(cuMemcpy2DUnaligned_v2),
	HOOK(cuMemcpy2DUnaligned_v2_ptds),
	HOOK(cuMemcpy3D_v2),
	HOOK(cuMemcpy3D_v2_ptds),
	HOOK(cuMemcpy3DPeer),
	HOOK(cuMemcpy3DPeer_ptds),
	HOOK(cuMemcpy2DAsync_v2),
	HOOK(cuMemcpy2DAsync_v2_ptsz),
	HOOK(cuMemcpy3DAsync_v2),
	HOOK(cuMemcpy3DAsync_v2_ptsz),
	HOOK(cuMemcpy3DPeerAsync),
	HOOK(cuMemcpy3DPeerAsync_ptsz),
	HOOK(cuMemcpyBatchAsync),
	HOOK(cuMemcpyBatchAsync_ptsz),
	HOOK(cuMemcpyBatchAsync_v2),
	HOOK(cuMemcpyBatchAsync_v2_ptsz),
	HOOK(cuMemcpy3DBatchAsync),
	HOOK(cuMemcpy3DBatchAsync_ptsz),
	HOOK(cuMemcpy3DBatchAsync_v2),
	HOOK(cuMemcpy3DBatchAsync_v2_ptsz),
};
const unsigned rec_ncopy_hooks = sizeof(rec_copy_hooks) / sizeof(rec_copy_hooks[0]);
