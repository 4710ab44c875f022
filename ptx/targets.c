/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/targets: which target an opcode needs ("Target ISA Notes" of each instruction, ISA chapter 9.7): rows for
 * operations by the beginning of their name, for forms with a type or modifier, and for a few modifiers anywhere. */
#include <stdio.h>
#include <string.h>

#include "ptx/op_table.h"

/* How a target answers a requirement. */
enum target_kind {
	AT_LEAST, /* this one and all later ones */
	EXACT,    /* sm_90a: this architecture's own feature */
	FAMILIES, /* sm_100a, or the f of one of the families that have tensor memory (ISA 11.1.2) */
	BLOCKS,   /* sm_120a, sm_121a and their family: block-scaled mma.sync */
	EITHER,   /* sm_90a and everything from sm_100a on */
};
struct requirement {
	uint16_t sm;
	uint8_t kind;
	const char *text;
};

#define SM(n)                                     \
	{                                         \
		n, AT_LEAST, "sm_" #n " or later" \
	}
#define SM_90A                      \
	{                           \
		90, EXACT, "sm_90a" \
	}
#define TENSOR                                               \
	{                                                    \
		100, FAMILIES, "sm_100a, sm_103a or sm_110a" \
	}
#define SPECIFIC                                                                   \
	{                                                                          \
		90, EITHER, "sm_90a, sm_100a or a later architecture-specific one" \
	}

/* The longest name that leads the operation's counts. */
static const struct {
	const char *name;
	struct requirement needs;
} operations[] = {
	{"activemask", SM(30)},
	{"alloca", SM(52)},
	{"applypriority", SM(80)},
	{"bar.warp.sync", SM(30)},
	{"barrier", SM(30)},
	{"barrier.cluster", SM(90)},
	{"bmsk", SM(70)},
	{"brx.idx", SM(20)},
	{"clusterlaunchcontrol", SM(100)},
	{"cp.async", SM(80)},
	{"cp.async.bulk", SM(90)},
	{"cp.reduce.async", SM(90)},
	{"createpolicy", SM(80)},
	{"cvt.pack", SM(72)},
	{"discard", SM(80)},
	{"dp2a", SM(61)},
	{"dp4a", SM(61)},
	{"elect", SM(90)},
	{"fence", SM(70)},
	{"fns", SM(30)},
	{"getctarank", SM(90)},
	{"griddepcontrol", SM(90)},
	{"ldmatrix", SM(75)},
	{"lop3", SM(50)},
	{"mapa", SM(90)},
	{"match", SM(70)},
	{"mbarrier", SM(80)},
	{"mbarrier.complete_tx", SM(90)},
	{"mbarrier.expect_tx", SM(90)},
	{"mbarrier.try_wait", SM(90)},
	{"mma", SM(70)},
	{"mma.sp", SM(80)},
	{"movmatrix", SM(75)},
	{"multimem", SM(90)},
	{"multimem.cp", SM(100)},
	{"nanosleep", SM(70)},
	{"red.async", SM(90)},
	{"redux", SM(80)},
	{"setmaxnreg", SPECIFIC},
	{"shf", SM(32)},
	{"st.async", SM(90)},
	{"st.bulk", SM(100)},
	{"stackrestore", SM(52)},
	{"stacksave", SM(52)},
	{"stmatrix", SM(90)},
	{"szext", SM(70)},
	{"tanh", SM(75)},
	{"tcgen05", TENSOR},
	{"tensormap.cp_fenceproxy", SM(90)},
	{"tensormap.replace", SPECIFIC},
	{"wgmma", SM_90A},
	{"wmma", SM(70)},
};

