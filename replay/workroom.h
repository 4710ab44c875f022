/* SPDX-License-Identifier: Apache-2.0
 *
 * workroom: for commands that replay again and again: a temporary folder that is also their children's, and children
 * that end with the command, so that nothing is left behind however it ends. SIGINT, SIGTERM and SIGHUP are passed on to
 * the child of the moment and remembered; the command tidies up, and workroom_close ends it as the signal would have.
 */
#ifndef CUTRACE_REPLAY_WORKROOM_H
#define CUTRACE_REPLAY_WORKROOM_H

#include <stdbool.h>

#include "base/diag.h"

struct workroom {
	char folder[4096];
	struct workroom_path **paths; /* that were asked for */
};

int workroom_open(struct workroom *w, struct diag *d);
void workroom_close(struct workroom *w);
bool workroom_interrupted(void);
/* FOLDER/NAME; lasts as long as the room. */
const char *workroom_path(const struct workroom *w, const char *name);

enum { WORKROOM_SIGNAL = -1, WORKROOM_TOO_LONG = -2 };
/* fn(ctx) in a process of its own, its standard output and errors in those files of the folder (NULL: as they are). What
 * fn returns is its exit status and this function's result; or one of the numbers above. limit_s 0: none. */
int workroom_run(const struct workroom *w, int (*fn)(void *ctx), void *ctx, const char *out, const char *err,
		 double limit_s);
/* Likewise `cutrace ARGS`, NULL at the end. */
int workroom_cutrace(const struct workroom *w, const char *const *args, const char *out, const char *err,
		     double limit_s);
/* The first error that a child left in a file of the folder, without the word "error"; "" when there is none. */
const char *workroom_reason(const struct workroom *w, const char *err);
/* With all that is in it. */
void workroom_remove_folder(const char *path);
/* A trace, with what lies beside one that is being written. */
void workroom_remove_trace(const char *path);

#endif
