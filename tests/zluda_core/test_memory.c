/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation, addresses, host memory, pointer attributes, memset.
 */
#include "core_test.h"

static void alloc_and_free(void **state)
{
	size_t free0, free1, free2, total, size;
	CUdeviceptr p, q, base;

	(void)state;
	OK(cuMemGetInfo(&free0, &total));
	OK(cuMemAlloc(&p, 1000));
	OK(cuMemAlloc(&q, 1000));
	assert_int_equal(p % 256, 0); /* Programming Guide: at least 256-byte aligned */
	assert_true(p + 1000 <= q || q + 1000 <= p);
	OK(cuMemGetInfo(&free1, &total));
	assert_true(free1 <= free0 - 2000);
	OK(cuMemGetAddressRange(&base, &size, p + 999));
	assert_int_equal(base, p);
	assert_int_equal(size, 1000);
	FAILS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, p + 1000)); /* exact bounds */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(p + 1));
	OK(cuMemFree(p));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(p));
	OK(cuMemFree(q));
	OK(cuMemFree(0));
	OK(cuMemGetInfo(&free2, &total));
	assert_int_equal(free0, free2);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&p, 0));
	FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&p, total + 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(NULL, 16));
}

/* The same calls give the same addresses. */
static void addresses_repeat(void **state)
{
	static const size_t sizes[] = {4, 513, 1 << 20, 77, 3 << 20, 512, 100000};
	CUdeviceptr first[7], again[7];

	(void)state;
	for (int round = 0; round < 2; round++) {
		CUdeviceptr *p = round ? again : first;

		for (int i = 0; i < 7; i++)
			OK(cuMemAlloc(&p[i], sizes[i]));
		for (int i = 0; i < 7; i++) {
			assert_int_equal(p[i] % 512, 0);
			if (sizes[i] >= 1 << 20)
				assert_int_equal(p[i] % (2 << 20), 0);
			for (int k = 0; k < i; k++)
				assert_true(p[i] + sizes[i] <= p[k] || p[k] + sizes[k] <= p[i]);
		}
		for (int i = 0; i < 7; i++)
			OK(cuMemFree(p[(i * 3) % 7]));
	}
	assert_memory_equal(first, again, sizeof(first));
}

static void pitch(void **state)
{
	CUdeviceptr p, base;
	size_t row, size;

	(void)state;
	OK(cuMemAllocPitch(&p, &row, 1000, 7, 4));
	assert_true(row >= 1000 && row % 256 == 0);
	OK(cuMemGetAddressRange(&base, &size, p));
	assert_true(size >= row * 7);
	OK(cuMemFree(p));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&p, &row, 1000, 7, 3));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&p, &row, 0, 7, 4));
	FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocPitch(&p, &row, SIZE_MAX - 8, 7, 4));
}

static void bad_pointers(void **state)
{
	char host[64] = {0};
	CUdeviceptr p;

	(void)state;
	OK(cuMemAlloc(&p, 64));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(p, host, 65)); /* one byte too many */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(p + 1, host, 64));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, p + 63, 2));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuMemcpyHtoD((CUdeviceptr)host, host, 4)); /* pageable is not device memory */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(p, NULL, 4));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(p, 0, 65));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(p + 2, 0, 1)); /* misaligned */
	OK(cuMemcpyHtoD(p, host, 0));
	OK(cuMemFree(p));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(p, host, 4)); /* freed */
	OK(cuCtxSynchronize());                                    /* none of that is sticky */
}

