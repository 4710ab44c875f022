/* SPDX-License-Identifier: Apache-2.0
 *
 * waits: which registers an instruction may still write, by the counters that
 * S_WAITCNT and its kin wait for. Only for launches with check_waits.
 */
#ifndef CUTRACE_AMDGPU_WAITS_H
#define CUTRACE_AMDGPU_WAITS_H

#include "zluda_core/amdgpu_emulator/wave.h"

/* What an instruction that has been issued may still write, in which lanes; words is 0 for one that writes none but counts. */
struct pending {
	const struct insn *in;
	uint64_t lanes, offset; /* offset: of the instruction, in the image */
	uint16_t reg;
	uint8_t words, order;
	bool vector;
};

#define PENDING_MAX 64

struct waits {
	struct pending pending[WAIT_COUNTERS][PENDING_MAX]; /* the oldest first */
	unsigned count[WAIT_COUNTERS];
};

void waits_reset(struct waits *t);
/* Before an instruction executes: false after a fault. */
bool waits_check(struct wave *w, const struct insn *in);

#endif
