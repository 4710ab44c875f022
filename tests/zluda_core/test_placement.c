/* SPDX-License-Identifier: Apache-2.0
 *
 * extension.h: allocations and variables at wanted addresses.
 */
#include "core_test.h"

#include "zluda_core/extension.h"

static const struct cutrace_extension *x;

static int start(void **state)
{
	const CUuuid id = CUTRACE_EXTENSION_UUID;
	const void *table;

	(void)state;
	if (cuInit(0) || cuGetExportTable(&table, &id))
		return -1;
	x = table;
	return 0;
}

/* As a recording on another driver has them: neighbours without a gap, odd sizes. */
static void allocations(void **state)
{
	const CUdeviceptr base = 0x7f1234000000ull;
	CUdeviceptr a, b, c, d;
	uint8_t in[1000], out[1000];
	size_t size;

	(void)state;
	assert_int_equal(x->size, sizeof(*x));
	assert_true(x->address_is_free(base, 4096));
	OK(x->place_next(base));
	OK(cuMemAlloc(&a, 1000));
	assert_int_equal(a, base);
	FAILS(CUDA_ERROR_ALREADY_MAPPED, x->place_next(base + 999));
	OK(x->place_next(base + 1000));
	OK(cuMemAlloc(&b, 24));
	assert_int_equal(b, base + 1000);
	OK(cuMemGetAddressRange(&c, &size, base + 999));
	assert_int_equal(c, a);
	assert_int_equal(size, 1000);
	OK(cuMemAlloc(&c, 64)); /* the next one is free to lie where it likes */
	assert_true(c < base || c >= base + 1024);
	OK(x->place_next(base + 2000));
	OK(cuMemAllocAsync(&d, 100, NULL));
	assert_int_equal(d, base + 2000);
	OK(x->place_next(base + 1500));
	FAILS(CUDA_ERROR_ALREADY_MAPPED, cuMemAlloc(&d, 501)); /* its end runs into the one at +2000 */
	memset(in, 0x5a, sizeof(in));
	OK(cuMemcpyHtoD(a, in, 1000));
	OK(cuMemcpyDtoH(out, a, 1000));
	assert_memory_equal(in, out, 1000);
	OK(cuMemFree(a));
	OK(cuMemFree(b));
	OK(cuMemFree(c));
}

static void reservations(void **state)
{
	const CUdeviceptr wanted = 0x302000000000ull;
	CUdeviceptr p;

	(void)state;
	OK(x->place_next(wanted));
	OK(cuMemAddressReserve(&p, 2 << 20, 0, 0, 0));
	assert_int_equal(p, wanted);
	OK(cuMemAddressFree(p, 2 << 20));
}

static void host(void **state)
{
	const CUdeviceptr wanted = 0x551000000000ull;
	unsigned char *h;

	(void)state;
	OK(x->place_next(wanted));
	OK(cuMemHostAlloc((void **)&h, 10000, 0));
	assert_int_equal((CUdeviceptr)h, wanted);
	h[9999] = 1;
	OK(cuMemFreeHost(h));
}

static void module_globals(void **state)
{
	static const char ptx[] = PTX_HEAD ".global .align 4 .u32 a = 5;\n.global .align 4 .u32 b = 6;\n";
	const char *names[] = {"b", "missing"};
	const uint64_t addrs[] = {0x7f2000000100ull, 0x7f2000000200ull};
	CUdeviceptr p;
	uint32_t value;
	CUmodule m;

	(void)state;
	OK(x->place_module_globals(2, names, addrs));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetGlobal(&p, NULL, m, "b"));
	assert_int_equal(p, addrs[0]);
	OK(cuMemcpyDtoH(&value, p, 4));
	assert_int_equal(value, 6);
	OK(cuModuleUnload(m));
	OK(cuModuleLoadData(&m, ptx)); /* for one load only */
	OK(cuModuleGetGlobal(&p, NULL, m, "b"));
	assert_int_not_equal(p, addrs[0]);
	OK(cuModuleUnload(m));
}

static void counters(void **state)
{
	CUmodule m;
	CUfunction f = load_function(&m, PTX_HEAD ".visible .entry k()\n{\n	ret;\n}\n", "k");
	uint64_t before = x->launch_count();

	(void)state;
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuCtxSynchronize());
	assert_int_equal(x->launch_count(), before + 2);
	assert_string_equal(x->device_name(), "interp");
	FAILS(CUDA_ERROR_NOT_SUPPORTED, x->set_control("no such key", "1"));
	OK(x->set_control("deterministic", "1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {WITH_CONTEXT(allocations), WITH_CONTEXT(reservations),
					   WITH_CONTEXT(host), WITH_CONTEXT(module_globals),
					   WITH_CONTEXT(counters)};

	return cmocka_run_group_tests(tests, start, NULL);
}
