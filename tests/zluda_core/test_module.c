/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules, libraries, kernels: variables and their initialisers, errors and logs, attributes, parameter
 * information.
 */
#include <pthread.h>

#include "core_test.h"

#include "api/extension.h"

static const char good[] = PTX_HEAD PTX_FILL PTX_STRAY ".global .align 4 .u32 counter = 41;\n"
						       ".global .align 8 .b8 text[16] = {104, 105, 0};\n"
						       ".global .align 4 .u32 table[4] = {1, 2, 3, 4};\n"
						       ".global .align 8 .u64 pointer = generic(table)+8;\n"
						       ".const .align 4 .u32 limit = 7;\n";

/* One kernel uses an opcode that does not exist; the other is fine. */
static const char half_bad[] = PTX_HEAD PTX_FILL ".visible .entry broken(.param .u64 p)\n{\n	.reg .b32 "
						 "%r<3>;\n	frobnicate.u32 %r1, %r2;\n	ret;\n}\n";

static void globals(void **state)
{
	CUdeviceptr p, table;
	uint64_t pointer;
	uint32_t value;
	char text[16];
	size_t size;
	CUmodule m;

	(void)state;
	OK(cuModuleLoadData(&m, good));
	OK(cuModuleGetGlobal(&p, &size, m, "counter"));
	assert_int_equal(size, 4);
	OK(cuMemcpyDtoH(&value, p, 4));
	assert_int_equal(value, 41);
	OK(cuModuleGetGlobal(&p, &size, m, "text"));
	assert_int_equal(size, 16);
	OK(cuMemcpyDtoH(text, p, 16));
	assert_string_equal(text, "hi");
	assert_int_equal(text[15], 0);
	OK(cuModuleGetGlobal(&table, &size, m, "table"));
	assert_int_equal(size, 16);
	OK(cuModuleGetGlobal(&p, &size, m, "pointer"));
	OK(cuMemcpyDtoH(&pointer, p, 8));
	assert_int_equal(pointer, table + 8);
	OK(cuModuleGetGlobal(&p, NULL, m, "limit"));
	OK(cuMemcpyDtoH(&value, p, 4));
	assert_int_equal(value, 7);
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&p, &size, m, "nothing"));
	OK(cuModuleUnload(m));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&value, table, 4)); /* gone with the module */
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(m));
}

static void functions(void **state)
{
	CUfunction f, list[4];
	size_t offset, size;
	unsigned count;
	const char *name;
	CUmodule m, of;
	int value;

	(void)state;
	OK(cuModuleLoadData(&m, good));
	OK(cuModuleGetFunction(&f, m, "fill"));
	OK(cuFuncGetName(&name, f));
	assert_string_equal(name, "fill");
	OK(cuFuncGetModule(&of, f));
	assert_ptr_equal(of, m);
	/* PTX ISA: parameters are laid out with their natural alignment */
	OK(cuFuncGetParamInfo(f, 0, &offset, &size));
	assert_int_equal(offset, 0);
	assert_int_equal(size, 8);
	OK(cuFuncGetParamInfo(f, 1, &offset, &size));
	assert_int_equal(offset, 8);
	assert_int_equal(size, 4);
	OK(cuFuncGetParamInfo(f, 2, &offset, NULL));
	assert_int_equal(offset, 12);
	FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(f, 3, &offset, &size));
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	assert_int_equal(value, 1024);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
	assert_int_equal(value, 80);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f));
	assert_int_equal(value, 90);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	assert_int_equal(value, 48 * 1024);
	OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024));
	FAILS(CUDA_ERROR_INVALID_VALUE,
	      cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024 + 1));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 8));
	FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "nothing"));
	OK(cuModuleGetFunctionCount(&count, m));
	assert_int_equal(count, 2);
	OK(cuModuleEnumerateFunctions(list, 4, m));
	OK(cuFuncGetName(&name, list[1]));
	assert_string_equal(name, "stray");
	OK(cuModuleUnload(m));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetName(&name, list[1]));
}

