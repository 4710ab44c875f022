/* SPDX-License-Identifier: Apache-2.0
 *
 * judge: whether a scene still shows what its original does on the target. What the launch is to write is made by the
 * interpreter, first: a scene in which that fails (an access that is not allowed, a race, a deadlock) shows nothing.
 */
#ifndef CUTRACE_REDUCE_JUDGE_H
#define CUTRACE_REDUCE_JUDGE_H

#include <stdbool.h>

#include "reduce/scene.h"
#include "replay/workroom.h"

struct judge {
	const struct workroom *room;
	const char *driver, *device; /* the target; one of them */
	const char *reference;       /* device that makes what is right */
	const char *kernel;          /* whose results are to differ */
	bool fault;                  /* it is to fault instead */
	bool in_order;        /* launches one after the other, as they were recorded, not each by itself */
	double step_s, end_s; /* of one replay; by the monotonic clock, 0: none */
	const char *note;
	bool keep_lines;       /* .file and .loc of the PTX stay */
	char *best;            /* path of the last excerpt that showed it */
	struct scene *current; /* what that is */
	unsigned tried, held;
	/* Not NULL: asked instead of the target, of what the interpreter made. */
	bool (*accept)(const struct judge *j, const char *made);
	void *accept_ctx;
	void (*progress)(const struct judge *j);
	bool out_of_time;
};

double judge_now(void);
/* Made new by the interpreter and replayed on the target: true: it shows it; then it is *j->best. *d: why it does not,
 * where no replay could be made. */
bool judge_scene(struct judge *j, const struct scene *s, struct diag *d);
/* Likewise; and s, if it holds, becomes *j->current. Frees it else. */
bool judge_take(struct judge *j, struct scene *s);
bool judge_stopped(void *judge);
/* Of a result database: does one of the kernel's launches differ, or (fault) fault? */
bool judge_shows(const struct judge *j, const char *result);
/* `cutrace replay --isolated` of a trace on the target, with results in a file of the room. Its exit status, or of
 * workroom.h. */
int judge_replay(const struct judge *j, const char *trace, const char *result, const char *const *more);

#endif
