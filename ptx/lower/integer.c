/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer arithmetic, PTX ISA 9.7.1. Division by zero is "unspecified" there and undefined in LLVM: it is kept away
 * from the instruction, and gives all ones, the remainder the dividend.
 */
#include "ptx/lower/writer.h"

#define U16_64 (BIT(U16) | BIT(U32) | BIT(U64))
#define S16_64 (BIT(S16) | BIT(S32) | BIT(S64))
#define I16_64 (U16_64 | S16_64)
#define X2     (BIT(U16X2) | BIT(S16X2))
#define CARRY  (PTX_F_CC | PTX_F_CARRY_IN)

#define PRODUCT(ext)  "$1 = " ext " $T $a to $W\n$2 = " ext " $T $b to $W\n$3 = mul $W $1, $2\n"
#define HIGH(ext, to) PRODUCT(ext) "$4 = lshr $W $3, $n\n" to " = trunc $W $4 to $T"
#define SIGNED24      "$1 = shl i32 $a, 8\n$2 = ashr i32 $1, 8\n$3 = shl i32 $b, 8\n$4 = ashr i32 $3, 8\n"
#define UNSIGNED24    "$2 = and i32 $a, 16777215\n$4 = and i32 $b, 16777215\n"
/* bits 47 to 16 of the product of 48 */
#define HIGH24(ext, to)                                                                 \
	"$5 = " ext " i32 $2 to i64\n$6 = " ext " i32 $4 to i64\n$7 = mul i64 $5, $6\n" \
	"$8 = lshr i64 $7, 16\n" to " = trunc i64 $8 to i32"
#define SAFE_DIVISOR "$1 = icmp eq $T $b, 0\n$2 = select i1 $1, $T 1, $T $b\n"
#define SAFE_SIGNED_DIVISOR \
	"$1 = icmp eq $T $b, 0\n$2 = icmp eq $T $b, -1\n$3 = or i1 $1, $2\n$4 = select i1 $3, $T 1, $T $b\n"

