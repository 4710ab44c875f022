/* SPDX-License-Identifier: Apache-2.0
 *
 * Which values are addresses in one variable of the frame or of shared memory, whatever was added on the way. Registers
 * hold plain bits, but only where LLVM sees an address as the variable's plus an offset does it know what the address is
 * aligned to and which others it is next to, and takes variables of the frame apart into registers.
 *
 * A value has a home when all that it can come from does: moves, joins and selections of addresses in one variable, such
 * an address plus or minus something that is none, conversions between a space's and the generic form. What else an
 * address takes part in has none, nor what comes of that.
 *
 * A variable of the frame whose accesses are all of elements of one size is an array of those: with an index that isn't
 * constant, LLVM makes a vector of registers of it then.
 */
#include "ptx/lower/variable_address.h"

#include <stdlib.h>

#include "ptx/analysis.h"
#include "ptx/lower/dispatch.h"

enum { HOME_NONE, HOME_MANY = UINT32_MAX }; /* else 2 * symbol + 2 + is_generic */

struct finder {
	struct lower *l;
	const struct ptx_func *f;
	struct ptx_uses uses;
	uint32_t *homes, *queue, n;
};

static bool in_frame(const struct ptx_symbol *s)
{
	return (s->space == PTX_SPACE_LOCAL || s->space == PTX_SPACE_PARAM) && s->owner != PTX_NONE;
}

static bool in_shared(const struct lower *l, uint32_t symbol)
{
	if (l->m->symbols[symbol]->space != PTX_SPACE_SHARED || l->m->symbols[symbol]->dynamic)
		return l->m->symbols[symbol]->space == PTX_SPACE_SHARED;
	for (uint32_t k = 0; k < l->kernel->nshared; k++)
		if (l->kernel->shared[k].symbol == symbol)
			return true;
	return false;
}

/* Where the address that a symbol stands for is at home. All of static shared memory is one variable. */
static uint32_t symbol_home(const struct lower *l, uint32_t symbol)
{
	const struct ptx_symbol *s = l->m->symbols[symbol];
	bool known = in_frame(s) ? !dispatch_has_locals_on_stack(l) : in_shared(l, symbol);

	if (s->space == PTX_SPACE_SHARED && !s->dynamic && known)
		symbol = l->kernel->shared[0].symbol;
	return known ? 2 * symbol + 2 : (uint32_t)HOME_NONE;
}

static uint32_t operand_home(const struct finder *h, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPND_SYMBOL)
		return symbol_home(h->l, o->index);
	return o->kind == PTX_OPND_VALUE ? h->homes[o->index] : (uint32_t)HOME_NONE;
}

static uint32_t join(uint32_t a, uint32_t b)
{
	return a == b ? a : HOME_MANY;
}

static uint32_t sum_home(uint32_t a, uint32_t b, bool subtracts)
{
	if (b == HOME_NONE)
		return a;
	return a == HOME_NONE && !subtracts ? b : HOME_MANY;
}

/* cvta: between the form of the variable's space and the generic one. */
static uint32_t converted(const struct finder *h, const struct ptx_inst *i, uint32_t home)
{
	if (home == HOME_NONE || home == HOME_MANY)
		return home;
	bool is_shared = h->l->m->symbols[home / 2 - 1]->space == PTX_SPACE_SHARED;
	bool of_shared = i->space == PTX_SPACE_SHARED || i->space == PTX_SPACE_SHARED_CLUSTER;
	bool of_frame = i->space == PTX_SPACE_LOCAL || i->space == PTX_SPACE_PARAM;
	if (!(is_shared ? of_shared : of_frame) || (home & 1) != (i->flags & PTX_F_TO ? 1u : 0u))
		return HOME_MANY;
	return home ^ 1;
}

/* All operands that have a home. */
static uint32_t any_home(const struct finder *h, const struct ptx_inst *i)
{
	for (unsigned k = 0; k < i->nsrc; k++)
		if (operand_home(h, &i->src[k]) != HOME_NONE)
			return HOME_MANY;
	return HOME_NONE;
}

/* A space's addresses have 32 bits, in registers of 32 or 64; generic ones have 64. */
static bool is_address(const struct finder *h, const struct ptx_inst *i)
{
	unsigned bits =
		i->ndst == 1 && i->dst[0].kind == PTX_OPND_VALUE ? h->f->values[i->dst[0].index].bits : 0;

	return (bits == 32 || bits == 64) && !(i->flags & (PTX_F_CC | PTX_F_CARRY_IN | PTX_F_SAT));
}

