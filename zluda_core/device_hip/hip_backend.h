/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_backend: the inside of device_hip, an AMD GPU reached through HIP (zluda_core/device_amd/backend.h).
 *
 * Addresses: device_amd's memory is asked for at addresses that the core chose. Two ways:
 *  - virtual memory management (ROCm 6, most of 5.3 and later): the core's window is reserved once for the process, and
 *    granules of it are backed as they are mapped. If HIP gives another place than the wanted one, the core moves.
 *  - without it: one big allocation is the window; it can't be elsewhere than HIP puts it, and physical memory can't be
 *    mapped twice.
 *
 * Every operation is enqueued on a stream of ours and waited for: the core's queues make work asynchronous.
 */
#ifndef CUTRACE_HIP_BACKEND_H
#define CUTRACE_HIP_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "zluda_core/device_amd/backend.h"
#include "zluda_core/device_hip/hip_library.h"

struct hip_stream;

struct amd_backend {
	const struct hip_library *lib;
	int device; /* HIP's number */
	struct amd_properties properties;
	bool has_vmm;
	uint64_t arena_bytes; /* asked for by an option; 0 = not */
	_Atomic unsigned watchdog_ms;
	_Atomic int dead; /* an error of a kernel, after which nothing works any more; 0 = alive */
	pthread_mutex_t lock;
	struct hip_stream *streams; /* not in use */
};

struct dev_mem {
	uint64_t bytes;
	/* host memory */
	void *host;
	uint64_t host_device; /* its address on the device */
	bool registered, allocated;
	/* device memory */
	hip_handle handle; /* when it has granules of its own */
	uint64_t placed;   /* where parts of it lie among others, or 0: address minus offset */
};

/* "1,arena=4G" */
struct hip_options {
	int first;      /* HIP's number of the first GPU */
	bool one;       /* it was given: no others */
	uint64_t arena; /* bytes; 0: virtual memory management, where there is some */
};
int hip_options_parse(const char *text, struct hip_options *o, struct diag *d);

/* All entry points, the layout of their structures, and the device's word for it. */
bool hip_has_vmm(const struct hip_library *lib, int device);
extern const struct amd_backend_ops hip_backend; /* backend.c */

/* Makes the GPU current in this thread; an error when it is dead. */
int hip_enter(struct amd_backend *b, struct diag *d);
/* hip_failed, and the GPU is dead if that error is one that stays. */
int hip_check(struct amd_backend *b, int error, const char *call, struct diag *d);
enum dev_fault_kind hip_fault_kind(int error);

/* ---- hip_stream.c: a stream for as long as an operation takes ---- */

int hip_stream_take(struct amd_backend *b, struct hip_stream **out, struct diag *d);
hip_handle hip_stream_handle(const struct hip_stream *s);
/* Waits for its work; HIP's error. The watchdog's time out is HIP_NOT_READY. */
int hip_stream_finish(struct amd_backend *b, struct hip_stream *s);
void hip_stream_give(struct amd_backend *b, struct hip_stream *s);
void hip_streams_close(struct amd_backend *b);

/* ---- hip_window.c: addresses of device memory, one window for all GPUs of the process ---- */

int hip_window_open(struct amd_backend *b, uint64_t *base, uint64_t *bytes, struct diag *d);
bool hip_window_has(uint64_t addr, uint64_t bytes);
int hip_window_map(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
		   struct diag *d);
int hip_window_unmap(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d);
/* How many of `bytes` from addr on HIP knows as one piece: it copies no further at once. */
uint64_t hip_window_piece(uint64_t addr, uint64_t bytes);

/* ---- hip_memory.c, hip_launch.c: functions of the table ---- */

int hip_mem_create(struct amd_backend *b, uint64_t bytes, struct dev_mem **out, struct diag *d);
int hip_mem_import(struct amd_backend *b, void *host, uint64_t bytes, struct dev_mem **out, struct diag *d);
int hip_host_alloc(struct amd_backend *b, uint64_t bytes, bool managed, void **host, struct dev_mem **out,
		   struct diag *d);
void hip_mem_destroy(struct amd_backend *b, struct dev_mem *mem);
uint64_t hip_mem_address(struct amd_backend *b, struct dev_mem *mem);
int hip_map(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct dev_mem *mem, uint64_t offset,
	    bool adjacent, struct diag *d);
int hip_unmap(struct amd_backend *b, uint64_t addr, uint64_t bytes, struct diag *d);
int hip_read(struct amd_backend *b, void *dst, uint64_t src, uint64_t bytes, struct diag *d);
int hip_write(struct amd_backend *b, uint64_t dst, const void *src, uint64_t bytes, struct diag *d);
int hip_copy(struct amd_backend *b, uint64_t dst, uint64_t src, uint64_t bytes, struct diag *d);
int hip_fill(struct amd_backend *b, uint64_t dst, uint32_t value, unsigned width, uint64_t count,
	     struct diag *d);
int hip_own_alloc(struct amd_backend *b, uint64_t bytes, uint64_t *addr, void **host, struct diag *d);
void hip_own_free(struct amd_backend *b, uint64_t addr);

int hip_code_load(struct amd_backend *b, const void *code_object, size_t bytes, struct amd_code **out,
		  struct diag *d);
void hip_code_unload(struct amd_backend *b, struct amd_code *code);
int hip_code_function(struct amd_backend *b, struct amd_code *code, const char *name,
		      struct amd_function **out, struct diag *d);
int hip_launch(struct amd_backend *b, const struct amd_launch *l, struct amd_backend_fault *fault);

#endif
