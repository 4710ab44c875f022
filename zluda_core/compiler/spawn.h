/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn: starts a worker such that the program it works for notices nothing: no child that wait() could meet, no SIGCHLD,
 * none of its descriptors in the worker.
 *
 * Depends on base/.
 */
#ifndef CUTRACE_COMPILER_SPAWN_H
#define CUTRACE_COMPILER_SPAWN_H

#include "base/diag.h"

/* *fd: the socket to the worker, close-on-exec. */
int spawn_worker(const char *compiler, int *fd, struct diag *d);

#endif
