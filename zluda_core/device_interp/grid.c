/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch. The calling thread and the device's pool take blocks from the grid:
 * unstarted ones in order, or suspended ones. A block that has used its budget is
 * suspended, so that all resident blocks go on; with a cooperative launch all
 * blocks are resident and budgets are short.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/worker_thread.h"
#include "zluda_core/device_interp/check.h"
#include "zluda_core/device_interp/debug.h"

#define BUDGET             50000000
#define BUDGET_COOPERATIVE 100000
#define RESIDENT_MAX       256

/* Addresses of cooperative launches' barrier words, below the window of ordinary allocations. */
#define WORKSPACE_BASE  0x540000000000ull
#define WORKSPACE_BYTES 64

static void worker_init(struct worker *k, struct interp_device *dev)
{
	memset(k, 0, sizeof(*k));
	k->dev = dev;
	map_reader_add(&dev->map, &k->reader);
}

static void worker_exit(struct worker *k)
{
	map_reader_remove(&k->dev->map, &k->reader);
}

uint64_t grid_chance(struct grid *g, uint64_t n)
{
	g->chance ^= g->chance << 13;
	g->chance ^= g->chance >> 7;
	g->chance ^= g->chance << 17;
	return n ? g->chance % n : 0;
}

/* The k-th block to begin: with order=seed:N, k times a number that has no factor in common with the count. */
static uint64_t kth_block(const struct grid *g, uint64_t k)
{
	const uint64_t n = g->total_blocks;

	return g->stride ? (uint64_t)(((unsigned __int128)k * g->stride + g->offset) % n) : k;
}

static uint64_t common_factor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;
		a = b;
		b = r;
	}
	return a;
}

static void begin_order(struct grid *g)
{
	struct interp_device *dev = g->dev;

	if (!dev->order_seeded)
		return;
	g->chance = (dev->order_seed + 1) * 0x9e3779b97f4a7c15ull | 1;
	for (unsigned k = 0; k < 8; k++)
		grid_chance(g, 0);
	if (!g->launch->cooperative)
		g->resident_max = 1 + grid_chance(g, 16);
	g->offset = grid_chance(g, g->total_blocks);
	do
		g->stride = 1 + grid_chance(g, g->total_blocks);
	while (common_factor(g->stride, g->total_blocks) != 1);
}

/* With g->lock held: a block to run, started. NULL: nothing to do now. */
static struct block *take_block(struct grid *g)
{
	struct block *b;

	bool later = g->chance && g->suspended && grid_chance(g, 2);

	if (g->next_block < g->total_blocks && g->resident < g->resident_max && !later) {
		b = g->spare;
		if (b)
			g->spare = b->next;
		else
			b = block_create(g);
		if (!b)
			return NULL;
		g->resident++;
		if (block_start(b, kth_block(g, g->next_block++))) {
			fault_internal(g, "out of memory");
			g->spare = b;
			b->next = NULL;
			return NULL;
		}
		return b;
	}
	b = g->suspended;
	if (b) {
		g->suspended = b->next;
		if (!g->suspended)
			g->suspended_tail = &g->suspended;
	}
	return b;
}

/* Blocks that wait for one that has not begun: with order=seed:N few are resident, and it is not the next one's turn. */
static void note_turn(struct grid *g, enum block_result r)
{
	g->turns_in_vain = r == BLOCK_SUSPENDED ? g->turns_in_vain + 1 : 0;
	if (!g->chance || g->launch->cooperative || g->turns_in_vain <= g->resident)
		return;
	g->resident_max += 1 + g->resident / 2;
	g->turns_in_vain = 0;
}

