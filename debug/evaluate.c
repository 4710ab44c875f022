/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions evaluated: for a thread, at a level of its stack. */
#include <string.h>

#include "debug/expression.h"

struct evaluation {
	const struct session *s;
	const struct expression *e;
	const struct focus *f;
	struct diag *d;
};

static int eval(const struct evaluation *v, uint32_t node, struct value *out);

static int eval_register(const struct evaluation *v, const struct node *n, struct value *out)
{
	const struct ptx_func *f = code_func(v->s, v->e->func);
	unsigned bytes = type_bytes((enum ptx_type)n->type), bits = f->slots[n->a].bits;
	uint8_t all[DEBUG_LANES * 16];
	struct debug_frame frame;
	const struct debug_view *view = &v->s->view;

	if (!view->frame(view->state, v->f->block, v->f->warp, v->f->lane, v->f->level, &frame) ||
	    frame.func != v->e->func)
		return diag_set(v->d, CUTRACE_EINVAL, "", "the thread is not in %s: %s has no value", f->name,
				f->slots[n->a].name);
	if (!view->reg(view->state, v->f->block, v->f->warp, v->f->lane, v->f->level, n->a, all,
		       bits == 1 ? 4 : DEBUG_LANES * bits / 8))
		return diag_set(v->d, CUTRACE_EINVAL, "", "%s can't be read", f->slots[n->a].name);
	*out = (struct value){.type = n->type, .stored = true};
	if (bits == 1)
		out->bytes[0] = all[v->f->lane / 8] >> v->f->lane % 8 & 1;
	else
		memcpy(out->bytes, all + (size_t)v->f->lane * (bits / 8), bytes < 16 ? bytes : 16);
	return 0;
}

static uint64_t lane_mask(int r, uint32_t lane)
{
	uint32_t below = (1u << lane) - 1, self = 1u << lane;

	switch (r) {
	case PTX_SREG_LANEMASK_EQ: return self;
	case PTX_SREG_LANEMASK_LT: return below;
	case PTX_SREG_LANEMASK_LE: return below | self;
	case PTX_SREG_LANEMASK_GE: return ~below;
	default: return ~(below | self); /* gt */
	}
}

static int eval_special(const struct evaluation *v, int r, struct value *out)
{
	const struct debug_launch *l = &v->s->launch;
	uint32_t tid[3], ctaid[3];
	uint64_t bits;

	thread_index(v->s, v->f->warp, v->f->lane, tid);
	block_index(v->s, v->f->block, ctaid);
	if (r >= PTX_SREG_TID_X && r <= PTX_SREG_TID_Z)
		bits = tid[r - PTX_SREG_TID_X];
	else if (r >= PTX_SREG_NTID_X && r <= PTX_SREG_NTID_Z)
		bits = l->block[r - PTX_SREG_NTID_X];
	else if (r >= PTX_SREG_CTAID_X && r <= PTX_SREG_CTAID_Z)
		bits = ctaid[r - PTX_SREG_CTAID_X];
	else if (r >= PTX_SREG_NCTAID_X && r <= PTX_SREG_NCTAID_Z)
		bits = l->grid[r - PTX_SREG_NCTAID_X];
	else if (r == PTX_SREG_LANEID)
		bits = v->f->lane;
	else if (r == PTX_SREG_WARPID)
		bits = v->f->warp;
	else if (r == PTX_SREG_NWARPID)
		bits = (l->block[0] * l->block[1] * l->block[2] + DEBUG_LANES - 1) / DEBUG_LANES;
	else if (r >= PTX_SREG_LANEMASK_EQ && r <= PTX_SREG_LANEMASK_GT)
		bits = lane_mask(r, v->f->lane);
	else
		return diag_set(v->d, CUTRACE_EINVAL, "",
				"%s is not known here: read the register that it was moved to",
				ptx_sreg_name((enum ptx_sreg)r));
	value_set_integer(out, PTX_U32, bits);
	return 0;
}

