/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory management: reservations at requested addresses, mappings, access.
 */
#include <pthread.h>

#include "core_test.h"

#define MIB (1ull << 20)

static CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
static CUmemAccessDesc read_write = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static void reservation(void **state)
{
	/* free in every process: below the usual mmap area, above executables */
	const CUdeviceptr wanted = 0x300000000000ull;
	CUdeviceptr a, b;

	(void)state;
	OK(cuMemAddressReserve(&a, 4 * MIB, 0, wanted, 0));
	assert_int_equal(a, wanted);
	OK(cuMemAddressReserve(&b, 4 * MIB, 0, wanted, 0)); /* a hint: taken, so elsewhere */
	assert_int_not_equal(b, wanted);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(a, 2 * MIB));
	OK(cuMemAddressFree(a, 4 * MIB));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(a, 4 * MIB));
	OK(cuMemAddressFree(b, 4 * MIB));
	OK(cuMemAddressReserve(&a, 2 * MIB, 64 * MIB, 0, 0));
	assert_int_equal(a % (64 * MIB), 0);
	OK(cuMemAddressFree(a, 2 * MIB));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&a, 100, 0, 0, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&a, 2 * MIB, 3, 0, 0));
}

static void granularity(void **state)
{
	size_t g = 0;

	(void)state;
	OK(cuMemGetAllocationGranularity(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	assert_int_equal(g, 2 * MIB);
}

static void life(void **state)
{
	CUmemGenericAllocationHandle h, again;
	unsigned long long flags;
	uint32_t value = 77, got = 0;
	CUmemAllocationProp p;
	CUdeviceptr a;

	(void)state;
	OK(cuMemAddressReserve(&a, 4 * MIB, 0, 0, 0));
	OK(cuMemCreate(&h, 2 * MIB, &prop, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&h, 100, &prop, 0));
	OK(cuMemMap(a, 2 * MIB, 0, h, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap(a, 2 * MIB, 0, h, 0)); /* already mapped */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, &value, 4));    /* no access yet */
	OK(cuMemSetAccess(a, 2 * MIB, &read_write, 1));
	OK(cuMemcpyHtoD(a + 8, &value, 4));
	OK(cuMemcpyDtoH(&got, a + 8, 4));
	assert_int_equal(got, 77);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a + 2 * MIB, &value, 4)); /* reserved, not mapped */
	OK(cuMemGetAccess(&flags, &read_write.location, a));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemGetAllocationPropertiesFromHandle(&p, h));
	assert_int_equal(p.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
	OK(cuMemRetainAllocationHandle(&again, (void *)(a + 100)));
	assert_int_equal(again, h);
	OK(cuMemRelease(h));
	OK(cuMemRelease(again));
	/* the mapping keeps it alive; a second mapping of the same memory shows the same bytes */
	OK(cuMemRetainAllocationHandle(&again, (void *)a));
	OK(cuMemMap(a + 2 * MIB, 2 * MIB, 0, again, 0));
	OK(cuMemSetAccess(a + 2 * MIB, 2 * MIB, &read_write, 1));
	got = 0;
	OK(cuMemcpyDtoH(&got, a + 2 * MIB + 8, 4));
	assert_int_equal(got, 77);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(a, MIB)); /* part of a mapping */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(a, 4 * MIB));
	OK(cuMemUnmap(a, 4 * MIB));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&got, a + 8, 4));
	OK(cuMemRelease(again));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(again));
	OK(cuMemAddressFree(a, 4 * MIB));
}

/* One copy over two mappings side by side. */
static void adjacent(void **state)
{
	CUmemGenericAllocationHandle h1, h2;
	uint8_t in[4096], out[4096] = {0};
	CUdeviceptr a;

	(void)state;
	for (int i = 0; i < 4096; i++)
		in[i] = (uint8_t)(i ^ i >> 8);
	OK(cuMemAddressReserve(&a, 4 * MIB, 0, 0, 0));
	OK(cuMemCreate(&h1, 2 * MIB, &prop, 0));
	OK(cuMemCreate(&h2, 2 * MIB, &prop, 0));
	OK(cuMemMap(a, 2 * MIB, 0, h1, 0));
	OK(cuMemMap(a + 2 * MIB, 2 * MIB, 0, h2, 0));
	OK(cuMemSetAccess(a, 4 * MIB, &read_write, 1));
	OK(cuMemcpyHtoD(a + 2 * MIB - 2000, in, 4096));
	OK(cuMemcpyDtoH(out, a + 2 * MIB - 2000, 4096));
	assert_memory_equal(in, out, 4096);
	OK(cuMemUnmap(a, 4 * MIB));
	OK(cuMemRelease(h1));
	OK(cuMemRelease(h2));
	OK(cuMemAddressFree(a, 4 * MIB));
}

/* Several threads map and unmap parts of one reservation, each its own. */
enum { PARTS = 8, ROUNDS = 20000 };

struct part {
	CUcontext ctx;
	CUdeviceptr at;
	CUresult bad;
};

static void *remap(void *arg)
{
	struct part *p = arg;
	CUmemGenericAllocationHandle h;

	p->bad = cuCtxSetCurrent(p->ctx);
	if (!p->bad)
		p->bad = cuMemCreate(&h, 2 * MIB, &prop, 0);
	for (int k = 0; k < ROUNDS && !p->bad; k++) {
		p->bad = cuMemMap(p->at, 2 * MIB, 0, h, 0);
		if (!p->bad && k % 64 == 0)
			p->bad = cuMemSetAccess(p->at, 2 * MIB, &read_write, 1);
		if (!p->bad)
			p->bad = cuMemUnmap(p->at, 2 * MIB);
	}
	if (!p->bad)
		p->bad = cuMemRelease(h);
	return NULL;
}

static void threads(void **state)
{
	pthread_t thread[PARTS];
	struct part part[PARTS];
	CUdeviceptr a;

	(void)state;
	OK(cuMemAddressReserve(&a, PARTS * 2 * MIB, 0, 0, 0));
	for (unsigned k = 0; k < PARTS; k++) {
		part[k] = (struct part){test_ctx, a + k * 2 * MIB, CUDA_SUCCESS};
		assert_int_equal(pthread_create(&thread[k], NULL, remap, &part[k]), 0);
	}
	for (unsigned k = 0; k < PARTS; k++)
		pthread_join(thread[k], NULL);
	for (unsigned k = 0; k < PARTS; k++)
		OK(part[k].bad);
	OK(cuMemAddressFree(a, PARTS * 2 * MIB));
}

int main(void)
{
	const struct CMUnitTest tests[] = {WITH_CONTEXT(reservation), WITH_CONTEXT(granularity),
					   WITH_CONTEXT(life), WITH_CONTEXT(adjacent), WITH_CONTEXT(threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
