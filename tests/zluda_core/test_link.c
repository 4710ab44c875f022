/* SPDX-License-Identifier: Apache-2.0
 *
 * cuLink*: several pieces of PTX become one module, which runs; logs and options; fatbins of relocatable device code.
 */
#include "core_test.h"

struct piece {
	const char *name, *text;
};

static CUresult add(CUlinkState link, const char *name, const char *text)
{
	return cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, name, 0, NULL, NULL);
}

static CUmodule link_pieces(const struct piece *p, unsigned n)
{
	CUlinkState link;
	CUmodule m;
	void *image;
	size_t bytes;

	OK(cuLinkCreate(0, NULL, NULL, &link));
	for (unsigned i = 0; i < n; i++)
		OK(add(link, p[i].name, p[i].text));
	OK(cuLinkComplete(link, &image, &bytes));
	assert_true(bytes > 0);
	OK(cuModuleLoadData(&m, image));
	OK(cuLinkDestroy(link)); /* the image goes, the module stays */
	return m;
}

/* One thread; the result is the word at `out`. */
static uint32_t run(CUmodule m, const char *kernel, unsigned shared)
{
	CUdeviceptr out;
	uint32_t result = 0;
	CUfunction f;
	void *args[] = {&out};

	OK(cuModuleGetFunction(&f, m, kernel));
	OK(cuMemAlloc(&out, 4));
	OK(cuMemsetD32(out, 0xdeadbeef, 1));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, shared, NULL, args, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(&result, out, 4));
	OK(cuMemFree(out));
	return result;
}

#define CALL(fn, from, to)                                                                             \
	"	{ .param .b32 a; .param .b32 b;\n	st.param.b32 [a], " from ";\n	call (b), " fn \
	", (a);\n	"                                                                                    \
	"ld.param.b32 " to ", [b]; }\n"
#define KERNEL(name)                                                          \
	".visible .entry " name                                               \
	"(.param .u64 out)\n{\n	.reg .b64 %rd<8>;\n	.reg .b32 %r<8>;\n	.reg " \
	".pred %p<4>;\n	ld.param.u64 %rd1, [out];\n"
#define END        "	st.global.u32 [%rd1], %r1;\n	ret;\n}\n"
#define FUNC(name) "(.param .b32 r) " name " (.param .b32 x)"
#define BODY                                                                                  \
	"\n{\n	.reg .b64 %rd<8>;\n	.reg .b32 %r<8>;\n	.reg .pred %p<4>;\n	ld.param.b32 %r1, " \
	"[x];\n"
#define RETURN "	st.param.b32 [r], %r1;\n	ret;\n}\n"

static void function_calls(void **state)
{
	static const struct piece p[] = {
		{"a.ptx", PTX_HEAD ".extern .func " FUNC("triple") ";\n" KERNEL(
				  "k") "	mov.u32 %r1, 14;\n" CALL("triple", "%r1", "%r1") END},
		{"b.ptx", PTX_HEAD ".extern .func " FUNC("twice") ";\n.visible .func " FUNC("triple")
				  BODY CALL("twice", "%r1", "%r2") "	add.u32 %r1, %r1, %r2;\n" RETURN},
		{"c.ptx",
		 PTX_HEAD ".visible .func " FUNC("twice") BODY "	add.u32 %r1, %r1, %r1;\n" RETURN},
	};
	CUmodule m = link_pieces(p, 3);

	(void)state;
	assert_int_equal(run(m, "k", 0), 42);
	OK(cuModuleUnload(m));
}

/* even(n) = n == 0 ? 1 : odd(n - 1) in one module, odd in the other. */
static void recursion(void **state)
{
#define STEP(self, other, at_zero)                                                                     \
	PTX_HEAD ".extern .func " FUNC(other) ";\n.visible .func " FUNC(self) BODY                     \
		"	setp.eq.u32 %p1, %r1, 0;\n	@%p1 bra ZERO;\n	sub.u32 %r1, %r1, "                      \
		"1;\n" CALL(other, "%r1", "%r1") "	bra DONE;\nZERO:	mov.u32 %r1, " at_zero \
						 ";\nDONE:\n" RETURN
	static const struct piece p[] = {
		{"even.ptx", STEP("even", "odd", "1")},
		{"odd.ptx", STEP("odd", "even", "0")},
		{"k.ptx", PTX_HEAD ".extern .func " FUNC("even") ";\n.extern .func " FUNC("odd") ";\n" KERNEL(
				  "k10") "	mov.u32 %r1, 10;\n" CALL("even", "%r1", "%r1")
				  END KERNEL("k7") "	mov.u32 %r1, 7;\n" CALL("even", "%r1", "%r1") END},
	};
	CUmodule m = link_pieces(p, 3);

	(void)state;
	assert_int_equal(run(m, "k10", 0), 1);
	assert_int_equal(run(m, "k7", 0), 0);
	OK(cuModuleUnload(m));
}

