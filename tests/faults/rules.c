/* SPDX-License-Identifier: Apache-2.0 */
#include "rules.h"

#include <stddef.h>
#include <string.h>

const struct fault_rule fault_rules[] = {
#define PTX(name, kind, from, to)       {name, kind, FAULT_PTX, NULL, from, to},
#define LLVM(name, kind, ops, from, to) {name, kind, FAULT_LLVM, ops, from, to},
#include "rules.def"
};
const unsigned fault_nrules = sizeof(fault_rules) / sizeof(fault_rules[0]);

const struct fault_rule *fault_rule_find(const char *name)
{
	for (unsigned k = 0; k < fault_nrules; k++)
		if (!strcmp(fault_rules[k].name, name))
			return &fault_rules[k];
	return NULL;
}

bool fault_is_of_log(const char *instruction)
{
	return strstr(instruction, "%cutrace_") != NULL;
}
