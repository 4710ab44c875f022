/* SPDX-License-Identifier: Apache-2.0
 *
 * assemble: kernels of a few instructions for one target, by llvm-mc-19 and ld.lld-19. Each begins with s[0:1] = kernarg
 * segment, v0 = lane of its block, 2 KiB of LDS, 64 bytes of scratch, denormals kept.
 */
#ifndef CUTRACE_TEST_ASSEMBLE_H
#define CUTRACE_TEST_ASSEMBLE_H

#include <stdio.h>

#include "tests/amdgpu_emulator/device_memory.h"

enum { E90A = 1, E942 = 2, G9 = 3, G10 = 4, E1100 = 8, E1151 = 16, G11 = 24, G12 = 32, ALL = 63 };

struct asm_target {
	const char *name;
	uint8_t bit;
	unsigned wave;
	const char *directives;
};
const struct asm_target *asm_target_find(const char *name);

struct assembly {
	const struct asm_target *target;
	char folder[64];
	FILE *text;
};
/* All return 0, or -1 after printing why not. */
int asm_begin(struct assembly *a, const struct asm_target *t);
/* "vcc" in the body becomes vcc_lo for waves of 32. */
void asm_kernel_begin(struct assembly *a, const char *name);
void asm_body(struct assembly *a, const char *text);
void asm_kernel_end(struct assembly *a, const char *name);
/* Assembles and links with the tools, loads, removes the files. NULL after printing why not. */
struct amdgpu_object *asm_load(struct assembly *a, const char *mc, const char *mc_options, const char *lld,
			       struct device_memory *m);

#endif