static void put_block(struct grid *g, struct block *b, enum block_result r)
{
	note_turn(g, r);
	if (r == BLOCK_SUSPENDED) {
		b->next = NULL;
		*g->suspended_tail = b;
		g->suspended_tail = &b->next;
	} else {
		for (uint32_t k = 0; r == BLOCK_FAULT && k < b->nwarps; k++)
			warp_reset(&b->warps[k]);
		b->next = g->spare;
		g->spare = b;
		g->resident--;
		g->finished++;
		if (r == BLOCK_FAULT)
			atomic_store(&g->stopped, true);
	}
	if (unlikely(g->debug))
		debug_block_ended(g);
	pthread_cond_broadcast(&g->idle);
}

/* Runs blocks until none is left to take. */
static void grid_work(struct grid *g, struct worker *k)
{
	const int64_t budget = g->launch->cooperative ? BUDGET_COOPERATIVE : BUDGET;
	struct block *b;

	pthread_mutex_lock(&g->lock);
	while (!atomic_load(&g->stopped) && (b = take_block(g))) {
		g->running++;
		pthread_mutex_unlock(&g->lock);
		enum block_result r =
			block_run(b, k, g->chance ? 200 + (int64_t)grid_chance(g, 20000) : budget);

		pthread_mutex_lock(&g->lock);
		g->running--;
		put_block(g, b, r);
	}
	pthread_mutex_unlock(&g->lock);
}

static bool grid_has_work(struct grid *g)
{
	pthread_mutex_lock(&g->lock);
	bool work = !atomic_load(&g->stopped) &&
		    ((g->next_block < g->total_blocks && g->resident < g->resident_max) || g->suspended);
	pthread_mutex_unlock(&g->lock);
	return work;
}

/* The pool
 * ----------------------------------------------------------------------------------------------------- */
static struct grid *pool_next(struct interp_device *dev)
{
	for (struct grid *g = dev->grids; g; g = g->next)
		if (grid_has_work(g))
			return g;
	return NULL;
}

static void *pool_main(void *arg)
{
	struct interp_device *dev = arg;
	struct worker k;

	worker_init(&k, dev);
	pthread_mutex_lock(&dev->pool_lock);
	while (!dev->closing) {
		struct grid *g = pool_next(dev);

		if (!g) {
			pthread_cond_wait(&dev->pool_wake, &dev->pool_lock);
			continue;
		}
		g->users++;
		pthread_mutex_unlock(&dev->pool_lock);
		grid_work(g, &k);
		pthread_mutex_lock(&dev->pool_lock);
		g->users--;
		pthread_cond_broadcast(&dev->pool_wake);
	}
	pthread_mutex_unlock(&dev->pool_lock);
	worker_exit(&k);
	return NULL;
}

/* With pool_lock held. Fewer threads than wanted is no error. */
static void pool_start(struct interp_device *dev)
{
	if (dev->threads || dev->nworkers < 2)
		return;
	dev->threads = calloc(dev->nworkers - 1, sizeof(*dev->threads));
	while (dev->threads && dev->nthreads < dev->nworkers - 1) {
		if (worker_thread_create(&dev->threads[dev->nthreads], NULL, pool_main, dev))
			break;
		dev->nthreads++;
	}
}

void pool_stop(struct interp_device *dev)
{
	pthread_mutex_lock(&dev->pool_lock);
	dev->closing = true;
	pthread_cond_broadcast(&dev->pool_wake);
	pthread_mutex_unlock(&dev->pool_lock);
	for (uint32_t k = 0; k < dev->nthreads; k++)
		pthread_join(dev->threads[k], NULL);
	free(dev->threads);
	dev->threads = NULL;
	dev->nthreads = 0;
	dev->closing = false;
}

static void pool_offer(struct interp_device *dev, struct grid *g)
{
	if (dev->deterministic || g->debug || g->chance || dev->nworkers < 2 || g->total_blocks < 2)
		return;
	pthread_mutex_lock(&dev->pool_lock);
	pool_start(dev);
	g->next = dev->grids;
	dev->grids = g;
	g->offered = true;
	pthread_cond_broadcast(&dev->pool_wake);
	pthread_mutex_unlock(&dev->pool_lock);
}