static void libraries(void **state)
{
	CUlibrary lib, of;
	CUkernel k, list[2];
	CUfunction f, again;
	CUdeviceptr p;
	size_t size;
	unsigned count;
	const char *name;
	CUmodule m;
	int value;

	(void)state;
	OK(cuLibraryLoadData(&lib, good, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernelCount(&count, lib));
	assert_int_equal(count, 2);
	OK(cuLibraryEnumerateKernels(list, 2, lib));
	OK(cuLibraryGetKernel(&k, lib, "fill"));
	assert_true(k == list[0] || k == list[1]);
	OK(cuKernelGetName(&name, k));
	assert_string_equal(name, "fill");
	OK(cuKernelGetLibrary(&of, k));
	assert_ptr_equal(of, lib);
	OK(cuKernelGetFunction(&f, k));
	OK(cuKernelGetFunction(&again, k));
	assert_ptr_equal(f, again);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
			      (CUfunction)k)); /* a kernel passes as one */
	OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, k, 0));
	OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k, 0));
	assert_int_equal(value, 60000);
	OK(cuLibraryGetModule(&m, lib));
	FAILS(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload(m));
	OK(cuLibraryGetGlobal(&p, &size, lib, "table"));
	assert_int_equal(size, 16);
	FAILS(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged(&p, &size, lib, "table"));
	FAILS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&k, lib, "nothing"));
	OK(cuLibraryUnload(lib));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(lib));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName(&name, list[0]));
}

/* A library has a module in each context, with its own variables. */
static void library_in_two_contexts(void **state)
{
	CUdeviceptr a, b;
	uint32_t value = 5;
	CUcontext second;
	CUlibrary lib;

	(void)state;
	OK(cuLibraryLoadData(&lib, good, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetGlobal(&a, NULL, lib, "counter"));
	OK(cuMemcpyHtoD(a, &value, 4));
	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuLibraryGetGlobal(&b, NULL, lib, "counter"));
	assert_int_not_equal(a, b);
	OK(cuMemcpyDtoH(&value, b, 4));
	assert_int_equal(value, 41);
	OK(cuCtxDestroy(second));
	OK(cuLibraryUnload(lib));
}

static void logs(void **state)
{
	static const char broken[] = PTX_HEAD ".visible .entry k(.param .u64 p\n{ ret; }\n.global .u32 = ;\n";
	char error[512] = "?", info[64] = "?";
	CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
				CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
				CU_JIT_OPTIMIZATION_LEVEL};
	void *values[] = {error, (void *)sizeof(error), info, (void *)sizeof(info), (void *)4};
	CUmodule m;

	(void)state;
	FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&m, broken, 5, names, values));
	assert_int_equal((size_t)values[1], strlen(error)); /* what was written */
	assert_non_null(strstr(error, ".ptx:"));            /* file:line:column */
	assert_non_null(strstr(error, "error"));
	assert_string_equal(info, "");
	values[1] = (void *)10; /* cut, and terminated */
	memset(error, '!', sizeof(error));
	FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&m, broken, 2, names, values));
	assert_int_equal(strlen(error), 9);
	assert_int_equal(error[10], '!');
	FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&m, good, 1, NULL, NULL));
}

/* A program that gives a log is told all that is wrong in all kernels when it loads; any other, when it asks for the
 * kernel. */
