/* SPDX-License-Identifier: Apache-2.0
 *
 * record: the commands that start a program under the redirector: `cutrace record` and `cutrace run`.
 */
#ifndef CUTRACE_INTERPOSE_RECORD_H
#define CUTRACE_INTERPOSE_RECORD_H

int cmd_record(int argc, char **argv);
int cmd_run(int argc, char **argv);

#endif
