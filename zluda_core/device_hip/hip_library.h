/* SPDX-License-Identifier: Apache-2.0
 *
 * hip_library: finding, loading and checking libamdhip64.so. Needs nothing of ROCm to be built; where there is none,
 * the diag says where it was looked for. Prints nothing.
 */
#ifndef CUTRACE_HIP_LIBRARY_H
#define CUTRACE_HIP_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#include "base/diag.h"
#include "zluda_core/device_hip/hip_abi.h"

struct hip_library {
	void *handle;
	char path[PATH_MAX];
	unsigned major, minor, patch; /* as the library reports */
	const struct hip_abi *abi;
	struct hip_entries fn;
	char missing[256]; /* optional entry points that it lacks, by name */
};

/* CUTRACE_HIP_LIBRARY, else one that the process has already, else $ROCM_PATH/lib, what the loader finds, /opt/rocm.
 * Loads it and looks up the entry points; initialises nothing. CUTRACE_ENOENT: there is none; CUTRACE_ENOTSUP: an
 * unknown version, or one that lacks what we need. */
int hip_library_open(struct hip_library *out, struct diag *d);
/* The process's one, initialised (hipInit), for ever; *devices: how many GPUs it has. NULL with *d filled. */
const struct hip_library *hip_library_get(int *devices, struct diag *d);

/* Whether AMD's kernel driver is there: a look at a file. */
bool hip_driver_there(void);
/* "gfx90a": what HIP says of a GPU, without features ("gfx90a:sramecc+:xnack-"). */
int hip_library_target(const struct hip_library *l, int device, char target[24], struct diag *d);

/* ---- hip_error.c ---- */

const char *hip_error_name(int error); /* "hipErrorOutOfMemory"; "hipError" and its number when unknown */
/* "CALL: hipErrorNAME", as the CUTRACE_E* code that fits. */
int hip_failed(int error, const char *call, struct diag *d);

#endif
