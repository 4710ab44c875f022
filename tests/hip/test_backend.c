/* SPDX-License-Identifier: Apache-2.0
 *
 * device_hip's backend over a stand-in: argument 1 is its major version, 2 a folder with code objects of kernels.cl.
 * What differs between the versions is asked of the number, as stand_in.h says it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zluda_core/device_hip/hip_backend.h"

#define MIB     (1ull << 20)
#define WANTED  0x550000000000ull
#define GRANULE (2 * MIB)

static int flavour;
static const char *folder;
static struct amd_backend *gpu;
static uint64_t base, window_bytes;
static struct diag d;

static bool has_vmm(void)
{
	return flavour >= 6;
}

static bool refused(void)
{
	return getenv("HIP_STAND_IN_REFUSE");
}

static int setup(void **state)
{
	(void)state;
	base = WANTED;
	window_bytes = 336ull << 30;
	memset(&d, 0, sizeof(d));
	if (hip_backend.open(&gpu, 0, "", &d) || hip_backend.window(gpu, &base, &window_bytes, &d)) {
		diag_print(&d, stderr);
		return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hip_backend.close(gpu);
	return 0;
}

static struct dev_mem *mem_at(uint64_t addr, uint64_t bytes)
{
	struct dev_mem *m;

	assert_int_equal(hip_backend.mem_create(gpu, bytes, &m, &d), 0);
	assert_int_equal(hip_backend.map(gpu, addr, bytes, m, 0, false, &d), 0);
	return m;
}

static void drop(uint64_t addr, uint64_t bytes, struct dev_mem *m)
{
	assert_int_equal(hip_backend.unmap(gpu, addr, bytes, &d), 0);
	hip_backend.mem_destroy(gpu, m);
}

static uint8_t pattern(uint64_t i)
{
	return (uint8_t)(i * 131 + (i >> 8) * 7);
}

static uint8_t *pattern_bytes(uint64_t bytes)
{
	uint8_t *p = malloc(bytes);

	for (uint64_t i = 0; i < bytes; i++)
		p[i] = pattern(i);
	return p;
}

static void test_properties(void **state)
{
	static const char *const targets[] = {[5] = "gfx90a", [6] = "gfx1100", [7] = "gfx942"};
	struct amd_properties p;

	(void)state;
	hip_backend.properties(gpu, &p);
	assert_string_equal(p.target, targets[flavour]);
	assert_int_equal(p.total_bytes, 4096 * MIB);
	assert_int_equal(p.lds_bytes, 65536);
	assert_int_equal(p.compute_units, 4);
	assert_int_equal(p.max_threads_per_block, 1024);
	assert_int_equal(p.cooperative, flavour >= 6);
	assert_memory_equal(p.uuid, "stand-in uuid 0", 16);
}

/* The wanted window where HIP grants it, another one where it doesn't or has one allocation only. */
static void test_window(void **state)
{
	(void)state;
	if (has_vmm() && !refused()) {
		assert_int_equal(base, WANTED);
		assert_int_equal(window_bytes, 336ull << 30);
	} else {
		assert_int_not_equal(base, WANTED);
		assert_true(window_bytes >= 64 * MIB);
	}
	assert_int_equal(base % GRANULE, 0);
}

/* Two GPUs share the window, and who asks again gets the same one. */
static void test_window_again(void **state)
{
	uint64_t b = 0x600000000000ull, n = 1ull << 30;

	(void)state;
	assert_int_equal(hip_backend.window(gpu, &b, &n, &d), 0);
	assert_int_equal(b, base);
	assert_int_equal(n, window_bytes);
}

/* Blocks of the same granule and over the borders of granules. */
static void test_bytes(void **state)
{
	static const struct {
		uint64_t offset, bytes;
	} places[] = {
		{0, 1000}, {1024, 4096}, {8192, 700000}, {2 * GRANULE, 5 * MIB + 300}, {9 * MIB + 512, 20}};
	enum { N = sizeof(places) / sizeof(places[0]) };
	struct dev_mem *m[N];
	uint8_t *data = pattern_bytes(6 * MIB), *back = malloc(6 * MIB);

	(void)state;
	for (int i = 0; i < N; i++)
		m[i] = mem_at(base + places[i].offset, places[i].bytes);
	for (int i = 0; i < N; i++)
		assert_int_equal(
			hip_backend.write(gpu, base + places[i].offset, data + i, places[i].bytes, &d), 0);
	for (int i = 0; i < N; i++) {
		assert_int_equal(hip_backend.read(gpu, back, base + places[i].offset, places[i].bytes, &d),
				 0);
		assert_memory_equal(back, data + i, places[i].bytes);
	}
	assert_int_equal(hip_backend.copy(gpu, base + 2 * GRANULE + 100, base + 8192, 700000, &d), 0);
	assert_int_equal(hip_backend.read(gpu, back, base + 2 * GRANULE, 5 * MIB + 300, &d), 0);
	assert_memory_equal(back, data + 3, 100);
	assert_memory_equal(back + 100, data + 2, 700000);
	assert_memory_equal(back + 700100, data + 3 + 700100, 5 * MIB + 300 - 700100);
	for (int i = 0; i < N; i++)
		drop(base + places[i].offset, places[i].bytes, m[i]);
	free(data);
	free(back);
}

