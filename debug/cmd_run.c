/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that move: each fills in a motion, and the loop of commands ends. */
#include <stdlib.h>
#include <string.h>

#include "debug/session.h"

static int parse_count(const char *arg, uint64_t *n, struct diag *d)
{
	char *end;

	*n = 1;
	if (!*arg)
		return 0;
	*n = *arg >= '0' && *arg <= '9' ? strtoull(arg, &end, 0) : 0;
	if (*n && !*end && *n <= MAX_BACK)
		return 0;
	return diag_set(d, CUTRACE_EINVAL, "", "'%.40s' is no number from 1 to %u", arg, MAX_BACK);
}

static int may_go_on(const struct session *s, struct diag *d)
{
	if (s->state == STATE_RUNS)
		return 0;
	diag_set(d, CUTRACE_EINVAL, "",
		 s->state == STATE_ENDED ? "the launch is over"
					 : "the kernel has faulted: there is nothing to execute");
	diag_hint(d, "go back: reverse-continue, reverse-stepi, goto N, run");
	return CUTRACE_EINVAL;
}

static void move(struct session *s, const struct motion *m)
{
	s->sh->motion = *m;
	s->resume = true;
}

/* Depth and line of the thread that is looked at. */
static int start_of(struct session *s, struct motion *m, struct diag *d)
{
	struct debug_frame frame;
	uint32_t depth = 0;

	m->from = s->sh->focus;
	m->from.level = 0;
	if (s->state == STATE_ENDED)
		return 0;
	if (!s->view.frame(s->view.state, m->from.block, m->from.warp, m->from.lane, 0, &frame)) {
		if (m->goal == GOAL_SCAN)
			return 0;
		diag_set(d, CUTRACE_EINVAL, "", "this thread has exited, or not begun");
		diag_hint(d, "`info blocks` and `info warps` show who is there; `continue` goes on");
		return CUTRACE_EINVAL;
	}
	code_source(s, frame.func, frame.inst, &m->file, &m->line);
	while (s->view.frame(s->view.state, m->from.block, m->from.warp, m->from.lane, depth + 1, &frame))
		depth++;
	m->depth = depth;
	return 0;
}

/* Source lines where there are any. */
static uint8_t by_line(const struct motion *m, uint8_t line, uint8_t inst)
{
	return m->line ? line : inst;
}

static int step(struct session *s, const char *arg, uint8_t kind, struct diag *d)
{
	struct motion m = {.goal = GOAL_RUN, .step = kind};
	int rc = parse_count(arg, &m.count, d);

	if (!rc)
		rc = may_go_on(s, d);
	if (!rc)
		rc = start_of(s, &m, d);
	if (rc)
		return rc;
	if (kind == STEP_LINE)
		m.step = by_line(&m, STEP_LINE, STEP_INST);
	if (kind == STEP_LINE_OVER)
		m.step = by_line(&m, STEP_LINE_OVER, STEP_INST_OVER);
	if (kind == STEP_OUT && !m.depth)
		return diag_set(d, CUTRACE_EINVAL, "", "this is the kernel itself: nothing called it");
	move(s, &m);
	return 0;
}

/* Where the thread's function has no lines, or the thread isn't there any more, instructions are counted. */
static int step_back(struct session *s, const char *arg, uint8_t kind, struct diag *d)
{
	struct motion m = {.goal = GOAL_SCAN, .step = kind, .limit = s->now};
	int rc = parse_count(arg, &m.count, d);

	if (!rc)
		rc = start_of(s, &m, d);
	if (rc)
		return rc;
	if (kind == STEP_LINE && s->state == STATE_RUNS)
		m.step = by_line(&m, STEP_LINE, STEP_INST);
	if (kind == STEP_LINE_OVER && s->state == STATE_RUNS)
		m.step = by_line(&m, STEP_LINE_OVER, STEP_INST_OVER);
	if (kind == STEP_OUT && !m.depth)
		return diag_set(d, CUTRACE_EINVAL, "", "this is the kernel itself: nothing called it");
	if (!s->now)
		return diag_set(d, CUTRACE_EINVAL, "", "nothing is before this: the launch begins here");
	move(s, &m);
	return 0;
}

int do_step(struct session *s, const char *arg, struct diag *d)
{
	return step(s, arg, STEP_LINE, d);
}

int do_stepi(struct session *s, const char *arg, struct diag *d)
{
	return step(s, arg, STEP_INST, d);
}

int do_next(struct session *s, const char *arg, struct diag *d)
{
	return step(s, arg, STEP_LINE_OVER, d);
}