/* Forms that came later than their operations. Each that fits counts; what a row leaves out fits everything. */
static const struct form {
	uint16_t op;
	uint8_t type;         /* one of the instruction's two */
	uint32_t flags;       /* all of these */
	const char *modifier; /* part of the opcode */
	struct requirement needs;
} forms[] = {
	/* 9.7.1, 9.7.3 to 9.7.5: arithmetic */
	{PTX_OP_ADD, .type = PTX_F16, .needs = SM(53)},
	{PTX_OP_ADD, .type = PTX_F16X2, .needs = SM(53)},
	{PTX_OP_ADD, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_ADD, .type = PTX_BF16X2, .needs = SM(90)},
	{PTX_OP_ADD, .type = PTX_F32X2, .needs = SM(100)},
	{PTX_OP_ADD, .modifier = ".f32.f16", .needs = SM(100)},
	{PTX_OP_ADD, .modifier = ".f32.bf16", .needs = SM(100)},
	{PTX_OP_SUB, .type = PTX_F16, .needs = SM(53)},
	{PTX_OP_SUB, .type = PTX_F16X2, .needs = SM(53)},
	{PTX_OP_SUB, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_SUB, .type = PTX_BF16X2, .needs = SM(90)},
	{PTX_OP_SUB, .type = PTX_F32X2, .needs = SM(100)},
	{PTX_OP_SUB, .modifier = ".f32.f16", .needs = SM(100)},
	{PTX_OP_SUB, .modifier = ".f32.bf16", .needs = SM(100)},
	{PTX_OP_MUL, .type = PTX_F16, .needs = SM(53)},
	{PTX_OP_MUL, .type = PTX_F16X2, .needs = SM(53)},
	{PTX_OP_MUL, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_MUL, .type = PTX_BF16X2, .needs = SM(90)},
	{PTX_OP_MUL, .type = PTX_F32X2, .needs = SM(100)},
	{PTX_OP_FMA, .type = PTX_F16, .needs = SM(53)},
	{PTX_OP_FMA, .type = PTX_F16, .flags = PTX_F_RELU, .needs = SM(80)},
	{PTX_OP_FMA, .type = PTX_F16, .flags = PTX_F_OOB, .needs = SM(90)},
	{PTX_OP_FMA, .type = PTX_F16X2, .needs = SM(53)},
	{PTX_OP_FMA, .type = PTX_F16X2, .flags = PTX_F_RELU, .needs = SM(80)},
	{PTX_OP_FMA, .type = PTX_F16X2, .flags = PTX_F_OOB, .needs = SM(90)},
	{PTX_OP_FMA, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_FMA, .type = PTX_BF16, .flags = PTX_F_OOB, .needs = SM(90)},
	{PTX_OP_FMA, .type = PTX_BF16X2, .needs = SM(80)},
	{PTX_OP_FMA, .type = PTX_BF16X2, .flags = PTX_F_OOB, .needs = SM(90)},
	{PTX_OP_FMA, .type = PTX_F32X2, .needs = SM(100)},
	{PTX_OP_FMA, .modifier = ".f32.f16", .needs = SM(100)},
	{PTX_OP_FMA, .modifier = ".f32.bf16", .needs = SM(100)},
	{PTX_OP_NEG, .type = PTX_F16, .needs = SM(53)},
	{PTX_OP_NEG, .type = PTX_F16X2, .needs = SM(53)},
	{PTX_OP_NEG, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_NEG, .type = PTX_BF16X2, .needs = SM(80)},
	{PTX_OP_ABS, .type = PTX_F16, .needs = SM(53)},
	{PTX_OP_ABS, .type = PTX_F16X2, .needs = SM(53)},
	{PTX_OP_ABS, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_ABS, .type = PTX_BF16X2, .needs = SM(80)},
	{PTX_OP_ADD, .type = PTX_U16X2, .needs = SM(90)},
	{PTX_OP_ADD, .type = PTX_S16X2, .needs = SM(90)},
	{PTX_OP_MIN, .type = PTX_U16X2, .needs = SM(90)},
	{PTX_OP_MIN, .type = PTX_S16X2, .needs = SM(90)},
	{PTX_OP_MIN, .type = PTX_S32, .flags = PTX_F_RELU, .needs = SM(90)},
	{PTX_OP_MIN, .type = PTX_F16, .needs = SM(80)},
	{PTX_OP_MIN, .type = PTX_F16X2, .needs = SM(80)},
	{PTX_OP_MIN, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_MIN, .type = PTX_BF16X2, .needs = SM(80)},
	{PTX_OP_MIN, .flags = PTX_F_NAN, .needs = SM(80)},
	{PTX_OP_MIN, .flags = PTX_F_XORSIGN_ABS, .needs = SM(86)},
	{PTX_OP_MAX, .type = PTX_U16X2, .needs = SM(90)},
	{PTX_OP_MAX, .type = PTX_S16X2, .needs = SM(90)},
	{PTX_OP_MAX, .type = PTX_S32, .flags = PTX_F_RELU, .needs = SM(90)},
	{PTX_OP_MAX, .type = PTX_F16, .needs = SM(80)},
	{PTX_OP_MAX, .type = PTX_F16X2, .needs = SM(80)},
	{PTX_OP_MAX, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_MAX, .type = PTX_BF16X2, .needs = SM(80)},
	{PTX_OP_MAX, .flags = PTX_F_NAN, .needs = SM(80)},
	{PTX_OP_MAX, .flags = PTX_F_XORSIGN_ABS, .needs = SM(86)},
	{PTX_OP_TANH, .type = PTX_F16, .needs = SM(75)},
	{PTX_OP_TANH, .type = PTX_F16X2, .needs = SM(75)},
	{PTX_OP_TANH, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_TANH, .type = PTX_BF16X2, .needs = SM(90)},
	{PTX_OP_EX2, .type = PTX_F16, .needs = SM(75)},
	{PTX_OP_EX2, .type = PTX_F16X2, .needs = SM(75)},
	{PTX_OP_EX2, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_EX2, .type = PTX_BF16X2, .needs = SM(90)},
	{PTX_OP_SET, .type = PTX_F16, .needs = SM(53)},
	{PTX_OP_SET, .type = PTX_F16X2, .needs = SM(53)},
	{PTX_OP_SET, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_SET, .type = PTX_BF16X2, .needs = SM(90)},
	{PTX_OP_SETP, .type = PTX_F16, .needs = SM(53)},
	{PTX_OP_SETP, .type = PTX_F16X2, .needs = SM(53)},
	{PTX_OP_SETP, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_SETP, .type = PTX_BF16X2, .needs = SM(90)},
	/* 9.7.8, 9.7.9: logic, data */
	{PTX_OP_LOP3, .modifier = ".or", .needs = SM(70)},
	{PTX_OP_LOP3, .modifier = ".and", .needs = SM(70)},
	{PTX_OP_CVT, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_CVT, .type = PTX_BF16X2, .needs = SM(80)},
	{PTX_OP_CVT, .type = PTX_TF32, .needs = SM(80)},
	{PTX_OP_CVT, .type = PTX_TF32, .modifier = ".rn", .needs = SM(90)},
	{PTX_OP_CVT, .type = PTX_TF32, .modifier = ".rz", .needs = SM(90)},
	{PTX_OP_CVT, .modifier = ".f16x2.f32", .needs = SM(80)},
	{PTX_OP_PREFETCH, .modifier = ".L2::evict_last", .needs = SM(80)},
	{PTX_OP_PREFETCH, .modifier = ".L2::evict_normal", .needs = SM(80)},
	{PTX_OP_PREFETCH, .modifier = ".tensormap", .needs = SM(90)},
	{PTX_OP_CVT, .type = PTX_E4M3X2, .needs = SM(89)},
	{PTX_OP_CVT, .type = PTX_E5M2X2, .needs = SM(89)},
	{PTX_OP_CVT, .flags = PTX_F_RELU, .needs = SM(80)},
	{PTX_OP_LD, .type = PTX_B128, .needs = SM(70)},
	{PTX_OP_LD, .modifier = ".relaxed", .needs = SM(70)},
	{PTX_OP_LD, .modifier = ".weak", .needs = SM(70)},
	{PTX_OP_LD, .modifier = ".mmio", .needs = SM(70)},
	{PTX_OP_ST, .type = PTX_B128, .needs = SM(70)},
	{PTX_OP_ST, .modifier = ".relaxed", .needs = SM(70)},
	{PTX_OP_ST, .modifier = ".weak", .needs = SM(70)},
	{PTX_OP_ST, .modifier = ".mmio", .needs = SM(70)},
	{PTX_OP_LD, .modifier = ".acquire", .needs = SM(70)},
	{PTX_OP_ST, .modifier = ".release", .needs = SM(70)},
	{PTX_OP_LD, .modifier = ".L1::", .needs = SM(70)},
	{PTX_OP_ST, .modifier = ".L1::", .needs = SM(70)},
	{PTX_OP_LD, .modifier = ".L2::64B", .needs = SM(75)},
	{PTX_OP_LD, .modifier = ".L2::128B", .needs = SM(75)},
	{PTX_OP_LD, .modifier = ".L2::256B", .needs = SM(80)},
	{PTX_OP_LD, .flags = PTX_F_UNIFIED, .needs = SM(90)},
	{PTX_OP_LD, .flags = PTX_F_CACHE_HINT, .needs = SM(80)},
	{PTX_OP_ST, .flags = PTX_F_CACHE_HINT, .needs = SM(80)},
	{PTX_OP_ATOM, .flags = PTX_F_CACHE_HINT, .needs = SM(80)},
	{PTX_OP_RED, .flags = PTX_F_CACHE_HINT, .needs = SM(80)},
	/* 9.7.13: atomics, reductions over a warp */
	{PTX_OP_ATOM, .type = PTX_F64, .needs = SM(60)},
	{PTX_OP_ATOM, .type = PTX_F16X2, .needs = SM(60)},
	{PTX_OP_ATOM, .type = PTX_F16, .needs = SM(70)},
	{PTX_OP_ATOM, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_ATOM, .type = PTX_BF16X2, .needs = SM(90)},
	{PTX_OP_ATOM, .modifier = ".cta", .needs = SM(60)},
	{PTX_OP_ATOM, .modifier = ".gpu", .needs = SM(60)},
	{PTX_OP_ATOM, .modifier = ".sys", .needs = SM(60)},
	{PTX_OP_ATOM, .modifier = ".relaxed", .needs = SM(70)},
	{PTX_OP_ATOM, .modifier = ".acquire", .needs = SM(70)},
	{PTX_OP_ATOM, .modifier = ".release", .needs = SM(70)},
	{PTX_OP_ATOM, .modifier = ".acq_rel", .needs = SM(70)},
	{PTX_OP_ATOM, .modifier = ".v2", .needs = SM(90)},
	{PTX_OP_ATOM, .modifier = ".v4", .needs = SM(90)},
	{PTX_OP_ATOM, .modifier = ".v8", .needs = SM(90)},
	{PTX_OP_RED, .type = PTX_F64, .needs = SM(60)},
	{PTX_OP_RED, .type = PTX_F16X2, .needs = SM(60)},
	{PTX_OP_RED, .type = PTX_F16, .needs = SM(70)},
	{PTX_OP_RED, .type = PTX_BF16, .needs = SM(90)},
	{PTX_OP_RED, .type = PTX_BF16X2, .needs = SM(90)},
	{PTX_OP_RED, .modifier = ".cta", .needs = SM(60)},
	{PTX_OP_RED, .modifier = ".gpu", .needs = SM(60)},
	{PTX_OP_RED, .modifier = ".sys", .needs = SM(60)},
	{PTX_OP_RED, .modifier = ".relaxed", .needs = SM(70)},
	{PTX_OP_RED, .modifier = ".release", .needs = SM(70)},
	{PTX_OP_RED, .modifier = ".v2", .needs = SM(90)},
	{PTX_OP_RED, .modifier = ".v4", .needs = SM(90)},
	{PTX_OP_RED, .modifier = ".v8", .needs = SM(90)},
	{PTX_OP_ATOM, .type = PTX_B16, .needs = SM(70)},
	{PTX_OP_ATOM, .type = PTX_B128, .needs = SM(90)},
	{PTX_OP_REDUX, .type = PTX_F32, .needs = SM(100)},
	{PTX_OP_FENCE, .modifier = ".mbarrier_init", .needs = SM(90)},
	{PTX_OP_MEMBAR, .modifier = ".proxy", .needs = SM(60)},
	{PTX_OP_MBARRIER_ARRIVE, .modifier = ".expect_tx", .needs = SM(90)},
	{PTX_OP_MBARRIER_ARRIVE, .modifier = ".relaxed", .needs = SM(90)},
	{PTX_OP_MBARRIER_ARRIVE_DROP, .modifier = ".expect_tx", .needs = SM(90)},
	{PTX_OP_MBARRIER_ARRIVE_DROP, .modifier = ".relaxed", .needs = SM(90)},
	{PTX_OP_MBARRIER_TEST_WAIT, .modifier = ".relaxed", .needs = SM(90)},
	{PTX_OP_FENCE_PROXY, .modifier = ".async", .needs = SM(90)},
	{PTX_OP_FENCE_PROXY, .modifier = ".tensormap:", .needs = SM(90)},
	{PTX_OP_ST_ASYNC, .modifier = ".release", .needs = SM(100)},
	{PTX_OP_RED_ASYNC, .modifier = ".release", .needs = SM(100)},
	/* 9.7.14: matrices */
	{PTX_OP_WMMA_LOAD, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_WMMA_LOAD, .type = PTX_TF32, .needs = SM(80)},
	{PTX_OP_WMMA_LOAD, .type = PTX_F64, .needs = SM(80)},
	{PTX_OP_WMMA_MMA, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_WMMA_MMA, .type = PTX_TF32, .needs = SM(80)},
	{PTX_OP_WMMA_MMA, .type = PTX_F64, .needs = SM(80)},
	{PTX_OP_WMMA_STORE, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_WMMA_STORE, .type = PTX_TF32, .needs = SM(80)},
	{PTX_OP_WMMA_STORE, .type = PTX_F64, .needs = SM(80)},
	{PTX_OP_WMMA_LOAD, .type = PTX_S8, .needs = SM(72)},
	{PTX_OP_WMMA_LOAD, .type = PTX_U8, .needs = SM(72)},
	{PTX_OP_WMMA_LOAD, .type = PTX_S4, .needs = SM(75)},
	{PTX_OP_WMMA_LOAD, .type = PTX_U4, .needs = SM(75)},
	{PTX_OP_WMMA_LOAD, .type = PTX_B1, .needs = SM(75)},
	{PTX_OP_WMMA_MMA, .type = PTX_S8, .needs = SM(72)},
	{PTX_OP_WMMA_MMA, .type = PTX_U8, .needs = SM(72)},
	{PTX_OP_WMMA_MMA, .type = PTX_S4, .needs = SM(75)},
	{PTX_OP_WMMA_MMA, .type = PTX_U4, .needs = SM(75)},
	{PTX_OP_WMMA_MMA, .type = PTX_B1, .needs = SM(75)},
	{PTX_OP_MMA, .type = PTX_BF16, .needs = SM(80)},
	{PTX_OP_MMA, .modifier = ".and.popc", .needs = SM(80)},
	{PTX_OP_WMMA_MMA, .modifier = ".and.popc", .needs = SM(80)},
	{PTX_OP_WMMA_LOAD, .modifier = ".m16n16k8", .needs = SM(80)},
	{PTX_OP_WMMA_STORE, .modifier = ".m16n16k8", .needs = SM(80)},
	{PTX_OP_MMA, .type = PTX_TF32, .needs = SM(80)},
	{PTX_OP_MMA, .type = PTX_F64, .needs = SM(80)},
	{PTX_OP_MMA, .type = PTX_F64, .modifier = ".m16n8k4.", .needs = SM(90)},
	{PTX_OP_MMA, .type = PTX_F64, .modifier = ".m16n8k8.", .needs = SM(90)},
	{PTX_OP_MMA, .type = PTX_F64, .modifier = ".m16n8k16.", .needs = SM(90)},
	{PTX_OP_MMA, .modifier = ".m16n8k8.", .needs = SM(75)},
	{PTX_OP_MMA, .modifier = ".m8n8k16.", .needs = SM(75)},
	{PTX_OP_MMA, .modifier = ".m8n8k32.", .needs = SM(75)},
	{PTX_OP_MMA, .modifier = ".m8n8k128.", .needs = SM(75)},
	{PTX_OP_MMA, .modifier = ".m16n8k16.", .needs = SM(80)},
	{PTX_OP_MMA, .modifier = ".m16n8k32.", .needs = SM(80)},
	{PTX_OP_MMA, .modifier = ".m16n8k64.", .needs = SM(80)},
	{PTX_OP_MMA, .modifier = ".m16n8k128.", .needs = SM(80)},
	{PTX_OP_MMA, .modifier = ".m16n8k256.", .needs = SM(80)},
	{PTX_OP_MMA, .type = PTX_E4M3, .needs = SM(89)},
	{PTX_OP_MMA_SP, .type = PTX_E4M3, .needs = SM(89)},
	{PTX_OP_MMA_SP_ORDERED_METADATA, .type = PTX_E4M3, .needs = SM(89)},
	{PTX_OP_MMA, .type = PTX_E5M2, .needs = SM(89)},
	{PTX_OP_MMA_SP, .type = PTX_E5M2, .needs = SM(89)},
	{PTX_OP_MMA_SP_ORDERED_METADATA, .type = PTX_E5M2, .needs = SM(89)},
	{PTX_OP_LDMATRIX, .type = PTX_B8, .needs = SM(100)},
	{PTX_OP_STMATRIX, .type = PTX_B8, .needs = SM(100)},
};

