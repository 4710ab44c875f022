/* SPDX-License-Identifier: Apache-2.0
 *
 * rerecord: the replayer is an ordinary client of the driver, so a replay can be recorded: a new trace of what an
 * old one says, with evidence that it lacks, or of a part of it.
 */
#ifndef CUTRACE_REPLAY_RERECORD_H
#define CUTRACE_REPLAY_RERECORD_H

#include "base/diag.h"

struct workroom;

struct rerecord {
	const char *input, *output;
	const char *driver, *device; /* one of them; none: the interpreter */
	const char *check;           /* words of record --check */
	const char *self_replays;    /* how many; NULL: none */
	const char *launches;        /* of replay --launches; NULL: all, as a stream */
	const char *no_verify;       /* not NULL: the new trace is not replayed */
};

/* Options of `cutrace COMMAND`, enrich or trim, of which rerecord.c has the table. 0, 1: its help was asked for, or
 * CUTRACE_EINVAL. */
int rerecord_parse(struct rerecord *r, const char *command, int argc, char **argv, struct diag *d);
/* Whether its files are there, and would not be overwritten. */
int rerecord_check(const struct rerecord *r, struct diag *d);
/* Runs `cutrace record ... -- cutrace replay ...` into a file; the replay's exit status. */
int rerecord_run(const struct rerecord *r, const struct workroom *w, const char *output);

#endif
