/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls and returns. A call makes a frame of cells for the callee and copies
 * arguments; parameters declared .param live in the lane's stack, register
 * parameters in cells. Lanes that return at different times meet again: the one
 * that comes first parks at its ret while others can run.
 */
#include <string.h>

#include "zluda_core/device_interp/lane.h"

static void copy_value(struct warp *w, uint8_t *cells, uint32_t cell_pos, uint8_t *mem, uint32_t bytes,
		       uint32_t mask, bool to_mem)
{
	uint8_t *c = (cell_pos & OPERAND_POOL ? w->base[1] : cells) + (cell_pos & ~OPERAND_POOL);

	FOR_LANES(l, mask)
	{
		uint8_t *m = mem + (size_t)l * w->local_stride;

		if (to_mem)
			memcpy(m, c + (size_t)l * bytes, bytes);
		else
			memcpy(c + (size_t)l * bytes, m, bytes);
	}
}

/* One argument or result between two activations; `in`: towards the callee. */
static void pass(struct warp *w, const struct xarg *a, const struct frame *caller, const struct frame *callee,
		 uint32_t mask, bool in)
{
	uint8_t *outer = w->local + caller->local_base + a->offset;
	uint8_t *inner = w->local + callee->local_base + a->callee_offset;

	if (a->cell != OPERAND_NONE && a->callee_cell != OPERAND_NONE) {
		uint8_t *x = (a->cell & OPERAND_POOL ? w->base[1] : caller->regs) + (a->cell & ~OPERAND_POOL);
		uint8_t *y = callee->regs + a->callee_cell;

		FOR_LANES(l, mask)
		memcpy((in ? y : x) + l * a->bytes, (in ? x : y) + l * a->bytes, a->bytes);
	} else if (a->cell != OPERAND_NONE) {
		copy_value(w, caller->regs, a->cell, inner, a->bytes, mask, in);
	} else if (a->callee_cell != OPERAND_NONE) {
		copy_value(w, callee->regs, a->callee_cell, outer, a->bytes, mask, !in);
	} else {
		FOR_LANES(l, mask)
		{
			size_t off = (size_t)l * w->local_stride;

			memcpy((in ? inner : outer) + off, (in ? outer : inner) + off, a->bytes);
		}
	}
}

static const struct xinst *enter(struct warp *w, const struct xinst *i, const struct xcall *call,
				 const struct xcode *code)
{
	struct frame *caller = w->frame, *f = frame_push(w, code, i);

	if (!f)
		return fault_lane(
			w, i, DEV_FAULT_STACK, first_lane(w->mask),
			"call of %s: the stack of %u bytes is used up at depth %u (option stack_bytes)",
			code->func->name, w->local_stride, caller->depth + 1);
	for (uint32_t k = 0; k < call->nargs; k++)
		pass(w, &call->args[k], caller, f, w->mask, true);
	warp_enter_frame(w, f);
	return code->insts;
}

static const struct xinst *exec_call(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;

	return enter(w, i, call, call->target);
}

static const struct xcode *code_at(struct warp *w, uint64_t address, const char **why)
{
	const struct program *p = w->block->grid->program;
	uint64_t rel = address - WINDOW_CODE;
	uint32_t index = (uint32_t)(rel >> 4 & 0xfffff);

	*why = "no function";
	if (rel >= WINDOW_CODE_BYTES || (rel & 15) || (rel >> 24) != p->module->number ||
	    index >= p->module->ptx->nfuncs)
		return NULL;
	*why = p->module->ptx->funcs[index]->name;
	return p->codes[index];
}

/* Whether a place of the caller is as large as what the callee has there. */
static bool xarg_fits(const struct xarg *a, const struct xcode *callee, const struct ptx_param *p)
{
	if (p->is_open)
		return a->cell == OPERAND_NONE && a->bytes <= PTX_OPEN_PARAM_BYTES;
	if (p->type == PTX_PRED || (p->slot != PTX_NONE && callee->func->slots[p->slot].bits != p->size * 8))
		return false;
	return a->cell != OPERAND_NONE ? a->bytes == p->size : a->bytes >= p->size;
}

static bool xcall_fits(const struct xcall *call, const struct xcode *callee)
{
	const struct ptx_func *f = callee->func;
	bool fits = !f->is_entry && call->nrets == f->nrets &&
		    (call->nargs == f->nparams ||
		     (call->nargs + 1 == f->nparams && ptx_has_open_param(f->params, f->nparams)));

	for (uint32_t k = 0; fits && k < call->nargs; k++)
		fits = xarg_fits(&call->args[k], callee, &f->params[k]);
	for (uint32_t k = 0; fits && k < call->nrets; k++)
		fits = xarg_fits(&call->rets[k], callee, &f->rets[k]);
	return fits;
}