static void host_memory(void **state)
{
	unsigned flags, type;
	CUdeviceptr d;
	uint32_t *h, own[4] = {1, 2, 3, 4};
	static char registered[8192];

	(void)state;
	OK(cuMemHostAlloc((void **)&h, 4096, CU_MEMHOSTALLOC_PORTABLE));
	h[0] = 42;
	OK(cuMemHostGetDevicePointer(&d, h, 0));
	assert_int_equal(d, (CUdeviceptr)h); /* unified addressing */
	OK(cuMemHostGetFlags(&flags, h));
	assert_true(flags & CU_MEMHOSTALLOC_PORTABLE);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	OK(cuMemcpyDtoH(own, d, 4)); /* the device's view of it */
	assert_int_equal(own[0], 42);
	OK(cuMemFreeHost(h));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(h));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, h));

	OK(cuMemHostRegister(registered, sizeof(registered), 0));
	FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(registered + 100, 10, 0));
	OK(cuMemHostGetDevicePointer(&d, registered + 5, 0));
	assert_int_equal(d, (CUdeviceptr)(registered + 5));
	OK(cuMemsetD8(d, 7, 3));
	OK(cuCtxSynchronize());
	assert_int_equal(registered[4], 0);
	assert_int_equal(registered[5], 7);
	assert_int_equal(registered[7], 7);
	assert_int_equal(registered[8], 0);
	OK(cuMemHostUnregister(registered));
	FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(registered));
}

static void managed(void **state)
{
	unsigned is_managed;
	CUdeviceptr d;
	int *h;

	(void)state;
	OK(cuMemAllocManaged(&d, 400, CU_MEM_ATTACH_GLOBAL));
	h = (int *)d;
	h[99] = 5;
	OK(cuMemsetD32(d, 9, 99));
	OK(cuCtxSynchronize());
	assert_int_equal(h[0], 9);
	assert_int_equal(h[98], 9);
	assert_int_equal(h[99], 5);
	OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, d + 4));
	assert_int_equal(is_managed, 1);
	OK(cuMemFree(d));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&d, 400, 0));
}

static void memset_widths(void **state)
{
	uint8_t host[64], expected[64];
	CUdeviceptr p;

	(void)state;
	OK(cuMemAlloc(&p, 64));
	OK(cuMemsetD8(p, 0x11, 64));
	OK(cuMemsetD16(p + 2, 0xaabb, 3));
	OK(cuMemsetD32(p + 16, 0x01020304, 2));
	OK(cuMemsetD2D8(p + 32, 8, 0x55, 3, 4));
	memset(expected, 0x11, 64);
	for (int i = 0; i < 3; i++)
		memcpy(expected + 2 + 2 * i, "\xbb\xaa", 2);
	for (int i = 0; i < 2; i++)
		memcpy(expected + 16 + 4 * i, "\x04\x03\x02\x01", 4);
	for (int y = 0; y < 4; y++)
		memset(expected + 32 + 8 * y, 0x55, 3);
	OK(cuMemcpyDtoH(host, p, 64));
	assert_memory_equal(host, expected, 64);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8(p, 2, 0, 3, 2)); /* pitch below width */
	OK(cuMemFree(p));
}

static void pointer_attributes(void **state)
{
	CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				       CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
				       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	unsigned long long id1, id2;
	CUcontext ctx;
	CUdeviceptr p, q, start;
	unsigned type;
	size_t size;
	int ordinal, local;
	void *data[] = {&ctx, &type, &start, &size, &ordinal};

	(void)state;
	OK(cuMemAlloc(&p, 100));
	OK(cuMemAlloc(&q, 100));
	OK(cuPointerGetAttributes(5, names, data, p + 50));
	assert_ptr_equal(ctx, test_ctx);
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_int_equal(start, p);
	assert_int_equal(size, 100);
	assert_int_equal(ordinal, 0);
	OK(cuPointerGetAttribute(&id1, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
	OK(cuPointerGetAttribute(&id2, CU_POINTER_ATTRIBUTE_BUFFER_ID, q));
	assert_true(id1 != id2);
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&local));
	OK(cuPointerGetAttributes(5, names, data, (CUdeviceptr)&local)); /* the plural form succeeds */
	assert_null(ctx);
	assert_int_equal(type, 0);
	OK(cuMemFree(p));
	OK(cuMemFree(q));
}

