/* SPDX-License-Identifier: Apache-2.0
 *
 * debug: a debugger for one launch of a trace, on the interpreter, forwards and backwards (docs/debugging.md).
 * replay/ goes up to the launch; from there on the driver's api/debugger.h calls this component before each PTX
 * instruction. It reads the launch, and never changes it: that is what makes going back exact.
 *
 * Depends on replay/ (visit.h, compare.h), trace/, ptx/, api/ and base/.
 */
#ifndef CUTRACE_DEBUG_H
#define CUTRACE_DEBUG_H

/* argv[0] is the sub-command's name. Exit status: 0 the session ended, 1 a command of a script failed, 2 wrong usage, 125
 * could not. */
int cmd_debug(int argc, char **argv);

#endif
