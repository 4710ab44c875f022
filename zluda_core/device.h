/* SPDX-License-Identifier: Apache-2.0
 *
 * device: the seam between CUDA's semantics (contexts, streams, events,
 * address allocation, globals, errors: zluda_core/) and what executes code
 * (zluda_core/device_NAME/). A device knows nothing of CUDA handles.
 *
 * All functions return 0 or a CUTRACE_E* code with *diag filled, unless said
 * otherwise. All may be called from several threads at once.
 *
 * A device without queues of its own leaves the queue functions NULL; the core
 * then runs the synchronous functions from its software queues (zluda_core/queue.c).
 */
#ifndef CUTRACE_DEVICE_H
#define CUTRACE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/extension.h"
#include "base/diag.h"
#include "ptx/ir.h"
#include "zluda_core/device_texture.h"

struct device;
struct dev_mem;    /* physical memory: cuMemCreate's object, or what an allocation is made of */
struct dev_module; /* code of one module, compiled kernel by kernel on demand */
struct dev_kernel;

struct dev_props {
	char name[96];
	uint8_t uuid[16];
	uint32_t cc_major, cc_minor;
	uint64_t total_bytes;
	uint32_t sm_count, clock_khz, mem_clock_khz, bus_width_bits, l2_bytes;
	uint32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
	uint32_t max_block[3], max_grid[3];
	uint32_t shared_per_block, shared_per_block_optin, shared_per_sm, regs_per_block, regs_per_sm;
	uint32_t const_bytes;
	uint32_t warp_size; /* 32: what the program sees */
	bool unified_addressing, cooperative;
};

struct dev_launch {
	struct dev_kernel *kernel;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes; /* dynamic */
	bool cooperative;
	const void *params; /* packed parameter block, layout of ptx_func.params */
	uint32_t param_bytes;
	uint64_t launch_id; /* increases by one a launch, from 1; for messages and watches */
};

struct dev_kernel_info {
	const struct ptx_func *func; /* parameters and directives */
	uint32_t num_regs, shared_bytes, local_bytes, const_bytes, max_threads;
};

/* Where the module's variables live; made by the core, which owns address space. */
struct dev_module_env {
	const uint64_t *symbol_addr; /* per module->symbols index: device address of .global and .const
					variables, else 0 */
	uint32_t nsymbols;
};

/* What the device calls back into; given at open. */
struct dev_host {
	void *ctx;
	/* Output of vprintf: complete text of one call. */
	void (*print)(void *ctx, const char *text, size_t bytes);
	/* Device-side malloc and free. 0 = out of memory. */
	uint64_t (*heap_alloc)(void *ctx, uint64_t bytes);
	int (*heap_free)(void *ctx, uint64_t addr);
	/* What the device has to say about a launch that goes on: findings of its checked mode. May be NULL. */
	void (*report)(void *ctx, uint64_t launch_id, const char *text);
};

struct device_ops {
	const char *name; /* "interp" */

	/* options: "key=value,key=value" after the device's name; see the device's README section. */
	int (*open)(struct device **out, unsigned ordinal, const char *options, const struct dev_host *host,
		    struct diag *d);
	void (*close)(struct device *dev);
	void (*props)(struct device *dev, struct dev_props *out);

	/* Memory. Contents of new memory are unspecified, reads of it are not faults. */
	int (*mem_create)(struct device *dev, uint64_t bytes, struct dev_mem **out, struct diag *d);
	int (*mem_import_host)(struct device *dev, void *host, uint64_t bytes, struct dev_mem **out,
			       struct diag *d);
	void (*mem_destroy)(struct device *dev, struct dev_mem *mem);
	/* Makes [addr, addr+bytes) valid, backed by mem from `offset`. These are exact bounds: every access
	 * is checked against them; one access must lie in one mapping, or (adjacent == true) may run into the
	 * next one. */
	int (*map)(struct device *dev, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
		   bool adjacent, struct diag *d);
	int (*unmap)(struct device *dev, uint64_t addr, uint64_t bytes, struct diag *d);
	/* Host pointer of a device address while mapped, or NULL when the device has none. */
	void *(*host_view)(struct device *dev, uint64_t addr, uint64_t bytes);

