/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands. Each register slot is an alloca, which LLVM's mem2reg turns back into SSA; all hold plain bits, because
 * PTX reinterprets registers freely.
 */
#include "ptx/lower/dispatch.h"
#include "ptx/lower/variable_address.h"

#include <stdlib.h>

static struct ir read_value(struct lower *l, const struct ptx_operand *o, unsigned bits)
{
	uint32_t slot = l->f->values[o->index].slot;

	if (!o->index || !slot)
		return ir_text("0");
	unsigned have = l->f->slots[slot].bits;
	struct ir v = ir_op(l, "load i%u, ptr addrspace(5) %%%sslot%u", have, l->prefix, slot);
	v = ir_resize(l, v, have, bits, false);
	return o->negate ? ir_op(l, "xor i%u %s, 1", bits, v.s) : v;
}

/* Where among the kernarg's variables this one is; new ones are appended. */
static uint32_t variable_place(struct lower *l, uint32_t symbol)
{
	struct lowered *out = l->out;

	for (uint32_t k = 0; k < out->nvariables; k++)
		if (out->variables[k] == symbol)
			return k;
	uint32_t *grown = realloc(out->variables, (out->nvariables + 1) * sizeof(*grown));
	if (!grown) {
		lower_no_memory(l);
		return 0;
	}
	out->variables = grown;
	grown[out->nvariables] = symbol;
	return out->nvariables++;
}

static struct ir shared_pointer(struct lower *l, uint32_t symbol, int64_t offset)
{
	if (l->m->symbols[symbol]->dynamic) {
		l->uses_dynamic_shared = true;
		return ir_op(l, "getelementptr i8, ptr addrspace(3) @shared.dynamic, i32 %d", (int)offset);
	}
	for (uint32_t k = 0; k < l->kernel->nshared; k++)
		if (l->kernel->shared[k].symbol == symbol) {
			l->uses_static_shared = true;
			return ir_op(l, "getelementptr i8, ptr addrspace(3) @shared.static, i32 %d",
				     (int)(offset + (int64_t)l->kernel->shared[k].offset));
		}
	lower_refuse(l, "shared variable %s has no place in the kernel's block", l->m->symbols[symbol]->name);
	return ir_text("null");
}

struct ir symbol_pointer(struct lower *l, uint32_t symbol, int64_t offset, unsigned *as)
{
	const struct ptx_symbol *s = l->m->symbols[symbol];
	struct ir at;

	switch (s->space) {
	case PTX_SPACE_SHARED: *as = AS_LDS; return shared_pointer(l, symbol, offset);
	case PTX_SPACE_LOCAL:
	case PTX_SPACE_PARAM:
		*as = AS_PRIVATE;
		if (s->owner == PTX_NONE)
			lower_refuse(l, "%s is local memory at module scope", s->name);
		else if (dispatch_has_locals_on_stack(l)) {
			at = dispatch_local(l, symbol);
			return ir_op(l, "getelementptr i8, ptr addrspace(5) %s, i32 %d", at.s, (int)offset);
		}
		return ir_op(l, "getelementptr i8, ptr addrspace(5) %%sym%u, i32 %d", symbol, (int)offset);
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_TEX:
	case PTX_SPACE_CONST:
		*as = s->space == PTX_SPACE_CONST ? AS_CONSTANT : AS_GLOBAL;
		at = ir_op(l, "getelementptr i8, ptr addrspace(4) %%kernarg, i64 %u",
			   l->out->variables_offset + 8 * variable_place(l, symbol));
		at = ir_op(l, "load ptr addrspace(%u), ptr addrspace(4) %s, align 8", *as, at.s);
		return ir_op(l, "getelementptr i8, ptr addrspace(%u) %s, i64 %lld", *as, at.s,
			     (long long)offset);
	default:
		lower_refuse(l, "the address of %s (texture, sampler or surface)", s->name);
		*as = AS_FLAT;
		return ir_text("null");
	}
}

static struct ir param_pointer(struct lower *l, const struct ptx_operand *o, unsigned *as)
{
	*as = l->f->is_entry ? AS_CONSTANT : AS_PRIVATE;
	if (l->f->is_entry)
		return ir_op(l, "getelementptr i8, ptr addrspace(4) %%kernarg, i64 %lld", (long long)o->imm);
	return ir_op(l, "getelementptr i8, ptr addrspace(5) %%%s%s, i32 %d", l->prefix,
		     o->index ? "results" : "params", (int)o->imm);
}

static bool is_narrow(unsigned as)
{
	return as == AS_LDS || as == AS_PRIVATE;
}

static struct ir pointer_bits(struct lower *l, struct ir p, unsigned as, unsigned bits)
{
	unsigned have = is_narrow(as) ? 32 : 64;

	return ir_resize(l, ir_op(l, "ptrtoint ptr addrspace(%u) %s to i%u", as, p.s, have), have, bits,
			 false);
}

/* A static shared variable's address is its place: they begin at 0 (lower.h). */
static bool shared_offset(struct lower *l, const struct ptx_operand *o, uint64_t *at)
{
	const struct ptx_symbol *s = l->m->symbols[o->index];

	if (s->space != PTX_SPACE_SHARED || s->dynamic)
		return false;
	for (uint32_t k = 0; k < l->kernel->nshared; k++)
		if (l->kernel->shared[k].symbol == o->index) {
			l->uses_static_shared = true;
			*at = o->imm + l->kernel->shared[k].offset;
			return true;
		}
	return false;
}

