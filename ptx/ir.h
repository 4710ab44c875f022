/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/ir: a PTX module in memory. `ptx_module_parse` reads the directives and
 * finds the bodies; a function's body is parsed and turned into SSA on demand by
 * `ptx_func_build`, so that loading a large module to run one kernel is cheap.
 *
 * The IR is SSA, and conventional by construction: every value remembers the
 * register slot it came from, all versions of one PTX register share a slot and are never live at
 * the same time. An executor may therefore keep one storage cell per slot and
 * ignore phi nodes; analyses use the values.
 *
 * A value has a width only. The type belongs to the operation, because PTX
 * reinterprets registers freely. A register read before it is written is 0.
 *
 * Depends on libc and base/. Nothing here prints.
 */
#ifndef CUTRACE_PTX_IR_H
#define CUTRACE_PTX_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

#define PTX_NONE UINT32_MAX
enum { PTX_MAX_ERRORS = 20 }; /* that are kept, of a module and of a body; more wouldn't be read */

enum ptx_type {
	PTX_TYPE_NONE,
	PTX_PRED,
	PTX_B8, PTX_B16, PTX_B32, PTX_B64, PTX_B128,
	PTX_U8, PTX_U16, PTX_U32, PTX_U64,
	PTX_S8, PTX_S16, PTX_S32, PTX_S64,
	PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_TF32, PTX_F32, PTX_F32X2, PTX_F64,
	PTX_U16X2, PTX_S16X2, PTX_U8X4, PTX_S8X4,
	PTX_E4M3, PTX_E5M2, PTX_E4M3X2, PTX_E5M2X2, PTX_E2M1X2, PTX_E2M3X2, PTX_E3M2X2, PTX_UE8M0X2,
	PTX_E2M1, PTX_E2M3, PTX_E3M2, PTX_UE8M0, PTX_E4M3X4, PTX_E5M2X4, PTX_E2M1X4, PTX_E2M3X4, PTX_E3M2X4,
	PTX_U4, PTX_S4, PTX_B1, PTX_U2, PTX_S2, PTX_B4, PTX_B6, PTX_B4X16, PTX_B6X16, PTX_B8X16,
	PTX_TEXREF, PTX_SAMPLERREF, PTX_SURFREF,
	PTX_UE4M3,
	PTX_NTYPES
};
unsigned ptx_type_bits(enum ptx_type t);      /* 1 for predicates */
const char *ptx_type_name(enum ptx_type t);   /* "u32", without dot */
bool ptx_type_is_float(enum ptx_type t);
bool ptx_type_is_signed(enum ptx_type t);

enum ptx_space {
	PTX_SPACE_GENERIC, PTX_SPACE_REG, PTX_SPACE_SREG, PTX_SPACE_CONST, PTX_SPACE_GLOBAL, PTX_SPACE_LOCAL,
	PTX_SPACE_SHARED,	  /* shared::cta */
	PTX_SPACE_SHARED_CLUSTER, PTX_SPACE_PARAM, /* of the kernel or, in ld.param of a .func, of the function */
	PTX_SPACE_TEX
};

enum ptx_rounding { PTX_RND_NONE, PTX_RN, PTX_RZ, PTX_RM, PTX_RP, PTX_RNA, PTX_RS,
		    PTX_RNI, PTX_RZI, PTX_RMI, PTX_RPI };
enum ptx_cmp { PTX_CMP_NONE, PTX_EQ, PTX_NE, PTX_LT, PTX_LE, PTX_GT, PTX_GE, PTX_LO, PTX_LS, PTX_HI, PTX_HS,
	       PTX_EQU, PTX_NEU, PTX_LTU, PTX_LEU, PTX_GTU, PTX_GEU, PTX_NUM, PTX_NAN };
