/* SPDX-License-Identifier: Apache-2.0
 *
 * Time and checkpoints. A checkpoint is a process that was forked at an instruction and waits for the one that went on.
 * They form a chain: each knows its time, the newest is nearest to the present. Who goes back exits with EXIT_REWIND; each
 * checkpoint from the newest on that is too late exits as well, the first that is early enough forks again.
 *
 * Their distance grows with the time, so their number with its logarithm, and going back costs at most an eighth of the way from
 * the beginning; one more is made shortly before the time that is gone back to, because a step back is seldom the only one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debug/session.h"

#define EXIT_REWIND 97
#define MAX_DEPTH   120     /* checkpoints at a time */
#define FIRST_STEP  1000000 /* instructions to the first checkpoint */
#define FINE_PART   50      /* of those: before the time that is gone back to */

volatile sig_atomic_t debug_interrupted;

static void interrupt(int sig)
{
	(void)sig;
	debug_interrupted = 1;
}

static void take_signals(void)
{
	struct sigaction a = {.sa_handler = interrupt};

	sigaction(SIGINT, &a, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits for it any more */
}

/* ---- checkpoints ----------------------------------------------------------------------- */

static void note_crash(struct session *s, int status)
{
	if (!WIFSIGNALED(status))
		return;
	fprintf(stderr,
		"cutrace debug: error: the process that executes the launch was ended by signal %d (%s)\n",
		WTERMSIG(status), strsignal(WTERMSIG(status)));
	s->sh->over = true;
	s->sh->status = 125;
}

/* In the checkpoint: until somebody goes back to here. Returns in a new process that goes on. */
static void wait_below(struct session *s, pid_t pid)
{
	int status;

	for (;;) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_REWIND) {
			note_crash(s, status);
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
		}
		if (s->sh->rewind_to < s->now && s->depth)
			_exit(EXIT_REWIND);
		pid = fork();
		if (pid == 0)
			return;
		if (pid < 0) {
			fprintf(stderr, "cutrace debug: error: cannot fork: %s\n", strerror(errno));
			s->sh->over = true;
			s->sh->status = 125;
			_exit(125);
		}
	}
}

/* A test aid: short ways between checkpoints in short kernels. */
static uint64_t first_step(void)
{
	const char *given = getenv("CUTRACE_REPLAY_DEBUG_STEP");
	uint64_t n = given && *given >= '0' && *given <= '9' ? strtoull(given, NULL, 10) : 0;

	return n >= 10 ? n : FIRST_STEP;
}

static uint64_t step_after(uint64_t now)
{
	return now / 8 > first_step() ? now / 8 : first_step();
}

/* True: in a process that somebody went back to. */
static bool checkpoint(struct session *s)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	bool again = false;
	pid_t pid;

	fflush(NULL);
	pid = s->depth < MAX_DEPTH ? fork() : -1; /* it goes without, at a price */
	if (pid > 0) {
		sigaction(SIGINT, &ignore, NULL);
		wait_below(s, pid);
		again = true;
	}
	if (pid >= 0) {
		take_signals();
		s->depth++;
		s->base = s->now;
	}
	s->checkpoint_at = s->now + step_after(s->now);
	return again;
}

static void flush_output(struct session *s)
{
	fflush(NULL);
	if (!ferror(stdout) || s->sh->status == 125)
		return;
	fputs("cutrace debug: error: cannot write the output\n", stderr);
	s->sh->status = 125;
}

static void go_back(struct session *s, uint64_t to) __attribute__((noreturn));
static void go_back(struct session *s, uint64_t to)
{
	s->sh->rewind_to = to;
	flush_output(s);
	_exit(EXIT_REWIND);
}

void timeline_leave(struct session *s)
{
	s->sh->over = true;
	flush_output(s);
	_exit(0);
}

/* ---- motion ------------------------------------------------------------------------------- */

/* The latest time that this motion needs to know, when it is known. */
static uint64_t end_of(const struct motion *m)
{
	return m->goal == GOAL_TIME ? m->target : m->goal == GOAL_SCAN ? m->limit : NEVER;
}

static void begin_scan(struct session *s)
{
	struct motion *m = &s->sh->motion;

	free(s->found);
	s->found = calloc(m->count, sizeof(*s->found));
	s->nfound = 0;
	s->scan_start = s->next;
	s->definite = s->next ? s->next + 1 : 0;
	s->seen.known = false;
}

/* Of a process that begins a motion, at its next instruction. */
static void begin(struct session *s)
{
	const struct motion *m = &s->sh->motion;
	uint64_t end = end_of(m), fine = first_step() / FINE_PART;

	stops_prepare(s);
	if (m->goal == GOAL_SCAN)
		begin_scan(s);
	s->fine_at = end != NEVER && end > s->next + 2 * fine ? end - fine : NEVER;
	s->alarm = s->checkpoint_at < end ? s->checkpoint_at : end;
	if (s->fine_at < s->alarm)
		s->alarm = s->fine_at;
	s->resume = false;
}

/* A checkpoint from which the scan sees something that it does not know for certain yet. */
static uint64_t scan_from(uint64_t limit)
{
	return limit >= 2 ? limit - 2 : 0;
}

