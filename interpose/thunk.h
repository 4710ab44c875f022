/* SPDX-License-Identifier: Apache-2.0
 *
 * thunk: what the machine code of thunk_entry.c and thunk.c agree on. Only those two include it.
 */
#ifndef CUTRACE_INTERPOSE_THUNK_H
#define CUTRACE_INTERPOSE_THUNK_H

#include <stdint.h>

#define THUNK_COUNT       2048 /* stubs in the library's text: no code is made at run time */
#define THUNK_STRIDE      16   /* bytes of a stub */
#define THUNK_STACK_WORDS 6

/* As thunk_common pushes them; offsets are used in the assembly. */
struct thunk_registers {
	uint64_t integer[6]; /* rdi rsi rdx rcx r8 r9 */
	uint64_t rax, pad;
	struct {
		uint64_t low, high;
	} xmm[8];
};

extern char thunk_stubs[] __attribute__((visibility("hidden")));
extern char thunk_return[] __attribute__((visibility("hidden")));

/* Called by the machine code. return_slot: where the caller's return address lies; stack arguments follow it.
 * Returns the address to jump to. */
void *thunk_enter(struct thunk_registers *r, uint32_t index, uint64_t *return_slot)
	__attribute__((visibility("hidden")));
/* sp: the stack pointer right after the return. Returns the caller's return address. */
uint64_t thunk_exit(uint64_t rax, uint64_t sp) __attribute__((visibility("hidden")));

#endif
