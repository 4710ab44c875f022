/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target: any bytes, split at the first NUL, as two PTX modules to be
 * linked; what comes of it must be a module again. */
#include <stdlib.h>
#include <string.h>

#include "ptx/ir.h"
#include "ptx/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *text = (const char *)data;
	const size_t first = bytes ? strnlen(text, bytes - 1) : 0;
	struct ptx_linked out = {0};
	struct ptx_link_input inputs[2] = {
		{.text = text, .bytes = first, .name = "a.ptx"},
		{.text = text + first, .bytes = bytes - first, .name = "b.ptx"},
	};
	if (!ptx_link(inputs, 2, &out)) {
		struct diag d = DIAG_INIT;
		struct ptx_module *m = ptx_module_parse(out.text, out.bytes, "linked.ptx", &d);
		if (!m || m->nerrors)
			abort();
		ptx_module_free(m);
	}
	ptx_linked_free(&out);
	return 0;
}
