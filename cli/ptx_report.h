/* SPDX-License-Identifier: Apache-2.0
 *
 * cutrace ptx: what a PTX file has and what its kernels do, by the analyses of ptx/analysis.h; and whether our
 * interpreter executes them. ptx_report.c gathers, cmd_ptx.c prints. */
#ifndef CUTRACE_CLI_PTX_REPORT_H
#define CUTRACE_CLI_PTX_REPORT_H

#include "ptx/analysis.h"

struct kernel_report {
	const struct ptx_func *func;
	bool built; /* else func->error says why not */
	struct ptx_touch touch;
	struct ptx_barriers barriers;
	uint32_t contractions, contractions_only_use;
	uint32_t values, level[PTX_LEVEL_THREAD + 1]; /* values by level */
	uint32_t affine;                              /* of those that vary: with a stride */
	uint32_t most_live;                           /* registers at once */
	uint32_t divergent_branches, branches;
	bool executed;
	struct diag refused; /* why the interpreter doesn't execute it */
};

int kernel_report_make(struct ptx_module *m, struct ptx_func *f, struct kernel_report *r);
void kernel_report_free(struct kernel_report *r);

/* Asks the interpreter about all kernels at once; fills executed and refused. */
int report_executed(struct ptx_module *m, struct kernel_report *reports, uint32_t n, struct diag *d);

int cmd_ptx(int argc, char **argv);

#endif
