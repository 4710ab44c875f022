/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of a dispatched kernel. Each has one frame, in the kernel's; one that may be active several times keeps
 * its variables on a stack, and is called with its frame saved there.
 */
#include <stdlib.h>

#include "ptx/lower/call_graph.h"
#include "ptx/lower/convergence.h"
#include "ptx/lower/dispatch_parts.h"
#include "ptx/lower/loops.h"
#include "ptx/lower/runtime.h"

enum { STACK_BYTES = 16384 }; /* of a lane, for functions that call themselves */

static bool calls_merged(const struct lower *l, const struct ptx_inst *i)
{
	for (uint32_t k = 0; i->op == PTX_OP_CALL && k < l->norder; k++)
		if (l->facts[l->order[k]].merged && call_may_reach(l, l->f, i, l->order[k]))
			return true;
	return false;
}

/* A loop in which it stands is left after each turn. */
static bool suspends(const struct lower *l, const struct ptx_inst *i)
{
	return waits_for_warp(i) || waits_for_block(i) || reads_others(i) || orders_memory(i) ||
	       i->flags & PTX_F_ALIGNED || calls_merged(l, i);
}

static bool block_suspends(const struct lower *l, uint32_t b)
{
	const struct ptx_block *k = &l->f->blocks[b];

	const uint8_t *anew = l->facts[l->f->index].anew;

	for (uint32_t n = k->first; n < k->first + k->ninsts; n++)
		if (suspends(l, &l->f->insts[n]) || (anew && anew[n]))
			return true;
	return false;
}

/* What finding the cuts needs, and whether the last round found one. */
struct cuts {
	struct lower *l;
	uint32_t *stack;
	uint8_t *seen, *suspends; /* by block */
	bool more;
};

/* The natural loop of the edge from `last` back to `head` has a state in it: none may be entered in the middle. */
static bool loop_suspends(const struct cuts *c, uint32_t head, uint32_t last)
{
	const struct ptx_func *f = c->l->f;
	bool found = c->suspends[head] || c->suspends[last];
	uint32_t n = 0;

	for (uint32_t b = 0; b < f->nblocks; b++)
		c->seen[b] = b == head || b == last;
	if (last != head)
		c->stack[n++] = last;
	while (n && !found) {
		const struct ptx_block *k = &f->blocks[c->stack[--n]];
		for (uint32_t p = 0; p < k->npreds; p++) {
			uint32_t from = k->preds[p];
			if (c->seen[from])
				continue;
			c->seen[from] = 1;
			found |= c->suspends[from];
			c->stack[n++] = from;
		}
	}
	return found;
}

static void cut_at(void *ctx, uint32_t from, uint32_t to)
{
	struct cuts *c = ctx;
	struct lower *l = c->l;

	if (l->dispatch->cut[to] || (loops_dominates(l->f, to, from) && !loop_suspends(c, to, from)))
		return;
	l->dispatch->cut[to] = CUT;
	c->suspends[to] = 1;
	c->more = true;
}

static void find_cuts(struct lower *l)
{
	size_t n = (size_t)l->f->nblocks + 1;
	struct cuts c = {.l = l,
			 .stack = calloc(n, sizeof(*c.stack)),
			 .seen = calloc(n, 1),
			 .suspends = calloc(n, 1),
			 .more = true};

	free(l->dispatch->cut);
	l->dispatch->cut = calloc(n, sizeof(*l->dispatch->cut));
	if (!c.stack || !c.seen || !c.suspends || !l->dispatch->cut)
		lower_no_memory(l);
	for (uint32_t b = 0; !l->refused && b < l->f->nblocks; b++)
		c.suspends[b] = block_suspends(l, b);
	while (!l->refused && c.more) {
		c.more = false;
		if (loops_walk(l->f, cut_at, &c))
			lower_no_memory(l);
	}
	free(c.stack);
	free(c.seen);
	free(c.suspends);
}

struct ir dispatch_target(struct lower *l, uint32_t n)
{
	return ir_text("%%%s%s%u", l->prefix, l->dispatch->cut[n] ? "to" : "b", n);
}

void dispatch_block_begins(struct lower *l, uint32_t n)
{
	struct ir label = ir_text("%sb%u", l->prefix, n);

	if (l->dispatch->cut[n])
		l->dispatch->cut[n] = CUT_STATE + dispatch_state(l, label, false);
	fprintf(l->body, "%s:\n", label.s);
}

