/* SPDX-License-Identifier: Apache-2.0
 *
 * device_amd: a device (zluda_core/device.h) over an AMD GPU that a backend reaches (backend.h). This header is the inside: what an
 * opened device, a module and a kernel are. Kernels are compiled when they are asked for, by the compile service; what
 * a launch needs to know stands in the code object (contract.h).
 *
 * Locks: code_lock guards the modules' lists of kernels and the PTX of modules, run_lock the run-time blocks and the heap's
 * size. Neither is held while a kernel is compiled or runs.
 */
#ifndef CUTRACE_DEVICE_AMD_H
#define CUTRACE_DEVICE_AMD_H

#include <pthread.h>
#include <stdatomic.h>

#include "ptx/lower/runtime.h"
#include "zluda_core/compiler/service.h"
#include "zluda_core/device_amd/backend.h"

/* A run-time block with its print buffer: one for each launch in flight that needs one. */
struct amd_run_block {
	struct amd_run_block *next;
	uint64_t address, print_address, print_bytes, grid_address;
	struct lower_runtime r; /* as written, then as read back */
};

/* What launches share, on the GPU. */
struct amd_common {
	struct lower_heap heap;
	uint32_t locks[LOWER_LOCKS];
};

struct amd_device {
	const struct amd_backend_ops *ops;
	struct amd_backend *backend;
	struct service *service;
	struct dev_host host;
	struct amd_properties props;
	uint32_t ordinal;
	char compile_options[64]; /* of every request */
	bool ahead;               /* modules are compiled when they are loaded */
	pthread_mutex_t code_lock, run_lock;
	struct amd_run_block *idle;       /* blocks that no launch uses */
	uint64_t print_bytes, heap_bytes; /* the limits that the program set */
	uint64_t common;                  /* struct amd_common on the GPU; 0: not made yet */
	uint64_t heap_arena, heap_arena_bytes;
	unsigned in_flight;  /* launches that have a run-time block */
	bool common_suspect; /* one of them failed, and may have died with a lock in its hand */
	uint64_t textures;   /* 0: none was ever set */
};

struct dev_module {
	struct amd_device *dev;
	struct ptx_module *ptx;
	struct service_module text;
	uint64_t *symbol_addr;
	uint32_t nsymbols;
	struct dev_kernel *kernels;
};

struct dev_kernel {
	struct dev_kernel *next;
	struct dev_module *module;
	struct ptx_func *func;
	void *code_object;
	size_t code_bytes;
	struct contract contract; /* points into code_object */
	uint64_t *variables;      /* contract.nvariables addresses */
	struct amd_code *code;
	struct amd_function *function;
};

static inline struct amd_device *amd_own(struct device *dev)
{
	return (struct amd_device *)(void *)dev;
}

/* runtime.c: a block for one launch, filled in and written to the device. NULL with *d. */
struct amd_run_block *amd_run_begin(struct amd_device *dev, const struct dev_launch *l, struct diag *d);
/* Reads it back and hands what was printed to the host; b->r.fault tells how it went. */
int amd_run_end(struct amd_device *dev, struct amd_run_block *b, struct diag *d);
/* For the next launch; failed: this one had a fault. */
void amd_run_done(struct amd_device *dev, struct amd_run_block *b, bool failed);
void amd_run_close(struct amd_device *dev);

/* print.c: records of a print buffer (ptx/lower/runtime.h) as texts, to host.print. */
void amd_print_records(struct amd_device *dev, const uint8_t *records, uint64_t bytes);

/* fault.c */
int amd_fault_launch(const struct dev_launch *l, struct dev_fault *f, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int amd_fault_backend(struct amd_device *dev, const struct dev_launch *l, const struct amd_backend_fault *b,
		      struct dev_fault *f);
int amd_fault_reported(struct amd_device *dev, const struct dev_launch *l, const struct lower_fault *r,
		       struct dev_fault *f);

#endif
