/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels compiled by clang-19 for one target: every result against the same computation in C on the host.
 * usage: test_kernels CODE_OBJECT
 */
#include "tests/amdgpu_emulator/kernel_cases.h"

#include "zluda_core/amdgpu_emulator/insn.h"
#include "zluda_core/amdgpu_emulator/object.h"

struct device_memory memory;
struct amdgpu_object *object;
uint32_t perturb;
static bool check_waits;
static const char *path;
static uint32_t state = 1;

uint32_t rnd(void)
{
	state = state * 1664525 + 1013904223;
	return state ^ state >> 15;
}

void launch(const char *kernel, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by, struct kernel_args *a)
{
	struct device_launch l = {.object = object,
				  .kernel = kernel,
				  .grid = {gx, gy},
				  .block = {bx, by},
				  .stack = 4096,
				  .threads = 2,
				  .perturb = perturb,
				  .check_waits = check_waits};
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
	struct device_launch l = {
		.object = object, .kernel = kernel, .grid = {2, 1}, .block = {64, 1}, .budget = 100000};

	if (!device_run(&memory, &l, k, f, NULL))
		fail_msg("%s ended without a fault", kernel);
	assert_int_equal(f->kind, kind);
	if (!strstr(f->message, kernel) || !strstr(f->message, text) || !f->instruction[0])
		fail_msg("%s", f->message);
	k->used = 0;
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
	assert_int_equal(f.thread[0], 61);
	assert_true(f.is_store && !f.is_atomic && f.access_bytes == 4 && !strcmp(f.space, "global"));
	assert_int_equal(f.wave * amdgpu_object_kernel(object, "out_of_bounds")->wave_size + f.lane, 61);
	ARGS_VALUE(&k, uint64_t, address);
	expect_fault("endless", &k, AMDGPU_FAULT_BUDGET, "endless", &f);
	ARGS_VALUE(&k, uint64_t, device_buffer(&memory, one, sizeof one, NULL));
	expect_fault("trap_", &k, AMDGPU_FAULT_TRAP, "trap 2", &f);
	/* item 0 of 64 is the first whose l[LID + 64] lies beyond 64 words */
	ARGS_VALUE(&k, uint64_t, address);
	INT(&k, 64);
	expect_fault("lds_out_of_bounds", &k, AMDGPU_FAULT_ADDRESS, "LDS address 0x100 of", &f);
	assert_int_equal(f.thread[0], 0);
	assert_string_equal(f.space, "shared");
	ARGS_VALUE(&k, uint64_t, address);
	INT(&k, 1 << 20);
	expect_fault("scratch_out_of_bounds", &k, AMDGPU_FAULT_ADDRESS, "scratch offset", &f);
	assert_string_equal(f.space, "local");
	ARGS_VALUE(&k, uint64_t, address);
	expect_fault("misaligned", &k, AMDGPU_FAULT_ALIGNMENT, "misaligned atomic of 4 bytes", &f);
	assert_true(f.is_atomic);
}

/* ---- workgroups that wait for each other */

static void run_grid_barrier(unsigned groups, unsigned threads, bool cooperative, int sleep)
{
	struct device_launch l = {.object = object,
				  .kernel = "grid_barrier",
				  .grid = {groups, 1},
				  .block = {64, 1},
				  .threads = threads,
				  .cooperative = cooperative,
				  .budget = 1ull << 28};
	struct kernel_args k = {0};
	struct amdgpu_fault f;
	int *o;

	buffer(&k, NULL, 8, NULL);
	buffer(&k, NULL, groups * 4, NULL);
	buffer(&k, NULL, groups * 16, &o);
	INT(&k, (int)groups);
	INT(&k, sleep);
	if (device_run(&memory, &l, &k, &f, NULL))
		fail_msg("%s", f.message);
	for (int round = 1; round <= 3; round++)
		for (unsigned i = 0; i < groups; i++)
			assert_int_equal(o[(unsigned)round * groups + i], (int)((i + 1) % groups) * round);
}

static void test_grid_barrier(void **unused)
{
	(void)unused;
	run_grid_barrier(20, 1, true, 0);
	run_grid_barrier(21, 2, true, 1);
	run_grid_barrier(7, 3, true, 0);
	/* without being told: those that only poll let others in */
	run_grid_barrier(20, 1, false, 1);
	run_grid_barrier(5, 2, false, 0);
}

