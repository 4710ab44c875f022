/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting and fields of bits, PTX ISA 9.7.1.15 on. Positions and lengths count modulo 256 and may reach beyond the
 * word: fields are cut out of twice its width, where no shift is too far.
 */
#include "ptx/lower/writer.h"

#define W32 (BIT(B32) | BIT(U32) | BIT(S32))
#define W64 (BIT(B64) | BIT(U64) | BIT(S64))

/* $4 = position, $7 = length, both at most 2n - 1 */
#define FIELD(p, len)                                                                                  \
	"$1 = and i32 " p                                                                              \
	", 255\n$2 = zext i32 $1 to $W\n$3 = call $W @llvm.umin.$W($W $2, $W $w)\n$4 = add $W $3, 0\n" \
	"$5 = and i32 " len ", 255\n$6 = zext i32 $5 to $W\n$7 = call $W @llvm.umin.$W($W $6, $W $w)\n"
#define MASK "$8 = shl $W 1, $7\n$9 = sub $W $8, 1\n"
/* leading zeros, or -1 of nothing */
#define FIND_BIT "$2 = call $T @llvm.ctlz.$t($T $1, i1 false)\n$3 = icmp eq $T $1, 0\n"

/* the lowest $1 bits, 0 to 32 */
#define EXTEND_U                                                                                           \
	"$2 = zext i32 $1 to i64\n$3 = shl i64 1, $2\n$4 = sub i64 $3, 1\n$5 = trunc i64 $4 to i32\n$r = " \
	"and i32 $a, $5"
#define EXTEND_S                                                                                       \
	"$2 = zext i32 $1 to i64\n$3 = sub i64 63, $2\n$4 = zext i32 $a to i64\n$5 = shl i64 $4, $3\n" \
	"$6 = shl i64 $5, 1\n$7 = ashr i64 $6, $3\n$8 = ashr i64 $7, 1\n$r = trunc i64 $8 to i32"

