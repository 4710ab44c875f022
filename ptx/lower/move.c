/* SPDX-License-Identifier: Apache-2.0
 *
 * mov, with packing and unpacking, and addresses between state spaces: PTX ISA 9.7.9.2, .3, .19, .20. Addresses of
 * global memory, constants and kernel parameters are generic ones as they are; those of shared and local memory are
 * offsets of 32 bits, in registers of 64.
 */
#include "ptx/lower/variable_address.h"

static bool unpack(struct lower *l, unsigned bits)
{
	const struct ptx_inst *i = l->i;
	struct ir v = read_bits(l, &i->src[0], bits);
	unsigned part = bits / i->ndst;

	for (unsigned k = 0; k < i->ndst; k++) {
		struct ir p = k ? ir_op(l, "lshr i%u %s, %u", bits, v.s, k * part) : v;
		write_bits(l, &i->dst[k], ir_resize(l, p, bits, part, false), part, false);
	}
	return true;
}

static bool pack(struct lower *l, unsigned bits)
{
	const struct ptx_inst *i = l->i;
	unsigned part = bits / i->nsrc;
	struct ir v = ir_text("0");

	for (unsigned k = 0; k < i->nsrc; k++) {
		struct ir p = ir_resize(l, read_bits(l, &i->src[k], part), part, bits, false);
		p = ir_op(l, "shl i%u %s, %u", bits, p.s, k * part);
		v = ir_op(l, "or i%u %s, %s", bits, v.s, p.s);
	}
	write_bits(l, &i->dst[0], v, bits, false);
	return true;
}

static bool lower_mov(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(i->type);

	if (i->ndst > 1)
		return unpack(l, bits);
	if (i->nsrc > 1)
		return pack(l, bits);
	write_bits(l, &i->dst[0], read_bits(l, &i->src[0], bits), bits, false);
	return true;
}

/* LLVM's number of a space whose addresses differ from generic ones; 0: they don't. */
static unsigned offset_space(const struct lower *l)
{
	switch (l->i->space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER: return 3;
	case PTX_SPACE_LOCAL: return 5;
	case PTX_SPACE_PARAM: return l->f->is_entry ? 0 : 5;
	default: return 0;
	}
}

/* Of an address in one variable: its other address, and as much beyond it. */
static bool lower_home_cvta(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	bool is_generic, to_space = i->flags & PTX_F_TO;
	uint32_t symbol;

	if (!variable_home(l, &i->src[0], &symbol, &is_generic) || is_generic != to_space)
		return false;
	struct ir at = variable_offset(l, &i->src[0], symbol, is_generic),
		  base = variable_base(l, symbol, !is_generic);
	if (to_space)
		at = ir_resize(l, ir_op(l, "add i32 %s, %s", base.s, at.s), 32, 64, false);
	else
		at = ir_op(l, "add i64 %s, %s", base.s, ir_resize(l, at, 32, 64, true).s);
	write_bits(l, &i->dst[0], at, 64, false);
	return true;
}

static bool lower_cvta(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned as = offset_space(l);

	if (ptx_type_bits(i->type) != 64)
		return lower_refuse(l, "addresses of 32 bits");
	if (as && lower_home_cvta(l))
		return true;
	struct ir v = read_bits(l, &i->src[0], 64);
	if (as && i->flags & PTX_F_TO) {
		v = ir_op(l, "inttoptr i64 %s to ptr", v.s);
		v = ir_op(l, "addrspacecast ptr %s to ptr addrspace(%u)", v.s, as);
		v = ir_op(l, "ptrtoint ptr addrspace(%u) %s to i32", as, v.s);
		v = ir_resize(l, v, 32, 64, false);
	} else if (as) {
		v = ir_op(l, "inttoptr i32 %s to ptr addrspace(%u)", ir_resize(l, v, 64, 32, false).s, as);
		v = ir_op(l, "addrspacecast ptr addrspace(%u) %s to ptr", as, v.s);
		v = ir_op(l, "ptrtoint ptr %s to i64", v.s);
	}
	write_bits(l, &i->dst[0], v, 64, false);
	return true;
}

static struct ir is_in(struct lower *l, struct ir p, const char *what)
{
	return ir_op(l, "call i1 @llvm.amdgcn.is.%s(ptr %s)", what, p.s);
}

/* Whether address v lies in the bytes from `first` on. */
static struct ir lies_in(struct lower *l, struct ir v, struct ir first, uint64_t bytes)
{
	struct ir at = ir_op(l, "sub i64 %s, %s", v.s, first.s);

	return ir_op(l, "icmp ult i64 %s, %llu", at.s, (unsigned long long)bytes);
}

/* Constants lie in global memory: they are told by their addresses. */
static struct ir is_constant(struct lower *l, struct ir v)
{
	struct ir r = ir_text("false");

	for (uint32_t k = 0; k < l->m->nsymbols; k++) {
		const struct ptx_symbol *s = l->m->symbols[k];
		struct ptx_operand o = {.kind = PTX_OPND_SYMBOL, .index = k};
		if (s->space == PTX_SPACE_CONST && s->owner == PTX_NONE)
			r = ir_op(l, "or i1 %s, %s", r.s, lies_in(l, v, read_bits(l, &o, 64), s->size).s);
	}
	return r;
}

/* Parameters of the kernel. */
static struct ir is_param(struct lower *l, struct ir v)
{
	struct ir first = ir_op(l, "ptrtoint ptr addrspace(4) %%kernarg to i64");

	return lies_in(l, v, first, l->kernel->param_bytes);
}

static struct ir is_global(struct lower *l, struct ir v, struct ir p)
{
	struct ir r = ir_op(l, "or i1 %s, %s", is_in(l, p, "shared").s, is_in(l, p, "private").s);

	r = ir_op(l, "or i1 %s, %s", r.s, is_param(l, v).s);
	return ir_op(l, "xor i1 %s, true", r.s);
}

/* A cluster has one block. */
static bool lower_isspacep(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir v = read_bits(l, &i->src[0], 64), p = ir_op(l, "inttoptr i64 %s to ptr", v.s), r;

	switch (i->space) {
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER: r = is_in(l, p, "shared"); break;
	case PTX_SPACE_LOCAL: r = is_in(l, p, "private"); break;
	case PTX_SPACE_GLOBAL: r = is_global(l, v, p); break;
	case PTX_SPACE_CONST: r = is_constant(l, v); break;
	case PTX_SPACE_PARAM: r = is_param(l, v); break;
	default: return lower_refuse(l, "isspacep of this space");
	}
	write_bits(l, &i->dst[0], r, 1, false);
	return true;
}

static bool lower_mapa(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir other = ir_op(l, "icmp ne i32 %s, 0", read_bits(l, &i->src[1], 32).s);
	unsigned bits = ptx_type_bits(i->type);

	fault_if(l, other, LOWER_FAULT_INSTRUCTION);
	write_bits(l, &i->dst[0], read_bits(l, &i->src[0], bits), bits, false);
	return true;
}

bool lower_move(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_MOV: return lower_mov(l);
	case PTX_OP_CVTA: return lower_cvta(l);
	case PTX_OP_ISSPACEP: return lower_isspacep(l);
	case PTX_OP_MAPA: return lower_mapa(l);
	case PTX_OP_GETCTARANK: write_bits(l, &l->i->dst[0], ir_text("0"), 32, false); return true;
	default: return false;
	}
}
