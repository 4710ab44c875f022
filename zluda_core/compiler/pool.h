/* SPDX-License-Identifier: Apache-2.0
 *
 * pool: the workers of a service. Each serves one request at a time.
 *
 * Depends on base/, spawn.h, wire.h.
 */
#ifndef CUTRACE_COMPILER_POOL_H
#define CUTRACE_COMPILER_POOL_H

#include <pthread.h>
#include <sys/types.h>

#include "base/diag.h"

enum { POOL_MAX = 256 };

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	unsigned limit, count; /* workers, starting ones included */
	struct pool_worker {
		int fd;      /* -1: none */
		ino_t inode; /* of the socket: a program may close all its descriptors */
		bool busy;
	} workers[POOL_MAX];
};

void workers_init(struct pool *p, unsigned limit);
/* Ends all workers; no request may run. */
void workers_close(struct pool *p);
/* In the child of a fork: the workers are the parent's. */
void workers_forget(struct pool *p);
/* An idle worker, a new one, or the next that becomes idle; *index names it. *fresh: it has just been started. */
int workers_take(struct pool *p, const char *compiler, int64_t deadline_ms, unsigned *index, bool *fresh,
		 struct diag *d);
/* Gives it back; with `ended` it is closed, which ends its process. */
void workers_return(struct pool *p, unsigned index, bool ended);
/* Starts one if there is none. */
void workers_warm(struct pool *p, const char *compiler);

#endif
