/* SPDX-License-Identifier: Apache-2.0
 *
 * Shards of an isolated replay at a time, each in a process of its own with a result of its own; these are merged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/session.h"

struct worker {
	pid_t pid;
	int fd; /* its diag comes here, when it fails */
	char result_path[sizeof(((struct session *)0)->result_path)];
};

enum { WORKER_FAILED = 1, WORKER_RESTART = 2 };

static int work(struct session *s, const struct worker *w, unsigned shard, int fd,
		int (*replay)(struct session *part, void *ctx), void *ctx)
{
	struct replay_options o = *s->opt;
	struct session *part = malloc(sizeof(*part));
	int rc;

	if (!part)
		return WORKER_FAILED;
	*part = *s;
	o.shard = shard;
	o.shards = o.jobs;
	o.jobs = 0;
	part->opt = &o;
	part->show_progress = s->show_progress && shard == 0;
	memcpy(part->result_path, w->result_path, sizeof(w->result_path));
	rc = replay(part, ctx);
	if (rc == ENGINE_RESTART)
		return WORKER_RESTART;
	if (rc && write(fd, &part->error, sizeof(part->error)) < 0)
		return WORKER_FAILED;
	return rc ? WORKER_FAILED : 0;
}

static int start(struct session *s, struct worker *w, unsigned shard,
		 int (*replay)(struct session *part, void *ctx), void *ctx)
{
	int ends[2];

	if (snprintf(w->result_path, sizeof(w->result_path), "%s.%u", s->result_path, shard + 1) >=
	    (int)sizeof(w->result_path))
		return diag_set(&s->error, CUTRACE_EINVAL, s->result_path, "path too long");
	if (pipe(ends))
		return diag_set(&s->error, CUTRACE_EIO, "", "no pipe to a shard: %s", strerror(errno));
	fflush(NULL);
	w->pid = fork();
	if (!w->pid) {
		close(ends[0]);
		_exit(work(s, w, shard, ends[1], replay, ctx));
	}
	close(ends[1]);
	w->fd = ends[0];
	if (w->pid > 0)
		return 0;
	diag_set(&s->error, CUTRACE_EIO, "", "cannot fork: %s", strerror(errno));
	close(w->fd);
	return CUTRACE_EIO;
}

static int wait_for(struct session *s, struct worker *w, unsigned shard)
{
	int status = 0;

	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_RESTART) {
		s->restart = true;
		return ENGINE_RESTART;
	}
	if (read(w->fd, &s->error, sizeof(s->error)) != (ssize_t)sizeof(s->error))
		diag_set(&s->error, CUTRACE_EIO, "", "shard %u of %u ended before it was through", shard + 1,
			 s->opt->jobs);
	return s->error.code;
}

static int merge(struct session *s, const struct worker *w, unsigned n)
{
	struct result_db *db;
	int rc = result_open(&db, s->result_path, false, &s->error);

	for (unsigned k = 0; k < n && !rc; k++)
		rc = result_merge(db, w[k].result_path, &s->error);
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
