/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that are judged together; between narrow_batch.c, narrow_judge.c, narrow_fused.c and narrow_execute.c.
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

struct batch *batch_new(struct judging *j, uint32_t site, uint32_t fused);
/* A row to be filled. NULL: no memory. */
uint32_t *batch_add(struct batch *b, uint64_t thread, uint64_t at);
/* Of all records that can be judged; `threads` of a block. False: no memory. */
bool batches_collect(struct judging *j, uint64_t threads);

/* Makes what each batch's statement gives, in out[0]; with seeds in the others. 0, or an error. */
int judging_execute(struct judging *j, struct diag *d);

/* The result of a row that is wrong, or NULL. */
const struct ptx_site_register *judging_wrong(const struct judging *j, const struct batch *b, size_t row);

/* Judges for each product that a wrong sum may be fused with, with the rows in question. False: no memory. */
bool fused_collect(struct judging *fused, const struct judging *j);
/* Whether one of the fused forms gives what is there. */
bool fused_gives(const struct judging *fused, const struct place_of_row *of, uint32_t site);

/* narrow_spare.c: sums whose products the log leaves out. False: no memory. */
bool spare_collect(struct judging *j);

#endif
