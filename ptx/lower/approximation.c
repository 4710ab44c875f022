/* SPDX-License-Identifier: Apache-2.0
 *
 * Approximations (PTX ISA 9.7.3, 9.7.4.9, .10) within the ISA's bounds. AMD's instructions take subnormals as zeros: they serve
 * with .ftz; without it the correctly rounded operation does, or LLVM's expansion that scales. v_rcp_f32 and v_rsq_f32
 * are right to one unit in the last place (AMD, "RDNA3 ISA", 16.8), so that x * rcp(y) stays below the two of div.approx.
 */
#include "ptx/lower/writer.h"

#define SMALL (BIT(F16) | BIT(BF16))
#define RCP   "call float @llvm.amdgcn.rcp.f32(float "

static const struct rule rules[] = {
	{PTX_OP_DIV, BIT(F32), PTX_F_APPROX | PTX_F_FTZ, 0, "tt", 't',
	 "$1 = " RCP "$b)\n$r = fmul float $a, $1"},
	{PTX_OP_DIV, BIT(F32), PTX_F_APPROX, PTX_F_FTZ, "tt", 't', "$r = fdiv float $a, $b"},
	{PTX_OP_DIV, BIT(F32), PTX_F_FULL, 0, "tt", 't', "$r = fdiv float $a, $b"},
	{PTX_OP_RCP, BIT(F32), PTX_F_APPROX | PTX_F_FTZ, 0, "t", 't', "$r = " RCP "$a)"},
	{PTX_OP_RCP, BIT(F32), PTX_F_APPROX, PTX_F_FTZ, "t", 't', "$r = fdiv float 1.0, $a"},
	{PTX_OP_SQRT, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @llvm.sqrt.f32(float $a)"},
	{PTX_OP_RSQRT, BIT(F32), PTX_F_APPROX | PTX_F_FTZ, 0, "t", 't',
	 "$r = call float @llvm.amdgcn.rsq.f32(float $a)"},
	{PTX_OP_RSQRT, BIT(F32), PTX_F_APPROX, PTX_F_FTZ, "t", 't',
	 "$1 = call float @llvm.sqrt.f32(float $a)\n$r = fdiv float 1.0, $1"},
	{PTX_OP_RSQRT, BIT(F64), PTX_F_APPROX, PTX_F_FTZ, "t", 't',
	 "$1 = call double @llvm.sqrt.f64(double $a)\n$r = fdiv double 1.0, $1"},
	{PTX_OP_SIN, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @llvm.sin.f32(float $a)"},
	{PTX_OP_COS, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @llvm.cos.f32(float $a)"},
	{PTX_OP_EX2, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @llvm.exp2.f32(float $a)"},
	{PTX_OP_TANH, BIT(F32), PTX_F_APPROX, 0, "t", 't', "$r = call float @ct_tanh(float $a)"},
	/* those of f16 and bf16, through f32 */
	{PTX_OP_TANH, SMALL, PTX_F_APPROX, 0, "x", 'x', "$r = call float @ct_tanh(float $a)"},
	{PTX_OP_SIN, SMALL, PTX_F_APPROX, 0, "x", 'x', "$r = call float @llvm.sin.f32(float $a)"},
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