int do_nexti(struct session *s, const char *arg, struct diag *d)
{
	return step(s, arg, STEP_INST_OVER, d);
}

int do_stepwarp(struct session *s, const char *arg, struct diag *d)
{
	return step(s, arg, STEP_WARP, d);
}

int do_finish(struct session *s, const char *arg, struct diag *d)
{
	return takes_nothing(arg, "finish", d) ? CUTRACE_EINVAL : step(s, "", STEP_OUT, d);
}

int do_reverse_step(struct session *s, const char *arg, struct diag *d)
{
	return step_back(s, arg, STEP_LINE, d);
}

int do_reverse_stepi(struct session *s, const char *arg, struct diag *d)
{
	return step_back(s, arg, STEP_INST, d);
}

int do_reverse_next(struct session *s, const char *arg, struct diag *d)
{
	return step_back(s, arg, STEP_LINE_OVER, d);
}

int do_reverse_nexti(struct session *s, const char *arg, struct diag *d)
{
	return step_back(s, arg, STEP_INST_OVER, d);
}

int do_reverse_stepwarp(struct session *s, const char *arg, struct diag *d)
{
	return step_back(s, arg, STEP_WARP, d);
}

int do_reverse_finish(struct session *s, const char *arg, struct diag *d)
{
	return takes_nothing(arg, "reverse-finish", d) ? CUTRACE_EINVAL : step_back(s, "", STEP_OUT, d);
}

/* continue N: passes the breakpoint at which it stands N - 1 times, as in gdb. */
static void ignore_here(struct session *s, uint64_t n)
{
	for (unsigned k = 0; k < MAX_BREAKS; k++) {
		struct breakpoint *b = &s->sh->breaks[k];

		for (uint32_t p = 0; b->kind == BREAK_CODE && p < b->nplaces; p++)
			if (b->places[p].func == s->at.func && b->places[p].inst == s->at.inst)
				b->ignore = n - 1;
	}
}

int do_continue(struct session *s, const char *arg, struct diag *d)
{
	struct motion m = {.goal = GOAL_RUN, .step = STEP_NONE, .count = 1, .from = s->sh->focus};
	uint64_t n;
	int rc = parse_count(arg, &n, d);

	if (!rc)
		rc = may_go_on(s, d);
	if (rc)
		return rc;
	if (n > 1)
		ignore_here(s, n);
	move(s, &m);
	return 0;
}

int do_reverse_continue(struct session *s, const char *arg, struct diag *d)
{
	struct motion m = {.goal = GOAL_SCAN, .step = STEP_NONE, .limit = s->now, .from = s->sh->focus};
	int rc = parse_count(arg, &m.count, d);

	if (rc)
		return rc;
	if (!s->now)
		return diag_set(d, CUTRACE_EINVAL, "", "nothing is before this: the launch begins here");
	m.from.level = 0;
	move(s, &m);
	return 0;
}

int do_until(struct session *s, const char *arg, struct diag *d)
{
	int rc = may_go_on(s, d);

	if (!rc && !*arg)
		rc = diag_set(d, CUTRACE_EINVAL, "",
			      "until where? A line of the PTX or of a source, or a function");
	if (!rc)
		rc = do_tbreak(s, arg, d);
	return rc ? rc : do_continue(s, "", d);
}

static int go_to(struct session *s, uint64_t time)
{
	struct motion m = {.goal = GOAL_TIME, .target = time, .from = s->sh->focus};

	m.from.level = 0;
	m.stop = (struct stop){.reason = STOP_TIME, .focus = m.from};
	move(s, &m);
	return 0;
}

int do_goto(struct session *s, const char *arg, struct diag *d)
{
	char *end;
	unsigned long long n;

	if (!strcmp(arg, "begin"))
		return go_to(s, 0);
	if (!strcmp(arg, "end"))
		return s->state == STATE_ENDED ? diag_set(d, CUTRACE_EINVAL, "", "the launch is over")
					       : go_to(s, NEVER - 1);
	n = *arg >= '0' && *arg <= '9' ? strtoull(arg, &end, 0) : 0;
	if (*arg < '0' || *arg > '9' || *end || n >= NEVER - 1)
		return diag_set(d, CUTRACE_EINVAL, "", "goto where? A time (info time), begin or end");
	if (n >= s->now && may_go_on(s, d))
		return CUTRACE_EINVAL;
	return go_to(s, n);
}

int do_run(struct session *s, const char *arg, struct diag *d)
{
	return takes_nothing(arg, "run", d) ? CUTRACE_EINVAL : go_to(s, 0);
}
