/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating point, PTX ISA 9.7.3, 9.7.4. LLVM's operations round to nearest even; without fast-math flags, division and
 * square root are rounded correctly by AMD's back end. Nothing is contracted: what PTX writes as two operations stays two.
 */
#include "ptx/lower/writer.h"

#define F32_64 (BIT(F32) | BIT(F64))
#define FLOATS (F32_64 | BIT(F16) | BIT(F16X2))
#define ODD    (PTX_F_RELU | PTX_F_OOB | PTX_F_XORSIGN_ABS)

/* .rz, .rm, .rp of f32; -b also of a NaN is one */
static const struct rule directed[] = {
	{PTX_OP_ADD, BIT(F32), 0, 0, "tt", 't', "$r = call float @ct_add_f32(float $a, float $b, i32 $o)"},
};

static const struct rule rules[] = {
	{PTX_OP_ADD, FLOATS, 0, ODD, "tt", 't', "$r = fadd $T $a, $b"},
	{PTX_OP_SUB, FLOATS, 0, ODD, "tt", 't', "$r = fsub $T $a, $b"},
	{PTX_OP_MUL, FLOATS, 0, ODD, "tt", 't', "$r = fmul $T $a, $b"},
	{PTX_OP_FMA, FLOATS, 0, ODD, "ttt", 't', "$r = call $T @llvm.fma.$t($T $a, $T $b, $T $c)"},
	{PTX_OP_MAD, F32_64, 0, ODD, "ttt", 't', "$r = call $T @llvm.fma.$t($T $a, $T $b, $T $c)"},
	{PTX_OP_DIV, F32_64, 0, PTX_F_APPROX | PTX_F_FULL, "tt", 't', "$r = fdiv $T $a, $b"},
	{PTX_OP_RCP, F32_64, 0, PTX_F_APPROX, "t", 't', "$r = fdiv $T 1.0, $a"},
	{PTX_OP_SQRT, F32_64, 0, PTX_F_APPROX, "t", 't', "$r = call $T @llvm.sqrt.$t($T $a)"},
	{PTX_OP_ABS, FLOATS, 0, 0, "t", 't', "$r = call $T @llvm.fabs.$t($T $a)"},
	{PTX_OP_NEG, FLOATS, 0, 0, "t", 't', "$r = fneg $T $a"},
	/* the number when the other is a NaN; -0 below +0 */
	{PTX_OP_MIN, F32_64 | BIT(F16), 0, ODD | PTX_F_NAN, "tt", 't',
	 "$r = call $T @llvm.minnum.$t($T $a, $T $b)"},
	{PTX_OP_MAX, F32_64 | BIT(F16), 0, ODD | PTX_F_NAN, "tt", 't',
	 "$r = call $T @llvm.maxnum.$t($T $a, $T $b)"},
	{PTX_OP_MIN, BIT(F32), PTX_F_NAN, ODD, "tt", 't', "$r = call $T @llvm.minimum.$t($T $a, $T $b)"},
	{PTX_OP_MAX, BIT(F32), PTX_F_NAN, ODD, "tt", 't', "$r = call $T @llvm.maximum.$t($T $a, $T $b)"},
	{PTX_OP_COPYSIGN, F32_64, 0, 0, "tt", 't', "$r = call $T @llvm.copysign.$t($T $b, $T $a)"},
};

/* Classes of LLVM's is.fpclass. */
static unsigned class_mask(enum ptx_sub sub)
{
	switch (sub) {
	case PTX_SUB_FINITE: return 0x1f8;
	case PTX_SUB_INFINITE: return 0x204;
	case PTX_SUB_NUMBER: return 0x3fc;
	case PTX_SUB_NOTANUMBER: return 0x003;
	case PTX_SUB_NORMAL: return 0x108;
	default: return 0x090;
	}
}

/* On bits: whatever the mode, a subnormal is one. */
static bool lower_testp(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir v = read_typed(l, &i->src[0], i->type);
	struct ir r = ir_op(l, "call i1 @llvm.is.fpclass.%s(%s %s, i32 %u)", ir_suffix(i->type),
			    ir_type(i->type), v.s, class_mask(i->sub));

	write_bits(l, &i->dst[0], r, 1, false);
	return true;
}

bool lower_float(struct lower *l)
{
	const struct ptx_inst *i = l->i;

	if (i->op == PTX_OP_TESTP)
		return lower_testp(l);
	if (!ptx_type_is_float(i->type))
		return false;
	if (i->rnd != PTX_RND_NONE && i->rnd != PTX_RN &&
	    lower_by_rule(l, directed, sizeof(directed) / sizeof(directed[0])))
		return true;
	if (i->rnd != PTX_RND_NONE && i->rnd != PTX_RN)
		return i->op == PTX_OP_CVT ? false : lower_refuse(l, "rounding other than to nearest even");
	if (i->type2 && i->type2 != i->type &&
	    (i->op == PTX_OP_ADD || i->op == PTX_OP_SUB || i->op == PTX_OP_FMA))
		return lower_refuse(l, "operands of two types");
	if (i->flags & PTX_F_FTZ && i->type != PTX_F32)
		return i->op == PTX_OP_CVT || i->op == PTX_OP_SET
			       ? false
			       : lower_refuse(l, ".ftz of .%s", ptx_type_name(i->type));
	if (i->flags & PTX_F_SAT && (i->type == PTX_F16X2))
		return lower_refuse(l, ".sat of .f16x2");
	return lower_by_rule(l, rules, sizeof(rules) / sizeof(rules[0]));
}
