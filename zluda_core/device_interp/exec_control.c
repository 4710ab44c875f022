/* SPDX-License-Identifier: Apache-2.0
 *
 * Control flow (PTX ISA 9.7.12) but for calls, which are in call.c; and what
 * decode puts in by itself: guards, join points, rounding modes.
 */
#include <xmmintrin.h>

#include "zluda_core/device_interp/exec_mem.h"
#include "zluda_core/device_interp/lane.h"

/* A guarded instruction that neither blocks nor branches: o[0] predicate, imm = where to go when no lane is
 * on. */
const struct xinst *exec_guard(struct warp *w, const struct xinst *i)
{
	w->exec = w->mask & pred_load(w, i->o[0]);
	return w->exec ? i + 1 : (const struct xinst *)(uintptr_t)i->imm;
}

const struct xinst *exec_guard_not(struct warp *w, const struct xinst *i)
{
	w->exec = w->mask & ~pred_load(w, i->o[0]);
	return w->exec ? i + 1 : (const struct xinst *)(uintptr_t)i->imm;
}

const struct xinst *exec_unguard(struct warp *w, const struct xinst *i)
{
	w->exec = w->mask;
	return i + 1;
}

const struct xinst *exec_join(struct warp *w, const struct xinst *i)
{
	return warp_join(w, i + 1);
}

/* MXCSR bits 13 and 14; also for the fesetround-free paths of libm, which read MXCSR on x86-64. */
const struct xinst *exec_round(struct warp *w, const struct xinst *i)
{
	(void)w;
	_mm_setcsr((_mm_getcsr() & ~(3u << 13)) | i->u << 13);
	return i + 1;
}

const struct xinst *exec_jump(struct warp *w, const struct xinst *i)
{
	(void)w;
	return (const struct xinst *)(uintptr_t)i->imm;
}

/* bra with a predicate: u = 1 when it is negated. */
static const struct xinst *branch(struct warp *w, const struct xinst *i)
{
	uint32_t t = (pred_load(w, i->o[0]) ^ (0u - i->u)) & w->mask;
	const struct xinst *target = (const struct xinst *)(uintptr_t)i->imm;

	if (t == w->mask)
		return target;
	if (t) {
		w->mask &= ~t;
		w->exec = w->cur->mask = w->mask;
		warp_split(w, target, t, w->frame);
	}
	return i + 1;
}

int emit_guard_branch(struct decode *c, uint32_t pred, bool negate)
{
	struct xinst *x = emit(c, branch);

	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = pred;
	x->u = negate;
	return 0;
}

int emit_bra(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;

	(void)row;
	if (!in->guarded) {
		if (!emit(c, exec_jump))
			return refuse(c, "out of memory");
		return fix_block(c, in->target);
	}
	uint32_t pred = c->slot_offset[c->func->values[in->guard].slot];
	int rc = emit_guard_branch(c, pred, in->guard_negate);

	return rc ? rc : fix_block(c, in->target);
}

/* brx.idx: lanes that go the same way stay together. An index outside the table is undefined; here it is a
 * fault. */
static const struct xinst *branch_table(struct warp *w, const struct xinst *i)
{
	const struct xtable *t = (const void *)(uintptr_t)i->imm;
	const uint32_t *index = cell(w, i->o[0]);
	const struct xinst *insts = w->frame->code->insts;
	uint32_t left = w->mask, mine = 0;

	FOR_LANES(l, w->mask)
	if (index[l] >= t->n)
		return fault_lane(w, i, DEV_FAULT_INVALID_PC, l,
				  "branch table index %u, the table has %u entries", index[l], t->n);
	uint32_t first = t->pcs[index[first_lane(left)]];

	while (left) {
		uint32_t pc = t->pcs[index[first_lane(left)]], same = 0;

		FOR_LANES(l, left)
		if (t->pcs[index[l]] == pc)
			same |= 1u << l;
		left &= ~same;
		if (pc == first) {
			mine = same;
			w->mask = w->exec = w->cur->mask = same;
		} else {
			warp_split(w, insts + pc, same, w->frame);
		}
	}
	w->mask = w->exec = w->cur->mask = mine;
	return insts + first;
}

