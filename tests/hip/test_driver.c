/* SPDX-License-Identifier: Apache-2.0
 *
 * libcuda.so.1 on device hip over a stand-in, as driver-API programs see it. Arguments: the stand-in's major version, then
 * "auto NAME" to ask only which device a program gets when nobody chose one, "visible NUMBERS" to ask which of several,
 * or nothing.
 */
#include <sys/mman.h>

#include "tests/zluda_core/core_test.h"

#define MIB (1ull << 20)

static int flavour;
static const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
static const CUmemAccessDesc read_write = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
					   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static void launch_fill(CUdeviceptr p, unsigned v, unsigned n)
{
	CUmodule m;
	CUfunction f = load_function(&m, PTX_HEAD PTX_FILL, "fill");
	void *params[] = {&p, &v, &n};

	OK(cuLaunchKernel(f, (n + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	OK(cuModuleUnload(m));
}

static void check_filled(const uint32_t *p, unsigned v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(p[i], v + i);
}

/* Without virtual memory management HIP can give a program one only. */
static void devices(void **state)
{
	char name[64];
	int n, attribute;

	(void)state;
	OK(cuDeviceGetCount(&n));
	assert_int_equal(n, flavour >= 6 ? 2 : 1);
	OK(cuDeviceGetName(name, sizeof(name), n - 1));
	assert_memory_equal(name, "stand-in for gfx", 16);
	OK(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	assert_int_equal(attribute, 32); /* also where a wave has 64 lanes */
	OK(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
	assert_int_equal(attribute, flavour >= 6);
	OK(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 0));
	assert_int_equal(attribute, 0);
}

static void memory(void **state)
{
	enum { N = 5000 };
	uint32_t back[N];
	CUdeviceptr p[8];

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		OK(cuMemAlloc_v2(&p[i], 4 * N + i * MIB));
	for (unsigned i = 0; i < 8; i++)
		launch_fill(p[i], i * 1000000, N);
	for (unsigned i = 0; i < 8; i++) {
		OK(cuMemcpyDtoH_v2(back, p[i], sizeof(back)));
		check_filled(back, i * 1000000, N);
		OK(cuMemFree_v2(p[i]));
	}
}

/* Kernels use cuMemHostGetDevicePointer's address; copies take either. */
static void registered(void **state)
{
	enum { N = 3000 };
	uint32_t *host = mmap(NULL, 4 * N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		 back[N];
	CUdeviceptr p = 0, inside = 0;

	(void)state;
	OK(cuMemHostRegister_v2(host, 4 * N, CU_MEMHOSTREGISTER_DEVICEMAP));
	FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(host, 4 * N, 0));
	OK(cuMemHostGetDevicePointer_v2(&p, host, 0));
	assert_int_equal(p == (CUdeviceptr)host, flavour == 5);
	OK(cuMemHostGetDevicePointer_v2(&inside, host + 100, 0));
	assert_int_equal(inside, p + 400);
	launch_fill(p, 7, N);
	check_filled(host, 7, N);
	OK(cuMemcpyDtoH_v2(back, p, sizeof(back)));
	check_filled(back, 7, N);
	host[5] = 99;
	OK(cuMemcpyDtoH_v2(back, (CUdeviceptr)host, sizeof(back)));
	assert_int_equal(back[5], 99);
	if (p != (CUdeviceptr)host)
		FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister((void *)p));
	OK(cuMemHostUnregister(host));
	FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(host));
	OK(cuMemHostRegister_v2(host, 4 * N, 0));
	OK(cuMemHostUnregister(host));
	munmap(host, 4 * N);
}

/* One address for both sides. */
static void host_and_managed(void **state)
{
	enum { N = 3000 };
	CUdeviceptr p, managed;
	uint32_t *host;

	(void)state;
	OK(cuMemHostAlloc((void **)&host, 4 * N, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuMemHostGetDevicePointer_v2(&p, host, 0));
	assert_int_equal(p, (CUdeviceptr)host);
	launch_fill(p, 11, N);
	check_filled(host, 11, N);
	OK(cuMemAllocManaged(&managed, 4 * N, CU_MEM_ATTACH_GLOBAL));
	launch_fill(managed, 12, N);
	check_filled((uint32_t *)managed, 12, N);
	OK(cuMemFree_v2(managed));
	OK(cuMemFreeHost(host));
}

static void virtual_memory(void **state)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr at;
	uint32_t word = 0;

	(void)state;
	OK(cuMemAddressReserve(&at, 8 * MIB, 0, 0x300000000000ull,
			       0)); /* a hint: HIP's window is elsewhere */
	OK(cuMemCreate(&h, 2 * MIB, &prop, 0));
	OK(cuMemMap(at, 2 * MIB, 0, h, 0));
	OK(cuMemSetAccess(at, 2 * MIB, &read_write, 1));
	launch_fill(at, 3, 2 * MIB / 4);
	OK(cuMemUnmap(at, 2 * MIB));
	OK(cuMemMap(at + 4 * MIB, 2 * MIB, 0, h, 0));
	if (flavour >= 6) {
		OK(cuMemSetAccess(at + 4 * MIB, 2 * MIB, &read_write, 1));
		OK(cuMemcpyDtoH_v2(&word, at + 4 * MIB + 4 * 1000, 4));
		assert_int_equal(word, 1003);
	} else {
		FAILS(CUDA_ERROR_MAP_FAILED, cuMemSetAccess(at + 4 * MIB, 2 * MIB, &read_write, 1));
	}
	OK(cuMemUnmap(at + 4 * MIB, 2 * MIB));
	OK(cuMemRelease(h));
	OK(cuMemAddressFree(at, 8 * MIB));
}

static void pools(void **state)
{
	enum { N = 3000 };
	uint32_t back[N];
	CUdeviceptr p;
	CUstream s;

	(void)state;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned round = 0; round < 10; round++) {
		OK(cuMemAllocAsync(&p, sizeof(back), s));
		OK(cuMemsetD32Async(p, round, N, s));
		OK(cuMemcpyDtoHAsync_v2(back, p, sizeof(back), s));
		OK(cuMemFreeAsync(p, s));
		OK(cuStreamSynchronize(s));
		assert_int_equal(back[N - 1], round);
	}
	OK(cuStreamDestroy_v2(s));
}

static void out_of_memory(void **state)
{
	CUdeviceptr p[3];

	(void)state;
	FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&p[0], 1ull << 40));
	OK(cuMemAlloc_v2(&p[0], 1024 * MIB));
	FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&p[1], 3600 * MIB));
	OK(cuMemFree_v2(p[0]));
	OK(cuMemAlloc_v2(&p[0], 2048 * MIB));
	OK(cuMemFree_v2(p[0]));
}

