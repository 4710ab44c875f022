/* SPDX-License-Identifier: Apache-2.0
 *
 * Direct calls, PTX ISA 9.7.12.4. Parameters and results are blocks in the caller's private memory, laid out as the
 * callee declares them; all functions are inlined, and LLVM then takes the blocks apart.
 */
#include "ptx/lower/writer.h"

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

static uint32_t open_bytes(const struct lower *l, const struct ptx_func *f, const struct ptx_inst *i)
{
	if (!ptx_has_open_param(f->params, f->nparams) || i->nsrc < f->nparams)
		return 0;
	return (uint32_t)l->m->symbols[i->src[f->nparams - 1].index]->size;
}

/* A block in the frame; at least a byte, so that it has an address. */
static unsigned new_block(struct lower *l, uint32_t bytes)
{
	unsigned n = l->next++;

	fprintf(l->head, "  %%block%u = alloca [%u x i8], align 16, addrspace(5)\n", n, bytes ? bytes : 1);
	return n;
}

bool lower_call(struct lower *l)
{
	const struct ptx_inst *i = l->i;

	if (i->op != PTX_OP_CALL)
		return false;
	if (i->target == PTX_NONE)
		return lower_refuse(l, "an indirect call");
	const struct ptx_func *f = l->m->funcs[i->target];
	if (f->is_decl)
		return lower_refuse(l, "a call of %s, which has no body here", f->name);
	if (f->is_entry || !arguments_match(f, i->nsrc) || i->ndst != f->nrets ||
	    !registers_fit(f->params, i->nsrc, i->src) || !registers_fit(f->rets, f->nrets, i->dst))
		return lower_refuse(l, "a call of %s with parameters of this kind", f->name);
	unsigned params = new_block(l, f->param_bytes + open_bytes(l, f, i)),
		 results = new_block(l, f->ret_bytes);
	for (uint32_t k = 0; k < i->nsrc; k++)
		pass_argument(l, &i->src[k], &f->params[k], params);
	ir_line(l,
		"call void @f%u(ptr addrspace(5) %%block%u, ptr addrspace(5) %%block%u, ptr addrspace(4) "
		"%%kernarg)",
		f->index, params, results);
	for (uint32_t k = 0; k < f->nrets; k++)
		take_result(l, &i->dst[k], &f->rets[k], results);
	return true;
}
