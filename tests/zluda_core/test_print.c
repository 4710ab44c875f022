/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of kernels: it appears on stdout at synchronising calls, in order with the program's own, and at
 * exit at the latest. The program runs itself to see its own output.
 */
#include "core_test.h"

#include <unistd.h>

#include "api/extension.h"

static const char ptx[] =
	PTX_HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
		 ".global .align 1 .b8 text[8] = {107, 101, 114, 110, 101, 108, 10, 0};\n"
		 ".visible .entry hello()\n{\n	.reg .b64 %rd<4>;\n	.reg .b32 %r<2>;\n"
		 "	mov.u64 %rd1, text;\n	cvta.global.u64 %rd2, %rd1;\n	mov.u64 %rd3, 0;\n"
		 "	{\n	.param .b64 p0;\n	st.param.b64 [p0], %rd2;\n	.param .b64 "
		 "p1;\n	st.param.b64 [p1], %rd3;\n"
		 "	.param .b32 r0;\n	call.uni (r0), vprintf, (p0, p1);\n	ld.param.b32 %r1, "
		 "[r0];\n	}\n	ret;\n}\n";

static int show(const char *how)
{
	CUcontext ctx;
	CUmodule m;
	CUfunction f;
	CUdeviceptr p;
	int value;

	if (cuInit(0) || cuCtxCreate_v2(&ctx, 0, 0) || cuModuleLoadData(&m, ptx) ||
	    cuModuleGetFunction(&f, m, "hello") || cuMemAlloc(&p, 4))
		return 1;
	printf("before\n");
	if (cuLaunchKernel(f, 1, 1, 1, 2, 1, 1, 0, NULL, NULL, NULL))
		return 1;
	if (!strcmp(how, "synchronize"))
		cuCtxSynchronize();
	else if (!strcmp(how, "stream"))
		cuStreamSynchronize(NULL);
	else if (!strcmp(how, "copy"))
		cuMemcpyDtoH(&value, p, 4);
	else if (!strcmp(how, "destroy"))
		cuCtxDestroy(ctx);
	else
		while (cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY)
			usleep(1000);
	printf("after\n");
	return 0;
}

static char caught[64];

static void catch_text(const char *text, size_t bytes)
{
	snprintf(caught + strlen(caught), sizeof(caught) - strlen(caught), "%.*s", (int)bytes, text);
}

static void sink(void **state)
{
	const CUuuid id = CUTRACE_EXTENSION_UUID;
	const struct cutrace_extension *x;
	const void *table;
	CUmodule m;
	CUfunction f;

	(void)state;
	OK(cuGetExportTable(&table, &id));
	x = table;
	f = load_function(&m, ptx, "hello");
	x->set_print_sink(catch_text);
	OK(cuLaunchKernel(f, 1, 1, 1, 3, 1, 1, 0, NULL, NULL, NULL));
	OK(cuCtxSynchronize());
	x->set_print_sink(NULL);
	assert_string_equal(caught, "kernel\nkernel\nkernel\n");
}

static void order(void **state)
{
	static const struct {
		const char *how, *output;
	} rows[] = {
		{"synchronize", "before\nkernel\nkernel\nafter\n"},
		{"stream", "before\nkernel\nkernel\nafter\n"},
		{"copy", "before\nkernel\nkernel\nafter\n"},
		{"destroy", "before\nkernel\nkernel\nafter\n"},
		{"exit", "before\nafter\nkernel\nkernel\n"},
	};
	char self[2048] = {0}, command[2200], out[256];

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		FILE *p;
		size_t n;

		snprintf(command, sizeof(command), "'%s' %s", self, rows[i].how);
		p = popen(command, "r");
		assert_non_null(p);
		n = fread(out, 1, sizeof(out) - 1, p);
		out[n] = 0;
		assert_int_equal(pclose(p), 0);
		assert_string_equal(out, rows[i].output);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(order), WITH_CONTEXT(sink)};

	return argc > 1 ? show(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
