/* SPDX-License-Identifier: Apache-2.0
 *
 * Our driver with a fault: each text is edited by the rule FAULT_RULE.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/link.h"
#include "ptx_edit.h"
#include "stand_in.h"

const bool stand_in_changes_pieces = true;

static const struct fault_rule *rule(void)
{
	const char *name = getenv("FAULT_RULE");
	const struct fault_rule *r = name ? fault_rule_find(name) : NULL;

	if (name && *name && !r) {
		fprintf(stderr, "stand-in: there is no rule %s\n", name);
		abort();
	}
	return r && r->level == FAULT_PTX ? r : NULL;
}

/* What was linked is changed already, but for the replayer's own text. */
char *stand_in_change(const char *text, size_t bytes)
{
	const struct fault_rule *r = rule();

	if (!r || (ptx_is_linked(text, bytes) && !strstr(text, "cutrace_log_control")))
		return NULL;
	return ptx_edit(text, bytes, r, NULL, NULL).text;
}

void stand_in_before_load(void)
{
}

void stand_in_after_load(void *handle, bool is_library)
{
	(void)handle;
	(void)is_library;
}
