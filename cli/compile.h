/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace compile and cutrace cache: the kernels of a file as code objects of AMD GPUs, and the cache that holds them.
 * device_code.c finds the PTX in a file, compile_tasks.c compiles in parallel, compile_output.c writes and prints,
 * cmd_compile.c and cmd_cache.c read options.
 */
#ifndef CUTRACE_CLI_COMPILE_H
#define CUTRACE_CLI_COMPILE_H

#include <stdbool.h>
#include <stdio.h>

#include "ptx/ir.h"
#include "ptx/lower/lower.h"
#include "zluda_core/compiler/service.h"

int cmd_compile(int argc, char **argv); /* argv[0] is "compile" */
int cmd_cache(int argc, char **argv);

/* ---- device_code.c ---- */

/* Modules as a driver with that compute capability (90 = 9.0) would load them: the PTX of each container, of a file with
 * relocatable device code all of it, linked. */
struct code_module {
	char *name, *text;
	size_t bytes;
};
struct device_code {
	struct code_module *modules;
	unsigned nmodules;
	unsigned without_ptx; /* containers that have none, or only machine code */
};
/* A PTX file, fatbin, object, executable or library. */
int device_code_read(const char *path, unsigned cc, struct device_code *out, struct diag *d);
void device_code_free(struct device_code *c);

/* ---- compile_tasks.c ---- */

struct compile_task {
	unsigned module;
	const char *kernel;
	uint32_t line; /* of the kernel */
	const struct lower_target *target;
	/* Afterwards: */
	bool done, has_contract;
	int rc;
	struct diag d;
	struct service_answer answer;
	struct contract contract;
};

struct compile_run {
	struct service *service;
	struct device_code code;
	struct service_module *modules; /* as code.modules */
	struct ptx_module **parsed;
	struct compile_task *tasks;
	size_t ntasks;
	unsigned want, jobs;
	const char *options; /* of the service's requests */
	/* Called for each task in order, by the thread that called compile_tasks_run; the answer is freed after it. */
	void (*finished)(void *ctx, struct compile_task *t);
	void *ctx;
	bool progress; /* on stderr */
};
/* Parses the modules and lists kernels × targets; kernel: only this one, or NULL. */
int compile_tasks_list(struct compile_run *r, const struct lower_target *const *targets, unsigned ntargets,
		       const char *kernel, struct diag *d);
void compile_tasks_run(struct compile_run *r);
void compile_tasks_free(struct compile_run *r);

/* ---- occupancy.c ---- */

/* Waves that a SIMD of the target can hold of a kernel with these registers. */
unsigned occupancy_waves(const char *target, unsigned vgprs, unsigned agprs, unsigned sgprs);

/* ---- compile_output.c ---- */

struct compile_output {
	struct compile_run *run;
	const char *file, *folder; /* folder: NULL, nothing is written */
	bool json;
	unsigned compiled, refused, failed, cached;
};
void compile_output_head(const struct compile_output *o);
void compile_output_task(void *ctx, struct compile_task *t);
void compile_output_foot(const struct compile_output *o);

#endif
