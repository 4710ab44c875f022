/* SPDX-License-Identifier: Apache-2.0
 *
 * compile_kernel: a kernel of a parsed module to a code object with its contract: lowering, LLVM, linking.
 *
 * Depends on compiler.h, contract.h, ptx/lower/lower.h.
 */
#ifndef CUTRACE_COMPILE_KERNEL_H
#define CUTRACE_COMPILE_KERNEL_H

#include "zluda_core/compiler/compiler.h"

struct compile_job {
	struct ptx_module *module;
	const uint8_t *text_hash; /* 16 bytes */
	const char *kernel, *target, *options, *build;
	unsigned want; /* enum service_want */
};

struct compile_result {
	void *code_object;
	size_t bytes;
	struct lowered lowered; /* its text; or what was refused, and why */
	struct compiled compiled;
};

/* compiler_init() comes first. */
int compile_kernel(const struct compile_job *job, struct compile_result *out, struct diag *d);
void compile_result_free(struct compile_result *r);

#endif
