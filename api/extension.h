/* SPDX-License-Identifier: Apache-2.0
 *
 * extension: what our libcuda.so.1 offers beyond CUDA, for the replayer and the tests. Got by
 *
 *   const struct cutrace_extension *x;
 *   cuGetExportTable((const void **)&x, &cutrace_extension_uuid)
 *
 * which fails with CUDA_ERROR_NOT_FOUND on any other driver. `size` tells which members exist: new ones come
 * at the end.
 */
#ifndef CUTRACE_EXTENSION_H
#define CUTRACE_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debugger; /* api/debugger.h */

#define CUTRACE_EXTENSION_UUID                                                                       \
	{                                                                                            \
		{                                                                                    \
			'c', 'u', 't', 'r', 'a', 'c', 'e', ' ', 'e', 'x', 't', 'e', 'n', 's', 'i', 1 \
		}                                                                                    \
	}

enum dev_fault_kind {
	DEV_FAULT_NONE,
	DEV_FAULT_ILLEGAL_ADDRESS,
	DEV_FAULT_MISALIGNED,
	DEV_FAULT_ILLEGAL_SPACE,
	DEV_FAULT_TRAP,                /* trap, brkpt */
	DEV_FAULT_ASSERT,              /* __assertfail */
	DEV_FAULT_STACK,               /* call depth or local memory exhausted */
	DEV_FAULT_ILLEGAL_INSTRUCTION, /* reached something that can't be executed */
	DEV_FAULT_INVALID_PC,
	DEV_FAULT_TIMEOUT, /* watchdog; message names the waiting PTX lines */
	DEV_FAULT_INTERNAL,
	DEV_FAULT_CHECK, /* a finding of the checked mode that is to be an error */
};

/* First fault of a launch. */
struct dev_fault {
	enum dev_fault_kind kind;
	char kernel[128];
	char module[128];
	uint32_t line;    /* PTX line, 0 = unknown */
	char ptx[160];    /* text of that line */
	char source[160]; /* "saxpy.cu:17", or empty */
	uint32_t block[3], thread[3];
	uint64_t address;
	uint32_t access_bytes;
	bool is_store, is_atomic;
	char space[16];
	bool has_nearest; /* nearest allocation */
	uint64_t nearest_base, nearest_bytes;
	char message[512]; /* one sentence, complete: what the user reads */
};

/* Answer to a watch: who stored to the address last. */
struct dev_watch_hit {
	uint64_t launch_id;
	char kernel[128];
	uint32_t line;
	char ptx[160], source[160];
	uint32_t block[3], thread[3];
};

/* Results are CUresult. */
struct cutrace_extension {
	size_t size; /* bytes of this struct in the library */

	/* The calling thread's next allocation (cuMemAlloc, AllocPitch, HostAlloc, AllocManaged, AllocAsync,
	 * AddressReserve) lies at addr, with exact bounds and without the usual gap. AllocAsync may have the
	 * place of a block that was freed in stream order, too.
	 * CUDA_ERROR_ALREADY_MAPPED: the address is taken; CUDA_ERROR_NOT_SUPPORTED:
	 * CUTRACE_REFUSE_ADDRESSES. The allocation itself fails with CUDA_ERROR_ALREADY_MAPPED when its end
	 * runs into another. */
	int (*place_next)(uint64_t addr);
	/* The variables of the calling thread's next module load, by name; others go where they like. */
	int (*place_module_globals)(unsigned n, const char *const *names, const uint64_t *addrs);
	/* The fault that the current context failed with. CUDA_ERROR_NOT_FOUND: none. */
	int (*last_fault)(struct dev_fault *out);
	/* A run-time switch of the current context's device (device 0 without a context). */
	int (*set_control)(const char *key, const char *value);
	/* CUDA_ERROR_NOT_FOUND: nothing stored to the watched address. */
	int (*watch_result)(struct dev_watch_hit *out);
	/* Kernel launches so far in this process: the launch_id of the newest. */
	uint64_t (*launch_count)(void);
	/* "interp" */
	const char *(*device_name)(void);
	/* Whether [addr, addr + bytes) is free to be placed in. */
	bool (*address_is_free)(uint64_t addr, uint64_t bytes);
	/* Every line that the library writes to stderr is also given to fn, on the thread that says it, with the
	 * call that it is about: what `source` returned when that call was made (asynchronous work fails later and
	 * elsewhere), or 0 for the call that is being made. NULL: nobody. */
	void (*set_message_sink)(void (*fn)(uint64_t call, const char *line), uint64_t (*source)(void));
	/* What kernels print goes to fn (at the calls that flush it) instead of stdout. NULL: stdout again.
	 */
	void (*set_print_sink)(void (*fn)(const char *text, size_t bytes));
	/* The calling thread's next texture or surface object has this handle, if it can be had. */
	void (*place_next_texture)(uint64_t handle);
	/* The next launch on the current context's device is run under the debugger (debugger.h); NULL: it is not.
	 * CUDA_ERROR_NOT_SUPPORTED: the device can't, or not with a debugger of this version. */
	int (*attach_debugger)(const struct debugger *debugger);
};

#endif