static bool satisfies(const struct requirement *r, unsigned sm, char suffix)
{
	switch ((enum target_kind)r->kind) {
	case AT_LEAST: return sm >= r->sm;
	case EXACT: return sm == r->sm && suffix == 'a';
	case FAMILIES: return sm >= 100 && sm < 120 && suffix;
	case BLOCKS: return sm >= 120 && suffix;
	case EITHER: return sm >= r->sm && suffix;
	}
	return false;
}

static const struct requirement *of_operation(const char *name)
{
	const struct requirement *best = NULL;
	size_t longest = 0;
	for (size_t k = 0; k < sizeof(operations) / sizeof(operations[0]); k++) {
		size_t n = strlen(operations[k].name);
		if (n <= longest || strncmp(operations[k].name, name, n) != 0 ||
		    (name[n] && name[n] != '.' && name[n] != ':'))
			continue;
		best = &operations[k].needs;
		longest = n;
	}
	return best;
}

/* A modifier of its own, or the beginning of one that has parts: ".L1::", ".m16n8k8." */
static bool has_modifier(const char *opcode, const char *modifier)
{
	size_t n = strlen(modifier);
	for (const char *p = strstr(opcode, modifier); p; p = strstr(p + 1, modifier))
		if (modifier[n - 1] == '.' || modifier[n - 1] == ':' || p[n] == '.' || p[n] == ':' || !p[n])
			return true;
	return false;
}

