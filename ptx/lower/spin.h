/* SPDX-License-Identifier: Apache-2.0
 *
 * spin: loops that wait until another thread has written something.
 */
#ifndef CUTRACE_PTX_LOWER_SPIN_H
#define CUTRACE_PTX_LOWER_SPIN_H

#include "ptx/ir.h"

/* spins[n] = 1: instruction n reads what others write, and what it read decides whether it is executed again. Loops in
 * which some lane gets ahead whenever they turn (compare-and-swap with the value that was read, counting up to a limit)
 * don't wait. loop[b] = number of the loop (strongly connected component) that block b is in; 0: in none. 0, or
 * CUTRACE_ENOMEM. */
int spin_find(const struct ptx_func *f, uint8_t *spins, uint32_t *loop);

#endif
