/* SPDX-License-Identifier: Apache-2.0
 *
 * rules: the faults that are seeded into what a replay's target executes. A rule is what a wrong row of a translator
 * is: it changes each instance of a form of operation, in every kernel. Rules of the level FAULT_PTX edit the text of
 * PTX modules before our driver gets it (stand_in.c), those of the level FAULT_LLVM the LLVM IR between ptx/lower and
 * LLVM (compiler.c), both by patterns (pattern.h).
 *
 * Depends on libc only.
 */
#ifndef CUTRACE_FAULTS_RULES_H
#define CUTRACE_FAULTS_RULES_H

#include <stdbool.h>

enum fault_level { FAULT_PTX, FAULT_LLVM };

struct fault_rule {
	const char *name; /* "fma-rz" */
	const char *kind; /* "rounding" */
	enum fault_level level;
	const char
		*ops; /* pattern of the PTX operations that the fault shows in, with its types; PTX: NULL */
	const char *from; /* one instruction */
	const char
		*to; /* what takes its place; several are separated by ';' in PTX, by a new line in LLVM IR */
};

extern const struct fault_rule fault_rules[];
extern const unsigned fault_nrules;

/* NULL: there is none of that name. */
const struct fault_rule *fault_rule_find(const char *name);

/* Whether an instruction is one that the replayer put into a kernel to look at its values. A fault of a translator changes
 * those, too; the score without that is told apart. */
bool fault_is_of_log(const char *instruction);

#endif
