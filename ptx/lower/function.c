/* SPDX-License-Identifier: Apache-2.0
 *
 * One function: its frame, its blocks, how they end. A guarded instruction stands in a block of its own.
 */
#include "ptx/lower/writer.h"

#include <stdlib.h>

#include "ptx/analysis.h"

static bool (*const families[])(struct lower *) = {
	lower_move,        lower_memory,    lower_carry,  lower_integer,     lower_logic,
	lower_compare,     lower_bit_field, lower_float,  lower_convert,     lower_approximation,
	lower_atomic,      lower_sync,      lower_warp,   lower_call,        lower_async_copy,
	lower_dot_product, lower_stack,     lower_matrix, lower_matrix_move,
};

/* Operations that take registers as bits know their types by themselves. */
static bool knows_types(enum ptx_op op)
{
	return op == PTX_OP_CVT || op == PTX_OP_ATOM || op == PTX_OP_RED ||
	       (op >= PTX_OP_TEX && op <= PTX_OP_SUQ) || (op >= PTX_OP_WMMA_LOAD && op <= PTX_OP_MOVMATRIX);
}

static void lower_instruction(struct lower *l)
{
	const char *reason = not_lowered_reason(l->i);

	if (reason) {
		lower_refuse(l, "%s", reason);
		return;
	}
	if (ptx_is_f64_as_f32(l->m, l->i)) {
		lower_refuse(l, "double precision that stands for single (.target map_f64_to_f32)");
		return;
	}
	if (l->i->type && !ir_type(l->i->type) && !knows_types(l->i->op)) {
		lower_refuse(l, "operands of type .%s", ptx_type_name(l->i->type));
		return;
	}
	for (size_t k = 0; k < sizeof(families) / sizeof(families[0]) && !l->refused; k++)
		if (families[k](l))
			return;
	lower_refuse(l, "this form of it");
}

static struct ir guard_of(struct lower *l)
{
	struct ptx_operand o = {.kind = PTX_OPND_VALUE, .index = l->i->guard, .negate = l->i->guard_negate};

	return read_bits(l, &o, 1);
}

static void lower_guarded(struct lower *l)
{
	unsigned then = l->next++, end = l->next++;

	if (!l->i->guarded) {
		lower_instruction(l);
		return;
	}
	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", guard_of(l).s, then, end);
	ir_label(l, then);
	lower_instruction(l);
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
}

/* Registers that a function returns are copied to its block of results. */
static void return_from(struct lower *l)
{
	const struct ptx_func *f = l->f;

	for (uint32_t k = 0, n = 0; k < f->nrets && l->i && n < l->i->nsrc; k++) {
		if (f->rets[k].slot == PTX_NONE)
			continue;
		unsigned bits = f->rets[k].size * 8;
		struct ir v = read_bits(l, &l->i->src[n++], bits);
		struct ir to =
			ir_op(l, "getelementptr i8, ptr addrspace(5) %%results, i32 %u", f->rets[k].offset);
		ir_line(l, "store i%u %s, ptr addrspace(5) %s, align 1", bits, v.s, to.s);
	}
	ir_line(l, "ret void");
}

static void lower_return(struct lower *l, const struct ptx_block *b)
{
	unsigned leave = l->next++;

	if (l->i->op == PTX_OP_EXIT && !l->f->is_entry)
		lower_refuse(l, "in a function that is called");
	if (l->i->guarded && b->nsuccs == 1) {
		ir_line(l, "br i1 %s, label %%l%u, label %%b%u", guard_of(l).s, leave, b->succs[0]);
		ir_label(l, leave);
	} else if (l->i->guarded) {
		lower_refuse(l, "a guard on the last instruction");
	}
	return_from(l);
}

static void lower_branch_table(struct lower *l, const struct ptx_block *b)
{
	const struct ptx_list *t = &l->f->lists[l->i->table];

	if (l->i->guarded || !t->n) {
		lower_refuse(l, "a guarded or empty table of branches");
		return;
	}
	struct ir at = read_bits(l, &l->i->src[0], 32);
	fprintf(l->body, "  switch i32 %s, label %%b%u [", at.s, b->succs[0]);
	for (uint32_t k = 0; k < t->n; k++)
		fprintf(l->body, " i32 %u, label %%b%u", k, t->items[k]);
	fprintf(l->body, " ], !dbg !DILocation(line: %u, scope: !%u)\n", l->i->line, l->subprogram);
}

/* True when the instruction ended the block. */
static bool lower_terminator(struct lower *l, const struct ptx_block *b)
{
	switch (l->i->op) {
	case PTX_OP_BRA:
		if (l->i->guarded)
			ir_line(l, "br i1 %s, label %%b%u, label %%b%u", guard_of(l).s, b->succs[0],
				b->succs[1]);
		else
			ir_line(l, "br label %%b%u", b->succs[0]);
		return true;
	case PTX_OP_BRX_IDX: lower_branch_table(l, b); return true;
	case PTX_OP_RET:
	case PTX_OP_EXIT: lower_return(l, b); return true;
	default: return false;
	}
}

