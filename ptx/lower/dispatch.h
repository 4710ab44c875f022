/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch: a kernel in which lanes of a warp may wait for each other. Its body, with those of the functions in which
 * they may wait, is a loop that the lanes of a wave turn together. Each lane has a program counter, the number of a
 * state. A turn picks a lane, in rotation, and executes the code of its state with all lanes that are in it. Code runs
 * until each lane has a new state: at a place where it waits, in a loop that may be one that waits, where it calls or
 * returns. So every lane gets ahead, as PTX since sm_70 says (ISA 3.1), whatever the others wait for.
 *
 * A state that waits for the warp is executed once all lanes that its member mask names are in it or have ended; with
 * waves of 64 each half is a warp of its own. Operations of one kind at several places share one such state, which
 * they hand their operands to (ISA 9.7.13.7 ff.: "the same qualifiers and the same membermask").
 *
 * Registers are allocas of the kernel as everywhere; those of functions have a prefix. When there are many, they stay in
 * memory between turns: all would be live all the time, and LLVM 19 spills some of them where only part of their lanes
 * are active. A function that is entered while
 * it is active already finds its frame saved on a stack.
 */
#ifndef CUTRACE_PTX_LOWER_DISPATCH_H
#define CUTRACE_PTX_LOWER_DISPATCH_H

#include "ptx/lower/writer.h"

/* The kernel's whole body. */
void write_dispatched(struct lower *l);
/* Labels of f's block n: as a branch's target, and where its code stands. */
struct ir dispatch_target(struct lower *l, uint32_t n);
void dispatch_block_begins(struct lower *l, uint32_t n);
/* The instruction, when it waits for the warp; true: it is done. Otherwise its lanes are together then, where it needs that. */
bool dispatch_warp_operation(struct lower *l);
/* A state whose code is written next: its number. */
unsigned dispatch_state(struct lower *l, struct ir label, bool waits);
/* The lanes that are here go on with the state of that number, later; text follows a label. */
void dispatch_go_to(struct lower *l, struct ir state);
/* The lanes that are here wait until all members are, with the same key. */
void dispatch_wait_here(struct lower *l, struct ir members, struct ir key);
/* A call of a function that is merged, with the blocks of its parameters and results, and the return from it. */
void dispatch_call(struct lower *l, const struct ptx_func *callee, unsigned params);
void dispatch_called(struct lower *l, const struct ptx_func *callee, unsigned results);
void dispatch_return(struct lower *l);
/* Variables of f, when it may be active several times. */
bool dispatch_has_locals_on_stack(const struct lower *l);
struct ir dispatch_local(struct lower *l, uint32_t symbol);
/* f's register k, in the kernel's head. */
void dispatch_slot(struct lower *l, uint32_t k);
/* Allocas, in the kernel's head, of a name that other files use. */
void dispatch_variable(struct lower *l, const char *name, const char *type);

#endif