static int eval_magic(const struct evaluation *v, uint32_t which, struct value *out)
{
	const struct session *s = v->s;
	struct debug_frame frame = {0};
	struct debug_warp w = {0};
	const struct ptx_inst *i;
	uint64_t n = s->now;

	s->view.warp(s->view.state, v->f->block, v->f->warp, &w);
	if (which != MAGIC_TIME && which != MAGIC_STEPS &&
	    !s->view.frame(s->view.state, v->f->block, v->f->warp, v->f->lane, v->f->level, &frame))
		return diag_set(v->d, CUTRACE_EINVAL, "", "the thread is nowhere");
	i = code_inst(s, frame.func, frame.inst);
	if (which == MAGIC_STEPS)
		n = w.steps;
	if (which == MAGIC_LINE)
		n = i ? i->line : 0;
	if (which == MAGIC_DEPTH)
		for (n = 0; s->view.frame(s->view.state, v->f->block, v->f->warp, v->f->lane,
					  v->f->level + (uint32_t)n + 1, &frame);)
			n++;
	value_set_integer(out, PTX_U64, n);
	return 0;
}

static int read_at(const struct evaluation *v, uint64_t address, uint8_t space, enum ptx_type t,
		   struct value *out)
{
	struct debug_place p = {.space = (enum debug_space)space,
				.address = address,
				.block = v->f->block,
				.warp = v->f->warp,
				.lane = v->f->lane};
	unsigned n = type_bytes(t);

	*out = (struct value){
		.type = (uint8_t)t, .stored = true, .space = space, .address = address, .count = 1};
	if (place_read(v->s, &p, out->bytes, n < 16 ? n : 16))
		return 0;
	diag_set(v->d, CUTRACE_EINVAL, "", "no %s memory of %u bytes at 0x%llx", space_name(p.space), n,
		 (unsigned long long)address);
	if (p.space == DEBUG_GENERIC && address < 1u << 20)
		diag_hint(v->d, "shared and local addresses need their space: shared:0x%llx",
			  (unsigned long long)address);
	return CUTRACE_EINVAL;
}

static int eval_variable(const struct evaluation *v, const struct variable *x, struct value *out)
{
	struct debug_place p;
	unsigned n = type_bytes((enum ptx_type)x->type);
	int rc;

	if (!place_of(v->s, x, v->f, &p))
		return diag_set(v->d, CUTRACE_EINVAL, "",
				"%s has no place: its thread is not in its function", x->name);
	rc = read_at(v, p.address, (uint8_t)p.space, (enum ptx_type)x->type, out);
	out->count = n && x->bytes / n ? x->bytes / n : 1;
	return rc;
}

static int eval_unary(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a;
	int rc = eval(v, n->a, &a);

	if (rc)
		return rc;
	if (n->op == OP_NOT)
		value_set_integer(out, PTX_S32, !value_true(&a));
	else if (value_is_float(&a) && n->op == OP_NEG)
		value_set_float(out, a.type == PTX_F64 ? PTX_F64 : PTX_F32, -value_float(&a));
	else
		value_set_integer(out, a.pointer ? PTX_U64 : (enum ptx_type)a.type,
				  n->op == OP_NEG ? 0 - value_integer(&a) : ~value_integer(&a));
	out->literal = a.literal;
	return 0;
}

static int eval_binary(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a, b;
	int rc = eval(v, n->a, &a);

	if (rc)
		return rc;
	if (n->op == OP_OR || n->op == OP_AND) {
		bool yes = value_true(&a);

		if (yes == (n->op == OP_AND)) {
			rc = eval(v, n->b, &b);
			yes = !rc && value_true(&b);
		}
		value_set_integer(out, PTX_S32, yes);
		return rc;
	}
	rc = eval(v, n->b, &b);
	if (rc)
		return rc;
	return value_binary(n->op, &a, &b, out, v->d);
}

