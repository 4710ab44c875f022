/* SPDX-License-Identifier: Apache-2.0
 *
 * dump: what a trace says, for people and for programs. `cutrace info` summarises a trace, `cutrace dump`
 * shows its calls, kernels' arguments, modules and buffers. Calls are decoded to rows (dump/row.h) first and
 * printed last; text and JSON are two printers over the same rows. Reads traces only, and writes to stdout
 * and to folders it was told to.
 */
#ifndef CUTRACE_DUMP_H
#define CUTRACE_DUMP_H

/* argv[0] is the sub-command's name. Return an exit status: 0, 2 wrong usage, 125 the trace can't be read. */
int cmd_info(int argc, char **argv);
int cmd_dump(int argc, char **argv);

enum { DUMP_OK = 0, DUMP_USAGE = 2, DUMP_CANNOT = 125 };

/* Flushes stdout; an exit status. A reader that has seen enough (head) is no error. */
int dump_finish_output(const char *command);

#endif
