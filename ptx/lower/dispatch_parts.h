/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch_parts: what dispatch.c (states and the choice among them) and dispatch_call.c (functions of the loop: where
 * they are cut into states, calls, frames) share.
 */
#ifndef CUTRACE_PTX_LOWER_DISPATCH_PARTS_H
#define CUTRACE_PTX_LOWER_DISPATCH_PARTS_H

#include "ptx/lower/dispatch.h"

struct dispatch_state {
	struct ir label;
	uint32_t number; /* what a program counter holds */
};

struct dispatch_class {
	const struct ptx_inst *like;
	uint32_t uses, number; /* number: of its state, 0 before it has one */
	unsigned label;
};

struct dispatch {
	uint32_t nstates, capacity, nclasses;
	struct dispatch_state *states;
	struct dispatch_class *classes;
	uint32_t *
		cut; /* by block of the function being written: CUT, then the number of its state + CUT_STATE */
	unsigned barrier_arrive,
		barrier_poll; /* states of barrier.c, 0 before they are used, and their labels */
	unsigned arrive_label, poll_label;
	bool has_stack;
	uint32_t slot_bytes, slots_used; /* of d.slots; 0: registers are allocas of their own */
};

enum { CUT = 1, CUT_STATE = 2 };

void dispatch_write_function(struct lower *l);
void dispatch_frames_begin(struct lower *l);

#endif
