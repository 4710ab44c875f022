/* SPDX-License-Identifier: Apache-2.0
 *
 * loops: the edges of a control flow graph that lead back.
 */
#ifndef CUTRACE_PTX_LOWER_LOOPS_H
#define CUTRACE_PTX_LOWER_LOOPS_H

#include "ptx/ir.h"

/* Calls fn for each edge to a block that a walk, depth first, is on the way from. 0, or CUTRACE_ENOMEM. */
int loops_walk(const struct ptx_func *f, void (*fn)(void *ctx, uint32_t from, uint32_t to), void *ctx);
bool loops_dominates(const struct ptx_func *f, uint32_t a, uint32_t b);
/* Some loop has several entries: an edge leads back to a block that doesn't dominate where it comes from. */
int loops_irreducible(const struct ptx_func *f, bool *found);

#endif
