/* SPDX-License-Identifier: Apache-2.0
 *
 * Approximations (PTX ISA 9.7.3, 9.7.4.9, .10) within the ISA's bounds. AMD's instructions, right to one unit in the last
 * place (AMD, "RDNA3 ISA", 16.8), take subnormals as zeros: they serve with .ftz; without it operands are scaled, or
 * the correctly rounded operation does.
 */
#include "ptx/lower/writer.h"

#define SMALL (BIT(F16) | BIT(BF16))
/* Near 0 it is its argument, which v_sin_f32's, in turns, may be too small for. */
#define SINE                                                                                  \
	"$1 = call float @llvm.sin.f32(float $a)\n$2 = call float @llvm.fabs.f32(float $a)\n" \
	"$3 = fcmp olt float $2, 0x3F30000000000000\n$r = select i1 $3, float $a, float $1"
#define RCP "call float @llvm.amdgcn.rcp.f32(float "

/* Of a subnormal times 2^24, whose root is 2^12 times as large: `back` is 2^-12, or 2^12 of the reciprocal. */
#define SCALED(function, back)                                                            \
	"$1 = call i1 @llvm.is.fpclass.f32(float $a, i32 144)\n$2 = select i1 $1, float " \
	"0x4170000000000000, "                                                            \
	"float 1.0\n$3 = fmul float $a, $2\n$4 = call float @llvm.amdgcn." function       \
	".f32(float $3)\n$5 = select i1 $1, float " back ", float 1.0\n$r = fmul float $4, $5"

/* a * (1 / divisor) would be up to 2.5 units off: one step towards a, unless that gives no number (a divisor of 0, infinite) or
 * a zero, which has lost its sign. */
#define QUOTIENT(divisor, to)                                                          \
	"$1 = " RCP divisor ")\n$2 = fmul float $a, $1\n$3 = fneg float " divisor "\n" \
	"$4 = call float @llvm.fma.f32(float $3, float $2, float $a)\n"                \
	"$5 = call float @llvm.fma.f32(float $4, float $1, float $2)\n"                \
	"$6 = fcmp one float $5, 0.0\n" to " = select i1 $6, float $5, float $2\n"

static const struct rule rules[] = {
	{PTX_OP_DIV, BIT(F32), PTX_F_APPROX | PTX_F_FTZ, 0, "tt", 't',
	 QUOTIENT("$b", "$7") "$r = bitcast float $7 to float"},
	/* beyond 2^126 the reciprocal is 0 (9.7.3.8) */
	{PTX_OP_DIV, BIT(F32), PTX_F_APPROX, PTX_F_FTZ, "tt", 't',
	 "$1 = fdiv float $a, $b\n$2 = call float @llvm.copysign.f32(float 0.0, float $b)\n$3 = fmul float "
	 "$a, $2\n"
	 "$4 = call float @llvm.fabs.f32(float $b)\n$5 = fcmp ogt float $4, 0x47D0000000000000\n"
	 "$6 = fcmp olt float $4, 0x7FF0000000000000\n$7 = and i1 $5, $6\n$r = select i1 $7, float $3, float "
	 "$1"},
	/* the same over the full range: a divisor whose reciprocal would be a subnormal is scaled by 2^-32, and the result */
	{PTX_OP_DIV, BIT(F32), PTX_F_FULL | PTX_F_FTZ, 0, "tt", 't',
	 "$1 = call float @llvm.fabs.f32(float $b)\n$2 = fcmp ogt float $1, 0x45F0000000000000\n"
	 "$8 = select i1 $2, float 0x3DF0000000000000, float 1.0\n$9 = fmul float $b, $8\n" QUOTIENT(
		 "$9", "$7") "$r = fmul float $7, $8"},
	{PTX_OP_DIV, BIT(F32), PTX_F_FULL, PTX_F_FTZ, "tt", 't', "$r = fdiv float $a, $b"},
	{PTX_OP_RCP, BIT(F32), PTX_F_APPROX | PTX_F_FTZ, 0, "t", 't', "$r = " RCP "$a)"},
	/* LLVM scales it, too */
	{PTX_OP_RCP, BIT(F32), PTX_F_APPROX, PTX_F_FTZ, "t", 't',
	 "$r = fdiv float 1.0, $a, !fpmath !{float 1.0}"},
	{PTX_OP_SQRT, BIT(F32), PTX_F_APPROX | PTX_F_FTZ, 0, "t", 't',
	 "$r = call float @llvm.amdgcn.sqrt.f32(float $a)"},
	{PTX_OP_SQRT, BIT(F32), PTX_F_APPROX, PTX_F_FTZ, "t", 't',
	 "$r = call float @llvm.sqrt.f32(float $a)"},
	{PTX_OP_RSQRT, BIT(F32), PTX_F_APPROX | PTX_F_FTZ, 0, "t", 't',
	 "$r = call float @llvm.amdgcn.rsq.f32(float $a)"},
	{PTX_OP_RSQRT, BIT(F32), PTX_F_APPROX, PTX_F_FTZ, "t", 't', SCALED("rsq", "0x40B0000000000000")},
	{PTX_OP_RSQRT, BIT(F64), PTX_F_APPROX, PTX_F_FTZ, "t", 't',
	 "$1 = call double @llvm.sqrt.f64(double $a)\n$r = fdiv double 1.0, $1"},
	{PTX_OP_SIN, BIT(F32), PTX_F_APPROX, 0, "t", 't', SINE},
	{PTX_OP_COS, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @llvm.cos.f32(float $a)"},
	{PTX_OP_EX2, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @llvm.exp2.f32(float $a)"},
	{PTX_OP_TANH, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @ct_tanh(float $a)"},
	/* those of f16 and bf16, through f32 */
	{PTX_OP_TANH, SMALL, PTX_F_APPROX, 0, "x", 'x', "$r = call float @ct_tanh(float $a)"},
	{PTX_OP_SIN, SMALL, PTX_F_APPROX, 0, "x", 'x', SINE},
	{PTX_OP_COS, SMALL, PTX_F_APPROX, 0, "x", 'x', "$r = call float @llvm.cos.f32(float $a)"},
	{PTX_OP_EX2, SMALL, PTX_F_APPROX, 0, "x", 'x', "$r = call float @llvm.exp2.f32(float $a)"},
	{PTX_OP_LG2, SMALL, PTX_F_APPROX, 0, "x", 'x', "$r = call float @llvm.log2.f32(float $a)"},
	/* the upper 32 bits only */
	{PTX_OP_RCP, BIT(F64), PTX_F_APPROX | PTX_F_FTZ, 0, "i", 't',
	 "$1 = bitcast i64 $a to double\n$r = call double @ct_rcp_gross(double $1)"},
	{PTX_OP_RSQRT, BIT(F64), PTX_F_APPROX | PTX_F_FTZ, 0, "i", 't',
	 "$1 = bitcast i64 $a to double\n$r = call double @ct_rsqrt_gross(double $1)"},
	{PTX_OP_LG2, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @llvm.log2.f32(float $a)"},
};

bool lower_approximation(struct lower *l)
{
	return lower_by_rule(l, rules, sizeof(rules) / sizeof(rules[0]));
}
