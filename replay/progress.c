/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a replay is, on stderr, and signals that end it early. Only the first process of a replay shows and decides;
 * those that replay count on the ledger's board, and look there whether they shall stop.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "replay/session.h"

#define SHOW_EVERY  0.2 /* seconds, on a terminal */
#define LINE_EVERY  5.0 /* as lines of a log */
#define STOP_WITHIN 20. /* a launch that takes longer is not waited for */

static double seconds_since(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - t->tv_sec) + (double)(now.tv_nsec - t->tv_nsec) / 1e9;
}

/* ---- the line ----------------------------------------------------------------------------- */

static bool is_due(struct progress *p)
{
	if (p->how == PROGRESS_NONE ||
	    seconds_since(&p->last) < (p->how == PROGRESS_LINES ? LINE_EVERY : SHOW_EVERY))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &p->last);
	return true;
}

static void put_line(const struct progress *p, const char *text)
{
	if (p->how == PROGRESS_LINES)
		fprintf(stderr, "%s\n", text);
	else
		fprintf(stderr, "\r%s\033[K", text); /* with what is left of a longer line */
}

void progress_begin(struct progress *p, const char *phase)
{
	clock_gettime(CLOCK_MONOTONIC, &p->start);
	p->last = p->start;
	p->phase = phase;
}

void progress_end(struct progress *p)
{
	if (p->how == PROGRESS_TERMINAL)
		fputs("\r\033[K", stderr);
	p->phase = NULL;
}

/* Before the first call: a long trace takes seconds. */
void progress_checking(void *ctx, int permille)
{
	struct progress *p = ctx;
	char text[80];

	if (!is_due(p))
		return;
	snprintf(text, sizeof(text), "replay: checking the trace: %d %%", permille / 10);
	put_line(p, text);
}

static size_t add_time(char *out, size_t size, double seconds)
{
	unsigned long s = (unsigned long)(seconds + 0.5);
	int n = s < 120    ? snprintf(out, size, ", %lu s left", s)
		: s < 7200 ? snprintf(out, size, ", %lu min left", (s + 30) / 60)
			   : snprintf(out, size, ", %lu h %lu min left", s / 3600, s % 3600 / 60);

	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

/* Launches where there are any, calls where there are none. */
static void describe(const struct session *s, char *out, size_t size)
{
	const struct progress *p = &s->progress;
	const struct ledger *l = s->ledger;
	uint64_t done = atomic_load(&l->board->launches), all = l->launches,
		 wrong = atomic_load(&l->board->differences);
	double elapsed = seconds_since(&p->start), part;
	const char *what = "launches";
	size_t n;

	if (!all) {
		what = "calls";
		done = atomic_load(&l->board->call);
		all = s->last_call;
	}
	done = done < all ? done : all;
	part = all ? (double)done / (double)all : 1;
	n = (size_t)snprintf(out, size, "replay: %5.1f %%, %llu of %llu %s", 100 * part,
			     (unsigned long long)done, (unsigned long long)all, what);
	if (n < size && elapsed > 0.5 && done)
		n += (size_t)snprintf(out + n, size - n, ", %.0f a second", (double)done / elapsed);
	if (n < size && part > 0.01)
		n += add_time(out + n, size - n, elapsed / part - elapsed);
	if (n < size && wrong)
		snprintf(out + n, size - n, ", %llu differ", (unsigned long long)wrong);
}

static void show(struct session *s)
{
	char text[200];

	if (!s->ledger || !s->progress.phase || !is_due(&s->progress))
		return;
	if (*s->progress.phase)
		snprintf(text, sizeof(text), "replay: %s, %.0f s", s->progress.phase,
			 seconds_since(&s->progress.start));
	else
		describe(s, text, sizeof(text));
	put_line(&s->progress, text);
}

/* ---- signals ------------------------------------------------------------------------------ */

static struct ledger_board *board;
static volatile sig_atomic_t again; /* a second signal: at once */

static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction kept[sizeof(endings) / sizeof(endings[0])];

static void on_signal(int number)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&board->stop, &none, number))
		again = 1;
}

static void mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		sigaddset(&set, endings[i]);
	sigprocmask(how, &set, NULL);
}

void interrupt_hold(void)
{
	mask(SIG_BLOCK);
}

/* Inherited by what replays, which is reached by the terminal's signals, too. */
void interrupt_begin(struct session *s)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	again = 0;
	board = s->ledger->board;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		sigaction(endings[i], NULL, &kept[i]);
		if (kept[i].sa_handler != SIG_IGN) /* nohup */
			sigaction(endings[i], &sa, NULL);
	}
	mask(SIG_UNBLOCK);
}

void interrupt_end(void)
{
	for (size_t i = 0; board && i < sizeof(endings) / sizeof(endings[0]); i++)
		sigaction(endings[i], &kept[i], NULL);
	board = NULL;
	mask(SIG_UNBLOCK);
}

int interrupted(const struct session *s)
{
	return s->ledger && s->ledger->board ? atomic_load(&s->ledger->board->stop) : 0;
}

/* ---- waiting ------------------------------------------------------------------------------ */

static void pause_for(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	struct timespec t = {.tv_nsec = 5000000};

	if (pidfd >= 0)
		poll(&p, 1, (int)(1000 * SHOW_EVERY));
	else
		nanosleep(&t, NULL);
}

static void wait_in_front(struct session *s, pid_t pid, int *status)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct timespec told = {0};
	bool killed = false;

	while (waitpid(pid, status, WNOHANG) == 0) {
		show(s);
		if (interrupted(s) && !told.tv_sec)
			clock_gettime(CLOCK_MONOTONIC, &told);
		if (told.tv_sec && !killed && (again || seconds_since(&told) > STOP_WITHIN))
			killed = kill(pid, SIGKILL) == 0;
		pause_for(pidfd);
	}
	if (pidfd >= 0)
		close(pidfd);
}

void session_wait(struct session *s, pid_t pid, int *status)
{
	*status = 0;
	if (s->in_front && s->ledger)
		wait_in_front(s, pid, status);
	else
		while (waitpid(pid, status, 0) < 0 && errno == EINTR)
			;
}
