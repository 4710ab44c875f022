/* SPDX-License-Identifier: Apache-2.0
 *
 * One function: its frame, its blocks, how they end. A guarded instruction stands in a block of its own.
 */
#include "ptx/lower/variable_address.h"

#include <stdlib.h>

#include "ptx/analysis.h"
#include "ptx/lower/barrier.h"
#include "ptx/lower/dispatch.h"

/* LLVM takes 16 KiB for the frames of functions that it can't count; a frame should fit into the rest. */
enum { RECURSION_BYTES = 16384, RECURSION_MARGIN = 2048 };

static bool (*const families[])(struct lower *) = {
	lower_move,        lower_memory,  lower_carry,      lower_integer,       lower_logic,  lower_compare,
	lower_bit_field,   lower_float,   lower_convert,    lower_approximation, lower_atomic, lower_sync,
	lower_warp,        lower_call,    lower_async_copy, lower_dot_product,   lower_stack,  lower_matrix,
	lower_matrix_move, lower_barrier, lower_mbarrier,   lower_fault,         lower_video,  lower_texture,
};

/* Operations that take registers as bits know their types by themselves. */
static bool knows_types(enum ptx_op op)
{
	return op == PTX_OP_CVT || op == PTX_OP_ATOM || op == PTX_OP_RED ||
	       (op >= PTX_OP_TEX && op <= PTX_OP_SUQ) || (op >= PTX_OP_WMMA_LOAD && op <= PTX_OP_MOVMATRIX);
}

bool is_marked(const struct lower *l, const uint8_t *marks)
{
	return marks && l->i >= l->f->insts && l->i < l->f->insts + l->f->ninsts && marks[l->i - l->f->insts];
}

static struct ir first_lanes(struct lower *l, struct ir v)
{
	return ir_op(l, "call i32 @llvm.amdgcn.readfirstlane.i32(i32 %s)", v.s);
}

/* A read that decides whether lanes stay in a loop is one for all of them. */
static void make_one(struct lower *l)
{
	const struct ptx_operand *o = &l->i->dst[0];

	if (l->dispatch || !is_marked(l, l->facts[l->f->index].together) || o->kind != PTX_OPND_VALUE)
		return;
	unsigned bits = l->f->values[o->index].bits == 64 ? 64 : 32;
	struct ir v = read_bits(l, o, bits), lo = first_lanes(l, ir_resize(l, v, bits, 32, false));
	if (bits == 64) {
		struct ir hi = first_lanes(l, ir_resize(l, ir_op(l, "lshr i64 %s, 32", v.s), 64, 32, false));
		hi = ir_op(l, "shl i64 %s, 32", ir_resize(l, hi, 32, 64, false).s);
		lo = ir_op(l, "or i64 %s, %s", ir_resize(l, lo, 32, 64, false).s, hi.s);
	}
	write_bits(l, o, lo, bits, false);
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
	if (l->dispatch && dispatch_warp_operation(l))
		return;
	for (size_t k = 0; k < sizeof(families) / sizeof(families[0]) && !l->refused; k++)
		if (families[k](l)) {
			make_one(l);
			return;
		}
	lower_refuse(l, "this form of it");
}

struct ir guard_of(struct lower *l)
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

struct ir block_label(struct lower *l, uint32_t n)
{
	return l->dispatch ? dispatch_target(l, n) : ir_text("%%b%u", n);
}

/* Functions say whether the lane has ended; who called them then ends it, too. */
void end_lane(struct lower *l)
{
	if (l->dispatch) {
		ir_line(l, "br label %%d.exit");
	} else if (l->f->is_entry) {
		barrier_lanes_end(l);
		ir_line(l, "ret void");
	} else {
		ir_line(l, "ret i1 true");
	}
	ir_label(l, l->next++);
}

void end_lane_if(struct lower *l, struct ir condition)
{
	unsigned then = l->next++, end = l->next++;

	ir_line(l, "br i1 %s, label %%l%u, label %%l%u", condition.s, then, end);
	ir_label(l, then);
	end_lane(l);
	ir_line(l, "br label %%l%u", end);
	ir_label(l, end);
}

/* Registers that a function returns are copied to its block of results. */
static void write_results(struct lower *l)
{
	const struct ptx_func *f = l->f;

	for (uint32_t k = 0, n = 0; k < f->nrets && n < l->i->nsrc; k++) {
		if (f->rets[k].slot == PTX_NONE)
			continue;
		unsigned bits = f->rets[k].size * 8;
		struct ir v = read_bits(l, &l->i->src[n++], bits);
		struct ir to = ir_op(l, "getelementptr i8, ptr addrspace(5) %%%sresults, i32 %u", l->prefix,
				     f->rets[k].offset);
		ir_line(l, "store i%u %s, ptr addrspace(5) %s, align 1", bits, v.s, to.s);
	}
}

