/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract in a code object: corpora to start from are what `cutrace compile -o DIR` writes (*.co).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/compiler/contract.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct diag d = DIAG_INIT;
	struct contract c;
	size_t n = 0;

	if (contract_read(data, bytes, &c, &d)) {
		if (!d.what[0])
			abort();
		return 0;
	}
	for (uint32_t k = 0; k < c.nvariables; k++)
		n += strlen(contract_variable(&c, k));
	n += strlen(c.kernel) + strlen(c.target) + strlen(c.build);
	return n > SIZE_MAX / 2; /* read, all of it */
}
