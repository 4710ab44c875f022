/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables by name, memory by address, and what an instruction is about to access. */
#include <stdio.h>
#include <string.h>

#include "debug/session.h"

const char *space_name(enum debug_space s)
{
	static const char *const names[] = {[DEBUG_GENERIC] = "global",
					    [DEBUG_GLOBAL] = "global",
					    [DEBUG_SHARED] = "shared",
					    [DEBUG_LOCAL] = "local",
					    [DEBUG_PARAM] = "param"};

	return names[s];
}

/* ---- variables -------------------------------------------------------------------------- */

static bool shared_place(const struct session *s, uint32_t symbol, const struct ptx_symbol *sym,
			 struct variable *v)
{
	v->space = DEBUG_SHARED;
	if (sym->dynamic) {
		v->address = s->launch.static_shared;
		v->bytes = s->launch.dynamic_shared;
		return true;
	}
	for (uint32_t k = 0; k < s->entry->nshared; k++)
		if (s->entry->shared[k].symbol == symbol) {
			v->address = s->entry->shared[k].offset;
			return true;
		}
	return false;
}

static bool symbol_variable(const struct session *s, uint32_t func, uint32_t symbol, struct variable *v)
{
	const struct ptx_symbol *sym = s->module->symbols[symbol];

	if (sym->owner != PTX_NONE && sym->owner != func)
		return false;
	*v = (struct variable){.name = sym->name, .type = sym->type, .bytes = sym->size};
	switch (sym->space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER: return shared_place(s, symbol, sym, v);
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
		v->space = DEBUG_GLOBAL;
		v->address = symbol < s->launch.nsymbols ? s->launch.symbol_address[symbol] : 0;
		return v->address != 0;
	case PTX_SPACE_LOCAL:
		v->space = DEBUG_LOCAL;
		v->address = sym->offset;
		v->needs_thread = true;
		return true;
	default: return false;
	}
}

/* Of a kernel in its parameter block; of a function in the stack, or in a register, which has a name of its own. */
static bool param_variable(const struct ptx_func *f, uint32_t k, struct variable *v)
{
	const struct ptx_param *p = &f->params[k];

	*v = (struct variable){.name = p->name,
			       .type = p->type,
			       .space = f->is_entry ? DEBUG_PARAM : DEBUG_LOCAL,
			       .address = p->offset,
			       .bytes = p->size,
			       .needs_thread = !f->is_entry};
	return p->name && p->slot == PTX_NONE;
}

void place_each(const struct session *s, uint32_t func, void (*fn)(void *ctx, const struct variable *v),
		void *ctx)
{
	const struct ptx_func *f = code_func(s, func);
	struct variable v;

	for (uint32_t k = 0; f && k < f->nparams; k++)
		if (param_variable(f, k, &v))
			fn(ctx, &v);
	for (uint32_t k = 0; k < s->module->nsymbols; k++)
		if (symbol_variable(s, func, k, &v))
			fn(ctx, &v);
}

struct search {
	const char *name;
	size_t n;
	struct variable *out;
	unsigned exact, partial;
};

/* "param_0" for "saxpy_param_0"; "tile" for "_ZZ6matmulE4tile": a mangled name says how long its last part is. */
static bool ends_with(const char *whole, const char *name, size_t n)
{
	size_t len = strlen(whole);
	char digits[24];
	size_t k = (size_t)snprintf(digits, sizeof(digits), "%zu", n);

	if (len <= n || strncmp(whole + len - n, name, n) != 0)
		return false;
	if (whole[len - n - 1] == '_' && !strncmp(name, "param_", 6))
		return true;
	return !strncmp(whole, "_Z", 2) && len > n + k && !strncmp(whole + len - n - k, digits, k) &&
	       (whole[len - n - k - 1] < '0' || whole[len - n - k - 1] > '9');
}

static void look_at(void *ctx, const struct variable *v)
{
	struct search *q = ctx;

	if (strlen(v->name) == q->n && !strncmp(v->name, q->name, q->n)) {
		if (!q->exact++)
			*q->out = *v;
	} else if (!q->exact && ends_with(v->name, q->name, q->n)) {
		*q->out = *v;
		q->partial++;
	}
}

