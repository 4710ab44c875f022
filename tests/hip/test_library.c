/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and checking libamdhip64.so. Argument: the folder of the stand-ins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zluda_core/device_hip/hip_library.h"

static char folder[512];
static struct hip_library lib;
static struct diag d;

static const char *stand_in(int version)
{
	static char path[700];

	snprintf(path, sizeof(path), "%s/rocm%d/lib/libamdhip64.so.%d", folder, version, version);
	return path;
}

static void clean(void)
{
	unsetenv("CUTRACE_HIP_LIBRARY");
	unsetenv("ROCM_PATH");
	unsetenv("HIP_PATH");
	unsetenv("HIP_STAND_IN_VERSION");
	unsetenv("HIP_STAND_IN_DEVICES");
	memset(&d, 0, sizeof(d));
}

static void test_versions(void **state)
{
	static const struct {
		int major, minor;
		const char *properties, *missing;
	} expected[] = {
		{5, 2, "hipGetDeviceProperties", "hipModuleLaunchCooperativeKernel (since 5.5)"},
		{6, 2, "hipGetDevicePropertiesR0600", ""},
		{7, 1, "hipGetDevicePropertiesR0600", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		clean();
		setenv("CUTRACE_HIP_LIBRARY", stand_in(expected[i].major), 1);
		assert_int_equal(hip_library_open(&lib, &d), 0);
		assert_int_equal(lib.major, expected[i].major);
		assert_int_equal(lib.minor, expected[i].minor);
		assert_string_equal(lib.abi->properties, expected[i].properties);
		assert_string_equal(lib.missing, expected[i].missing);
		assert_string_equal(lib.path, stand_in(expected[i].major));
	}
}

/* In a process of its own: what is loaded stays loaded, and would be found first. */
static int in_child(int (*f)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		clean();
		_exit(f());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int by_rocm_path(void)
{
	char root[600];

	snprintf(root, sizeof(root), "%s/rocm6", folder);
	setenv("ROCM_PATH", root, 1);
	return hip_library_open(&lib, &d) || lib.major != 6 || strcmp(lib.path, stand_in(6));
}

static int loaded_already(void)
{
	char root[600];

	if (!dlopen(stand_in(5), RTLD_NOW | RTLD_LOCAL))
		return 1;
	snprintf(root, sizeof(root), "%s/rocm6", folder);
	setenv("ROCM_PATH", root, 1);
	return hip_library_open(&lib, &d) || lib.major != 5;
}

static int no_gpu(void)
{
	int devices = 5;

	setenv("CUTRACE_HIP_LIBRARY", stand_in(6), 1);
	setenv("HIP_STAND_IN_DEVICES", "0", 1);
	if (hip_library_get(&devices, &d) || devices || d.code != CUTRACE_ENOENT)
		return 1;
	return strcmp(d.what, "HIP 6.2 sees no AMD GPU (hipErrorInvalidDevice)") != 0;
}

static int two_gpus(void)
{
	int devices = 0;

	setenv("CUTRACE_HIP_LIBRARY", stand_in(7), 1);
	setenv("HIP_STAND_IN_DEVICES", "2", 1);
	return !hip_library_get(&devices, &d) || devices != 2;
}

static void test_search(void **state)
{
	(void)state;
	assert_int_equal(in_child(by_rocm_path), 0);
	assert_int_equal(in_child(loaded_already), 0);
	assert_int_equal(in_child(no_gpu), 0);
	assert_int_equal(in_child(two_gpus), 0);
}

static void test_unknown_version(void **state)
{
	static const struct {
		const char *version, *text;
	} unknown[] = {{"90100000", "HIP 9.1 is not known"},
		       {"110200001", "HIP 11.2 is not known"},
		       {"40300000", "HIP 4.3 is not known"}};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		clean();
		setenv("CUTRACE_HIP_LIBRARY", stand_in(7), 1);
		setenv("HIP_STAND_IN_VERSION", unknown[i].version, 1);
		assert_int_equal(hip_library_open(&lib, &d), CUTRACE_ENOTSUP);
		assert_non_null(strstr(d.what, unknown[i].text));
		assert_non_null(strstr(d.what, "5, 6, 7, 8 and 10"));
	}
	clean();
	setenv("CUTRACE_HIP_LIBRARY", stand_in(7), 1);
	setenv("HIP_STAND_IN_VERSION", "100200001", 1);
	assert_int_equal(hip_library_open(&lib, &d), 0);
	assert_int_equal(lib.major, 10);
}

static void test_no_library(void **state)
{
	(void)state;
	clean();
	setenv("CUTRACE_HIP_LIBRARY", "/nowhere/libamdhip64.so.6", 1);
	assert_int_equal(hip_library_open(&lib, &d), CUTRACE_ENOENT);
	assert_non_null(strstr(d.what, "/nowhere/libamdhip64.so.6"));
	assert_string_equal(d.where, "CUTRACE_HIP_LIBRARY");
	clean();
	setenv("CUTRACE_HIP_LIBRARY", "libm.so.6", 1); /* a library, but of something else */
	assert_int_equal(hip_library_open(&lib, &d), CUTRACE_ENOTSUP);
	assert_non_null(strstr(d.what, "hipRuntimeGetVersion"));
}

static void test_missing_entry(void **state)
{
	char path[700];

	(void)state;
	clean();
	snprintf(path, sizeof(path), "%s/libhip_without_launch.so", folder);
	setenv("CUTRACE_HIP_LIBRARY", path, 1);
	assert_int_equal(hip_library_open(&lib, &d), CUTRACE_ENOTSUP);
	assert_non_null(strstr(d.what, "lacks"));
	assert_non_null(strstr(d.what, "hipModuleLaunchKernel (since 4.2)"));
}

/* Debian's, of which all but the GPU is there. */
static int debian(void)
{
	int devices;

	setenv("CUTRACE_HIP_LIBRARY", "libamdhip64.so.5", 1);
	if (hip_library_open(&lib, &d))
		return 77;
	if (lib.major != 5 || lib.abi->properties_bytes != 792)
		return 1;
	/* hipInit says InvalidDevice, hipGetDeviceCount says NoDevice: the same to us; on a machine with a GPU it is there */
	if (hip_library_get(&devices, &d))
		return 0;
	return !strstr(d.what, "sees no AMD GPU (hipError");
}

static void test_debian(void **state)
{
	int status = in_child(debian);

	(void)state;
	if (status == 77) {
		printf("skipped: libamdhip64.so.5 is not installed (Debian: libamdhip64-5)\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* Of the headers: a sample of each hundred. */
static void test_error_names(void **state)
{
	static const struct {
		int error, code;
		const char *name;
	} errors[] = {{1, CUTRACE_EINVAL, "hipErrorInvalidValue"},
		      {2, CUTRACE_ENOMEM, "hipErrorOutOfMemory"},
		      {100, CUTRACE_ENOENT, "hipErrorNoDevice"},
		      {101, CUTRACE_ENOENT, "hipErrorInvalidDevice"},
		      {209, CUTRACE_EINVAL, "hipErrorNoBinaryForGpu"},
		      {400, CUTRACE_EINVAL, "hipErrorInvalidHandle"},
		      {700, CUTRACE_EINVAL, "hipErrorIllegalAddress"},
		      {719, CUTRACE_EINVAL, "hipErrorLaunchFailure"},
		      {801, CUTRACE_ENOTSUP, "hipErrorNotSupported"},
		      {12345, CUTRACE_EINVAL, "hipError 12345"}};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		char text[100];

		assert_string_equal(hip_error_name(errors[i].error), errors[i].name);
		assert_int_equal(hip_failed(errors[i].error, "hipFunction", &d), errors[i].code);
		snprintf(text, sizeof(text), "hipFunction: %s (%d)", errors[i].name, errors[i].error);
		assert_string_equal(d.what, text);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_search),          cmocka_unit_test(test_versions),
		cmocka_unit_test(test_unknown_version), cmocka_unit_test(test_no_library),
		cmocka_unit_test(test_missing_entry),   cmocka_unit_test(test_debian),
		cmocka_unit_test(test_error_names),
	};

	if (argc != 2)
		return 2;
	snprintf(folder, sizeof(folder), "%s", argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
