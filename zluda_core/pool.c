/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream-ordered allocation and memory pools.
 *
 * An address is chosen in the call, memory appears in stream order. A freed block's address is kept by
 * the pool: the same stream may have it again at once, which stream order makes right; anybody may after a
 * call that waited for that stream. Both depend on the program's calls only, not on how fast its work runs,
 * so addresses are the same in every run.
 */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

static struct mem_pool *pools;
pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

struct mem_pool *pool_new(struct gpu *gpu)
{
	struct mem_pool *p = calloc(1, sizeof(*p));

	if (!p || !handle_add(p, HANDLE_POOL)) {
		free(p);
		return NULL;
	}
	p->gpu = gpu;
	p->refs = 1;
	p->reuse[1] = p->reuse[2] = p->reuse[3] = 1;
	p->props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	p->props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p->props.location.id = gpu->ordinal;
	pthread_mutex_lock(&pool_lock);
	p->next = pools;
	pools = p;
	pthread_mutex_unlock(&pool_lock);
	return p;
}

struct mem_pool *pool_default(struct gpu *gpu)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&once);
	if (!gpu->default_pool) {
		gpu->default_pool = pool_new(gpu);
		if (gpu->default_pool)
			gpu->default_pool->is_default = true;
	}
	pthread_mutex_unlock(&once);
	return gpu->default_pool;
}

struct mem_pool *pool_current(struct gpu *gpu)
{
	return gpu->current_pool ? gpu->current_pool : pool_default(gpu);
}

/* With the lock held. */
void pool_unref(struct mem_pool *p)
{
	if (--p->refs)
		return;
	for (struct mem_pool **at = &pools; *at; at = &(*at)->next) {
		if (*at == p) {
			*at = p->next;
			break;
		}
	}
	free(p);
}

/* ---- work in the stream: memory appears and goes ------------------------------------- */

struct block_op {
	struct op op;
	struct gpu *gpu;
	struct dev_mem *mem;
	uint64_t addr, bytes;
};

static CUresult run_map(struct op *op)
{
	struct block_op *b = (struct block_op *)op;
	int e = b->gpu->ops->map(b->gpu->dev, b->addr, b->bytes, b->mem, 0, false, NULL);

	if (e) /* the call that allocated it has long succeeded */
		context_set_error(queue_context(op->queue), result_of(e), NULL);
	return CUDA_SUCCESS;
}

static CUresult run_unmap(struct op *op)
{
	struct block_op *b = (struct block_op *)op;

	b->gpu->ops->unmap(b->gpu->dev, b->addr, b->bytes, NULL);
	b->gpu->ops->mem_destroy(b->gpu->dev, b->mem);
	return CUDA_SUCCESS;
}

/* After all that came before in q, and after the work that takes away what blocks `over` were. */
static uint64_t submit(struct queue *q, CUresult (*run)(struct op *op), const struct range *r,
		       const struct block *over)
{
	struct block_op *op = op_new(sizeof(*op), run);

	if (!op)
		return 0;
	op->op.always = true;
	op->gpu = r->gpu;
	op->mem = r->mem;
	op->addr = r->addr;
	op->bytes = r->bytes;
	for (; over; over = over->next) {
		if (op_depend(&op->op, over->queue, over->seq))
			continue;
		op_drop(&op->op);
		return 0;
	}
	return queue_submit(q, &op->op);
}

/* ---- addresses that wait ------------------------------------------------------------------ */

/* Gives back the addresses of blocks that were freed in q (NULL: in any queue of ctx); that work is done. */
void pools_reap(struct context *ctx, struct queue *q)
{
	pthread_mutex_lock(&pool_lock);
	for (struct mem_pool *p = pools; p; p = p->next) {
		for (struct block **at = &p->freed; *at;) {
			struct block *b = *at;

			if ((q ? b->queue != q : queue_context(b->queue) != ctx) ||
			    !queue_done(b->queue, b->seq)) {
				at = &b->next;
				continue;
			}
			*at = b->next;
			queue_unref(b->queue);
			b->range->mem = NULL;
			range_free(b->range);
			free(b);
		}
	}
	pthread_mutex_unlock(&pool_lock);
}

