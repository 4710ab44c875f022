/* SPDX-License-Identifier: Apache-2.0
 *
 * compiler: LLVM IR of a kernel (ptx/lower) to an AMD code object, by LLVM 19's C interface. The only folder that knows
 * LLVM. LLVM ends the process on some errors: whoever links this is a process of its own.
 *
 * Depends on ptx/lower/lower.h, base/, LLVM; linking may run ld.lld.
 */
#ifndef CUTRACE_COMPILER_H
#define CUTRACE_COMPILER_H

#include "ptx/lower/lower.h"

/* What LLVM says about the kernel. */
struct compile_stats {
	unsigned vgprs, agprs, sgprs, shared_bytes, scratch_bytes, spilled_vgprs, spilled_sgprs,
		kernarg_bytes, code_bytes;
	unsigned wave, max_threads, dynamic_stack;
	double seconds; /* from IR text to object */
};

struct compiled {
	char *object, *optimized, *assembly; /* relocatable ELF; IR after -O3; text */
	char *passes;                         /* with opt-bisect: pass_bisect_log() of what made the object */
	size_t object_bytes, optimized_bytes, assembly_bytes;
	struct compile_stats stats;
};

enum { COMPILE_ASSEMBLY = 1, COMPILE_OPTIMIZED = 2 }; /* what else is wanted, besides the object */

/* Once; everything here is for one thread at a time. */
void compiler_init(void);
/* 0, or CUTRACE_E* with LLVM's own words in *d. `name` is for messages. */
int compiler_run(const struct lowered *l, const char *name, const struct lower_target *target,
		 unsigned wanted, struct compiled *out, struct diag *d);
/* The same with -O0 to -O3; compiler_run takes -O3. */
int compiler_run_at(const struct lowered *l, const char *name, const struct lower_target *target,
		    unsigned level, unsigned wanted, struct compiled *out, struct diag *d);
/* Only reads and verifies the IR; for tests. */
int compiler_verify(const struct lowered *l, const char *name, struct diag *d);
void compiled_free(struct compiled *c);

/* note_stats.c: adds what an object's metadata and sections say. */
void note_stats_read(const void *object, size_t bytes, struct compile_stats *s);

/* link.c: an object to a code object, which can be loaded; elf_link.h, or ld.lld where that doesn't know what to do. */
int compiler_link_object(const void *object, size_t bytes, void **out, size_t *out_bytes, struct diag *d);
/* The same with files, by ld.lld. */
int compiler_link(const char *object_path, const char *code_object_path, struct diag *d);

#endif
