/* SPDX-License-Identifier: Apache-2.0
 *
 * Logic, shifts and permutation of bytes, PTX ISA 9.7.7, 9.7.8, 9.7.9.7. Shifts clamp their amount.
 */
#include "ptx/lower/writer.h"

#define BITS16_64 (BIT(B16) | BIT(B32) | BIT(B64))
#define INTS      (BITS16_64 | BIT(U16) | BIT(U32) | BIT(U64) | BIT(S16) | BIT(S32) | BIT(S64))
#define SIGNED    (BIT(S16) | BIT(S32) | BIT(S64))
#define SCALARS   (INTS | BIT(F32) | BIT(F64))
#define BOTH_WORDS \
	"$1 = zext i32 $a to i64\n$2 = zext i32 $b to i64\n$3 = shl i64 $2, 32\n$4 = or i64 $1, $3\n"
#define FUNNEL_AMOUNT "$5 = call i32 @llvm.umin.i32(i32 $c, i32 32)\n$6 = zext i32 $5 to i64\n"

static const struct rule rules[] = {
	{PTX_OP_AND, BITS16_64 | BIT(PRED), 0, 0, "tt", 't', "$r = and $T $a, $b"},
	{PTX_OP_OR, BITS16_64 | BIT(PRED), 0, 0, "tt", 't', "$r = or $T $a, $b"},
	{PTX_OP_XOR, BITS16_64 | BIT(PRED), 0, 0, "tt", 't', "$r = xor $T $a, $b"},
	{PTX_OP_NOT, BITS16_64 | BIT(PRED), 0, 0, "t", 't', "$r = xor $T $a, -1"},
	{PTX_OP_CNOT, BITS16_64, 0, 0, "t", 't', "$1 = icmp eq $T $a, 0\n$r = zext i1 $1 to $T"},
	{PTX_OP_SHL, BITS16_64, 0, 0, "th", 't',
	 "$1 = icmp ult i32 $b, $n\n$2 = shl $T $a, $x\n$r = select i1 $1, $T $2, $T 0"},
	{PTX_OP_SHR, INTS & ~SIGNED, 0, 0, "th", 't',
	 "$1 = icmp ult i32 $b, $n\n$2 = lshr $T $a, $x\n$r = select i1 $1, $T $2, $T 0"},
	{PTX_OP_SHR, SIGNED, 0, 0, "th", 't', "$r = ashr $T $a, $x"},
	{PTX_OP_SHF, BIT(B32), PTX_F_LEFT | PTX_F_WRAP, 0, "hhh", 'h',
	 "$r = call i32 @llvm.fshl.i32(i32 $b, i32 $a, i32 $c)"},
	{PTX_OP_SHF, BIT(B32), PTX_F_RIGHT | PTX_F_WRAP, 0, "hhh", 'h',
	 "$r = call i32 @llvm.fshr.i32(i32 $b, i32 $a, i32 $c)"},
	{PTX_OP_SHF, BIT(B32), PTX_F_LEFT | PTX_F_CLAMP, 0, "hhh", 'h',
	 BOTH_WORDS FUNNEL_AMOUNT "$7 = shl i64 $4, $6\n$8 = lshr i64 $7, 32\n$r = trunc i64 $8 to i32"},
	{PTX_OP_SHF, BIT(B32), PTX_F_RIGHT | PTX_F_CLAMP, 0, "hhh", 'h',
	 BOTH_WORDS FUNNEL_AMOUNT "$7 = lshr i64 $4, $6\n$r = trunc i64 $7 to i32"},
	{PTX_OP_SELP, SCALARS, 0, 0, "iip", 'i', "$r = select i1 $c, $I $a, $I $b"},
};

/* f(a, b, c) of a table of 8 bits (ISA 9.7.8.6): the table of b and c for a = 1 and for a = 0, each the like of two
 * tables of c. */
static struct ir table_of_two(struct lower *l, unsigned table, struct ir b, struct ir c)
{
	static const char *const words[4] = {"0", NULL, NULL, "-1"};
	struct ir half[2];

	for (unsigned k = 0; k < 2; k++) {
		unsigned t = table >> 2 * k & 3; /* bit 0: c = 0, bit 1: c = 1 */
		half[k] = t == 1 ? ir_op(l, "xor i32 %s, -1", c.s) : t == 2 ? c : ir_text("%s", words[t]);
	}
	struct ir differ = ir_op(l, "xor i32 %s, %s", half[1].s, half[0].s);
	return ir_op(l, "xor i32 %s, %s", ir_op(l, "and i32 %s, %s", b.s, differ.s).s, half[0].s);
}