static void test_fill(void **state)
{
	struct dev_mem *m = mem_at(base, 3 * GRANULE + 8);
	uint8_t *back = malloc(3 * GRANULE + 8);

	(void)state;
	assert_int_equal(hip_backend.fill(gpu, base, 0, 1, 3 * GRANULE + 8, &d), 0);
	assert_int_equal(hip_backend.fill(gpu, base + 4, 0x11223344, 4, 3 * GRANULE / 4, &d), 0);
	assert_int_equal(hip_backend.fill(gpu, base, 0xabcd, 2, 1, &d), 0);
	assert_int_equal(hip_backend.fill(gpu, base + 2, 0xee, 1, 1, &d), 0);
	assert_int_equal(hip_backend.read(gpu, back, base, 3 * GRANULE + 8, &d), 0);
	assert_memory_equal(back, "\xcd\xab\xee\0", 4);
	for (uint64_t i = 4; i < 3 * GRANULE + 4; i += 4)
		assert_memory_equal(back + i, "\x44\x33\x22\x11", 4);
	assert_memory_equal(back + 3 * GRANULE + 4, "\0\0\0\0", 4);
	free(back);
	drop(base, 3 * GRANULE + 8, m);
}

/* What cuMemMap needs: bytes stay with the memory, wherever it is mapped. */
static void test_mapped_elsewhere(void **state)
{
	struct dev_mem *m = mem_at(base, 2 * GRANULE);
	uint32_t word = 0;

	(void)state;
	assert_int_equal(hip_backend.fill(gpu, base, 77, 4, GRANULE / 2, &d), 0);
	assert_int_equal(hip_backend.unmap(gpu, base, 2 * GRANULE, &d), 0);
	if (!has_vmm()) {
		assert_int_equal(hip_backend.map(gpu, base + 8 * GRANULE, 2 * GRANULE, m, 0, true, &d),
				 CUTRACE_ENOTSUP);
		assert_non_null(strstr(d.what, "HIP 5.2 has no virtual memory management"));
		hip_backend.mem_destroy(gpu, m);
		return;
	}
	assert_int_equal(hip_backend.map(gpu, base + 8 * GRANULE, 2 * GRANULE, m, 0, true, &d), 0);
	assert_int_equal(hip_backend.map(gpu, base + 20 * GRANULE, 2 * GRANULE, m, 0, true, &d), 0);
	assert_int_equal(hip_backend.read(gpu, &word, base + 20 * GRANULE, 4, &d), 0);
	assert_int_equal(word, 77);
	/* a part of it, which HIP can't */
	assert_int_equal(hip_backend.map(gpu, base + 30 * GRANULE, GRANULE, m, GRANULE, true, &d),
			 CUTRACE_ENOTSUP);
	assert_int_equal(hip_backend.unmap(gpu, base + 8 * GRANULE, 2 * GRANULE, &d), 0);
	drop(base + 20 * GRANULE, 2 * GRANULE, m);
}

/* Memory that was never mapped as a whole can be mapped in parts, each of them once. */
static void test_mapped_in_parts(void **state)
{
	struct dev_mem *m;
	uint32_t word = 0;

	(void)state;
	assert_int_equal(hip_backend.mem_create(gpu, 2 * GRANULE, &m, &d), 0);
	assert_int_equal(hip_backend.map(gpu, base, GRANULE, m, 0, true, &d), 0);
	assert_int_equal(hip_backend.map(gpu, base + GRANULE, GRANULE, m, GRANULE, true, &d), 0);
	assert_int_equal(hip_backend.fill(gpu, base, 5, 4, GRANULE / 2, &d), 0);
	assert_int_equal(hip_backend.read(gpu, &word, base + 2 * GRANULE - 4, 4, &d), 0);
	assert_int_equal(word, 5);
	assert_int_equal(hip_backend.map(gpu, base + 9 * GRANULE, GRANULE, m, 0, true, &d), CUTRACE_ENOTSUP);
	assert_int_equal(hip_backend.unmap(gpu, base, GRANULE, &d), 0);
	drop(base + GRANULE, GRANULE, m);
}

