/* SPDX-License-Identifier: Apache-2.0
 *
 * locate: where cutrace-compile is, and which one: what it is identified by is read from its file, since starting it
 * costs what a warm cache saves.
 *
 * Depends on base/.
 */
#ifndef CUTRACE_COMPILER_LOCATE_H
#define CUTRACE_COMPILER_LOCATE_H

#include <stddef.h>

#include "base/diag.h"

/* CUTRACE_COMPILER, else beside or near the file that this code was loaded from. */
int locate_compiler(char *path, size_t room, struct diag *d);
/* The linker's build id of the program at `path`, and size and time of the LLVM library that it was built with, if it
 * is there: "0123…-1c2f400-66a1b2c3". */
int locate_build_id(const char *path, char *id, size_t room, struct diag *d);

#endif
