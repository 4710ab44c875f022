/* SPDX-License-Identifier: Apache-2.0
 *
 * debugger: how one launch of a kernel is looked at while it runs, between our interpreter and a debugger in the same
 * process. The debugger attaches itself through extension.h; from then on the device calls it before each PTX
 * instruction of its next launch, on the thread that executes the kernel and with nothing else running: one thread,
 * blocks in order. It may ask through `struct debug_view` whatever it wants, wait, and fork.
 *
 * Functions, instructions, registers and variables are named by their indices in the module, as anybody gets them who
 * parses the module's text (ptx/ir.h).
 */
#ifndef CUTRACE_DEBUGGER_H
#define CUTRACE_DEBUGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev_fault;

#define DEBUG_LANES 32

struct debug_launch {
	uint64_t launch_id;
	const char *kernel, *module; /* names */
	const char *text;            /* of the module */
	size_t text_bytes;
	uint32_t grid[3], block[3];
	uint32_t static_shared, dynamic_shared; /* bytes; dynamic memory lies behind the static */
	bool cooperative;
	const void *params;
	uint32_t param_bytes;
	const uint64_t *symbol_address; /* by symbol: of a global or constant variable, else 0 */
	uint32_t nsymbols;
};

/* An instruction that lanes `mask` of a warp are about to execute. */
struct debug_at {
	uint64_t block; /* linear */
	uint32_t warp, mask;
	uint32_t func, inst;
	uint32_t depth; /* calls around it, 0 in the kernel itself */
};

enum debug_fragment_state {
	DEBUG_RUNS,
	DEBUG_PARKED,  /* waits at a place where lanes meet again */
	DEBUG_GATHERS, /* waits for other lanes to take part in an operation of the warp */
	DEBUG_BARRIER,
};

/* Lanes of a warp that are at one place. */
struct debug_fragment {
	uint32_t mask;
	uint8_t state, barrier;
	uint32_t members; /* DEBUG_GATHERS: who takes part */
	uint32_t func, inst, depth;
};

struct debug_warp {
	uint32_t lanes; /* that have not exited */
	uint64_t steps; /* PTX instructions that it has begun */
	uint32_t nfragments;
	struct debug_fragment fragments[DEBUG_LANES];
};

struct debug_frame {
	uint32_t func, inst;                            /* of callers: the call */
	uint32_t lanes;                                 /* in this activation */
	uint32_t local_base;                            /* of its part of each lane's stack */
	uint32_t call_offset, param_offset, ret_offset; /* in that: variables of calls, parameters, results */
};

enum debug_space { DEBUG_GENERIC, DEBUG_GLOBAL, DEBUG_SHARED, DEBUG_LOCAL, DEBUG_PARAM };

/* Where a lane sees memory. */
struct debug_place {
	enum debug_space space;
	uint64_t address;
	uint64_t block;
	uint32_t warp, lane;
};

/* `state` is the first argument of each. False: there is no such thing. */
struct debug_view {
	void *state;
	/* Blocks that have begun and not ended, ascending; returns how many there are. */
	uint32_t (*blocks)(void *state, uint64_t *linear, uint32_t max);
	uint64_t (*blocks_begun)(void *state);
	bool (*warp)(void *state, uint64_t block, uint32_t warp, struct debug_warp *out);
	/* Level 0 is where the lane is, 1 its caller... */
	bool (*frame)(void *state, uint64_t block, uint32_t warp, uint32_t lane, uint32_t level,
		      struct debug_frame *out);
	/* The 32 lanes' values, of `bytes` each, in the activation in which `lane` is; a predicate is one word, a bit a lane. */
	bool (*reg)(void *state, uint64_t block, uint32_t warp, uint32_t lane, uint32_t level, uint32_t slot,
		    void *out, uint32_t bytes);
	bool (*read)(void *state, const struct debug_place *p, void *out, size_t bytes);
	/* Of a generic address: the space it is in, the address in that. */
	enum debug_space (*space)(void *state, uint64_t *address);
	/* The piece of memory that a global address lies in. */
	bool (*mapping)(void *state, uint64_t address, uint64_t *base, uint64_t *bytes);
	/* Whether the debugger is called before it: it is part of the kernel, can be reached, and does something. */
	bool (*stops_at)(void *state, uint32_t func, uint32_t inst);
};

#define DEBUGGER_VERSION 1

struct debugger {
	uint32_t version; /* DEBUGGER_VERSION */
	void *ctx;
	void (*begin)(void *ctx, const struct debug_launch *l, const struct debug_view *view);
	void (*instruction)(void *ctx, const struct debug_at *at);
	/* The instruction that the warp was at faulted; the launch ends next. */
	void (*fault)(void *ctx, const struct dev_fault *fault);
	void (*print)(void *ctx, const char *text, size_t bytes); /* what the kernel prints */
	void (*end)(void *ctx, const struct dev_fault *fault);    /* NULL: none */
};

#endif
