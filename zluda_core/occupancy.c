/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy: how many blocks of a kernel fit on a multiprocessor. The rules and allocation units are those of
 * the CUDA occupancy calculator: registers are given to warps in units, per quarter of a multiprocessor;
 * shared memory to blocks in units, plus what the system reserves.
 */
#include "core.h"

#define QUARTERS 4

static unsigned round_up(unsigned v, unsigned to)
{
	return (v + to - 1) / to * to;
}

static unsigned by_registers(const struct gpu *gpu, unsigned regs, unsigned warps)
{
	unsigned per_warp = round_up(regs * 32, gpu->cc->reg_alloc_unit);

	if (!regs)
		return UINT32_MAX;
	if (per_warp * round_up(warps, gpu->cc->warp_alloc_unit) > gpu->props.regs_per_block)
		return 0;
	return gpu->props.regs_per_sm / QUARTERS / per_warp * QUARTERS / warps;
}

static unsigned by_shared(const struct gpu *gpu, size_t bytes)
{
	size_t per_block = bytes + gpu->cc->reserved_shared;

	per_block = (per_block + gpu->cc->shared_alloc_unit - 1) / gpu->cc->shared_alloc_unit *
		    gpu->cc->shared_alloc_unit;
	if (bytes > gpu->props.shared_per_block_optin)
		return 0;
	return per_block ? (unsigned)(gpu->props.shared_per_sm / per_block) : UINT32_MAX;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

int occupancy_blocks(const struct function *f, unsigned block, size_t dynamic_shared)
{
	const struct gpu *gpu = f->module->ctx->gpu;
	unsigned warps = (block + 31) / 32;
	unsigned n = gpu->props.max_blocks_per_sm;

	if (!block || block > function_max_threads(f))
		return 0;
	n = least(n, gpu->props.max_threads_per_sm / 32 / warps);
	n = least(n, by_registers(gpu, f->info.num_regs, warps));
	n = least(n, by_shared(gpu, f->info.shared_bytes + dynamic_shared));
	return (int)n;
}

static CUresult enter(CUfunction handle, struct function **f)
{
	struct context *ctx;
	CUresult r = context_enter(&ctx);

	return r ? r : function_resolve(handle, ctx, f);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int block,
							      size_t shared, unsigned int flags)
{
	struct function *f;
	CUresult r = enter(handle, &f);

	if (r)
		return r;
	if (!blocks || block <= 0 || flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = occupancy_blocks(f, (unsigned)block, shared);
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int block, size_t shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, block, shared, 0);
}

/* The largest block size among those with most resident threads. */
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block, CUfunction handle,
						   CUoccupancyB2DSize shared_for, size_t shared, int limit,
						   unsigned int flags)
{
	struct function *f;
	unsigned max, best_threads = 0, best_blocks = 0;
	CUresult r = enter(handle, &f);

	if (r)
		return r;
	if (!min_grid || !block || limit < 0 || flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	max = function_max_threads(f);
	if (limit && (unsigned)limit < max)
		max = (unsigned)limit;
	*block = 0;
	for (unsigned size = (max + 31) / 32 * 32; size; size -= 32) {
		unsigned threads = least(size, max);
		size_t bytes = shared_for ? shared_for((int)threads) : shared;
		unsigned n = (unsigned)occupancy_blocks(f, threads, bytes);

		if (n * threads > best_threads) {
			best_threads = n * threads;
			best_blocks = n;
			*block = (int)threads;
		}
	}
	*min_grid = (int)(best_blocks * f->module->ctx->gpu->props.sm_count);
	return *block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block, CUfunction handle,
					  CUoccupancyB2DSize shared_for, size_t shared, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block, handle, shared_for, shared, limit,
							 0);
}

/* The most dynamic shared memory with which `blocks` blocks still fit. */
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks, int block)
{
	const struct gpu *gpu;
	struct function *f;
	size_t per_block, used;
	CUresult r = enter(handle, &f);

	if (r)
		return r;
	if (!bytes || blocks <= 0 || block <= 0 || occupancy_blocks(f, (unsigned)block, 0) < blocks)
		return CUDA_ERROR_INVALID_VALUE;
	gpu = f->module->ctx->gpu;
	per_block = gpu->props.shared_per_sm / (unsigned)blocks / gpu->cc->shared_alloc_unit *
		    gpu->cc->shared_alloc_unit;
	if (per_block > gpu->props.shared_per_block_optin + gpu->cc->reserved_shared)
		per_block = gpu->props.shared_per_block_optin + gpu->cc->reserved_shared;
	used = f->info.shared_bytes + gpu->cc->reserved_shared;
	*bytes = per_block > used ? per_block - used : 0;
	return CUDA_SUCCESS;
}

static CUresult cluster_answer(int *out, CUfunction handle, const CUlaunchConfig *config, int value)
{
	struct function *f;
	CUresult r = enter(handle, &f);

	if (r)
		return r;
	if (!out || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*out = value;
	return CUDA_SUCCESS;
}

/* Clusters of one block are what there is. */
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config)
{
	return cluster_answer(size, handle, config, 1);
}
