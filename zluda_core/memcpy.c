/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies in all directions. Each form becomes a struct copy (a box of rows); what is asynchronous follows the
 * driver API's "API synchronization behavior":
 *   synchronous functions  device to device: asynchronous to the host; all others wait
 *   ...Async               pageable source to device: taken into a staging buffer in the call;
 *                          device to pageable memory: returns when done; host to host: synchronous;
 *                          otherwise asynchronous
 */
#include "texture.h"

#include <stdlib.h>
#include <string.h>

#define BOUNCE_BYTES (1u << 20)
#define MAX_PITCH    0x7fffffffull

struct side {
	struct place place;
	uint64_t pitch, slice; /* bytes from row to row, from plane to plane */
};

struct copy {
	struct op op;
	struct side dst, src;
	uint64_t width, height, depth; /* bytes, rows, planes */
	void *staging;
};

/* ---- doing it ------------------------------------------------------------------ */

static CUresult between_devices(const struct place *dst, uint64_t doff, const struct place *src,
				uint64_t soff, uint64_t bytes)
{
	void *bounce = malloc(bytes < BOUNCE_BYTES ? bytes : BOUNCE_BYTES);
	CUresult r = bounce ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (uint64_t at = 0; at < bytes && !r; at += BOUNCE_BYTES) {
		uint64_t n = bytes - at < BOUNCE_BYTES ? bytes - at : BOUNCE_BYTES;

		r = memory_read(src->gpu, bounce, src->addr + soff + at, n);
		if (!r)
			r = memory_write(dst->gpu, dst->addr + doff + at, bounce, n);
	}
	free(bounce);
	return r;
}

static CUresult copy_bytes(const struct place *dst, uint64_t doff, const struct place *src, uint64_t soff,
			   uint64_t bytes)
{
	if (dst->is_host && src->is_host) {
		memmove((char *)dst->host + doff, (const char *)src->host + soff, bytes);
		return CUDA_SUCCESS;
	}
	if (src->is_host)
		return memory_write(dst->gpu, dst->addr + doff, (const char *)src->host + soff, bytes);
	if (dst->is_host)
		return memory_read(src->gpu, (char *)dst->host + doff, src->addr + soff, bytes);
	if (dst->gpu != src->gpu)
		return between_devices(dst, doff, src, soff, bytes);
	return dst->gpu->ops->copy(dst->gpu->dev, dst->addr + doff, src->addr + soff, bytes, NULL)
		       ? CUDA_ERROR_ILLEGAL_ADDRESS
		       : CUDA_SUCCESS;
}

static bool is_contiguous(const struct side *s, const struct copy *c)
{
	return (c->height == 1 || s->pitch == c->width) &&
	       (c->depth == 1 || s->slice == c->width * c->height);
}

static CUresult run_copy(struct op *op)
{
	struct copy *c = (struct copy *)op;
	CUresult r = CUDA_SUCCESS;

	if (is_contiguous(&c->dst, c) && is_contiguous(&c->src, c))
		return copy_bytes(&c->dst.place, 0, &c->src.place, 0, c->width * c->height * c->depth);
	for (uint64_t z = 0; z < c->depth && !r; z++)
		for (uint64_t y = 0; y < c->height && !r; y++)
			r = copy_bytes(&c->dst.place, z * c->dst.slice + y * c->dst.pitch, &c->src.place,
				       z * c->src.slice + y * c->src.pitch, c->width);
	return r;
}

static void release_copy(struct op *op)
{
	free(((struct copy *)op)->staging);
}

/* Takes the source's bytes now, packed. */
static CUresult stage(struct copy *c)
{
	struct side packed = {.place = {.is_host = true}, .pitch = c->width, .slice = c->width * c->height};
	struct side dst = c->dst;

	c->staging = malloc(c->width * c->height * c->depth);
	if (!c->staging)
		return CUDA_ERROR_OUT_OF_MEMORY;
	packed.place.host = c->staging;
	c->dst = packed;
	run_copy(&c->op);
	c->dst = dst;
	c->src = packed;
	return CUDA_SUCCESS;
}

