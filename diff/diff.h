/* SPDX-License-Identifier: Apache-2.0
 *
 * diff: two traces side by side. Threads are paired, their calls aligned, aligned calls compared value by value; code,
 * kernels and functions are compared as tables. What differs by itself from run to run (handles, addresses, times, how
 * threads interleave, polls) is no difference: objects are known by who used them first. Memory grows with the objects
 * and kernels of a trace, not with its calls. Reads traces only.
 *
 * Depends on trace/, api/, dump/ (decoded rows) and base/.
 */
#ifndef CUTRACE_DIFF_H
#define CUTRACE_DIFF_H

/* argv[0] is the sub-command's name. Exit status: 0 no difference, 1 there is one, 2 wrong usage, 125 could not compare. */
int cmd_diff(int argc, char **argv);

#endif
