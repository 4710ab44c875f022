/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target: any bytes as a cubin: kernels, parameters, variables. */
#include "ptx/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct cubin c;
	struct diag d = DIAG_INIT;
	if (!cubin_open(&c, data, bytes, &d))
		for (unsigned k = 0; k < c.nkernels; k++)
			cubin_kernel_find(&c, c.kernels[k].name);
	cubin_close(&c);
	return 0;
}
