/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparison and selection by it, PTX ISA 9.7.6: setp, set, slct.
 */
#include "ptx/lower/writer.h"

/* By enum ptx_cmp: LLVM's condition for signed, unsigned and floating-point operands; NULL: not of that kind. */
static const struct {
	const char *s, *u, *f;
} conditions[] = {
	[PTX_EQ] = {"eq", "eq", "oeq"},   [PTX_NE] = {"ne", "ne", "one"},   [PTX_LT] = {"slt", "ult", "olt"},
	[PTX_LE] = {"sle", "ule", "ole"}, [PTX_GT] = {"sgt", "ugt", "ogt"}, [PTX_GE] = {"sge", "uge", "oge"},
	[PTX_LO] = {"ult", "ult", NULL},  [PTX_LS] = {"ule", "ule", NULL},  [PTX_HI] = {"ugt", "ugt", NULL},
	[PTX_HS] = {"uge", "uge", NULL},  [PTX_EQU] = {NULL, NULL, "ueq"},  [PTX_NEU] = {NULL, NULL, "une"},
	[PTX_LTU] = {NULL, NULL, "ult"},  [PTX_LEU] = {NULL, NULL, "ule"},  [PTX_GTU] = {NULL, NULL, "ugt"},
	[PTX_GEU] = {NULL, NULL, "uge"},  [PTX_NUM] = {NULL, NULL, "ord"},  [PTX_NAN] = {NULL, NULL, "uno"},
};

/* What is compared: two scalars, or element k of two pairs. bf16 as f32, which orders it alike. */
static struct ir compared_value(struct lower *l, const struct ptx_operand *o, enum ptx_type t, unsigned k)
{
	struct ir v = ptx_type_is_float(t) ? read_float(l, o, t) : read_typed(l, o, t);

	if (ir_type(t)[0] == '<')
		v = ir_op(l, "extractelement %s %s, i32 %u", ir_type(t), v.s, k);
	return t == PTX_BF16 || t == PTX_BF16X2 ? ir_extend(l, v, PTX_BF16) : v;
}

static const char *compared_type(enum ptx_type t)
{
	switch (t) {
	case PTX_F16X2: return "half";
	case PTX_BF16:
	case PTX_BF16X2: return "float";
	default: return ir_type(t);
	}
}

/* The comparison of two sources of type t, of pairs of their elements k. */
static struct ir compared(struct lower *l, enum ptx_type t, unsigned k)
{
	const struct ptx_inst *i = l->i;
	bool is_float = ptx_type_is_float(t);
	const char *c = is_float                ? conditions[i->cmp].f
			: ptx_type_is_signed(t) ? conditions[i->cmp].s
						: conditions[i->cmp].u;

	if (!c || !ir_type(t)) {
		lower_refuse(l, "this comparison of .%s", ptx_type_name(t));
		return ir_text("0");
	}
	struct ir a = compared_value(l, &i->src[0], t, k), b = compared_value(l, &i->src[1], t, k);
	return ir_op(l, "%s %s %s %s, %s", is_float ? "fcmp" : "icmp", c, compared_type(t), a.s, b.s);
}

/* With the predicate that .and, .or, .xor name. */
static struct ir combined(struct lower *l, struct ir p)
{
	static const char *const ops[] = {NULL, "and", "or", "xor"};
	const struct ptx_inst *i = l->i;

	return i->boolop ? ir_op(l, "%s i1 %s, %s", ops[i->boolop], p.s, read_bits(l, &i->src[2], 1).s) : p;
}

static bool is_pair(enum ptx_type t)
{
	return t == PTX_F16X2 || t == PTX_BF16X2;
}

/* p|q: q is of the complement of the comparison (9.7.6.2); of pairs p is the lower element's, q the upper one's
 * (9.7.7.2). */
static bool lower_setp(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir c = compared(l, i->type, 0);
	struct ir p = combined(l, c), q = ir_text("0");

	if (i->ndst == 2 && !l->refused)
		q = combined(l, is_pair(i->type) ? compared(l, i->type, 1) : ir_op(l, "xor i1 %s, 1", c.s));
	if (l->refused)
		return false;
	write_bits(l, &i->dst[0], p, 1, false);
	if (i->ndst == 2)
		write_bits(l, &i->dst[1], q, 1, false);
	return true;
}

/* All ones or 1.0 in `bits` of a result of type t. */
static struct ir set_bits(struct lower *l, struct ir p, enum ptx_type t, unsigned bits)
{
	const unsigned one = t == PTX_F32 ? 0x3f800000 : t == PTX_F16 || t == PTX_F16X2 ? 0x3c00 : 0x3f80;

	if (!ptx_type_is_float(t))
		return ir_op(l, "sext i1 %s to i%u", p.s, bits);
	return ir_op(l, "select i1 %s, i%u %u, i%u 0", p.s, bits, one, bits);
}

/* Of pairs: in each half of the result (9.7.6.1, 9.7.7.1). */
static bool lower_set(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(i->type), part = is_pair(i->type2) ? bits / 2 : bits;
	struct ir r = set_bits(l, combined(l, compared(l, i->type2, 0)), i->type, part);

	if (l->refused)
		return false;
	if (is_pair(i->type2)) {
		struct ir high = set_bits(l, combined(l, compared(l, i->type2, 1)), i->type, part);
		high = ir_op(l, "shl i%u %s, %u", bits, ir_resize(l, high, part, bits, false).s, part);
		r = ir_op(l, "or i%u %s, %s", bits, ir_resize(l, r, part, bits, false).s, high.s);
	}
	write_bits(l, &i->dst[0], r, bits, ptx_type_is_signed(i->type));
	return true;
}

static bool lower_slct(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(i->type);
	struct ir c = i->type2 == PTX_F32
			      ? ir_op(l, "fcmp oge float %s, 0.0", read_float(l, &i->src[2], PTX_F32).s)
			      : ir_op(l, "icmp sge i32 %s, 0", read_bits(l, &i->src[2], 32).s);
	struct ir a = read_bits(l, &i->src[0], bits), b = read_bits(l, &i->src[1], bits);

	write_bits(l, &i->dst[0], ir_op(l, "select i1 %s, i%u %s, i%u %s", c.s, bits, a.s, bits, b.s), bits,
		   false);
	return true;
}

bool lower_compare(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_SETP: return lower_setp(l);
	case PTX_OP_SET: return lower_set(l);
	case PTX_OP_SLCT: return lower_slct(l);
	default: return false;
	}
}
