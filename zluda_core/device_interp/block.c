/* SPDX-License-Identifier: Apache-2.0
 *
 * A block: its warps take turns on the thread that runs it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "zluda_core/device_interp/check.h"

#define TURN 20000 /* instructions a warp runs before the next has its turn */

struct block *block_create(struct grid *g)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->grid = g;
	b->nthreads = g->nthreads;
	b->nwarps = (g->nthreads + LANES - 1) / LANES;
	b->shared_bytes = g->program->static_shared + g->launch->shared_bytes;
	b->shared = aligned_alloc(128, (b->shared_bytes + 127 + 128) & ~(size_t)127);
	b->warps = aligned_alloc(64, b->nwarps * sizeof(*b->warps));
	b->arrived_store = calloc((size_t)BARRIERS * b->nwarps, sizeof(uint32_t));
	if (b->warps)
		memset(b->warps, 0, b->nwarps * sizeof(*b->warps));
	if (!b->shared || !b->warps || !b->arrived_store) {
		block_destroy(b);
		return NULL;
	}
	for (uint32_t k = 0; k < BARRIERS; k++)
		b->barriers[k].arrived = b->arrived_store + (size_t)k * b->nwarps;
	for (uint32_t k = 0; k < b->nwarps; k++) {
		if (warp_init(&b->warps[k], b, k)) {
			block_destroy(b);
			return NULL;
		}
	}
	if (!check_block_create(b)) {
		block_destroy(b);
		return NULL;
	}
	return b;
}

int block_start(struct block *b, uint64_t linear)
{
	const uint32_t *n = b->grid->launch->grid;

	b->linear = linear;
	b->index[0] = (uint32_t)(linear % n[0]);
	b->index[1] = (uint32_t)(linear / n[0] % n[1]);
	b->index[2] = (uint32_t)(linear / n[0] / n[1]);
	b->warps_left = b->nwarps;
	b->next_warp = 0;
	memset(b->shared, 0, b->shared_bytes);
	check_block_start(b);
	for (uint32_t k = 0; k < BARRIERS; k++) {
		uint32_t *arrived = b->barriers[k].arrived;

		memset(arrived, 0, b->nwarps * sizeof(uint32_t));
		b->barriers[k] = (struct barrier){.arrived = arrived};
	}
	for (uint32_t k = 0; k < b->nwarps; k++)
		if (warp_start(&b->warps[k]))
			return CUTRACE_ENOMEM;
	return 0;
}

void block_destroy(struct block *b)
{
	check_block_destroy(b);
	for (uint32_t k = 0; b->warps && k < b->nwarps; k++)
		warp_destroy(&b->warps[k]);
	free(b->warps);
	free(b->arrived_store);
	free(b->shared);
	free(b);
}

static bool past_deadline(const struct grid *g)
{
	struct timespec t;

	if (!g->deadline_ns)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec > g->deadline_ns;
}

/* One turn of every warp. Returns false when the block can't go on. */
static bool turn_all(struct block *b, int64_t *budget, bool *progress, uint64_t *instructions)
{
	if (b->grid->chance)
		b->next_warp = (uint32_t)grid_chance(b->grid, b->nwarps);
	for (uint32_t n = 0; n<b->nwarps && * budget> 0; n++) {
		struct warp *w = &b->warps[b->next_warp];
		uint64_t before = w->clock;
		int64_t spins = w->spin_units;

		b->next_warp = b->next_warp + 1 == b->nwarps ? 0 : b->next_warp + 1;
		if (!w->nfrags)
			continue;
		w->worker = b->worker;
		worker_refresh(b->worker);
		enum warp_result r =
			warp_run(w, b->grid->chance ? 64 + (int64_t)grid_chance(b->grid, TURN) : TURN);

		*budget -= (int64_t)(w->clock - before);
		*instructions += (w->clock - before) - (uint64_t)(w->spin_units - spins);
		*progress |= w->clock != before;
		if (r == WARP_FAULT)
			return false;
		if (r == WARP_ENDED) {
			b->warps_left--;
			*progress = true;
		}
	}
	return true;
}

enum block_result block_run(struct block *b, struct worker *k, int64_t budget)
{
	enum block_result result = BLOCK_SUSPENDED;
	uint64_t instructions = 0;

	b->worker = k;
	while (budget > 0 && b->warps_left) {
		bool progress = false;

		if (atomic_load_explicit(&b->grid->stopped, memory_order_relaxed)) {
			result = BLOCK_FAULT;
			break;
		}
		if (!turn_all(b, &budget, &progress, &instructions)) {
			result = BLOCK_FAULT;
			break;
		}
		if (!progress && budget > 0) {
			fault_timeout(b->grid, b, "deadlock: every thread waits");
			result = BLOCK_FAULT;
			break;
		}
		if (past_deadline(b->grid)) {
			fault_timeout(b->grid, b, "the watchdog ended the kernel");
			result = BLOCK_FAULT;
			break;
		}
	}
	worker_pause(k);
	atomic_fetch_add_explicit(&b->grid->instructions, instructions, memory_order_relaxed);
	return !b->warps_left && result == BLOCK_SUSPENDED ? BLOCK_DONE : result;
}
