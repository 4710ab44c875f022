/* SPDX-License-Identifier: Apache-2.0
 *
 * report_parts: what a bundle is made of beside its trace: the result database, what the replay says, the summary; and what
 * is told of all of it before it is written.
 */
#ifndef CUTRACE_REDUCE_REPORT_PARTS_H
#define CUTRACE_REDUCE_REPORT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reduce/bundle.h"
#include "reduce/fit.h"
#include "reduce/reduce.h"
#include "reduce/scrub.h"

struct report_job {
	const char *input, *output, *launches;
	bool all, synthetic, dry_run, yes;
	struct judge *j;
	struct scrub scrub;
	uint64_t first, last; /* calls */
	bool differs;
	struct culprit culprit;
	char *grades; /* of these launches, in FILE */
	struct fit_notes notes;
	char *trace; /* path of the bundle's */
	/* of one launch */
	struct scene_size size;
	uint64_t texts;      /* bytes of its buffers that look like text */
	const char *suspect; /* what of this machine or the recording is in them; NULL */
	unsigned char_buffers;
};

void report_note_scene(struct report_job *r, const struct scene *s);
/* Replays the bundle's trace, and writes all files but that. Fails where it doesn't show what the whole does. */
int report_make_texts(struct report_job *r, struct diag *d);
unsigned report_files(const struct report_job *r, struct bundle_file *files); /* at most 8 */
void report_show(const struct report_job *r, const struct bundle_file *files, unsigned n, FILE *out);

#endif