/* Both GPUs at once; a copy between them. */
static void peers(void **state)
{
	enum { N = 3000 };
	uint32_t back[N];
	CUdeviceptr here, there;
	CUcontext other;

	(void)state;
	if (flavour < 6)
		skip();
	OK(cuMemAlloc_v2(&here, sizeof(back)));
	launch_fill(here, 21, N);
	OK(cuCtxCreate_v2(&other, 0, 1));
	OK(cuMemAlloc_v2(&there, sizeof(back)));
	launch_fill(there, 50, N);
	OK(cuMemcpyDtoH_v2(back, there, sizeof(back)));
	check_filled(back, 50, N);
	OK(cuMemcpyPeer(there, other, here, test_ctx, sizeof(back)));
	OK(cuMemcpyDtoH_v2(back, there, sizeof(back)));
	check_filled(back, 21, N);
	OK(cuMemFree_v2(there));
	OK(cuCtxDestroy(other));
	OK(cuCtxSetCurrent(test_ctx));
	OK(cuMemFree_v2(here));
}

static void cooperative(void **state)
{
	unsigned v = 5, n = 512;
	uint32_t back[512];
	CUdeviceptr p;
	CUmodule m;
	CUfunction f = load_function(&m, PTX_HEAD PTX_FILL, "fill");
	void *params[] = {&p, &v, &n};

	(void)state;
	OK(cuMemAlloc_v2(&p, sizeof(back)));
	if (flavour >= 6) {
		OK(cuLaunchCooperativeKernel(f, 2, 1, 1, 256, 1, 1, 0, NULL, params));
		OK(cuMemcpyDtoH_v2(back, p, sizeof(back)));
		check_filled(back, 5, 512);
	} else {
		FAILS(CUDA_ERROR_NOT_SUPPORTED,
		      cuLaunchCooperativeKernel(f, 2, 1, 1, 256, 1, 1, 0, NULL, params));
	}
	OK(cuMemFree_v2(p));
	OK(cuModuleUnload(m));
}

/* Last: from HIP 7 on a fault is an error of the context, for ever. Before, ROCm ends the process. */
static void fault(void **state)
{
	CUdeviceptr nowhere = 0x123456789000ull, p;
	CUmodule m;
	CUfunction f;
	void *params[] = {&nowhere};

	(void)state;
	if (flavour < 7)
		skip();
	f = load_function(&m, PTX_HEAD PTX_STRAY, "stray");
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	FAILS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&p, 100));
}

static int drop_failed_context(void **state)
{
	(void)state;
	cuCtxDestroy(test_ctx);
	return 0;
}

/* Numbers of the UUIDs of the devices that a program sees, as CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES are. */
static int which_devices(const char *expected)
{
	char seen[20] = "";
	CUuuid uuid;
	int n = 0, r = cuInit(0);

	if (!r)
		r = cuDeviceGetCount(&n);
	for (int i = 0; !r && i < n && i < 16; i++) {
		r = cuDeviceGetUuid(&uuid, i);
		seen[i] = uuid.bytes[14];
	}
	printf("%s\n", seen);
	return strcmp(seen, strcmp(expected, "none") ? expected : "") != 0;
}

static int which_device(const char *expected)
{
	char name[64] = "none";
	int r = cuInit(0);

	if (!r)
		r = cuDeviceGetName(name, sizeof(name), 0);
	printf("%s\n", name);
	return r || strncmp(name, expected, strlen(expected));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_CONTEXT(devices),
		WITH_CONTEXT(memory),
		WITH_CONTEXT(registered),
		WITH_CONTEXT(host_and_managed),
		WITH_CONTEXT(virtual_memory),
		WITH_CONTEXT(pools),
		WITH_CONTEXT(out_of_memory),
		WITH_CONTEXT(peers),
		WITH_CONTEXT(cooperative),
		cmocka_unit_test_setup_teardown(fault, make_context, drop_failed_context),
	};

	if (argc < 2)
		return 2;
	flavour = atoi(argv[1]);
	if (argc == 4 && !strcmp(argv[2], "auto"))
		return which_device(argv[3]);
	if (argc == 4 && !strcmp(argv[2], "visible"))
		return which_devices(argv[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
