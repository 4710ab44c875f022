/* SPDX-License-Identifier: Apache-2.0
 *
 * cp.async, PTX ISA 9.7.9.25.3, as a load and a store: a copy may be finished at any time, so at once as well, and there
 * is nothing left to wait for.
 */
#include "ptx/lower/writer.h"

static bool copy_now(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned operands = i->nsrc - !!(i->flags & PTX_F_CACHE_HINT), bytes = (unsigned)i->src[2].imm, as;

	if (operands > 3)
		return lower_refuse(l, "a copy of a part, or that may be ignored");
	struct ir from = read_pointer(l, &i->src[1], PTX_SPACE_GLOBAL, 0, &as);
	struct ir v = ir_op(l, "load i%u, %s, align %u", bytes * 8, from.s, bytes);
	struct ir to = read_pointer(l, &i->src[0], PTX_SPACE_SHARED, 0, &as);
	ir_line(l, "store i%u %s, %s, align %u", bytes * 8, v.s, to.s, bytes);
	return true;
}

bool lower_async_copy(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_CP_ASYNC: return copy_now(l);
	case PTX_OP_CP_ASYNC_COMMIT_GROUP:
	case PTX_OP_CP_ASYNC_WAIT_GROUP:
	case PTX_OP_CP_ASYNC_WAIT_ALL: return true;
	default: return false;
	}
}
