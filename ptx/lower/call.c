/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls, PTX ISA 9.7.12.5. Parameters and results are blocks in the caller's private memory, laid out as the callee
 * declares them. Functions are inlined, and LLVM then takes the blocks apart, but for those that call themselves or that
 * are called by address.
 */
#include "ptx/lower/call_graph.h"
#include "ptx/lower/dispatch.h"

static void copy_bytes(struct lower *l, const char *to, const char *from, uint32_t bytes)
{
	ir_line(l, "call void @llvm.memcpy.p5.p5.i32(%s, %s, i32 %u, i1 false)", to, from, bytes);
}

static struct ir place(struct lower *l, unsigned block, uint32_t offset)
{
	return ir_op(l, "getelementptr i8, ptr addrspace(5) %%block%u, i32 %u", block, offset);
}

static void pass_argument(struct lower *l, const struct ptx_operand *o, const struct ptx_param *p,
			  unsigned block)
{
	struct ir to = place(l, block, p->offset);
	unsigned as;

	if (o->kind == PTX_OPND_SYMBOL && l->m->symbols[o->index]->space == PTX_SPACE_PARAM) {
		struct ir from = read_pointer(l, o, PTX_SPACE_PARAM, 0, &as);
		to = ir_text("ptr addrspace(5) %.40s", to.s);
		copy_bytes(l, to.s, from.s, p->is_open ? (uint32_t)l->m->symbols[o->index]->size : p->size);
	} else {
		struct ir v = read_bits(l, o, p->size * 8);
		ir_line(l, "store i%u %s, ptr addrspace(5) %s, align 1", p->size * 8, v.s, to.s);
	}
}

static void take_result(struct lower *l, const struct ptx_operand *o, const struct ptx_param *p,
			unsigned block)
{
	struct ir from = place(l, block, p->offset);
	unsigned as;

	if (o->kind == PTX_OPND_SYMBOL) {
		struct ir to = read_pointer(l, o, PTX_SPACE_PARAM, 0, &as);
		from = ir_text("ptr addrspace(5) %.40s", from.s);
		copy_bytes(l, to.s, from.s, p->size);
	} else {
		struct ir v = ir_op(l, "load i%u, ptr addrspace(5) %s, align 1", p->size * 8, from.s);
		write_bits(l, o, v, p->size * 8, false);
	}
}

static bool registers_fit(const struct ptx_param *p, uint32_t n, const struct ptx_operand *o)
{
	for (uint32_t k = 0; k < n; k++) {
		bool is_register = o[k].kind != PTX_OPND_SYMBOL;
		if (p[k].type == PTX_PRED || (is_register && p[k].size != 1 && p[k].size != 2 &&
					      p[k].size != 4 && p[k].size != 8 && p[k].size != 16))
			return false;
	}
	return true;
}

/* An array without size, the last parameter, can be left out. */
static bool arguments_match(const struct ptx_func *f, uint32_t n)
{
	return n == f->nparams || (n + 1 == f->nparams && ptx_has_open_param(f->params, f->nparams));
}

/* Operand of an indirect call that is the function's address. */
static unsigned first_argument(const struct ptx_inst *i)
{
	return i->target == PTX_NONE;
}

static uint32_t open_bytes(const struct lower *l, const struct ptx_func *f, const struct ptx_inst *i)
{
	if (!ptx_has_open_param(f->params, f->nparams) || i->nsrc < f->nparams + first_argument(i))
		return 0;
	return (uint32_t)l->m->symbols[i->src[first_argument(i) + f->nparams - 1].index]->size;
}

/* A block in the frame; at least a byte, so that it has an address. */
static unsigned new_block(struct lower *l, uint32_t bytes)
{
	unsigned n = l->next++;

	fprintf(l->head, "  %%block%u = alloca [%u x i8], align 16, addrspace(5)\n", n, bytes ? bytes : 1);
	return n;
}

static bool parameters_fit(const struct ptx_func *f, const struct ptx_inst *i)
{
	unsigned first = first_argument(i);

	return !f->is_entry && arguments_match(f, i->nsrc - first) && i->ndst == f->nrets &&
	       registers_fit(f->params, i->nsrc - first, i->src + first) &&
	       registers_fit(f->rets, f->nrets, i->dst);
}