static bool waits(const struct copy *c, bool async)
{
	const struct place *d = &c->dst.place, *s = &c->src.place;

	if (!async)
		return d->is_host || s->is_host;
	return d->is_host && (s->is_host || !d->pinned);
}

/* Owns c. */
static CUresult start(struct copy *c, struct queue *q, bool async)
{
	CUresult r = CUDA_SUCCESS;

	if (waits(c, async)) {
		r = queue_run(q, &c->op);
		print_flush();
		return r;
	}
	if (c->src.place.is_host && !c->src.place.pinned)
		r = stage(c);
	if (r) {
		free(c);
		return r;
	}
	c->op.release = release_copy;
	queue_submit(q, &c->op);
	return CUDA_SUCCESS;
}

static struct copy *copy_new(void)
{
	return op_new(sizeof(struct copy), run_copy);
}

/* ---- one dimension ------------------------------------------------------------------ */

/* The other side is memory or an array; offsets are in bytes over all rows. */
struct linear_end {
	CUarray array; /* NULL: memory */
	uint64_t at;   /* address, or offset in the array */
	enum place_want want;
};

static CUresult linear_place(const struct linear_end *e, size_t bytes, struct place *out)
{
	const struct array *a;

	if (e->want != PLACE_ARRAY)
		return place_find(e->at, bytes, e->want, out);
	a = array_find(e->array);
	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->at > a->bytes || bytes > a->bytes - e->at)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (struct place){.addr = a->level.base + e->at, .gpu = a->ctx->gpu};
	return CUDA_SUCCESS;
}

static CUresult copy_linear(CUstream stream, bool async, struct linear_end dst, struct linear_end src,
			    size_t bytes)
{
	struct context *ctx;
	struct queue *q;
	struct copy *c;
	CUresult r = stream_resolve(stream, &ctx, &q);

	if (!r && ((dst.want == PLACE_ARRAY && !array_find(dst.array)) ||
		   (src.want == PLACE_ARRAY && !array_find(src.array))))
		r = CUDA_ERROR_INVALID_HANDLE;
	if (r || !bytes)
		return r;
	c = copy_new();
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->width = bytes;
	c->height = c->depth = 1;
	r = linear_place(&dst, bytes, &c->dst.place);
	if (!r)
		r = linear_place(&src, bytes, &c->src.place);
	if (r) {
		free(c);
		return r;
	}
	return start(c, q, async);
}

static CUresult copy_1d(CUstream stream, bool async, uint64_t dst, enum place_want want_dst, uint64_t src,
			enum place_want want_src, size_t bytes)
{
	return copy_linear(stream, async, (struct linear_end){NULL, dst, want_dst},
			   (struct linear_end){NULL, src, want_src}, bytes);
}

#define HOST    PLACE_HOST
#define DEV     PLACE_DEVICE
#define ANY     PLACE_ANY
#define LEGACY  CU_STREAM_LEGACY
#define OWN     CU_STREAM_PER_THREAD
#define ADDR(p) ((uint64_t)(p))

/* One row per exported form: parameters, stream, asynchronous?, destination, source. */
#define COPY_1D(name, params, stream, async, dst, want_dst, src, want_src)                  \
	CUresult name params                                                                \
	{                                                                                   \
		return copy_1d(stream, async, ADDR(dst), want_dst, ADDR(src), want_src, n); \
	}