enum ptx_boolop { PTX_BOOL_NONE, PTX_BOOL_AND, PTX_BOOL_OR, PTX_BOOL_XOR };
enum ptx_sem { PTX_SEM_NONE, PTX_WEAK, PTX_VOLATILE, PTX_RELAXED, PTX_ACQUIRE, PTX_RELEASE, PTX_ACQ_REL, PTX_SC, PTX_MMIO };
enum ptx_scope { PTX_SCOPE_NONE, PTX_SCOPE_CTA, PTX_SCOPE_CLUSTER, PTX_SCOPE_GPU, PTX_SCOPE_SYS };

/* Modifiers that are plain yes or no. */
enum ptx_flag {
	PTX_F_FTZ = 1 << 0, PTX_F_SAT = 1 << 1, PTX_F_SATFINITE = 1 << 2, PTX_F_RELU = 1 << 3,
	PTX_F_NAN = 1 << 4, PTX_F_XORSIGN_ABS = 1 << 5, PTX_F_APPROX = 1 << 6, PTX_F_FULL = 1 << 7,
	PTX_F_CC = 1 << 8,	/* writes the carry: last destination operand */
	PTX_F_CARRY_IN = 1 << 9,/* reads the carry: last source operand */
	PTX_F_WIDE = 1 << 10, PTX_F_HI = 1 << 11, PTX_F_LO = 1 << 12,
	PTX_F_UNI = 1 << 13, PTX_F_SYNC = 1 << 14, PTX_F_ALIGNED = 1 << 15, PTX_F_NC = 1 << 16,
	PTX_F_CLAMP = 1 << 17, PTX_F_WRAP = 1 << 18, PTX_F_LEFT = 1 << 19, PTX_F_RIGHT = 1 << 20,
	PTX_F_TO = 1 << 21,	/* cvta.to */
	PTX_F_SHIFTAMT = 1 << 22, PTX_F_ABS = 1 << 23, PTX_F_TRANS = 1 << 24, PTX_F_NOINC = 1 << 25,
	PTX_F_UNIFIED = 1 << 26, PTX_F_CACHE_HINT = 1 << 27, PTX_F_OOB = 1 << 28,
};

/* Operations: one row each in ptx/ops.def. */
enum ptx_op {
#define PTX_OP(id, ...) PTX_OP_##id,
#include "ptx/ops.def"
#undef PTX_OP
	PTX_NOPS
};
const char *ptx_op_name(enum ptx_op op); /* "mad" */
const char *ptx_shape_name(unsigned shape); /* "m16n8k16", "2d"; "" for 0 */

/* Sub-operation of ops that have a family of them (`sub` of an instruction): atom/red/redux: the arithmetic; shfl: direction;
 * vote and match: mode; bar: sync/arrive/red...; testp; prmt mode; and so on. Declared in ops.def's header part. */
enum ptx_sub {
	PTX_SUB_NONE,
	/* atom, red, redux, bar.red, multimem */
	PTX_SUB_AND, PTX_SUB_OR, PTX_SUB_XOR, PTX_SUB_EXCH, PTX_SUB_CAS, PTX_SUB_ADD, PTX_SUB_INC, PTX_SUB_DEC,
	PTX_SUB_MIN, PTX_SUB_MAX, PTX_SUB_POPC,
	/* shfl */
	PTX_SUB_UP, PTX_SUB_DOWN, PTX_SUB_BFLY, PTX_SUB_IDX,
	/* vote, match */
	PTX_SUB_ALL, PTX_SUB_ANY, PTX_SUB_UNI, PTX_SUB_BALLOT,
	/* bar, barrier, bar.warp, mbarrier, cp.async, ... */
	PTX_SUB_SYNC, PTX_SUB_ARRIVE, PTX_SUB_RED, PTX_SUB_WARP_SYNC, PTX_SUB_WAIT, PTX_SUB_INIT, PTX_SUB_INVAL,
	PTX_SUB_TEST_WAIT, PTX_SUB_TRY_WAIT, PTX_SUB_COMMIT_GROUP, PTX_SUB_WAIT_GROUP, PTX_SUB_WAIT_ALL,
	/* testp */
	PTX_SUB_FINITE, PTX_SUB_INFINITE, PTX_SUB_NUMBER, PTX_SUB_NOTANUMBER, PTX_SUB_NORMAL, PTX_SUB_SUBNORMAL,
	/* prmt */
	PTX_SUB_F4E, PTX_SUB_B4E, PTX_SUB_RC8, PTX_SUB_ECL, PTX_SUB_ECR, PTX_SUB_RC16,
	/* anything else an op needs; the op's row says which */
	PTX_SUB_OTHER, /* ops with modifiers beyond this enum keep the spelling in `mods` */
};

