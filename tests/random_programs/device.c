/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/driver/cu.h"

#define DRIVER_FUNCTIONS(F)                                                                           \
	F(cuInit)                                                                                     \
	F(cuDeviceGet)                                                                                \
	F(cuCtxCreate_v2)                                                                             \
	F(cuCtxDestroy_v2)                                                                            \
	F(cuCtxSynchronize)                                                                           \
	F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) F(cuMemAlloc_v2) F(cuMemFree_v2) \
		F(cuMemcpyHtoD_v2) F(cuMemcpyDtoH_v2) F(cuLaunchKernel)

static struct {
	void *library;
	CUcontext context;
	CUdeviceptr in, out;
#define MEMBER(name) __typeof__(name) *name;
	DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
} cu;

static bool find_functions(void)
{
#define FIND(name)                                                                 \
	*(void **)&cu.name = dlsym(cu.library, #name);                             \
	if (!cu.name) {                                                            \
		fprintf(stderr, "random_programs: the driver has no %s\n", #name); \
		return false;                                                      \
	}
	DRIVER_FUNCTIONS(FIND)
#undef FIND
	return true;
}

/* A new one, with the buffers. */
static bool open_context(void)
{
	CUdevice device;

	if (cu.context)
		cu.cuCtxDestroy_v2(cu.context);
	cu.context = NULL;
	return !cu.cuDeviceGet(&device, 0) && !cu.cuCtxCreate_v2(&cu.context, 0, device) &&
	       !cu.cuMemAlloc_v2(&cu.in, PROGRAM_CELLS * 8) && !cu.cuMemAlloc_v2(&cu.out, PROGRAM_CELLS * 8);
}

bool device_open(const char *driver_path)
{

	cu.library = dlopen(driver_path, RTLD_NOW | RTLD_LOCAL);
	if (!cu.library) {
		fprintf(stderr, "random_programs: %s\n", dlerror());
		return false;
	}
	if (!find_functions())
		return false;
	if (cu.cuInit(0) || !open_context()) {
		fprintf(stderr, "random_programs: %s has no device to run on\n", driver_path);
		return false;
	}
	return true;
}

void device_close(void)
{
	if (cu.context)
		cu.cuCtxDestroy_v2(cu.context);
}

static int launch(CUmodule module, const uint64_t *in, uint64_t *out, const char **what)
{
	CUfunction function;
	int code;

	if ((*what = "cuModuleGetFunction", code = cu.cuModuleGetFunction(&function, module, "program")) ||
	    (*what = "cuMemcpyHtoD", code = cu.cuMemcpyHtoD_v2(cu.in, in, PROGRAM_CELLS * 8)) ||
	    (*what = "cuMemcpyHtoD", code = cu.cuMemcpyHtoD_v2(cu.out, out, PROGRAM_CELLS * 8)) ||
	    (*what = "cuLaunchKernel", code = cu.cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0,
								NULL, (void *[]){&cu.in, &cu.out}, NULL)) ||
	    (*what = "cuCtxSynchronize", code = cu.cuCtxSynchronize()) ||
	    (*what = "cuMemcpyDtoH", code = cu.cuMemcpyDtoH_v2(out, cu.out, PROGRAM_CELLS * 8)))
		return code;
	return 0;
}

bool device_run(const char *ptx, const uint64_t *in, uint64_t *out, const char **what, int *code)
{
	CUmodule module;

	*what = "cuModuleLoadData";
	*code = cu.cuModuleLoadData(&module, ptx);
	if (*code)
		return false;
	*code = launch(module, in, out, what);
	cu.cuModuleUnload(module);
	/* A fault stays in its context; the next program has another one. */
	if (*code)
		open_context();
	return *code == 0;
}

enum { OUT_BYTES = PROGRAM_CELLS * 8 };

void device_addresses(uint64_t *out, uint64_t *in)
{
	*out = cu.out;
	*in = cu.in;
}

bool device_launch(const char *ptx, const char *kernel, const struct device_launch *l, const void *params,
		   size_t param_bytes, const void *in, size_t in_bytes, const void *before, void *after,
		   size_t out_bytes, const char **what, int *code)
{
	/* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END */
	void *extra[] = {(void *)1, (void *)(uintptr_t)params, (void *)2, &param_bytes, NULL};
	CUmodule module;
	CUfunction f;

	*what = "the buffers are too small";
	*code = 0;
	if (in_bytes > OUT_BYTES || out_bytes > OUT_BYTES)
		return false;
	*what = "cuModuleLoadData";
	*code = cu.cuModuleLoadData(&module, ptx);
	if (*code)
		return false;
	if ((*what = "cuModuleGetFunction", *code = cu.cuModuleGetFunction(&f, module, kernel)) ||
	    (*what = "cuMemcpyHtoD", *code = cu.cuMemcpyHtoD_v2(cu.in, in, in_bytes)) ||
	    (*what = "cuMemcpyHtoD", *code = cu.cuMemcpyHtoD_v2(cu.out, before, out_bytes)) ||
	    (*what = "cuLaunchKernel",
	     *code = cu.cuLaunchKernel(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
				       l->block[2], 0, NULL, NULL, extra)) ||
	    (*what = "cuCtxSynchronize", *code = cu.cuCtxSynchronize()) ||
	    (*what = "cuMemcpyDtoH", *code = cu.cuMemcpyDtoH_v2(after, cu.out, out_bytes)))
		return false;
	cu.cuModuleUnload(module);
	return true;
}

/* Runs the compiler without a shell in between. */
static int run_command(char *const argv[])
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -1;
	if (child == 0) {
		execvp(argv[0], argv);
		fprintf(stderr, "random_programs: can't run %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool write_source(const struct native *n, const struct program *programs, unsigned count)
{
	FILE *out = fopen(n->source, "w");

	if (!out)
		return false;
	fprintf(out, "#include \"together.h\"\n");
	for (unsigned i = 0; i < count; i++)
		program_emit_c(&programs[i], i, out);
	return fclose(out) == 0;
}

bool native_compile(struct native *n, const char *compiler, const char *folder,
		    const struct program *programs, unsigned count)
{
	static unsigned serial;
	int status;

	snprintf(n->source, sizeof(n->source), "%s/programs_%u.c", folder, serial);
	snprintf(n->object, sizeof(n->object), "%s/programs_%u.so", folder, serial++);
	if (!write_source(n, programs, count)) {
		fprintf(stderr, "random_programs: can't write %s: %s\n", n->source, strerror(errno));
		return false;
	}
	/* -fwrapv: PTX integers wrap. Contraction and x87 would change what is computed. */
	status = run_command((char *[]){(char *)compiler, "-std=gnu11", "-O0", "-w", "-shared", "-fPIC",
					"-fwrapv", "-ffp-contract=off", "-frounding-math",
					"-fno-strict-aliasing", "-I" RANDOM_PROGRAMS_INCLUDE, "-o", n->object,
					n->source, "-lm", NULL});
	n->library = status == 0 ? dlopen(n->object, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!n->library)
		fprintf(stderr, "random_programs: the C compiler does not make a library of %s (status %d)\n",
			n->source, status);
	return n->library != NULL;
}

void native_run(const struct native *n, unsigned number, const uint64_t *in, uint64_t *out)
{
	void (*program)(const uint64_t *, uint64_t *);
	char name[32];

	snprintf(name, sizeof(name), "program_%u", number);
	*(void **)&program = dlsym(n->library, name);
	if (program)
		program(in, out);
}

void native_close(struct native *n)
{
	if (n->library)
		dlclose(n->library);
	unlink(n->source);
	unlink(n->object);
	n->library = NULL;
}