static void pool_withdraw(struct interp_device *dev, struct grid *g)
{
	if (!g->offered)
		return;
	pthread_mutex_lock(&dev->pool_lock);
	struct grid **p = &dev->grids;

	while (*p != g)
		p = &(*p)->next;
	*p = g->next;
	while (g->users)
		pthread_cond_wait(&dev->pool_wake, &dev->pool_lock);
	pthread_mutex_unlock(&dev->pool_lock);
}

/* The launching thread works too; when others hold all blocks it waits for them. */
static void run_to_end(struct grid *g, struct worker *k)
{
	for (;;) {
		grid_work(g, k);
		pthread_mutex_lock(&g->lock);
		if (atomic_load(&g->stopped) || g->finished == g->total_blocks) {
			pthread_mutex_unlock(&g->lock);
			return;
		}
		if (!g->running && !g->suspended && g->next_block < g->total_blocks)
			fault_internal(g, "out of memory for a block");
		else if (!g->suspended)
			pthread_cond_wait(&g->idle, &g->lock);
		pthread_mutex_unlock(&g->lock);
	}
}

static int make_workspace(struct grid *g, struct interp_device *dev, void **host)
{
	uint64_t n = atomic_fetch_add(&dev->next_workspace, 1);

	*host = NULL;
	if (!g->launch->cooperative)
		return 0;
	*host = calloc(1, WORKSPACE_BYTES);
	if (!*host)
		return CUTRACE_ENOMEM;
	*(uint32_t *)*host = WORKSPACE_BYTES;
	g->workspace = WORKSPACE_BASE + n % (1u << 24) * 256;
	return memory_map_add(&dev->map, g->workspace, WORKSPACE_BYTES, *host, false, NULL);
}

static void drop_workspace(struct grid *g, struct interp_device *dev, void *host)
{
	if (host)
		memory_map_remove(&dev->map, g->workspace, WORKSPACE_BYTES, NULL);
	free(host);
}

static uint64_t deadline(const struct interp_device *dev)
{
	struct timespec t;

	if (!dev->watchdog_ms)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + dev->watchdog_ms * 1000000ull;
}

static void grid_free(struct grid *g)
{
	while (g->suspended) {
		struct block *b = g->suspended;

		g->suspended = b->next;
		block_destroy(b);
	}
	while (g->spare) {
		struct block *b = g->spare;

		g->spare = b->next;
		block_destroy(b);
	}
	free(g->params);
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->idle);
}

int grid_run(struct interp_device *dev, const struct program *p, const struct dev_launch *l,
	     struct dev_fault *fault)
{
	struct grid g = {.dev = dev, .program = p, .launch = l, .fault = fault};
	struct worker k;
	void *workspace;

	g.total_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	g.nthreads = l->block[0] * l->block[1] * l->block[2];
	g.resident_max = l->cooperative ? UINT32_MAX : RESIDENT_MAX;
	g.suspended_tail = &g.suspended;
	g.watch = dev->watch.active;
	begin_order(&g);
	g.deadline_ns = deadline(dev);
	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.idle, NULL);
	g.params = calloc(1, (size_t)l->param_bytes + 64);
	if (!g.params || make_workspace(&g, dev, &workspace)) {
		fault_internal(&g, "out of memory");
	} else {
		if (l->param_bytes)
			memcpy(g.params, l->params, l->param_bytes);
		worker_init(&k, dev);
		check_grid_begin(&g);
		if (!debug_grid_begin(&g))
			fault_internal(&g, "out of memory");
		pool_offer(dev, &g);
		run_to_end(&g, &k);
		debug_grid_end(&g);
		pool_withdraw(dev, &g);
		worker_exit(&k);
		drop_workspace(&g, dev, workspace);
	}
	atomic_fetch_add(&dev->instructions, atomic_load(&g.instructions));
	grid_free(&g);
	g.has_fault |= check_grid_end(&g);
	return g.has_fault ? CUTRACE_EINVAL : 0;
}