static const struct rule rules[] = {
	{PTX_OP_ADD, I16_64 | X2, 0, CARRY | PTX_F_SAT, "tt", 't', "$r = add $T $a, $b"},
	{PTX_OP_ADD, BIT(S32), PTX_F_SAT, CARRY, "tt", 't',
	 "$r = call i32 @llvm.sadd.sat.i32(i32 $a, i32 $b)"},
	{PTX_OP_SUB, I16_64 | X2, 0, CARRY | PTX_F_SAT, "tt", 't', "$r = sub $T $a, $b"},
	{PTX_OP_SUB, BIT(S32), PTX_F_SAT, CARRY, "tt", 't',
	 "$r = call i32 @llvm.ssub.sat.i32(i32 $a, i32 $b)"},
	{PTX_OP_MUL, I16_64, PTX_F_LO, 0, "tt", 't', "$r = mul $T $a, $b"},
	{PTX_OP_MUL, U16_64, PTX_F_HI, 0, "tt", 't', HIGH("zext", "$r")},
	{PTX_OP_MUL, S16_64, PTX_F_HI, 0, "tt", 't', HIGH("sext", "$r")},
	{PTX_OP_MUL, BIT(U16) | BIT(U32), PTX_F_WIDE, 0, "tt", 'w', PRODUCT("zext") "$r = add $W $3, 0"},
	{PTX_OP_MUL, BIT(S16) | BIT(S32), PTX_F_WIDE, 0, "tt", 'w', PRODUCT("sext") "$r = add $W $3, 0"},
	{PTX_OP_MAD, I16_64, PTX_F_LO, CARRY, "ttt", 't', "$1 = mul $T $a, $b\n$r = add $T $1, $c"},
	{PTX_OP_MAD, U16_64, PTX_F_HI, CARRY | PTX_F_SAT, "ttt", 't',
	 HIGH("zext", "$5") "\n$r = add $T $5, $c"},
	{PTX_OP_MAD, S16_64, PTX_F_HI, CARRY | PTX_F_SAT, "ttt", 't',
	 HIGH("sext", "$5") "\n$r = add $T $5, $c"},
	{PTX_OP_MAD, BIT(S32), PTX_F_HI | PTX_F_SAT, CARRY, "ttt", 't',
	 HIGH("sext", "$5") "\n$r = call i32 @llvm.sadd.sat.i32(i32 $5, i32 $c)"},
	{PTX_OP_MAD, BIT(U16) | BIT(U32), PTX_F_WIDE, CARRY, "ttw", 'w',
	 PRODUCT("zext") "$r = add $W $3, $c"},
	{PTX_OP_MAD, BIT(S16) | BIT(S32), PTX_F_WIDE, CARRY, "ttw", 'w',
	 PRODUCT("sext") "$r = add $W $3, $c"},
	{PTX_OP_MUL24, BIT(U32), PTX_F_LO, 0, "tt", 't', UNSIGNED24 "$r = mul i32 $2, $4"},
	{PTX_OP_MUL24, BIT(S32), PTX_F_LO, 0, "tt", 't', SIGNED24 "$r = mul i32 $2, $4"},
	{PTX_OP_MUL24, BIT(U32), PTX_F_HI, 0, "tt", 't', UNSIGNED24 HIGH24("zext", "$r")},
	{PTX_OP_MUL24, BIT(S32), PTX_F_HI, 0, "tt", 't', SIGNED24 HIGH24("sext", "$r")},
	{PTX_OP_MAD24, BIT(U32), PTX_F_LO, 0, "ttt", 't',
	 UNSIGNED24 "$5 = mul i32 $2, $4\n$r = add i32 $5, $c"},
	{PTX_OP_MAD24, BIT(S32), PTX_F_LO, 0, "ttt", 't',
	 SIGNED24 "$5 = mul i32 $2, $4\n$r = add i32 $5, $c"},
	{PTX_OP_MAD24, BIT(U32), PTX_F_HI, PTX_F_SAT, "ttt", 't',
	 UNSIGNED24 HIGH24("zext", "$9") "\n$r = add i32 $9, $c"},
	{PTX_OP_MAD24, BIT(S32), PTX_F_HI, PTX_F_SAT, "ttt", 't',
	 SIGNED24 HIGH24("sext", "$9") "\n$r = add i32 $9, $c"},
	{PTX_OP_MAD24, BIT(S32), PTX_F_HI | PTX_F_SAT, 0, "ttt", 't',
	 SIGNED24 HIGH24("sext", "$9") "\n$r = call i32 @llvm.sadd.sat.i32(i32 $9, i32 $c)"},
	{PTX_OP_SAD, U16_64, 0, 0, "ttt", 't',
	 "$1 = call $T @llvm.umax.$t($T $a, $T $b)\n$2 = call $T @llvm.umin.$t($T $a, $T $b)\n"
	 "$3 = sub $T $1, $2\n$r = add $T $3, $c"},
	{PTX_OP_SAD, S16_64, 0, 0, "ttt", 't',
	 "$1 = call $T @llvm.smax.$t($T $a, $T $b)\n$2 = call $T @llvm.smin.$t($T $a, $T $b)\n"
	 "$3 = sub $T $1, $2\n$r = add $T $3, $c"},
	{PTX_OP_DIV, U16_64, 0, 0, "tt", 't',
	 SAFE_DIVISOR "$3 = udiv $T $a, $2\n$r = select i1 $1, $T -1, $T $3"},
	{PTX_OP_DIV, S16_64, 0, 0, "tt", 't',
	 SAFE_SIGNED_DIVISOR "$5 = sdiv $T $a, $4\n$6 = sub $T 0, $a\n$7 = select i1 $2, $T $6, $T $5\n"
			     "$r = select i1 $1, $T -1, $T $7"},
	{PTX_OP_REM, U16_64, 0, 0, "tt", 't',
	 SAFE_DIVISOR "$3 = urem $T $a, $2\n$r = select i1 $1, $T $a, $T $3"},
	{PTX_OP_REM, S16_64, 0, 0, "tt", 't',
	 SAFE_SIGNED_DIVISOR
	 "$5 = srem $T $a, $4\n$6 = select i1 $2, $T 0, $T $5\n$r = select i1 $1, $T $a, $T $6"},
	{PTX_OP_ABS, S16_64, 0, 0, "t", 't', "$r = call $T @llvm.abs.$t($T $a, i1 false)"},
	{PTX_OP_NEG, S16_64, 0, 0, "t", 't', "$r = sub $T 0, $a"},
	{PTX_OP_MIN, U16_64 | BIT(U16X2), 0, PTX_F_RELU, "tt", 't',
	 "$r = call $T @llvm.umin.$t($T $a, $T $b)"},
	{PTX_OP_MIN, S16_64 | BIT(S16X2), 0, PTX_F_RELU, "tt", 't',
	 "$r = call $T @llvm.smin.$t($T $a, $T $b)"},
	{PTX_OP_MAX, U16_64 | BIT(U16X2), 0, PTX_F_RELU, "tt", 't',
	 "$r = call $T @llvm.umax.$t($T $a, $T $b)"},
	{PTX_OP_MAX, S16_64 | BIT(S16X2), 0, PTX_F_RELU, "tt", 't',
	 "$r = call $T @llvm.smax.$t($T $a, $T $b)"},
	{PTX_OP_MIN, BIT(S32) | BIT(S16X2), PTX_F_RELU, 0, "tt", 't',
	 "$1 = call $T @llvm.smin.$t($T $a, $T $b)\n$r = call $T @llvm.smax.$t($T $1, $T zeroinitializer)"},
	{PTX_OP_MAX, BIT(S32) | BIT(S16X2), PTX_F_RELU, 0, "tt", 't',
	 "$1 = call $T @llvm.smax.$t($T $a, $T $b)\n$r = call $T @llvm.smax.$t($T $1, $T zeroinitializer)"},
};

bool lower_integer(struct lower *l)
{
	return lower_by_rule(l, rules, sizeof(rules) / sizeof(rules[0]));
}
