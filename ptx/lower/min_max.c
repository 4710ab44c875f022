/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimum and maximum of floating-point numbers, PTX ISA 9.7.3.10, .11, 9.7.4.7, .8: a NaN loses, with .NaN it wins and
 * becomes the canonical one; -0 is below +0, as AMD's instructions have it. Those of bf16 are done in f32, which has
 * them all.
 */
#include "ptx/lower/writer.h"

#define F32_16 (BIT(F32) | BIT(F16))
#define ODD    (PTX_F_NAN | PTX_F_XORSIGN_ABS)

#define TWO(which, to, a, b) to " = call $T @llvm." which "num.$t($T " a ", $T " b ")\n"
#define NAN_WINS(to, from)   "$9 = fcmp uno $T $a, $b\n" to " = select i1 $9, $T $q, $T " from
#define ABS(to, from)        to " = call $T @llvm.fabs.$t($T " from ")\n"
/* Of magnitudes, with the sign of the product. */
#define OF_MAGNITUDES(which)                                                                                 \
	ABS("$1", "$a")                                                                                      \
	ABS("$2", "$b") TWO(which, "$3", "$1",                                                               \
			    "$2") "$4 = bitcast $T $a to $I\n"                                               \
				  "$5 = bitcast $T $b to $I\n$6 = xor $I $4, $5\n$7 = bitcast $I $6 to $T\n" \
				  "$8 = call $T @llvm.copysign.$t($T $3, $T $7)\n"
#define THREE(which, a, b, c) TWO(which, "$1", a, b) "$r = call $T @llvm." which "num.$t($T $1, $T " c ")"
#define THREE_NAN(which, a, b, c)          \
	TWO(which, "$1", a, b)             \
	TWO(which, "$2", "$1",             \
	    c) "$3 = fcmp uno $T $a, $b\n" \
	       "$4 = fcmp uno $T $c, $c\n$5 = or i1 $3, $4\n$r = select i1 $5, $T $q, $T $2"
#define MAGNITUDES ABS("$6", "$a") ABS("$7", "$b") ABS("$8", "$c")

#define KINDS(op, which, types, s, d)                                                  \
	{op, types, 0, ODD, s, d, "$r = call $T @llvm." which "num.$t($T $a, $T $b)"}, \
		{op,                                                                   \
		 types,                                                                \
		 PTX_F_NAN,                                                            \
		 PTX_F_XORSIGN_ABS,                                                    \
		 s,                                                                    \
		 d,                                                                    \
		 TWO(which, "$1", "$a", "$b") NAN_WINS("$r", "$1")},                   \
		{op,                                                                   \
		 types,                                                                \
		 PTX_F_XORSIGN_ABS,                                                    \
		 PTX_F_NAN,                                                            \
		 s,                                                                    \
		 d,                                                                    \
		 OF_MAGNITUDES(which) "$r = bitcast $T $8 to $T"},                     \
	{                                                                              \
		op, types, ODD, 0, s, d, OF_MAGNITUDES(which) NAN_WINS("$r", "$8")     \
	}
#define OF_THREE(op, which)                                                                                  \
	{op, BIT(F32), 0, PTX_F_NAN | PTX_F_ABS, "ttt", 't', THREE(which, "$a", "$b", "$c")},                \
		{op, BIT(F32), PTX_F_NAN, PTX_F_ABS, "ttt", 't', THREE_NAN(which, "$a", "$b", "$c")},        \
		{op, BIT(F32), PTX_F_ABS, PTX_F_NAN, "ttt", 't', MAGNITUDES THREE(which, "$6", "$7", "$8")}, \
	{                                                                                                    \
		op, BIT(F32), PTX_F_NAN | PTX_F_ABS, 0, "ttt", 't',                                          \
			MAGNITUDES THREE_NAN(which, "$6", "$7", "$8")                                        \
	}

static const struct rule rules[] = {
	{PTX_OP_MIN, BIT(F64) | BIT(F16X2), 0, ODD, "tt", 't', "$r = call $T @llvm.minnum.$t($T $a, $T $b)"},
	{PTX_OP_MAX, BIT(F64) | BIT(F16X2), 0, ODD, "tt", 't', "$r = call $T @llvm.maxnum.$t($T $a, $T $b)"},
	KINDS(PTX_OP_MIN, "min", F32_16, "tt", 't'),
	KINDS(PTX_OP_MAX, "max", F32_16, "tt", 't'),
	KINDS(PTX_OP_MIN, "min", BIT(BF16), "xx", 'e'),
	KINDS(PTX_OP_MAX, "max", BIT(BF16), "xx", 'e'),
	OF_THREE(PTX_OP_MIN, "min"),
	OF_THREE(PTX_OP_MAX, "max"),
};

bool lower_min_max(struct lower *l)
{
	return lower_by_rule(l, rules, sizeof(rules) / sizeof(rules[0]));
}
