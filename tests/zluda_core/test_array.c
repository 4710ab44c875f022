/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA arrays: which shapes exist (CUDA driver API, cuArray3DCreate), what descriptors say, copies in all directions
 * against a model on the host.
 */
#include "core_test.h"

#define FLOATS CU_AD_FORMAT_FLOAT, 1
#define LDST   CUDA_ARRAY3D_SURFACE_LDST
#define LAYER  CUDA_ARRAY3D_LAYERED
#define CUBE   CUDA_ARRAY3D_CUBEMAP

static CUDA_ARRAY3D_DESCRIPTOR desc(size_t w, size_t h, size_t d, CUarray_format f, unsigned channels,
				    unsigned flags)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = w, .Height = h, .Depth = d, .Format = f, .NumChannels = channels, .Flags = flags};
}

static void shapes(void **state)
{
	static const struct {
		CUresult want;
		size_t w, h, d;
		CUarray_format format;
		unsigned channels, flags;
	} rows[] = {
		{CUDA_SUCCESS, 131072, 0, 0, FLOATS, 0},
		{CUDA_ERROR_INVALID_VALUE, 131073, 0, 0, FLOATS, 0},
		{CUDA_ERROR_INVALID_VALUE, 0, 0, 0, FLOATS, 0},
		{CUDA_ERROR_INVALID_VALUE, 0, 4, 0, FLOATS, 0},
		{CUDA_ERROR_INVALID_VALUE, 4, 0, 4, FLOATS, 0}, /* depth without height or layers */
		{CUDA_SUCCESS, 32, 65536, 0, FLOATS, 0},
		{CUDA_ERROR_INVALID_VALUE, 32, 65537, 0, FLOATS, 0},
		{CUDA_SUCCESS, 4, 4, 16384, FLOATS, 0},
		{CUDA_SUCCESS, 4, 4, 32768, FLOATS, 0}, /* deeper, by the alternate limits */
		{CUDA_ERROR_INVALID_VALUE, 8193, 4, 32768, FLOATS, 0},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 32769, FLOATS, 0},
		{CUDA_SUCCESS, 32768, 0, 2, FLOATS, LDST | LAYER},
		{CUDA_SUCCESS, 4, 4, 3, FLOATS, LDST},
		{CUDA_SUCCESS, 32768, 0, 2048, CU_AD_FORMAT_UNSIGNED_INT8, 1, LAYER},
		{CUDA_ERROR_INVALID_VALUE, 32769, 0, 2, FLOATS, LAYER},
		{CUDA_ERROR_INVALID_VALUE, 4, 0, 2049, FLOATS, LAYER},
		{CUDA_SUCCESS, 4, 4, 2048, FLOATS, LAYER},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 0, FLOATS, LAYER},
		{CUDA_SUCCESS, 4, 4, 6, FLOATS, CUBE},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 12, FLOATS, CUBE},
		{CUDA_ERROR_INVALID_VALUE, 4, 5, 6, FLOATS, CUBE},
		{CUDA_SUCCESS, 4, 4, 12, FLOATS, CUBE | LAYER},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 13, FLOATS, CUBE | LAYER},
		{CUDA_SUCCESS, 4, 4, 0, FLOATS, CUDA_ARRAY3D_TEXTURE_GATHER},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 4, FLOATS, CUDA_ARRAY3D_TEXTURE_GATHER},
		{CUDA_ERROR_INVALID_VALUE, 4, 0, 0, FLOATS, 0x40000000},
		{CUDA_ERROR_NOT_SUPPORTED, 4, 4, 0, FLOATS, CUDA_ARRAY3D_SPARSE},
		{CUDA_ERROR_NOT_SUPPORTED, 4, 4, 0, FLOATS, CUDA_ARRAY3D_DEFERRED_MAPPING},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 0, CU_AD_FORMAT_FLOAT, 3, 0},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 0, CU_AD_FORMAT_FLOAT, 0, 0},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 0, (CUarray_format)4, 1, 0},
		{CUDA_SUCCESS, 4, 4, 0, CU_AD_FORMAT_UNORM_INT8X4, 4, 0},
		{CUDA_ERROR_INVALID_VALUE, 4, 4, 0, CU_AD_FORMAT_UNORM_INT8X4, 1, 0},
		{CUDA_ERROR_NOT_SUPPORTED, 4, 4, 0, CU_AD_FORMAT_BC7_UNORM, 4, 0},
		{CUDA_ERROR_NOT_SUPPORTED, 4, 4, 0, CU_AD_FORMAT_NV12, 3, 0},
		{CUDA_ERROR_OUT_OF_MEMORY, 131072, 65536, 0, CU_AD_FORMAT_FLOAT, 4, 0}, /* 128 GiB */
	};

	(void)state;
	for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		CUDA_ARRAY3D_DESCRIPTOR d = desc(rows[k].w, rows[k].h, rows[k].d, rows[k].format,
						 rows[k].channels, rows[k].flags);
		CUDA_ARRAY3D_DESCRIPTOR got;
		CUarray a = NULL;
		CUresult r = cuArray3DCreate(&a, &d);

		if (r != rows[k].want)
			fail_msg("row %u: %d, expected %d", k, r, rows[k].want);
		if (r)
			continue;
		OK(cuArray3DGetDescriptor(&got, a));
		assert_memory_equal(&got, &d, sizeof(d));
		OK(cuArrayDestroy(a));
		FAILS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(a));
		FAILS(CUDA_ERROR_INVALID_HANDLE, cuArray3DGetDescriptor(&got, a));
	}
}