/* What edges to blocks that are states lead to. */
static void write_ways_to_states(struct lower *l)
{
	l->i = NULL;
	for (uint32_t n = 0; n < l->f->nblocks; n++)
		if (l->dispatch->cut[n]) {
			fprintf(l->body, "%sto%u:\n", l->prefix, n);
			dispatch_go_to(l, ir_text("%u", l->dispatch->cut[n] - CUT_STATE));
		}
}

static bool on_stack(const struct lower *l, const struct ptx_func *f)
{
	return l->facts[f->index].recursive;
}

static bool is_local(const struct ptx_symbol *s)
{
	return s->space == PTX_SPACE_LOCAL || s->space == PTX_SPACE_PARAM;
}

static uint32_t padded(uint64_t bytes)
{
	return bytes > STACK_BYTES ? STACK_BYTES + 1 : (uint32_t)(bytes + 15) & ~15u;
}

/* Where a variable stands among those of its function. */
static uint32_t place_of(const struct lower *l, const struct ptx_func *f, uint32_t symbol)
{
	uint32_t at = 0;

	for (uint32_t k = f->first_symbol; k < symbol && at <= STACK_BYTES; k++)
		if (is_local(l->m->symbols[k]))
			at += padded(l->m->symbols[k]->size);
	return at;
}

struct ir dispatch_local(struct lower *l, uint32_t symbol)
{
	struct ir at = ir_op(l, "load i32, ptr addrspace(5) %%%sframe", l->prefix);

	at = ir_op(l, "add i32 %s, %u", at.s, place_of(l, l->f, symbol));
	return ir_op(l, "getelementptr i8, ptr addrspace(5) %%d.stack, i32 %s", at.s);
}

bool dispatch_has_locals_on_stack(const struct lower *l)
{
	return l->dispatch && on_stack(l, l->f);
}

static struct ir function_prefix(const struct ptx_func *f)
{
	return f->is_entry ? ir_text("%s", "") : ir_text("f%u.", f->index);
}

/* The stack has room for so many bytes more, or the lane ends with a fault. */
static void take_stack(struct lower *l, uint32_t bytes)
{
	struct ir depth = ir_op(l, "load i32, ptr addrspace(5) %%d.depth");
	struct ir more = ir_op(l, "add i32 %s, %u", depth.s, bytes);

	fault_if(l, ir_op(l, "icmp ugt i32 %s, %u", more.s, STACK_BYTES), LOWER_FAULT_STACK);
	ir_line(l, "store i32 %s, ptr addrspace(5) %%d.depth", more.s);
}

static void give_stack(struct lower *l, uint32_t bytes)
{
	struct ir depth = ir_op(l, "load i32, ptr addrspace(5) %%d.depth");

	ir_line(l, "store i32 %s, ptr addrspace(5) %%d.depth", ir_op(l, "sub i32 %s, %u", depth.s, bytes).s);
}

static uint32_t locals_bytes(const struct lower *l, const struct ptx_func *f)
{
	return place_of(l, f, f->first_symbol + f->nsymbols);
}

/* Registers, parameters, results, the place of the variables, the way back. */
static uint32_t frame_bytes(const struct lower *l, const struct ptx_func *f)
{
	return 16 * f->nslots + padded(call_param_bytes(l, f)) + padded(f->ret_bytes) + 32;
}

/* Copies one part of the frame from or to `at` of the stack. */
static void move_part(struct lower *l, struct ir top, uint32_t at, struct ir part, uint32_t bytes, bool save)
{
	struct ir on = ir_op(l, "getelementptr i8, ptr addrspace(5) %s, i32 %u", top.s, at);

	if (bytes)
		ir_line(l,
			"call void @llvm.memcpy.p5.p5.i32(ptr addrspace(5) %s, ptr addrspace(5) %s, i32 %u, "
			"i1 false)",
			save ? on.s : part.s, save ? part.s : on.s, bytes);
}

static void move_frame(struct lower *l, const struct ptx_func *f, bool save)
{
	struct ir p = function_prefix(f), depth = ir_op(l, "load i32, ptr addrspace(5) %%d.depth");
	struct ir top = ir_op(l, "getelementptr i8, ptr addrspace(5) %%d.stack, i32 %s",
			      ir_op(l, "sub i32 %s, %u", depth.s, frame_bytes(l, f)).s);
	uint32_t at = 16 * f->nslots;

	for (uint32_t k = 1; k < f->nslots; k++)
		move_part(l, top, 16 * k, ir_text("%%%.16sslot%u", p.s, k), (f->slots[k].bits + 7) / 8, save);
	move_part(l, top, at, ir_text("%%%.16sparams", p.s), call_param_bytes(l, f), save);
	at += padded(call_param_bytes(l, f));
	move_part(l, top, at, ir_text("%%%.16sresults", p.s), f->ret_bytes, save);
	at += padded(f->ret_bytes);
	move_part(l, top, at, ir_text("%%%.16sframe", p.s), 4, save);
	move_part(l, top, at + 16, ir_text("%%%.16sback", p.s), 4, save);
}

