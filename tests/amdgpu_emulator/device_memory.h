/* SPDX-License-Identifier: Apache-2.0
 *
 * device_memory: buffers with device addresses and exact bounds, and launches over them, for the emulator's tests
 * and its benchmark.
 */
#ifndef CUTRACE_TEST_DEVICE_MEMORY_H
#define CUTRACE_TEST_DEVICE_MEMORY_H

#include "zluda_core/amdgpu_emulator/emulator.h"

#define DEVICE_BUFFERS 64

struct device_memory {
	struct amdgpu_window windows[DEVICE_BUFFERS];
	unsigned count;
};

/* Loads, places and decodes a code object; its image is the first buffer. NULL after printing why not. */
struct amdgpu_object *device_load(struct device_memory *m, const void *bytes, size_t size);
struct amdgpu_object *device_load_file(struct device_memory *m, const char *path);

/* A buffer of `bytes`, copied from `from` or zero; *host is its memory. Returns the device address. */
uint64_t device_buffer(struct device_memory *m, const void *from, size_t bytes, void *host);
/* Frees all buffers but the first (the code object's image, which is not the memory's). */
void device_release(struct device_memory *m);

/* The explicit part of a kernarg segment: natural alignment. */
struct kernel_args {
	uint8_t bytes[256];
	size_t used;
};
void args_add(struct kernel_args *a, const void *value, size_t bytes);
#define ARGS_VALUE(a, type, v) args_add(a, &(type){v}, sizeof(type))

struct device_launch {
	const struct amdgpu_object *object;
	const char *kernel;
	uint32_t grid[2], block[2];
	uint32_t lds, stack;
	unsigned threads;
	uint64_t budget;
	uint32_t perturb;
	bool cooperative, check_waits;
	uint32_t watchdog_ms;
	const uint32_t *stop_word;
};
int device_run(struct device_memory *m, const struct device_launch *l, const struct kernel_args *a,
	       struct amdgpu_fault *fault, struct amdgpu_stats *stats);

#endif
