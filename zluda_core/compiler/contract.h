/* SPDX-License-Identifier: Apache-2.0
 *
 * contract: what a launcher must know of a compiled kernel, kept in the code object itself (section
 * ".cutrace.contract", not loaded), so that a cached or written file needs nothing beside it. ptx/lower/lower.h says
 * what the numbers mean. Reading needs no LLVM, allocates nothing and trusts no byte: strings and names point into the
 * code object, which must outlive the struct.
 *
 * Depends on base/.
 */
#ifndef CUTRACE_CONTRACT_H
#define CUTRACE_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum contract_use {
	CONTRACT_DYNAMIC_SHARED =
		1,            /* names `extern .shared` memory: it follows the static one at shared_bytes */
	CONTRACT_RUNTIME = 2, /* needs the run-time block (ptx/lower/runtime.h) at runtime_offset */
	CONTRACT_DYNAMIC_STACK = 4, /* calls that LLVM can't bound: scratch_bytes is not all that it needs */
	CONTRACT_ALL_USES = 7,
};

struct contract {
	const char *kernel, *target; /* the symbol of its descriptor is KERNEL.kd; "gfx1100" */
	const char *build;           /* the compiler that made it: service_build_id() */
	uint8_t text_hash[16];       /* of the module's text: service_hash() */

	/* The explicit part of the kernarg segment: parameters, addresses of variables, the run-time block's. */
	uint32_t param_bytes;      /* PTX's parameter block, at 0 */
	uint32_t variables_offset; /* 8 bytes for each of nvariables */
	uint32_t nvariables;       /* their names: contract_variable() */
	uint32_t runtime_offset;   /* 0: none */
	uint32_t kernarg_bytes;    /* all of the explicit part */
	uint32_t segment_bytes; /* the whole segment, with the hidden arguments of the code object version */

	uint32_t wave;                        /* 32 or 64 lanes */
	uint32_t max_threads;                 /* of a block, as compiled */
	uint32_t shared_bytes, scratch_bytes; /* static LDS of a block; scratch of a lane */
	uint32_t vgprs, agprs, sgprs, spilled_vgprs, spilled_sgprs;
	uint32_t code_bytes;
	uint32_t uses; /* enum contract_use */

	const uint8_t *blob; /* of the reader */
};

#define CONTRACT_SECTION ".cutrace.contract"

/* 0; CUTRACE_EFORMAT: no AMD code object, or damaged; CUTRACE_ENOENT: a code object without the section. */
int contract_read(const void *code_object, size_t bytes, struct contract *out, struct diag *d);
/* The k-th variable's name, k < nvariables: a symbol of module scope. */
const char *contract_variable(const struct contract *c, uint32_t k);

/* The code object with the section added; malloc'ed. `names` has nvariables entries; blob is ignored. */
int contract_attach(const void *code_object, size_t bytes, const struct contract *c, const char *const *names,
		    void **out, size_t *out_bytes, struct diag *d);

#endif