static void test_outside(void **state)
{
	struct dev_mem *m;

	(void)state;
	assert_int_equal(hip_backend.mem_create(gpu, 4096, &m, &d), 0);
	assert_int_equal(hip_backend.map(gpu, 0x200000000000ull, 4096, m, 0, false, &d), CUTRACE_ENOTSUP);
	assert_non_null(strstr(d.what, "0x200000000000"));
	hip_backend.mem_destroy(gpu, m);
}

static void test_out_of_memory(void **state)
{
	struct dev_mem *m;

	(void)state;
	if (!has_vmm()) /* its window is the memory */
		skip();
	assert_int_equal(hip_backend.mem_create(gpu, 8192 * MIB, &m, &d), 0);
	assert_int_equal(hip_backend.map(gpu, base, 8192 * MIB, m, 0, false, &d), CUTRACE_ENOMEM);
	assert_string_equal(d.what, "hipMemCreate: hipErrorOutOfMemory (2)");
	hip_backend.mem_destroy(gpu, m);
	m = mem_at(base, GRANULE);
	drop(base, GRANULE, m);
}

/* Many small ones come and go: granules are kept and used again, and none is lost. */
static void test_churn(void **state)
{
	struct dev_mem *m[300];

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 300; i++)
			m[i] = mem_at(base + (uint64_t)i * (MIB + 512 * (unsigned)round), 4096);
		for (int i = 0; i < 300; i++)
			drop(base + (uint64_t)i * (MIB + 512 * (unsigned)round), 4096, m[i]);
	}
	m[0] = mem_at(base, 600 * MIB);
	drop(base, 600 * MIB, m[0]);
}

static void test_host_memory(void **state)
{
	struct dev_mem *m[2];
	void *host[2];
	uint32_t word = 0;

	(void)state;
	for (int managed = 0; managed < 2; managed++) {
		assert_int_equal(
			hip_backend.host_alloc(gpu, 100000, managed, &host[managed], &m[managed], &d), 0);
		assert_int_equal(hip_backend.mem_address(gpu, m[managed]), (uint64_t)host[managed]);
		assert_int_equal(
			hip_backend.map(gpu, (uint64_t)host[managed], 100000, m[managed], 0, false, &d), 0);
		memcpy((char *)host[managed] + 99996, "abcd", 4);
		assert_int_equal(hip_backend.read(gpu, &word, (uint64_t)host[managed] + 99996, 4, &d), 0);
		assert_memory_equal(&word, "abcd", 4);
	}
	for (int managed = 0; managed < 2; managed++)
		drop((uint64_t)host[managed], 100000, m[managed]);
}

/* The program's own pages: at their address, or at another that the device has for them. */
static void test_registered(void **state)
{
	uint8_t *pages = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dev_mem *m, *again;
	uint64_t at;
	uint32_t word = 0;

	(void)state;
	assert_int_equal(hip_backend.mem_import_host(gpu, pages + 64, 9000, &m, &d), 0);
	at = hip_backend.mem_address(gpu, m);
	assert_int_equal(at == (uint64_t)pages + 64, flavour == 5);
	assert_int_equal(hip_backend.map(gpu, (uint64_t)pages + 64, 9000, m, 0, false, &d), 0);
	memcpy(pages + 64 + 8192, "wxyz", 4);
	assert_int_equal(hip_backend.read(gpu, &word, at + 8192, 4, &d), 0);
	assert_memory_equal(&word, "wxyz", 4);
	assert_int_equal(hip_backend.mem_import_host(gpu, pages + 64, 9000, &again, &d), CUTRACE_EINVAL);
	assert_string_equal(d.what, "hipHostRegister: hipErrorHostMemoryAlreadyRegistered (712)");
	drop((uint64_t)pages + 64, 9000, m);
	munmap(pages, 16384);
}

/* The device's alone: kernels use atomic operations in it. */
static void test_own(void **state)
{
	uint64_t addr, word = 0;
	char *zero = calloc(1, 70000), *got = malloc(70000);
	void *host = zero;

	(void)state;
	assert_int_equal(hip_backend.own_alloc(gpu, 70000, &addr, &host, &d), 0);
	assert_null(host);
	assert_true(addr < base || addr >= base + window_bytes);
	assert_int_equal(hip_backend.read(gpu, got, addr, 70000, &d), 0);
	assert_memory_equal(got, zero, 70000);
	assert_int_equal(hip_backend.write(gpu, addr + 69992, "12345678", 8, &d), 0);
	assert_int_equal(hip_backend.read(gpu, &word, addr + 69992, 8, &d), 0);
	assert_memory_equal(&word, "12345678", 8);
	hip_backend.own_free(gpu, addr);
	free(zero);
	free(got);
}