static void plain_arrays(void **state)
{
	CUDA_ARRAY_DESCRIPTOR d = {.Width = 5,
				   .Height = 3,
				   .Format = CU_AD_FORMAT_SIGNED_INT16,
				   .NumChannels = 2},
			      got;
	size_t before, during, after, total;
	CUarray a, plane;
	CUDA_ARRAY_SPARSE_PROPERTIES sparse;
	CUDA_ARRAY_MEMORY_REQUIREMENTS needs;

	(void)state;
	OK(cuMemGetInfo(&before, &total));
	OK(cuArrayCreate(&a, &d));
	OK(cuMemGetInfo(&during, &total));
	OK(cuArrayGetDescriptor(&got, a));
	assert_memory_equal(&got, &d, sizeof(d));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayGetDescriptor(NULL, a));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayGetPlane(&plane, a, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayGetSparseProperties(&sparse, a));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayGetMemoryRequirements(&needs, a, 0));
	OK(cuArrayDestroy(a));
	OK(cuMemGetInfo(&after, &total));
	assert_true(before - during >= 5 * 3 * 4);
	assert_int_equal(before, after);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(NULL, &d));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&a, NULL));
}

/* Arrays don't move the addresses that a program sees. */
static void addresses(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(1000, 1000, 0, FLOATS, 0);
	CUdeviceptr alone, beside;
	CUarray a;

	(void)state;
	OK(cuMemAlloc(&alone, 4096));
	OK(cuMemFree(alone));
	OK(cuArray3DCreate(&a, &d));
	OK(cuMemAlloc(&beside, 4096));
	assert_int_equal(alone, beside);
	OK(cuMemFree(beside));
	OK(cuArrayDestroy(a));
}

/* ---- copies ---------------------------------------------------------------------------------- */

static uint32_t seed = 99;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

#define W     37u /* bytes of a row: 8-bit texels */
#define H     9u
#define D     5u
#define BYTES (W * H * D)

struct image {
	CUarray array;
	uint8_t model[BYTES];
};

static void read_all(const struct image *m, uint8_t *out)
{
	CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
			   .srcArray = m->array,
			   .dstMemoryType = CU_MEMORYTYPE_HOST,
			   .dstHost = out,
			   .dstPitch = W,
			   .dstHeight = H,
			   .WidthInBytes = W,
			   .Height = H,
			   .Depth = D};

	OK(cuMemcpy3D(&p));
}

static void check(const struct image *m)
{
	uint8_t got[BYTES];

	read_all(m, got);
	assert_memory_equal(got, m->model, BYTES);
}

static void fill(struct image *m)
{
	CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = m->model,
			   .srcPitch = W,
			   .srcHeight = H,
			   .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			   .dstArray = m->array,
			   .WidthInBytes = W,
			   .Height = H,
			   .Depth = D};

	for (unsigned k = 0; k < BYTES; k++)
		m->model[k] = (uint8_t)rnd(256);
	OK(cuMemcpy3D(&p));
}

