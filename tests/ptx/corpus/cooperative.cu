// SPDX-License-Identifier: Apache-2.0
// Cooperative groups, the CUDA C++ library's atomics and barriers.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
namespace cg = cooperative_groups;
extern "C" __global__ void grid(int *p) { p[threadIdx.x]++; cg::this_grid().sync(); p[threadIdx.x + 1]++; }
extern "C" __global__ void tiles(int *p)
{
	auto block = cg::this_thread_block();
	auto tile = cg::tiled_partition<16>(block);
	int v = cg::reduce(tile, p[threadIdx.x], cg::plus<int>());
	v += cg::inclusive_scan(tile, v);
	auto active = cg::coalesced_threads();
	p[block.thread_rank()] = v + active.shfl(v, 0) + tile.any(v) + tile.ballot(v);
	__shared__ int s[256];
	cg::memcpy_async(block, s, p, sizeof(s));
	cg::wait(block);
	p[0] = s[3];
}
extern "C" __global__ void atomics(int *p, unsigned long long *q)
{
	cuda::atomic_ref<int, cuda::thread_scope_device> a(*p);
	a.fetch_add(1, cuda::memory_order_relaxed);
	a.store(3, cuda::memory_order_release);
	p[1] = a.load(cuda::memory_order_acquire) + a.exchange(5) + a.compare_exchange_strong(p[2], 3);
	cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> b(*q);
	b.fetch_max(3); b.fetch_xor(7); b--;
	cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
}
extern "C" __global__ void barriers(int *p)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	if (threadIdx.x == 0)
		init(&bar, blockDim.x);
	__syncthreads();
	auto token = bar.arrive();
	p[threadIdx.x]++;
	bar.wait(std::move(token));
	__nanosleep(100);
}
