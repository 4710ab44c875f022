/* SPDX-License-Identifier: Apache-2.0
 *
 * driver: calls by table reach functions that a compiler built, with every argument in its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <string.h>

#include "replay/driver.h"

static uint16_t type_of_size(uint8_t kind, unsigned size)
{
	for (unsigned i = 0; i < api_ntypes; i++)
		if (api_types[i].kind == kind && api_types[i].size == size)
			return (uint16_t)i;
	fail_msg("api has no type of kind %u and %u bytes", kind, size);
	return 0;
}

static uint64_t bits(double d)
{
	uint64_t u;

	memcpy(&u, &d, 8);
	return u;
}

static uint64_t bits32(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

struct table {
	struct api_param params[16];
	uint64_t args[16];
	struct api_func f;
};

static void add(struct table *t, uint8_t abi, uint64_t word)
{
	struct api_param *p = &t->params[t->f.nparams];

	p->abi = abi;
	p->type = type_of_size(abi == API_ABI_MEMORY ? API_KIND_STRUCT : API_KIND_UINT,
			       abi == API_ABI_MEMORY ? 64 : 4);
	t->args[t->f.nparams++] = word;
	t->f.params = t->params;
}

static void *callee(const char *name)
{
	static void *lib;

	if (!lib)
		lib = dlopen(CALLEE_PATH, RTLD_NOW);
	assert_non_null(lib);
	assert_non_null(dlsym(lib, name));
	return dlsym(lib, name);
}

static const uint8_t *big(uint8_t *b, unsigned seed)
{
	for (unsigned i = 0; i < 64; i++)
		b[i] = (uint8_t)(seed + i);
	return b;
}

static void test_ints(void **state)
{
	static const int64_t values[] = {-1, 2, 3, 4, -5, 6, -7, 8, -9};
	struct table t = {0};

	(void)state;
	for (unsigned i = 0; i < 9; i++)
		add(&t, API_ABI_INT, (uint64_t)values[i]);
	assert_int_equal((int32_t)driver_call(callee("callee_ints"), &t.f, t.args), 0);
}

/* Ten floating arguments: eight in registers, two on the stack; integers keep their own registers. */
static void test_floats(void **state)
{
	struct table t = {0};

	(void)state;
	add(&t, API_ABI_FLOAT, bits32(1.5f));
	add(&t, API_ABI_FLOAT, bits(-2.25));
	add(&t, API_ABI_INT, 3);
	add(&t, API_ABI_FLOAT, bits32(4.5f));
	for (int i = 5; i <= 9; i++)
		add(&t, API_ABI_FLOAT, bits(i));
	add(&t, API_ABI_FLOAT, bits32(10.5f));
	add(&t, API_ABI_FLOAT, bits(11));
	add(&t, API_ABI_INT, 12);
	assert_int_equal((int32_t)driver_call(callee("callee_floats"), &t.f, t.args), 0);
}

static void test_struct_by_value(void **state)
{
	struct table t = {0};
	uint8_t b[64];

	(void)state;
	add(&t, API_ABI_INT, 1);
	add(&t, API_ABI_MEMORY, (uint64_t)(uintptr_t)big(b, 10));
	add(&t, API_ABI_INT, 3);
	add(&t, API_ABI_FLOAT, bits32(4.5f));
	assert_int_equal((int32_t)driver_call(callee("callee_struct"), &t.f, t.args), 0);
}

static void test_mixed(void **state)
{
	struct table t = {0};
	uint8_t b1[64], b2[64];

	(void)state;
	for (uint64_t i = 1; i <= 7; i++)
		add(&t, API_ABI_INT, i);
	add(&t, API_ABI_MEMORY, (uint64_t)(uintptr_t)big(b1, 20));
	add(&t, API_ABI_FLOAT, bits(9.5));
	add(&t, API_ABI_INT, 10);
	add(&t, API_ABI_MEMORY, (uint64_t)(uintptr_t)big(b2, 30));
	add(&t, API_ABI_FLOAT, bits32(12.5f));
	add(&t, API_ABI_INT, 13);
	assert_true(driver_call_fits(&t.f));
	assert_int_equal((int32_t)driver_call(callee("callee_mixed"), &t.f, t.args), 0);
}

static void test_none(void **state)
{
	struct table t = {0};

	(void)state;
	assert_int_equal((int32_t)driver_call(callee("callee_none"), &t.f, t.args), 77);
}

static void test_every_function_fits(void **state)
{
	(void)state;
	for (unsigned i = 0; i < api_nfuncs; i++)
		if (!driver_call_fits(&api_funcs[i]))
			fail_msg("%s", api_funcs[i].name);
}

static void test_refuses_what_is_no_driver(void **state)
{
	struct driver drv;
	struct diag d = DIAG_INIT;

	(void)state;
	assert_int_not_equal(driver_open(&drv, "/nonexistent/libcuda.so.1", &d), 0);
	assert_non_null(strstr(d.what, "/nonexistent/libcuda.so.1"));
	driver_close(&drv);
	assert_int_not_equal(driver_open(&drv, CALLEE_PATH, &d), 0);
	assert_non_null(strstr(d.what, "cuDriverGetVersion"));
	driver_close(&drv);
}

/* Values from the CUDA driver API's list of CUresult. */
static void test_errors(void **state)
{
	(void)state;
	assert_string_equal(driver_error_name(700), "CUDA_ERROR_ILLEGAL_ADDRESS");
	assert_string_equal(driver_error_name(0), "CUDA_SUCCESS");
	assert_string_equal(driver_error_name(123456), "error 123456");
	assert_true(driver_error_is_fault(700) && driver_error_is_fault(719) && driver_error_is_fault(710));
	assert_false(driver_error_is_fault(0) || driver_error_is_fault(1) || driver_error_is_fault(600));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ints),
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_struct_by_value),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_every_function_fits),
		cmocka_unit_test(test_refuses_what_is_no_driver),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
