/* SPDX-License-Identifier: Apache-2.0
 *
 * The targets of LLVM 19's AMDGPU back end that code objects can be made for: GCN 5 and CDNA have waves of 64 lanes,
 * RDNA is used with 32 (LLVM, "User Guide for AMDGPU Backend", Processors). All give a block 64 KiB of LDS.
 */
#include "ptx/lower/lower.h"

#include <string.h>

enum { LDS = 65536 };

static const struct lower_target targets[] = {
	{"gfx900", 64, 5, LDS},          {"gfx906", 64, 5, LDS},        {"gfx908", 64, 5, LDS},
	{"gfx90a", 64, 5, LDS},          {"gfx942", 64, 5, LDS},        {"gfx1010", 32, 5, LDS},
	{"gfx1011", 32, 5, LDS},         {"gfx1012", 32, 5, LDS},       {"gfx1013", 32, 5, LDS},
	{"gfx1030", 32, 5, LDS},         {"gfx1031", 32, 5, LDS},       {"gfx1032", 32, 5, LDS},
	{"gfx1033", 32, 5, LDS},         {"gfx1034", 32, 5, LDS},       {"gfx1035", 32, 5, LDS},
	{"gfx1036", 32, 5, LDS},         {"gfx1100", 32, 5, LDS},       {"gfx1101", 32, 5, LDS},
	{"gfx1102", 32, 5, LDS},         {"gfx1103", 32, 5, LDS},       {"gfx1150", 32, 5, LDS},
	{"gfx1151", 32, 5, LDS},         {"gfx1152", 32, 5, LDS},       {"gfx1200", 32, 5, LDS},
	{"gfx1201", 32, 5, LDS},         {"gfx9-generic", 64, 6, LDS},  {"gfx10-1-generic", 32, 6, LDS},
	{"gfx10-3-generic", 32, 6, LDS}, {"gfx11-generic", 32, 6, LDS}, {"gfx12-generic", 32, 6, LDS},
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