/* A table in one module has functions of another, an initialiser the address of another module's variable. */
static void pointers(void **state)
{
	static const struct piece p[] = {
		{"tables.ptx",
		 PTX_HEAD ".extern .func " FUNC("inc") ";\n.extern .func " FUNC(
			 "dec") ";\n.extern .global .align 4 .b8 data[16];\n"
				".visible .global .u64 table[2] = {inc, dec};\n.visible .global .u64 third = "
				"generic(data)+8;\n"},
		{"code.ptx", PTX_HEAD ".visible .func " FUNC("inc") BODY "	add.u32 %r1, %r1, 1;\n" RETURN
									 ".visible .func " FUNC("dec") BODY
		 "	sub.u32 %r1, %r1, 1;\n" RETURN
		 ".visible .global .align 4 .u32 data[4] = {10, 20, 30, 40};\n"},
		{"k.ptx",
		 PTX_HEAD ".extern .global .u64 table[2];\n.extern .global .u64 third;\n" KERNEL(
			 "k") "	ld.global.u64 %rd2, [third];\n	ld.u32 %r1, [%rd2];\n	ld.global.u64 %rd3, "
			      "[table+8];\n"
			      "	{ .param .b32 a; .param .b32 b;\n	st.param.b32 [a], %r1;\n"
			      "P:	.callprototype (.param .b32 _) _ (.param .b32 _);\n	call (b), "
			      "%rd3, (a), P;\n"
			      "	ld.param.b32 %r1, [b]; }\n" END},
	};
	CUmodule m = link_pieces(p, 3);
	uint64_t third;
	CUdeviceptr at, data;

	(void)state;
	assert_int_equal(run(m, "k", 0), 29);
	OK(cuModuleGetGlobal(&at, NULL, m, "third"));
	OK(cuModuleGetGlobal(&data, NULL, m, "data"));
	OK(cuMemcpyDtoH(&third, at, 8));
	assert_int_equal(third, data + 8);
	OK(cuModuleUnload(m));
}

/* Both modules have a `count` and a `step` of their own, and share a weak and a common variable. */
static void own_names(void **state)
{
#define COUNTER(kernel, start, by)                                                                 \
	PTX_HEAD ".global .u32 count = " start ";\n.weak .global .u32 weak = " start               \
		 ";\n.common .global .u32 both;\n.func " FUNC("step") BODY                         \
		"	add.u32 %r1, %r1, " by ";\n" RETURN                                        \
		KERNEL(kernel) "	ld.global.u32 %r1, [count];\n" CALL(                       \
			"step", "%r1", "%r1") "	st.global.u32 [count], %r1;\n	ld.global.u32 %r2, " \
					      "[both];\n	add.u32 %r2, "                            \
					      "%r2, 1;\n	st.global.u32 [both], %r2;\n" END
	static const struct piece p[] = {
		{"a.ptx", COUNTER("ka", "100", "1")},
		{"b.ptx", COUNTER("kb", "500", "10")},
		{"c.ptx", PTX_HEAD ".common .global .u32 both;\n.extern .global .u32 weak;\n" KERNEL(
				  "kc") "	ld.global.u32 %r1, [both];\n	ld.global.u32 %r2, "
					"[weak];\n	add.u32 %r1, %r1, %r2;\n" END},
	};
	CUmodule m = link_pieces(p, 3);

	(void)state;
	assert_int_equal(run(m, "ka", 0), 101);
	assert_int_equal(run(m, "ka", 0), 102);
	assert_int_equal(run(m, "kb", 0), 510);
	assert_int_equal(run(m, "kc", 0), 3 + 100); /* three launches; the first weak definition */
	OK(cuModuleUnload(m));
}

