/* SPDX-License-Identifier: Apache-2.0
 *
 * texture_runner: one texture or surface instruction for some threads, over descriptors that the test fills. The
 * instruction's text may name: %t, %s (handles of the texture or surface, and of the sampler), %i0 ... %i11 (inputs
 * of the thread, 32 bits), %f0 ... %f11 (the same as floats), %d0 ... %d5 (the same in pairs), %o0 ... %o7 (results,
 * 32 bits), %e0 ... %e3 (64-bit results, which replace %o), %h0 ... %h3 (16-bit results, which replace %o0 ... %o3),
 * %p (a predicate, 1 or 0 in result 7).
 */
#ifndef CUTRACE_TEST_TEXTURE_RUNNER_H
#define CUTRACE_TEST_TEXTURE_RUNNER_H

#include "tests/device_interp/driver.h"

#define TEX_IN   12
#define TEX_OUT  8
#define MAX_RUNS 512

struct texture_test {
	struct test_device dev;
	struct dev_texture t, s; /* handles 1 and 2 */
	uint64_t memory;
	uint32_t n; /* threads */
	union {
		uint32_t u[TEX_IN];
		float f[TEX_IN];
	} in[MAX_RUNS];
	union {
		uint32_t u[TEX_OUT];
		int32_t s[TEX_OUT];
		float f[TEX_OUT];
	} out[MAX_RUNS];
};

/* A texture of one level over `bytes` bytes of `data`: unnormalised, nearest, clamped. */
struct texture_test *texture_open(enum dev_texel texel, unsigned channels, const uint32_t size[3], unsigned dims,
				  uint32_t layers, const void *data);
void texture_close(struct texture_test *x);
void texture_run(struct texture_test *x, const char *instruction);
/* It must fault, and the message name `what`. */
void texture_faults(struct texture_test *x, const char *instruction, const char *what);
/* The kernel must be refused with a reason that names `what`. */
void texture_refused(struct texture_test *x, const char *instruction, const char *what);
void texture_set(struct texture_test *x, const struct dev_texture *t);

#endif
