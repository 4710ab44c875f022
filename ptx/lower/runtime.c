/* SPDX-License-Identifier: Apache-2.0
 *
 * The run-time block from the kernel's side (runtime.h): faults that end a lane, and the functions that CUDA's device
 * run-time library declares in PTX: vprintf, malloc, free, __assertfail. Their work is the device library's.
 */
#include "ptx/lower/writer.h"

#include <stddef.h>
#include <string.h>

/* Where the kernarg has the block's address is known when all of the kernel is written: the module says it in a
 * constant, which LLVM folds. */
struct ir runtime_pointer(struct lower *l)
{
	struct ir at;

	l->uses_runtime = true;
	at = ir_op(l, "load i64, ptr addrspace(4) @runtime.offset, align 8");
	at = ir_op(l, "getelementptr i8, ptr addrspace(4) %%kernarg, i64 %s", at.s);
	return ir_op(l, "load ptr addrspace(1), ptr addrspace(4) %s, align 8, !invariant.load !0", at.s);
}

struct ir runtime_word(struct lower *l, size_t offset, unsigned bits)
{
	struct ir p = runtime_pointer(l);

	p = ir_op(l, "getelementptr i8, ptr addrspace(1) %s, i64 %zu", p.s, offset);
	return ir_op(l, "load i%u, ptr addrspace(1) %s, align %u", bits, p.s, bits / 8);
}

void emit_fault_at(struct lower *l, enum lower_fault_kind kind, struct ir address)
{
	struct ir r = runtime_pointer(l);

	ir_line(l, "call void @ct_fault(ptr addrspace(1) %s, i32 %u, i32 %u, i64 %s)", r.s, kind,
		l->i ? l->i->line : l->f->line, address.s);
	end_lane(l);
}

void emit_fault(struct lower *l, enum lower_fault_kind kind)
{
	emit_fault_at(l, kind, ir_text("0"));
}

void fault_if(struct lower *l, struct ir condition, enum lower_fault_kind kind)
{
	unsigned then = l->next++, end = l->next++;

	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", condition.s, then, end);
	ir_label(l, then);
	emit_fault(l, kind);
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
}

/* ---- calls ------------------------------------------------------------------------------- */

/* Argument k of the call: a register's value, or a variable of space .param. */
static struct ir argument(struct lower *l, unsigned k, unsigned bits)
{
	const struct ptx_operand *o = &l->i->src[k];
	unsigned as;

	if (o->kind != PTX_OPND_SYMBOL || l->m->symbols[o->index]->space != PTX_SPACE_PARAM)
		return read_bits(l, o, bits);
	struct ir from = read_pointer(l, o, PTX_SPACE_PARAM, 0, &as);
	return ir_op(l, "load i%u, %s, align 1", bits, from.s);
}

static struct ir pointer_argument(struct lower *l, unsigned k)
{
	return ir_op(l, "inttoptr i64 %s to ptr", argument(l, k, 64).s);
}

static void result(struct lower *l, struct ir v, unsigned bits)
{
	const struct ptx_operand *o = l->i->dst;
	unsigned as;

	if (!l->i->ndst)
		return;
	if (o->kind != PTX_OPND_SYMBOL) {
		write_bits(l, o, v, bits, false);
		return;
	}
	struct ir to = read_pointer(l, o, PTX_SPACE_PARAM, 0, &as);
	ir_line(l, "store i%u %s, %s, align 1", bits, v.s, to.s);
}

static void call_vprintf(struct lower *l)
{
	struct ir r = runtime_pointer(l), format = pointer_argument(l, 0), list = pointer_argument(l, 1);

	result(l,
	       ir_op(l, "call i32 @ct_vprintf(ptr addrspace(1) %s, ptr %s, ptr %s)", r.s, format.s, list.s),
	       32);
}

static void call_malloc(struct lower *l)
{
	struct ir r = runtime_pointer(l), bytes = argument(l, 0, 64);

	result(l, ir_op(l, "call i64 @ct_malloc(ptr addrspace(1) %s, i64 %s)", r.s, bytes.s), 64);
}

static void call_free(struct lower *l)
{
	struct ir r = runtime_pointer(l), address = argument(l, 0, 64);
	struct ir bad = ir_op(l, "call i32 @ct_free(ptr addrspace(1) %s, i32 %u, i64 %s)", r.s, l->i->line,
			      address.s);

	end_lane_if(l, ir_op(l, "icmp ne i32 %s, 0", bad.s));
}

/* (message, file, line, function, size of a char) */
static void call_assertfail(struct lower *l)
{
	struct ir r = runtime_pointer(l), message = pointer_argument(l, 0), file = pointer_argument(l, 1);
	struct ir line = argument(l, 2, 32), function = pointer_argument(l, 3);

	ir_line(l, "call void @ct_assertfail(ptr addrspace(1) %s, i32 %u, ptr %s, ptr %s, i32 %s, ptr %s)",
		r.s, l->i->line, message.s, file.s, line.s, function.s);
	end_lane(l);
}

/* Sizes in bytes, one digit each. */
static bool sizes_are(const struct ptx_param *p, uint32_t n, const char *sizes)
{
	bool ok = n == strlen(sizes);

	for (uint32_t k = 0; ok && k < n; k++)
		ok = p[k].type != PTX_PRED && p[k].size == (uint32_t)(sizes[k] - '0');
	return ok;
}

static const struct {
	const char *name, *params, *results;
	void (*lower)(struct lower *l);
} functions[] = {
	{"vprintf", "88", "4", call_vprintf},
	{"malloc", "8", "8", call_malloc},
	{"free", "8", "", call_free},
	{"__assertfail", "88488", "", call_assertfail},
};

bool lower_runtime_call(struct lower *l, const struct ptx_func *f)
{
	for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
		if (strcmp(functions[k].name, f->name))
			continue;
		if (!sizes_are(f->params, f->nparams, functions[k].params) ||
		    !sizes_are(f->rets, f->nrets, functions[k].results) || l->i->nsrc != f->nparams)
			return lower_refuse(l, "a declaration of %s that isn't CUDA's", f->name);
		functions[k].lower(l);
		return true;
	}
	return lower_refuse(l, "a call of %s, which has no body here", f->name);
}

/* ---- instructions --------------------------------------------------------------------------- */

bool lower_fault(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_TRAP: emit_fault(l, LOWER_FAULT_TRAP); return true;
	case PTX_OP_BRKPT: emit_fault(l, LOWER_FAULT_BRKPT); return true;
	default: return false;
	}
}
