/* SPDX-License-Identifier: Apache-2.0
 *
 * alloca, stacksave, stackrestore, PTX ISA 9.7.17. A function that has them takes memory, from above, from a piece of
 * fixed size in its frame, which is gone when it returns, as the ISA says; LLVM's frames don't grow in divergent code.
 */
#include "ptx/lower/dispatch.h"

enum { PIECE_BYTES = 8192, DEFAULT_ALIGN = 8 };

static bool takes_memory(const struct ptx_func *f)
{
	for (uint32_t k = 0; k < f->ninsts; k++)
		if (f->insts[k].op >= PTX_OP_STACKSAVE && f->insts[k].op <= PTX_OP_ALLOCA)
			return true;
	return false;
}

void stack_begins(struct lower *l)
{
	const char *p = l->prefix;

	if (!takes_memory(l->f))
		return;
	if (dispatch_has_locals_on_stack(l))
		lower_refuse(l, "alloca in a function that calls itself, of a kernel whose threads wait for "
				"each other");
	fprintf(l->head,
		"  %%%sstack.piece = alloca [%u x i8], align 16, addrspace(5)\n"
		"  %%%sstack.top = alloca i32, addrspace(5)\n"
		"  %%%sstack.base = ptrtoint ptr addrspace(5) %%%sstack.piece to i32\n"
		"  %%%sstack.full = add i32 %%%sstack.base, %u\n",
		p, PIECE_BYTES, p, p, p, p, p, PIECE_BYTES);
	ir_line(l, "store i32 %%%sstack.full, ptr addrspace(5) %%%sstack.top", p, p);
}

static struct ir top(struct lower *l)
{
	return ir_op(l, "load i32, ptr addrspace(5) %%%sstack.top", l->prefix);
}

static void set_top(struct lower *l, struct ir v)
{
	ir_line(l, "store i32 %s, ptr addrspace(5) %%%sstack.top", v.s, l->prefix);
}

static void fault_unless_between(struct lower *l, struct ir v, struct ir most)
{
	struct ir low = ir_op(l, "icmp ult i32 %s, %%%sstack.base", v.s, l->prefix);
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
	size = ir_op(l, "call i64 @llvm.umin.i64(i64 %s, i64 %u)", size.s, PIECE_BYTES + 1);
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

	switch (i->op) {
	case PTX_OP_ALLOCA: return lower_alloca(l);
	case PTX_OP_STACKSAVE: write_bits(l, &i->dst[0], top(l), 32, false); return true;
	case PTX_OP_STACKRESTORE:
		v = read_bits(l, &i->src[0], 32);
		fault_unless_between(l, v, ir_text("%%%sstack.full", l->prefix));
		set_top(l, v);
		return true;
	default: return false;
	}
}