uint32_t call_param_bytes(const struct lower *l, const struct ptx_func *f)
{
	uint32_t most = 0;

	if (!ptx_has_open_param(f->params, f->nparams))
		return f->param_bytes;
	for (uint32_t k = 0; k < l->norder; k++) {
		const struct ptx_func *from = l->m->funcs[l->order[k]];
		for (uint32_t n = 0; n < from->ninsts; n++) {
			const struct ptx_inst *i = &from->insts[n];
			if (call_may_reach(l, from, i, f->index) && parameters_fit(f, i) &&
			    open_bytes(l, f, i) > most)
				most = open_bytes(l, f, i);
		}
	}
	return f->param_bytes + most;
}

static void call_now(struct lower *l, const struct ptx_func *f, unsigned params, unsigned results)
{
	end_lane_if(
		l,
		ir_op(l,
		      "call i1 @f%u(ptr addrspace(5) %%block%u, ptr addrspace(5) %%block%u, ptr addrspace(4) "
		      "%%kernarg)",
		      f->index, params, results));
}

static void call_function(struct lower *l, const struct ptx_func *f)
{
	const struct ptx_inst *i = l->i;
	unsigned first = first_argument(i), params, results = new_block(l, f->ret_bytes);

	params = new_block(l, l->facts[f->index].merged ? call_param_bytes(l, f)
							: f->param_bytes + open_bytes(l, f, i));
	for (uint32_t k = 0; k + first < i->nsrc; k++)
		pass_argument(l, &i->src[k + first], &f->params[k], params);
	if (l->facts[f->index].merged) {
		dispatch_call(l, f, params);
		dispatch_called(l, f, results);
	} else {
		call_now(l, f, params, results);
	}
	for (uint32_t k = 0; k < f->nrets; k++)
		take_result(l, &i->dst[k], &f->rets[k], results);
}

/* One of the module, though none that this call may mean: it takes other parameters. */
static struct ir is_function(struct lower *l, struct ir address)
{
	struct ir n = ir_op(l, "sub i64 %s, %llu", address.s, (unsigned long long)LOWER_FUNCTION_ADDRESS(0));
	struct ir in =
		ir_op(l, "icmp ult i64 %s, %llu", n.s,
		      (unsigned long long)(LOWER_FUNCTION_ADDRESS(l->m->nfuncs) - LOWER_FUNCTION_ADDRESS(0)));

	n = ir_op(l, "and i64 %s, 15", n.s);
	return ir_op(l, "and i1 %s, %s", in.s, ir_op(l, "icmp eq i64 %s, 0", n.s).s);
}

/* By comparison with the addresses of all functions that it may be; another one is a fault. */
static bool call_indirect(struct lower *l)
{
	struct ir address = read_bits(l, &l->i->src[0], 64);
	unsigned end = l->next++;

	for (uint32_t k = 0; k < l->norder && !l->refused; k++) {
		const struct ptx_func *f = l->m->funcs[l->order[k]];
		if (!call_may_reach(l, l->f, l->i, f->index) || !parameters_fit(f, l->i))
			continue;
		unsigned then = l->next++, other = l->next++;
		struct ir is = ir_op(l, "icmp eq i64 %s, %llu", address.s,
				     (unsigned long long)LOWER_FUNCTION_ADDRESS(f->index));
		ir_line(l, "br i1 %s, label %%l%u, label %%l%u", is.s, then, other);
		ir_label(l, then);
		call_function(l, f);
		ir_line(l, "br label %%l%u", end);
		ir_label(l, other);
	}
	fault_if(l, is_function(l, address), LOWER_FAULT_INSTRUCTION);
	emit_fault_at(l, LOWER_FAULT_CALL, address);
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
	return true;
}

bool lower_call(struct lower *l)
{
	const struct ptx_inst *i = l->i;

	if (i->op != PTX_OP_CALL)
		return false;
	if (i->target == PTX_NONE)
		return call_indirect(l);
	const struct ptx_func *f = l->m->funcs[i->target];
	if (f->is_decl)
		return lower_runtime_call(l, f);
	if (!parameters_fit(f, i))
		return lower_refuse(l, "a call of %s with parameters of this kind", f->name);
	call_function(l, f);
	return true;
}
