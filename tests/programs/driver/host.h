/* SPDX-License-Identifier: Apache-2.0
 *
 * host: what every driver-API test program does: start the driver, load the program's PTX, launch,
 * compare. Each program says on stdout what it expects its trace to show, in the order of the calls:
 *
 *	launch KERNEL grid X Y Z block X Y Z
 *	calls N			(driver calls made by the program, failed ones too)
 *	ok
 *
 * What it says of every single call, arguments and results, is witness.c's.
 *
 * A wrong result or an unexpected error is explained on stderr and ends the program with status 1.
 * The text is the same in every run and on every device.
 */
#ifndef PROGRAMS_HOST_H
#define PROGRAMS_HOST_H

#include "cu.h"

/* PTX text of the program, NUL-terminated; generated from NAME.cu by the build. */
extern const char program_ptx[];

struct dim {
	unsigned x, y, z;
};

/* Counts a driver call and expects success. */
#define CU(call) host_expect((call), CUDA_SUCCESS, #call, __FILE__, __LINE__)
/* The same for a call that has to fail with `code`. */
#define CU_FAILS(code, call) host_expect((call), (code), #call, __FILE__, __LINE__)

void host_expect(CUresult got, CUresult expected, const char *call, const char *file, int line);
_Noreturn void host_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Context on device 0, with the program's module loaded. */
void host_start(void);
/* The two halves of it, for programs that make their module at run time. */
void host_start_without_module(void);
void host_load(const void *image);
/* Makes that context current in another thread. */
void host_enter_thread(void);
CUfunction host_kernel(const char *name);
CUmodule host_module(void);
CUdeviceptr host_symbol(const char *name, size_t bytes);
/* A device buffer; with its contents when `data` is not NULL. */
CUdeviceptr host_buffer(const void *data, size_t bytes);
/* The line about a launch; host_launch says it and launches. */
void host_say_launch(const char *name, struct dim grid, struct dim block);
void host_launch(CUfunction f, const char *name, struct dim grid, struct dim block, unsigned shared_bytes,
		 CUstream stream, void **params);
void host_read(void *dst, CUdeviceptr src, size_t bytes);
/* Unloads everything, prints "calls N" and "ok"; returns the exit status. */
int host_finish(void);
/* As host_finish for programs whose context is broken: only the last two lines. */
int host_finish_faulted(void);

/* Deterministic pseudo-random words (xorshift32, Marsaglia 2003). */
uint32_t host_random(uint32_t *state);
/* A float in [0, 1) with 24 random bits. */
float host_random_float(uint32_t *state);
/* Compares element by element, bit for bit. */
void host_compare_u32(const char *what, const uint32_t *got, const uint32_t *expected, size_t n);
void host_compare_f32(const char *what, const float *got, const float *expected, size_t n);

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#endif