/* Special registers: one row each in ptx/sregs.def; vectors are split by component. */
enum ptx_sreg {
#define PTX_SREG(id, ...) PTX_SREG_##id,
#include "ptx/sregs.def"
#undef PTX_SREG
	PTX_NSREGS
};
const char *ptx_sreg_name(enum ptx_sreg r);

enum ptx_operand_kind {
	PTX_OPND_NONE,
	PTX_OPND_VALUE,	 /* index into ptx_func.values */
	PTX_OPND_IMM,	 /* `imm`: bits, already converted to the operation's type and width */
	PTX_OPND_SREG,	 /* index = enum ptx_sreg */
	PTX_OPND_SYMBOL, /* address of variable `index` of the module or function (see ptx_symbol), plus imm */
	PTX_OPND_FUNC,	 /* address of function `index` */
	PTX_OPND_SINK,	 /* `_` */
	PTX_OPND_PARAM,	 /* byte offset `imm` in the parameter block (ld/st.param; of mov, cvta: its address);
			  * index 0 = input parameters, 1 = return parameters of a .func (a block of ret_bytes) */
};

struct ptx_operand {
	uint8_t kind;
	bool negate; /* !p; of vmad: -a */
	uint16_t select; /* video instructions: .b0, .h1, .b3210 ...; 0 = none, see PTX_SELECT_* */
	uint32_t index;
	uint64_t imm; /* VALUE as an address, [reg+imm]: the byte offset (for src[0] the same as inst.offset: add it once) */
};

/* A selector of bytes or halves: how many digits, and digit k from the right. */
#define PTX_SELECT_DIGITS(s)   ((s) >> 12 & 7)
#define PTX_SELECT_DIGIT(s, k) ((s) >> 3 * (k) & 7)
#define PTX_SELECT_HALVES      0x8000

struct ptx_inst {
	uint16_t op;	/* enum ptx_op */
	uint8_t type;	/* the operation's type: first of the type modifiers */
	uint8_t type2;	/* second: source type of cvt, set, mma's A ... */
	uint8_t type3, type4;
	uint8_t sub;	/* enum ptx_sub */
	uint8_t space;	/* enum ptx_space; for cvta the space converted from or to */
	uint8_t space2; /* second space (cp.async destination/source) */
	uint8_t vec;	/* 1, 2, 4, 8 */
	uint8_t rnd, cmp, boolop, sem, scope;
	uint8_t ndst, nsrc;
	uint32_t flags; /* enum ptx_flag */
	uint16_t shape; /* op-specific: index into ptx_shape_names (m16n8k16, m8n8, ...), 0 = none */
	uint8_t layout; /* matrices: bit 0 = first of .row/.col is col, bit 1 = second is; operations with a geometry: how many
			 * of the sources stand in the brackets (reference, sampler, coordinates) */
	bool guarded, guard_negate;
	uint32_t guard; /* predicate value */
	struct ptx_operand *dst; /* ndst of them, then the sources follow: src = dst + ndst */
	struct ptx_operand *src;
	uint32_t *prev; /* guarded with destinations: for each dst the value its register had before (what it keeps when the
			 * guard is false; PTX_NONE for a dst that isn't a value); else NULL. Executors on slots ignore it. */
	int64_t offset;	/* of the address operand when it is a VALUE (SYMBOL, PARAM, IMM: all is in imm, offset is 0), which is src[0] for ld/atom/prefetch, src[0] for st too (address first, then data) */
	uint32_t target; /* bra: block (in .lists too); call: function index or PTX_NONE when indirect (src[0] then is the address) */
	uint32_t table;	/* brx.idx, indirect calls: index of the target list or prototype; PTX_NONE */
	uint32_t line, col; /* in the PTX text, from 1 */
	uint32_t loc;	/* index into module->locs, or PTX_NONE */
	const char *mods; /* full opcode text as written, "ld.global.nc.v4.f32" */
};