COPY_1D(cuMemcpy, (CUdeviceptr d, CUdeviceptr s, size_t n), LEGACY, false, d, ANY, s, ANY)
COPY_1D(cuMemcpy_ptds, (CUdeviceptr d, CUdeviceptr s, size_t n), OWN, false, d, ANY, s, ANY)
COPY_1D(cuMemcpyHtoD_v2, (CUdeviceptr d, const void *s, size_t n), LEGACY, false, d, DEV, s, HOST)
COPY_1D(cuMemcpyHtoD_v2_ptds, (CUdeviceptr d, const void *s, size_t n), OWN, false, d, DEV, s, HOST)
COPY_1D(cuMemcpyDtoH_v2, (void *d, CUdeviceptr s, size_t n), LEGACY, false, d, HOST, s, DEV)
COPY_1D(cuMemcpyDtoH_v2_ptds, (void *d, CUdeviceptr s, size_t n), OWN, false, d, HOST, s, DEV)
COPY_1D(cuMemcpyDtoD_v2, (CUdeviceptr d, CUdeviceptr s, size_t n), LEGACY, false, d, DEV, s, DEV)
COPY_1D(cuMemcpyDtoD_v2_ptds, (CUdeviceptr d, CUdeviceptr s, size_t n), OWN, false, d, DEV, s, DEV)
COPY_1D(cuMemcpyAsync, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream q), q, true, d, ANY, s, ANY)
COPY_1D(cuMemcpyHtoDAsync_v2, (CUdeviceptr d, const void *s, size_t n, CUstream q), q, true, d, DEV, s, HOST)
COPY_1D(cuMemcpyDtoHAsync_v2, (void *d, CUdeviceptr s, size_t n, CUstream q), q, true, d, HOST, s, DEV)
COPY_1D(cuMemcpyDtoDAsync_v2, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream q), q, true, d, DEV, s, DEV)

#define MEM(p, want)   ((struct linear_end){NULL, ADDR(p), want})
#define ARR(a, offset) ((struct linear_end){a, offset, PLACE_ARRAY})
#define COPY_ARRAY(name, params, stream, async, dst, src)       \
	CUresult name params                                    \
	{                                                       \
		return copy_linear(stream, async, dst, src, n); \
	}

COPY_ARRAY(cuMemcpyHtoA_v2, (CUarray d, size_t o, const void *s, size_t n), LEGACY, false, ARR(d, o),
	   MEM(s, HOST))
COPY_ARRAY(cuMemcpyHtoA_v2_ptds, (CUarray d, size_t o, const void *s, size_t n), OWN, false, ARR(d, o),
	   MEM(s, HOST))
COPY_ARRAY(cuMemcpyHtoAAsync_v2, (CUarray d, size_t o, const void *s, size_t n, CUstream q), q, true,
	   ARR(d, o), MEM(s, HOST))
COPY_ARRAY(cuMemcpyAtoH_v2, (void *d, CUarray s, size_t o, size_t n), LEGACY, false, MEM(d, HOST), ARR(s, o))
COPY_ARRAY(cuMemcpyAtoH_v2_ptds, (void *d, CUarray s, size_t o, size_t n), OWN, false, MEM(d, HOST),
	   ARR(s, o))
COPY_ARRAY(cuMemcpyAtoHAsync_v2, (void *d, CUarray s, size_t o, size_t n, CUstream q), q, true, MEM(d, HOST),
	   ARR(s, o))
COPY_ARRAY(cuMemcpyDtoA_v2, (CUarray d, size_t o, CUdeviceptr s, size_t n), LEGACY, false, ARR(d, o),
	   MEM(s, DEV))
COPY_ARRAY(cuMemcpyDtoA_v2_ptds, (CUarray d, size_t o, CUdeviceptr s, size_t n), OWN, false, ARR(d, o),
	   MEM(s, DEV))
COPY_ARRAY(cuMemcpyAtoD_v2, (CUdeviceptr d, CUarray s, size_t o, size_t n), LEGACY, false, MEM(d, DEV),
	   ARR(s, o))
COPY_ARRAY(cuMemcpyAtoD_v2_ptds, (CUdeviceptr d, CUarray s, size_t o, size_t n), OWN, false, MEM(d, DEV),
	   ARR(s, o))
COPY_ARRAY(cuMemcpyAtoA_v2, (CUarray d, size_t o, CUarray s, size_t p, size_t n), LEGACY, false, ARR(d, o),
	   ARR(s, p))
COPY_ARRAY(cuMemcpyAtoA_v2_ptds, (CUarray d, size_t o, CUarray s, size_t p, size_t n), OWN, false, ARR(d, o),
	   ARR(s, p))

