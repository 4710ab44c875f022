/* SPDX-License-Identifier: Apache-2.0
 *
 * The targets of LLVM 19's AMDGPU back end that code objects can be made for: GCN 5 and CDNA have waves of 64 lanes,
 * RDNA is used with 32 (LLVM, "User Guide for AMDGPU Backend", Processors). All give a block 64 KiB of LDS.
 */
#include "ptx/lower/lower.h"

#include <string.h>

enum { LDS = 65536 };

static const struct lower_target targets[] = {
	{"gfx900", 64, 5, LDS, DOT4_NONE},          {"gfx906", 64, 5, LDS, DOT4_SIGNED},
	{"gfx908", 64, 5, LDS, DOT4_SIGNED},        {"gfx90a", 64, 5, LDS, DOT4_SIGNED},
	{"gfx942", 64, 5, LDS, DOT4_SIGNED},        {"gfx1010", 32, 5, LDS, DOT4_NONE},
	{"gfx1011", 32, 5, LDS, DOT4_SIGNED},       {"gfx1012", 32, 5, LDS, DOT4_SIGNED},
	{"gfx1013", 32, 5, LDS, DOT4_NONE},         {"gfx1030", 32, 5, LDS, DOT4_SIGNED},
	{"gfx1031", 32, 5, LDS, DOT4_SIGNED},       {"gfx1032", 32, 5, LDS, DOT4_SIGNED},
	{"gfx1033", 32, 5, LDS, DOT4_SIGNED},       {"gfx1034", 32, 5, LDS, DOT4_SIGNED},
	{"gfx1035", 32, 5, LDS, DOT4_SIGNED},       {"gfx1036", 32, 5, LDS, DOT4_SIGNED},
	{"gfx1100", 32, 5, LDS, DOT4_ANY},          {"gfx1101", 32, 5, LDS, DOT4_ANY},
	{"gfx1102", 32, 5, LDS, DOT4_ANY},          {"gfx1103", 32, 5, LDS, DOT4_ANY},
	{"gfx1150", 32, 5, LDS, DOT4_ANY},          {"gfx1151", 32, 5, LDS, DOT4_ANY},
	{"gfx1152", 32, 5, LDS, DOT4_ANY},          {"gfx1200", 32, 5, LDS, DOT4_ANY},
	{"gfx1201", 32, 5, LDS, DOT4_ANY},          {"gfx9-generic", 64, 6, LDS, DOT4_NONE},
	{"gfx10-1-generic", 32, 6, LDS, DOT4_NONE}, {"gfx10-3-generic", 32, 6, LDS, DOT4_SIGNED},
	{"gfx11-generic", 32, 6, LDS, DOT4_ANY},    {"gfx12-generic", 32, 6, LDS, DOT4_ANY},
};

const struct lower_target *lower_target_at(unsigned k)
{
	return k < sizeof(targets) / sizeof(targets[0]) ? &targets[k] : NULL;
}

const struct lower_target *lower_target_find(const char *name)
{
	for (unsigned k = 0; k < sizeof(targets) / sizeof(targets[0]); k++)
		if (!strcmp(targets[k].name, name))
			return &targets[k];
	return NULL;
}