struct ptx_value {
	uint32_t def;	/* instruction index, or PTX_NONE for the undefined (zero) value, phis and register parameters of a .func */
	uint32_t phi_block; /* block that defines it by a phi, or PTX_NONE */
	uint32_t slot;	/* storage cell, < ptx_func.nslots */
	uint8_t bits;	/* 1, 8, 16, 32, 64, 128 */
};

struct ptx_phi {
	uint32_t value;
	uint32_t *args; /* one value per predecessor, in block->preds' order */
};

struct ptx_block {
	uint32_t first, ninsts;	/* contiguous in ptx_func.insts; the last one may branch */
	uint32_t nsuccs, npreds, nphis;
	uint32_t *succs;	/* guarded bra: [0] taken, [1] fall-through; brx.idx: in table order */
	uint32_t *preds; /* without unreachable blocks; a block twice when two edges come from it */
	struct ptx_phi *phis;
	uint32_t ipdom;		/* immediate post-dominator, PTX_NONE = the exit. Guarded exits and returns don't count as ways
				 * out: it is where the threads that go on meet. */
	uint32_t idom;		/* immediate dominator, PTX_NONE for the entry and unreachable blocks */
	const char *label;	/* or NULL */
};

/* A register, for naming values in reports. Slot 0 is reserved: never written, always 0, read through value 0. Only
 * registers that are used have a slot. The carry flag is the slot named "%cc". */
struct ptx_slot {
	const char *name; /* "%r12" */
	uint8_t type;	  /* declared type */
	uint8_t bits;
};

enum ptx_linkage { PTX_LINK_LOCAL, PTX_LINK_VISIBLE, PTX_LINK_EXTERN, PTX_LINK_WEAK, PTX_LINK_COMMON };

struct ptx_reloc { /* an initialiser word that is the address of something */
	uint32_t offset; /* bytes in the variable */
	uint8_t bytes;	 /* 1..8: how much of the address is stored */
	uint8_t shift;	 /* right shift in bits (mask() operator), else 0 */
	bool generic;	 /* generic(sym) */
	bool is_func;
	uint32_t symbol; /* index of variable or function */
	int64_t addend;
};

/* What the initialiser of a texref, samplerref or surfref says (ISA 5.3). A member that it doesn't name is PTX_OPAQUE_UNSET. */
#define PTX_OPAQUE_UNSET 0xff
enum { PTX_ADDR_WRAP, PTX_ADDR_MIRROR, PTX_ADDR_CLAMP_OGL, PTX_ADDR_CLAMP_TO_EDGE, PTX_ADDR_CLAMP_TO_BORDER };
struct ptx_opaque {
	uint8_t normalized_coords, force_unnormalized_coords;
	uint8_t filter_mode;  /* 0 nearest, 1 linear */
	uint8_t addr_mode[3]; /* PTX_ADDR_* */
	uint8_t reserved[2];
};

/* A variable: module scope (global, const, shared, tex...) or function scope (shared, local, param of a call). */
struct ptx_symbol {
	const char *name;
	uint8_t space, type, linkage;
	bool managed, dynamic; /* dynamic: extern .shared x[] */
	uint32_t align;
	uint64_t size;	       /* bytes; 0 for dynamic shared memory */
	const uint8_t *init;   /* size bytes, or NULL = zeros; of texref, samplerref, surfref a struct ptx_opaque */
	uint32_t nrelocs;
	struct ptx_reloc *relocs;
	uint32_t owner;	       /* function index, or PTX_NONE = module scope */
	uint64_t offset;       /* shared, local, param of a call: byte offset in the owner's frame for that space (set by
				* ptx_func_build; for shared memory of a launch see ptx_func.shared) */
	uint32_t line;
};

