/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce: makes of a launch that differs something that others can look at: the smallest launch that still does
 * (cutrace reduce), and a bundle for a bug tracker without what is nobody's business (cutrace report).
 */
#ifndef CUTRACE_REDUCE_H
#define CUTRACE_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

int cmd_reduce(int argc, char **argv);
int cmd_report(int argc, char **argv);

/* ---- culprit.c: shared by both ---- */

struct judge;

/* The launch that differs first. */
struct culprit {
	uint64_t call;
	unsigned launches; /* of its process, all of them */
	char kernel[4096]; /* mangled names are long */
	bool fault;
	bool has_block;
	uint32_t block[3]; /* of the first wrong element */
	char op[64];       /* of the first wrong instruction; "" where it is not known */
	char line[400];    /* "PTX line 17: add.rn.f32 ..."; "" where it is not known */
};
/* Of a result database of an isolated replay. False: nothing differs. */
bool culprit_find(struct culprit *c, const char *result);
/* Replays the trace's launches ("A-B", or NULL: all) on the target into a file of the room. 0, or the reason. */
int culprit_replay(const struct judge *j, const char *trace, const char *result, const char *launches,
		   struct diag *d);

/* "90", "90s", "15m", "2h"; false: none of these. */
bool parse_duration(const char *text, double *seconds);
/* A file to its place, also on another file system. */
int move_file(const char *from, const char *to, struct diag *d);

#endif
