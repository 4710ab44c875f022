/* SPDX-License-Identifier: Apache-2.0
 *
 * range_tree: disjoint ranges ordered by address, with the widest gap below every node, so that the lowest
 * place for an allocation is found in logarithmic time however many there are. It owns no ranges and has no lock:
 * address_space.c's.
 */
#ifndef CUTRACE_RANGE_TREE_H
#define CUTRACE_RANGE_TREE_H

#include "core.h"

/* Both return the new root. r lies apart from all others. */
struct range *range_tree_insert(struct range *root, struct range *r);
struct range *range_tree_remove(struct range *root, struct range *r);
size_t range_tree_count(const struct range *root);
/* The first range that ends behind addr; NULL: none. */
struct range *range_tree_after(struct range *root, uint64_t addr);
/* The lowest multiple of align in [begin, end) from which `span` addresses are free; 0: none. */
uint64_t range_tree_fit(const struct range *root, uint64_t begin, uint64_t end, uint64_t span,
			uint64_t align);

#endif
