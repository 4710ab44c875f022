/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/analysis: facts about a built function, for code generators, replay and people. Every analysis is a
 * function of the IR alone, leaves the IR as it is, and answers with arrays indexed by value, block or
 * instruction that the caller frees with the matching function. All run in near-linear time; where an exact
 * answer could cost more, work is bounded and the answer errs on the side that its comment names. Graphs may be
 * irreducible; unreachable blocks have no facts (zeros).
 *
 * What a kernel does with its parameters is in ptx_func.access (ptx_func_analyse).
 *
 * Functions return 0 or CUTRACE_ENOMEM, unless said otherwise.
 */
#ifndef CUTRACE_PTX_ANALYSIS_H
#define CUTRACE_PTX_ANALYSIS_H

#include "ptx/ir.h"

/* uses.c: where values are used, in compressed rows: the uses of value v are at[first[v]] up to
 * at[first[v + 1]]. Value 0 has none. A use is an instruction or an argument of a phi. What a guarded
 * instruction keeps when its guard is false (ptx_inst.prev) is used by it, as its guard is. */
struct ptx_use {
	uint32_t inst;  /* instruction, or PTX_NONE: an argument of a phi */
	uint32_t block; /* of the instruction; of a phi the predecessor at whose end the value is read */
	uint32_t phi;   /* the phi's value, or PTX_NONE */
};
struct ptx_uses {
	uint32_t *first; /* nvalues + 1 */
	struct ptx_use *at;
	uint32_t *block_of; /* by instruction */
};
int ptx_uses_find(const struct ptx_func *f, struct ptx_uses *u);
void ptx_uses_free(struct ptx_uses *u);
/* Calls fn for each value that the instruction reads: sources, guard, what it keeps. */
void ptx_inst_reads(const struct ptx_inst *i, void (*fn)(void *ctx, uint32_t value), void *ctx);
bool ptx_inst_writes(const struct ptx_inst *i, uint32_t value);
/* Block in which a value is made; parameters in registers: 0; PTX_NONE: value 0 and values never defined. */
uint32_t ptx_value_block(const struct ptx_func *f, const struct ptx_uses *u, uint32_t value);

/* liveness.c: values live at the ends of blocks, in compressed rows. in[first_in[b]] up to in[first_in[b + 1]]
 * are live where b is entered, before its phis, whose results are therefore not in the list; out likewise behind
 * its last instruction, arguments of its successors' phis included. Ascending order. Every version of a register has
 * the same slot and no two are live at once, so these lists name slots as well.
 * CUTRACE_ENOTSUP: more than 2^28 entries. */
struct ptx_liveness {
	uint32_t *first_in, *in;
	uint32_t *first_out, *out;
	struct ptx_uses uses;
};
int ptx_liveness_find(const struct ptx_func *f, struct ptx_liveness *l);
void ptx_liveness_free(struct ptx_liveness *l);
/* Walks a block backwards: begin, then for each step the values live *behind* instruction w->inst are
 * w->values[0..n). What is live across a barrier is that, less what the barrier itself writes. */
struct ptx_live_walk {
	const struct ptx_func *f;
	uint32_t block, inst, n;
	uint32_t *values; /* in no order */
	uint32_t *place;  /* by value: index in values + 1, 0 = not live */
};
int ptx_live_walk_open(struct ptx_live_walk *w, const struct ptx_func *f);
void ptx_live_walk_close(struct ptx_live_walk *w);
/* Behind the last instruction of `block`. */
void ptx_live_walk_begin(struct ptx_live_walk *w, const struct ptx_liveness *l, uint32_t block);
/* Behind the previous instruction; false when w->inst was the first (the list is then what is live before it). */
bool ptx_live_walk_back(struct ptx_live_walk *w);

/* uniformity.c: among which threads a value is the same, when they execute its definition together (in the
 * same iteration of every loop around it). */