struct ptx_param {
	const char *name;
	uint8_t type;	/* element type */
	uint8_t ptr_space; /* .ptr .global: enum ptx_space; PTX_SPACE_REG when no .ptr attribute */
	uint32_t align, size, offset; /* bytes; offset in the parameter block, natural alignment applied */
	uint32_t count; /* array elements, 1 for scalars */
	uint32_t ptr_align;
	uint32_t slot;	/* .func with register parameters: slot; PTX_NONE otherwise */
	bool is_open;	/* the last one of a .func, "values[]": size 0 here; a call passes an array of any size up to
			 * PTX_OPEN_PARAM_BYTES, or leaves it out (ISA 7.2, 11.2.2) */
};
#define PTX_OPEN_PARAM_BYTES 4096

struct ptx_func {
	const char *name;
	bool is_entry, is_decl, noreturn;
	uint8_t linkage;
	uint32_t nparams, nrets;
	struct ptx_param *params, *rets;
	uint32_t param_bytes, ret_bytes; /* sizes of the parameter block and of the returned ones' block */
	uint32_t maxntid[3], reqntid[3], minnctapersm, maxnreg, cluster[3]; /* 0 = absent */
	uint32_t line;
	uint32_t index; /* in module->funcs */
	/* where the body is in module->text, for on-demand building */
	size_t body_begin, body_end;
	uint32_t body_line;

	/* set by ptx_func_build */
	uint32_t first_symbol, nsymbols; /* variables of the body, adjacent in module->symbols */
	bool linked; /* shared memory and callees are complete */
	enum { PTX_UNBUILT, PTX_BUILT, PTX_FAILED } state;
	struct diag error; /* why it can't be translated: "file:line:col", reason, with caret text in hint */
	uint32_t nerrors;  /* of its own body, the first of which is `error`; at most PTX_MAX_ERRORS */
	struct diag *errors;
	uint32_t ninsts, nblocks, nvalues, nslots;
	struct ptx_inst *insts;
	struct ptx_block *blocks; /* [0] is the entry */
	struct ptx_value *values; /* [0] is the undefined value */
	struct ptx_slot *slots;
	uint32_t nlists;
	/* .branchtargets (blocks), .calltargets (functions), .callprototype (no items; what the callee takes) */
	struct ptx_list {
		uint32_t n;
		uint32_t *items;
		bool is_prototype, is_functions;
		uint32_t nparams, nrets;
		struct ptx_param *params, *rets;
	} *lists;
	uint64_t shared_bytes, local_bytes; /* static, of this function and what it calls (shared) */
	uint64_t call_param_bytes; /* frame for .param variables of the body (arguments and results of its calls) */
	/* Every static shared variable that this function or, for an entry, anything it may call uses, with its place in
	 * the block's shared memory; module-scope variables have no other place. Dynamic shared memory follows at
	 * shared_bytes, aligned to 16. */
	uint32_t nshared;
	struct ptx_shared_place { uint32_t symbol; uint64_t offset; } *shared;
	bool uses_dynamic_shared, calls_indirect;
	struct ptx_access *access; /* per parameter, by ptx_func_analyse; NULL before */
	struct ptx_store *stores;  /* instructions that may store through parameters, calls included; likewise */
	uint32_t nstores;
	bool writes_unknown;	   /* may store through a pointer that is not a parameter's */
	bool writes_module_vars;   /* may store to .global variables of the module (not counted in writes_unknown) */
	bool reads_unknown, reads_module_vars; /* likewise, loads; textures and surfaces count as unknown */
};

/* An instruction that may store through parameters. */
struct ptx_store {
	uint32_t inst, block;
	uint64_t params; /* bit k: parameter k; bit 55: all from there on */
};

/* What a kernel does with a parameter that is a pointer. */
struct ptx_access {
	bool is_pointer, is_read, is_written, is_atomic;
	uint8_t elem_type; /* enum ptx_type of the loads and stores (f32 preferred to b32); PTX_TYPE_NONE unknown. No pointer,
			    * and PTX_TEXREF, SAMPLERREF or SURFREF: the handle of such an object */
	uint8_t elem_bytes;
};