static uint32_t resized(const struct ptx_inst *i, uint32_t home)
{
	bool plain = !ptx_type_is_float(i->type) && !ptx_type_is_float(i->type2) &&
		     ptx_type_bits(i->type) >= 32 && ptx_type_bits(i->type2) >= 32;

	return plain && !(home & 1) ? home : HOME_MANY;
}

static uint32_t result_home(const struct finder *h, const struct ptx_inst *i)
{
	uint32_t a = i->nsrc > 0 ? operand_home(h, &i->src[0]) : 0,
		 b = i->nsrc > 1 ? operand_home(h, &i->src[1]) : 0;

	if (any_home(h, i) == HOME_NONE)
		return HOME_NONE;
	if (!is_address(h, i))
		return HOME_MANY;
	if (i->op == PTX_OP_MAD && a == HOME_NONE && b == HOME_NONE && !(i->flags & PTX_F_HI))
		return operand_home(h, &i->src[2]);
	if (i->op == PTX_OP_CVT)
		return resized(i, a);
	if (ptx_type_bits(i->type) != h->f->values[i->dst[0].index].bits)
		return HOME_MANY;
	switch (i->op) {
	case PTX_OP_MOV: return i->nsrc == 1 ? a : HOME_MANY;
	case PTX_OP_ADD: return sum_home(a, b, false);
	case PTX_OP_SUB: return sum_home(a, b, true);
	case PTX_OP_SELP: return join(a, b);
	case PTX_OP_CVTA: return converted(h, i, a);
	default: return HOME_MANY;
	}
}

/* A value's home changes twice at most: from none to one, and to many. */
static void settle(struct finder *h, uint32_t value, uint32_t home)
{
	uint32_t *now = &h->homes[value];

	if (!value || home == *now || *now == HOME_MANY || home == HOME_NONE)
		return;
	*now = *now == HOME_NONE ? home : HOME_MANY;
	h->queue[h->n++] = value;
}

static void settle_inst(struct finder *h, const struct ptx_inst *i)
{
	uint32_t home = result_home(h, i);

	for (unsigned d = 0; d < i->ndst; d++) {
		if (i->dst[d].kind != PTX_OPND_VALUE)
			continue;
		uint32_t kept = i->prev && i->prev[d] != PTX_NONE ? h->homes[i->prev[d]] : home;
		settle(h, i->dst[d].index, home);
		settle(h, i->dst[d].index, kept);
	}
}

static void spread(struct finder *h)
{
	for (uint32_t k = 0; k < h->f->ninsts; k++)
		settle_inst(h, &h->f->insts[k]);
	while (h->n) {
		uint32_t v = h->queue[--h->n];
		for (uint32_t k = h->uses.first[v]; k < h->uses.first[v + 1]; k++) {
			const struct ptx_use *u = &h->uses.at[k];
			if (u->inst == PTX_NONE)
				settle(h, u->phi, h->homes[v]);
			else
				settle_inst(h, &h->f->insts[u->inst]);
		}
	}
}

/* Nothing else may come to where addresses of one variable meet. */
static bool meets_others(const struct finder *h, const struct ptx_block *b, const struct ptx_phi *p)
{
	for (uint32_t k = 0; k < b->npreds; k++)
		if (h->homes[p->args[k]] != h->homes[p->value])
			return true;
	return false;
}

static bool keeps_others(const struct finder *h, const struct ptx_inst *i, unsigned d)
{
	return i->prev && i->prev[d] != PTX_NONE && h->homes[i->prev[d]] != h->homes[i->dst[d].index];
}

static void give_up(struct finder *h, uint32_t value)
{
	if (h->homes[value] == HOME_NONE || h->homes[value] == HOME_MANY)
		return;
	h->homes[value] = HOME_MANY;
	h->queue[h->n++] = value;
}

static void give_up_mixed(struct finder *h)
{
	for (uint32_t b = 0; b < h->f->nblocks; b++)
		for (uint32_t p = 0; p < h->f->blocks[b].nphis; p++)
			if (meets_others(h, &h->f->blocks[b], &h->f->blocks[b].phis[p]))
				give_up(h, h->f->blocks[b].phis[p].value);
	for (uint32_t k = 0; k < h->f->ninsts; k++)
		for (unsigned d = 0; d < h->f->insts[k].ndst; d++)
			if (h->f->insts[k].dst[d].kind == PTX_OPND_VALUE &&
			    keeps_others(h, &h->f->insts[k], d))
				give_up(h, h->f->insts[k].dst[d].index);
}