bool place_find(const struct session *s, uint32_t func, const char *name, size_t n, struct variable *out)
{
	struct search q = {.name = name, .n = n, .out = out};

	place_each(s, func, look_at, &q);
	return q.exact || q.partial == 1;
}

bool place_of(const struct session *s, const struct variable *v, const struct focus *f,
	      struct debug_place *out)
{
	struct debug_frame frame;

	*out = (struct debug_place){.space = (enum debug_space)v->space,
				    .address = v->address,
				    .block = f->block,
				    .warp = f->warp,
				    .lane = f->lane};
	if (!v->needs_thread)
		return true;
	if (!s->view.frame(s->view.state, f->block, f->warp, f->lane, f->level, &frame))
		return false;
	out->address += frame.local_base;
	for (uint32_t k = 0; k < s->module->funcs[frame.func]->nparams; k++)
		if (s->module->funcs[frame.func]->params[k].name == v->name)
			out->address += frame.param_offset;
	return true;
}

bool place_read(const struct session *s, const struct debug_place *p, void *out, size_t bytes)
{
	return s->view.read(s->view.state, p, out, bytes);
}

struct naming {
	enum debug_space space;
	uint64_t address;
	char *out;
	size_t size;
};

static void name_variable(void *ctx, const struct variable *v)
{
	struct naming *n = ctx;

	if (v->space != n->space || v->needs_thread || n->address - v->address >= v->bytes || n->out[0])
		return;
	if (n->address == v->address)
		snprintf(n->out, n->size, "<%s>", v->name);
	else
		snprintf(n->out, n->size, "<%s+%llu>", v->name,
			 (unsigned long long)(n->address - v->address));
}

void place_name(const struct session *s, enum debug_space space, uint64_t address, char *out, size_t size)
{
	struct naming n = {.space = space, .address = address, .out = out, .size = size};

	out[0] = '\0';
	if (space == DEBUG_GENERIC)
		n.space = s->view.space(s->view.state, &n.address);
	place_each(s, s->sh->focus.level ? s->entry->index : s->at.func, name_variable, &n);
	if (out[0] || n.space != DEBUG_GLOBAL)
		return;
	for (size_t k = 0; k < s->nmemory; k++) {
		uint64_t off = n.address - s->memory[k].base;

		if (off >= s->memory[k].bytes)
			continue;
		if (off)
			snprintf(out, size, "<allocation %zu+%llu>", k + 1, (unsigned long long)off);
		else
			snprintf(out, size, "<allocation %zu>", k + 1);
	}
}

/* ---- accesses ---------------------------------------------------------------------------------- */

struct access {
	uint8_t operand; /* of the sources: the address */
	uint8_t space;   /* enum ptx_space */
	uint32_t bytes;
	bool reads, writes;
};

static unsigned accesses_of(const struct ptx_inst *i, struct access *a)
{
	uint32_t bytes = (i->vec ? i->vec : 1) * ptx_type_bits((enum ptx_type)i->type) / 8;

	switch (i->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU: a[0] = (struct access){0, i->space, bytes, true, false}; return 1;
	case PTX_OP_ST: a[0] = (struct access){0, i->space, bytes, false, true}; return 1;
	case PTX_OP_ATOM:
	case PTX_OP_RED: a[0] = (struct access){0, i->space, bytes, true, true}; return 1;
	case PTX_OP_LDMATRIX: a[0] = (struct access){0, i->space, 16, true, false}; return 1;
	case PTX_OP_STMATRIX: a[0] = (struct access){0, i->space, 16, false, true}; return 1;
	case PTX_OP_CP_ASYNC:
		bytes = i->nsrc > 2 && i->src[2].kind == PTX_OPND_IMM ? (uint32_t)i->src[2].imm : 16;
		a[0] = (struct access){1, PTX_SPACE_GLOBAL, bytes, true, false};
		a[1] = (struct access){0, PTX_SPACE_SHARED, bytes, false, true};
		return 2;
	default: return 0;
	}
}

static enum debug_space space_of(uint8_t ptx_space)
{
	switch (ptx_space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER: return DEBUG_SHARED;
	case PTX_SPACE_LOCAL: return DEBUG_LOCAL;
	case PTX_SPACE_PARAM: return DEBUG_PARAM;
	case PTX_SPACE_GENERIC: return DEBUG_GENERIC;
	default: return DEBUG_GLOBAL;
	}
}