/* A block that the same stream freed, out of the pool; NULL: none. */
static struct block *take_freed(struct mem_pool *p, struct queue *q, uint64_t bytes)
{
	for (struct block **at = &p->freed; *at; at = &(*at)->next) {
		struct block *b = *at;

		if (b->queue != q || b->range->bytes != bytes)
			continue;
		*at = b->next;
		b->next = NULL;
		return b;
	}
	return NULL;
}

static bool is_freed(const struct range *r)
{
	return r->kind == RANGE_POOL && r->freeing;
}

bool pool_is_placeable(uint64_t addr, uint64_t bytes)
{
	bool yes;

	pthread_mutex_lock(&pool_lock);
	yes = range_is_free_but(addr, bytes, is_freed);
	pthread_mutex_unlock(&pool_lock);
	return yes;
}

static void drop_blocks(struct block *b)
{
	while (b) {
		struct block *next = b->next;

		queue_unref(b->queue);
		free(b);
		b = next;
	}
}

/* Takes [addr, end) out of the block at *at, which becomes the first of *over. What is left of it stays in
 * the pool. */
static CUresult cut_block(struct block **at, uint64_t addr, uint64_t end, struct block **over)
{
	struct block *b = *at, *rest[2] = {calloc(1, sizeof(*b)), calloc(1, sizeof(*b))};
	struct range *pieces[2];
	CUresult e = rest[0] && rest[1] ? range_cut(b->range, addr, end, pieces) : CUDA_ERROR_OUT_OF_MEMORY;

	if (!e) {
		*at = b->next;
		b->range = NULL;
		b->next = *over;
		*over = b;
	}
	for (int i = 0; i < 2; i++) {
		if (e || !pieces[i]) {
			free(rest[i]);
			continue;
		}
		*rest[i] = (struct block){*at, pieces[i], queue_ref(b->queue), b->seq};
		*at = rest[i];
	}
	return e;
}

/* Where a replay wants its next allocation: freed blocks that lie there make room. A driver may give an
 * address again as soon as the free is ordered before the new use, in whatever pieces it likes. */
static CUresult clear_place(struct gpu *gpu, uint64_t addr, uint64_t bytes, struct block **over)
{
	uint64_t end = addr + bytes;
	CUresult e = CUDA_SUCCESS;

	if (end < addr || !range_is_free_but(addr, bytes, is_freed))
		return CUDA_ERROR_ALREADY_MAPPED;
	for (struct mem_pool *p = pools; p && !e; p = p->next) {
		for (struct block **at = &p->freed; *at && !e;) {
			const struct range *r = (*at)->range;

			if (p->gpu == gpu && r->addr < end && r->addr + r->span > addr)
				e = cut_block(at, addr, end, over);
			else
				at = &(*at)->next;
		}
	}
	return e;
}

/* ---- allocating and freeing ------------------------------------------------------------------ */

/* Addresses for an allocation; `over` are the blocks that were there before. */
static CUresult choose_range(struct mem_pool *p, struct context *ctx, struct queue *q, size_t bytes,
			     struct range **r, struct block **over)
{
	struct placement *place = &thread_state()->place;
	CUresult e = CUDA_SUCCESS;

	if (place->next_set)
		e = clear_place(p->gpu, place->next, bytes, over);
	else
		*over = take_freed(p, q, bytes);
	if (!e && *over && (*over)->range) {
		*r = (*over)->range;
		return CUDA_SUCCESS;
	}
	if (!e)
		return range_alloc(&(struct range_request){.bytes = bytes,
							   .placeable = true,
							   .kind = RANGE_POOL,
							   .gpu = p->gpu,
							   .ctx = ctx},
				   r);
	place->next_set = false;
	return e;
}

/* The addresses of an allocation that failed: free, or as long as work that unmaps them is to come the
 * pool's. Without memory even for that they stay out of use. */
static void give_up(struct mem_pool *p, struct queue *q, struct range *r, const struct block *over)
{
	struct block *b;

	if (!over) {
		range_free(r);
		return;
	}
	r->freeing = true;
	r->ctx = NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return;
	*b = (struct block){p->freed, r, queue_ref(q), submit(q, op_nothing, r, over)};
	if (b->seq)
		p->freed = b;
	else
		drop_blocks(b);
}