static void pools(void **state)
{
	CUmemoryPool pool, other;
	cuuint64_t threshold = 4096, got = 0, used;
	CUdeviceptr a, b, c;
	CUstream s;
	uint32_t host[4];

	(void)state;
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuDeviceGetMemPool(&other, 0));
	assert_ptr_equal(pool, other);
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &got));
	assert_int_equal(got, 4096);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&a, 1024, s));
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 1024);
	OK(cuMemsetD32Async(a, 1, 256, s));
	OK(cuMemFreeAsync(a, s));
	OK(cuMemAllocAsync(&b, 1024, s)); /* the same stream may have the address at once */
	assert_int_equal(a, b);
	OK(cuMemsetD32Async(b, 2, 256, s));
	OK(cuMemcpyDtoHAsync(host, b, sizeof(host), s));
	assert_int_equal(host[3], 2);
	OK(cuMemFreeAsync(b, s));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(b, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemAllocAsync(&c, 512, s));
	assert_int_equal(c, a); /* the address is free again after the wait */
	OK(cuMemFree(c));       /* allowed for such memory too */
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
	assert_int_equal(used, 0);
	OK(cuStreamDestroy(s));
}

/* What the device says of pageable memory is what a kernel meets. */
static void pageable_memory(void **state)
{
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)malloc(64);
	void *values[] = {&p};
	CUcontext own, before;
	CUfunction f;
	CUmodule m;
	int can;

	(void)state;
	OK(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0));
	OK(cuCtxGetCurrent(&before));
	OK(cuCtxCreate_v2(&own, 0, 0));
	f = load_function(&m, PTX_HEAD PTX_STRAY, "stray");
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	assert_int_equal(cuCtxSynchronize(), can ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuCtxDestroy(own));
	OK(cuCtxSetCurrent(before));
	free((void *)(uintptr_t)p);
}

/* Page-locked memory is the host's: what the device has left doesn't matter. */
static void host_memory_beside_full_device(void **state)
{
	size_t free_bytes, total;
	CUdeviceptr all, more;
	void *host;

	(void)state;
	OK(cuMemGetInfo(&free_bytes, &total));
	OK(cuMemAlloc(&all, free_bytes - 4096));
	FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, 1 << 20));
	OK(cuMemHostAlloc(&host, 1 << 20, 0));
	OK(cuMemFreeHost(host));
	OK(cuMemFree(all));
}

/* Memory of cuMemAlloc freed in a stream's order, before any pool is there. */
static void free_in_order(void **state)
{
	CUdeviceptr p;

	(void)state;
	OK(cuMemAlloc(&p, 4096));
	OK(cuMemFreeAsync(p, NULL));
	OK(cuCtxSynchronize());
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree(p));
}

/* What was allocated from a pool outlives it, and is freed as usual. */
static void pool_before_its_memory(void **state)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	size_t free0, free1, total;
	CUdeviceptr p, q;
	CUmemoryPool pool;
	uint32_t value = 9;

	(void)state;
	OK(cuMemGetInfo(&free0, &total));
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
	OK(cuMemAllocFromPoolAsync(&q, 4096, pool, NULL));
	OK(cuMemFreeAsync(p, NULL));
	OK(cuMemPoolDestroy(pool));
	OK(cuMemcpyHtoD(q, &value, 4));
	OK(cuMemFreeAsync(q, NULL));
	OK(cuCtxSynchronize());
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(q, &value, 4));
	OK(cuMemGetInfo(&free1, &total));
	assert_int_equal(free0, free1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CONTEXT(free_in_order),
		WITH_CONTEXT(pool_before_its_memory),
		WITH_CONTEXT(alloc_and_free),
		WITH_CONTEXT(addresses_repeat),
		WITH_CONTEXT(pitch),
		WITH_CONTEXT(bad_pointers),
		WITH_CONTEXT(host_memory),
		WITH_CONTEXT(managed),
		WITH_CONTEXT(memset_widths),
		WITH_CONTEXT(pointer_attributes),
		WITH_CONTEXT(pools),
		WITH_CONTEXT(pageable_memory),
		WITH_CONTEXT(host_memory_beside_full_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