/* Lanes that call different functions part. */
static const struct xinst *exec_call_indirect(struct warp *w, const struct xinst *i)
{
	const struct xcall *call = (const void *)(uintptr_t)i->imm;
	const uint64_t *address = cell(w, call->address);
	uint64_t target = address[first_lane(w->mask)];
	uint32_t same = 0;
	const char *name;

	FOR_LANES(l, w->mask)
	if (address[l] == target)
		same |= 1u << l;
	if (same != w->mask) {
		warp_split(w, i, w->mask & ~same, w->frame);
		w->mask = w->exec = w->cur->mask = same;
	}
	const struct xcode *code = code_at(w, target, &name);
	if (!code)
		return fault_lane(w, i, DEV_FAULT_INVALID_PC, first_lane(same),
				  "indirect call of 0x%llx (%s), which can't be executed",
				  (unsigned long long)target, name);
	/* Positions in the callee depend on the callee: arguments are matched now. */
	struct xcall matched = *call;
	struct xarg args[UINT8_MAX];

	if (call->nargs > UINT8_MAX || !xcall_fits(call, code))
		return fault_lane(w, i, DEV_FAULT_ILLEGAL_INSTRUCTION, first_lane(same),
				  "%s takes other parameters or results than this call passes", name);
	memcpy(args, call->args, call->nargs * sizeof(args[0]));
	for (uint32_t k = 0; k < call->nargs; k++)
		xarg_match(&args[k], code, &code->func->params[k], false);
	matched.args = args;
	return enter(w, i, &matched, code);
}

void xarg_match(struct xarg *a, const struct xcode *callee, const struct ptx_param *p, bool result)
{
	a->callee_cell = p->slot == PTX_NONE ? OPERAND_NONE : callee->slot_offset[p->slot];
	a->callee_offset = (result ? callee->ret_offset : callee->param_offset) + p->offset;
	if (!p->is_open && (a->bytes > p->size || a->cell != OPERAND_NONE))
		a->bytes = p->size;
}

/* ret: the frame's other lanes may still come. In a kernel it is an exit. */
const struct xinst *exec_ret(struct warp *w, const struct xinst *i)
{
	struct frame *f = w->frame, *parent = f->parent;

	if (!parent)
		return warp_exit_lanes(w, w->mask);
	if (f->live != w->mask && !warp_join(w, i))
		return NULL;
	const struct xinst *at = f->call;
	const struct xcall *call = (const void *)(uintptr_t)at->imm;

	for (uint32_t k = 0; k < call->nrets; k++) {
		struct xarg a = call->rets[k];

		xarg_match(&a, f->code, &f->code->func->rets[k], true);
		pass(w, &a, parent, f, w->mask, false);
	}
	frame_pop_lanes(w, f, w->mask);
	warp_enter_frame(w, parent);
	return at + 1;
}

int emit_ret(struct decode *c, const struct exec_row *row)
{
	if (c->stack_cell != OPERAND_NONE) {
		struct xinst *x = emit(c, exec_stack_return);

		if (!x)
			return refuse(c, "out of memory");
		x->o[0] = c->stack_cell;
	}
	return emit_plain(c, row);
}

/* An operand of the call: a .param variable, or a register or constant. */
static int call_operand(struct decode *c, const struct ptx_operand *o, const struct ptx_param *p, bool result,
			struct xarg *a)
{
	*a = (struct xarg){.cell = OPERAND_NONE, .callee_cell = OPERAND_NONE};
	if (p && p->type == PTX_PRED)
		return refuse(c, "a predicate can't be passed to a function");
	if (o->kind == PTX_OPND_SYMBOL) {
		const struct ptx_symbol *s = c->module->ptx->symbols[o->index];

		if (s->space == PTX_SPACE_PARAM) {
			if (o->imm || (p && s->size < p->size))
				return refuse(c, "a variable of a call must be passed whole");
			a->offset = c->symbol_offset[o->index];
			a->bytes = (uint32_t)s->size;
			return 0;
		}
	}
	unsigned bits = p ? p->size * 8 : operand_bits(c, o);
	if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128)
		return refuse(c, "no register or constant has the %u bits that are passed", bits);
	if (result) {
		if (o->kind != PTX_OPND_VALUE || !o->index)
			return refuse(c, "a call's result must have a place");
		a->cell = c->slot_offset[c->func->values[o->index].slot];
		if (operand_bits(c, o) != bits)
			return refuse(c, "the result register has %u bits, the result %u", operand_bits(c, o),
				      bits);
		a->bytes = bits / 8;
		return 0;
	}
	a->bytes = bits / 8;
	return source(c, o, bits, p && ptx_type_is_signed(p->type), &a->cell);
}

