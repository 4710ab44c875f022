/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels compiled by clang-19 for one target: every result against the same computation in C on the host.
 * usage: test_kernels CODE_OBJECT
 */
#include "tests/amdgpu_emulator/kernel_cases.h"

struct device_memory memory;
struct amdgpu_object *object;
uint32_t perturb;
static uint32_t state = 1;

uint32_t rnd(void)
{
	state = state * 1664525 + 1013904223;
	return state ^ state >> 15;
}

void launch(const char *kernel, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by, struct kernel_args *a)
{
	struct device_launch l = {object, kernel, {gx, gy}, {bx, by}, 0, 4096, 2, 0, perturb};
	struct amdgpu_fault f;

	if (device_run(&memory, &l, a, &f, NULL))
		fail_msg("%s", f.message);
	a->used = 0;
}

void buffer(struct kernel_args *a, const void *from, size_t bytes, void *host)
{
	ARGS_VALUE(a, uint64_t, device_buffer(&memory, from, bytes, host));
}

/* ---- faults: each names what went wrong and where */

static void expect_fault(const char *kernel, struct kernel_args *k, enum amdgpu_fault_kind kind,
			 const char *text, struct amdgpu_fault *f)
{
	struct device_launch l = {object, kernel, {2, 1}, {64, 1}, 0, 0, 0, 100000, 0};

	assert_int_not_equal(device_run(&memory, &l, k, f, NULL), 0);
	assert_int_equal(f->kind, kind);
	assert_non_null(strstr(f->message, kernel));
	assert_non_null(strstr(f->message, text));
	assert_true(f->instruction[0] != 0);
}

static void test_faults(void **unused)
{
	struct kernel_args k = {0};
	struct amdgpu_fault f;
	uint64_t address = device_buffer(&memory, NULL, 128 * 4, NULL);
	int one[2] = {1, 0};

	(void)unused;
	ARGS_VALUE(&k, uint64_t, address);
	INT(&k, 3);
	expect_fault("out_of_bounds", &k, AMDGPU_FAULT_ADDRESS, "in no allocation", &f);
	/* work-item 125 writes element 128, the first one beyond: block 1, item 61 */
	assert_true(f.address == address + 512);
	assert_int_equal(f.block[0], 1);
	assert_int_equal(f.wave * amdgpu_object_kernel(object, "out_of_bounds")->wave_size + f.lane, 61);
	k.used = 0;
	ARGS_VALUE(&k, uint64_t, address);
	expect_fault("endless", &k, AMDGPU_FAULT_BUDGET, "endless", &f);
	k.used = 0;
	ARGS_VALUE(&k, uint64_t, device_buffer(&memory, one, sizeof one, NULL));
	expect_fault("trap_", &k, AMDGPU_FAULT_TRAP, "trap 2", &f);
}

static void test_all_known(void **unused)
{
	const char *texts[8];
	size_t n = amdgpu_object_unknown(object, texts, 8);

	(void)unused;
	for (size_t i = 0; i < n && i < 8; i++)
		print_error("not understood: %s\n", texts[i]);
	assert_int_equal(n, 0);
}

static int release(void **unused)
{
	(void)unused;
	device_release(&memory);
	perturb = 0;
	return 0;
}

#define CASE(name) cmocka_unit_test_teardown(test_##name, release)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CASE(all_known),
		CASE(vadd),
		CASE(saxpy4),
		CASE(sgemm),
		CASE(dgemm),
		CASE(reduce),
		CASE(scan),
		CASE(histogram),
		CASE(transpose),
		CASE(mandelbrot),
		CASE(bitonic),
		CASE(sha256),
		CASE(half),
		CASE(narrow),
		CASE(calls),
		CASE(switch),
		CASE(private),
		CASE(divergent),
		CASE(generic),
		CASE(dynamic_lds),
		CASE(divide),
		CASE(divide_perturbed),
		CASE(integers),
		CASE(convert),
		CASE(bits),
		CASE(rounding),
		CASE(atomics),
		CASE(spin_lock),
		CASE(lanes),
		CASE(faults),
	};
	int failed;

	object = argc == 2 ? device_load_file(&memory, argv[1]) : NULL;
	if (!object)
		return 1;
	failed = cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
	amdgpu_object_close(object);
	return failed != 0;
}
