/* SPDX-License-Identifier: Apache-2.0
 *
 * check_options: what `record --check` keeps, and of which launches.
 */
#ifndef CUTRACE_INTERPOSE_CHECK_OPTIONS_H
#define CUTRACE_INTERPOSE_CHECK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct check_options {
	bool on;
	bool contents; /* what was written itself, besides its hash */
	bool opaque;   /* only kernels of which there is machine code and no PTX; implies contents */
	bool on_device,
		on_host; /* where hashes are computed; neither: on the device when its driver is not ours */
	uint64_t every;  /* each N-th launch; 1: all */
	uint64_t first, last; /* launches by number, from 1, in the order in which they were checked for */
	char kernels[256];    /* globs, separated by colons; "": all */
};

/* WORD,WORD...: contents, hashes, all, opaque, every:N, kernel:GLOB, launch:A-B; NULL is "hashes". CUTRACE_EINVAL with *d
 * filled when a word is none. */
int check_options_parse(struct check_options *o, const char *text, struct diag *d);
/* A, A- or A-B, from 1 on. */
bool check_options_range(const char *text, uint64_t *first, uint64_t *last);
/* Whether --check is for launches of this kernel; name: NULL when it is not known. */
bool check_options_kernel(const struct check_options *o, const char *name, bool is_opaque);

#endif
