/* SPDX-License-Identifier: Apache-2.0
 *
 * backend: how an AMD GPU is reached. zluda_core/device_amd/ is all of a device (zluda_core/device.h) that is the same
 * for every AMD GPU: code objects, kernarg segments, the run-time block, printf, faults, textures. Under it is one of
 * these tables: the emulator (zluda_core/device_amdemu/) or HIP (zluda_core/device_hip/).
 *
 * A backend owns memory and loaded code. It knows nothing of PTX, of modules or of the core. Functions return 0 or a
 * CUTRACE_E* code with *diag filled, and may be called from several threads at once. What is marked optional may be
 * NULL.
 */
#ifndef CUTRACE_AMD_BACKEND_H
#define CUTRACE_AMD_BACKEND_H

#include "zluda_core/device.h"

struct amd_backend; /* one opened GPU */
struct amd_code;    /* a loaded code object */
struct amd_function;
struct service;

struct amd_properties {
	char name[96];   /* "AMD Instinct MI210" */
	char target[24]; /* "gfx90a", without features behind a colon */
	uint8_t uuid[16];
	uint64_t total_bytes;
	uint32_t compute_units, clock_khz, mem_clock_khz, bus_width_bits, l2_bytes;
	uint32_t lds_bytes; /* of a block */
	uint32_t threads_per_cu, max_threads_per_block;
	uint32_t timer_khz; /* of the constant-rate counter */
	bool cooperative;
};

struct amd_launch {
	struct amd_function *function;
	uint32_t grid[3], block[3]; /* blocks; threads of one */
	uint32_t dynamic_lds;
	bool cooperative;
	uint64_t run_block;  /* address of the launch's run-time block (ptx/lower/runtime.h), or 0 */
	const void *kernarg; /* without hidden arguments: these are the backend's */
	uint32_t kernarg_bytes;
};

/* Why a launch failed. The device adds the kernel, the line's text and the nearest allocation. */
struct amd_backend_fault {
	enum dev_fault_kind kind;
	bool has_place, has_address;
	uint32_t line; /* of the PTX text, by the code object's line table; 0: not known */
	uint32_t block[3], thread[3];
	uint64_t address;
	uint32_t access_bytes; /* 0: not known */
	bool is_store, is_atomic;
	char space[16];    /* "global", "shared", "local"; empty: not known */
	char message[512]; /* the backend's own words */
};

struct amd_backend_ops {
	const char *name; /* "amdemu", "hip": also the device's */

	/* options: what follows "NAME:", as key=value or words, separated by commas; without `devices=`. */
	int (*open)(struct amd_backend **out, unsigned ordinal, const char *options, struct diag *d);
	void (*close)(struct amd_backend *b);
	void (*properties)(struct amd_backend *b, struct amd_properties *out);

	/* As in device.h. */
	int (*mem_create)(struct amd_backend *b, uint64_t bytes, struct dev_mem **out, struct diag *d);
	int (*mem_import_host)(struct amd_backend *b, void *host, uint64_t bytes, struct dev_mem **out,
			       struct diag *d);
	void (*mem_destroy)(struct amd_backend *b, struct dev_mem *mem);
	int (*map)(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
		   bool adjacent, struct diag *d);
	int (*unmap)(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d);
	void *(*host_view)(struct amd_backend *b, uint64_t addr, uint64_t bytes); /* optional */
	int (*read)(struct amd_backend *b, void *dst, uint64_t src, uint64_t bytes, struct diag *d);
	int (*write)(struct amd_backend *b, uint64_t dst, const void *src, uint64_t bytes, struct diag *d);
	int (*copy)(struct amd_backend *b, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d);
	int (*fill)(struct amd_backend *b, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		    struct diag *d);
	/* The allocation around or next to an address; false when there is none. Optional. */
	bool (*nearest)(struct amd_backend *b, uint64_t addr, uint64_t *base, uint64_t *bytes);

	/* Memory for the device itself (run-time block, print buffer, heap, textures), at an address that the backend
	 * chooses outside of the core's window, zero; *host: a view of it, or NULL where there is none. */
	int (*own_alloc)(struct amd_backend *b, uint64_t bytes, uint64_t *addr, void **host, struct diag *d);
	void (*own_free)(struct amd_backend *b, uint64_t addr);

	/* For backends that look into code, at once after open: the disassembler of zluda_core/compiler/service.h.
	 * Optional. */
	int (*set_service)(struct amd_backend *b, struct service *s, struct diag *d);
	/* Code. One kernel per code object. */
	int (*code_load)(struct amd_backend *b, const void *code_object, size_t bytes, struct amd_code **out,
			 struct diag *d);
	void (*code_unload)(struct amd_backend *b, struct amd_code *code);
	int (*code_function)(struct amd_backend *b, struct amd_code *code, const char *name,
			     struct amd_function **out, struct diag *d);

