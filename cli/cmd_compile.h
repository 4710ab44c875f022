/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_compile: `cutrace compile`.
 */
#ifndef CUTRACE_CLI_CMD_COMPILE_H
#define CUTRACE_CLI_CMD_COMPILE_H

int cmd_compile(int argc, char **argv); /* argv[0] is "compile" */

#endif