static bool has_variables(const struct lower *l)
{
	for (uint32_t k = l->f->first_symbol; k < l->f->first_symbol + l->f->nsymbols; k++)
		if (symbol_home(l, k) != HOME_NONE)
			return true;
	return l->kernel->nshared || l->kernel->uses_dynamic_shared;
}

enum { WIDTH_UNSEEN, WIDTH_MIXED = 1 };

static void see_width(const struct finder *h, const struct ptx_inst *i)
{
	uint32_t home = operand_home(h, &i->src[0]), bytes = ptx_type_bits(i->type) / 8;
	uint8_t *width;

	if (home == HOME_NONE || home == HOME_MANY || !in_frame(h->l->m->symbols[home / 2 - 1]))
		return;
	width = &h->l->home_widths[home / 2 - 1 - h->f->first_symbol];
	*width = *width == WIDTH_UNSEEN || *width == bytes ? (uint8_t)bytes : WIDTH_MIXED;
}

static void find_widths(const struct finder *h)
{
	for (uint32_t k = 0; k < h->f->ninsts; k++)
		if (h->f->insts[k].op == PTX_OP_LD || h->f->insts[k].op == PTX_OP_ST)
			see_width(h, &h->f->insts[k]);
}

unsigned variable_element_bytes(const struct lower *l, uint32_t symbol)
{
	unsigned width = l->home_widths && in_frame(l->m->symbols[symbol])
				 ? l->home_widths[symbol - l->f->first_symbol]
				 : 0;

	return width && width <= 8 && l->m->symbols[symbol]->size % width == 0 ? width : 1;
}

bool variable_addresses_find(struct lower *l)
{
	struct finder h = {.l = l, .f = l->f};
	size_t n = (size_t)l->f->nvalues + 1;
	bool ok;

	l->homes = NULL;
	l->home_widths = NULL;
	if (!has_variables(l))
		return true;
	h.homes = l->homes = calloc(n, sizeof(*h.homes));
	h.queue = malloc(3 * n * sizeof(*h.queue));
	l->home_widths = calloc(l->f->nsymbols + 1, 1);
	ok = h.homes && h.queue && l->home_widths && !ptx_uses_find(l->f, &h.uses);
	if (ok) {
		spread(&h);
		give_up_mixed(&h);
		spread(&h);
		find_widths(&h);
		ptx_uses_free(&h.uses);
	}
	free(h.queue);
	return ok || lower_no_memory(l);
}

void variable_addresses_free(struct lower *l)
{
	free(l->homes);
	free(l->home_widths);
	l->homes = NULL;
	l->home_widths = NULL;
}

bool variable_home(const struct lower *l, const struct ptx_operand *o, uint32_t *symbol, bool *is_generic)
{
	uint32_t home = l->homes && o->kind == PTX_OPND_VALUE ? l->homes[o->index] : (uint32_t)HOME_NONE;

	*symbol = home / 2 - 1;
	*is_generic = home & 1;
	return home != HOME_NONE && home != HOME_MANY;
}

static bool is_static_shared(const struct lower *l, uint32_t symbol)
{
	return l->m->symbols[symbol]->space == PTX_SPACE_SHARED && !l->m->symbols[symbol]->dynamic;
}

struct ir variable_pointer(struct lower *l, uint32_t symbol, unsigned *as)
{
	if (!is_static_shared(l, symbol))
		return symbol_pointer(l, symbol, 0, as);
	l->uses_static_shared = true;
	*as = AS_LDS;
	return ir_text("@shared.static");
}

struct ir variable_base(struct lower *l, uint32_t symbol, bool is_generic)
{
	unsigned as;
	struct ir p = variable_pointer(l, symbol, &as);

	if (!is_generic && is_static_shared(l, symbol))
		return ir_text("0"); /* lower.h */
	if (!is_generic)
		return ir_op(l, "ptrtoint ptr addrspace(%u) %s to i32", as, p.s);
	p = ir_op(l, "addrspacecast ptr addrspace(%u) %s to ptr", as, p.s);
	return ir_op(l, "ptrtoint ptr %s to i64", p.s);
}

struct ir variable_offset(struct lower *l, const struct ptx_operand *o, uint32_t symbol, bool is_generic)
{
	unsigned bits = is_generic ? 64 : 32;
	struct ir v = read_bits(l, o, bits);

	if (is_generic || !is_static_shared(l, symbol))
		v = ir_op(l, "sub i%u %s, %s", bits, v.s, variable_base(l, symbol, is_generic).s);
	return ir_resize(l, v, bits, 32, false);
}
