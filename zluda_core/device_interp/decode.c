/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding of operands and instructions; see decode.h. The program around it is
 * made in program.c.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "zluda_core/device_interp/check.h"

unsigned sig_bits(char c)
{
	switch (c) {
	case 'p': return 1;
	case 'b': return 8;
	case 'h': return 16;
	case 'w': return 32;
	case 'd': return 64;
	default: return 128;
	}
}

uint32_t cell_bytes(unsigned bits)
{
	return bits == 1 ? 4 : LANES * bits / 8;
}

int refuse(struct decode *c, const char *fmt, ...)
{
	char where[200], why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%s:%u:%u", c->module->ptx->name, c->in ? c->in->line : c->func->line,
		 c->in ? c->in->col : 1);
	diag_set(c->diag, CUTRACE_ENOTSUP, where, "%s%s%s", c->in ? c->in->mods : "", c->in ? ": " : "", why);
	if (c->in && c->diag)
		ptx_line_text(c->module->ptx, c->in->line, c->diag->hint, sizeof(c->diag->hint));
	return CUTRACE_ENOTSUP;
}

struct xinst *emit(struct decode *c, exec_fn fn)
{
	struct xcode *code = c->code;

	if (code->ninsts == code->cap) {
		uint32_t cap = code->cap ? code->cap * 2 : 64;
		struct xinst *n = aligned_alloc(64, cap * sizeof(*n));

		if (!n)
			return NULL;
		if (code->ninsts)
			memcpy(n, code->insts, code->ninsts * sizeof(*n));
		free(code->insts);
		code->insts = n;
		code->cap = cap;
	}
	struct xinst *x = &code->insts[code->ninsts++];

	memset(x, 0, sizeof(*x));
	x->fn = fn;
	x->index = c->index;
	return x;
}

uint32_t temp(struct decode *c, unsigned bits)
{
	uint32_t pos = c->temps_base + c->temps;

	c->temps += (cell_bytes(bits) + 63) & ~63u;
	if (c->temps > c->temps_max)
		c->temps_max = c->temps;
	return pos;
}

/* Constants are shared by the whole program: one cell each, found again by value. */
uint32_t constant(struct decode *c, uint64_t lo, uint64_t hi, unsigned bits)
{
	struct program *p = c->program;
	uint64_t want[2] = {bits == 1   ? (lo & 1 ? ~0ull : 0)
			    : bits < 64 ? lo & ((1ull << bits) - 1)
					: lo,
			    bits == 128 ? hi : 0};
	const uint32_t n = (cell_bytes(bits) + 63) & ~63u;
	uint32_t *bucket = &c->pool_hash[(want[0] * 0x9e3779b97f4a7c15ull >> 32 ^ want[1] ^ bits) % 1024];

	for (uint32_t k = *bucket; k;) {
		struct pool_entry *e = &p->entries[k - 1];

		if (e->lo == want[0] && e->hi == want[1] && e->bits == bits)
			return e->offset | OPERAND_POOL;
		k = e->next;
	}
	if (!program_pool_reserve(p, n))
		return OPERAND_NONE;
	uint8_t *cellp = p->pool + p->pool_bytes;

	if (bits == 1)
		memcpy(cellp, want, 4);
	else
		for (uint32_t l = 0; l < LANES; l++)
			memcpy(cellp + (size_t)l * bits / 8, want, bits / 8);
	p->entries[p->nentries++] =
		(struct pool_entry){want[0], want[1], p->pool_bytes, (uint8_t)bits, *bucket};
	*bucket = p->nentries;
	p->pool_bytes += n;
	return (p->pool_bytes - n) | OPERAND_POOL;
}

static uint32_t sreg_bits(uint32_t r)
{
	static const uint8_t bits[] = {
#define PTX_SREG(id, name, b) b,
#include "ptx/sregs.def"
#undef PTX_SREG
	};

	return r < PTX_NSREGS ? bits[r] : 32;
}

unsigned operand_bits(const struct decode *c, const struct ptx_operand *o)
{
	switch (o->kind) {
	case PTX_OPND_VALUE: return o->index ? c->func->values[o->index].bits : 64;
	case PTX_OPND_SREG: return sreg_bits(o->index);
	case PTX_OPND_IMM:
	case PTX_OPND_SYMBOL:
	case PTX_OPND_FUNC:
	case PTX_OPND_PARAM: return 64;
	default: return 0;
	}
}

