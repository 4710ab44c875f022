/* SPDX-License-Identifier: Apache-2.0
 *
 * alloca, stacksave, stackrestore, PTX ISA 9.7.17. A function that has them takes memory, from above, from a piece of
 * fixed size in its frame, which is gone when it returns, as the ISA says; LLVM's frames don't grow in divergent code.
 */
#include "ptx/lower/writer.h"

enum { STACK_BYTES = 8192, DEFAULT_ALIGN = 8 };

/* The piece is made where the function begins. */
static void open_piece(struct lower *l)
{
	if (l->has_stack_piece)
		return;
	l->has_stack_piece = true;
	fprintf(l->head,
		"  %%stack.piece = alloca [%u x i8], align 16, addrspace(5)\n"
		"  %%stack.top = alloca i32, addrspace(5)\n"
		"  %%stack.base = ptrtoint ptr addrspace(5) %%stack.piece to i32\n"
		"  %%stack.full = add i32 %%stack.base, %u\n"
		"  store i32 %%stack.full, ptr addrspace(5) %%stack.top\n",
		STACK_BYTES, STACK_BYTES);
}

static struct ir top(struct lower *l)
{
	return ir_op(l, "load i32, ptr addrspace(5) %%stack.top");
}

static void set_top(struct lower *l, struct ir v)
{
	ir_line(l, "store i32 %s, ptr addrspace(5) %%stack.top", v.s);
}

static void fault_unless_between(struct lower *l, struct ir v, struct ir most)
{
	struct ir low = ir_op(l, "icmp ult i32 %s, %%stack.base", v.s);
	struct ir high = ir_op(l, "icmp ugt i32 %s, %s", v.s, most.s);

	fault_if(l, ir_op(l, "or i1 %s, %s", low.s, high.s), LOWER_FAULT_STACK);
}

static bool lower_alloca(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	uint64_t align = i->nsrc > 1 ? i->src[1].imm : DEFAULT_ALIGN;
	unsigned bits = ptx_type_bits(i->type);

	if (!align || align & (align - 1) || align > 1u << 23)
		return lower_refuse(l, "an alignment that is no power of 2 up to 2^23");
	struct ir most = top(l), size = ir_resize(l, read_bits(l, &i->src[0], bits), bits, 64, false);
	size = ir_op(l, "call i64 @llvm.umin.i64(i64 %s, i64 %u)", size.s, STACK_BYTES + 1);
	struct ir v = ir_op(l, "sub i32 %s, %s", most.s, ir_resize(l, size, 64, 32, false).s);
	v = ir_op(l, "and i32 %s, %d", v.s, -(int)(align < DEFAULT_ALIGN ? DEFAULT_ALIGN : align));
	fault_unless_between(l, v, most);
	set_top(l, v);
	write_bits(l, &i->dst[0], v, 32, false);
	return true;
}

bool lower_stack(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir v;

	if (i->op != PTX_OP_ALLOCA && i->op != PTX_OP_STACKSAVE && i->op != PTX_OP_STACKRESTORE)
		return false;
	open_piece(l);
	switch (i->op) {
	case PTX_OP_ALLOCA: return lower_alloca(l);
	case PTX_OP_STACKSAVE: write_bits(l, &i->dst[0], top(l), 32, false); return true;
	default:
		v = read_bits(l, &i->src[0], 32);
		fault_unless_between(l, v, ir_text("%%stack.full"));
		set_top(l, v);
		return true;
	}
}
