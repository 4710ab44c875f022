/* SPDX-License-Identifier: Apache-2.0
 *
 * mnemonic: one name per meaning. Generations renamed instructions without
 * changing them; the op tables use the names of the RDNA 3 ISA.
 */
#ifndef CUTRACE_AMDGPU_MNEMONIC_H
#define CUTRACE_AMDGPU_MNEMONIC_H

#include <stdbool.h>
#include <stddef.h>

#include "zluda_core/amdgpu_emulator/insn.h"

/* What the suffixes and prefixes of a mnemonic said. */
struct mnemonic {
	char name[64];
	bool dpp, sdwa, dual, exec_too; /* exec_too: v_cmpx */
};

void mnemonic_read(struct mnemonic *m, const char *text, size_t bytes);
/* Loads, stores, atomics: false when the name is none. */
bool mnemonic_memory(const char *name, struct memory_op *out);
/* Instructions without an effect that the emulator shows: waits, hints, cache control. */
bool mnemonic_is_nop(const char *name);

#endif