static const struct rule rules[] = {
	{PTX_OP_POPC, W32, 0, 0, "t", 'h', "$r = call i32 @llvm.ctpop.i32(i32 $a)"},
	{PTX_OP_POPC, W64, 0, 0, "t", 'h', "$1 = call i64 @llvm.ctpop.i64(i64 $a)\n$r = trunc i64 $1 to i32"},
	{PTX_OP_CLZ, W32, 0, 0, "t", 'h', "$r = call i32 @llvm.ctlz.i32(i32 $a, i1 false)"},
	{PTX_OP_CLZ, W64, 0, 0, "t", 'h',
	 "$1 = call i64 @llvm.ctlz.i64(i64 $a, i1 false)\n$r = trunc i64 $1 to i32"},
	{PTX_OP_BREV, W32 | W64, 0, 0, "t", 't', "$r = call $T @llvm.bitreverse.$t($T $a)"},
	{PTX_OP_BFIND, BIT(U32), PTX_F_SHIFTAMT, 0, "t", 'h',
	 "$1 = add i32 $a, 0\n" FIND_BIT "$r = select i1 $3, i32 -1, i32 $2"},
	{PTX_OP_BFIND, BIT(S32), PTX_F_SHIFTAMT, 0, "t", 'h',
	 "$4 = ashr i32 $a, 31\n$1 = xor i32 $a, $4\n" FIND_BIT "$r = select i1 $3, i32 -1, i32 $2"},
	{PTX_OP_BFIND, BIT(U64), PTX_F_SHIFTAMT, 0, "t", 'h',
	 "$1 = add i64 $a, 0\n" FIND_BIT "$5 = trunc i64 $2 to i32\n$r = select i1 $3, i32 -1, i32 $5"},
	{PTX_OP_BFIND, BIT(S64), PTX_F_SHIFTAMT, 0, "t", 'h',
	 "$4 = ashr i64 $a, 63\n$1 = xor i64 $a, $4\n" FIND_BIT
	 "$5 = trunc i64 $2 to i32\n$r = select i1 $3, i32 -1, i32 $5"},
	/* 31 - 32 is the -1 of nothing found */
	{PTX_OP_BFIND, BIT(U32), 0, PTX_F_SHIFTAMT, "t", 'h',
	 "$1 = add i32 $a, 0\n" FIND_BIT "$r = sub i32 31, $2"},
	{PTX_OP_BFIND, BIT(S32), 0, PTX_F_SHIFTAMT, "t", 'h',
	 "$4 = ashr i32 $a, 31\n$1 = xor i32 $a, $4\n" FIND_BIT "$r = sub i32 31, $2"},
	{PTX_OP_BFIND, BIT(U64), 0, PTX_F_SHIFTAMT, "t", 'h',
	 "$1 = add i64 $a, 0\n" FIND_BIT "$5 = trunc i64 $2 to i32\n$r = sub i32 63, $5"},
	{PTX_OP_BFIND, BIT(S64), 0, PTX_F_SHIFTAMT, "t", 'h',
	 "$4 = ashr i64 $a, 63\n$1 = xor i64 $a, $4\n" FIND_BIT
	 "$5 = trunc i64 $2 to i32\n$r = sub i32 63, $5"},
	{PTX_OP_FNS, BIT(B32), 0, 0, "hhh", 'h', "$r = call i32 @ct_fns(i32 $a, i32 $b, i32 $c)"},
	{PTX_OP_BFE, BIT(U32) | BIT(U64), 0, 0, "thh", 't',
	 FIELD("$b", "$c") MASK
	 "$1 = zext $T $a to $W\n$2 = lshr $W $1, $4\n$3 = and $W $2, $9\n$r = trunc $W $3 to $T"},
	/* the sign of a field that reaches beyond the word is the word's: that of the extended word */
	{PTX_OP_BFE, BIT(S32) | BIT(S64), 0, 0, "thh", 't',
	 FIELD("$b",
	       "$c") "$1 = sext $T $a to $W\n$2 = ashr $W $1, $4\n$8 = sub $W $w, $7\n$3 = shl $W $2, $8\n"
		     "$9 = shl $W $3, 1\n$5 = ashr $W $9, $8\n$6 = ashr $W $5, 1\n$r = trunc $W $6 to $T"},
	{PTX_OP_BFI, BIT(B32) | BIT(B64), 0, 0, "tthh", 't',
	 FIELD("$c", "$d") MASK
	 "$9 = shl $W $9, $4\n$1 = zext $T $a to $W\n$2 = shl $W $1, $4\n$3 = and $W $2, $9\n"
	 "$5 = zext $T $b to $W\n$6 = xor $W $9, -1\n$7 = and $W $5, $6\n$8 = or $W $3, $7\n"
	 "$r = trunc $W $8 to $T"},
	{PTX_OP_BMSK, BIT(B32), PTX_F_WRAP, PTX_F_CLAMP, "hh", 'h',
	 "$1 = and i32 $a, 31\n$2 = and i32 $b, 31\n$3 = shl i32 1, $2\n$4 = sub i32 $3, 1\n$r = shl i32 $4, "
	 "$1"},
	{PTX_OP_BMSK, BIT(B32), PTX_F_CLAMP, PTX_F_WRAP, "hh", 'h',
	 "$1 = call i32 @llvm.umin.i32(i32 $a, i32 32)\n$2 = call i32 @llvm.umin.i32(i32 $b, i32 32)\n"
	 "$3 = zext i32 $1 to i64\n$4 = zext i32 $2 to i64\n$5 = shl i64 1, $4\n$6 = sub i64 $5, 1\n"
	 "$7 = shl i64 $6, $3\n$r = trunc i64 $7 to i32"},
	{PTX_OP_SZEXT, BIT(U32), PTX_F_WRAP, 0, "th", 't', "$1 = and i32 $b, 31\n" EXTEND_U},
	{PTX_OP_SZEXT, BIT(U32), PTX_F_CLAMP, 0, "th", 't',
	 "$1 = call i32 @llvm.umin.i32(i32 $b, i32 32)\n" EXTEND_U},
	{PTX_OP_SZEXT, BIT(S32), PTX_F_WRAP, 0, "th", 't', "$1 = and i32 $b, 31\n" EXTEND_S},
	{PTX_OP_SZEXT, BIT(S32), PTX_F_CLAMP, 0, "th", 't',
	 "$1 = call i32 @llvm.umin.i32(i32 $b, i32 32)\n" EXTEND_S},
};

bool lower_bit_field(struct lower *l)
{
	return lower_by_rule(l, rules, sizeof(rules) / sizeof(rules[0]));
}
