/* SPDX-License-Identifier: Apache-2.0 */
#include "device_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_text.h"
#include "tests/programs/driver/cu.h"

/* cuModuleLoadDataEx and cuFuncSetAttribute of the driver API reference, which cu.h lacks. */
enum { JIT_ERROR_LOG_BUFFER = 5, JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6 };
enum { FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
enum { STATIC_SHARED_BYTES = 48 << 10 }; /* what a kernel may have without asking */
#define LAUNCH_PARAM_END     ((void *)0)
#define LAUNCH_PARAM_POINTER ((void *)1)
#define LAUNCH_PARAM_SIZE    ((void *)2)

typedef CUresult load_with_options(CUmodule *module, const void *image, unsigned n, int *options,
				   void **values);
typedef CUresult set_function_attribute(CUfunction function, int attribute, int value);
typedef CUresult fill_bytes(CUdeviceptr dst, unsigned char value, size_t count);
typedef CUresult fill_halves(CUdeviceptr dst, unsigned short value, size_t count);
typedef CUresult error_name(CUresult error, const char **name);

struct entries {
	__typeof__(cuInit) *cuInit;
	__typeof__(cuDeviceGet) *cuDeviceGet;
	__typeof__(cuCtxCreate_v2) *cuCtxCreate_v2;
	__typeof__(cuCtxDestroy_v2) *cuCtxDestroy_v2;
	__typeof__(cuCtxSynchronize) *cuCtxSynchronize;
	__typeof__(cuMemAlloc_v2) *cuMemAlloc_v2;
	__typeof__(cuMemcpyHtoD_v2) *cuMemcpyHtoD_v2;
	__typeof__(cuMemcpyDtoH_v2) *cuMemcpyDtoH_v2;
	__typeof__(cuMemsetD32_v2) *cuMemsetD32_v2;
	__typeof__(cuModuleUnload) *cuModuleUnload;
	__typeof__(cuModuleGetFunction) *cuModuleGetFunction;
	__typeof__(cuLaunchKernel) *cuLaunchKernel;
	load_with_options *cuModuleLoadDataEx;
	set_function_attribute *cuFuncSetAttribute;
	fill_bytes *cuMemsetD8_v2;
	fill_halves *cuMemsetD16_v2;
	error_name *cuGetErrorName;
};

#define ENTRY(name)                                   \
	{                                             \
#		name, offsetof(struct entries, name) \
	}
static const struct {
	const char *name;
	size_t at;
} names[] = {
	ENTRY(cuInit),
	ENTRY(cuDeviceGet),
	ENTRY(cuCtxCreate_v2),
	ENTRY(cuCtxDestroy_v2),
	ENTRY(cuCtxSynchronize),
	ENTRY(cuMemAlloc_v2),
	ENTRY(cuMemcpyHtoD_v2),
	ENTRY(cuMemcpyDtoH_v2),
	ENTRY(cuMemsetD32_v2),
	ENTRY(cuModuleUnload),
	ENTRY(cuModuleGetFunction),
	ENTRY(cuLaunchKernel),
	ENTRY(cuModuleLoadDataEx),
	ENTRY(cuFuncSetAttribute),
	ENTRY(cuMemsetD8_v2),
	ENTRY(cuMemsetD16_v2),
	ENTRY(cuGetErrorName),
};

struct device {
	struct entries fn;
	CUcontext context;
	CUdeviceptr window; /* one allocation */
	uint64_t window_bytes;
	char options[512];
	const char *driver, *target, *version;
};

struct dev_mem {
	uint64_t bytes;
};

struct dev_kernel {
	char name[256];
	CUmodule module;
	CUfunction function;
};

struct dev_module {
	struct device *dev;
	struct kernel_texts *texts;
	struct dev_kernel kernel; /* the one in use: a driver keeps much for each */
};

static int failed(const struct device *dev, CUresult error, const char *call, struct diag *d)
{
	const char *name = NULL;

	if (!error)
		return 0;
	if (dev->fn.cuGetErrorName(error, &name) || !name)
		name = "unknown";
	return diag_set(d, CUTRACE_EINVAL, "", "%s: %s (%d)", call, name, error);
}

/* ---- opening ---------------------------------------------------------------------------------- */

static int read_options(struct device *dev, const char *options, struct diag *d)
{
	char *rest = dev->options, *word;

	dev->driver = "libcuda.so.1";
	if (options && strlen(options) >= sizeof(dev->options))
		return diag_set(d, CUTRACE_EINVAL, "", "the options are too long");
	strcpy(dev->options, options ? options : "");
	while ((word = strsep(&rest, ",")) != NULL) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		if (value && !strcmp(word, "driver"))
			dev->driver = value;
		else if (value && !strcmp(word, "target"))
			dev->target = value;
		else if (value && !strcmp(word, "version"))
			dev->version = value;
		else if (*word)
			return diag_set(d, CUTRACE_EINVAL, "", "there is no option %s", word);
	}
	return 0;
}

