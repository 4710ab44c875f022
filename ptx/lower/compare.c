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

/* The comparison of two sources of type t; empty when it was refused. */
static struct ir compared(struct lower *l, enum ptx_type t)
{
	const struct ptx_inst *i = l->i;
	bool is_float = ptx_type_is_float(t);
	const char *c = is_float                ? conditions[i->cmp].f
			: ptx_type_is_signed(t) ? conditions[i->cmp].s
						: conditions[i->cmp].u;

	if (!c || !ir_type(t) || ir_type(t)[0] == '<' || (i->flags & PTX_F_FTZ && t != PTX_F32)) {
		lower_refuse(l, "this comparison of .%s", ptx_type_name(t));
		return ir_text("0");
	}
	struct ir a = is_float ? read_float(l, &i->src[0], t) : read_typed(l, &i->src[0], t);
	struct ir b = is_float ? read_float(l, &i->src[1], t) : read_typed(l, &i->src[1], t);
	return ir_op(l, "%s %s %s %s, %s", is_float ? "fcmp" : "icmp", c, ir_type(t), a.s, b.s);
}

/* With the predicate that .and, .or, .xor name. */
static struct ir combined(struct lower *l, struct ir p)
{
	static const char *const ops[] = {NULL, "and", "or", "xor"};
	const struct ptx_inst *i = l->i;

	return i->boolop ? ir_op(l, "%s i1 %s, %s", ops[i->boolop], p.s, read_bits(l, &i->src[2], 1).s) : p;
}

/* p|q: q is of the complement of the comparison (9.7.6.2). */
static bool lower_setp(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir c = compared(l, i->type);
	struct ir p = combined(l, c), q = ir_text("0");

	if (l->refused)
		return false;
	if (i->ndst == 2)
		q = combined(l, ir_op(l, "xor i1 %s, 1", c.s));
	write_bits(l, &i->dst[0], p, 1, false);
	if (i->ndst == 2)
		write_bits(l, &i->dst[1], q, 1, false);
	return true;
}

/* All ones or 1.0 (9.7.6.1). */
static bool lower_set(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir p = combined(l, compared(l, i->type2));

	if (l->refused)
		return false;
	if (i->type == PTX_F32 || i->type == PTX_F16)
		write_typed(l, &i->dst[0],
			    ir_op(l, "select i1 %s, %s 1.0, %s 0.0", p.s, ir_type(i->type), ir_type(i->type)),
			    i->type);
	else if (ptx_type_is_float(i->type) || ir_type(i->type)[0] != 'i')
		return lower_refuse(l, "a result of type .%s", ptx_type_name(i->type));
	else
		write_typed(l, &i->dst[0], ir_op(l, "sext i1 %s to %s", p.s, ir_type(i->type)), i->type);
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
