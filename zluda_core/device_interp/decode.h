/* SPDX-License-Identifier: Apache-2.0
 *
 * decode: from the IR to `struct xinst`. The tables of exec_*.c say which
 * handler runs which operation with which types; a row may have its own
 * emitter where operands are irregular.
 */
#ifndef CUTRACE_INTERP_DECODE_H
#define CUTRACE_INTERP_DECODE_H

#include "zluda_core/device_interp/interp.h"

struct decode {
	struct program *program;
	struct dev_module *module;
	struct xcode *code;
	const struct ptx_func *func;
	const struct ptx_inst *in; /* being decoded */
	uint32_t index;
	uint32_t *slot_offset;   /* cell of each slot */
	uint32_t *symbol_offset; /* stack offset of local and param variables, by symbol index */
	uint32_t *shared_offset; /* by symbol index, for the whole program */
	uint32_t *block_pc;
	bool *is_join; /* per block */
	uint32_t
		stack_cell; /* function with alloca: cell with the stack pointer that it found; else OPERAND_NONE */
	uint32_t temps; /* bytes of temporaries used by this instruction */
	uint32_t temps_max, temps_base;
	const struct inject_spec *inject;
	struct contraction_mode contraction;
	struct contractions *fused; /* contract.c: of the function; NULL = none */
	uint8_t check;              /* checked mode, check.h */
	const struct exec_set *exec;
	struct diag *diag;
	struct fixup *fixups;
	uint32_t nfixups, cap_fixups;
	uint32_t pool_hash[1024];
};

enum { FIX_BLOCK, FIX_INST, FIX_TABLE };
struct fixup {
	uint8_t kind;
	uint32_t inst, target;
	struct xtable *table;
};

struct exec_row;
typedef int (*emit_fn)(struct decode *c, const struct exec_row *row);

/* Which fields of an instruction must equal the row's. */
enum { MATCH_TYPE = 1, MATCH_TYPE2 = 2, MATCH_SUB = 4, MATCH_CMP = 8, MATCH_RND = 16, MATCH_SPACE = 32 };

struct exec_row {
	uint16_t op;
	uint8_t match, type, type2, sub, cmp, rnd, space;
	uint32_t need, ok; /* flags that must be set; flags that may be set besides */
	bool splits;       /* a guard becomes a branch around it: it may block, or leave the frame */
	bool any_rnd;      /* the emitter sees to rounding */
	bool rounds;       /* obeys .rz .rm .rp, set around it by exec_round */
	const char *sig;   /* widths, destinations:sources: p 1, b 8, h 16, w 32, d 64, q 128 */
	exec_fn fn;
	emit_fn emit; /* instead of the plain one */
	uint32_t u;
};

/* One family's table. */
struct exec_family {
	const struct exec_row *rows;
	uint32_t n;
};
/* All rows, by operation. */
struct exec_set {
	const struct exec_row **rows;
	uint32_t start[PTX_NOPS + 1];
	exec_fn (*resize)(unsigned from, unsigned to, bool sign);
};

/* Files that are compiled for several instruction sets add their own suffix. */
#ifndef EXEC_VARIANT
#	define EXEC_VARIANT base
#endif
#define EXEC_PASTE2(a, b) a##_##b
#define EXEC_PASTE(a, b)  EXEC_PASTE2(a, b)
#define EXEC_FAMILY(name) EXEC_PASTE(name, EXEC_VARIANT)

#define DECLARE_FAMILY(v)                                                                              \
	extern const struct exec_family exec_int_##v, exec_bits_##v, exec_compare_##v, exec_float_##v, \
		exec_transcend_##v, exec_half_##v, exec_cvt_##v, exec_mem_##v, exec_mma_##v;
DECLARE_FAMILY(base)
DECLARE_FAMILY(v3)
extern const struct exec_family exec_atomic, exec_copy, exec_warp, exec_control, exec_matrix_move,
	exec_mbarrier, exec_stack, exec_video, exec_tex, exec_tex_query, exec_tex_surface;

const struct exec_set *exec_choose(bool simd); /* with simd the best this processor has */

const struct exec_row *exec_find(const struct exec_set *s, const struct ptx_inst *in);