/* One module writes dynamic shared memory, another reads it under the same name. */
static void dynamic_shared(void **state)
{
	static const struct piece p[] = {
		{"put.ptx", PTX_HEAD ".extern .shared .align 4 .b8 box[];\n.visible .func " FUNC("put") BODY
		 "	st.shared.u32 [box+16], %r1;\n" RETURN},
		{"get.ptx",
		 PTX_HEAD ".extern .shared .align 16 .b8 box[];\n.extern .func " FUNC("put") ";\n" KERNEL(
			 "k") "	mov.u32 %r1, 77;\n" CALL("put", "%r1",
							 "%r2") "	ld.shared.u32 %r1, [box+16];\n" END},
	};
	CUmodule m = link_pieces(p, 2);

	(void)state;
	assert_int_equal(run(m, "k", 32), 77);
	OK(cuModuleUnload(m));
}

static void alias(void **state)
{
	static const struct piece p[] = {
		{"a.ptx", PTX_HEAD ".visible .func " FUNC("real") BODY
		 "	mul.lo.u32 %r1, %r1, 6;\n" RETURN
		 ".visible .func " FUNC("other") ";\n.alias other, real;\n"},
		{"b.ptx", PTX_HEAD ".extern .func " FUNC("other") ";\n" KERNEL(
				  "k") "	mov.u32 %r1, 7;\n" CALL("other", "%r1", "%r1") END},
	};
	CUmodule m = link_pieces(p, 2);

	(void)state;
	assert_int_equal(run(m, "k", 0), 42);
	OK(cuModuleUnload(m));
}

/* One kernel can't be translated: it fails when it is asked for, and names the line of the linked text. */
static void lazy(void **state)
{
	static const struct piece p[] = {
		{"a.ptx", PTX_HEAD ".extern .func " FUNC("f") ";\n" KERNEL(
				  "good") "	mov.u32 %r1, 1;\n" CALL("f", "%r1", "%r1") END
		 ".visible .entry broken()\n{\n	frobnicate.u32 %r1;\n	ret;\n}\n"},
		{"b.ptx", PTX_HEAD ".visible .func " FUNC("f") BODY RETURN},
	};
	CUmodule m = link_pieces(p, 2);
	CUfunction f;

	(void)state;
	assert_int_not_equal(cuModuleGetFunction(&f, m, "broken"), CUDA_SUCCESS);
	assert_int_equal(run(m, "good", 0), 1);
	OK(cuModuleUnload(m));
}

/* ---- errors, logs, options ------------------------------------------------------------------ */

static char error[2000], info[2000];
static CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER,
			       CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
			       CU_JIT_INFO_LOG_BUFFER,
			       CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
			       0,
			       0};
static void *values[6];

static CUlinkState logged(CUjit_option option, uintptr_t value)
{
	CUlinkState link;

	values[0] = error;
	values[1] = (void *)sizeof(error);
	values[2] = info;
	values[3] = (void *)sizeof(info);
	names[4] = option;
	values[4] = (void *)value;
	OK(cuLinkCreate(5, names, values, &link));
	return link;
}

static const char uses_f[] = PTX_HEAD
	".extern .func " FUNC("f") ";\n" KERNEL("k") "	mov.u32 %r1, 14;\n" CALL("f", "%r1", "%r1") END;

static void errors(void **state)
{
	CUlinkState link = logged(CU_JIT_LOG_VERBOSE, 0);
	size_t bytes;
	void *image;

	(void)state;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(link, &image, &bytes)); /* nothing to link */
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLinkAddData(link, CU_JIT_INPUT_PTX, NULL, 4, "x", 0, NULL, NULL));
	FAILS(CUDA_ERROR_NOT_SUPPORTED,
	      cuLinkAddData(link, CU_JIT_INPUT_NVVM, (void *)uses_f, sizeof(uses_f), "x", 0, NULL, NULL));
	FAILS(CUDA_ERROR_FILE_NOT_FOUND,
	      cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nonexistent.ptx", 0, NULL, NULL));
	FAILS(CUDA_ERROR_INVALID_IMAGE, add(link, "noise",
					    "\x7f"
					    "ELF nonsense that only begins like a cubin, and goes on"));
	FAILS(CUDA_ERROR_INVALID_PTX, add(link, "broken.ptx", PTX_HEAD ".visible .entry k(\n"));
	assert_non_null(strstr(error, "broken.ptx:"));
	assert_int_equal((size_t)values[1], strlen(error));
	OK(cuLinkDestroy(link));
	FAILS(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(link));
	FAILS(CUDA_ERROR_INVALID_HANDLE, add(link, "a", uses_f));

	link = logged(CU_JIT_LOG_VERBOSE, 0);
	OK(add(link, "user.ptx", uses_f));
	FAILS(CUDA_ERROR_INVALID_PTX, cuLinkComplete(link, &image, &bytes));
	assert_non_null(strstr(error, "user.ptx:"));
	assert_non_null(strstr(error, "undefined function 'f'"));
	/* what was missing may still come */
	OK(add(link, "f.ptx", PTX_HEAD ".visible .func " FUNC("f") BODY RETURN));
	OK(cuLinkComplete(link, &image, &bytes));
	OK(add(link, "f2.ptx", PTX_HEAD "\n.visible .func " FUNC("f") BODY RETURN));
	FAILS(CUDA_ERROR_INVALID_PTX, cuLinkComplete(link, &image, &bytes));
	assert_non_null(strstr(error, "f2.ptx:5:"));
	assert_non_null(strstr(error, "'f' is defined already in f.ptx:4"));
	OK(cuLinkDestroy(link));
}

