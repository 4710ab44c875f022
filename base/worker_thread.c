/* SPDX-License-Identifier: Apache-2.0 */
#include "base/worker_thread.h"

#include <signal.h>

int worker_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	sigset_t blocked, before;
	int error;

	sigfillset(&blocked);
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&blocked, own[i]);
	/* A new thread inherits the mask; there is no moment at which it has another. */
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	error = pthread_create(thread, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
