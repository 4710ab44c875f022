/* SPDX-License-Identifier: Apache-2.0
 *
 * pool: a memory pool from the inside, for the two files that know it: pool.c (blocks come and go in stream order)
 * and pool_api.c (pools are made, asked and set).
 */
#ifndef CUTRACE_POOL_H
#define CUTRACE_POOL_H

#include "core.h"

struct block {
	struct block *next;
	struct range *range;
	struct queue *queue; /* where it was freed */
	uint64_t seq;
};

struct mem_pool {
	struct mem_pool *next;
	struct gpu *gpu;
	bool is_default, is_destroyed;
	CUmemPoolProps props;
	int reuse[4]; /* by CUmemPool_attribute 1..3 */
	uint64_t release_threshold, used, used_high;
	struct block *freed;
	unsigned refs; /* allocations that are alive, and the handle */
};

extern pthread_mutex_t pool_lock; /* all pools and their blocks */

struct mem_pool *pool_new(struct gpu *gpu);
struct mem_pool *pool_default(struct gpu *gpu);
struct mem_pool *pool_current(struct gpu *gpu);
void pool_unref(struct mem_pool *p); /* with the lock held */

#endif
