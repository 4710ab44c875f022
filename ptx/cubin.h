/* SPDX-License-Identifier: Apache-2.0
 *
 * cubin: what the ELF structure of a cubin says about it: architecture, kernels with the layout of their
 * parameters, device variables. Only ELF headers, symbols and the .nv.info attributes are read; machine code
 * never is. Names point into the caller's bytes. Every offset is checked.
 */
#ifndef CUTRACE_PTX_CUBIN_H
#define CUTRACE_PTX_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

struct cubin_param {
	uint32_t ordinal, offset, bytes;
	bool maybe_pointer; /* the attribute marks it as a global pointer (sm_100 and later say so) */
};

struct cubin_kernel {
	const char *name;
	uint32_t param_bytes; /* of the parameter block */
	bool params_known;    /* false: no parameter attribute was found although there may be parameters */
	unsigned nparams;
	struct cubin_param *params; /* in order of ordinal */
};

enum cubin_space { CUBIN_GLOBAL, CUBIN_CONSTANT };
struct cubin_variable {
	const char *name;
	uint64_t bytes;
	enum cubin_space space;
	bool visible; /* global or weak binding */
};

struct cubin {
	unsigned arch; /* 90 = sm_90 */
	unsigned abi;  /* e_ident[EI_ABIVERSION] */
	unsigned nkernels, nvariables;
	struct cubin_kernel *kernels;
	struct cubin_variable *variables;
	struct arena arena;
};

/* 0, or CUTRACE_EFORMAT / ENOMEM with *d filled; cubin_close is allowed in both cases. */
int cubin_open(struct cubin *c, const void *p, size_t bytes, struct diag *d);
void cubin_close(struct cubin *c);
/* NULL when there is none of that name. */
const struct cubin_kernel *cubin_kernel_find(const struct cubin *c, const char *name);

#endif
