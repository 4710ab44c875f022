/* SPDX-License-Identifier: Apache-2.0
 *
 * Weak stubs inside a shared library: real definitions win, everything else is exported and says
 * that it is not supported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "api/api.h"

static void *core;

static void *symbol(const char *name)
{
	void *p = dlsym(core, name);
	if (!p)
		fail_msg("%s is not exported", name);
	return p;
}

static void real_definitions_win(void **state)
{
	(void)state;
	int version = 0;
	int (*init)(unsigned) = (int (*)(unsigned))symbol("cuInit");
	int (*driver_version)(int *) = (int (*)(int *))symbol("cuDriverGetVersion");
	assert_int_equal(init(0), 0);
	assert_int_equal(init(1), 1);
	assert_int_equal(driver_version(&version), 0);
	assert_int_equal(version, 13000);
}

static void others_are_unsupported(void **state)
{
	(void)state;
	const char **asked = symbol("stub_core_asked");
	int (*alloc)(void *, size_t) = (int (*)(void *, size_t))symbol("cuMemAlloc_v2");
	assert_int_equal(alloc(NULL, 1), 801); /* CUDA_ERROR_NOT_SUPPORTED */
	assert_string_equal(*asked, "cuMemAlloc_v2");
}

static void all_are_exported(void **state)
{
	(void)state;
	for (unsigned i = 0; i < api_nfuncs; i++)
		if (!(api_funcs[i].flags & API_FUNC_PRIVATE))
			symbol(api_funcs[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_definitions_win),
		cmocka_unit_test(others_are_unsupported),
		cmocka_unit_test(all_are_exported),
	};
	core = dlopen(STUB_CORE, RTLD_NOW | RTLD_LOCAL);
	if (!core) {
		print_error("%s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
