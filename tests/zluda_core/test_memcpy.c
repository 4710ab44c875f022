/* SPDX-License-Identifier: Apache-2.0
 *
 * 2D and 3D copies in all directions against a model on the host: random boxes in random pitches, byte for
 * byte.
 */
#include "core_test.h"

#define ROOM 4096

enum where { PAGEABLE, PINNED, DEVICE, NWHERE };

static uint32_t seed = 12345;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

struct side {
	enum where where;
	uint8_t *host;   /* PAGEABLE, PINNED */
	CUdeviceptr dev; /* DEVICE; PINNED too: unified addressing */
	uint8_t model[ROOM];
};

static void fill(struct side *s)
{
	for (int i = 0; i < ROOM; i++)
		s->model[i] = (uint8_t)rnd(256);
	if (s->where == DEVICE)
		OK(cuMemcpyHtoD(s->dev, s->model, ROOM));
	else
		memcpy(s->host, s->model, ROOM);
}

static void compare(const struct side *s)
{
	uint8_t got[ROOM];

	if (s->where == DEVICE)
		OK(cuMemcpyDtoH(got, s->dev, ROOM));
	else
		memcpy(got, s->host, ROOM);
	assert_memory_equal(got, s->model, ROOM);
}

static void make(struct side *s, enum where where)
{
	s->where = where;
	if (where == DEVICE)
		OK(cuMemAlloc(&s->dev, ROOM));
	else if (where == PINNED)
		OK(cuMemAllocHost((void **)&s->host, ROOM));
	else
		s->host = malloc(ROOM);
}

static void drop(struct side *s)
{
	if (s->where == DEVICE)
		OK(cuMemFree(s->dev));
	else if (s->where == PINNED)
		OK(cuMemFreeHost(s->host));
	else
		free(s->host);
}

struct box {
	size_t w, h, d;
	size_t sx, sy, sz, sp, sh;
	size_t dx, dy, dz, dp, dh;
};

/* Bounds that fit: 4 planes of 16 rows of 64 bytes at most. */
static struct box random_box(bool flat)
{
	struct box b = {.w = 1 + rnd(30), .h = 1 + rnd(8), .d = flat ? 1 : 1 + rnd(3)};

	b.sx = rnd(10), b.sy = rnd(5), b.sz = flat ? 0 : rnd(2);
	b.dx = rnd(10), b.dy = rnd(5), b.dz = flat ? 0 : rnd(2);
	b.sp = b.sx + b.w + rnd(20), b.sh = b.sy + b.h + rnd(3);
	b.dp = b.dx + b.w + rnd(20), b.dh = b.dy + b.h + rnd(3);
	return b;
}

static void model_copy(struct side *dst, const struct side *src, const struct box *b)
{
	for (size_t z = 0; z < b->d; z++)
		for (size_t y = 0; y < b->h; y++)
			for (size_t x = 0; x < b->w; x++)
				dst->model[((b->dz + z) * b->dh + b->dy + y) * b->dp + b->dx + x] =
					src->model[((b->sz + z) * b->sh + b->sy + y) * b->sp + b->sx + x];
}

static CUmemorytype type_of(const struct side *s, bool unified)
{
	return unified              ? CU_MEMORYTYPE_UNIFIED
	       : s->where == DEVICE ? CU_MEMORYTYPE_DEVICE
				    : CU_MEMORYTYPE_HOST;
}

static CUdeviceptr address(const struct side *s)
{
	return s->where == DEVICE ? s->dev : (CUdeviceptr)s->host;
}

static void copy_2d(struct side *dst, struct side *src, const struct box *b, bool unified, CUstream async)
{
	CUDA_MEMCPY2D c = {
		.srcXInBytes = b->sx,
		.srcY = b->sy,
		.srcMemoryType = type_of(src, unified),
		.srcHost = src->host,
		.srcDevice = address(src),
		.srcPitch = b->sp,
		.dstXInBytes = b->dx,
		.dstY = b->dy,
		.dstMemoryType = type_of(dst, unified),
		.dstHost = dst->host,
		.dstDevice = address(dst),
		.dstPitch = b->dp,
		.WidthInBytes = b->w,
		.Height = b->h,
	};

	OK(async ? cuMemcpy2DAsync(&c, async) : cuMemcpy2D(&c));
}