/* ---- code ---- */

static void *code_object(size_t *bytes)
{
	struct amd_properties p;
	char path[600];
	void *data;
	FILE *f;

	hip_backend.properties(gpu, &p);
	snprintf(path, sizeof(path), "%s/kernels.%s.co", folder, p.target);
	f = fopen(path, "rb");
	assert_non_null(f);
	data = malloc(1 << 20);
	*bytes = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

static struct amd_function *function(struct amd_code **code, const char *name)
{
	struct amd_function *f;
	size_t bytes;
	void *data = code_object(&bytes);

	assert_int_equal(hip_backend.code_load(gpu, data, bytes, code, &d), 0);
	free(data); /* HIP has its own copy */
	assert_int_equal(hip_backend.code_function(gpu, *code, name, &f, &d), 0);
	return f;
}

static void launch_scale(bool cooperative)
{
	enum { N = 1000 };
	struct {
		uint64_t p;
		uint32_t n, add, tile;
	} args = {base, N, 9, 0};
	struct dev_mem *m = mem_at(base, 4 * N);
	struct amd_code *code;
	struct amd_launch l = {.function = function(&code, "scale"),
			       .grid = {4, 1, 1},
			       .block = {256, 1, 1},
			       .dynamic_lds = 1024,
			       .cooperative = cooperative,
			       .kernarg = &args,
			       .kernarg_bytes = 20};
	struct amd_backend_fault fault;
	uint32_t data[N];

	for (uint32_t i = 0; i < N; i++)
		data[i] = i;
	assert_int_equal(hip_backend.write(gpu, base, data, 4 * N, &d), 0);
	assert_int_equal(hip_backend.launch(gpu, &l, &fault), 0);
	assert_int_equal(hip_backend.read(gpu, data, base, 4 * N, &d), 0);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(data[i], i * 3 + 9);
	hip_backend.code_unload(gpu, code);
	drop(base, 4 * N, m);
}

static void test_launch(void **state)
{
	(void)state;
	launch_scale(false);
}

static void test_bad_code(void **state)
{
	struct amd_code *code;
	struct amd_function *f;
	size_t bytes;
	uint8_t *data = code_object(&bytes);

	(void)state;
	assert_int_equal(hip_backend.code_load(gpu, data, bytes, &code, &d), 0);
	assert_int_equal(hip_backend.code_function(gpu, code, "nobody", &f, &d), CUTRACE_EINVAL);
	assert_string_equal(d.what, "hipModuleGetFunction: hipErrorNotFound (500)");
	hip_backend.code_unload(gpu, code);
	data[48]++; /* e_flags: another processor */
	assert_int_not_equal(hip_backend.code_load(gpu, data, bytes, &code, &d), 0);
	data[0] = 0;
	assert_int_not_equal(hip_backend.code_load(gpu, data, bytes, &code, &d), 0);
	assert_string_equal(d.what, "hipModuleLoadData: hipErrorInvalidImage (200)");
	free(data);
}

static void test_bad_launch(void **state)
{
	struct amd_code *code;
	char args[32] = {0};
	struct amd_launch l = {.function = function(&code, "scale"),
			       .grid = {1, 1, 1},
			       .block = {2048, 1, 1},
			       .kernarg = args,
			       .kernarg_bytes = 20};
	struct amd_backend_fault fault;
	struct dev_mem *m;

	(void)state;
	assert_int_equal(hip_backend.launch(gpu, &l, &fault), CUTRACE_EINVAL);
	assert_int_equal(fault.kind, DEV_FAULT_INTERNAL);
	assert_string_equal(fault.message, flavour >= 7
						   ? "hipModuleLaunchKernel: hipErrorInvalidConfiguration (9)"
						   : "hipModuleLaunchKernel: hipErrorInvalidValue (1)");
	m = mem_at(base, 100); /* it was the launch's fault, and nothing stays */
	drop(base, 100, m);
	hip_backend.code_unload(gpu, code);
}

static void test_cooperative(void **state)
{
	struct amd_backend_fault fault;
	struct amd_launch l = {.cooperative = true, .grid = {1, 1, 1}, .block = {1, 1, 1}};

	(void)state;
	if (flavour >= 6) {
		launch_scale(true);
		return;
	}
	l.function = (struct amd_function *)&l; /* not looked at */
	assert_int_equal(hip_backend.launch(gpu, &l, &fault), CUTRACE_EINVAL);
	assert_string_equal(fault.message, "HIP 5.2 has no hipModuleLaunchCooperativeKernel (since 5.5)");
}

static void test_watchdog_control(void **state)
{
	(void)state;
	assert_int_equal(hip_backend.control(gpu, "watchdog_ms", "60000", &d), 0);
	launch_scale(false);
	assert_int_equal(hip_backend.control(gpu, "watchdog_ms", "0", &d), 0);
	assert_int_equal(hip_backend.control(gpu, "watchdog_ms", "soon", &d), CUTRACE_EINVAL);
	assert_string_equal(d.what, "watchdog_ms=soon: expected a number from 0 to 4294967295");
	assert_int_equal(hip_backend.control(gpu, "watchdog_ms", "20ms", &d), CUTRACE_EINVAL);
	assert_int_equal(hip_backend.control(gpu, "watchdog_ms", "4294967296", &d), CUTRACE_EINVAL);
	assert_int_equal(hip_backend.control(gpu, "inject", "x", &d), CUTRACE_ENOTSUP);
}

/* Threads that map, move and unmap side by side, in granules that they share. */
static void *one_thread(void *arg)
{
	uint64_t at = base + (uint64_t)(uintptr_t)arg * 65536, bytes = 40000;
	uint8_t *data = pattern_bytes(bytes), *back = malloc(bytes);
	void *failed = NULL;
	struct diag e;

	for (unsigned round = 0; round < 200 && !failed; round++) {
		uint64_t here = at + round % 7 * MIB;
		struct dev_mem *m;

		if (hip_backend.mem_create(gpu, bytes, &m, &e) ||
		    hip_backend.map(gpu, here, bytes, m, 0, false, &e) ||
		    hip_backend.write(gpu, here, data, bytes, &e) ||
		    hip_backend.read(gpu, back, here, bytes, &e) || memcmp(data, back, bytes) ||
		    hip_backend.unmap(gpu, here, bytes, &e))
			failed = data;
		else
			hip_backend.mem_destroy(gpu, m);
	}
	free(data);
	free(back);
	return failed;
}

static void test_threads(void **state)
{
	pthread_t threads[4];
	void *failed;

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, one_thread, (void *)i), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
}