static void lower_block(struct lower *l, uint32_t n)
{
	const struct ptx_block *b = &l->f->blocks[n];

	fprintf(l->body, "b%u:\n", n);
	for (uint32_t k = b->first; k < b->first + b->ninsts; k++) {
		l->i = &l->f->insts[k];
		if (lower_terminator(l, b))
			return;
		lower_guarded(l);
	}
	if (b->nsuccs)
		ir_line(l, "br label %%b%u", b->succs[0]);
	else
		ir_line(l, "ret void");
}

/* Registers, zero until they are written, then variables. */
static void write_frame(struct lower *l)
{
	const struct ptx_func *f = l->f;

	for (uint32_t k = 1; k < f->nslots; k++)
		fprintf(l->head, "  %%slot%u = alloca i%u, addrspace(5)\n", k, f->slots[k].bits);
	for (uint32_t k = f->first_symbol; k < f->first_symbol + f->nsymbols; k++) {
		const struct ptx_symbol *s = l->m->symbols[k];
		if (s->space == PTX_SPACE_LOCAL || s->space == PTX_SPACE_PARAM)
			fprintf(l->head, "  %%sym%u = alloca [%llu x i8], align %u, addrspace(5)\n", k,
				(unsigned long long)(s->size ? s->size : 1), s->align ? s->align : 1);
	}
	for (uint32_t k = 1; k < f->nslots; k++)
		ir_line(l, "store i%u 0, ptr addrspace(5) %%slot%u", f->slots[k].bits, k);
	for (uint32_t k = 0; k < f->nparams; k++) {
		const struct ptx_param *p = &f->params[k];
		if (p->slot == PTX_NONE)
			continue;
		struct ir at = ir_op(l, "getelementptr i8, ptr addrspace(5) %%params, i32 %u", p->offset);
		at = ir_op(l, "load i%u, ptr addrspace(5) %s, align 1", p->size * 8, at.s);
		at = ir_resize(l, at, p->size * 8, f->slots[p->slot].bits, false);
		ir_line(l, "store i%u %s, ptr addrspace(5) %%slot%u", f->slots[p->slot].bits, at.s, p->slot);
	}
	ir_line(l, "br label %%b0");
}

static void write_header(const struct lower *l, FILE *module)
{
	const struct ptx_func *f = l->f;

	if (f->is_entry)
		fprintf(module,
			"define protected amdgpu_kernel void @\"%s\"(ptr addrspace(4) byref([%u x i8]) align "
			"16 "
			"%%kernarg) #0 !dbg !%u {\nentry:\n",
			f->name, l->out->kernarg_bytes ? l->out->kernarg_bytes : 1, l->subprogram);
	else
		fprintf(module,
			"define internal void @f%u(ptr addrspace(5) %%params, ptr addrspace(5) %%results, "
			"ptr addrspace(4) %%kernarg) #1 !dbg !%u {\nentry:\n",
			f->index, l->subprogram);
}

/* The pairs of multiplication and sum of this function that may be fused. */
static bool find_contractible(struct lower *l)
{
	struct ptx_contractions pairs;

	l->contractible = NULL;
	if (!l->options->contract)
		return true;
	l->contractible = calloc(l->f->ninsts + 1, sizeof(*l->contractible));
	if (!l->contractible || ptx_contractions_find(l->f, &pairs))
		return lower_refuse(l, "out of memory");
	for (uint32_t k = 0; k < pairs.n; k++)
		l->contractible[pairs.at[k].mul] = l->contractible[pairs.at[k].add] = true;
	ptx_contractions_free(&pairs);
	return true;
}

/* The kernel's header says how large the kernarg is, which the bodies decide: they are written first. */
void lower_function(struct lower *l, FILE *module)
{
	char *head = NULL, *body = NULL;
	size_t head_bytes = 0, body_bytes = 0;

	l->has_stack_piece = false;
	l->head = open_memstream(&head, &head_bytes);
	l->body = open_memstream(&body, &body_bytes);
	if (!l->head || !l->body) {
		lower_refuse(l, "out of memory");
	} else if (check_function(l) && find_contractible(l)) {
		l->i = NULL;
		write_frame(l);
		for (uint32_t k = 0; k < l->f->nblocks && !l->refused; k++)
			lower_block(l, k);
	}
	if (l->head && fclose(l->head))
		lower_refuse(l, "out of memory");
	if (l->body && fclose(l->body))
		lower_refuse(l, "out of memory");
	l->i = NULL;
	if (!l->refused) {
		l->out->kernarg_bytes = l->out->variables_offset + 8 * l->out->nvariables;
		write_header(l, module);
		fprintf(module, "%s%s}\n\n", head, body);
	}
	free(head);
	free(body);
	free(l->contractible);
	l->contractible = NULL;
}
