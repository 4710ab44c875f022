/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating point, PTX ISA 9.7.3, 9.7.4, 9.7.5. LLVM's operations round to nearest even; without fast-math flags, division
 * and square root are rounded correctly by AMD's back end, but for some quotients of f64. What PTX writes as two operations stays two, but where it allows
 * fusing and the options ask for it. Other roundings and the fma of bf16 are in the device library.
 */
#include "ptx/lower/writer.h"

#define F32_64   (BIT(F32) | BIT(F64))
#define HALVES   (BIT(F16) | BIT(F16X2))
#define FLOATS   (F32_64 | HALVES | BIT(F32X2))
#define BFLOATS  (BIT(BF16) | BIT(BF16X2))
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* From $1: 0 unless it is above 0; a NaN becomes the canonical one. */
#define RELU                                                                                     \
	"$2 = fcmp ogt $T $1, 0.0\n$3 = select i1 $2, $T $1, $T 0.0\n$4 = fcmp uno $T $1, 0.0\n" \
	"$r = select i1 $4, $T $q, $T $3"
/* From $1: 0 when a source is the NaN that copies of tensors put outside of them. */
#define IS_OOB(v, n) "$" n " = bitcast $T $" v " to $I\n$" n " = icmp eq $I $" n ", $k\n"
#define OOB(to)          \
	IS_OOB("a", "5") \
	IS_OOB("b", "6") \
	IS_OOB("c", "7") "$5 = or i1 $5, $6\n$5 = or i1 $5, $7\n" to " = select i1 $5, $T 0.0, $T $1"
#define FMA "$1 = call $T @llvm.fma.$t($T $a, $T $b, $T $c)\n"
#define FMA_BF16                                                                                           \
	"$2 = call i32 @ct_fma_bf16(float $a, float $b, float $c)\n$3 = shl i32 $2, 16\n$1 = bitcast i32 " \
	"$3 to float\n"

static const struct rule nearest[] = {
	{PTX_OP_ADD, FLOATS, 0, 0, "tt", 't', "$r = fadd$f $T $a, $b"},
	{PTX_OP_SUB, FLOATS, 0, 0, "tt", 't', "$r = fsub$f $T $a, $b"},
	{PTX_OP_MUL, FLOATS, 0, 0, "tt", 't', "$r = fmul$f $T $a, $b"},
	{PTX_OP_FMA, FLOATS, 0, PTX_F_RELU | PTX_F_OOB, "ttt", 't',
	 "$r = call $T @llvm.fma.$t($T $a, $T $b, $T $c)"},
	{PTX_OP_MAD, F32_64, 0, 0, "ttt", 't', "$r = call $T @llvm.fma.$t($T $a, $T $b, $T $c)"},
	{PTX_OP_DIV, BIT(F32), 0, PTX_F_APPROX | PTX_F_FULL, "tt", 't', "$r = fdiv $T $a, $b"},
	{PTX_OP_RCP, BIT(F32), 0, PTX_F_APPROX, "t", 't', "$r = fdiv $T 1.0, $a"},
	{PTX_OP_DIV, BIT(F64), 0, PTX_F_APPROX, "tt", 't',
	 "$r = call double @ct_quotient(double $a, double $b)"},
	{PTX_OP_RCP, BIT(F64), 0, PTX_F_APPROX, "t", 't',
	 "$r = call double @ct_quotient(double 1.0, double $a)"},
	{PTX_OP_SQRT, F32_64, 0, PTX_F_APPROX, "t", 't', "$r = call $T @llvm.sqrt.$t($T $a)"},
	{PTX_OP_ABS, FLOATS | BFLOATS, 0, 0, "t", 't', "$r = call $T @llvm.fabs.$t($T $a)"},
	{PTX_OP_NEG, FLOATS | BFLOATS, 0, 0, "t", 't', "$r = fneg $T $a"},
	{PTX_OP_COPYSIGN, F32_64, 0, 0, "tt", 't', "$r = call $T @llvm.copysign.$t($T $b, $T $a)"},
	{PTX_OP_FMA, BIT(F16), PTX_F_RELU, PTX_F_OOB, "ttt", 't', FMA RELU},
	{PTX_OP_FMA, BIT(F16), PTX_F_OOB, PTX_F_RELU, "ttt", 't', FMA OOB("$r")},
	{PTX_OP_FMA, BIT(F16), PTX_F_OOB | PTX_F_RELU, 0, "ttt", 't', FMA OOB("$1") "\n" RELU},
	/* the sum or product of two is exact in f32, or rounds harmlessly, but for products that are subnormal */
	{PTX_OP_ADD, BIT(BF16), 0, 0, "xx", 'x', "$r = fadd float $a, $b"},
	{PTX_OP_SUB, BIT(BF16), 0, 0, "xx", 'x', "$r = fsub float $a, $b"},
	{PTX_OP_MUL, BIT(BF16), 0, 0, "xx", 'e',
	 "$1 = call i32 @ct_mul_bf16(float $a, float $b)\n$2 = shl i32 $1, 16\n$r = bitcast i32 $2 to float"},
	{PTX_OP_FMA, BIT(BF16), 0, PTX_F_RELU | PTX_F_OOB, "xxx", 'e',
	 FMA_BF16 "$r = bitcast i32 $3 to float"},
	{PTX_OP_FMA, BIT(BF16), PTX_F_RELU, PTX_F_OOB, "xxx", 'e', FMA_BF16 RELU},
	{PTX_OP_FMA, BIT(BF16), PTX_F_OOB, PTX_F_RELU, "xxx", 'e', FMA_BF16 OOB("$r")},
	{PTX_OP_FMA, BIT(BF16), PTX_F_OOB | PTX_F_RELU, 0, "xxx", 'e', FMA_BF16 OOB("$1") "\n" RELU},
};

