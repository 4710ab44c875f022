/* SPDX-License-Identifier: Apache-2.0
 *
 * Two devices: one address space, memory of their own, copies between them.
 */
#include "core_test.h"

static CUcontext ctx[2];

static int start(void **state)
{
	(void)state;
	setenv("CUTRACE_DEVICE", "interp:devices=2", 1);
	return cuInit(0) || cuCtxCreate_v2(&ctx[0], 0, 0) || cuCtxCreate_v2(&ctx[1], 0, 1) ? -1 : 0;
}

static CUdeviceptr alloc_on(int device, size_t bytes)
{
	CUdeviceptr p;

	OK(cuCtxSetCurrent(ctx[device]));
	OK(cuMemAlloc(&p, bytes));
	return p;
}

static void identity(void **state)
{
	char a[32], b[32];
	CUuuid ua, ub;
	CUdevice dev;
	int can, n;

	(void)state;
	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, 2);
	OK(cuDeviceGetPCIBusId(a, sizeof(a), 0));
	OK(cuDeviceGetPCIBusId(b, sizeof(b), 1));
	assert_string_not_equal(a, b);
	OK(cuDeviceGetUuid(&ua, 0));
	OK(cuDeviceGetUuid(&ub, 1));
	assert_memory_not_equal(&ua, &ub, sizeof(ua));
	OK(cuCtxSetCurrent(ctx[1]));
	OK(cuCtxGetDevice(&dev));
	assert_int_equal(dev, 1);
	OK(cuDeviceCanAccessPeer(&can, 0, 1));
	assert_int_equal(can, 0);
	FAILS(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(ctx[0], 0));
}

static void copies(void **state)
{
	static uint8_t in[3 << 20], out[3 << 20];
	CUdeviceptr p = alloc_on(0, sizeof(in)), q = alloc_on(1, sizeof(in));
	int ordinal;

	(void)state;
	assert_int_not_equal(p, q);
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, q));
	assert_int_equal(ordinal, 1);
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 31 ^ i >> 11);
	OK(cuMemcpyHtoD(p, in, sizeof(in)));
	OK(cuMemcpyPeer(q, ctx[1], p, ctx[0], sizeof(in)));
	OK(cuMemcpyDtoH(out, q, sizeof(in)));
	assert_memory_equal(in, out, sizeof(in));
	OK(cuMemsetD8(p, 0, sizeof(in)));
	OK(cuMemcpy(p, q, sizeof(in))); /* unified addressing: the pointers say which is which */
	OK(cuMemcpyDtoH(out, p, sizeof(in)));
	assert_memory_equal(in, out, sizeof(in));
	OK(cuMemFree(p));
	OK(cuMemFree(q));
}

/* A kernel on one device can't reach the other's memory. */
static void separate(void **state)
{
	CUdeviceptr q = alloc_on(1, 64);
	void *values[] = {&q};
	CUcontext own;
	CUfunction f;
	CUmodule m;

	(void)state;
	OK(cuCtxCreate_v2(&own, 0, 0));
	f = load_function(&m, PTX_HEAD PTX_STRAY, "stray");
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	OK(cuCtxDestroy(own));
	OK(cuCtxSetCurrent(ctx[1]));
	OK(cuCtxSynchronize()); /* the other device is fine */
	OK(cuMemFree(q));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(identity), cmocka_unit_test(copies),
					   cmocka_unit_test(separate)};

	return cmocka_run_group_tests(tests, start, NULL);
}
