/* SPDX-License-Identifier: Apache-2.0
 *
 * extension.h: allocations and variables at wanted addresses.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "core_test.h"

#include "api/extension.h"

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

static void check_fill(CUdeviceptr p, size_t bytes, unsigned char value)
{
	unsigned char out[4096];

	assert_true(bytes <= sizeof(out));
	OK(cuMemcpyDtoH(out, p, bytes));
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(out[i], value);
}

/* A driver gives the place of a freed block again, in other pieces: so can a replay have it. */
static void place_of_freed_blocks(void **state)
{
	CUdeviceptr a, b, c, d, end;
	CUstream s;

	(void)state;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&a, 4096, s));
	OK(cuMemFreeAsync(a, s));
	OK(x->place_next(a + 1024)); /* the middle of it */
	OK(cuMemAllocAsync(&b, 512, s));
	assert_int_equal(b, a + 1024);
	OK(cuMemsetD8Async(b, 1, 512, s));
	OK(x->place_next(a)); /* what was left before */
	OK(cuMemAllocAsync(&c, 1024, s));
	assert_int_equal(c, a);
	OK(cuMemsetD8Async(c, 2, 1024, s));
	OK(x->place_next(a + 1536)); /* and behind */
	OK(cuMemAllocAsync(&d, 2560, s));
	assert_int_equal(d, a + 1536);
	OK(cuMemsetD8Async(d, 3, 2560, s));
	OK(cuStreamSynchronize(s));
	check_fill(b, 512, 1);
	check_fill(c, 1024, 2);
	check_fill(d, 2560, 3);
	OK(cuMemFreeAsync(b, s));
	OK(cuMemFreeAsync(c, s));
	OK(x->place_next(a + 512)); /* over two freed blocks, and into one that is in use */
	FAILS(CUDA_ERROR_ALREADY_MAPPED, cuMemAllocAsync(&end, 1025, s));
	OK(x->place_next(a + 512));
	OK(cuMemAllocAsync(&b, 1024, s));
	assert_int_equal(b, a + 512);
	OK(cuMemsetD8Async(b, 4, 1024, s));
	OK(cuStreamSynchronize(s));
	check_fill(b, 1024, 4);
	check_fill(d, 2560, 3);
	OK(cuMemFreeAsync(b, s));
	OK(cuMemFreeAsync(d, s));
	OK(cuStreamSynchronize(s));
	assert_true(x->address_is_free(a, 4096));
	OK(cuStreamDestroy(s));
}

static void wait_for_gate(void *gate)
{
	while (!atomic_load((atomic_bool *)gate))
		usleep(1000);
}

/* Another stream may have the place while the free is still to come: its memory appears after that. */
static void place_across_streams(void **state)
{
	atomic_bool gate = false;
	CUdeviceptr a, b;
	CUstream s, t;

	(void)state;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&a, 2048, s));
	OK(cuLaunchHostFunc(s, wait_for_gate, &gate));
	OK(cuMemsetD8Async(a, 7, 2048, s));
	OK(cuMemFreeAsync(a, s));
	OK(x->place_next(a + 512));
	OK(cuMemAllocAsync(&b, 100, t));
	assert_int_equal(b, a + 512);
	OK(cuMemsetD8Async(b, 9, 100, t));
	FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(t));
	atomic_store(&gate, true);
	OK(cuStreamSynchronize(t));
	check_fill(b, 100, 9);
	OK(cuMemFreeAsync(b, t));
	OK(cuStreamDestroy(s));
	OK(cuStreamDestroy(t));
}

/* The barrier's words of a cooperative launch lie where no allocation does, so mapping over them fails: then
 * nothing of the memory stays taken. */
static void failed_mapping(void **state)
{
	static const char ptx[] = PTX_HEAD ".visible .entry wait(.param .u64 p)\n{\n	.reg .b64 "
					   "%rd1;\n	.reg .b32 %r1;\n	.reg .pred %p1;\n"
					   "	ld.param.u64 %rd1, [p];\n	mov.u32 %r1, 1;\n	"
					   "st.volatile.global.u32 [%rd1], %r1;\n"
					   "AGAIN:	ld.volatile.global.u32 %r1, [%rd1+4];\n	setp.eq.u32 "
					   "%p1, %r1, 0;\n	@%p1 bra AGAIN;\n"
					   "	ret;\n}\n";
	const CUdeviceptr words = 0x540000000000ull;
	size_t before, after, total;
	_Atomic uint32_t *flags;
	CUdeviceptr p;
	CUmodule m;
	CUfunction f = load_function(&m, ptx, "wait");
	void *args[] = {&flags};

	(void)state;
	OK(cuMemHostAlloc((void **)&flags, 8, 0));
	flags[0] = flags[1] = 0;
	OK(cuLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args));
	while (!flags[0])
		usleep(1000);
	OK(cuMemGetInfo(&before, &total));
	OK(x->place_next(words));
	assert_int_not_equal(cuMemAllocAsync(&p, 1 << 20, CU_STREAM_PER_THREAD), CUDA_SUCCESS);
	OK(x->place_next(words));
	assert_int_not_equal(cuMemAlloc(&p, 1 << 20), CUDA_SUCCESS);
	OK(cuMemGetInfo(&after, &total));
	assert_int_equal(before, after);
	assert_true(x->address_is_free(words, 1 << 20));
	flags[1] = 1;
	OK(cuCtxSynchronize());
	OK(cuModuleUnload(m));
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
	const struct CMUnitTest tests[] = {
		WITH_CONTEXT(allocations),          WITH_CONTEXT(place_of_freed_blocks),
		WITH_CONTEXT(place_across_streams), WITH_CONTEXT(failed_mapping),
		WITH_CONTEXT(reservations),         WITH_CONTEXT(host),
		WITH_CONTEXT(module_globals),       WITH_CONTEXT(counters)};

	return cmocka_run_group_tests(tests, start, NULL);
}