static struct ir lop3(struct lower *l)
{
	const struct ptx_operand *s = l->i->src;
	unsigned table = (unsigned)s[3].imm & 255;
	struct ir a = read_bits(l, &s[0], 32), b = read_bits(l, &s[1], 32), c = read_bits(l, &s[2], 32);
	struct ir one = table_of_two(l, table >> 4, b, c), zero = table_of_two(l, table & 15, b, c);
	struct ir differ = ir_op(l, "xor i32 %s, %s", one.s, zero.s);

	return ir_op(l, "xor i32 %s, %s", ir_op(l, "and i32 %s, %s", a.s, differ.s).s, zero.s);
}

static bool lower_lop3(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir r = lop3(l);

	if (!i->boolop) {
		write_bits(l, &i->dst[0], r, 32, false);
		return true;
	}
	struct ir p = ir_op(l, "icmp ne i32 %s, 0", r.s);
	p = ir_op(l, "%s i1 %s, %s", i->boolop == PTX_BOOL_AND ? "and" : "or", p.s,
		  read_bits(l, &i->src[4], 1).s);
	if (i->ndst == 2)
		write_bits(l, &i->dst[0], r, 32, false);
	write_bits(l, &i->dst[i->ndst - 1], p, 1, false);
	return true;
}

/* Which byte of b:a goes to place k, by mode (ISA 9.7.9.7); generic: with bit 3, its sign eight times. */
static struct ir digit_of(struct lower *l, struct ir selector, unsigned k)
{
	if (!l->i->sub)
		return ir_op(l, "and i32 %s, 15", ir_op(l, "lshr i32 %s, %u", selector.s, 4 * k).s);
	struct ir c = ir_op(l, "and i32 %s, 3", selector.s);
	switch (l->i->sub) {
	case PTX_SUB_F4E: return ir_op(l, "add i32 %s, %u", c.s, k);
	case PTX_SUB_B4E: return ir_op(l, "and i32 %s, 7", ir_op(l, "sub i32 %s, %u", c.s, k).s);
	case PTX_SUB_RC8: return c;
	case PTX_SUB_ECL: return ir_op(l, "call i32 @llvm.umax.i32(i32 %s, i32 %u)", c.s, k);
	case PTX_SUB_ECR: return ir_op(l, "call i32 @llvm.umin.i32(i32 %s, i32 %u)", c.s, k);
	default: /* rc16 */
		c = ir_op(l, "shl i32 %s, 1", ir_op(l, "and i32 %s, 1", c.s).s);
		return ir_op(l, "or i32 %s, %u", c.s, k & 1);
	}
}

static struct ir permuted_byte(struct lower *l, struct ir both, struct ir digit, unsigned k)
{
	struct ir at = ir_op(l, "shl i32 %s, 3", ir_op(l, "and i32 %s, 7", digit.s).s);
	struct ir byte = ir_op(l, "lshr i64 %s, %s", both.s, ir_resize(l, at, 32, 64, false).s);
	byte = ir_op(l, "trunc i64 %s to i8", byte.s);
	struct ir sign = ir_op(l, "ashr i8 %s, 7", byte.s);
	struct ir by_sign = ir_op(l, "icmp ne i32 %s, 0", ir_op(l, "and i32 %s, 8", digit.s).s);
	byte = ir_op(l, "select i1 %s, i8 %s, i8 %s", by_sign.s, sign.s, byte.s);

	return ir_op(l, "shl i32 %s, %u", ir_resize(l, byte, 8, 32, false).s, 8 * k);
}

static bool lower_prmt(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir a = read_bits(l, &i->src[0], 32), b = read_bits(l, &i->src[1], 32);

	a = ir_resize(l, a, 32, 64, false);
	b = ir_op(l, "shl i64 %s, 32", ir_resize(l, b, 32, 64, false).s);
	struct ir both = ir_op(l, "or i64 %s, %s", a.s, b.s), selector = read_bits(l, &i->src[2], 32);
	struct ir r = ir_text("0");
	for (unsigned k = 0; k < 4; k++)
		r = ir_op(l, "or i32 %s, %s", r.s, permuted_byte(l, both, digit_of(l, selector, k), k).s);
	write_bits(l, &i->dst[0], r, 32, false);
	return true;
}

bool lower_logic(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_LOP3: return lower_lop3(l);
	case PTX_OP_PRMT: return lower_prmt(l);
	default: return lower_by_rule(l, rules, sizeof(rules) / sizeof(rules[0]));
	}
}