int emit_brx(struct decode *c, const struct exec_row *row)
{
	const struct ptx_list *list = &c->func->lists[c->in->table];
	struct xtable *t = arena_zalloc(&c->program->arena, sizeof(*t));
	uint32_t pos;
	int rc = source(c, &c->in->src[0], 32, false, &pos);

	if (rc)
		return rc;
	if (!t || !(t->pcs = arena_array(&c->program->arena, list->n + 1, sizeof(*t->pcs))))
		return refuse(c, "out of memory");
	t->n = list->n;
	for (uint32_t k = 0; k < list->n; k++)
		t->pcs[k] = list->items[k]; /* block numbers until decode ends */
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = pos;
	x->imm = (int64_t)(uintptr_t)t;
	return fix_table(c, t);
}

static const struct xinst *exit_lanes(struct warp *w, const struct xinst *i)
{
	(void)i;
	return warp_exit_lanes(w, w->mask);
}

const struct xinst *exec_fall_off(struct warp *w, const struct xinst *i)
{
	return fault_lane(w, i, DEV_FAULT_INVALID_PC, first_lane(w->mask),
			  "control ran off the end of the function");
}

/* All of a function whose address is taken and that can't be executed. */
const struct xinst *exec_refused(struct warp *w, const struct xinst *i)
{
	return fault_lane(w, i, DEV_FAULT_ILLEGAL_INSTRUCTION, first_lane(w->mask), "%s can't be executed",
			  w->frame->code->func->name);
}

static const struct xinst *trap(struct warp *w, const struct xinst *i)
{
	return fault_lane(w, i, DEV_FAULT_TRAP, first_lane(w->exec), "%s",
			  xinst_ptx(w, i)->op == PTX_OP_BRKPT ? "brkpt" : "trap");
}

/* A locked instruction on x86-64 is a full fence, and unlike one it is understood by ThreadSanitizer. */
static const struct xinst *fence(struct warp *w, const struct xinst *i)
{
	static uint32_t anything;

	(void)w;
	__atomic_fetch_add(&anything, 0, __ATOMIC_SEQ_CST);
	return i + 1;
}

/* Time passes for others: the rest of the slice is given up. */
static const struct xinst *nanosleep_(struct warp *w, const struct xinst *i)
{
	if (w->left > 1) {
		w->spin_units += w->left - 1;
		w->left = 1;
	}
	return i + 1;
}

/* bar, barrier: o = result, number, count, predicate; u = sub | boolop << 8. */
static const struct xinst *barrier_op(struct warp *w, const struct xinst *i)
{
	uint32_t lane = first_lane(w->mask);
	uint32_t number = ((const uint32_t *)cell(w, i->o[1]))[lane];
	uint32_t count = i->o[2] == OPERAND_NONE ? 0 : ((const uint32_t *)cell(w, i->o[2]))[lane];
	uint32_t pred = i->o[3] == OPERAND_NONE ? 0 : pred_load(w, i->o[3]);

	if (number >= NAMED_BARRIERS)
		return fault_lane(w, i, DEV_FAULT_ILLEGAL_INSTRUCTION, lane, "barrier %u, there are 16",
				  number);
	return barrier_arrive(w, i, number, count, pred);
}

