/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy against numbers worked out by hand from the Programming Guide's table for compute capability 9.0,
 * and for 8.6 when that is the argument. The kernel needs few registers, so blocks, threads and shared memory
 * decide.
 *
 *        threads/SM  blocks/SM  shared/SM  reserved a block
 *   9.0  2048        32         228 KiB    1 KiB
 *   8.6  1536        16         100 KiB    1 KiB
 */
#include "core_test.h"

static const char ptx[] = PTX_HEAD
	".visible .entry plain()\n{\n	ret;\n}\n"
	".visible .entry shared_16k()\n{\n	.shared .align 4 .b8 room[16384];\n	.reg .b32 %r<3>;\n"
	"	mov.u32 %r1, room;\n	mov.u32 %r2, 1;\n	st.shared.u32 [%r1], %r2;\n	ret;\n}\n";

struct row {
	const char *kernel;
	int block;
	size_t dynamic;
	int blocks;
};

static const struct row of_9_0[] = {
	{"plain", 1024, 0, 2},         /* 2048 / 1024 */
	{"plain", 768, 0, 2},          /* 2048 / 768 = 2.67 */
	{"plain", 256, 0, 8},          /* 2048 / 256 */
	{"plain", 32, 0, 32},          /* 64 by threads, 32 blocks at most */
	{"plain", 33, 0, 32},          /* two warps: 64 warps / 2 */
	{"plain", 96, 0, 21},          /* 64 warps / 3 */
	{"plain", 128, 48 * 1024, 4},  /* 228 / (48 + 1) = 4.65 */
	{"shared_16k", 128, 0, 13},    /* 228 / (16 + 1) = 13.4 */
	{"shared_16k", 128, 16384, 6}, /* 228 / (32 + 1) = 6.9 */
	{"plain", 1056, 0, 0},         /* more than a block may have */
};

static const struct row of_8_6[] = {
	{"plain", 1024, 0, 1},     {"plain", 512, 0, 3},
	{"plain", 32, 0, 16},      {"plain", 128, 48 * 1024, 2}, /* 100 / (48 + 1) */
	{"shared_16k", 128, 0, 5},                               /* 100 / (16 + 1) = 5.9 */
};

static const struct row *rows = of_9_0;
static size_t nrows = sizeof(of_9_0) / sizeof(of_9_0[0]);

static void active_blocks(void **state)
{
	CUmodule m;

	(void)state;
	OK(cuModuleLoadData(&m, ptx));
	for (size_t i = 0; i < nrows; i++) {
		CUfunction f;
		int n = -1;

		OK(cuModuleGetFunction(&f, m, rows[i].kernel));
		OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, rows[i].block, rows[i].dynamic));
		assert_int_equal(n, rows[i].blocks);
	}
}

static size_t half_kib_a_thread(int block)
{
	return (size_t)block * 512;
}

static void block_size(void **state)
{
	int grid, block, sms, threads;
	CUmodule m;
	CUfunction f = load_function(&m, ptx, "plain");

	(void)state;
	OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	OK(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
	assert_int_equal(threads % block, 0); /* fills the multiprocessor */
	assert_int_equal(grid, threads / block * sms);
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 100));
	assert_true(block <= 100);
	OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, half_kib_a_thread, 0, 0));
	assert_true(block >= 32 && (size_t)block * 512 <= 227 * 1024);
}

static void available_shared(void **state)
{
	CUmodule m;
	CUfunction f = load_function(&m, ptx, "plain");
	size_t bytes;
	int n;

	(void)state;
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 2, 128));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 128,
						       bytes)); /* the largest with which two still fit */
	assert_true(n >= 2);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 128, bytes + 128));
	assert_true(n < 2);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1000, 128));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {WITH_CONTEXT(active_blocks), WITH_CONTEXT(block_size),
					   WITH_CONTEXT(available_shared)};

	if (argc > 1) {
		setenv("CUTRACE_CC", argv[1], 1);
		rows = of_8_6;
		nrows = sizeof(of_8_6) / sizeof(of_8_6[0]);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
