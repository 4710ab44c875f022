/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that are judged together; between narrow_judge.c and narrow_execute.c.
 */
#ifndef CUTRACE_REPLAY_NARROW_JUDGE_H
#define CUTRACE_REPLAY_NARROW_JUDGE_H

#include "replay/narrow.h"

#define SEEDS     8
#define RUNS      (SEEDS + 1)
#define LANES     32
#define MAX_BYTES (512ull << 20) /* of records and results; what is beyond is not judged */

struct place_of_row {
	uint64_t thread, at; /* thread UINT64_MAX: nobody's */
};

/* The records of one judge. */
struct batch {
	struct ptx_judge judge;
	unsigned in_words, out_words;
	uint32_t *rows;
	struct place_of_row *of;
	size_t n, capacity;
	bool approximate;
	uint32_t *out[RUNS]; /* in shared memory */
	uint8_t *done;       /* by run */
};

struct judging {
	struct session *s;
	const struct ptx_module *m;
	const struct narrow_log *log;
	struct batch *batches;
	uint32_t n;
	uint32_t *by_site; /* batch + 1 */
	uint64_t bytes;
	void *shared;
	size_t shared_bytes;
};

/* Makes what each batch's statement gives, in out[0]; with seeds in the others. 0, or an error. */
int judging_execute(struct judging *j, struct diag *d);

#endif
