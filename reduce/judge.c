/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "replay/excerpt.h"

double judge_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of the next replay: not beyond the end of all. */
static double limit(const struct judge *j)
{
	double left = j->end_s > 0 ? j->end_s - judge_now() + 0.1 : j->step_s;

	return left < 0.1 ? 0.1 : left < j->step_s ? left : j->step_s;
}

bool judge_stopped(void *judge)
{
	struct judge *j = judge;

	if (j->end_s > 0 && judge_now() > j->end_s)
		j->out_of_time = true;
	return j->out_of_time || workroom_interrupted();
}

int judge_replay(const struct judge *j, const char *trace, const char *result, const char *const *more)
{
	const char *args[32] = {"replay",
				"-q",
				"-o",
				result,
				j->driver ? "--driver" : "--device",
				j->driver ? j->driver : j->device};
	unsigned n = 6;

	if (!j->in_order)
		args[n++] = "--isolated";
	for (; more && *more && n < 27; more++)
		args[n++] = *more;
	args[n++] = "--";
	args[n] = trace;
	unlink(result);
	return workroom_cutrace(j->room, args, "target.out", "target.err", limit(j));
}

bool judge_shows(const struct judge *j, const char *result)
{
	char *grades = excerpt_grades(result), *line, *rest = grades;
	size_t n = strlen(j->kernel);
	bool yes = false;

	while (!yes && (line = strsep(&rest, "\n")) != NULL)
		yes = !strncmp(line, j->kernel, n) && line[n] == ' ' &&
		      !strcmp(strrchr(line, ' ') + 1, j->fault ? "fault" : "differs");
	free(grades);
	return yes;
}

static bool shows_on_target(const struct judge *j, const char *made)
{
	const char *const quick[] = {"--no-narrow", "--stop-at", "18446744073709551615",
				     NULL}; /* who stored what is not asked */
	const char *result = workroom_path(j->room, "target.db");
	int status = judge_replay(j, made, result, quick);

	if (status == WORKROOM_SIGNAL && !j->fault)
		return false;
	return judge_shows(j, result);
}

bool judge_scene(struct judge *j, const struct scene *s, struct diag *d)
{
	const char *candidate = workroom_path(j->room, "candidate.trace"),
		   *made = workroom_path(j->room, "made.trace");
	const struct excerpt_request q = {.trace = candidate,
					  .out = made,
					  .first = 1,
					  .last = UINT64_MAX,
					  .remake = true,
					  .scratch = true,
					  .device = j->reference,
					  .limit_s = limit(j)};
	bool shows;

	if (judge_stopped(j))
		return false;
	j->tried++;
	if (scene_save(s, candidate, j->note, d) || excerpt_make(j->room, &q, d))
		return false;
	shows = j->accept ? j->accept(j, made) : shows_on_target(j, made);
	if (workroom_interrupted() || (shows && rename(made, j->best)))
		shows = false;
	j->held += shows;
	if (j->progress)
		j->progress(j);
	return shows;
}

bool judge_take(struct judge *j, struct scene *s)
{
	struct diag d = DIAG_INIT;

	if (!scene_is_sound(s) || !judge_scene(j, s, &d)) {
		scene_drop(s);
		return false;
	}
	scene_drop(j->current);
	*j->current = *s;
	return true;
}
