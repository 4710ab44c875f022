/* SPDX-License-Identifier: Apache-2.0
 *
 * driver: the libcuda.so.1 that a replay runs on. Opened by dlopen, resolved by dlsym, called by table: no
 * function of CUDA is linked. What our own library offers beyond CUDA (exact addresses, watches, the text of
 * a fault) is asked for through its private export table and is absent everywhere else.
 */
#ifndef CUTRACE_REPLAY_DRIVER_H
#define CUTRACE_REPLAY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "base/diag.h"

struct core_extension;

struct driver {
	void *lib;
	char path[4096];
	void **fn; /* by function id; looked up once */
	uint8_t *looked_up;
	const struct core_extension *ext; /* NULL: not our library */
	int version;                      /* cuDriverGetVersion */
	int ndevices;                     /* after cuInit; 0 before */
};

int driver_open(struct driver *drv, const char *path, struct diag *d);
void driver_close(struct driver *drv);
/* NULL when the target does not export it. */
void *driver_function(struct driver *drv, const struct api_func *f);
/* The same by exported name; for the replayer's own calls. */
void *driver_symbol(struct driver *drv, const char *name);

/* Calls an exported function whose parameters are at most `n` integers or pointers; 500
 * (CUDA_ERROR_NOT_FOUND) when there is none. For the replayer's own calls. */
int64_t driver_plain(struct driver *drv, const char *name, unsigned n, ...);

/* Calls fn with the words of `args` placed as the x86-64 System V ABI (section 3.2.3) wants them: one word
 * per parameter, floats as their bits; an API_ABI_MEMORY argument's word is the address of the struct's
 * bytes. */
uint64_t driver_call(void *fn, const struct api_func *f, const uint64_t *args);
#define DRIVER_MAX_STACK_WORDS 64 /* driver_call_fits: what a call may push */
bool driver_call_fits(const struct api_func *f);

/* "CUDA_ERROR_INVALID_VALUE", or the number. */
const char *driver_error_name(int64_t result);
/* An error of the device that stays until the context is gone. */
bool driver_error_is_fault(int64_t result);

#endif