static int emit_bar(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	unsigned n = in->nsrc, last = n;
	uint32_t pos[3] = {OPERAND_NONE, OPERAND_NONE, OPERAND_NONE};
	struct dest d = {.pos = OPERAND_NONE};
	int rc = source(c, &in->src[0], 32, false, &pos[0]);

	if (!rc && in->sub == PTX_SUB_RED)
		rc = source(c, &in->src[--last], 1, false, &pos[2]);
	if (!rc && last > 1)
		rc = source(c, &in->src[1], 32, false, &pos[1]);
	if (!rc && in->ndst)
		rc = dest(c, &in->dst[0], in->boolop ? 1 : 32, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	for (unsigned k = 0; k < 3; k++)
		x->o[1 + k] = pos[k];
	x->u = in->sub | (uint32_t)in->boolop << 8;
	return in->ndst ? dest_done(c, &d) : 0;
}

/* Address conversions: windows are added or taken off. */
static const struct xinst *add_imm(struct warp *w, const struct xinst *i)
{
	uint64_t *d = cell(w, i->o[0]);
	const uint64_t *a = cell(w, i->o[1]);

	LANES_STORE(uint64_t, uint64_t x = a[l], x + (uint64_t)i->imm);
	return i + 1;
}

int add_offset(struct decode *c, uint32_t base, int64_t imm, uint32_t *pos)
{
	*pos = base;
	if (!imm)
		return 0;
	*pos = temp(c, 64);
	struct xinst *x = emit(c, add_imm);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = *pos;
	x->o[1] = base;
	x->imm = imm;
	return 0;
}

static int emit_cvta(struct decode *c, const struct exec_row *row)
{
	static const uint64_t window[] = {[PTX_SPACE_SHARED] = WINDOW_SHARED,
					  [PTX_SPACE_LOCAL] = WINDOW_LOCAL,
					  [PTX_SPACE_PARAM] = WINDOW_PARAM,
					  [PTX_SPACE_SHARED_CLUSTER] = WINDOW_SHARED,
					  [PTX_SPACE_TEX] = 0};
	const struct ptx_inst *in = c->in;
	uint32_t pos;
	struct dest d;

	if (ptx_type_bits(in->type) != 64)
		return refuse(c, "addresses of 32 bits are not executed");
	int rc = source(c, &in->src[0], 64, false, &pos);
	if (!rc)
		rc = dest(c, &in->dst[0], 64, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = pos;
	x->imm = (int64_t)window[in->space];
	if (in->space == PTX_SPACE_PARAM && !c->func->is_entry)
		x->imm = WINDOW_LOCAL; /* parameters of functions are in the stack */
	if (in->flags & PTX_F_TO)
		x->imm = -x->imm;
	return dest_done(c, &d);
}

static const struct xinst *isspacep(struct warp *w, const struct xinst *i)
{
	const uint64_t *a = cell(w, i->o[1]);
	uint32_t r = 0;

	FOR_LANES(l, w->exec)
	{
		uint64_t v = a[l];

		r |= (uint32_t)(generic_space(&v) == (enum ptx_space)i->u) << l;
	}
	pred_store(w, i->o[0], r);
	return i + 1;
}

/* Constant variables lie in global memory here: they are told by their addresses. */
struct const_ranges {
	uint32_t n;
	struct {
		uint64_t base, bytes;
	} * at;
};

static const struct xinst *isspacep_const(struct warp *w, const struct xinst *i)
{
	const struct const_ranges *c = (const void *)(uintptr_t)i->imm;
	const uint64_t *a = cell(w, i->o[1]);
	uint32_t r = 0;

	FOR_LANES(l, w->exec)
	for (uint32_t k = 0; k < c->n; k++)
		r |= (uint32_t)(a[l] - c->at[k].base < c->at[k].bytes) << l;
	pred_store(w, i->o[0], r);
	return i + 1;
}

static struct const_ranges *const_ranges(struct decode *c)
{
	const struct ptx_module *m = c->module->ptx;
	struct const_ranges *r = arena_zalloc(&c->program->arena, sizeof(*r));

	if (!r || !(r->at = arena_array(&c->program->arena, m->nsymbols + 1, sizeof(*r->at))))
		return NULL;
	for (uint32_t s = 0; s < c->module->nsymbols && s < m->nsymbols; s++) {
		if (m->symbols[s]->space != PTX_SPACE_CONST)
			continue;
		r->at[r->n].base = c->module->symbol_addr[s];
		r->at[r->n++].bytes = m->symbols[s]->size;
	}
	return r;
}

static int emit_isspacep(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const bool constant_space = in->space == PTX_SPACE_CONST;
	struct const_ranges *ranges = constant_space ? const_ranges(c) : NULL;
	uint32_t pos;
	struct dest d;
	int rc = source(c, &in->src[0], 64, false, &pos);

	if (!rc)
		rc = dest(c, &in->dst[0], 1, false, &d);
	if (rc)
		return rc;
	struct xinst *x = emit(c, constant_space ? isspacep_const : row->fn);
	if (!x || (constant_space && !ranges))
		return refuse(c, "out of memory");
	x->o[0] = d.pos;
	x->o[1] = pos;
	x->u = in->space == PTX_SPACE_SHARED_CLUSTER ? PTX_SPACE_SHARED : in->space;
	x->imm = (int64_t)(uintptr_t)ranges;
	return dest_done(c, &d);
}

const struct xinst *exec_not_pred(struct warp *w, const struct xinst *i)
{
	pred_store(w, i->o[0], ~pred_load(w, i->o[1]));
	return i + 1;
}

/* Address of something in the running function's part of the lane's stack. */
const struct xinst *exec_local_address(struct warp *w, const struct xinst *i)
{
	uint64_t *d = cell(w, i->o[0]), v = w->local_base + (uint64_t)i->imm;

	LANES_STORE(uint64_t, (void)0, v);
	return i + 1;
}

/* A block without others in its cluster. */
static const struct xinst *own_rank(struct warp *w, const struct xinst *i)
{
	uint32_t *d = cell(w, i->o[0]);

	LANES_STORE(uint32_t, (void)0, 0);
	return i + 1;
}

static int emit_nop(struct decode *c, const struct exec_row *row)
{
	(void)c;
	(void)row;
	return 0;
}

#define ANY .ok = UINT32_MAX, .any_rnd = true
#define PLAIN(OP, SIG, FN)                                   \
	{                                                    \
		.op = PTX_OP_##OP, ANY, .sig = SIG, .fn = FN \
	}
#define OWN(OP, FN, EMIT)                                                 \
	{                                                                 \
		.op = PTX_OP_##OP, ANY, .sig = "", .fn = FN, .emit = EMIT \
	}
#define SPLIT(OP, FN, EMIT)                                                               \
	{                                                                                 \
		.op = PTX_OP_##OP, ANY, .sig = "", .fn = FN, .emit = EMIT, .splits = true \
	}

static const struct exec_row rows[] = {
	OWN(BRA, NULL, emit_bra),
	SPLIT(BRX_IDX, branch_table, emit_brx),
	SPLIT(CALL, NULL, emit_call),
	SPLIT(RET, exec_ret, emit_ret),
	SPLIT(EXIT, exit_lanes, emit_plain),
	SPLIT(BAR, barrier_op, emit_bar),
	SPLIT(BARRIER, barrier_op, emit_bar),
	OWN(TRAP, trap, emit_plain),
	OWN(BRKPT, trap, emit_plain),
	OWN(MEMBAR, fence, emit_plain),
	OWN(FENCE, fence, emit_plain),
	OWN(MEMBAR_PROXY, fence, emit_plain),
	OWN(FENCE_PROXY, fence, emit_plain),
	OWN(NANOSLEEP, nanosleep_, emit_plain),
	OWN(GRIDDEPCONTROL, NULL, emit_nop),
	OWN(PMEVENT, NULL, emit_nop),
	OWN(SETMAXNREG, NULL, emit_nop),
	OWN(MOV, NULL, emit_mov),
	OWN(CVTA, add_imm, emit_cvta),
	OWN(ISSPACEP, isspacep, emit_isspacep),
	PLAIN(GETCTARANK, "w:?", own_rank),
};

const struct exec_family exec_control = {rows, sizeof(rows) / sizeof(rows[0])};