/* The contexts are those the pointers belong to; with unified addressing the pointers say so too. */
static CUresult copy_peer(CUstream stream, bool async, CUdeviceptr d, CUcontext dctx, CUdeviceptr s,
			  CUcontext sctx, size_t n)
{
	struct context *a, *b;

	if (!dctx || !sctx || context_resolve(dctx, &a) || context_resolve(sctx, &b))
		return core_check() ? core_check() : CUDA_ERROR_INVALID_CONTEXT;
	return copy_1d(stream, async, d, DEV, s, DEV, n);
}

CUresult cuMemcpyPeer(CUdeviceptr d, CUcontext dctx, CUdeviceptr s, CUcontext sctx, size_t n)
{
	return copy_peer(LEGACY, false, d, dctx, s, sctx, n);
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr d, CUcontext dctx, CUdeviceptr s, CUcontext sctx, size_t n)
{
	return copy_peer(OWN, false, d, dctx, s, sctx, n);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr d, CUcontext dctx, CUdeviceptr s, CUcontext sctx, size_t n, CUstream q)
{
	return copy_peer(q, true, d, dctx, s, sctx, n);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
			       CUmemcpyAttributes *attrs, size_t *attr_idxs, size_t nattrs, CUstream q)
{
	CUresult r = core_check();

	if (r)
		return r;
	if (!dsts || !srcs || !sizes || !count || !attrs || !attr_idxs || !nattrs || nattrs > count ||
	    attr_idxs[0])
		return CUDA_ERROR_INVALID_VALUE;
	if (!q || q == CU_STREAM_LEGACY)
		return CUDA_ERROR_INVALID_VALUE; /* documented: not in the legacy default stream */
	for (size_t i = 0; i < count && !r; i++)
		r = copy_1d(q, true, dsts[i], ANY, srcs[i], ANY, sizes[i]);
	return r;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
			    CUmemcpyAttributes *attrs, size_t *attr_idxs, size_t nattrs, size_t *fail,
			    CUstream q)
{
	CUresult r = cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attr_idxs, nattrs, q);

	if (r && fail)
		*fail = SIZE_MAX;
	return r;
}

/* ---- two and three dimensions ---------------------------------------------------------- */

struct operand {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	uint64_t x, y, z, pitch, height;
};

/* The box lies in the array; pitch and height are the array's own. z is the plane or the layer. */
static CUresult side_array(struct side *out, const struct operand *o, const struct copy *c)
{
	const struct array *a = array_find(o->array);
	const struct dev_texture_level *l;
	uint64_t depth;

	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	l = &a->level;
	depth = a->layers ? a->layers : l->depth;
	if (o->x > l->row || c->width > l->row - o->x || o->y > l->height || c->height > l->height - o->y ||
	    o->z > depth || c->depth > depth - o->z)
		return CUDA_ERROR_INVALID_VALUE;
	out->pitch = l->row;
	out->slice = l->slice;
	out->place =
		(struct place){.addr = l->base + o->z * l->slice + o->y * l->row + o->x, .gpu = a->ctx->gpu};
	return CUDA_SUCCESS;
}