static int resize(struct decode *c, uint32_t from, unsigned fbits, uint32_t to, unsigned tbits, bool sign)
{
	exec_fn fn = c->exec->resize(fbits, tbits, sign);

	if (!fn)
		return refuse(c, "an operand of %u bits where %u are used", fbits, tbits);
	struct xinst *x = emit(c, fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = to;
	x->o[1] = from;
	return 0;
}

/* Makes a cell of `have` bits one of `bits`. */
static int fit(struct decode *c, uint32_t have_pos, unsigned have, unsigned bits, bool sign, uint32_t *pos)
{
	*pos = have_pos;
	if (have == bits)
		return 0;
	*pos = temp(c, bits);
	return resize(c, have_pos, have, *pos, bits, sign);
}

static int from_handler(struct decode *c, exec_fn fn, uint32_t u, int64_t imm, unsigned have, unsigned bits,
			uint32_t *pos)
{
	uint32_t t = temp(c, have);
	struct xinst *x = emit(c, fn);

	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = t;
	x->u = u;
	x->imm = imm;
	return fit(c, t, have, bits, false, pos);
}

int64_t param_area(struct decode *c, const struct ptx_operand *o)
{
	return (int64_t)o->imm + (o->index == 1 ? c->code->ret_offset : c->code->param_offset);
}

/* Address of a variable in its own space. */
static int symbol_address(struct decode *c, const struct ptx_operand *o, unsigned bits, uint32_t *pos)
{
	const struct ptx_symbol *s = c->module->ptx->symbols[o->index];
	uint64_t base;

	switch (s->space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
		base = s->dynamic ? c->program->static_shared : c->shared_offset[o->index];
		if (base == PTX_NONE)
			return refuse(c, "shared variable %s has no place in this kernel", s->name);
		break;
	case PTX_SPACE_LOCAL:
	case PTX_SPACE_PARAM:
		return from_handler(c, exec_local_address, 0, (int64_t)o->imm + c->symbol_offset[o->index],
				    64, bits, pos);
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
		base = o->index < c->module->nsymbols ? c->module->symbol_addr[o->index] : 0;
		if (!base)
			return refuse(c, "variable %s has no address", s->name);
		break;
	default: return refuse(c, "variable %s is in a space that is not executed", s->name);
	}
	*pos = constant(c, base + o->imm, 0, bits);
	return 0;
}

static int value_source(struct decode *c, const struct ptx_operand *o, unsigned bits, bool sign,
			uint32_t *pos)
{
	const struct ptx_value *v = &c->func->values[o->index];
	uint32_t at = c->slot_offset[v->slot];

	if (o->index == 0 || v->slot == 0) {
		*pos = constant(c, o->negate ? 1 : 0, 0, bits);
		return 0;
	}
	if (o->negate && bits == 1 && v->bits == 1) {
		*pos = temp(c, 1);
		struct xinst *x = emit(c, exec_not_pred);
		if (!x)
			return refuse(c, "out of memory");
		x->o[0] = *pos;
		x->o[1] = at;
		return 0;
	}
	if ((v->bits == 1) != (bits == 1))
		return refuse(c, "a predicate where %u bits are used, or the reverse", bits);
	return fit(c, at, v->bits, bits, sign, pos);
}

int source(struct decode *c, const struct ptx_operand *o, unsigned bits, bool sign, uint32_t *pos)
{
	int rc = 0;

	switch (o->kind) {
	case PTX_OPND_VALUE: rc = value_source(c, o, bits, sign, pos); break;
	case PTX_OPND_IMM:
		*pos = constant(c, o->imm ^ (bits == 1 && o->negate), (int64_t)o->imm < 0 && sign ? ~0ull : 0,
				bits);
		break;
	case PTX_OPND_SREG:
		rc = from_handler(c, exec_sreg, o->index, 0, sreg_bits(o->index), bits, pos);
		break;
	case PTX_OPND_SYMBOL: rc = symbol_address(c, o, bits, pos); break;
	case PTX_OPND_FUNC: *pos = constant(c, code_address(c->module, o->index), 0, bits); break;
	case PTX_OPND_PARAM:
		if (c->func->is_entry)
			*pos = constant(c, o->imm, 0, bits);
		else
			rc = from_handler(c, exec_local_address, 0, param_area(c, o), 64, bits, pos);
		break;
	default: return refuse(c, "an operand of this kind is not executed");
	}
	if (!rc && *pos == OPERAND_NONE)
		return refuse(c, "out of memory");
	return rc;
}

int dest(struct decode *c, const struct ptx_operand *o, unsigned bits, bool sign, struct dest *out)
{
	*out = (struct dest){.reg = OPERAND_NONE, .bits = bits, .reg_bits = bits, .sign = sign};
	if (o->kind == PTX_OPND_SINK) {
		out->pos = temp(c, bits);
		return 0;
	}
	if (o->kind != PTX_OPND_VALUE)
		return refuse(c, "a result of this kind is not executed");
	const struct ptx_value *v = &c->func->values[o->index];

	out->reg = c->slot_offset[v->slot];
	out->reg_bits = v->bits;
	if ((v->bits == 1) != (bits == 1))
		return refuse(c, "a result of %u bits into a register of %u", bits, v->bits);
	out->pos = v->bits == bits ? out->reg : temp(c, bits);
	return 0;
}

int dest_done(struct decode *c, const struct dest *d)
{
	if (d->reg == OPERAND_NONE || d->reg_bits == d->bits)
		return 0;
	return resize(c, d->pos, d->bits, d->reg, d->reg_bits, d->sign);
}

int address(struct decode *c, const struct ptx_operand *o, int64_t offset, enum ptx_space *space,
	    uint32_t *pos, int64_t *imm)
{
	*imm = o->kind == PTX_OPND_VALUE ? offset : 0;
	if (o->kind == PTX_OPND_PARAM)
		*space = c->func->is_entry ? PTX_SPACE_PARAM : PTX_SPACE_LOCAL;
	else if (*space == PTX_SPACE_PARAM && !c->func->is_entry)
		*space = PTX_SPACE_LOCAL; /* addresses of a function's parameters are stack addresses */
	else if (o->kind == PTX_OPND_SYMBOL && *space == PTX_SPACE_GENERIC)
		*space = (enum ptx_space)c->module->ptx->symbols[o->index]->space;
	if (*space == PTX_SPACE_SHARED_CLUSTER)
		*space = PTX_SPACE_SHARED;
	return source(c, o, 64, false, pos);
}

static int emit_rounding(struct decode *c, unsigned rnd)
{
	static const uint8_t rc[] = {[PTX_RM] = 1, [PTX_RP] = 2, [PTX_RZ] = 3, [PTX_RN] = 0};
	struct xinst *x = emit(c, exec_round);

	if (!x)
		return refuse(c, "out of memory");
	x->u = rc[rnd];
	return 0;
}

int emit_plain(struct decode *c, const struct exec_row *row)
{
	struct xinst *x = emit(c, row->fn);

	if (!x)
		return refuse(c, "out of memory");
	x->u = row->u;
	return 0;
}

int emit_signature(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const bool sign = ptx_type_is_signed(in->type), round = row->rounds && in->rnd > PTX_RN;
	const char *s = row->sig;
	uint32_t pos[XINST_OPERANDS];
	struct dest d[2];
	unsigned nd = 0, ns = 0;
	int rc = 0;

	while (s[nd] != ':')
		nd++;
	s += nd + 1;
	for (; s[ns] && !rc; ns++)
		rc = source(c, &in->src[ns], s[ns] == '?' ? operand_bits(c, &in->src[ns]) : sig_bits(s[ns]),
			    sign, &pos[ns]);
	for (unsigned k = 0; k < nd && !rc; k++)
		rc = dest(c, &in->dst[k], sig_bits(row->sig[k]), sign, &d[k]);
	if (!rc && round)
		rc = emit_rounding(c, in->rnd);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	for (unsigned k = 0; k < nd; k++)
		x->o[k] = d[k].pos;
	for (unsigned k = 0; k < ns; k++)
		x->o[nd + k] = pos[k];
	x->u = row->u;
	if (round)
		rc = emit_rounding(c, PTX_RN);
	for (unsigned k = 0; k < nd && !rc; k++)
		rc = dest_done(c, &d[k]);
	return rc;
}

/* Fix-ups: imm or a table's entries are block numbers or instruction indexes until the code is complete. */
static int add_fixup(struct decode *c, struct fixup f)
{
	if (c->nfixups == c->cap_fixups) {
		uint32_t cap = c->cap_fixups ? c->cap_fixups * 2 : 64;
		struct fixup *n = realloc(c->fixups, cap * sizeof(*n));

		if (!n)
			return refuse(c, "out of memory");
		c->fixups = n;
		c->cap_fixups = cap;
	}
	c->fixups[c->nfixups++] = f;
	return 0;
}

int fix_block(struct decode *c, uint32_t block)
{
	return add_fixup(c, (struct fixup){FIX_BLOCK, c->code->ninsts - 1, block, NULL});
}

int fix_table(struct decode *c, struct xtable *t)
{
	return add_fixup(c, (struct fixup){FIX_TABLE, 0, 0, t});
}

static int fix_inst(struct decode *c, uint32_t inst, uint32_t target)
{
	return add_fixup(c, (struct fixup){FIX_INST, inst, target, NULL});
}

static void apply_fixups(struct decode *c)
{
	struct xinst *insts = c->code->insts;

	for (uint32_t k = 0; k < c->nfixups; k++) {
		struct fixup *f = &c->fixups[k];

		if (f->kind == FIX_BLOCK)
			insts[f->inst].imm = (int64_t)(uintptr_t)(insts + c->block_pc[f->target]);
		else if (f->kind == FIX_INST)
			insts[f->inst].imm = (int64_t)(uintptr_t)(insts + f->target);
		else
			for (uint32_t t = 0; t < f->table->n; t++)
				f->table->pcs[t] = c->block_pc[f->table->pcs[t]];
	}
	c->nfixups = 0;
}

static bool injected_here(const struct decode *c)
{
	return c->inject && c->inject->line == c->in->line;
}

static int emit_inject(struct decode *c, uint32_t pos, unsigned bits)
{
	struct xinst *x = emit(c, exec_inject);

	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = pos;
	x->u = bits;
	x->imm = (int64_t)(uintptr_t)c->inject;
	return 0;
}

int inject_stored(struct decode *c, uint32_t *data, unsigned bits)
{
	uint32_t copy;

	if (!bits || !injected_here(c))
		return 0;
	copy = temp(c, bits);
	int rc = resize(c, *data, bits, copy, bits, false);

	*data = copy;
	return rc ? rc : emit_inject(c, copy, bits);
}

static int inject_result(struct decode *c)
{
	const struct ptx_inst *in = c->in;

	if (!injected_here(c) || !in->ndst || in->dst[0].kind != PTX_OPND_VALUE)
		return 0;
	const struct ptx_value *v = &c->func->values[in->dst[0].index];

	return emit_inject(c, c->slot_offset[v->slot], v->bits);
}

static int emit_body(struct decode *c, const struct exec_row *row)
{
	struct check_site *site = NULL;
	int rc = c->check ? check_site_begin(c, &site) : 0;
	uint32_t first = c->code->ninsts;

	if (!rc)
		rc = contract_keep(c);
	if (!rc)
		rc = contract_is_fused(c) ? contract_sum(c)
		     : row->emit          ? row->emit(c, row)
					  : emit_signature(c, row);
	if (!rc && site)
		rc = check_site_end(c, site, first);
	return rc ? rc : inject_result(c);
}

/* A guard of something that may block or leave: a branch around it, and the lanes meet again behind it. */
static int emit_split(struct decode *c, const struct exec_row *row, uint32_t pred)
{
	int rc = emit_guard_branch(c, pred, !c->in->guard_negate);
	uint32_t at = c->code->ninsts - 1;

	if (!rc)
		rc = emit_body(c, row);
	if (rc)
		return rc;
	if (!emit(c, exec_join))
		return refuse(c, "out of memory");
	return fix_inst(c, at, c->code->ninsts - 1);
}

static int emit_guarded(struct decode *c, const struct exec_row *row, uint32_t pred)
{
	struct xinst *x = emit(c, c->in->guard_negate ? exec_guard_not : exec_guard);
	uint32_t at = c->code->ninsts - 1;

	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = pred;
	int rc = emit_body(c, row);
	if (rc)
		return rc;
	if (!emit(c, exec_unguard))
		return refuse(c, "out of memory");
	return fix_inst(c, at, c->code->ninsts - 1);
}

static int decode_inst(struct decode *c)
{
	const struct ptx_inst *in = c->in;
	const struct exec_row *row = exec_find(c->exec, in);
	struct ptx_operand guard = {.kind = PTX_OPND_VALUE, .index = in->guard};
	uint32_t pred;

	c->temps = 0;
	if (ptx_is_f64_as_f32(c->module->ptx, in))
		return refuse(
			c,
			"double precision that stands for single (.target map_f64_to_f32) is not executed");
	if (!row)
		return refuse_instruction(c);
	if (!in->guarded || in->op == PTX_OP_BRA)
		return emit_body(c, row);
	int rc = source(c, &guard, 1, false, &pred);
	if (rc)
		return rc;
	return row->splits ? emit_split(c, row, pred) : emit_guarded(c, row, pred);
}

static void find_joins(struct decode *c)
{
	for (uint32_t b = 0; b < c->func->nblocks; b++) {
		const struct ptx_block *blk = &c->func->blocks[b];

		if (blk->nsuccs > 1 && blk->ipdom != PTX_NONE)
			c->is_join[blk->ipdom] = true;
	}
}

static bool falls_through(const struct ptx_func *f, const struct ptx_block *b)
{
	const struct ptx_inst *last = b->ninsts ? &f->insts[b->first + b->ninsts - 1] : NULL;

	if (!last || last->guarded)
		return true;
	return last->op != PTX_OP_BRA && last->op != PTX_OP_BRX_IDX && last->op != PTX_OP_RET &&
	       last->op != PTX_OP_EXIT;
}

/* A function that calls alloca gives back on return what it got. */
static int keep_stack(struct decode *c)
{
	bool uses = false;

	c->stack_cell = OPERAND_NONE;
	for (uint32_t k = 0; k < c->func->ninsts; k++)
		uses |= c->func->insts[k].op == PTX_OP_ALLOCA;
	if (!uses)
		return 0;
	c->stack_cell = c->temps_base;
	c->temps_base += cell_bytes(32);
	struct xinst *x = emit(c, exec_stack_keep);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = c->stack_cell;
	return 0;
}

static int decode_block(struct decode *c, uint32_t b)
{
	const struct ptx_block *blk = &c->func->blocks[b];
	int rc = 0;

	c->block_pc[b] = c->code->ninsts;
	c->index = blk->first;
	if (c->is_join[b] && !emit(c, exec_join))
		return refuse(c, "out of memory");
	if (b == 0 && c->check)
		rc = check_function_entry(c);
	for (uint32_t k = 0; k < blk->ninsts && !rc; k++) {
		c->index = blk->first + k;
		c->in = &c->func->insts[c->index];
		rc = decode_inst(c);
	}
	if (rc || !falls_through(c->func, blk))
		return rc;
	uint32_t next = blk->nsuccs ? blk->succs[blk->nsuccs - 1] : PTX_NONE;
	if (next == b + 1)
		return 0;
	if (!emit(c, next == PTX_NONE ? exec_ret : exec_jump))
		return refuse(c, "out of memory");
	return next == PTX_NONE ? 0 : fix_block(c, next);
}

int decode_function(struct decode *c)
{
	const struct ptx_func *f = c->func;
	int rc = 0;

	c->block_pc = calloc(f->nblocks + 1, sizeof(*c->block_pc));
	c->is_join = calloc(f->nblocks + 1, sizeof(*c->is_join));
	if (!c->block_pc || !c->is_join)
		rc = refuse(c, "out of memory");
	if (!rc)
		find_joins(c);
	if (!rc)
		rc = keep_stack(c);
	if (!rc)
		rc = contract_begin(c);
	for (uint32_t b = 0; b < f->nblocks && !rc; b++)
		if (b == 0 || f->blocks[b].npreds)
			rc = decode_block(c, b);
	if (!rc && !emit(c, exec_fall_off))
		rc = refuse(c, "out of memory");
	if (!rc) {
		apply_fixups(c);
		c->code->frame_bytes = c->temps_base + c->temps_max;
	}
	contract_end(c);
	free(c->block_pc);
	free(c->is_join);
	free(c->fixups);
	c->fixups = NULL;
	c->nfixups = c->cap_fixups = 0;
	return rc;
}
