/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of work that need not know of each other, in opt->jobs processes at a time: each takes the next one that nobody has.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/session.h"

struct pool {
	_Atomic unsigned *next; /* shared */
	unsigned n;
	void (*work)(struct session *s, unsigned k, void *ctx);
	void *ctx;
};

static void take_all(struct session *s, const struct pool *p)
{
	unsigned k;

	while (!interrupted(s) && (k = atomic_fetch_add(p->next, 1)) < p->n)
		p->work(s, k, p->ctx);
}

static pid_t start(struct session *s, const struct pool *p)
{
	struct session *part;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	part = malloc(sizeof(*part));
	if (!part)
		_exit(1);
	*part = *s;
	part->in_front = false;
	take_all(part, p);
	fflush(NULL);
	_exit(0);
}

void pool_run(struct session *s, unsigned n, void (*work)(struct session *s, unsigned k, void *ctx),
	      void *ctx)
{
	unsigned jobs = s->opt->jobs < n ? s->opt->jobs : n, started = 0;
	pid_t *pids = jobs > 1 ? calloc(jobs, sizeof(*pids)) : NULL;
	_Atomic unsigned alone = 0, *next = MAP_FAILED;
	struct pool p = {&alone, n, work, ctx};
	int status;

	if (pids)
		next = mmap(NULL, sizeof(*next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (next != MAP_FAILED)
		p.next = next;
	while (next != MAP_FAILED && started < jobs) {
		pids[started] = start(s, &p);
		if (pids[started] < 0)
			break;
		started++;
	}
	if (!started) /* one job, or no more processes can be had */
		take_all(s, &p);
	for (unsigned k = 0; k < started; k++)
		session_wait(s, pids[k], &status);
	if (next != MAP_FAILED)
		munmap(next, sizeof(*next));
	free(pids);
}
