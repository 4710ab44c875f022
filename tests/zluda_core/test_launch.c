/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches: all forms give the kernel its arguments; limits and wrong arguments have the documented results.
 */
#include "core_test.h"

static const char ptx[] = PTX_HEAD PTX_FILL ".visible .entry narrow()\n.maxntid 64, 1, 1\n{\n	ret;\n}\n"
					    ".visible .entry exact()\n.reqntid 32, 2, 1\n{\n	ret;\n}\n";

static CUmodule module;
static CUdeviceptr buffer;

static int setup(void **state)
{
	if (make_context(state) || cuModuleLoadData(&module, ptx) || cuMemAlloc(&buffer, 400))
		return -1;
	return 0;
}

static CUfunction get(const char *name)
{
	CUfunction f;

	OK(cuModuleGetFunction(&f, module, name));
	return f;
}

static void check(uint32_t first, int n)
{
	uint32_t got[100];

	OK(cuMemcpyDtoH(got, buffer, 400));
	for (int i = 0; i < 100; i++)
		assert_int_equal(got[i], i < n ? first + (uint32_t)i : 0xffffffffu);
	OK(cuMemsetD8(buffer, 0xff, 400));
}

static void forms(void **state)
{
	uint32_t v = 1000, n = 90;
	void *values[] = {&buffer, &v, &n};
	struct {
		CUdeviceptr p;
		uint32_t v, n;
	} packed = {buffer, 2000, 80};
	size_t size = sizeof(packed);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value = {.cooperative = 1}};
	CUlaunchConfig config = {.gridDimX = 4,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = &attr,
				 .numAttrs = 1};
	CUfunction f = get("fill");

	(void)state;
	OK(cuMemsetD8(buffer, 0xff, 400));
	OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, values, NULL));
	v = n = 0; /* arguments are taken in the call */
	check(1000, 90);
	OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	check(2000, 80);
	v = 3000, n = 70;
	OK(cuLaunchCooperativeKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, values));
	check(3000, 70);
	v = 4000;
	OK(cuLaunchKernelEx(&config, f, values, NULL));
	check(4000, 70);
	config.hStream = CU_STREAM_PER_THREAD;
	v = 5000;
	OK(cuLaunchKernelEx(&config, f, values, NULL));
	check(5000, 70); /* a copy in the legacy stream waits for it */
}

static void the_old_form(void **state)
{
	CUfunction f = get("fill");

	(void)state;
	OK(cuMemsetD8(buffer, 0xff, 400));
	OK(cuFuncSetBlockShape(f, 25, 1, 1));
	OK(cuParamSetv(f, 0, &buffer, 8));
	OK(cuParamSeti(f, 8, 600));
	OK(cuParamSeti(f, 12, 100));
	OK(cuParamSetSize(f, 16));
	OK(cuLaunchGrid(f, 4, 1));
	check(600, 100);
}

static void kernel_handle(void **state)
{
	uint32_t v = 70, n = 100;
	void *values[] = {&buffer, &v, &n};
	CUlibrary lib;
	CUkernel k;

	(void)state;
	OK(cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&k, lib, "fill"));
	OK(cuMemsetD8(buffer, 0xff, 400));
	OK(cuLaunchKernel((CUfunction)k, 4, 1, 1, 32, 1, 1, 0, NULL, values, NULL));
	check(70, 100);
	OK(cuLibraryUnload(lib));
}

/* Kernels of two streams run at the same time: one waits for what another stream does. */
static void concurrent(void **state)
{
	static const char spin[] =
		PTX_HEAD ".visible .entry spin(.param .u64 p)\n{\n	.reg .b64 %rd<2>;\n	.reg .b32 "
			 "%r<2>;\n	.reg .pred %p1;\n"
			 "	ld.param.u64 %rd1, [p];\nAGAIN:\n	atom.global.or.b32 %r1, [%rd1], 0;\n"
			 "	setp.eq.u32 %p1, %r1, 0;\n	@%p1 bra AGAIN;\n	ret;\n}\n";
	CUstream a, b;
	void *values[] = {&buffer};
	CUmodule m;
	CUfunction f = load_function(&m, spin, "spin");

	(void)state;
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD32(buffer, 0, 1));
	OK(cuCtxSynchronize());
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, a, values, NULL));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
	OK(cuStreamWriteValue32(b, buffer, 1, 0));
	OK(cuStreamSynchronize(a));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

static void limits(void **state)
{
	static const struct {
		unsigned grid[3], block[3], shared;
		CUresult expected;
	} rows[] = {
		{{1, 1, 1}, {1024, 1, 1}, 0, CUDA_SUCCESS},
		{{1, 1, 1}, {1025, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {32, 32, 2}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {1, 1, 65}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {0, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{0, 1, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 65536, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
		{{1, 1, 1}, {1, 1, 1}, 48 * 1024, CUDA_SUCCESS},
		{{1, 1, 1}, {1, 1, 1}, 48 * 1024 + 1, CUDA_ERROR_INVALID_VALUE},
	};
	CUfunction f = get("fill");
	uint32_t v = 0, n = 0;
	void *values[] = {&buffer, &v, &n};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		FAILS(rows[i].expected,
		      cuLaunchKernel(f, rows[i].grid[0], rows[i].grid[1], rows[i].grid[2], rows[i].block[0],
				     rows[i].block[1], rows[i].block[2], rows[i].shared, NULL, values, NULL));
	OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 64 * 1024, NULL, values, NULL));
	FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
	      cuLaunchCooperativeKernel(f, 1 << 20, 1, 1, 32, 1, 1, 0, NULL, values));
	OK(cuLaunchKernel(get("narrow"), 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	FAILS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
	      cuLaunchKernel(get("narrow"), 1, 1, 1, 65, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLaunchKernel(get("exact"), 1, 1, 1, 32, 2, 1, 0, NULL, NULL, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(get("exact"), 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	OK(cuCtxSynchronize());
}

static void wrong_arguments(void **state)
{
	uint32_t v = 0, n = 0;
	void *values[] = {&buffer, &v, &n};
	void *hole[] = {&buffer, NULL, &n};
	size_t small = 12;
	char block[16] = {0};
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &small,
			 CU_LAUNCH_PARAM_END};
	void *nonsense[] = {(void *)77, block, CU_LAUNCH_PARAM_END};
	CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				     .value = {.clusterDim = {2, 1, 1}}};
	CUlaunchConfig config = {.gridDimX = 4,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = &cluster,
				 .numAttrs = 1};
	CUfunction f = get("fill");

	(void)state;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, hole, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, values, extra));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, nonsense));
	FAILS(CUDA_ERROR_INVALID_HANDLE,
	      cuLaunchKernel((CUfunction)0x1234, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	FAILS(CUDA_ERROR_INVALID_HANDLE,
	      cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, (CUstream)0x1234, values, NULL));
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuLaunchKernelEx(&config, f, values, NULL));
	cluster.value.clusterDim.x = 1;
	OK(cuLaunchKernelEx(&config, f, values, NULL));
	cluster.id = (CUlaunchAttributeID)999;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, f, values, NULL));
	OK(cuCtxSynchronize());
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, drop_context)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(forms),      TEST(the_old_form), TEST(kernel_handle),
					   TEST(concurrent), TEST(limits),       TEST(wrong_arguments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
