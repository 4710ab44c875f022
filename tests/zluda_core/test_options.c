/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment: each row starts this program again with the variables set and looks at what it prints.
 */
#include "core_test.h"

#include <sys/wait.h>
#include <unistd.h>

/* Prints what a program sees: result of cuInit, devices, compute capability, version, first address, launch
 * mode. */
static const char stray[] = PTX_HEAD PTX_STRAY;

static int show(void)
{
	int n = 0, major = 0, minor = 0, version = 0;
	CUresult r = cuDriverGetVersion(&version) ? CUDA_ERROR_UNKNOWN : cuInit(0);
	CUdeviceptr p = 0, hinted = 0;
	CUcontext ctx;
	CUmodule m;
	CUfunction f;
	void *values[] = {&hinted};
	int launch = -1;

	cuDeviceGetCount(&n);
	cuDriverGetVersion(&version);
	if (!r && n) {
		cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
		cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
		cuCtxCreate_v2(&ctx, 0, 0);
		cuMemAlloc(&p, 100);
		cuMemAddressReserve(&hinted, 2 << 20, 0, 0x300000000000ull, 0);
		if (!cuModuleLoadData(&m, stray) && !cuModuleGetFunction(&f, m, "stray"))
			launch = (int)cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
	}
	printf("init %d devices %d cc %d.%d version %d address %#llx hinted %#llx launch %d\n", r, n, major,
	       minor, version, p, hinted, launch);
	return 0;
}

static const struct {
	const char *variables; /* "A=b C=d" */
	const char *output;    /* is in the output */
	const char *also;
} rows[] = {
	{"", "init 0 devices 1 cc 9.0 version 13000 address 0x550000000000 hinted 0x300000000000 launch 0\n",
	 NULL},
	{"CUTRACE_CC=8.0", "cc 8.0", NULL},
	{"CUTRACE_CC=seven", "cutrace: CUTRACE_CC=seven is not understood", NULL},
	{"CUTRACE_CACHE_SIZE=big", "cutrace: CUTRACE_CACHE_SIZE=big is not understood: expected bytes",
	 "init 0"},
	{"CUTRACE_DRIVER_VERSION=12040", "version 12040", NULL},
	{"CUTRACE_VA_BASE=0x560000000000", "address 0x560000000000", NULL},
	{"CUTRACE_TYPO=1", "cutrace: unknown option CUTRACE_TYPO in the environment is ignored", "init 0"},
	{"CUTRACE_DEVICE=nothing", "cutrace: CUTRACE_DEVICE names the device \"nothing\"", "init 100"},
	{"CUTRACE_DEVICE=interp:devices=3", "devices 3", NULL},
	{"CUTRACE_DEVICE=interp:devices=3 CUDA_VISIBLE_DEVICES=2,0", "devices 2", NULL},
	{"CUTRACE_DEVICE=interp:devices=3 CUDA_VISIBLE_DEVICES=1,7,0", "devices 1",
	 NULL}, /* ends at the first bad one */
	{"CUTRACE_REFUSE_ADDRESSES=1", "hinted 0x5500", NULL},
	{"CUTRACE_REFUSE_ADDRESSES=perhaps", "is not understood: expected 0 or 1", NULL},
	{"CUTRACE_DEVICE=interp:devices=3 CUDA_VISIBLE_DEVICES=1,1", "init 100", NULL}, /* named twice */
	{"CUDA_VISIBLE_DEVICES=GPU-", "devices 1", NULL},
	{"CUDA_VISIBLE_DEVICES=GPU-nosuch", "init 100", NULL},
	{"CUDA_VISIBLE_DEVICES=", "init 100", NULL},
	{"CUDA_VISIBLE_DEVICES=-1", "init 100", NULL},
	{"CUDA_VISIBLE_DEVICES=0", "init 0 devices 1", NULL},
	{"CUDA_LAUNCH_BLOCKING=1", "launch 700", NULL}, /* the launch itself fails */
};

static void run(const char *variables, char *out, size_t size)
{
	char command[4096], self[2048] = {0};
	FILE *p;
	size_t n;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(command, sizeof(command), "env %s '%s' show 2>&1", variables, self);
	p = popen(command, "r");
	assert_non_null(p);
	n = fread(out, 1, size - 1, p);
	out[n] = 0;
	assert_int_equal(pclose(p), 0);
}

static void environment(void **state)
{
	char out[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run(rows[i].variables, out, sizeof(out));
		const char *at = strstr(out, rows[i].output);

		if (at && strstr(at + 1, rows[i].output))
			fail_msg("%s: said twice: %s", rows[i].variables, out);
		if (!strstr(out, rows[i].output) || (rows[i].also && !strstr(out, rows[i].also)))
			fail_msg("%s: expected \"%s\", got \"%s\"", rows[i].variables, rows[i].output, out);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(environment)};

	if (argc > 1 && !strcmp(argv[1], "show"))
		return show();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
