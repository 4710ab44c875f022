/* SPDX-License-Identifier: Apache-2.0
 *
 * worker: the process behind the service (wire.h): compiles and disassembles for one program, until that ends or has
 * nothing to do for a while.
 */
#ifndef CUTRACE_COMPILER_WORKER_H
#define CUTRACE_COMPILER_WORKER_H

/* With the socket at WIRE_FD. Returns the exit status. */
int worker_main(void);

#endif