/* The library stays: drivers have threads. */
static int load_driver(struct device *dev, struct diag *d)
{
	void *library = dlopen(dev->driver, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return diag_set(d, CUTRACE_ENOENT, dev->driver, "%s", dlerror());
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		void *entry = dlsym(library, names[k].name);

		if (!entry)
			return diag_set(d, CUTRACE_ENOTSUP, dev->driver, "it has no %s", names[k].name);
		memcpy((char *)&dev->fn + names[k].at, &entry, sizeof(entry));
	}
	return 0;
}

static void cuda_close(struct device *dev)
{
	if (dev->context)
		dev->fn.cuCtxDestroy_v2(dev->context); /* its memory goes with it */
	free(dev);
}

static int cuda_open(struct device **out, unsigned ordinal, const char *options, const struct dev_host *host,
		     struct diag *d)
{
	struct device *dev = calloc(1, sizeof(*dev));
	CUdevice device;
	int rc;

	(void)host; /* what kernels print goes to stdout */
	if (!dev)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	rc = read_options(dev, options, d);
	rc = rc ? rc : load_driver(dev, d);
	rc = rc ? rc : failed(dev, dev->fn.cuInit(0), "cuInit", d);
	rc = rc ? rc : failed(dev, dev->fn.cuDeviceGet(&device, (int)ordinal), "cuDeviceGet", d);
	rc = rc ? rc : failed(dev, dev->fn.cuCtxCreate_v2(&dev->context, 0, device), "cuCtxCreate", d);
	if (rc)
		cuda_close(dev);
	else
		*out = dev;
	return rc;
}

/* ---- memory: all of it lies in one allocation ----------------------------------------------------- */

static int cuda_window(struct device *dev, uint64_t *base, uint64_t *bytes, struct diag *d)
{
	int rc = failed(dev, dev->fn.cuMemAlloc_v2(&dev->window, *bytes), "cuMemAlloc", d);

	dev->window_bytes = *bytes;
	*base = dev->window;
	return rc;
}

static int cuda_mem_create(struct device *dev, uint64_t bytes, struct dev_mem **out, struct diag *d)
{
	(void)dev;
	*out = malloc(sizeof(**out));
	if (!*out)
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	(*out)->bytes = bytes;
	return 0;
}

static void cuda_mem_destroy(struct device *dev, struct dev_mem *mem)
{
	(void)dev;
	free(mem);
}

static int cuda_map(struct device *dev, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
		    bool adjacent, struct diag *d)
{
	(void)mem;
	(void)offset;
	(void)adjacent;
	if (addr >= dev->window && addr - dev->window <= dev->window_bytes &&
	    bytes <= dev->window_bytes - (addr - dev->window))
		return 0;
	return diag_set(d, CUTRACE_EINVAL, "", "%#llx is outside of the device's window",
			(unsigned long long)addr);
}

static int cuda_unmap(struct device *dev, uint64_t addr, uint64_t bytes, struct diag *d)
{
	(void)dev;
	(void)addr;
	(void)bytes;
	(void)d;
	return 0;
}

static int cuda_read(struct device *dev, void *dst, uint64_t src, uint64_t bytes, struct diag *d)
{
	return failed(dev, dev->fn.cuMemcpyDtoH_v2(dst, src, bytes), "cuMemcpyDtoH", d);
}

static int cuda_write(struct device *dev, uint64_t dst, const void *src, uint64_t bytes, struct diag *d)
{
	return failed(dev, dev->fn.cuMemcpyHtoD_v2(dst, src, bytes), "cuMemcpyHtoD", d);
}

static int cuda_fill(struct device *dev, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		     struct diag *d)
{
	CUresult error = width == 1   ? dev->fn.cuMemsetD8_v2(dst, (unsigned char)value, count)
			 : width == 2 ? dev->fn.cuMemsetD16_v2(dst, (unsigned short)value, count)
				      : dev->fn.cuMemsetD32_v2(dst, value, count);

	return failed(dev, error, "cuMemset", d);
}

/* ---- code ----------------------------------------------------------------------------------------- */

static int cuda_module_load(struct device *dev, struct ptx_module *m, const struct dev_module_env *env,
			    struct dev_module **out, struct diag *d)
{
	struct dev_module *loaded = calloc(1, sizeof(*loaded));

