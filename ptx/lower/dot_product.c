/* SPDX-License-Identifier: Apache-2.0
 *
 * dp4a and dp2a, PTX ISA 9.7.1.23, .24: the first type is a's, the second b's.
 */
#include "ptx/lower/writer.h"

/* Part k, of `bits`, as a number of 32 bits. */
static struct ir part_of(struct lower *l, struct ir v, unsigned bits, unsigned k, enum ptx_type t)
{
	struct ir p = ir_op(l, "lshr i32 %s, %u", v.s, bits * k);

	return ir_resize(l, ir_op(l, "trunc i32 %s to i%u", p.s, bits), bits, 32, ptx_type_is_signed(t));
}

/* One instruction. LLVM would find it in the products and sums, too, but compiler.c doesn't let it. */
static bool lower_dot4(struct lower *l, struct ir a, struct ir b, struct ir c)
{
	const struct ptx_inst *i = l->i;
	const bool is_signed[] = {ptx_type_is_signed(i->type), ptx_type_is_signed(i->type2)};
	struct ir sum;

	if (l->target->dot4 == DOT4_ANY)
		sum = ir_op(l, "call i32 @llvm.amdgcn.sudot4(i1 %u, i32 %s, i1 %u, i32 %s, i32 %s, i1 false)",
			    is_signed[0], a.s, is_signed[1], b.s, c.s);
	else if (l->target->dot4 == DOT4_SIGNED && is_signed[0] && is_signed[1])
		sum = ir_op(l, "call i32 @llvm.amdgcn.sdot4(i32 %s, i32 %s, i32 %s, i1 false)", a.s, b.s,
			    c.s);
	else
		return false;
	write_bits(l, &i->dst[0], sum, 32, false);
	return true;
}

bool lower_dot_product(struct lower *l)
{
	const struct ptx_inst *i = l->i;

	if (i->op != PTX_OP_DP4A && i->op != PTX_OP_DP2A)
		return false;
	unsigned n = i->op == PTX_OP_DP4A ? 4 : 2,
		 first = i->op == PTX_OP_DP2A && i->flags & PTX_F_HI ? 2 : 0;
	struct ir a = read_bits(l, &i->src[0], 32), b = read_bits(l, &i->src[1], 32);
	struct ir sum = read_bits(l, &i->src[2], 32);

	if (n == 4 && lower_dot4(l, a, b, sum))
		return true;
	for (unsigned k = 0; k < n; k++) {
		struct ir x = part_of(l, a, 32 / n, k, i->type), y = part_of(l, b, 8, first + k, i->type2);
		sum = ir_op(l, "add i32 %s, %s", sum.s, ir_op(l, "mul i32 %s, %s", x.s, y.s).s);
	}
	write_bits(l, &i->dst[0], sum, 32, false);
	return true;
}