static void test_cooperative_limit(void **unused)
{
	struct device_launch l = {.object = object,
				  .kernel = "grid_barrier",
				  .grid = {1 << 20, 1},
				  .block = {1024, 1},
				  .cooperative = true};
	struct kernel_args k = {0};
	struct amdgpu_fault f;

	(void)unused;
	assert_int_not_equal(device_run(&memory, &l, &k, &f, NULL), 0);
	assert_int_equal(f.kind, AMDGPU_FAULT_LAUNCH);
	assert_non_null(strstr(f.message, "resident"));
}

static void test_lds_polling(void **unused)
{
	struct kernel_args k = {0};
	int *o;

	(void)unused;
	buffer(&k, NULL, 16 * 4, &o);
	launch("lds_polling", 1, 1, 1024, 1, &k);
	for (int i = 0; i < 16; i++)
		assert_int_equal(o[i], (15 - i) * 64);
}

static void test_watchdog(void **unused)
{
	struct device_launch l = {
		.object = object, .kernel = "endless", .grid = {2, 1}, .block = {64, 1}, .watchdog_ms = 20};
	struct kernel_args k = {0};
	struct amdgpu_fault f;

	(void)unused;
	ARGS_VALUE(&k, uint64_t, device_buffer(&memory, NULL, 4, NULL));
	assert_int_not_equal(device_run(&memory, &l, &k, &f, NULL), 0);
	assert_int_equal(f.kind, AMDGPU_FAULT_TIMEOUT);
	assert_non_null(strstr(f.message, "endless"));
	assert_non_null(strstr(f.message, "20 ms"));
}

static void test_stop_word(void **unused)
{
	static const uint32_t set = 1;
	struct device_launch l = {
		.object = object, .kernel = "endless", .grid = {2, 1}, .block = {64, 1}, .stop_word = &set};
	struct kernel_args k = {0};
	struct amdgpu_fault f;

	(void)unused;
	ARGS_VALUE(&k, uint64_t, device_buffer(&memory, NULL, 4, NULL));
	assert_int_equal(device_run(&memory, &l, &k, &f, NULL), 0);
}

/* ---- code of the compiler's, without its waits */

static void drop_waits(struct amdgpu_object *o)
{
	struct diag d = DIAG_INIT;

	for (size_t i = 0; i < o->nslots; i++)
		if (o->insns[i] && !strncmp(o->insns[i]->text, "s_wait", 6))
			assert_int_equal(amdgpu_object_line(o, 4 * i, o->insns[i]->size, "s_nop 0", &d), 0);
}

static void test_without_waits(void **unused)
{
	struct device_memory damaged;
	struct amdgpu_object *o = device_load_file(&damaged, path);
	struct device_launch l = {
		.object = o, .kernel = "vadd", .grid = {1, 1}, .block = {64, 1}, .check_waits = true};
	struct kernel_args k = {0};
	struct amdgpu_fault f;

	(void)unused;
	assert_non_null(o);
	drop_waits(o);
	for (int i = 0; i < 3; i++)
		ARGS_VALUE(&k, uint64_t, device_buffer(&damaged, NULL, 64 * 4, NULL));
	INT(&k, 64);
	assert_int_not_equal(device_run(&damaged, &l, &k, &f, NULL), 0);
	assert_int_equal(f.kind, AMDGPU_FAULT_WAIT);
	l.check_waits = false;
	if (device_run(&damaged, &l, &k, &f, NULL))
		fail_msg("%s", f.message);
	device_release(&damaged);
	amdgpu_object_close(o);
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
		CASE(without_waits),
		CASE(grid_barrier),
		CASE(cooperative_limit),
		CASE(lds_polling),
		CASE(watchdog),
		CASE(stop_word),
	};
	int failed;

	path = argv[1];
	object = argc == 2 ? device_load_file(&memory, argv[1]) : NULL;
	if (!object)
		return 1;
	failed = cmocka_run_group_tests_name(argv[1], tests, NULL, NULL);
	check_waits = true;
	failed += cmocka_run_group_tests_name("with waits checked", tests, NULL, NULL);
	amdgpu_object_close(object);
	return failed != 0;
}
