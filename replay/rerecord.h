/* SPDX-License-Identifier: Apache-2.0
 *
 * rerecord: the replayer is an ordinary client of the driver, so a replay can be recorded: a new trace of what an
 * old one says, with evidence that it lacks, or of a part of it.
 */
#ifndef CUTRACE_REPLAY_RERECORD_H
#define CUTRACE_REPLAY_RERECORD_H

struct rerecord {
	const char *input, *output;
	const char *driver, *device; /* one of them; none: the interpreter */
	const char *check;           /* words of record --check */
	const char *launches;        /* of replay --launches; NULL: all, as a stream */
};

/* 0, or an exit status, with the reason on stderr: files that aren't there or would be overwritten. */
int rerecord_check(const struct rerecord *r, const char *command);
/* Runs `cutrace record ... -- cutrace replay ...`; the replay's exit status. */
int rerecord_run(const struct rerecord *r, const char *command);
/* Runs `cutrace ARGS`, NULL at the end; its exit status. */
int rerecord_cutrace(const char *const *args, const char *command);

#endif