static int eval_cast(const struct evaluation *v, const struct node *n, struct value *out)
{
	enum ptx_type t = (enum ptx_type)n->type;
	struct value a;
	int rc = eval(v, n->a, &a);

	if (rc)
		return rc;
	if (n->pointer) {
		value_set_integer(out, PTX_U64, value_integer(&a));
		out->type = n->type;
		out->pointer = true;
		out->space = n->space ? n->space : a.stored ? 0 : a.space;
		return 0;
	}
	if (a.stored && !a.pointer && type_bytes((enum ptx_type)a.type) == type_bytes(t)) {
		*out = a;
		out->type = n->type;
		return 0;
	}
	if (typed_is_float(t) && t != PTX_F32 && t != PTX_F64)
		return diag_set(v->d, CUTRACE_EINVAL, "", "only what is stored in %u bits can be read as %s",
				ptx_type_bits(t), ptx_type_name(t));
	if (typed_is_float(t))
		value_set_float(out, t, value_float(&a));
	else
		value_set_integer(out, t,
				  value_is_float(&a) ? (uint64_t)(int64_t)value_integer(&a)
						     : value_integer(&a));
	return 0;
}

static int eval_deref(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a;
	int rc = eval(v, n->a, &a);
	uint8_t space;

	if (rc)
		return rc;
	if (!n->type && !a.pointer) {
		diag_set(v->d, CUTRACE_EINVAL, "", "the type of what lies there is not known");
		diag_hint(v->d, "say it: *(f32 *)ADDRESS, or {f32}ADDRESS");
		return CUTRACE_EINVAL;
	}
	space = n->space ? n->space : a.stored ? 0 : a.space;
	rc = read_at(v, value_integer(&a), space, (enum ptx_type)(n->type ? n->type : a.type), out);
	return rc;
}

static int eval_index(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a, k;
	int rc = eval(v, n->a, &a);
	uint64_t base;

	if (!rc)
		rc = eval(v, n->b, &k);
	if (rc)
		return rc;
	if (value_is_float(&k) || (!a.pointer && !(a.stored && a.count)))
		return diag_set(v->d, CUTRACE_EINVAL, "",
				"[] needs a variable or a pointer, and a whole number");
	base = a.pointer ? value_integer(&a) : a.address;
	return read_at(v, base + value_integer(&k) * type_bytes((enum ptx_type)a.type), a.space,
		       (enum ptx_type)a.type, out);
}

static int eval_address(const struct evaluation *v, const struct node *n, struct value *out)
{
	struct value a;
	int rc = eval(v, n->a, &a);

	if (rc)
		return rc;
	if (!a.stored || !a.count)
		return diag_set(v->d, CUTRACE_EINVAL, "", "only variables and memory have addresses");
	value_set_integer(out, PTX_U64, a.address);
	out->type = a.type;
	out->pointer = true;
	out->space = a.space;
	return 0;
}

static int eval(const struct evaluation *v, uint32_t node, struct value *out)
{
	const struct node *n = &v->e->nodes[node];
	int rc;

	switch (n->kind) {
	case LITERAL: *out = n->literal; return 0;
	case REGISTER: return eval_register(v, n, out);
	case SPECIAL: return eval_special(v, (int)n->a, out);
	case VARIABLE: return eval_variable(v, &n->variable, out);
	case MAGIC: return eval_magic(v, n->a, out);
	case UNARY: return eval_unary(v, n, out);
	case BINARY: return eval_binary(v, n, out);
	case CAST: return eval_cast(v, n, out);
	case DEREF: return eval_deref(v, n, out);
	case INDEX: return eval_index(v, n, out);
	case ADDRESS: return eval_address(v, n, out);
	default: /* IN_SPACE */
		rc = eval(v, n->a, out);
		if (!rc && !out->pointer) {
			uint64_t bits = value_integer(out);

			value_set_integer(out, PTX_U64, bits);
		}
		out->space = n->space;
		return rc;
	}
}

int expression_eval(const struct session *s, const struct expression *e, const struct focus *f,
		    struct value *out, struct diag *d)
{
	const struct evaluation v = {s, e, f, d};

	return eval(&v, e->root, out);
}

int evaluate(const struct session *s, const char *text, struct value *out, struct diag *d)
{
	const struct focus *f = &s->sh->focus;
	struct debug_frame frame;
	struct expression *e;
	uint32_t func = s->entry->index;
	int rc;

	if (focus_is_there(s, f, &frame))
		func = frame.func;
	rc = expression_parse(s, func, text, &e, d);
	if (rc)
		return rc;
	rc = expression_eval(s, e, f, out, d);
	expression_free(e);
	return rc;
}