/* What one operand says in each lane; false: it can't be told. */
static bool addresses_of(const struct session *s, const struct debug_at *at, const struct ptx_operand *o,
			 int64_t offset, uint8_t *space, uint64_t *out)
{
	const struct ptx_func *f = code_func(s, at->func);
	uint32_t lane = (uint32_t)__builtin_ctz(at->mask);
	struct variable v;

	if (o->kind == PTX_OPND_VALUE) {
		uint32_t slot = f->values[o->index].slot, bytes = f->slots[slot].bits / 8;
		uint8_t all[DEBUG_LANES * 16];

		if ((bytes != 4 && bytes != 8) ||
		    !s->view.reg(s->view.state, at->block, at->warp, lane, 0, slot, all, DEBUG_LANES * bytes))
			return false;
		for (uint32_t l = 0; l < DEBUG_LANES; l++) {
			uint64_t base = 0;

			memcpy(&base, all + (size_t)l * bytes, bytes);
			out[l] = base + (uint64_t)offset;
		}
		return true;
	}
	if (o->kind != PTX_OPND_SYMBOL && o->kind != PTX_OPND_IMM)
		return false;
	if (o->kind == PTX_OPND_SYMBOL && !symbol_variable(s, at->func, o->index, &v))
		return false;
	if (o->kind == PTX_OPND_SYMBOL) {
		struct focus focus = {.block = at->block, .warp = at->warp, .lane = lane};
		struct debug_place p;

		if (!place_of(s, &v, &focus, &p))
			return false;
		*space = s->module->symbols[o->index]->space;
		out[0] = p.address + o->imm;
	} else {
		out[0] = o->imm;
	}
	for (uint32_t l = 1; l < DEBUG_LANES; l++)
		out[l] = out[0];
	return true;
}

/* Lanes that execute it: a guard may leave some out. */
static uint32_t guarded(const struct session *s, const struct debug_at *at, const struct ptx_inst *i)
{
	const struct ptx_func *f = code_func(s, at->func);
	uint32_t p, lane = (uint32_t)__builtin_ctz(at->mask);

	if (!i->guarded ||
	    !s->view.reg(s->view.state, at->block, at->warp, lane, 0, f->values[i->guard].slot, &p, 4))
		return at->mask;
	return at->mask & (i->guard_negate ? ~p : p);
}

static bool overlaps(const struct session *s, const struct debug_at *at, uint32_t lane,
		     const struct access *a, uint64_t address, const struct breakpoint *b)
{
	enum debug_space have = space_of(a->space), want = b->at.space;
	uint64_t wanted = b->at.address;

	if (have == DEBUG_GENERIC)
		have = s->view.space(s->view.state, &address);
	if (want == DEBUG_GENERIC)
		want = s->view.space(s->view.state, &wanted);
	if (have != want || (have == DEBUG_SHARED && at->block != b->at.block) ||
	    (have == DEBUG_LOCAL &&
	     (at->block != b->at.block || at->warp != b->at.warp || lane != b->at.lane)))
		return false;
	return address < wanted + b->bytes && wanted < address + a->bytes;
}

uint32_t place_accessed(const struct session *s, const struct debug_at *at, const struct breakpoint *b,
			bool *reads, bool *writes)
{
	const struct ptx_inst *i = code_inst(s, at->func, at->inst);
	struct access a[2];
	unsigned n = i ? accesses_of(i, a) : 0;
	uint32_t lanes = 0, active = n ? guarded(s, at, i) : 0;
	uint64_t addresses[DEBUG_LANES];

	*reads = *writes = false;
	for (unsigned k = 0; k < n; k++) {
		const struct ptx_operand *o = &i->src[a[k].operand];
		int64_t offset = a[k].operand ? (int64_t)o->imm : i->offset;
		uint32_t here = 0;

		if (!addresses_of(s, at, o, offset, &a[k].space, addresses))
			continue;
		for (uint32_t l = 0; l < DEBUG_LANES; l++)
			if (active >> l & 1 && overlaps(s, at, l, &a[k], addresses[l], b))
				here |= 1u << l;
		*reads |= here && a[k].reads;
		*writes |= here && a[k].writes;
		lanes |= here;
	}
	return lanes;
}