static bool is_form(const struct form *f, const struct ptx_inst *i)
{
	return f->op == i->op && (!f->type || f->type == i->type || f->type == i->type2) &&
	       (i->flags & f->flags) == f->flags && (!f->modifier || has_modifier(i->mods, f->modifier));
}

/* What the form needs that the target hasn't. */
static const struct requirement *of_form(const struct ptx_inst *i, unsigned sm, char suffix)
{
	for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++)
		if (is_form(&forms[k], i) && !satisfies(&forms[k].needs, sm, suffix))
			return &forms[k].needs;
	return NULL;
}

/* cvt between bf16 and anything but f32. */
static bool is_narrow_bf16(const struct ptx_inst *i)
{
	uint8_t other = i->type == PTX_BF16 ? i->type2 : i->type;
	return i->op == PTX_OP_CVT && (i->type == PTX_BF16 || i->type2 == PTX_BF16) && other != PTX_F32;
}

/* Modifiers that came late, whatever the operation. */
static const struct requirement *of_modifiers(const struct ptx_inst *i)
{
	static const struct requirement sm_90 = SM(90), wide = SM(100);
	static const struct requirement scaled = {120, BLOCKS, "sm_120a or sm_121a"};
	bool is_access = i->op == PTX_OP_LD || i->op == PTX_OP_ST;
	if ((i->op == PTX_OP_MMA || i->op == PTX_OP_MMA_SP_ORDERED_METADATA) && strstr(i->mods, ".kind::"))
		return &scaled;
	if (is_access && i->vec * ptx_type_bits(i->type) > 128)
		return &wide;
	if (is_narrow_bf16(i))
		return &sm_90;
	if (i->space == PTX_SPACE_SHARED_CLUSTER || i->space2 == PTX_SPACE_SHARED_CLUSTER ||
	    i->scope == PTX_SCOPE_CLUSTER)
		return &sm_90;
	return NULL;
}

bool ptx_target_fits(const struct ptx_inst *i, unsigned sm, char suffix, char *detail, size_t detail_bytes)
{
	const struct requirement *needs[] = {of_operation(ptx_op_name(i->op)), of_form(i, sm, suffix),
					     of_modifiers(i)};
	for (size_t k = 0; k < sizeof(needs) / sizeof(needs[0]); k++) {
		if (!needs[k] || satisfies(needs[k], sm, suffix))
			continue;
		/* What asks for it: the operation's name alone, or the whole opcode. */
		snprintf(detail, detail_bytes, "%s needs target %s; this module targets sm_%u%.1s",
			 k ? i->mods : ptx_op_name(i->op), needs[k]->text, sm, suffix ? &suffix : "");
		return false;
	}
	return true;
}

bool ptx_is_f64_as_f32(const struct ptx_module *m, const struct ptx_inst *i)
{
	return m->map_f64_to_f32 && (i->type == PTX_F64 || i->type2 == PTX_F64) && i->op != PTX_OP_LD &&
	       i->op != PTX_OP_ST && i->op != PTX_OP_MOV && i->op != PTX_OP_SELP;
}
