/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/targets: which target an opcode needs ("Target ISA Notes" of each instruction, ISA chapter 9.7): rows for
 * operations by the beginning of their name, for types, and for a few modifiers. */
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
	{"nanosleep", SM(70)},
	{"red.async", SM(90)},
	{"redux", SM(80)},
	{"setmaxnreg", SPECIFIC},
	{"shf", SM(32)},
	{"st.async", SM(90)},
	{"st.bulk", SM(100)},
	{"stmatrix", SM(90)},
	{"szext", SM(70)},
	{"tanh", SM(75)},
	{"tcgen05", TENSOR},
	{"tensormap.cp_fenceproxy", SM(90)},
	{"tensormap.replace", SPECIFIC},
	{"wgmma", SM_90A},
	{"wmma", SM(70)},
};

/* Operations that got a type later than themselves. */
static const struct {
	uint16_t op;
	uint8_t type;
	struct requirement needs;
} types[] = {
	{PTX_OP_ADD, PTX_F32X2, SM(100)}, {PTX_OP_SUB, PTX_F32X2, SM(100)}, {PTX_OP_MUL, PTX_F32X2, SM(100)},
	{PTX_OP_FMA, PTX_F32X2, SM(100)}, {PTX_OP_ADD, PTX_BF16, SM(90)},   {PTX_OP_SUB, PTX_BF16, SM(90)},
	{PTX_OP_MUL, PTX_BF16, SM(90)},   {PTX_OP_FMA, PTX_BF16, SM(80)},   {PTX_OP_ADD, PTX_BF16X2, SM(90)},
	{PTX_OP_SUB, PTX_BF16X2, SM(90)}, {PTX_OP_MUL, PTX_BF16X2, SM(90)}, {PTX_OP_FMA, PTX_BF16X2, SM(80)},
	{PTX_OP_ADD, PTX_U16X2, SM(90)},  {PTX_OP_ADD, PTX_S16X2, SM(90)},  {PTX_OP_MIN, PTX_U16X2, SM(90)},
	{PTX_OP_MIN, PTX_S16X2, SM(90)},  {PTX_OP_MAX, PTX_U16X2, SM(90)},  {PTX_OP_MAX, PTX_S16X2, SM(90)},
	{PTX_OP_CVT, PTX_BF16, SM(80)},   {PTX_OP_CVT, PTX_BF16X2, SM(80)}, {PTX_OP_CVT, PTX_TF32, SM(80)},
	{PTX_OP_CVT, PTX_E4M3X2, SM(89)}, {PTX_OP_CVT, PTX_E5M2X2, SM(89)}, {PTX_OP_REDUX, PTX_F32, SM(100)},
	{PTX_OP_ATOM, PTX_B128, SM(90)},  {PTX_OP_ATOM, PTX_BF16, SM(90)},  {PTX_OP_ATOM, PTX_BF16X2, SM(90)},
	{PTX_OP_MMA, PTX_E4M3, SM(89)},   {PTX_OP_MMA, PTX_E5M2, SM(89)},
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

static const struct requirement *of_type(const struct ptx_inst *i)
{
	for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++)
		if (types[k].op == i->op && (types[k].type == i->type || types[k].type == i->type2))
			return &types[k].needs;
	return NULL;
}

/* Modifiers that came late, whatever the operation. */
static const struct requirement *of_modifiers(const struct ptx_inst *i)
{
	static const struct requirement cluster = SM(90), wide = SM(100);
	static const struct requirement scaled = {120, BLOCKS, "sm_120a or sm_121a"};
	bool is_access = i->op == PTX_OP_LD || i->op == PTX_OP_ST;
	if ((i->op == PTX_OP_MMA || i->op == PTX_OP_MMA_SP_ORDERED_METADATA) && strstr(i->mods, ".kind::"))
		return &scaled;
	if (is_access && i->vec == 8)
		return &wide;
	if (i->space == PTX_SPACE_SHARED_CLUSTER || i->space2 == PTX_SPACE_SHARED_CLUSTER ||
	    i->scope == PTX_SCOPE_CLUSTER)
		return &cluster;
	return NULL;
}

bool ptx_target_fits(const struct ptx_inst *i, unsigned sm, char suffix, char *detail, size_t detail_bytes)
{
	const struct requirement *needs[] = {of_operation(ptx_op_name(i->op)), of_type(i), of_modifiers(i)};
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