/* Boxes between host, device and two arrays, 3D or in layers. The other side of memory is packed. */
static void boxes(unsigned flags, bool async)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(W, H, D, CU_AD_FORMAT_UNSIGNED_INT8, 1, flags);
	struct image m[2];
	uint8_t host[BYTES], packed[BYTES];
	CUdeviceptr dev;

	OK(cuMemAlloc(&dev, BYTES));
	for (unsigned k = 0; k < 2; k++) {
		OK(cuArray3DCreate(&m[k].array, &d));
		fill(&m[k]);
		check(&m[k]);
	}
	for (unsigned n = 0; n < 200; n++) {
		unsigned w = 1 + rnd(W), h = 1 + rnd(H), depth = 1 + rnd(D), how = rnd(5);
		unsigned x = rnd(W - w + 1), y = rnd(H - h + 1), z = rnd(D - depth + 1);
		unsigned x2 = rnd(W - w + 1), y2 = rnd(H - h + 1), z2 = rnd(D - depth + 1);
		CUDA_MEMCPY3D p = {.WidthInBytes = w, .Height = h, .Depth = depth};
		bool to_array = how < 3;
		size_t at = 0;

		for (unsigned k = 0; k < BYTES; k++)
			host[k] = (uint8_t)rnd(256);
		OK(cuMemcpyHtoD(dev, host, BYTES));
		p.dstMemoryType = to_array   ? CU_MEMORYTYPE_ARRAY
				  : how == 3 ? CU_MEMORYTYPE_HOST
					     : CU_MEMORYTYPE_DEVICE;
		p.srcMemoryType = how == 0   ? CU_MEMORYTYPE_HOST
				  : how == 1 ? CU_MEMORYTYPE_DEVICE
					     : CU_MEMORYTYPE_ARRAY;
		p.srcHost = p.dstHost = host;
		p.srcDevice = p.dstDevice = dev;
		p.srcPitch = p.dstPitch = w;
		p.srcHeight = p.dstHeight = h;
		p.dstArray = m[0].array;
		p.srcArray = how == 2 ? m[1].array : m[0].array;
		if (to_array)
			p.dstXInBytes = x, p.dstY = y, p.dstZ = z;
		if (how >= 2)
			p.srcXInBytes = how == 2 ? x2 : x, p.srcY = how == 2 ? y2 : y,
			p.srcZ = how == 2 ? z2 : z;
		if (async) {
			OK(cuMemcpy3DAsync(&p, NULL));
			OK(cuCtxSynchronize());
		} else {
			OK(cuMemcpy3D(&p));
		}
		memcpy(packed, host, BYTES);
		if (how == 4)
			OK(cuMemcpyDtoH(packed, dev, BYTES));
		for (unsigned c = 0; c < depth; c++)
			for (unsigned b = 0; b < h; b++)
				for (unsigned a = 0; a < w; a++, at++) {
					uint8_t *mine = &m[0].model[((z + c) * H + y + b) * W + x + a];

					if (how == 2)
						*mine = m[1].model[((z2 + c) * H + y2 + b) * W + x2 + a];
					else if (to_array)
						*mine = packed[at];
					else
						assert_int_equal(packed[at], *mine);
				}
		if (to_array)
			check(&m[0]);
	}
	OK(cuMemFree(dev));
	for (unsigned k = 0; k < 2; k++)
		OK(cuArrayDestroy(m[k].array));
}

static void copies(void **state)
{
	(void)state;
	boxes(0, false);
	boxes(0, true);
	boxes(LAYER, false);
}

/* Offsets count bytes over all rows. */
static void linear_copies(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(100, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0);
	uint8_t host[400], back[400], model[400];
	CUdeviceptr dev;
	CUarray a, b;
	void *pinned;

	(void)state;
	for (unsigned k = 0; k < 400; k++)
		model[k] = host[k] = (uint8_t)rnd(256);
	OK(cuArray3DCreate(&a, &d));
	OK(cuArray3DCreate(&b, &d));
	OK(cuMemAlloc(&dev, 400));
	OK(cuMemAllocHost(&pinned, 400));
	OK(cuMemcpyHtoA(a, 0, host, 400));
	OK(cuMemcpyAtoA(b, 40, a, 8, 200));
	OK(cuMemcpyAtoD(dev, b, 40, 200));
	OK(cuMemcpyDtoH(back, dev, 200));
	assert_memory_equal(back, model + 8, 200);
	OK(cuMemcpyDtoA(a, 100, dev, 200));
	OK(cuMemcpyAtoH(back, a, 0, 400));
	memcpy(model + 100, host + 8, 200);
	assert_memory_equal(back, model, 400);
	memcpy(pinned, host, 400);
	OK(cuMemcpyHtoAAsync(a, 0, pinned, 400, NULL));
	memset(back, 0, sizeof(back));
	OK(cuMemcpyAtoHAsync(back, a, 4, 396, NULL));
	OK(cuCtxSynchronize());
	assert_memory_equal(back, host + 4, 396);
	OK(cuMemcpyHtoA(a, 400, host, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA(a, 4, host, 400));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoH(back, a, SIZE_MAX, 4));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoH(back, a, 396, SIZE_MAX));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoD(dev + 4, a, 0, 400));
	OK(cuArrayDestroy(b));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuMemcpyAtoA(b, 0, a, 0, 4));
	OK(cuArrayDestroy(a));
	OK(cuMemFree(dev));
	OK(cuMemFreeHost(pinned));
}

