/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target: any bytes as PTX; everything that can be built is verified
 * and analysed. A good corpus to start from is tests/ptx/seed.ptx. */
#include <stdlib.h>

#include "tests/ptx/all_analyses.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct diag d = DIAG_INIT;
	struct ptx_module *m = ptx_module_parse((const char *)data, bytes, "fuzz.ptx", &d);
	if (!m)
		return 0;
	for (uint32_t k = 0; k < m->nfuncs; k++) {
		struct ptx_func *f = m->funcs[k];
		if (ptx_func_build(m, f))
			continue;
		if (ptx_func_verify(m, f, &d))
			abort();
		ptx_func_analyse(m, f);
		all_analyses(m, f);
	}
	ptx_module_free(m);
	return 0;
}