static void many_errors(void **state)
{
	static const char broken[] = PTX_HEAD PTX_FILL ".visible .entry a()\n{\n\t.reg .b32 r<3>;\n\tadd.s32 "
						       "r0, r1;\n\tadd.s32 r0, r1, x;\n\tret;\n}\n"
						       ".visible .entry b()\n{\n\tbra NOWHERE;\n}\n";
	static const char *const said[] = {"'add.s32' has too few operands", "unknown name 'x'",
					   "unknown label 'NOWHERE'",
					   "\tadd.s32 r0, r1, x;\n\t                ^"};
	char error[2048] = "";
	CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {error, (void *)sizeof(error)};
	CUfunction f;
	CUlinkState link;
	CUmodule m;
	void *image;

	(void)state;
	FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&m, broken, 2, names, values));
	for (size_t k = 0; k < sizeof(said) / sizeof(said[0]); k++)
		assert_non_null(strstr(error, said[k]));
	memset(error, 0, sizeof(error));
	values[1] = (void *)sizeof(error);
	OK(cuLinkCreate(2, names, values, &link));
	CUresult added = cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)broken, sizeof(broken), "many.ptx", 0,
				       NULL, NULL);
	assert_true(added == CUDA_ERROR_INVALID_PTX ||
		    cuLinkComplete(link, &image, NULL) == CUDA_ERROR_INVALID_PTX);
	OK(cuLinkDestroy(link));
	assert_non_null(strstr(error, "many.ptx:"));
	for (size_t k = 0; k < sizeof(said) / sizeof(said[0]); k++)
		assert_non_null(strstr(error, said[k]));
	OK(cuModuleLoadData(&m, broken));
	OK(cuModuleGetFunction(&f, m, "fill"));
	FAILS(CUDA_ERROR_INVALID_PTX, cuModuleGetFunction(&f, m, "a"));
	FAILS(CUDA_ERROR_INVALID_PTX, cuModuleGetFunction(&f, m, "b"));
	OK(cuModuleUnload(m));
}

static void one_bad_kernel(void **state)
{
	CUfunction f;
	CUmodule m;

	(void)state;
	OK(cuModuleLoadData(&m, half_bad));
	OK(cuModuleGetFunction(&f, m, "fill"));
	assert_int_not_equal(cuModuleGetFunction(&f, m, "broken"), CUDA_SUCCESS);
	OK(cuModuleUnload(m));
}

static char said[8][1600];
static int nsaid;

static void hear(uint64_t call, const char *line)
{
	(void)call;
	if (nsaid < 8)
		snprintf(said[nsaid++], sizeof(said[0]), "%s", line);
}

/* Each kernel that can't be translated is one message: its name, the place, the reason. */
static void each_bad_kernel_once(void **state)
{
	static const char ptx[] = PTX_HEAD PTX_FILL
		".visible .entry a()\n{\n	frobnicate.u32 %r1, %r2;\n	ret;\n}\n"
		".visible .entry b()\n{\n	.reg .b32 %r<3>;\n	twiddle.u32 %r1, %r2;\n	ret;\n}\n";
	static const char *const names[] = {"a", "b"}, *const ops[] = {"frobnicate", "twiddle"};
	const CUuuid id = CUTRACE_EXTENSION_UUID;
	const struct cutrace_extension *x;
	CUfunction f;
	CUmodule m;

	(void)state;
	OK(cuGetExportTable((const void **)&x, &id));
	OK(cuModuleLoadData(&m, ptx));
	nsaid = 0;
	x->set_message_sink(hear, NULL);
	for (int i = 0; i < 2; i++) {
		char subject[64];

		assert_int_not_equal(cuModuleGetFunction(&f, m, names[i]), CUDA_SUCCESS);
		assert_int_not_equal(cuModuleGetFunction(&f, m, names[i]), CUDA_SUCCESS); /* said once */
		assert_int_equal(nsaid, i + 1);
		snprintf(subject, sizeof(subject), "kernel %s can't be translated: ", names[i]);
		assert_non_null(strstr(said[i], subject));
		assert_non_null(strstr(said[i], ops[i]));
		assert_non_null(strstr(said[i], ".ptx:"));
	}
	x->set_message_sink(NULL, NULL);
	OK(cuModuleGetFunction(&f, m, "fill"));
	OK(cuModuleUnload(m));
}

