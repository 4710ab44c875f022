/* SPDX-License-Identifier: Apache-2.0
 *
 * target: which driver a program is to use, where cutrace's own libraries are, and what can be known about a
 * program before it is started. For the commands; prints nothing.
 */
#ifndef CUTRACE_INTERPOSE_TARGET_H
#define CUTRACE_INTERPOSE_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "base/diag.h"

struct target {
	char driver[PATH_MAX]; /* absolute path of a libcuda.so.1 */
	char device[128];      /* CUTRACE_DEVICE for it; empty for drivers that aren't ours */
	bool chosen_by_us;     /* nothing was asked for and there is no driver: our interpreter */
};

/* Directory of our libraries (PREFIX/lib/cutrace), or NULL with *d filled. */
const char *target_libdir(struct diag *d);
/* device and driver as given on the command line, at most one of them; both NULL: the system's driver, else
 * ours. */
int target_find(struct target *t, const char *device, const char *driver, struct diag *d);
/* Sets LD_AUDIT, CUTRACE_REDIRECT and so on in this process's environment. redirect: what libcuda.so.1
 * becomes. */
int target_environment(const struct target *t, const char *redirect, const char *socket, struct diag *d);

/* What stands in the way of recording a program: returns 0 and fills *warning (code 0: nothing), or an error:
 * it can't be started at all. *status is what a shell would exit with (126, 127). */
int target_check_program(const char *program, struct diag *warning, int *status, struct diag *d);

#endif