void timeline_move(struct session *s)
{
	const struct motion *m = &s->sh->motion;

	debug_interrupted = 0;
	if (m->goal == GOAL_SCAN)
		go_back(s, scan_from(m->limit));
	if (m->goal == GOAL_TIME && (m->target <= s->now || s->state != STATE_RUNS))
		go_back(s, m->target);
	begin(s);
}

static void stop_here(struct session *s, const struct stop *why)
{
	talk(s, why);
	timeline_move(s);
}

static void note_found(struct session *s, const struct stop *stop)
{
	struct motion *m = &s->sh->motion;

	s->found[s->nfound++ % m->count] = s->now;
	s->last_found = *stop;
	s->last_found.now = s->now;
}

/* As far back as there is anything. */
static void nothing_before(struct session *s)
{
	struct motion *m = &s->sh->motion;

	m->goal = GOAL_TIME;
	m->target = 0;
	m->stop = (struct stop){.reason = STOP_BOUND, .focus = m->from};
	go_back(s, 0);
}

/* The scan came to its limit: the motion's stop is known, or lies before what was scanned. */
static void end_scan(struct session *s)
{
	struct motion *m = &s->sh->motion;
	uint64_t definite = 0, from, limit = m->limit,
		 oldest = s->nfound > m->count ? s->nfound - m->count : 0;

	for (uint64_t k = s->nfound; k > oldest && s->found[(k - 1) % m->count] >= s->definite; k--)
		definite++;
	if (definite >= m->count) {
		uint64_t k = s->nfound - m->count;

		m->goal = GOAL_TIME;
		m->target = s->found[k % m->count];
		m->stop = m->count == 1 ? s->last_found
					: (struct stop){.reason = STOP_STEP, .focus = s->last_found.focus};
		go_back(s, m->target);
	}
	if (s->definite == 0)
		nothing_before(s);
	m->count -= definite;
	m->limit = s->definite < limit ? s->definite : limit;
	from = scan_from(m->limit);
	go_back(s, from < s->scan_start ? from
					: s->scan_start - 1); /* what this scan did not know it never will */
}

static void interrupted(struct session *s)
{
	struct stop stop = {.reason = STOP_SIGNAL, .focus = s->sh->focus};

	debug_interrupted = 0;
	s->sh->motion.goal = GOAL_RUN;
	stop_here(s, &stop);
}

/* Who was looked at may have begun later, or left before: then who executes is. */
static void look_at_someone(struct session *s, const struct debug_at *at, struct focus *f)
{
	struct debug_frame frame;

	if (!s->view.frame(s->view.state, f->block, f->warp, f->lane, 0, &frame))
		*f = (struct focus){
			.block = at->block, .warp = at->warp, .lane = (uint32_t)__builtin_ctz(at->mask)};
}

/* True: the motion ends here, with *stop. */
static bool ends_here(struct session *s, const struct debug_at *at, struct stop *stop)
{
	struct motion *m = &s->sh->motion;

	if (m->goal == GOAL_TIME) {
		*stop = m->stop;
		look_at_someone(s, at, &stop->focus);
		return s->now >= m->target;
	}
	if (m->goal == GOAL_SCAN) {
		if (s->now >= m->limit)
			end_scan(s);
		if (stops_check(s, at, stop))
			note_found(s, stop);
		return false;
	}
	return stops_check(s, at, stop);
}

static void arrive(struct session *s, const struct debug_at *at)
{
	struct stop stop = {0};

	if (s->now >= s->checkpoint_at || s->now == s->fine_at) {
		if (checkpoint(s)) {
			s->next = s->now; /* this instruction is the first one again */
			begin(s);
			s->next = s->now + 1;
		} else {
			const struct motion *m = &s->sh->motion;
			uint64_t end = end_of(m);

			s->alarm = s->checkpoint_at < end ? s->checkpoint_at : end;
			if (s->fine_at > s->now && s->fine_at < s->alarm)
				s->alarm = s->fine_at;
		}
	}
	if (debug_interrupted)
		interrupted(s);
	else if (ends_here(s, at, &stop))
		stop_here(s, &stop);
}

/* The hook of each instruction. */
void timeline_arrive(struct session *s, const struct debug_at *at)
{
	s->before = s->at;
	s->has_before = s->next > 0;
	s->at = *at;
	s->now = s->next++;
	if (s->now >= s->alarm || s->attentive || s->flags[at->func][at->inst] || debug_interrupted)
		arrive(s, at);
}

void timeline_begin(struct session *s)
{
	s->now = s->next = 0;
	s->checkpoint_at = NEVER;
	checkpoint(s);
	s->next = 0;
	begin(s);
}

/* There is no instruction to come: the machine stands for good. */
void timeline_over(struct session *s, enum state state, const char *fault)
{
	struct stop stop = {.reason = state == STATE_FAULTED ? STOP_FAULTED : STOP_END,
			    .focus = s->sh->focus};
	struct motion *m = &s->sh->motion;

	if (s->state != STATE_RUNS)
		return;
	s->before = s->at;
	s->now = s->next;
	s->state = state;
	if (fault)
		snprintf(s->fault, sizeof(s->fault), "%s", fault);
	for (char *p = s->fault; *p; p++)
		if (*p == '\t')
			*p = ' ';
	if (m->goal == GOAL_SCAN && s->now <= m->limit)
		end_scan(s);
	talk(s, &stop);
	timeline_move(s); /* only back */
	timeline_leave(s);
}