static void jit_options(void **state)
{
	CUlinkState link = logged(CU_JIT_MAX_REGISTERS, 32);
	size_t bytes;
	void *image;

	(void)state;
	OK(add(link, "k.ptx", PTX_HEAD PTX_FILL));
	OK(cuLinkComplete(link, &image, &bytes));
	assert_non_null(strstr(info, "CU_JIT_MAX_REGISTERS has no effect"));
	assert_string_equal(image, PTX_HEAD PTX_FILL); /* one text comes out as it went in */
	assert_int_equal(bytes, sizeof(PTX_HEAD PTX_FILL));
	OK(cuLinkDestroy(link));

	link = logged(CU_JIT_LOG_VERBOSE, 1);
	OK(add(link, "k.ptx", PTX_HEAD PTX_FILL));
	OK(cuLinkComplete(link, &image, &bytes));
	assert_non_null(strstr(info, "kernel fill, 16 bytes of parameters"));
	OK(cuLinkDestroy(link));

	link = logged(CU_JIT_TARGET, 70); /* PTX_HEAD is for sm_80 */
	FAILS(CUDA_ERROR_INVALID_PTX, add(link, "k.ptx", PTX_HEAD PTX_FILL));
	assert_non_null(
		strstr(error, "k.ptx: error: this module is for sm_80, CU_JIT_TARGET asks for sm_70"));
	OK(cuLinkDestroy(link));
	link = logged(CU_JIT_TARGET, 90);
	OK(add(link, "k.ptx", PTX_HEAD PTX_FILL));
	OK(cuLinkDestroy(link));
	OK(cuLinkDestroy(logged(CU_JIT_GENERATE_LINE_INFO, 1)));
	names[4] = (CUjit_option)1000;
	FAILS(CUDA_ERROR_INVALID_VALUE, cuLinkCreate(5, names, values, &link));
	names[4] = CU_JIT_GLOBAL_SYMBOL_COUNT;
	values[4] = (void *)1;
	FAILS(CUDA_ERROR_NOT_SUPPORTED, cuLinkCreate(5, names, values, &link));
}

/* ---- fatbins -------------------------------------------------------------------------------------- */

/* A container with one entry of stored PTX: docs/format.md, "Code images". */
static size_t container(unsigned char *at, const char *ptx, uint32_t arch)
{
	const uint32_t magic = 0xba55ed50, header = 64;
	const uint16_t version = 1, header_bytes = 16, kind = 1, entry_version = 0x0101;
	const uint64_t flags = 0x11;
	uint64_t payload = (strlen(ptx) + 8) & ~7ull, total = header + payload;

	memset(at, 0, 16 + total);
	memcpy(at, &magic, 4);
	memcpy(at + 4, &version, 2);
	memcpy(at + 6, &header_bytes, 2);
	memcpy(at + 8, &total, 8);
	at += 16;
	memcpy(at, &kind, 2);
	memcpy(at + 2, &entry_version, 2);
	memcpy(at + 4, &header, 4);
	memcpy(at + 8, &payload, 8);
	memcpy(at + 0x1c, &arch, 4);
	memcpy(at + 0x28, &flags, 8);
	memcpy(at + header, ptx, strlen(ptx));
	return 16 + total;
}

static const char defines_f[] =
	PTX_HEAD ".visible .func " FUNC("f") BODY "	mul.lo.u32 %r1, %r1, 3;\n" RETURN;

/* Containers one after the other, as a trace keeps them, and a version 2 wrapper with a list, as a program has
 * them; a container for newer devices only, as nvcc adds one, is not needed. */