	/* To its end. CUTRACE_EINVAL with *fault filled when it failed. */
	int (*launch)(struct amd_backend *b, const struct amd_launch *l, struct amd_backend_fault *fault);

	/* Switches of device.h's control that are the backend's: "deterministic", "watchdog_ms", ... Optional. */
	int (*control)(struct amd_backend *b, const char *key, const char *value, struct diag *d);
	/* As in device.h, optional. */
	int (*window)(struct amd_backend *b, uint64_t *base, uint64_t *bytes, struct diag *d);
	int (*host_alloc)(struct amd_backend *b, uint64_t bytes, bool managed, void **host,
			  struct dev_mem **out, struct diag *d);
	uint64_t (*mem_address)(struct amd_backend *b, struct dev_mem *mem);
};

/* The functions of device.h over a backend. A device of this kind is `const struct device_ops device_NAME`, filled in by
 * AMD_DEVICE_OPS with an open function that calls amd_device_open with its table. */
int amd_device_open(const struct amd_backend_ops *ops, struct device **out, unsigned ordinal,
		    const char *options, const struct dev_host *host, struct diag *d);
void amd_device_close(struct device *dev);
void amd_device_props(struct device *dev, struct dev_props *out);
int amd_device_mem_create(struct device *dev, uint64_t bytes, struct dev_mem **out, struct diag *d);
int amd_device_mem_import(struct device *dev, void *host, uint64_t bytes, struct dev_mem **out,
			  struct diag *d);
void amd_device_mem_destroy(struct device *dev, struct dev_mem *mem);
int amd_device_map(struct device *dev, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
		   bool adjacent, struct diag *d);
int amd_device_unmap(struct device *dev, uint64_t addr, uint64_t bytes, struct diag *d);
void *amd_device_host_view(struct device *dev, uint64_t addr, uint64_t bytes);
int amd_device_module_load(struct device *dev, struct ptx_module *m, const struct dev_module_env *env,
			   struct dev_module **out, struct diag *d);
void amd_device_module_unload(struct device *dev, struct dev_module *m);
int amd_device_kernel_get(struct device *dev, struct dev_module *m, const char *name, struct dev_kernel **out,
			  struct diag *d);
void amd_device_kernel_info(struct device *dev, struct dev_kernel *k, struct dev_kernel_info *out);
int amd_device_launch(struct device *dev, const struct dev_launch *l, struct dev_fault *fault);
int amd_device_read(struct device *dev, void *dst, uint64_t src, uint64_t bytes, struct diag *d);
int amd_device_write(struct device *dev, uint64_t dst, const void *src, uint64_t bytes, struct diag *d);
int amd_device_copy(struct device *dev, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d);
int amd_device_fill(struct device *dev, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		    struct diag *d);
int amd_device_control(struct device *dev, const char *key, const char *value, struct diag *d);
bool amd_device_watch_result(struct device *dev, struct dev_watch_hit *out);
uint64_t amd_device_func_address(struct device *dev, struct dev_module *m, uint32_t func);
int amd_device_texture_set(struct device *dev, const struct dev_texture *t, struct diag *d);

/* window.c: for tables that have these of their backend. */
int amd_device_window(struct device *dev, uint64_t *base, uint64_t *bytes, struct diag *d);
int amd_device_host_alloc(struct device *dev, uint64_t bytes, bool managed, void **host, struct dev_mem **out,
			  struct diag *d);
uint64_t amd_device_mem_address(struct device *dev, struct dev_mem *mem);

/* The entries alone, for tables that have more, and the whole table. */
#define AMD_DEVICE_FUNCTIONS(device_name, open_function)                                                  \
	.name = device_name, .open = open_function, .close = amd_device_close, .props = amd_device_props, \
	.mem_create = amd_device_mem_create, .mem_import_host = amd_device_mem_import,                    \
	.mem_destroy = amd_device_mem_destroy, .map = amd_device_map, .unmap = amd_device_unmap,          \
	.host_view = amd_device_host_view, .module_load = amd_device_module_load,                         \
	.module_unload = amd_device_module_unload, .kernel_get = amd_device_kernel_get,                   \
	.kernel_info = amd_device_kernel_info, .launch = amd_device_launch, .read = amd_device_read,      \
	.write = amd_device_write, .copy = amd_device_copy, .fill = amd_device_fill,                      \
	.control = amd_device_control, .watch_result = amd_device_watch_result,                           \
	.func_address = amd_device_func_address, .texture_set = amd_device_texture_set

#define AMD_DEVICE_OPS(device_name, open_function)               \
	{                                                        \
		AMD_DEVICE_FUNCTIONS(device_name, open_function) \
	}

#endif
