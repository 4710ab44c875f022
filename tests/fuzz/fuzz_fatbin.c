/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target: any bytes as a fat binary: headers, choice of an entry,
 * decompression. The length that an image claims for itself is read, too. */
#include <stdlib.h>

#include "base/image.h"
#include "ptx/fatbin.h"

enum { LARGEST_ENTRY = 1 << 20 }; /* more than this is slow, and no other code */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fatbin fb = {0};
	struct diag d = DIAG_INIT;
	char text[64];
	unsigned index;
	if (!fatbin_open(&fb, data, bytes, &d)) {
		for (unsigned k = 0; k < fb.nentries; k++) {
			void *plain = NULL;
			size_t n;
			if (fb.entries[k].plain_bytes > LARGEST_ENTRY)
				continue;
			if (!fatbin_entry_load(&fb.entries[k], &plain, &n, &d))
				free(plain);
		}
		fatbin_choose_ptx(&fb, 90, &index);
		fatbin_choose_ptx_in(&fb, 0, 80, &index);
		fatbin_describe(&fb, text, sizeof(text));
	}
	fatbin_close(&fb);
	return 0;
}