struct ptx_loc {
	uint32_t file, line, col;
	uint32_t inlined_at; /* index into locs, or PTX_NONE */
	const char *function; /* .loc function_name, or NULL */
};

struct ptx_module {
	struct arena arena;
	const char *name;	/* for messages: "matmul.ptx" */
	const char *text;	/* NUL-terminated copy */
	size_t text_bytes;
	uint16_t version;	/* 90 = ISA 9.0 */
	uint16_t target;	/* 80 = sm_80 */
	char target_suffix;	/* 'a', 'f' or 0 */
	bool map_f64_to_f32;	/* double precision stands for single: not executed */
	uint8_t address_size;	/* 32, 64 */
	bool debug;
	uint32_t nfuncs, nsymbols, nlocs, nfiles;
	struct ptx_func **funcs;
	struct ptx_symbol **symbols; /* module scope and, once built, function scope */
	struct ptx_loc *locs;
	const char **files;	/* by .file number; NULL gaps */
	uint32_t nerrors;	/* of parsing; also nerrors diags below */
	uint32_t nown_errors;	/* the first of them that ptx_module_parse found; the others are of bodies */
	struct diag *errors;
};

/* Parses directives and finds bodies. `name` is used in messages. Returns NULL only when memory ran out or nothing
 * could be made of the text (then *d says why); a module with nerrors > 0 is returned otherwise, with all it understood. */
struct ptx_module *ptx_module_parse(const char *text, size_t bytes, const char *name, struct diag *d);
void ptx_module_free(struct ptx_module *m);
/* Parses all bodies and adds their errors to m->errors, as far as there is room; returns m->nerrors. For callers that
 * want to know now what they would otherwise learn when a function is asked for. */
uint32_t ptx_module_check(struct ptx_module *m);
struct ptx_func *ptx_func_find(struct ptx_module *m, const char *name);
struct ptx_symbol *ptx_symbol_find(struct ptx_module *m, const char *name); /* module scope */

/* `ret` carries the values of register return parameters as sources. A body that runs off its end gets a `ret`; one whose
 * first instruction is a branch target gets a `bra` before it, so that the entry block has no predecessors.
 *
 * Parses, builds SSA, computes dominators and post-dominators and verifies. Returns 0, or a CUTRACE_E* with f->error set.
 * For an entry also builds all functions it may call; one that can't be built fails the entry, too.
 * Idempotent. Not thread-safe for one module: callers lock. */
int ptx_func_build(struct ptx_module *m, struct ptx_func *f);
/* Whether the instruction computes with doubles that stand for singles (ISA 11.1.2, map_f64_to_f32). Copies are copies. */
bool ptx_is_f64_as_f32(const struct ptx_module *m, const struct ptx_inst *i);
static inline bool ptx_has_open_param(const struct ptx_param *params, uint32_t n)
{
	return n && params[n - 1].is_open;
}

/* Fills f->access and f->writes_unknown. Builds first when needed. */
int ptx_func_analyse(struct ptx_module *m, struct ptx_func *f);
/* Checks the IR's invariants; 0, or the first violation in *d. Used in tests and after each builder run in debug builds. */
int ptx_func_verify(const struct ptx_module *m, const struct ptx_func *f, struct diag *d);
/* "matmul.cu:17" of an instruction, from .loc; returns false without one. */
bool ptx_inst_source(const struct ptx_module *m, const struct ptx_inst *i, char *buf, size_t bytes);
/* Copies PTX line `line` (from 1) without surrounding blanks; for reports. */
bool ptx_line_text(const struct ptx_module *m, uint32_t line, char *buf, size_t bytes);
/* One instruction or a whole function as text, for tests and debugging. Appends to a FILE. */
void ptx_func_dump(const struct ptx_module *m, const struct ptx_func *f, void *file);

#endif
