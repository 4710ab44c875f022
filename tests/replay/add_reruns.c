/* SPDX-License-Identifier: Apache-2.0
 *
 * add_reruns TRACE RUNS FILE...: files of `replay --keep`, named PROCESS.CALL.ADDRESS, as what one of RUNS self-replays gave.
 */
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/trace.h"

int main(int argc, char **argv)
{
	struct trace_rerun *rows = calloc((size_t)argc, sizeof(*rows));
	struct diag d = DIAG_INIT;
	size_t n = 0;

	for (int k = 3; rows && k < argc; k++) {
		struct trace_rerun *r = &rows[n++];
		char name[4096];

		snprintf(name, sizeof(name), "%s", argv[k]);
		r->contents = argv[k];
		r->times = 1;
		if (sscanf(basename(name), "%*u.%" SCNu64 ".%" SCNx64, &r->launch, &r->base) != 2)
			return 2;
	}
	if (n && trace_add_reruns(argv[1], rows, n, (unsigned)atoi(argv[2]), &d)) {
		diag_print(&d, stderr);
		return 1;
	}
	free(rows);
	return 0;
}