enum ptx_level {
	PTX_LEVEL_GRID,   /* the same in all threads of the launch */
	PTX_LEVEL_BLOCK,  /* in all threads of a block */
	PTX_LEVEL_WARP,   /* in the 32 threads of a warp */
	PTX_LEVEL_THREAD, /* it may differ between any two */
};
const char *ptx_level_name(enum ptx_level l);
enum { PTX_AXIS_X, PTX_AXIS_Y, PTX_AXIS_Z, PTX_AXIS_LANE, PTX_AXES };
struct ptx_uniform {
	uint8_t level; /* enum ptx_level; errs upwards */
	bool affine;   /* value = base + stride . (tid.x, tid.y, tid.z, laneid), modulo 2^bits of the value */
	uint8_t base;  /* level of the base, < PTX_LEVEL_THREAD, when affine */
	bool may_wrap; /* exact only if no narrower sum on the way wrapped around (cvt and mul.wide of a 32-bit sum:
			 * true of every address that C code computes without overflow) */
	int32_t stride[PTX_AXES];
};
struct ptx_uniformity {
	struct ptx_uniform *values; /* by value */
	uint8_t *
		control; /* by block, enum ptx_level: GRID, all threads of the launch execute it or none (each equally
			     * often); BLOCK, all of a block; ...; THREAD, it lies in divergent control flow. Threads that
			     * left by a guarded exit or ret are not counted as missing; errs upwards. */
	uint8_t *
		divergent; /* by block: level of the condition of the branch at its end; GRID when there is none */
	bool bounded; /* the work's limit was met: joins of branches in the rest are taken to be divergent */
};
/* Assumes that nothing is known about the block's shape but what .reqntid says. In a .func parameters vary. */
int ptx_uniformity_find(const struct ptx_func *f, const struct ptx_module *m, struct ptx_uniformity *u);
void ptx_uniformity_free(struct ptx_uniformity *u);

/* barrier_flow.c: the barriers of a function (bar, barrier; not bar.warp.sync) in order of the code. */
struct ptx_barrier_use {
	uint32_t inst;
	uint8_t control; /* enum ptx_level of its block, its own guard included: at most PTX_LEVEL_BLOCK means that all
			     * threads of the block that haven't exited reach it together */
	bool aligned;     /* all threads of the warp must execute it together (ISA 9.7.13.1) */
	bool waits;       /* sync and red; arrive doesn't */
	bool whole_block; /* no thread count */
};
struct ptx_barriers {
	uint32_t n;
	struct ptx_barrier_use *at;
	bool all_uniform; /* every one waits, is of the whole block and in control flow uniform over it: the function can
			     * be cut at its barriers into pieces that all threads of the block run one after another */
};
int ptx_barriers_find(const struct ptx_func *f, const struct ptx_uniformity *u, struct ptx_barriers *b);
void ptx_barriers_free(struct ptx_barriers *b);

/* contraction.c: pairs of mul and add (or sub) that may be executed as one fma: both without rounding modifier
 * (ISA 9.7.3 to 9.7.5, add, sub, mul: "may be optimized to use fused-multiply-add instructions"), of one type, both with
 * or both without .ftz, the product neither saturated nor guarded. In order of the add. */
struct ptx_contraction {
	uint32_t mul, add;                  /* instructions */
	uint8_t operand;                    /* of the add: 0 or 1 is the product */
	bool negate_product, negate_addend; /* c - a*b; a*b - c */
	bool only_use;                      /* nothing else reads the product */
	bool same_block;
};
struct ptx_contractions {
	uint32_t n;
	struct ptx_contraction *at;
};
int ptx_contractions_find(const struct ptx_func *f, struct ptx_contractions *c);
void ptx_contractions_free(struct ptx_contractions *c);

/* touch.c: what a function and everything it may call may touch. */
enum ptx_touch_kind { PTX_TOUCH_READ = 1, PTX_TOUCH_WRITE = 2, PTX_TOUCH_ATOMIC = 4, PTX_TOUCH_ADDRESS = 8 };
struct ptx_touched_symbol {
	uint32_t
		symbol; /* index in module->symbols; also shared and local variables of the functions called */
	uint8_t kinds; /* ADDRESS: its address is stored, passed or returned, so that others may touch it, too */
};
struct ptx_touch {
	uint8_t space[PTX_SPACE_TEX +
		      1]; /* by enum ptx_space: kinds; GENERIC: an address that no analysis could place */
	uint32_t nsymbols;
	struct ptx_touched_symbol *symbols; /* ascending; only those named in the code */
	bool writes_unknown; /* may store through a pointer that is no parameter's and no variable's */
	/* calls */
	bool calls_unknown, calls_indirect, recursive;
	bool uses_malloc, uses_printf, uses_assert, launches; /* device-side launch */
	/* cooperation */
	bool barriers, warp_ops, matrix_ops, async_copies, mbarriers, clusters, fences, grid_sync;
	bool textures, surfaces, traps, clocks, sleeps;
	bool dynamic_shared;
	uint64_t shared_bytes;
	uint64_t
		local_bytes; /* bound of a thread's stack: variables and parameters of calls; UINT64_MAX unbounded */
	uint32_t ninsts, nfuncs; /* of the function and all it may call */
};
/* Builds what isn't built. grid_sync: it reads the words of a cooperative launch (%envreg1, %envreg2). */
int ptx_touch_find(struct ptx_module *m, struct ptx_func *f, struct ptx_touch *t);
void ptx_touch_free(struct ptx_touch *t);

#endif
