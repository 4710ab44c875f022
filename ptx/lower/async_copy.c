/* SPDX-License-Identifier: Apache-2.0
 *
 * cp.async, PTX ISA 9.7.9.25.3, as a load and a store: a copy may be finished at any time, so at once as well, and there
 * is nothing left to wait for.
 */
#include "ptx/lower/writer.h"

/* How many bytes are read: all, as many as operand 3 says, or none where it is a true predicate. */
static struct ir bytes_read(struct lower *l, unsigned size)
{
	const struct ptx_operand *o = &l->i->src[3];
	bool is_predicate = o->kind == PTX_OPND_VALUE && l->f->values[o->index].bits == 1;

	if (is_predicate)
		return ir_op(l, "select i1 %s, i32 0, i32 %u", read_bits(l, o, 1).s, size);
	return ir_op(l, "call i32 @llvm.umin.i32(i32 %s, i32 %u)", read_bits(l, o, 32).s, size);
}

/* What isn't read is filled with zeros. */
static void copy_part(struct lower *l, struct ir to, struct ir from, unsigned size)
{
	struct ir n = bytes_read(l, size);

	ir_line(l, "call void @llvm.memset.p3.i32(%s, i8 0, i32 %u, i1 false)", to.s, size);
	ir_line(l, "call void @llvm.memcpy.p3.p1.i32(%s, %s, i32 %s, i1 false)", to.s, from.s, n.s);
}

static bool copy_now(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned operands = i->nsrc - !!(i->flags & PTX_F_CACHE_HINT), size = (unsigned)i->src[2].imm, as;
	struct ir from = read_pointer(l, &i->src[1], PTX_SPACE_GLOBAL, 0, &as);
	struct ir to = read_pointer(l, &i->src[0], PTX_SPACE_SHARED, 0, &as);

	if (operands > 3) {
		copy_part(l, to, from, size);
		return true;
	}
	struct ir v = ir_op(l, "load i%u, %s, align %u", size * 8, from.s, size);
	ir_line(l, "store i%u %s, %s, align %u", size * 8, v.s, to.s, size);
	return true;
}

bool lower_async_copy(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_CP_ASYNC: return copy_now(l);
	case PTX_OP_CP_ASYNC_BULK_PREFETCH: /* a hint */
	/* Groups of bulk copies are empty: the copies themselves are refused. */
	case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
	case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
	case PTX_OP_CP_ASYNC_COMMIT_GROUP:
	case PTX_OP_CP_ASYNC_WAIT_GROUP:
	case PTX_OP_CP_ASYNC_WAIT_ALL: return true;
	default: return false;
	}
}