/* From HIP 7 on the error stays. Before, ROCm ends the process, as stand-ins do. In a child, which it spoils. */
static int stray(void)
{
	uint64_t nowhere = 0x123456789000ull;
	struct amd_code *code;
	struct amd_launch l = {
		.grid = {1, 1, 1}, .block = {1, 1, 1}, .kernarg = &nowhere, .kernarg_bytes = 8};
	struct amd_backend_fault fault;
	struct dev_mem *m;
	char byte;

	l.function = function(&code, "stray");
	if (hip_backend.launch(gpu, &l, &fault) != CUTRACE_EINVAL ||
	    fault.kind != DEV_FAULT_ILLEGAL_ADDRESS ||
	    strcmp(fault.message, "hipStreamSynchronize: hipErrorIllegalAddress (700)"))
		return 1;
	if (!hip_backend.read(gpu, &byte, base, 1, &d) ||
	    strcmp(d.what, "an earlier kernel: hipErrorIllegalAddress (700)"))
		return 2;
	if (!hip_backend.mem_create(gpu, 1, &m, &d))
		return 3;
	return hip_backend.launch(gpu, &l, &fault) != CUTRACE_EINVAL ||
			       fault.kind != DEV_FAULT_ILLEGAL_ADDRESS
		       ? 4
		       : 0;
}

static void test_fault(void **state)
{
	int status = 0;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(stray());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (flavour >= 7) {
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	} else {
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_properties),
		TEST(test_window),
		TEST(test_window_again),
		TEST(test_bytes),
		TEST(test_fill),
		TEST(test_mapped_elsewhere),
		TEST(test_mapped_in_parts),
		TEST(test_outside),
		TEST(test_out_of_memory),
		TEST(test_churn),
		TEST(test_host_memory),
		TEST(test_registered),
		TEST(test_own),
		TEST(test_launch),
		TEST(test_bad_code),
		TEST(test_bad_launch),
		TEST(test_cooperative),
		TEST(test_watchdog_control),
		TEST(test_threads),
		TEST(test_fault),
	};

	if (argc != 3)
		return 2;
	flavour = atoi(argv[1]);
	folder = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
