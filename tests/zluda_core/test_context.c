/* SPDX-License-Identifier: Apache-2.0
 *
 * Initialisation, contexts and devices: the rules of the CUDA Driver API, "Context Management" and "Primary
 * Context Management".
 */
#include <pthread.h>
#include <stdatomic.h>

#include "core_test.h"

static void before_init(void **state)
{
	int n, version = 0;

	(void)state;
	FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
	OK(cuDriverGetVersion(&version)); /* the one function that works before cuInit */
	assert_int_equal(version, 13000);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, 1);
}

static void stack(void **state)
{
	CUcontext a, b, got;

	(void)state;
	OK(cuCtxGetCurrent(&got));
	assert_null(got);
	OK(cuCtxCreate_v2(&a, 0, 0));
	OK(cuCtxCreate_v2(&b, 0, 0));
	OK(cuCtxGetCurrent(&got));
	assert_ptr_equal(got, b);
	OK(cuCtxPopCurrent(&got));
	assert_ptr_equal(got, b);
	OK(cuCtxGetCurrent(&got));
	assert_ptr_equal(got, a);
	OK(cuCtxPushCurrent(b));
	OK(cuCtxSetCurrent(a)); /* replaces the top */
	OK(cuCtxPopCurrent(&got));
	assert_ptr_equal(got, a);
	OK(cuCtxGetCurrent(&got));
	assert_ptr_equal(got, a);
	OK(cuCtxDestroy(b));
	OK(cuCtxDestroy(a)); /* pops it */
	OK(cuCtxGetCurrent(&got));
	assert_null(got);
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&got));
	FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxPushCurrent(a));
}

static void no_context(void **state)
{
	CUdeviceptr p;
	CUdevice dev;

	(void)state;
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&p, 16));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&dev));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
}

static void bad_arguments(void **state)
{
	CUcontext ctx;
	CUdevice dev;
	int value;

	(void)state;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(NULL, 0, 0));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2(&ctx, 0, 5));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2(&ctx, 0, -1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&ctx, 3, 0)); /* two scheduling flags */
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent((CUcontext)0x1234));
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy((CUcontext)0x1234));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 9));
}

static void primary(void **state)
{
	CUcontext a, b, own;
	unsigned flags;
	int active;

	(void)state;
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_false(active);
	OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
	OK(cuDevicePrimaryCtxRetain(&a, 0));
	OK(cuDevicePrimaryCtxRetain(&b, 0));
	assert_ptr_equal(a, b);
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_true(active);
	assert_int_equal(flags, CU_CTX_SCHED_YIELD);
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(a));
	OK(cuCtxCreate_v2(&own, 0, 0));
	assert_ptr_not_equal(own, a);
	OK(cuCtxDestroy(own));
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_true(active);
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_false(active);
	FAILS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxSetFlags(0, 0));
}

/* Memory goes with the context; a reset primary context must be retained before it works again. */
static void primary_reset(void **state)
{
	CUcontext ctx, again;
	size_t free0, free1, total;
	CUdeviceptr p;

	(void)state;
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxPushCurrent(ctx));
	OK(cuMemGetInfo(&free0, &total));
	OK(cuMemAlloc(&p, 1 << 20));
	OK(cuDevicePrimaryCtxReset(0));
	FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&p, 16));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	assert_ptr_equal(again, ctx);
	OK(cuMemGetInfo(&free1, &total));
	assert_int_equal(free0, free1);
	OK(cuCtxPopCurrent(NULL));
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxRelease(0));
}

static void properties(void **state)
{
	unsigned long long id1, id2;
	unsigned flags, version;
	CUcontext second;
	CUdevice dev = 7;
	size_t limit;

	(void)state;
	OK(cuCtxGetDevice(&dev));
	assert_int_equal(dev, 0);
	OK(cuCtxGetApiVersion(test_ctx, &version));
	assert_true(version >= 3020);
	OK(cuCtxGetFlags(&flags));
	assert_true(flags & CU_CTX_MAP_HOST);
	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuCtxGetId(test_ctx, &id1));
	OK(cuCtxGetId(NULL, &id2)); /* the current one */
	assert_true(id1 != id2);
	OK(cuCtxDestroy(second));
	OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
	OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
	assert_int_equal(limit, 4096);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(&limit, CU_LIMIT_MAX));
	FAILS(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxSetLimit(CU_LIMIT_SHMEM_SIZE, 1));
}

/* Programming Guide, "Technical Specifications per Compute Capability", column 9.0. */
static void attributes_of_9_0(void **state)
{
	static const struct {
		CUdevice_attribute attribute;
		int value;
	} expected[] = {
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
		{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
		{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
		{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
		{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
		{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 * 1024},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 * 1024},
		{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
		{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
		{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
		{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
		{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	};
	int value;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		OK(cuDeviceGetAttribute(&value, expected[i].attribute, 0));
		assert_int_equal(value, expected[i].value);
	}
	for (int a = 1; a <= 147; a++) /* every attribute of CUDA 13.0 has an answer */
		OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)a, 0));
}

static void pci_id_agrees(void **state)
{
	int domain, bus, device;
	char id[32], expected[32];
	CUdevice dev;

	(void)state;
	OK(cuDeviceGetAttribute(&domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0));
	OK(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0));
	OK(cuDeviceGetAttribute(&device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0));
	OK(cuDeviceGetPCIBusId(id, sizeof(id), 0));
	sprintf(expected, "%04X:%02X:%02X.0", (unsigned)domain, (unsigned)bus, (unsigned)device);
	assert_string_equal(id, expected);
	OK(cuDeviceGetByPCIBusId(&dev, id));
	assert_int_equal(dev, 0);
}

static void *make_and_drop(void *arg)
{
	atomic_bool *done = arg;

	for (int i = 0; i < 200; i++) {
		CUcontext ctx;
		CUstream s;

		assert_int_equal(cuCtxCreate_v2(&ctx, 0, 0), CUDA_SUCCESS);
		assert_int_equal(cuStreamCreate(&s, 0), CUDA_SUCCESS);
		assert_int_equal(cuCtxDestroy(ctx), CUDA_SUCCESS);
	}
	atomic_store(done, true);
	return NULL;
}

/* Freeing waits for the work of all contexts, while others come and go (meant for ThreadSanitizer). */
static void free_while_contexts_come_and_go(void **state)
{
	atomic_bool done = false;
	CUdeviceptr p;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, make_and_drop, &done), 0);
	do {
		OK(cuMemAlloc(&p, 1000));
		OK(cuMemFree(p));
	} while (!atomic_load(&done));
	pthread_join(thread, NULL);
}

static void error_names(void **state)
{
	const char *s;

	(void)state;
	OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &s));
	assert_string_equal(s, "CUDA_ERROR_ILLEGAL_ADDRESS");
	OK(cuGetErrorName(CUDA_SUCCESS, &s));
	assert_string_equal(s, "CUDA_SUCCESS");
	OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &s));
	assert_string_equal(s, "out of memory");
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &s));
	assert_null(s);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString((CUresult)12345, &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_init),
		cmocka_unit_test(stack),
		cmocka_unit_test(no_context),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(primary),
		cmocka_unit_test(primary_reset),
		WITH_CONTEXT(properties),
		cmocka_unit_test(attributes_of_9_0),
		cmocka_unit_test(pci_id_agrees),
		cmocka_unit_test(error_names),
		WITH_CONTEXT(free_while_contexts_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
