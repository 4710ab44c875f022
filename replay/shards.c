/* SPDX-License-Identifier: Apache-2.0
 *
 * An isolated replay in several processes at a time, which share its launches (ledger.h), each with a result of its own;
 * these are merged.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/session.h"

struct worker {
	pid_t pid;
	int fd; /* its diag comes here, when it fails */
	char result_path[sizeof(((struct session *)0)->result_path)];
};

enum { WORKER_FAILED = 1, WORKER_RESTART = 2 };

static int work(struct session *s, const struct worker *w, unsigned worker, int fd,
		int (*replay)(struct session *part, void *ctx), void *ctx)
{
	struct session *part = malloc(sizeof(*part));
	int rc;

	if (!part)
		return WORKER_FAILED;
	*part = *s;
	part->worker = worker + 1;
	part->in_front = false;
	memcpy(part->result_path, w->result_path, sizeof(w->result_path));
	rc = replay(part, ctx);
	if (rc == ENGINE_RESTART)
		return WORKER_RESTART;
	if (rc && write(fd, &part->error, sizeof(part->error)) < 0)
		return WORKER_FAILED;
	return rc ? WORKER_FAILED : 0;
}

static int start(struct session *s, struct worker *w, unsigned worker,
		 int (*replay)(struct session *part, void *ctx), void *ctx)
{
	int ends[2];

	if (snprintf(w->result_path, sizeof(w->result_path), "%s.%u", s->result_path, worker + 1) >=
	    (int)sizeof(w->result_path))
		return diag_set(&s->error, CUTRACE_EINVAL, s->result_path, "path too long");
	if (pipe(ends))
		return diag_set(&s->error, CUTRACE_EIO, "", "no pipe to a shard: %s", strerror(errno));
	fflush(NULL);
	w->pid = fork();
	if (!w->pid) {
		close(ends[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(work(s, w, worker, ends[1], replay, ctx));
	}
	close(ends[1]);
	w->fd = ends[0];
	if (w->pid > 0)
		return 0;
	diag_set(&s->error, CUTRACE_EIO, "", "cannot fork: %s", strerror(errno));
	close(w->fd);
	return CUTRACE_EIO;
}

static int wait_for(struct session *s, struct worker *w, unsigned worker)
{
	struct diag d = DIAG_INIT;
	int status;

	session_wait(s, w->pid, &status);
	if ((WIFEXITED(status) && !WEXITSTATUS(status)) || (interrupted(s) && WIFSIGNALED(status)))
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_RESTART) {
		s->restart = true;
		return ENGINE_RESTART;
	}
	if (read(w->fd, &d, sizeof(d)) != (ssize_t)sizeof(d))
		diag_set(&d, CUTRACE_EIO, "", "process %u of %u ended before it was through", worker + 1,
			 s->opt->jobs);
	if (!s->error.code)
		s->error = d;
	return d.code;
}

static int merge(struct session *s, const struct worker *w, unsigned n)
{
	struct result_db *db;
	int rc = result_open(&db, s->result_path, false, &s->error);

	for (unsigned k = 0; k < n && !rc; k++) {
		rc = result_merge(db, w[k].result_path, &s->error);
		if (rc && interrupted(s)) /* it was killed before it had any */
			rc = 0;
	}
	result_close(db);
	return rc;
}

int shards_run(struct session *s, int (*replay)(struct session *part, void *ctx), void *ctx)
{
	unsigned n = s->opt->jobs, started = 0;
	struct worker *w = calloc(n, sizeof(*w));
	int rc = w ? 0 : diag_set(&s->error, CUTRACE_ENOMEM, "", "out of memory");

	while (started < n && !rc) {
		rc = start(s, &w[started], started, replay, ctx);
		started += !rc;
	}
	if (!rc)
		rc = session_check_rows(s);
	for (unsigned k = 0; k < started && rc; k++)
		kill(w[k].pid, SIGKILL);
	for (unsigned k = 0; k < started; k++) {
		int ended = wait_for(s, &w[k], k);

		rc = rc ? rc : ended;
	}
	if (!rc)
		rc = merge(s, w, n);
	for (unsigned k = 0; k < started; k++) {
		close(w[k].fd);
		unlink(w[k].result_path);
	}
	free(w);
	return rc;
}