static void not_code(void **state)
{
	static const char text[] = "this is no module";
	static const unsigned char elf[64] = {0x7f, 'E', 'L',      'F',        2,        1,        1,
					      0x33, 7,   [16] = 2, [18] = 190, [20] = 1, [52] = 64};
	static const struct {
		unsigned at, value; /* a byte of the header (gABI) */
	} damaged[] = {
		{4, 1},   /* EI_CLASS: 32 bits */
		{5, 2},   /* EI_DATA: big-endian */
		{18, 62}, /* e_machine: not a CUDA device */
		{47, 1},  /* e_shoff: far behind the end */
	};
	static const unsigned char noise[256] = "\x7f"
						"ELF no, this only begins like one";
	CUlibrary lib;
	CUmodule m;

	(void)state;
	FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&m, text));
	FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&m, elf)); /* machine code only */
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		char error[200] = "";
		CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
		void *values[] = {error, (void *)sizeof(error)};
		unsigned char image[64];

		memcpy(image, elf, sizeof(elf));
		image[damaged[i].at] = damaged[i].value;
		FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadDataEx(&m, image, 2, names, values));
		assert_non_null(strstr(error, "ELF"));
	}
	FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&m, noise));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&m, NULL));
	FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(NULL, good));
	FAILS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&m, "/nonexistent/x.ptx"));
	FAILS(CUDA_ERROR_INVALID_IMAGE, cuLibraryLoadData(&lib, text, NULL, NULL, 0, NULL, NULL, 0));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload((CUmodule)0x1234));
}

static void from_file(void **state)
{
	char path[] = "/tmp/core_module_XXXXXX";
	CUfunction f;
	CUlibrary lib;
	CUkernel k;
	CUmodule m;
	FILE *out;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	out = fdopen(fd, "w");
	assert_non_null(out);
	fputs(good, out);
	fclose(out);
	OK(cuModuleLoad(&m, path));
	OK(cuModuleGetFunction(&f, m, "fill"));
	OK(cuModuleUnload(m));
	OK(cuLibraryLoadFromFile(&lib, path, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&k, lib, "stray"));
	OK(cuLibraryUnload(lib));
	remove(path);
}

/* A library goes in one thread while a context that has a module of it goes in another. */
struct race {
	pthread_barrier_t start;
	CUcontext ctx;
	CUresult result;
};

static void *destroy_context(void *arg)
{
	struct race *r = arg;

	pthread_barrier_wait(&r->start);
	r->result = cuCtxDestroy(r->ctx);
	return NULL;
}

static void library_and_context_end(void **state)
{
	struct race r;

	(void)state;
	assert_int_equal(pthread_barrier_init(&r.start, NULL, 2), 0);
	for (int k = 0; k < 300; k++) {
		CUcontext ignored;
		CUlibrary lib[2];
		pthread_t thread;
		CUmodule m;

		OK(cuCtxCreate_v2(&r.ctx, 0, 0));
		for (int i = 0; i < 2; i++) {
			OK(cuLibraryLoadData(&lib[i], good, NULL, NULL, 0, NULL, NULL, 0));
			OK(cuLibraryGetModule(&m, lib[i]));
		}
		OK(cuCtxPopCurrent(&ignored));
		assert_int_equal(pthread_create(&thread, NULL, destroy_context, &r), 0);
		pthread_barrier_wait(&r.start);
		OK(cuLibraryUnload(lib[0]));
		OK(cuLibraryUnload(lib[1]));
		pthread_join(thread, NULL);
		OK(r.result);
	}
	pthread_barrier_destroy(&r.start);
}

static void unsupported(void **state)
{
	CUgraph graph;

	(void)state;
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGraphCreate(&graph, 0));
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CONTEXT(globals),        WITH_CONTEXT(functions),
		WITH_CONTEXT(libraries),      WITH_CONTEXT(library_in_two_contexts),
		WITH_CONTEXT(logs),           WITH_CONTEXT(many_errors),
		WITH_CONTEXT(one_bad_kernel), WITH_CONTEXT(each_bad_kernel_once),
		WITH_CONTEXT(not_code),       WITH_CONTEXT(from_file),
		WITH_CONTEXT(unsupported),    WITH_CONTEXT(library_and_context_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
