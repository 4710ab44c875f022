/* SPDX-License-Identifier: Apache-2.0
 *
 * device: runs a program's PTX on any libcuda.so.1, and its C by the C compiler's code.
 */
#ifndef RANDOM_PROGRAMS_DEVICE_H
#define RANDOM_PROGRAMS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program.h"

#define PROGRAM_CELLS (BLOCKS * THREADS * CELLS)

/* Loads the driver and makes a context on device 0. False: the reason is on stderr. */
bool device_open(const char *driver_path);
/* Runs the module's entry `program`. False: *what failed, *code its CUresult. */
bool device_run(const char *ptx, const uint64_t *in, uint64_t *out, const char **what, int *code);
/* Where device_launch has the two buffers. */
void device_addresses(uint64_t *out, uint64_t *in);
struct device_launch {
	uint32_t grid[3], block[3];
};
/* Runs a kernel with that parameter block on both; `before` is what out has at first, `after` what it has in the end. */
bool device_launch(const char *ptx, const char *kernel, const struct device_launch *l, const void *params,
		   size_t param_bytes, const void *in, size_t in_bytes, const void *before, void *after,
		   size_t out_bytes, const char **what, int *code);
void device_close(void);

/* Programs compiled by the C compiler into one library. `folder` is for its files, which stay there until native_close. */
struct native {
	void *library;
	char source[4096], object[4096];
};
bool native_compile(struct native *n, const char *compiler, const char *folder,
		    const struct program *programs, unsigned count);
void native_run(const struct native *n, unsigned number, const uint64_t *in, uint64_t *out);
void native_close(struct native *n);

#endif