/* .rz, .rm, .rp */
static const struct rule directed[] = {
	{PTX_OP_ADD, F32_64, 0, 0, "tt", 't', "$r = call $T @ct_add_$t($T $a, $T $b, i32 $o)"},
	{PTX_OP_SUB, F32_64, 0, 0, "tt", 't', "$r = call $T @ct_sub_$t($T $a, $T $b, i32 $o)"},
	{PTX_OP_MUL, F32_64, 0, 0, "tt", 't', "$r = call $T @ct_mul_$t($T $a, $T $b, i32 $o)"},
	{PTX_OP_FMA, F32_64, 0, 0, "ttt", 't', "$r = call $T @ct_fma_$t($T $a, $T $b, $T $c, i32 $o)"},
	{PTX_OP_MAD, F32_64, 0, 0, "ttt", 't', "$r = call $T @ct_fma_$t($T $a, $T $b, $T $c, i32 $o)"},
	{PTX_OP_DIV, F32_64, 0, 0, "tt", 't', "$r = call $T @ct_div_$t($T $a, $T $b, i32 $o)"},
	{PTX_OP_RCP, F32_64, 0, 0, "t", 't', "$r = call $T @ct_div_$t($T 1.0, $T $a, i32 $o)"},
	{PTX_OP_SQRT, F32_64, 0, 0, "t", 't', "$r = call $T @ct_sqrt_$t($T $a, i32 $o)"},
};

/* f32 and a small float */
static const struct rule mixed[] = {
	{PTX_OP_ADD, BIT(F32), 0, 0, "Ut", 't', "$r = fadd float $a, $b"},
	{PTX_OP_SUB, BIT(F32), 0, 0, "Ut", 't', "$r = fsub float $a, $b"},
	{PTX_OP_FMA, BIT(F32), 0, 0, "UUt", 't',
	 "$r = call float @llvm.fma.f32(float $a, float $b, float $c)"},
};
static const struct rule mixed_directed[] = {
	{PTX_OP_ADD, BIT(F32), 0, 0, "Ut", 't', "$r = call float @ct_add_f32(float $a, float $b, i32 $o)"},
	{PTX_OP_SUB, BIT(F32), 0, 0, "Ut", 't', "$r = call float @ct_sub_f32(float $a, float $b, i32 $o)"},
	{PTX_OP_FMA, BIT(F32), 0, 0, "UUt", 't',
	 "$r = call float @ct_fma_f32(float $a, float $b, float $c, i32 $o)"},
};

/* Classes of LLVM's is.fpclass. */
static unsigned class_mask(enum ptx_sub sub)
{
	switch (sub) {
	case PTX_SUB_FINITE: return 0x1f8;
	case PTX_SUB_INFINITE: return 0x204;
	case PTX_SUB_NUMBER: return 0x3fc;
	case PTX_SUB_NOTANUMBER: return 0x003;
	case PTX_SUB_NORMAL: return 0x168; /* zeros too (9.7.3.1) */
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

static bool is_arithmetic(unsigned op)
{
	return op == PTX_OP_ADD || op == PTX_OP_SUB || op == PTX_OP_FMA;
}

bool lower_float(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	bool to_nearest = i->rnd == PTX_RND_NONE || i->rnd == PTX_RN;

	if (i->op == PTX_OP_TESTP)
		return lower_testp(l);
	if (i->op == PTX_OP_MIN || i->op == PTX_OP_MAX)
		return lower_min_max(l);
	if (!ptx_type_is_float(i->type) || i->op == PTX_OP_CVT)
		return false;
	if (i->type2 && i->type2 != i->type && is_arithmetic(i->op))
		return to_nearest ? lower_by_rule(l, mixed, COUNT(mixed))
				  : lower_by_rule(l, mixed_directed, COUNT(mixed_directed));
	return to_nearest ? lower_by_rule(l, nearest, COUNT(nearest))
			  : lower_by_rule(l, directed, COUNT(directed));
}