	(void)env; /* the driver places variables */
	if (loaded)
		loaded->texts = kernel_texts_open(m->text, m->text_bytes);
	if (!loaded || !loaded->texts) {
		free(loaded);
		return diag_set(d, CUTRACE_ENOMEM, "", "out of memory");
	}
	loaded->dev = dev;
	*out = loaded;
	return 0;
}

static void drop_kernel(struct dev_module *m)
{
	if (m->kernel.module)
		m->dev->fn.cuModuleUnload(m->kernel.module);
	memset(&m->kernel, 0, sizeof(m->kernel));
}

static void cuda_module_unload(struct device *dev, struct dev_module *m)
{
	(void)dev;
	drop_kernel(m);
	kernel_texts_close(m->texts);
	free(m);
}

/* Any reason of the driver's is a refusal: it knows what its hardware has. */
static int compile(struct dev_module *m, const char *text, const char *name, struct diag *d)
{
	static char log[1024];
	int options[] = {JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	const struct entries *fn = &m->dev->fn;
	CUresult error;

	log[0] = '\0';
	error = fn->cuModuleLoadDataEx(&m->kernel.module, text, 2, options, values);
	if (!error)
		error = fn->cuModuleGetFunction(&m->kernel.function, m->kernel.module, name);
	if (!error)
		return 0;
	failed(m->dev, error, "cuModuleLoadDataEx", d);
	if (log[0])
		diag_set(d, CUTRACE_ENOTSUP, name, "%s", log);
	return d->code = CUTRACE_ENOTSUP;
}

static int cuda_kernel_get(struct device *dev, struct dev_module *m, const char *name,
			   struct dev_kernel **out, struct diag *d)
{
	char *text;
	int rc;

	*out = &m->kernel;
	if (m->kernel.function && !strcmp(m->kernel.name, name))
		return 0;
	drop_kernel(m);
	text = kernel_text(m->texts, name, dev->version, dev->target);
	if (!text)
		return diag_set(d, CUTRACE_ENOENT, name, "there is no such kernel");
	snprintf(m->kernel.name, sizeof(m->kernel.name), "%s", name);
	rc = compile(m, text, name, d);
	free(text);
	return rc;
}

static enum dev_fault_kind fault_kind(CUresult error)
{
	switch (error) {
	case 700: return DEV_FAULT_ILLEGAL_ADDRESS; /* CUDA_ERROR_ILLEGAL_ADDRESS */
	case 702: return DEV_FAULT_TIMEOUT;         /* CUDA_ERROR_LAUNCH_TIMEOUT */
	case 710: return DEV_FAULT_ASSERT;          /* CUDA_ERROR_ASSERT */
	case 715:                                   /* CUDA_ERROR_ILLEGAL_INSTRUCTION */
	case 719: return DEV_FAULT_TRAP;            /* CUDA_ERROR_LAUNCH_FAILED */
	default: return DEV_FAULT_INTERNAL;
	}
}

static int cuda_launch(struct device *dev, const struct dev_launch *l, struct dev_fault *fault)
{
	size_t bytes = l->param_bytes;
	void *extra[] = {LAUNCH_PARAM_POINTER, (void *)l->params, LAUNCH_PARAM_SIZE, &bytes,
			 LAUNCH_PARAM_END};
	CUfunction function = l->kernel->function;
	const uint32_t *g = l->grid, *b = l->block;
	const char *call = "cuLaunchKernel";
	struct diag d = DIAG_INIT;
	CUresult error = 0;

	if (l->shared_bytes > STATIC_SHARED_BYTES)
		error = dev->fn.cuFuncSetAttribute(function, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES,
						   (int)l->shared_bytes);
	if (!error)
		error = dev->fn.cuLaunchKernel(function, g[0], g[1], g[2], b[0], b[1], b[2], l->shared_bytes,
					       NULL, NULL, extra);
	if (!error) {
		call = "cuCtxSynchronize";
		error = dev->fn.cuCtxSynchronize();
	}
	if (!failed(dev, error, call, &d))
		return 0;
	fault->kind = fault_kind(error);
	snprintf(fault->message, sizeof(fault->message), "%s", d.what);
	return CUTRACE_EINVAL;
}

const struct device_ops device_cuda = {
	.name = "cuda",
	.open = cuda_open,
	.close = cuda_close,
	.window = cuda_window,
	.mem_create = cuda_mem_create,
	.mem_destroy = cuda_mem_destroy,
	.map = cuda_map,
	.unmap = cuda_unmap,
	.read = cuda_read,
	.write = cuda_write,
	.fill = cuda_fill,
	.module_load = cuda_module_load,
	.module_unload = cuda_module_unload,
	.kernel_get = cuda_kernel_get,
	.launch = cuda_launch,
};