struct ir read_bits(struct lower *l, const struct ptx_operand *o, unsigned bits)
{
	uint64_t at;
	unsigned as;
	struct ir p;

	switch (o->kind) {
	case PTX_OPND_VALUE: return read_value(l, o, bits);
	case PTX_OPND_IMM: return ir_int(o->negate ? o->imm ^ 1 : o->imm, bits);
	case PTX_OPND_SREG: return read_sreg(l, o->index, bits);
	case PTX_OPND_SYMBOL:
		if (shared_offset(l, o, &at))
			return ir_int(at, bits);
		p = symbol_pointer(l, o->index, (int64_t)o->imm, &as);
		break;
	case PTX_OPND_PARAM: p = param_pointer(l, o, &as); break;
	case PTX_OPND_FUNC: return ir_int(LOWER_FUNCTION_ADDRESS(o->index), bits);
	default: lower_refuse(l, "an operand of this kind"); return ir_text("0");
	}
	return pointer_bits(l, p, as, bits);
}

struct ir read_typed(struct lower *l, const struct ptx_operand *o, enum ptx_type t)
{
	unsigned bits = ptx_type_bits(t);
	struct ir v = read_bits(l, o, bits);

	if (ir_type(t)[0] == 'i')
		return v;
	return ir_op(l, "bitcast i%u %s to %s", bits, v.s, ir_type(t));
}

void write_bits(struct lower *l, const struct ptx_operand *o, struct ir v, unsigned bits, bool is_signed)
{
	if (o->kind != PTX_OPND_VALUE)
		return; /* `_` */
	uint32_t slot = l->f->values[o->index].slot;
	unsigned have = l->f->slots[slot].bits;

	v = ir_resize(l, v, bits, have, is_signed);
	ir_line(l, "store i%u %s, ptr addrspace(5) %%%sslot%u", have, v.s, l->prefix, slot);
}

void write_typed(struct lower *l, const struct ptx_operand *o, struct ir v, enum ptx_type t)
{
	unsigned bits = ptx_type_bits(t);

	if (ir_type(t)[0] != 'i')
		v = ir_op(l, "bitcast %s %s to i%u", ir_type(t), v.s, bits);
	write_bits(l, o, v, bits, ptx_type_is_signed(t));
}

static unsigned space_number(struct lower *l, enum ptx_space s)
{
	switch (s) {
	case PTX_SPACE_GENERIC: return AS_FLAT;
	case PTX_SPACE_GLOBAL: return AS_GLOBAL;
	case PTX_SPACE_CONST: return AS_CONSTANT;
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER: return AS_LDS; /* a cluster has one block */
	case PTX_SPACE_LOCAL: return AS_PRIVATE;
	case PTX_SPACE_PARAM: return l->f->is_entry ? AS_CONSTANT : AS_PRIVATE;
	default: lower_refuse(l, "this state space"); return AS_FLAT;
	}
}

/* An address in one variable: that variable's, and so many bytes. */
static bool home_pointer(struct lower *l, const struct ptx_operand *o, enum ptx_space space, struct ir *p,
			 unsigned *as)
{
	bool is_generic;
	uint32_t symbol;

	if (!variable_home(l, o, &symbol, &is_generic) || (space == PTX_SPACE_GENERIC) != is_generic)
		return false;
	struct ir base = variable_pointer(l, symbol, as);
	if (!is_generic && space_number(l, space) != *as)
		return false;
	struct ir at = variable_offset(l, o, symbol, is_generic);
	unsigned bytes = variable_element_bytes(l, symbol);
	if (bytes > 1)
		at = ir_op(l, "lshr i32 %s, %d", at.s, __builtin_ctz(bytes));
	*p = ir_op(l, "getelementptr i%u, ptr addrspace(%u) %s, i32 %s", 8 * bytes, *as, base.s, at.s);
	if (o->imm)
		*p = ir_op(l, "getelementptr i8, ptr addrspace(%u) %s, i32 %d", *as, p->s, (int)o->imm);
	return true;
}

struct ir read_pointer(struct lower *l, const struct ptx_operand *o, enum ptx_space space, int64_t more,
		       unsigned *as)
{
	struct ptx_operand moved = *o;
	struct ir p;

	moved.imm += (uint64_t)more;
	if (o->kind == PTX_OPND_SYMBOL) {
		p = symbol_pointer(l, o->index, (int64_t)moved.imm, as);
	} else if (o->kind == PTX_OPND_PARAM) {
		p = param_pointer(l, &moved, as);
	} else if (!home_pointer(l, &moved, space, &p, as)) {
		*as = space_number(l, space);
		unsigned bits = is_narrow(*as) ? 32 : 64;
		p = o->kind == PTX_OPND_VALUE ? read_value(l, o, bits) : ir_int(o->imm, bits);
		p = ir_op(l, "inttoptr i%u %s to ptr addrspace(%u)", bits, p.s, *as);
		if (o->kind == PTX_OPND_VALUE ? moved.imm : (uint64_t)more)
			p = ir_op(l, "getelementptr i8, ptr addrspace(%u) %s, i%u %lld", *as, p.s, bits,
				  (long long)(o->kind == PTX_OPND_VALUE ? (int64_t)moved.imm : more));
	}
	return ir_text("ptr addrspace(%u) %s", *as, p.s);
}
