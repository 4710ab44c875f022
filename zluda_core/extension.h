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

#include "zluda_core/device.h"

#define CUTRACE_EXTENSION_UUID                                                                       \
	{                                                                                            \
		{                                                                                    \
			'c', 'u', 't', 'r', 'a', 'c', 'e', ' ', 'e', 'x', 't', 'e', 'n', 's', 'i', 1 \
		}                                                                                    \
	}

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
	/* device_ops.control of the current context's device (device 0 without a context). */
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
};

#endif
