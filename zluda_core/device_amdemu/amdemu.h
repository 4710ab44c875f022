/* SPDX-License-Identifier: Apache-2.0
 *
 * device_amdemu: a backend (zluda_core/device_amd/backend.h) whose GPU is the emulator (zluda_core/amdgpu_emulator/):
 * device `amdemu:gfxNNNN`. It owns the GPU's memory: a page table with the exact bounds of each allocation.
 */
#ifndef CUTRACE_DEVICE_AMDEMU_H
#define CUTRACE_DEVICE_AMDEMU_H

#include <pthread.h>
#include <stdatomic.h>

#include "zluda_core/amdgpu_emulator/emulator.h"
#include "zluda_core/device_amd/backend.h"

/* ---- memory.c --------------------------------------------------------------------------
 *
 * Launches look addresses up without a lock and remember what they found. So while one runs a change makes a new table,
 * and what it replaced, table or memory, is kept until the launches that began before have ended. */
struct dev_mem {
	uint8_t *host;
	uint64_t bytes;
	bool imported;
};

struct emu_mapping {
	struct amdgpu_window window;
	bool own; /* not the program's: code, run-time blocks */
};

struct emu_table {
	uint32_t n, room;
	struct emu_mapping m[]; /* by address */
};

struct emu_retired;

/* A launch that runs. */
struct emu_running {
	struct emu_running *next;
	uint64_t number;
};

struct emu_memory {
	pthread_mutex_t lock; /* of all but the table's contents */
	pthread_cond_t launch_done;
	pthread_rwlock_t host_lock; /* transfers read; memory goes back to the host under the write lock */
	_Atomic(struct emu_table *) table;
	struct emu_running *running;
	struct emu_retired *retired;
	uint64_t launches;
	uint64_t own_next; /* address of the next own allocation */
};

int emu_memory_init(struct emu_memory *m, struct diag *d);
void emu_memory_destroy(struct emu_memory *m);
int emu_memory_create(uint64_t bytes, struct dev_mem **out, struct diag *d);
int emu_memory_import(void *host, uint64_t bytes, struct dev_mem **out, struct diag *d);
void emu_memory_release(struct emu_memory *m, struct dev_mem *mem);
int emu_map(struct emu_memory *m, const struct emu_mapping *mapping, struct diag *d);
int emu_unmap(struct emu_memory *m, uint64_t addr, uint64_t bytes, struct diag *d);
/* Maps `bytes` of host memory at an address of our choice. */
int emu_map_own(struct emu_memory *m, void *host, uint64_t bytes, bool writable, uint64_t *addr,
		struct diag *d);
uint8_t *emu_host(struct emu_memory *m, uint64_t addr, uint64_t bytes); /* NULL: not inside of one mapping */
bool emu_nearest(struct emu_memory *m, uint64_t addr, uint64_t *base, uint64_t *bytes);
void emu_launch_begin(struct emu_memory *m, struct emu_running *r);
void emu_launch_end(struct emu_memory *m, struct emu_running *r);
bool emu_find(void *memory, uint64_t addr, struct amdgpu_window *out); /* of struct amdgpu_memory */

/* transfer.c */
int emu_read(struct emu_memory *m, void *dst, uint64_t src, uint64_t bytes, struct diag *d);
int emu_write(struct emu_memory *m, uint64_t dst, const void *src, uint64_t bytes, struct diag *d);
int emu_copy(struct emu_memory *m, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d);
int emu_fill(struct emu_memory *m, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
	     struct diag *d);

/* ---- the backend --------------------------------------------------------------------------- */

/* What a GPU of a target is like: the largest of those sold. */
struct emu_model {
	const char *target;
	uint32_t compute_units, clock_mhz, mem_clock_mhz, bus_width_bits, l2_kb;
};

struct amd_backend {
	struct emu_memory memory;
	const struct emu_model *model;
	struct service *service;
	unsigned ordinal;
	_Atomic uint32_t workers, watchdog_ms, perturb;
	_Atomic bool deterministic, check_waits;
};

/* code.c */
int emu_code_load(struct amd_backend *b, const void *code_object, size_t bytes, struct amd_code **out,
		  struct diag *d);
void emu_code_unload(struct amd_backend *b, struct amd_code *code);
int emu_code_function(struct amd_backend *b, struct amd_code *code, const char *name,
		      struct amd_function **out, struct diag *d);

/* launch.c */
int emu_launch(struct amd_backend *b, const struct amd_launch *l, struct amd_backend_fault *fault);

#endif