static CUresult side_set(struct side *out, const struct operand *o, const struct copy *c)
{
	uint64_t pitch = o->pitch, height = o->height, base, last;
	enum place_want want;

	switch ((unsigned)o->type) {
	case CU_MEMORYTYPE_HOST: want = PLACE_HOST; break;
	case CU_MEMORYTYPE_DEVICE: want = PLACE_DEVICE; break;
	case CU_MEMORYTYPE_UNIFIED: want = PLACE_ANY; break;
	case CU_MEMORYTYPE_ARRAY: return side_array(out, o, c);
	default: return CUDA_ERROR_INVALID_VALUE;
	}
	if (!pitch && c->height == 1 && c->depth == 1)
		pitch = o->x + c->width;
	if (!height)
		height = o->y + c->height;
	if (pitch < o->x + c->width || pitch > MAX_PITCH || (c->depth > 1 && height < o->y + c->height) ||
	    o->x > MAX_PITCH || height > UINT32_MAX || o->y > UINT32_MAX || o->z > UINT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	out->pitch = pitch;
	base = want == PLACE_HOST ? (uint64_t)o->host : o->device;
	if (__builtin_mul_overflow(pitch, height, &out->slice) ||
	    __builtin_mul_overflow(out->slice, o->z + c->depth - 1, &last))
		return CUDA_ERROR_INVALID_VALUE;
	base += o->z * out->slice + o->y * pitch + o->x;
	last = (c->depth - 1) * out->slice + (c->height - 1) * pitch + c->width;
	if (base < (want == PLACE_HOST ? (uint64_t)o->host : o->device))
		return CUDA_ERROR_INVALID_VALUE;
	return place_find(base, last, want, &out->place);
}

static CUresult copy_box(CUstream stream, bool async, const struct operand *dst, const struct operand *src,
			 uint64_t width, uint64_t height, uint64_t depth)
{
	struct context *ctx;
	struct queue *q;
	struct copy *c;
	CUresult r = stream_resolve(stream, &ctx, &q);

	if (r || !width || !height || !depth)
		return r;
	if (width > MAX_PITCH || height > UINT32_MAX || depth > UINT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	c = copy_new();
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->width = width;
	c->height = height;
	c->depth = depth;
	r = side_set(&c->dst, dst, c);
	if (!r)
		r = side_set(&c->src, src, c);
	if (r) {
		free(c);
		return r;
	}
	return start(c, q, async);
}

static CUresult copy_2d(CUstream stream, bool async, const CUDA_MEMCPY2D *p)
{
	struct operand dst, src;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	dst = (struct operand){
		p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray, p->dstXInBytes, p->dstY, 0,
		p->dstPitch,      0};
	src = (struct operand){
		p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes, p->srcY, 0,
		p->srcPitch,      0};
	return copy_box(stream, async, &dst, &src, p->WidthInBytes, p->Height, 1);
}

/* CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER differ only in the contexts, which unified addressing makes
 * superfluous. */
#define OPERAND_3D(p, side)                                                                                  \
	{                                                                                                    \
		(p)->side##MemoryType, (p)->side##Host, (p)->side##Device, (p)->side##Array,                 \
			(p)->side##XInBytes, (p)->side##Y, (p)->side##Z, (p)->side##Pitch, (p)->side##Height \
	}

static CUresult copy_3d(CUstream stream, bool async, const CUDA_MEMCPY3D *p)
{
	if (!p || p->srcLOD || p->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	struct operand dst = OPERAND_3D(p, dst), src = OPERAND_3D(p, src);

	return copy_box(stream, async, &dst, &src, p->WidthInBytes, p->Height, p->Depth);
}

static CUresult copy_3d_peer(CUstream stream, bool async, const CUDA_MEMCPY3D_PEER *p)
{
	if (!p || p->srcLOD || p->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	struct operand dst = OPERAND_3D(p, dst), src = OPERAND_3D(p, src);

	return copy_box(stream, async, &dst, &src, p->WidthInBytes, p->Height, p->Depth);
}

#define COPY_BOX(name, type, fn, stream)     \
	CUresult name(const type *p)         \
	{                                    \
		return fn(stream, false, p); \
	}
#define COPY_BOX_ASYNC(name, type, fn)           \
	CUresult name(const type *p, CUstream q) \
	{                                        \
		return fn(q, true, p);           \
	}

COPY_BOX(cuMemcpy2D_v2, CUDA_MEMCPY2D, copy_2d, LEGACY)
COPY_BOX(cuMemcpy2D_v2_ptds, CUDA_MEMCPY2D, copy_2d, OWN)
COPY_BOX(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, copy_2d, LEGACY)
COPY_BOX(cuMemcpy2DUnaligned_v2_ptds, CUDA_MEMCPY2D, copy_2d, OWN)
COPY_BOX(cuMemcpy3D_v2, CUDA_MEMCPY3D, copy_3d, LEGACY)
COPY_BOX(cuMemcpy3D_v2_ptds, CUDA_MEMCPY3D, copy_3d, OWN)
COPY_BOX(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, copy_3d_peer, LEGACY)
COPY_BOX(cuMemcpy3DPeer_ptds, CUDA_MEMCPY3D_PEER, copy_3d_peer, OWN)
COPY_BOX_ASYNC(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, copy_2d)
COPY_BOX_ASYNC(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, copy_3d)
COPY_BOX_ASYNC(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, copy_3d_peer)