/* ret of a kernel is exit. */
static void leave(struct lower *l)
{
	if (l->f->is_entry || (l->i && l->i->op == PTX_OP_EXIT)) {
		end_lane(l);
		ir_line(l, "unreachable");
		return;
	}
	if (l->i && l->i->op == PTX_OP_RET)
		write_results(l);
	if (l->dispatch)
		dispatch_return(l);
	else
		ir_line(l, "ret i1 false");
}

static void lower_leave(struct lower *l, const struct ptx_block *b)
{
	unsigned then = l->next++;

	if (l->i->guarded && b->nsuccs == 1) {
		ir_line(l, "br i1 %s, label %%l%u, label %s", guard_of(l).s, then,
			block_label(l, b->succs[0]).s);
		ir_label(l, then);
	} else if (l->i->guarded) {
		lower_refuse(l, "a guard on the last instruction");
	}
	leave(l);
}

/* Successors are the table's, then where a false guard leads. */
static void lower_branch_table(struct lower *l, const struct ptx_block *b)
{
	const struct ptx_list *t = &l->f->lists[l->i->table];
	unsigned then = l->next++;

	if (!t->n || b->nsuccs < t->n + l->i->guarded) {
		lower_refuse(l, "an empty table of branches");
		return;
	}
	if (l->i->guarded) {
		ir_line(l, "br i1 %s, label %%l%u, label %s", guard_of(l).s, then,
			block_label(l, b->succs[t->n]).s);
		ir_label(l, then);
	}
	struct ir at = read_bits(l, &l->i->src[0], 32);
	fprintf(l->body, "  switch i32 %s, label %s [", at.s, block_label(l, b->succs[0]).s);
	for (uint32_t k = 0; k < t->n; k++)
		fprintf(l->body, " i32 %u, label %s", k, block_label(l, t->items[k]).s);
	fprintf(l->body, " ], !dbg !DILocation(line: %u, scope: !%u)\n", l->i->line, l->subprogram);
}

/* True when the instruction ended the block. */
static bool lower_terminator(struct lower *l, const struct ptx_block *b)
{
	switch (l->i->op) {
	case PTX_OP_BRA:
		if (l->i->guarded)
			ir_line(l, "br i1 %s, label %s, label %s", guard_of(l).s,
				block_label(l, b->succs[0]).s, block_label(l, b->succs[1]).s);
		else
			ir_line(l, "br label %s", block_label(l, b->succs[0]).s);
		return true;
	case PTX_OP_BRX_IDX: lower_branch_table(l, b); return true;
	case PTX_OP_RET:
	case PTX_OP_EXIT: lower_leave(l, b); return true;
	default: return false;
	}
}

static void lower_block(struct lower *l, uint32_t n)
{
	const struct ptx_block *b = &l->f->blocks[n];

	if (l->dispatch)
		dispatch_block_begins(l, n);
	else
		fprintf(l->body, "b%u:\n", n);
	for (uint32_t k = b->first; k < b->first + b->ninsts; k++) {
		l->i = &l->f->insts[k];
		if (lower_terminator(l, b))
			return;
		lower_guarded(l);
	}
	if (b->nsuccs)
		ir_line(l, "br label %s", block_label(l, b->succs[0]).s);
	else
		leave(l);
}

/* The pairs of multiplication and sum of this function that may be fused. */
static void find_contractible(struct lower *l)
{
	struct ptx_contractions pairs;

	if (!l->options->contract)
		return;
	l->contractible = calloc(l->f->ninsts + 1, sizeof(*l->contractible));
	if (!l->contractible || ptx_contractions_find(l->f, &pairs)) {
		lower_no_memory(l);
		return;
	}
	for (uint32_t k = 0; k < pairs.n; k++)
		l->contractible[pairs.at[k].mul] = l->contractible[pairs.at[k].add] = true;
	ptx_contractions_free(&pairs);
}

void write_blocks(struct lower *l)
{
	find_contractible(l);
	for (uint32_t k = 0; k < l->f->nblocks && !l->refused; k++)
		lower_block(l, k);
	l->i = NULL;
	variable_addresses_free(l);
	free(l->contractible);
	l->contractible = NULL;
}

