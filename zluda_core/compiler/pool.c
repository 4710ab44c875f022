/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdint.h>

#include "zluda_core/compiler/pool.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "zluda_core/compiler/spawn.h"
#include "zluda_core/compiler/wire.h"

static void init_lock(struct pool *p)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->idle, &attr);
	pthread_condattr_destroy(&attr);
}

void workers_init(struct pool *p, unsigned limit)
{
	memset(p, 0, sizeof(*p));
	p->limit = limit < 1 ? 1 : limit > POOL_MAX ? POOL_MAX : limit;
	for (unsigned k = 0; k < POOL_MAX; k++)
		p->workers[k].fd = -1;
	init_lock(p);
}

/* The descriptor is still the socket that was opened, not what a program has put in its place. */
static bool is_ours(const struct pool_worker *w)
{
	struct stat st;

	return w->fd >= 0 && !fstat(w->fd, &st) && S_ISSOCK(st.st_mode) && st.st_ino == w->inode;
}

static void drop(struct pool *p, struct pool_worker *w)
{
	if (is_ours(w))
		close(w->fd);
	w->fd = -1;
	w->busy = false;
	p->count--;
}

void workers_close(struct pool *p)
{
	for (unsigned k = 0; k < POOL_MAX; k++)
		if (p->workers[k].fd >= 0)
			drop(p, &p->workers[k]);
	pthread_cond_destroy(&p->idle);
	pthread_mutex_destroy(&p->lock);
}

void workers_forget(struct pool *p)
{
	for (unsigned k = 0; k < POOL_MAX; k++) {
		if (is_ours(&p->workers[k]))
			close(p->workers[k].fd);
		p->workers[k] = (struct pool_worker){.fd = -1};
	}
	p->count = 0;
	init_lock(p);
}

/* An idle worker has nothing to say: something to read is its end. */
static bool is_alive(const struct pool_worker *w)
{
	struct pollfd f = {w->fd, POLLIN, 0};

	return is_ours(w) && poll(&f, 1, 0) == 0;
}

static struct pool_worker *find_idle(struct pool *p)
{
	for (unsigned k = 0; k < POOL_MAX; k++) {
		struct pool_worker *w = &p->workers[k];

		if (w->fd < 0 || w->busy)
			continue;
		if (is_alive(w))
			return w;
		drop(p, w);
	}
	return NULL;
}

static struct pool_worker *find_slot(struct pool *p)
{
	for (unsigned k = 0; p->count < p->limit && k < POOL_MAX; k++)
		if (p->workers[k].fd < 0 && !p->workers[k].busy)
			return &p->workers[k];
	return NULL;
}

/* With the lock held, which is released while the process starts. */
static int start(struct pool *p, struct pool_worker *w, const char *compiler, struct diag *d)
{
	struct stat st;
	int fd = -1;

	w->busy = true;
	p->count++;
	pthread_mutex_unlock(&p->lock);
	int rc = spawn_worker(compiler, &fd, d);
	pthread_mutex_lock(&p->lock);
	if (!rc && !fstat(fd, &st)) {
		w->fd = fd;
		w->inode = st.st_ino;
		return 0;
	}
	w->busy = false;
	p->count--;
	pthread_cond_signal(&p->idle);
	return rc ? rc
		  : diag_set(d, CUTRACE_EIO, compiler, "can't use a worker's socket: %s", strerror(errno));
}

static bool wait_idle(struct pool *p, int64_t deadline_ms)
{
	struct timespec t = {deadline_ms / 1000, deadline_ms % 1000 * 1000000};

	if (!deadline_ms)
		return !pthread_cond_wait(&p->idle, &p->lock);
	return pthread_cond_timedwait(&p->idle, &p->lock, &t) != ETIMEDOUT;
}

static int take_locked(struct pool *p, const char *compiler, int64_t deadline_ms, struct pool_worker **out,
		       bool *fresh, struct diag *d)
{
	for (;;) {
		struct pool_worker *w = find_idle(p);

		*fresh = !w;
		if (!w && (w = find_slot(p))) {
			int rc = start(p, w, compiler, d);
			if (rc)
				return rc;
		}
		if (w) {
			w->busy = true;
			*out = w;
			return 0;
		}
		if (!wait_idle(p, deadline_ms))
			return diag_set(d, CUTRACE_EIO, compiler, "all %u compile workers stay busy",
					p->limit);
	}
}

int workers_take(struct pool *p, const char *compiler, int64_t deadline_ms, unsigned *index, bool *fresh,
		 struct diag *d)
{
	struct pool_worker *w = NULL;

	pthread_mutex_lock(&p->lock);
	int rc = take_locked(p, compiler, deadline_ms, &w, fresh, d);
	pthread_mutex_unlock(&p->lock);
	if (!rc)
		*index = (unsigned)(w - p->workers);
	return rc;
}

void workers_return(struct pool *p, unsigned index, bool ended)
{
	struct pool_worker *w = &p->workers[index];

	pthread_mutex_lock(&p->lock);
	if (ended)
		drop(p, w);
	w->busy = false;
	pthread_cond_signal(&p->idle);
	pthread_mutex_unlock(&p->lock);
}

void workers_warm(struct pool *p, const char *compiler)
{
	struct pool_worker *w;

	pthread_mutex_lock(&p->lock);
	if (!p->count && (w = find_slot(p)) && !start(p, w, compiler, NULL)) {
		w->busy = false;
		pthread_cond_signal(&p->idle);
	}
	pthread_mutex_unlock(&p->lock);
}
