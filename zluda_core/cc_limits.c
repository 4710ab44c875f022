/* SPDX-License-Identifier: Apache-2.0
 *
 * What a compute capability implies. Source: CUDA C++ Programming Guide, tables "Feature Support per Compute
 * Capability", "Technical Specifications per Compute Capability" and "Throughput of Native Arithmetic
 * Instructions"; the allocation units are those of the CUDA occupancy calculator.
 */
#include "core.h"

#define KIB(n) ((n)*1024u)

/*	cc  threads/SM blocks/SM shared/SM   opt-in     reserved  regs/SM regs/thread units    shared unit f64
 * L1 clusters */
static const struct cc_limits table[] = {
	{70, 2048, 32, KIB(96), KIB(96), 0, 65536, 255, 256, 4, 256, 2, 1, false},
	{75, 1024, 16, KIB(64), KIB(64), 0, 65536, 255, 256, 4, 256, 32, 1, false},
	{80, 2048, 32, KIB(164), KIB(163), 1024, 65536, 255, 256, 4, 128, 2, 1, false},
	{86, 1536, 16, KIB(100), KIB(99), 1024, 65536, 255, 256, 4, 128, 64, 1, false},
	{87, 1536, 16, KIB(164), KIB(163), 1024, 65536, 255, 256, 4, 128, 64, 1, false},
	{89, 1536, 24, KIB(100), KIB(99), 1024, 65536, 255, 256, 4, 128, 64, 1, false},
	{90, 2048, 32, KIB(228), KIB(227), 1024, 65536, 255, 256, 4, 128, 2, 1, true},
	{100, 2048, 32, KIB(228), KIB(227), 1024, 65536, 255, 256, 4, 128, 2, 1, true},
	{103, 2048, 32, KIB(228), KIB(227), 1024, 65536, 255, 256, 4, 128, 64, 1, true},
	{110, 1536, 24, KIB(228), KIB(227), 1024, 65536, 255, 256, 4, 128, 64, 1, true},
	{120, 1536, 24, KIB(100), KIB(99), 1024, 65536, 255, 256, 4, 128, 64, 1, true},
	{121, 1536, 24, KIB(100), KIB(99), 1024, 65536, 255, 256, 4, 128, 64, 1, true},
};

/* The newest row that is not newer than cc; the first when all are. */
const struct cc_limits *cc_limits_find(unsigned cc)
{
	const struct cc_limits *best = &table[0];

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].cc <= cc)
			best = &table[i];
	return best;
}

static uint32_t at_most(uint32_t limit, uint32_t device)
{
	return device && device < limit ? device : limit;
}

/* The device's own shared memory may be less than the compute capability promises. */
void gpu_apply_cc(struct gpu *gpu, unsigned cc)
{
	struct dev_props *p = &gpu->props;

	gpu->cc = cc_limits_find(cc);
	p->cc_major = cc / 10;
	p->cc_minor = cc % 10;
	p->max_threads_per_sm = gpu->cc->max_threads_per_sm;
	p->max_blocks_per_sm = gpu->cc->max_blocks_per_sm;
	p->max_threads_per_block = 1024;
	p->max_block[0] = p->max_block[1] = 1024;
	p->max_block[2] = 64;
	p->max_grid[0] = 0x7fffffff;
	p->max_grid[1] = p->max_grid[2] = 65535;
	p->shared_per_block = at_most(KIB(48), p->shared_per_block);
	p->shared_per_block_optin = at_most(gpu->cc->shared_per_block_optin, p->shared_per_block_optin);
	p->shared_per_sm =
		at_most(gpu->cc->shared_per_sm, p->shared_per_block_optin + gpu->cc->reserved_shared);
	p->regs_per_sm = p->regs_per_block = gpu->cc->regs_per_sm;
	p->const_bytes = KIB(64);
	p->warp_size = 32;
}