static void relocatable(void **state)
{
	static const char newer[] =
		".version 9.0\n.target sm_121\n.address_size 64\n.visible .func g() { ret; }\n";
	static unsigned char all[3][4096], empty[16];
	struct {
		uint32_t magic, version;
		const void *data;
		const void *list;
	} wrapper = {0x466243b1, 2, empty, NULL};
	const void *list[] = {all[0], all[1], all[2], NULL};
	CUlinkState link;
	CUlibrary lib;
	CUkernel kernel;
	size_t bytes, n;
	void *image;
	CUmodule m;

	(void)state;
	container(all[0], uses_f, 80);
	container(all[1], defines_f, 80);
	n = container(all[2], newer, 121);
	memcpy(empty, "\x50\xed\x55\xba\x01\0\x10\0\0\0\0\0\0\0\0\0", 16);
	wrapper.list = list;
	OK(cuModuleLoadData(&m, &wrapper));
	assert_int_equal(run(m, "k", 0), 42);
	OK(cuModuleUnload(m));
	OK(cuLibraryLoadData(&lib, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, lib, "k"));
	OK(cuLibraryUnload(lib));
	container(all[0], uses_f, 120); /* all are for newer devices: those that come nearest */
	container(all[1], defines_f, 120);
	OK(cuModuleLoadData(&m, &wrapper));
	assert_int_equal(run(m, "k", 0), 42);
	OK(cuModuleUnload(m));
	container(all[0], uses_f, 80);
	list[1] = all[2]; /* what is missing is only in PTX for newer devices, or nowhere */
	FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&m, &wrapper));
	OK(cuLinkCreate(0, NULL, NULL, &link));
	n = container(all[2], uses_f, 80);
	OK(cuLinkAddData(link, CU_JIT_INPUT_FATBINARY, all[2], n, "k", 0, NULL, NULL));
	OK(add(link, "f.ptx", defines_f));
	OK(cuLinkComplete(link, &image, &bytes));
	OK(cuModuleLoadData(&m, image));
	assert_int_equal(run(m, "k", 0), 42);
	OK(cuModuleUnload(m));
	OK(cuLinkDestroy(link));
}

/* A linked library has variables of its own in each context. */
static void two_contexts(void **state)
{
	static const char counter[] = PTX_HEAD ".extern .func " FUNC("f") ";\n.global .u32 n = 14;\n" KERNEL(
		"k") "	ld.global.u32 %r1, [n];\n" CALL("f", "%r1",
							"%r1") "	st.global.u32 [n], %r1;\n" END;
	CUcontext second;
	CUlinkState link;
	CUlibrary lib;
	CUmodule m;
	void *image;

	(void)state;
	OK(cuLinkCreate(0, NULL, NULL, &link));
	OK(add(link, "k.ptx", counter));
	OK(add(link, "f.ptx", defines_f));
	OK(cuLinkComplete(link, &image, NULL));
	OK(cuLibraryLoadData(&lib, image, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLinkDestroy(link));
	for (int i = 0; i < 2; i++) {
		OK(cuLibraryGetModule(&m, lib));
		assert_int_equal(run(m, "k", 0), 42);
		assert_int_equal(run(m, "k", 0), 126);
		if (!i)
			OK(cuCtxCreate_v2(&second, 0, 0));
	}
	OK(cuCtxDestroy(second));
	OK(cuLibraryUnload(lib));
}

static void from_file(void **state)
{
	char path[] = "/tmp/core_link_XXXXXX";
	int fd = mkstemp(path);
	CUlinkState link;
	CUmodule m;
	FILE *out;
	void *image;

	(void)state;
	assert_true(fd >= 0);
	out = fdopen(fd, "w");
	assert_non_null(out);
	fputs(defines_f, out);
	fclose(out);
	OK(cuLinkCreate(0, NULL, NULL, &link));
	OK(add(link, "k.ptx", uses_f));
	OK(cuLinkAddFile(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
	OK(cuLinkComplete(link, &image, NULL));
	OK(cuModuleLoadData(&m, image));
	assert_int_equal(run(m, "k", 0), 42);
	OK(cuModuleUnload(m));
	OK(cuLinkDestroy(link));
	remove(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CONTEXT(function_calls), WITH_CONTEXT(recursion),      WITH_CONTEXT(pointers),
		WITH_CONTEXT(own_names),      WITH_CONTEXT(dynamic_shared), WITH_CONTEXT(alias),
		WITH_CONTEXT(lazy),           WITH_CONTEXT(errors),         WITH_CONTEXT(jit_options),
		WITH_CONTEXT(relocatable),    WITH_CONTEXT(two_contexts),   WITH_CONTEXT(from_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
