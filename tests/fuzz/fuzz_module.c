/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target: any bytes as a PTX module: directives, variables, heads of
 * functions, then all bodies with recovery from every error, but no SSA. */
#include <stdlib.h>
#include <string.h>

#include "ptx/ir.h"

static void check_errors(const struct ptx_module *m)
{
	if (m->nerrors > PTX_MAX_ERRORS || m->nown_errors > m->nerrors)
		abort();
	for (uint32_t k = 0; k < m->nerrors; k++)
		if (!m->errors[k].code || !m->errors[k].what[0] || !m->errors[k].where[0])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct diag d = DIAG_INIT;
	char line[128];
	struct ptx_module *m = ptx_module_parse((const char *)data, bytes, "fuzz.ptx", &d);
	if (!m)
		return 0;
	check_errors(m);
	ptx_module_check(m);
	check_errors(m);
	for (uint32_t k = 0; k < m->nsymbols; k++)
		if (m->symbols[k]->owner == PTX_NONE && strlen(m->symbols[k]->name) < 4096)
			ptx_symbol_find(m, m->symbols[k]->name);
	ptx_line_text(m, 1, line, sizeof(line));
	ptx_module_free(m);
	return 0;
}