void dispatch_frames_begin(struct lower *l)
{
	for (uint32_t k = 0; k < l->norder; k++)
		l->dispatch->has_stack |= l->facts[l->order[k]].merged && l->facts[l->order[k]].recursive;
	if (!l->dispatch->has_stack)
		return;
	fprintf(l->head, "  %%d.stack = alloca [%u x i8], align 16, addrspace(5)\n", STACK_BYTES);
	dispatch_variable(l, "d.depth", "i32");
	ir_line(l, "store i32 0, ptr addrspace(5) %%d.depth");
}

/* A function's own variables, besides its registers. */
static void write_function_head(struct lower *l)
{
	const struct ptx_func *f = l->f;

	if (f->is_entry)
		return;
	fprintf(l->head, "  %%%sparams = alloca [%u x i8], align 16, addrspace(5)\n", l->prefix,
		call_param_bytes(l, f) ? call_param_bytes(l, f) : 1);
	fprintf(l->head, "  %%%sresults = alloca [%u x i8], align 16, addrspace(5)\n", l->prefix,
		f->ret_bytes ? f->ret_bytes : 1);
	fprintf(l->head, "  %%%sback = alloca i32, addrspace(5)\n  %%%sframe = alloca i32, addrspace(5)\n",
		l->prefix, l->prefix);
}

void dispatch_write_function(struct lower *l)
{
	const struct ptx_func *f = l->f;

	snprintf(l->prefix, sizeof(l->prefix), "%.15s", function_prefix(f).s);
	find_cuts(l);
	if (l->refused)
		return;
	write_function_head(l);
	fprintf(l->body, "%senter:\n", f->is_entry ? "f." : l->prefix);
	if (!f->is_entry && on_stack(l, f)) {
		ir_line(l, "store i32 %s, ptr addrspace(5) %%%sframe",
			ir_op(l, "load i32, ptr addrspace(5) %%d.depth").s, l->prefix);
		take_stack(l, locals_bytes(l, f));
	}
	write_frame(l);
	ir_line(l, "br label %s", dispatch_target(l, 0).s);
	write_blocks(l);
	write_ways_to_states(l);
}

void dispatch_call(struct lower *l, const struct ptx_func *callee, unsigned params)
{
	unsigned back = l->next++;
	struct ir p = function_prefix(callee);
	uint32_t *enter = &l->facts[callee->index].enter;

	if (on_stack(l, callee)) {
		take_stack(l, frame_bytes(l, callee));
		move_frame(l, callee, true);
	}
	if (call_param_bytes(l, callee))
		ir_line(l,
			"call void @llvm.memcpy.p5.p5.i32(ptr addrspace(5) %%%sparams, ptr addrspace(5) "
			"%%block%u, i32 "
			"%u, i1 false)",
			p.s, params, call_param_bytes(l, callee));
	if (!*enter)
		*enter = dispatch_state(l, ir_text("%.16senter", p.s), false);
	ir_line(l, "store i32 %u, ptr addrspace(5) %%%sback", dispatch_state(l, ir_text("l%u", back), false),
		p.s);
	dispatch_go_to(l, ir_text("%u", *enter));
	ir_label(l, back);
}

void dispatch_called(struct lower *l, const struct ptx_func *callee, unsigned results)
{
	if (callee->ret_bytes)
		ir_line(l,
			"call void @llvm.memcpy.p5.p5.i32(ptr addrspace(5) %%block%u, ptr addrspace(5) "
			"%%%sresults, i32 "
			"%u, i1 false)",
			results, function_prefix(callee).s, callee->ret_bytes);
	if (!on_stack(l, callee))
		return;
	move_frame(l, callee, false);
	give_stack(l, frame_bytes(l, callee));
}

void dispatch_return(struct lower *l)
{
	if (on_stack(l, l->f))
		ir_line(l, "store i32 %s, ptr addrspace(5) %%d.depth",
			ir_op(l, "load i32, ptr addrspace(5) %%%sframe", l->prefix).s);
	dispatch_go_to(l, ir_op(l, "load i32, ptr addrspace(5) %%%sback", l->prefix));
}
