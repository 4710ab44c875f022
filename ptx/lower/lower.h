/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/lower: one kernel of a module, with the functions that it calls, as LLVM IR for AMD GPUs. The IR is text of LLVM
 * 19: this folder needs no LLVM, what it makes can be read and compared, and scopes of synchronisation, which the C
 * interface of that version lacks, are a word like others.
 *
 * What isn't lowered is refused, by instruction and reason; a kernel is lowered whole or not at all.
 *
 * The contract with who launches it:
 *
 * - The kernarg segment begins with PTX's parameter block, byte for byte. Behind it, at `variables_offset`, stands for
 *   each variable of the module that the kernel names the address of its storage, in the order of `variables`;
 *   `kernarg_bytes` is the size of all that. A kernel that needs the
 *   run-time block (runtime.h) finds its address behind the variables', at `runtime_offset`. LLVM puts the hidden arguments of its code object version behind them.
 * - Static shared memory is at LDS address 0 and counts in the code object's group segment; dynamic shared memory
 *   follows.
 * - A CUDA warp is 32 adjacent lanes: a wave, or half of one on targets with wave64. The lanes of a wave are adjacent
 *   threads of the block in the order x, y, z, as the hardware dispatches them.
 * - Lanes may wait for each other as PTX since sm_70 allows. Where that can't happen, provably, control flow is left as
 *   PTX has it, and lanes that diverge meet again at the branch's post-dominator; else the kernel is one loop over a
 *   program counter that each lane has (dispatch.h).
 * - The value of a pointer to a function is LOWER_FUNCTION_ADDRESS (runtime.h), also in variables.
 *
 * Depends on ptx/ir.h, ptx/analysis.h and base/.
 */
#ifndef CUTRACE_PTX_LOWER_H
#define CUTRACE_PTX_LOWER_H

#include "ptx/ir.h"

/* Instructions for the sum of four products of bytes: of two signed operands, or of any. */
enum lower_dot4 { DOT4_NONE, DOT4_SIGNED, DOT4_ANY };

struct lower_target {
	const char *name;      /* "gfx1100" */
	unsigned wave;         /* lanes of a wave: 32 or 64 */
	unsigned code_object;  /* version: 5, or 6 for generic targets */
	uint32_t shared_bytes; /* LDS that a block may have */
	enum lower_dot4 dot4;
};
/* NULL: not known. */
const struct lower_target *lower_target_find(const char *name);
/* The k-th target, NULL behind the last. */
const struct lower_target *lower_target_at(unsigned k);

struct lowered {
	char *text; /* the LLVM module */
	size_t bytes;
	uint32_t nvariables;
	uint32_t *variables; /* indices in module->symbols */
	uint32_t variables_offset, kernarg_bytes;
	uint32_t
		runtime_offset; /* where the address of the run-time block stands; 0: the kernel needs none */
	/* The first thing that wasn't lowered, when lower_kernel answers CUTRACE_ENOTSUP. */
	uint32_t line; /* of the PTX text, 0 = the kernel as a whole */
	char op[64];   /* "wgmma.mma_async" */
	char reason[160];
};
/* 0; CUTRACE_ENOTSUP: *out says what and why, *d also as "file:line"; CUTRACE_ENOMEM; or why the kernel couldn't be built. */
int lower_kernel(struct ptx_module *m, struct ptx_func *kernel, const struct lower_target *target,
		 struct lowered *out, struct diag *d);
/* How, where PTX leaves a choice. Zeros: results as the interpreter's. */
struct lower_options {
	bool contract; /* products and sums that PTX allows to be fused (ptx/analysis.h) may be: faster, other roundings */
};
/* "contract=all,..." as in struct service_request; keys that are somebody else's are left alone. */
void lower_options_read(const char *text, struct lower_options *out);
int lower_kernel_as(struct ptx_module *m, struct ptx_func *kernel, const struct lower_target *target,
		    const struct lower_options *options, struct lowered *out, struct diag *d);
void lowered_free(struct lowered *l);

#endif
