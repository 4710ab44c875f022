/* SPDX-License-Identifier: Apache-2.0
 *
 * insn: an instruction as it is executed. insn_parse turns a disassembler's line
 * into one, once; nothing is looked up while running.
 */
#ifndef CUTRACE_AMDGPU_INSN_H
#define CUTRACE_AMDGPU_INSN_H

#include <stdbool.h>
#include <stdint.h>

struct wave;
struct insn;

typedef void exec_fn(struct wave *w, const struct insn *in);

enum operand_kind {
	OPD_NONE,
	OPD_VGPR,
	OPD_SGPR, /* also vcc, exec, m0, ttmp: scalar register numbers of the ISA documents */
	OPD_IMM,
	OPD_NULL, /* reads 0, swallows writes: null, off */
	OPD_SCC,
	OPD_VCCZ,
	OPD_EXECZ,
	OPD_TEXT, /* a name: hwreg(...), sendmsg(...) */
};

/* Numbers of scalar registers that have names. */
enum {
	SREG_FLAT_SCRATCH = 102,
	SREG_VCC = 106,
	SREG_TTMP = 108,
	SREG_M0 = 124,
	SREG_EXEC = 126,
	SREG_COUNT = 128
};

/* SDWA selections, in the order of the ISA's encoding. */
enum { SEL_BYTE_0, SEL_BYTE_1, SEL_BYTE_2, SEL_BYTE_3, SEL_WORD_0, SEL_WORD_1, SEL_DWORD };
enum { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE };

struct operand {
	uint8_t kind, words;
	bool neg, abs, sext, high; /* high: the upper half of a register holds the 16-bit operand */
	uint8_t sel;
	bool adjust;   /* any of the above */
	bool is_float; /* the text had a decimal point */
	bool is_hex;   /* a literal, not an inline constant */
	uint16_t reg;
	uint64_t imm; /* after binding: the bits that the operand's type reads */
	double number;
};

/* Operand types of the op tables. T_F16 computes in float, T_F16D gives a double that is rounded once. */
enum type { T_NO, T_U32, T_I32, T_F32, T_U16, T_I16, T_F16, T_F16D, T_U64, T_I64, T_F64 };

static inline bool type_is_64(unsigned t)
{
	return t >= T_U64;
}

static inline bool type_is_16(unsigned t)
{
	return t >= T_U16 && t <= T_F16D;
}

/* What an op's row says besides its types. */
enum {
	OPF_FLOAT = 1,    /* float modes, omod and clamp apply */
	OPF_ACC = 2,      /* the destination is the last source too */
	OPF_CIN = 4,      /* a mask is read, vcc by default */
	OPF_COUT = 8,     /* a mask is written */
	OPF_APPROX = 16,  /* denormals of binary32 are flushed, MODE's rounding does not apply */
	OPF_KEEP16 = 32,  /* on gfx9 too the other half of the destination is kept */
	OPF_COMPARE = 64, /* the result is a mask */
	OPF_SIMM = 128,   /* 16-bit immediate, sign-extended */
	OPF_UIMM = 256,   /* 16-bit immediate, zero-extended */
	OPF_RAW = 512,    /* as OPF_FLOAT for modifiers, but denormals and signalling NaNs pass */
};

struct lanes;
typedef void lane_fn(struct lanes *x);

struct op {
	const char *name;
	uint8_t result, type[3];
	uint16_t flags;
	exec_fn *exec;
	lane_fn *lane;
};

enum memory_space {
	SPACE_GLOBAL,
	SPACE_FLAT,
	SPACE_SCRATCH,
	SPACE_BUFFER,
	SPACE_LDS,
	SPACE_SCALAR,
	SPACE_SCALAR_BUFFER
};
enum memory_action { ACTION_LOAD, ACTION_STORE, ACTION_ATOMIC };
enum memory_half { HALF_NONE, HALF_LOW, HALF_HIGH };

enum atomic_op {
	AT_SWAP,
	AT_CMPSWAP,
	AT_ADD,
	AT_SUB,
	AT_RSUB,
	AT_SMIN,
	AT_UMIN,
	AT_SMAX,
	AT_UMAX,
	AT_AND,
	AT_OR,
	AT_XOR,
	AT_INC,
	AT_DEC,
	AT_CSUB,
	AT_COND_SUB,
	AT_FADD,
	AT_FMIN,
	AT_FMAX,
	AT_FMIN_NUM, /* gfx12: numbers win over NaNs */
	AT_FMAX_NUM,
	AT_FCMPSWAP,
	AT_PK_ADD_F16,
	AT_PK_ADD_BF16,
	AT_MSKOR,
	AT_WRAP,
};

struct memory_op {
	uint8_t space, action, half, atomic;
	uint8_t bytes; /* of one element in memory */
	bool sign, returns, pair, stride64;
	bool comparand_first; /* ds_cmpst */
};

/* What waits.c must know of an instruction that completes later. Those of one kind, SCALAR apart, complete in order. */
enum issue_kind {
	ISSUE_DONE,
	ISSUE_MEMORY,
	ISSUE_LDS,
	ISSUE_FLAT,
	ISSUE_SCALAR,
	ISSUE_MESSAGE,
	ISSUE_WRITE_BACK
};
/* Counters that S_WAITCNT and its kin wait for: VM_CNT (LOADCNT), LGKM_CNT (DSCNT), and KMCNT, which gfx12 has apart. */
enum wait_counter { WAIT_LOAD, WAIT_LDS, WAIT_SCALAR, WAIT_COUNTERS };

enum dpp_kind { DPP_NONE, DPP_16, DPP_8 };

struct insn {
	exec_fn *exec;
	const struct op *op;
	struct insn *dual;          /* second half of a VOPD */
	uint8_t size, nsrc, packed; /* packed: 16 or 32 bits a half */
	struct operand dst, mask_out, mask_in, src[4];
	bool clamp, exec_too, sdwa, bound_ctrl, fetch_inactive;
	bool idxen, offen, dst_high, dst_keep;
	uint8_t omod, neg_lo, neg_hi, op_sel, op_sel_hi;
	uint8_t dpp, row_mask, bank_mask, dpp8[8], dst_sel, dst_unused;
	uint16_t dpp_ctrl;
	int32_t offset, offset1;
	struct memory_op mem;
	uint8_t issue, wait[WAIT_COUNTERS]; /* wait: 1 + how many may be outstanding; 0: does not wait */
	bool crosses, reads_vcc;            /* reads registers of other lanes; VCC without naming it */
	char *text;
};

/* Parses a line for a target generation. Never fails: what is not understood gets exec_unknown. NULL: no memory. */
struct insn *insn_parse(unsigned gfx, const char *text, unsigned size);
void insn_free(struct insn *in);

/* The op tables: table.c gathers the rows of valu.def and scalar.def, and the list of control.c. */
const struct op *op_find(const char *name);
exec_fn exec_unknown, exec_nop, exec_memory, exec_scalar_load;

#endif