/* What a call passes, as the function called says, or the prototype, or the first of the targets. */
struct signature {
	const char *name; /* NULL: unknown */
	uint32_t nparams, nrets;
	const struct ptx_param *params, *rets;
};

static struct signature signature_of(const struct decode *c, const struct ptx_func *callee)
{
	const struct ptx_list *l = c->in->table < c->func->nlists ? &c->func->lists[c->in->table] : NULL;

	if (!callee && l && l->is_prototype)
		return (struct signature){"the prototype", l->nparams, l->nrets, l->params, l->rets};
	if (!callee && l && l->is_functions && l->n)
		callee = c->module->ptx->funcs[l->items[0]];
	if (!callee)
		return (struct signature){0};
	return (struct signature){callee->name, callee->nparams, callee->nrets, callee->params, callee->rets};
}

static int call_operands(struct decode *c, struct xcall *call, const struct ptx_func *callee, unsigned skip)
{
	const struct ptx_inst *in = c->in;
	const struct signature s = signature_of(c, callee);

	call->nargs = in->nsrc - skip;
	call->nrets = in->ndst;
	call->args = arena_array(&c->program->arena, call->nargs + 1, sizeof(struct xarg));
	call->rets = arena_array(&c->program->arena, call->nrets + 1, sizeof(struct xarg));
	if (!call->args || !call->rets)
		return refuse(c, "out of memory");
	bool left_out = call->nargs + 1 == s.nparams && ptx_has_open_param(s.params, s.nparams);
	if (s.name && ((s.nparams != call->nargs && !left_out) || s.nrets != call->nrets))
		return refuse(c, "%s has %u parameters and %u results, this call %u and %u", s.name,
			      s.nparams, s.nrets, call->nargs, call->nrets);
	for (uint32_t k = 0; k < call->nargs; k++) {
		int rc = call_operand(c, &in->src[skip + k], s.name ? &s.params[k] : NULL, false,
				      &call->args[k]);
		if (rc)
			return rc;
	}
	for (uint32_t k = 0; k < call->nrets; k++) {
		int rc = call_operand(c, &in->dst[k], s.name ? &s.rets[k] : NULL, true, &call->rets[k]);
		if (rc)
			return rc;
	}
	return 0;
}

/* Functions that the device provides. Their arguments are read where the caller put them. */
static int finish_builtin(struct decode *c, struct xcall *call, exec_fn fn)
{
	struct xinst *x = emit(c, fn);

	if (!x)
		return refuse(c, "out of memory");
	x->imm = (int64_t)(uintptr_t)call;
	return 0;
}

int emit_call(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const struct ptx_func *callee = in->target == PTX_NONE ? NULL : c->module->ptx->funcs[in->target];
	struct xcall *call = arena_zalloc(&c->program->arena, sizeof(*call));
	exec_fn fn = NULL;
	int rc;

	(void)row;
	if (!call)
		return refuse(c, "out of memory");
	call->name = callee ? callee->name : "(indirect)";
	if (callee && callee->is_decl && !(fn = builtin_find(callee)))
		return refuse_function(c, callee);
	if (!callee && (rc = source(c, &in->src[0], 64, false, &call->address)))
		return rc;
	rc = call_operands(c, call, callee, callee ? 0 : 1);
	if (rc)
		return rc;
	if (fn)
		return finish_builtin(c, call, fn);
	if (callee) {
		call->target = c->program->codes[in->target];
		if (!call->target)
			return refuse(c, "call of %s, which can't be executed", callee->name);
		if (call->target->func->state == PTX_BUILT && !xcall_fits(call, call->target))
			return refuse(c, "%s takes other parameters or results than this call passes",
				      callee->name);
		for (uint32_t k = 0; k < call->nargs; k++)
			xarg_match(&call->args[k], call->target, &callee->params[k], false);
	}
	struct xinst *x = emit(c, callee ? exec_call : exec_call_indirect);
	if (!x)
		return refuse(c, "out of memory");
	x->imm = (int64_t)(uintptr_t)call;
	x = emit(c, exec_join);
	return x ? 0 : refuse(c, "out of memory");
}