	/* Code. The ptx_module stays alive and unchanged (but for on-demand building, under the device's
	 * lock) until unload. */
	int (*module_load)(struct device *dev, struct ptx_module *m, const struct dev_module_env *env,
			   struct dev_module **out, struct diag *d);
	void (*module_unload)(struct device *dev, struct dev_module *m);
	/* Compiles on demand; an untranslatable kernel fails here with the reason. */
	int (*kernel_get)(struct device *dev, struct dev_module *m, const char *name, struct dev_kernel **out,
			  struct diag *d);
	void (*kernel_info)(struct device *dev, struct dev_kernel *k, struct dev_kernel_info *out);

	/* Synchronous execution and transfer. A fault fills *fault and returns CUTRACE_EINVAL. */
	int (*launch)(struct device *dev, const struct dev_launch *l, struct dev_fault *fault);
	int (*read)(struct device *dev, void *dst, uint64_t src, uint64_t bytes, struct diag *d);
	int (*write)(struct device *dev, uint64_t dst, const void *src, uint64_t bytes, struct diag *d);
	int (*copy)(struct device *dev, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d);
	/* Repeats the low `width` (1, 2, 4) bytes of value. */
	int (*fill)(struct device *dev, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
		    struct diag *d);

	/* Run-time switches: "watch", "inject", "deterministic", "seed", "watchdog_ms"... CUTRACE_ENOTSUP
	 * when unknown. */
	int (*control)(struct device *dev, const char *key, const char *value, struct diag *d);
	/* Last store (or atomic) that hit the watched address: false when none. */
	bool (*watch_result)(struct device *dev, struct dev_watch_hit *out);
	/* The value of a pointer to function `func` (index in the module): initialisers of variables may hold
	 * one. NULL when the device has no function pointers. */
	uint64_t (*func_address)(struct device *dev, struct dev_module *m, uint32_t func);
	/* How many results control "inject" has damaged since it was set: 0 = the place was never reached. May be NULL. */
	uint64_t (*inject_hits)(struct device *dev);
	/* Copies *t to entry t->handle % DEV_TEXTURES of the device's table of textures, where its code finds it. The
	 * core changes an entry only while nothing that may use it runs. NULL: the device has no textures. */
	int (*texture_set)(struct device *dev, const struct dev_texture *t, struct diag *d);

	/* ---- of devices that hardware gives, all optional ---- */

	/* How many there are, with these options: what a program sees when `devices=` does not say it. 0 with *d filled:
	 * none. */
	unsigned (*count)(const char *options, struct diag *d);
	/* Device memory can be mapped in one window only. In: the one that the core wants; out: the one that it gets, once for
	 * all devices of the process, before the first mapping. */
	int (*window)(struct device *dev, uint64_t *base, uint64_t *bytes, struct diag *d);
	/* Memory that host and device see at one address, which the device chooses; then map() at that address. Without it the
	 * core imports pages of its own. */
	int (*host_alloc)(struct device *dev, uint64_t bytes, bool managed, void **host, struct dev_mem **out,
			  struct diag *d);
	/* Where the device sees memory of mem_import_host; 0: where the host does. */
	uint64_t (*mem_address)(struct device *dev, struct dev_mem *mem);
	/* The next launch runs under it (api/debugger.h); NULL: it doesn't. */
	int (*attach_debugger)(struct device *dev, const struct debugger *debugger, struct diag *d);
};

extern const struct device_ops device_interp, device_amdemu, device_hip;

/* By name; NULL when unknown. The table is in zluda_core/devices.c. */
const struct device_ops *device_find(const char *name);

#endif