static void outside(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(8, 4, 2, FLOATS, 0);
	CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
			   .dstMemoryType = CU_MEMORYTYPE_HOST,
			   .WidthInBytes = 32,
			   .Height = 4,
			   .Depth = 2,
			   .dstPitch = 32,
			   .dstHeight = 4},
		      q;
	uint8_t host[256];

	(void)state;
	OK(cuArray3DCreate(&p.srcArray, &d));
	p.dstHost = host;
	OK(cuMemcpy3D(&p));
	q = p, q.srcXInBytes = 1;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&q));
	q = p, q.srcY = 1;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&q));
	q = p, q.srcZ = 1;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&q));
	q = p, q.srcZ = SIZE_MAX;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&q));
	q = p, q.srcLOD = 1;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&q));
	q = p, q.srcArray = NULL;
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuMemcpy3D(&q));
	OK(cuArrayDestroy(p.srcArray));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuMemcpy3D(&p));
}

/* ---- mipmapped arrays ----------------------------------------------------------------------------- */

static void mipmaps(void **state)
{
	static const struct {
		size_t w, h, d;
		unsigned flags, asked, levels;
		size_t size[4][3];
	} rows[] = {
		{13, 6, 0, 0, 100, 4, {{13, 6, 0}, {6, 3, 0}, {3, 1, 0}, {1, 1, 0}}},
		{13, 6, 0, 0, 2, 2, {{13, 6, 0}, {6, 3, 0}}},
		{8, 0, 0, 0, 0, 1, {{8, 0, 0}}},
		{2, 2, 9, 0, 99, 4, {{2, 2, 9}, {1, 1, 4}, {1, 1, 2}, {1, 1, 1}}},
		{4, 4, 9, LAYER, 99, 3, {{4, 4, 9}, {2, 2, 9}, {1, 1, 9}}},
		{4, 4, 6, CUBE, 99, 3, {{4, 4, 6}, {2, 2, 6}, {1, 1, 6}}},
	};

	(void)state;
	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		CUDA_ARRAY3D_DESCRIPTOR d = desc(rows[r].w, rows[r].h, rows[r].d, FLOATS, rows[r].flags);
		CUmipmappedArray m;
		CUarray level, again;

		OK(cuMipmappedArrayCreate(&m, &d, rows[r].asked));
		for (unsigned k = 0; k < rows[r].levels; k++) {
			OK(cuMipmappedArrayGetLevel(&level, m, k));
			OK(cuMipmappedArrayGetLevel(&again, m, k));
			assert_ptr_equal(level, again);
			OK(cuArray3DGetDescriptor(&d, level));
			assert_int_equal(d.Width, rows[r].size[k][0]);
			assert_int_equal(d.Height, rows[r].size[k][1]);
			assert_int_equal(d.Depth, rows[r].size[k][2]);
		}
		FAILS(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&level, m, rows[r].levels));
		FAILS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(again)); /* goes with the rest */
		OK(cuMipmappedArrayDestroy(m));
		FAILS(CUDA_ERROR_INVALID_HANDLE, cuMipmappedArrayDestroy(m));
		FAILS(CUDA_ERROR_INVALID_HANDLE, cuArray3DGetDescriptor(&d, again));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CONTEXT(shapes),  WITH_CONTEXT(plain_arrays),  WITH_CONTEXT(addresses),
		WITH_CONTEXT(copies),  WITH_CONTEXT(linear_copies), WITH_CONTEXT(outside),
		WITH_CONTEXT(mipmaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