/* Widths */
unsigned sig_bits(char c);
uint32_t cell_bytes(unsigned bits);

/* Emission; all report into c->diag and return 0 or a CUTRACE_E*. */
struct xinst *emit(struct decode *c, exec_fn fn);
uint32_t temp(struct decode *c, unsigned bits);
/* Position of a source of `bits`: the cell itself, a constant, or a converted temporary. */
int source(struct decode *c, const struct ptx_operand *o, unsigned bits, bool sign, uint32_t *pos);
/* Position to write a result of `bits` to; when the register is wider or narrower a temporary, and dest_done
 * stores it. */
struct dest {
	uint32_t pos, reg;
	unsigned bits, reg_bits;
	bool sign;
};
int dest(struct decode *c, const struct ptx_operand *o, unsigned bits, bool sign, struct dest *out);
int dest_done(struct decode *c, const struct dest *d);
uint32_t constant(struct decode *c, uint64_t lo, uint64_t hi, unsigned bits);
int emit_signature(struct decode *c, const struct exec_row *row);
int refuse(struct decode *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* unsupported.c: an instruction that no table executes, a function that is nowhere defined. */
int refuse_instruction(struct decode *c);
int refuse_function(struct decode *c, const struct ptx_func *callee);
unsigned operand_bits(const struct decode *c, const struct ptx_operand *o);
/* Address operand: cell of 64-bit addresses in `space` and a byte offset. */
int address(struct decode *c, const struct ptx_operand *o, int64_t offset, enum ptx_space *space,
	    uint32_t *pos, int64_t *imm);

/* Stack offset of an own parameter or result of a function. */
int64_t param_area(struct decode *c, const struct ptx_operand *o);
/* cell of base + imm */
int add_offset(struct decode *c, uint32_t base, int64_t imm, uint32_t *pos);
/* When the fault to inject is this store: replaces its data by a damaged copy. */
int inject_stored(struct decode *c, uint32_t *data, unsigned bits);

/* contract.c: around a function's decoding, and for its multiplications and sums. */
int contract_begin(struct decode *c);
void contract_end(struct decode *c);
int contract_keep(struct decode *c);
bool contract_is_fused(const struct decode *c);
int contract_sum(struct decode *c);

/* Conversions used by decode itself (exec_cvt.c, base variant). */
#define cvt_resize EXEC_FAMILY(cvt_resize)
exec_fn cvt_resize_base(unsigned from, unsigned to, bool sign);
exec_fn cvt_resize_v3(unsigned from, unsigned to, bool sign);

int decode_function(struct decode *c);
int fix_block(struct decode *c, uint32_t block); /* the last instruction goes to a block */
int fix_table(struct decode *c, struct xtable *t);
int emit_plain(struct decode *c, const struct exec_row *row);
int emit_guard_branch(struct decode *c, uint32_t pred, bool negate);
int emit_ret(struct decode *c, const struct exec_row *row);
int emit_call(struct decode *c, const struct exec_row *row);
int emit_bra(struct decode *c, const struct exec_row *row);
int emit_brx(struct decode *c, const struct exec_row *row);
int emit_mov(struct decode *c, const struct exec_row *row);

/* exec_control.c handlers that decode emits by itself */
const struct xinst *exec_guard(struct warp *w, const struct xinst *i);
const struct xinst *exec_guard_not(struct warp *w, const struct xinst *i);
const struct xinst *exec_unguard(struct warp *w, const struct xinst *i);
const struct xinst *exec_join(struct warp *w, const struct xinst *i);
const struct xinst *exec_jump(struct warp *w, const struct xinst *i);
const struct xinst *exec_round(struct warp *w, const struct xinst *i);
const struct xinst *exec_sreg(struct warp *w, const struct xinst *i);
const struct xinst *exec_local_address(struct warp *w, const struct xinst *i);
const struct xinst *exec_not_pred(struct warp *w, const struct xinst *i);
const struct xinst *exec_refused(struct warp *w, const struct xinst *i);
const struct xinst *exec_stack_keep(struct warp *w, const struct xinst *i);
const struct xinst *exec_stack_return(struct warp *w, const struct xinst *i);
const struct xinst *exec_fall_off(struct warp *w, const struct xinst *i);

#endif