static CUresult alloc_locked(struct mem_pool *p, struct context *ctx, struct queue *q, size_t bytes,
			     struct range **out)
{
	struct block *over = NULL;
	struct range *r = NULL;
	CUresult e = choose_range(p, ctx, q, bytes, &r, &over);

	if (e) {
		drop_blocks(over);
		return e;
	}
	r->freeing = false;
	r->mem = NULL;
	r->ctx = ctx;
	r->id = core_next_id();
	e = memory_back(r);
	if (!e && over)
		e = submit(q, run_map, r, over) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	else if (!e)
		e = memory_map(r);
	if (e) {
		memory_unback(r);
		give_up(p, q, r, over);
		drop_blocks(over);
		return e;
	}
	drop_blocks(over);
	r->pool = p;
	p->refs++;
	p->used += bytes;
	if (p->used > p->used_high)
		p->used_high = p->used;
	*out = r;
	return CUDA_SUCCESS;
}

static CUresult alloc(CUdeviceptr *ptr, size_t bytes, struct mem_pool *p, struct context *ctx,
		      struct queue *q)
{
	struct range *r = NULL;
	CUresult e;

	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (p->props.maxSize && p->used + bytes > p->props.maxSize)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&pool_lock);
	e = alloc_locked(p, ctx, q, bytes, &r);
	pthread_mutex_unlock(&pool_lock);
	if (!e)
		*ptr = r->addr;
	return e;
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	struct context *ctx;
	struct queue *q;
	CUresult e = stream_resolve(stream, &ctx, &q);

	return e ? e : alloc(ptr, bytes, pool_current(ctx->gpu), ctx, q);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	struct context *ctx;
	struct queue *q;
	CUresult e = stream_resolve(stream, &ctx, &q);

	if (!e)
		e = handle_enter(pool, HANDLE_POOL);
	if (e)
		return e;
	return alloc(ptr, bytes, (struct mem_pool *)pool, ctx, q);
}

/* Memory of cuMemAlloc may be freed in stream order too: then its address comes back as if it were the
 * default pool's. */
static CUresult free_locked(struct range *r, struct queue *q, struct block *b, struct mem_pool *current)
{
	struct mem_pool *p = r->pool ? r->pool : current, *heir;

	b->range = r;
	b->seq = submit(q, run_unmap, r, NULL);
	if (!b->seq)
		return CUDA_ERROR_OUT_OF_MEMORY;
	b->queue = queue_ref(q);
	atomic_fetch_sub(&r->gpu->used_bytes, r->bytes);
	r->freeing = true;
	r->kind = RANGE_POOL;
	r->mem = NULL;
	r->ctx = NULL; /* the pool's now */
	heir = p->is_destroyed ? p->gpu->default_pool : p;
	b->next = heir->freed;
	heir->freed = b;
	if (r->pool) {
		p->used -= r->bytes;
		r->pool = NULL;
		pool_unref(p);
	}
	return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	struct mem_pool *current;
	struct context *ctx;
	struct queue *q;
	struct block *b;
	struct range *r;
	CUresult e = stream_resolve(stream, &ctx, &q);

	if (e)
		return e;
	r = range_find(ptr);
	if (!r || r->addr != ptr || r->freeing || (r->kind != RANGE_POOL && r->kind != RANGE_DEVICE))
		return CUDA_ERROR_INVALID_VALUE;
	current = pool_current(r->gpu); /* may make it: not with the lock held */
	b = current ? calloc(1, sizeof(*b)) : NULL;
	if (!b)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&pool_lock);
	e = free_locked(r, q, b, current);
	pthread_mutex_unlock(&pool_lock);
	if (e)
		free(b);
	return e;
}

/* The allocation goes with its context. */
void pool_forget(struct range *r)
{
	pthread_mutex_lock(&pool_lock);
	if (r->pool) {
		r->pool->used -= r->bytes;
		pool_unref(r->pool);
		r->pool = NULL;
	}
	pthread_mutex_unlock(&pool_lock);
}
