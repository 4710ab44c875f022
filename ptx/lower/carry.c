/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended precision, PTX ISA 9.7.2: sums and differences of twice the width, whose bit n is the carry or borrow.
 */
#include "ptx/lower/writer.h"

#include <string.h>

static bool is_difference(const struct ptx_inst *i)
{
	return i->op == PTX_OP_SUB || i->op == PTX_OP_SUBC;
}

/* The product's half, as an addend. */
static struct ir product_half(struct lower *l, unsigned bits)
{
	const struct ptx_inst *i = l->i;
	bool is_signed = ptx_type_is_signed(i->type);
	struct ir a = ir_resize(l, read_bits(l, &i->src[0], bits), bits, 2 * bits, is_signed);
	struct ir b = ir_resize(l, read_bits(l, &i->src[1], bits), bits, 2 * bits, is_signed);
	struct ir p = ir_op(l, "mul i%u %s, %s", 2 * bits, a.s, b.s);

	if (i->flags & PTX_F_HI)
		p = ir_op(l, "lshr i%u %s, %u", 2 * bits, p.s, bits);
	return ir_op(l, "trunc i%u %s to i%u", 2 * bits, p.s, bits);
}

static bool is_ours(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_ADDC:
	case PTX_OP_SUBC:
	case PTX_OP_MADC: return true;
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_MAD: return i->flags & (PTX_F_CC | PTX_F_CARRY_IN);
	default: return false;
	}
}

bool lower_carry(struct lower *l)
{
	const struct ptx_inst *i = l->i;

	if (!is_ours(i))
		return false;
	unsigned bits = ptx_type_bits(i->type);
	bool product = i->op == PTX_OP_MAD || i->op == PTX_OP_MADC;
	const char *op = is_difference(i) ? "sub" : "add";
	struct ir a = product ? product_half(l, bits) : read_bits(l, &i->src[0], bits);
	struct ir b = read_bits(l, &i->src[product ? 2 : 1], bits);
	a = ir_resize(l, a, bits, 2 * bits, false);
	b = ir_resize(l, b, bits, 2 * bits, false);
	struct ir r = ir_op(l, "%s i%u %s, %s", op, 2 * bits, a.s, b.s);
	if (i->flags & PTX_F_CARRY_IN) {
		struct ir c = ir_resize(l, read_bits(l, &i->src[i->nsrc - 1], 1), 1, 2 * bits, false);
		r = ir_op(l, "%s i%u %s, %s", op, 2 * bits, r.s, c.s);
	}
	write_bits(l, &i->dst[0], ir_op(l, "trunc i%u %s to i%u", 2 * bits, r.s, bits), bits, false);
	if (i->flags & PTX_F_CC) {
		struct ir c = ir_op(l, "lshr i%u %s, %u", 2 * bits, r.s, bits);
		write_bits(l, &i->dst[i->ndst - 1], ir_op(l, "trunc i%u %s to i1", 2 * bits, c.s), 1, false);
	}
	return true;
}
