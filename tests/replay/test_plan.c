/* SPDX-License-Identifier: Apache-2.0
 *
 * plan, reserve: what is known before the first call is issued, and that it does not grow without need.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay/engine.h"
#include "trace_builder.h"

#define HOST    UINT64_C(0x7ffe00001000)
#define MODULE  UINT64_C(0x2000)
#define ADDRESS UINT64_C(0x200000000000)

static char path[] = "/tmp/cutrace-test-plan-XXXXXX";
static struct builder b;
static struct engine e;

static uint64_t load(void)
{
	uint64_t call;

	builder_out(&b, 0, MODULE);
	call = CALL(&b, "cuModuleLoadData", HOST, HOST + 64);
	builder_kernel(&b, call, MODULE, "k", 0, NULL);
	return call;
}

static void ask(const char *name, uint64_t address)
{
	uint64_t call;

	builder_out(&b, 0, address);
	call = CALL(&b, "cuModuleGetGlobal_v2", HOST, HOST + 8, MODULE, HOST + 64);
	builder_memory(&b, call, 3, HOST + 64, name, strlen(name) + 1);
}

static void open_plan(void)
{
	static const struct replay_options opt = {.trace_path = path};
	struct diag d = DIAG_INIT;

	builder_close(&b);
	memset(&e, 0, sizeof(e));
	e.opt = &opt;
	e.process = 1;
	assert_int_equal(trace_open(&e.trace, path, &d), 0);
	e.memory[0] = trace_memory_new(e.trace);
	assert_int_equal(plan_make(&e, &d), 0);
}

static void close_plan(void)
{
	plan_free(&e);
	trace_memory_free(e.memory[0]);
	trace_close(e.trace);
	arena_free(&e.arena);
}

static void assert_globals(uint64_t load_call, const char *first, const char *second)
{
	const char **names;
	uint64_t *addresses;
	unsigned n = plan_globals_of(&e, load_call, &names, &addresses);

	assert_int_equal(n, second ? 2 : 1);
	assert_string_equal(names[0], first);
	assert_int_equal(addresses[0], ADDRESS);
	if (second)
		assert_string_equal(names[1], second);
	free(names);
	free(addresses);
}

/* One row per variable and module, however often the program asks; the second module has the handle and the
 * address of the first. */
static void test_variables_asked_again(void **state)
{
	uint64_t first, second;

	(void)state;
	builder_open(&b, path);
	first = load();
	for (int i = 0; i < 50; i++) {
		ask("counter", ADDRESS);
		ask("table", ADDRESS + 256);
	}
	second = load();
	for (int i = 0; i < 50; i++)
		ask("counter", ADDRESS);
	open_plan();
	assert_int_equal(e.nglobals, 3);
	assert_globals(second, "counter", NULL);
	assert_string_equal(plan_global_name(&e, ADDRESS + 256), "table");
	assert_null(plan_global_name(&e, ADDRESS + 8));
	assert_int_equal(plan_module_created(&e, first)->created, first);
	assert_int_equal(plan_module_created(&e, second)->created, second);
	assert_null(plan_module_created(&e, first + 1));
	close_plan();
}

static void test_many_modules(void **state)
{
	enum { N = 300 };
	uint64_t calls[N];

	(void)state;
	builder_open(&b, path);
	for (unsigned i = 0; i < N; i++)
		calls[i] = load();
	open_plan();
	assert_int_equal(e.nmodule_rows, N);
	for (unsigned i = 0; i < N; i++) {
		const struct trace_module *m = plan_module_created(&e, calls[i]);

		assert_non_null(m);
		assert_ptr_equal(plan_module(&e, m->id), m);
	}
	assert_null(plan_module(&e, UINT64_MAX));
	close_plan();
}

/* By the call that made it, among those of other processes. */
static void test_allocations_by_call(void **state)
{
	enum { N = 1000 };
	uint64_t id;
	const char *kind;

	(void)state;
	builder_open(&b, path);
	for (unsigned i = 0; i < N; i++) {
		struct trace_allocation other = {
			.process = 2, .base = ADDRESS, .bytes = 16, .kind = "pool", .created = 10 * i};
		struct trace_allocation two[2] = {
			{.process = 1, .base = ADDRESS, .bytes = 16, .kind = "device", .created = 10 * i + 5},
			{.process = 1,
			 .base = ADDRESS + 64,
			 .bytes = 16,
			 .kind = "host",
			 .created = 10 * i + 5}};

		assert_int_equal(trace_writer_allocation(b.w, &other), 0);
		assert_int_equal(trace_writer_allocation(b.w, &two[0]), 0);
		assert_int_equal(trace_writer_allocation(b.w, &two[1]), 0);
	}
	open_plan();
	for (unsigned i = 0; i < N; i += 7) {
		assert_true(plan_allocation(&e, 10 * i + 5, ADDRESS, &id, &kind));
		assert_int_equal(id, 3 * i + 2);
		assert_string_equal(kind, "device");
		assert_true(plan_allocation(&e, 10 * i + 5, ADDRESS + 64, &id, &kind));
		assert_int_equal(id, 3 * i + 3);
		assert_string_equal(kind, "host");
		assert_false(plan_allocation(&e, 10 * i, ADDRESS, &id, &kind));
		assert_false(plan_allocation(&e, 10 * i + 5, ADDRESS + 1, &id, &kind));
	}
	assert_false(plan_allocation(&e, 10 * N + 5, ADDRESS, &id, &kind));
	close_plan();
}

/* A row that claims terabytes where something is mapped already. */
static void test_absurd_allocation(void **state)
{
	const uint64_t bytes = UINT64_C(16) << 30, granule = UINT64_C(2) << 20;
	void *taken = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	assert_ptr_not_equal(taken, MAP_FAILED);
	builder_open(&b, path);
	builder_allocation(&b, 1, (uint64_t)(uintptr_t)taken, bytes);
	builder_allocation(&b, 2, ADDRESS, 4 * granule);
	open_plan();
	assert_int_equal(reserve_plan(&e), 0);
	assert_in_range(e.reserve_clashes, 1, 1024);
	assert_int_equal(e.reserved.used, 4);
	reserve_drop(&e);
	close_plan();
	munmap(taken, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables_asked_again),
		cmocka_unit_test(test_many_modules),
		cmocka_unit_test(test_allocations_by_call),
		cmocka_unit_test(test_absurd_allocation),
	};
	int fd = mkstemp(path), rc;

	if (fd < 0)
		return 1;
	close(fd);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return rc;
}