static void write_variables(struct lower *l)
{
	const struct ptx_func *f = l->f;

	for (uint32_t k = f->first_symbol; k < f->first_symbol + f->nsymbols; k++) {
		const struct ptx_symbol *s = l->m->symbols[k];
		if (s->space != PTX_SPACE_LOCAL && s->space != PTX_SPACE_PARAM)
			continue;
		unsigned bytes = variable_element_bytes(l, k);
		fprintf(l->head, "  %%sym%u = alloca [%llu x i%u], align %u, addrspace(5)\n", k,
			(unsigned long long)(s->size ? s->size / bytes : 1), 8 * bytes,
			s->align ? s->align : 1);
	}
}

/* Registers are zero until they are written. */
/* Static shared memory has the size that PTX says, whatever of it is read, and addresses that aren't seen to come from
 * it may lie in it: a use that is no instruction, as LLVM itself marks it. */
static void keep_shared(struct lower *l)
{
	l->uses_static_shared = true;
	fputs("  call void @llvm.donothing() [ \"ExplicitUse\"(ptr addrspace(3) @shared.static) ]\n",
	      l->head);
}

void write_frame(struct lower *l)
{
	const struct ptx_func *f = l->f;

	variable_addresses_find(l);
	if (f->is_entry && f->nshared)
		keep_shared(l);
	for (uint32_t k = 1; k < f->nslots; k++)
		if (l->dispatch)
			dispatch_slot(l, k);
		else
			fprintf(l->head, "  %%slot%u = alloca i%u, addrspace(5)\n", k, f->slots[k].bits);
	if (!dispatch_has_locals_on_stack(l))
		write_variables(l);
	stack_begins(l);
	for (uint32_t k = 1; k < f->nslots; k++)
		ir_line(l, "store i%u 0, ptr addrspace(5) %%%sslot%u", f->slots[k].bits, l->prefix, k);
	for (uint32_t k = 0; k < f->nparams; k++) {
		const struct ptx_param *p = &f->params[k];
		if (p->slot == PTX_NONE)
			continue;
		struct ir at = ir_op(l, "getelementptr i8, ptr addrspace(5) %%%sparams, i32 %u", l->prefix,
				     p->offset);
		at = ir_op(l, "load i%u, ptr addrspace(5) %s, align 1", p->size * 8, at.s);
		at = ir_resize(l, at, p->size * 8, f->slots[p->slot].bits, false);
		ir_line(l, "store i%u %s, ptr addrspace(5) %%%sslot%u", f->slots[p->slot].bits, at.s,
			l->prefix, p->slot);
	}
}

/* A function that calls itself: the stack that LLVM gives it, which grows upwards, must not have come to its end. */
static void check_stack(struct lower *l)
{
	if (!l->facts[l->f->index].recursive)
		return;
	fputs("  %stack.here = alloca i32, addrspace(5)\n", l->head);
	struct ir at = ir_op(l, "ptrtoint ptr addrspace(5) %%stack.here to i32");
	fault_if(l, ir_op(l, "icmp ugt i32 %s, %u", at.s, RECURSION_BYTES - RECURSION_MARGIN),
		 LOWER_FAULT_STACK);
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
			"define internal i1 @f%u(ptr addrspace(5) %%params, ptr addrspace(5) %%results, "
			"ptr addrspace(4) %%kernarg) #%u !dbg !%u {\nentry:\n",
			f->index, l->facts[f->index].recursive || l->facts[f->index].addressed ? 2 : 1,
			l->subprogram);
}

static void write_body(struct lower *l)
{
	l->i = NULL;
	if (l->f->is_entry && l->facts[l->f->index].merged) {
		write_dispatched(l);
		return;
	}
	write_frame(l);
	if (l->f->is_entry)
		barrier_kernel_begins(l);
	else
		check_stack(l);
	ir_line(l, "br label %%b0");
	write_blocks(l);
}

/* The kernel's header says how large the kernarg is, which the bodies decide: they are written first. */
void lower_function(struct lower *l, FILE *module)
{
	char *head = NULL, *body = NULL;
	size_t head_bytes = 0, body_bytes = 0;

	l->head = open_memstream(&head, &head_bytes);
	l->body = open_memstream(&body, &body_bytes);
	if (!l->head || !l->body) {
		lower_no_memory(l);
	} else {
		write_body(l);
	}
	if (l->head && fclose(l->head))
		lower_no_memory(l);
	if (l->body && fclose(l->body))
		lower_no_memory(l);
	l->i = NULL;
	if (!l->refused) {
		uint32_t end = l->out->variables_offset + 8 * l->out->nvariables;
		l->out->runtime_offset = !l->uses_runtime ? 0 : end ? end : 8; /* 0 says that there is none */
		l->out->kernarg_bytes = l->uses_runtime ? l->out->runtime_offset + 8 : end;
		write_header(l, module);
		fprintf(module, "%s%s}\n\n", head, body);
	}
	free(head);
	free(body);
}
