/* SPDX-License-Identifier: Apache-2.0
 *
 * driver: runs PTX text on the interpreter through struct device_ops, without
 * any of CUDA's API: opens a device, places the module's variables, maps
 * buffers, launches. Every failure of the frame itself ends the test.
 */
#ifndef CUTRACE_TEST_INTERP_DRIVER_H
#define CUTRACE_TEST_INTERP_DRIVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs the above */

#include <pthread.h>

#include "zluda_core/device.h"

struct test_device {
	struct device *dev;
	char printed[65536]; /* all output of vprintf */
	size_t nprinted;
	char reported[65536]; /* findings of the checked mode, a line each */
	size_t nreported;
	uint64_t launches;
	uint64_t next_addr;
	pthread_mutex_t lock; /* of the list: kernels call malloc from several threads */
	struct test_mem *mems;
};

struct test_module {
	struct test_device *t;
	struct ptx_module *ptx;
	struct dev_module *mod;
	uint64_t *symbols;
};

void test_open(struct test_device *t, const char *options);
void test_close(struct test_device *t);
/* A mapped buffer of exactly `bytes`, zeroed or filled from `init`. */
uint64_t test_alloc(struct test_device *t, uint64_t bytes, const void *init);
void test_release(struct test_device *t, uint64_t addr);
void test_write(struct test_device *t, uint64_t dst, const void *src, uint64_t bytes);
void test_read(struct test_device *t, void *dst, uint64_t src, uint64_t bytes);

void test_load(struct test_module *m, struct test_device *t, const char *ptx, const char *name);
void test_unload(struct test_module *m);
/* 0 or the error of kernel_get. */
int test_kernel(struct test_module *m, const char *name, struct dev_kernel **k, struct diag *d);

struct test_launch {
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	bool cooperative;
};
/* Parameters: n 64-bit words, laid out as the kernel's parameters want them. Returns launch's result. */
int test_run(struct test_module *m, const char *kernel, const struct test_launch *l, const uint64_t *params,
	     unsigned n, struct dev_fault *fault);
/* The same, must succeed. */
void test_run_ok(struct test_module *m, const char *kernel, const struct test_launch *l,
		 const uint64_t *params, unsigned n);
uint64_t test_symbol(struct test_module *m, const char *name);

#define LAUNCH1(blocks, threads) (&(struct test_launch){.grid = {blocks, 1, 1}, .block = {threads, 1, 1}})

#endif
