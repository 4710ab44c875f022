/* SPDX-License-Identifier: Apache-2.0
 *
 * worker_thread: threads of ours in somebody else's process. A signal for the process must not be handled on one of them: the
 * program's handler would run where the program has no thread, and may find our locks held. So they are made with
 * every signal blocked but those that the thread itself causes.
 */
#ifndef CUTRACE_BASE_WORKER_THREAD_H
#define CUTRACE_BASE_WORKER_THREAD_H

#include <pthread.h>

/* As pthread_create. */
int worker_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

#endif