static void copy_3d(struct side *dst, struct side *src, const struct box *b, bool unified, CUstream async)
{
	CUDA_MEMCPY3D c = {
		.srcXInBytes = b->sx,
		.srcY = b->sy,
		.srcZ = b->sz,
		.srcMemoryType = type_of(src, unified),
		.srcHost = src->host,
		.srcDevice = address(src),
		.srcPitch = b->sp,
		.srcHeight = b->sh,
		.dstXInBytes = b->dx,
		.dstY = b->dy,
		.dstZ = b->dz,
		.dstMemoryType = type_of(dst, unified),
		.dstHost = dst->host,
		.dstDevice = address(dst),
		.dstPitch = b->dp,
		.dstHeight = b->dh,
		.WidthInBytes = b->w,
		.Height = b->h,
		.Depth = b->d,
	};

	OK(async ? cuMemcpy3DAsync(&c, async) : cuMemcpy3D(&c));
}

static void one(enum where to, enum where from, CUstream stream)
{
	static struct side dst, src;

	make(&dst, to);
	make(&src, from);
	for (int i = 0; i < 40; i++) {
		bool flat = i % 2;
		struct box b = random_box(flat);

		fill(&dst);
		fill(&src);
		model_copy(&dst, &src, &b);
		if (flat)
			copy_2d(&dst, &src, &b, i % 4 == 3, i % 8 < 4 ? stream : NULL);
		else
			copy_3d(&dst, &src, &b, i % 4 == 2, i % 8 < 4 ? stream : NULL);
		if (from == PAGEABLE) /* taken in the call: what happens to it now doesn't matter */
			memset(src.host, 0xee, ROOM);
		OK(cuStreamSynchronize(stream));
		OK(cuStreamSynchronize(NULL));
		compare(&dst);
	}
	drop(&dst);
	drop(&src);
}

static void boxes(void **state)
{
	CUstream stream;

	(void)state;
	OK(cuStreamCreate(&stream, 0));
	for (int to = 0; to < NWHERE; to++)
		for (int from = 0; from < NWHERE; from++)
			one((enum where)to, (enum where)from, stream);
	OK(cuStreamDestroy(stream));
}

static void generic(void **state)
{
	uint8_t in[100], out[100] = {0};
	CUdeviceptr a, b;

	(void)state;
	for (int i = 0; i < 100; i++)
		in[i] = (uint8_t)(i * 7);
	OK(cuMemAlloc(&a, 100));
	OK(cuMemAlloc(&b, 100));
	OK(cuMemcpy(a, (CUdeviceptr)in, 100));
	OK(cuMemcpy(b, a, 100));
	OK(cuMemcpy((CUdeviceptr)out, b, 100));
	assert_memory_equal(in, out, 100);
	memset(out, 0, 100);
	OK(cuMemcpyPeer(a, test_ctx, b, test_ctx, 50));
	OK(cuMemcpyDtoH(out, a + 10, 40));
	assert_memory_equal(in + 10, out, 40);
	OK(cuMemFree(a));
	OK(cuMemFree(b));
}

static void refusals(void **state)
{
	uint8_t host[256] = {0};
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = host,
			   .srcPitch = 16,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstPitch = 16,
			   .WidthInBytes = 16,
			   .Height = 4};
	CUdeviceptr p;

	(void)state;
	OK(cuMemAlloc(&p, 64));
	c.dstDevice = p;
	OK(cuMemcpy2D(&c));
	c.Height = 5; /* one row past the end */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&c));
	c.Height = 4;
	c.srcPitch = 15;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&c));
	c.srcPitch = 16;
	c.srcMemoryType = (CUmemorytype)9;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&c));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(NULL));
	OK(cuMemFree(p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {WITH_CONTEXT(boxes), WITH_CONTEXT(generic),
					   WITH_CONTEXT(refusals)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
