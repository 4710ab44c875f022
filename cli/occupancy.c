/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers of a SIMD, by target, as LLVM 19 has them (llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp: getMaxWavesPerEU,
 * getTotalNumVGPRs, getVGPRAllocGranule, getTotalNumSGPRs); the RDNA 2 to 4 and CDNA 3 ISA documents give the same
 * sizes. Targets with waves of 32 lanes are counted in those. LDS may limit further, by the size of the blocks.
 */
#include <string.h>

#include "cli/compile.h"

static const struct row {
	const char *prefix; /* the longest that the target begins with */
	unsigned waves, vgprs, granule;
	unsigned sgprs; /* that waves share; 0: each has its own */
	bool unified;   /* accumulation registers count as vector registers */
} rows[] = {
	{"gfx9", 10, 256, 4, 800, false},    {"gfx90a", 8, 512, 8, 800, true},
	{"gfx942", 8, 512, 8, 800, true},    {"gfx10", 20, 1024, 8, 0, false},
	{"gfx103", 16, 1024, 16, 0, false},  {"gfx10-3", 16, 1024, 16, 0, false},
	{"gfx11", 16, 1024, 16, 0, false},   {"gfx1100", 16, 1536, 24, 0, false},
	{"gfx1101", 16, 1536, 24, 0, false}, {"gfx1151", 16, 1536, 24, 0, false},
	{"gfx12", 16, 1536, 24, 0, false},
};

static const struct row *find(const char *target)
{
	const struct row *best = NULL;

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		if (!strncmp(target, rows[k].prefix, strlen(rows[k].prefix)) &&
		    (!best || strlen(rows[k].prefix) > strlen(best->prefix)))
			best = &rows[k];
	return best;
}

static unsigned up(unsigned v, unsigned to)
{
	return (v + to - 1) / to * to;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned occupancy_waves(const char *target, unsigned vgprs, unsigned agprs, unsigned sgprs)
{
	const struct row *r = find(target);
	unsigned used = !r                    ? 1
			: r->unified && agprs ? up(vgprs, 4) + agprs
			: vgprs > agprs       ? vgprs
					      : agprs,
		 waves;

	if (!r)
		return 0;
	waves = least(r->waves, r->vgprs / up(used ? used : 1, r->granule));
	if (r->sgprs)
		waves = least(waves, r->sgprs / up(sgprs ? sgprs : 1, 16));
	return waves;
}
