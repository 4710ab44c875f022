/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx/bounds: what operations do to intervals. What isn't named here may give anything. */
#include <string.h>

#include "ptx/bounds.h"

/* ---- what a launch says --------------------------------------------------------- */

static struct interval position(const struct bounds *b, uint32_t n)
{
	return (struct interval){0, b->at_origin || !n ? 0 : (int64_t)n - 1};
}

static struct interval special_register(const struct bounds *b, uint32_t r)
{
	const struct ptx_launch *l = b->launch;
	switch (r) {
	case PTX_SREG_TID_X:
	case PTX_SREG_TID_Y:
	case PTX_SREG_TID_Z: return position(b, l->block[r - PTX_SREG_TID_X]);
	case PTX_SREG_LANEID: return position(b, 32);
	case PTX_SREG_NTID_X:
	case PTX_SREG_NTID_Y:
	case PTX_SREG_NTID_Z: return interval_one(l->block[r - PTX_SREG_NTID_X]);
	case PTX_SREG_CTAID_X:
	case PTX_SREG_CTAID_Y:
	case PTX_SREG_CTAID_Z:
		return (struct interval){
			0, l->grid[r - PTX_SREG_CTAID_X] ? (int64_t)l->grid[r - PTX_SREG_CTAID_X] - 1 : 0};
	case PTX_SREG_NCTAID_X:
	case PTX_SREG_NCTAID_Y:
	case PTX_SREG_NCTAID_Z: return interval_one(l->grid[r - PTX_SREG_NCTAID_X]);
	default: return INTERVAL_ALL;
	}
}

/* What a load leaves in a register of `bits`: numbers of its type, extended. */
static struct interval any_loaded(const struct ptx_inst *i, unsigned bits)
{
	unsigned n = ptx_type_bits(i->type);
	bool lost;
	return n >= bits ? INTERVAL_ALL : interval_as(INTERVAL_ALL, n, ptx_type_is_signed(i->type), &lost);
}

/* A parameter of the kernel, as the launch gave it. */
static struct interval load(const struct bounds *b, const struct ptx_inst *i, unsigned k, unsigned bits)
{
	const struct ptx_operand *a = &i->src[0];
	unsigned bytes = ptx_type_bits(i->type) / 8;
	uint64_t at = a->imm + (uint64_t)k * bytes, raw = 0;
	if (i->space != PTX_SPACE_PARAM || a->kind != PTX_OPND_PARAM || a->index || !b->p->f->is_entry ||
	    !bytes || bytes > 8 || at > b->launch->bytes || b->launch->bytes - at < bytes)
		return any_loaded(i, bits);
	memcpy(&raw, b->launch->params + at, bytes);
	if (bytes < 8 && ptx_type_is_signed(i->type) && raw >> (8 * bytes - 1))
		raw |= UINT64_MAX << 8 * bytes;
	return interval_one((int64_t)raw);
}

/* ---- arithmetic ------------------------------------------------------------------- */

struct operands {
	struct interval a, b, c;
};

/* As numbers of the operation's type. */
static struct interval number(struct bounds *b, struct interval x, const struct ptx_inst *i)
{
	return interval_as(x, ptx_type_bits(i->type), ptx_type_is_signed(i->type), &b->lost);
}

static struct interval multiply(struct bounds *b, const struct ptx_inst *i, const struct operands *o)
{
	if (i->flags & PTX_F_HI)
		return interval_multiply_high(number(b, o->a, i), number(b, o->b, i), ptx_type_bits(i->type));
	if (i->flags & PTX_F_WIDE)
		return interval_multiply(number(b, o->a, i), number(b, o->b, i));
	return interval_multiply(o->a, o->b);
}

static struct interval shift_left(struct bounds *b, const struct ptx_inst *i, const struct operands *o)
{
	bool lost = false;
	struct interval by = interval_as(o->b, 32, false, &lost);
	(void)b;
	if (interval_is_none(o->a) || interval_is_none(by))
		return INTERVAL_NONE;
	if (!interval_is_one(by))
		return INTERVAL_ALL;
	if (by.low >= ptx_type_bits(i->type))
		return interval_one(0);
	return by.low < 63 ? interval_multiply(o->a, interval_one(INT64_C(1) << by.low)) : INTERVAL_ALL;
}

static struct interval shift_right(struct bounds *b, const struct ptx_inst *i, const struct operands *o)
{
	bool lost = false;
	struct interval by = interval_as(o->b, 32, false, &lost), x = number(b, o->a, i);
	if (interval_is_none(x) || interval_is_none(by))
		return INTERVAL_NONE;
	return interval_is_all(x) && !ptx_type_is_signed(i->type) ? INTERVAL_ALL
								  : interval_shift_right(x, by);
}

static struct interval bitwise(struct bounds *b, const struct ptx_inst *i, const struct operands *o)
{
	unsigned bits = ptx_type_bits(i->type);
	bool lost = false; /* nothing wraps around here */
	struct interval x = interval_as(o->a, bits, false, &lost), y = interval_as(o->b, bits, false, &lost);
	(void)b;
	if (i->op == PTX_OP_AND)
		return interval_and(x, y, bits);
	return i->op == PTX_OP_OR ? interval_or(x, y) : interval_xor(x, y);
}

static struct interval least_or_greatest(struct bounds *b, const struct ptx_inst *i, const struct operands *o)
{
	struct interval x = number(b, o->a, i), y = number(b, o->b, i);
	if (interval_is_none(x) || interval_is_none(y))
		return INTERVAL_NONE;
	if (i->op == PTX_OP_MIN)
		return (struct interval){x.low < y.low ? x.low : y.low, x.high < y.high ? x.high : y.high};
	return (struct interval){x.low > y.low ? x.low : y.low, x.high > y.high ? x.high : y.high};
}

static struct interval absolute(struct bounds *b, const struct ptx_inst *i, const struct operands *o)
{
	struct interval x = number(b, o->a, i);
	if (interval_is_none(x) || x.low >= 0)
		return x;
	if (x.low == INT64_MIN)
		return INTERVAL_ALL;
	return (struct interval){0, -x.low > x.high ? -x.low : x.high};
}

/* Numbers of 64 unsigned bits that aren't below 2^63 divide in ways of their own. */
static bool is_half_known(const struct ptx_inst *i, struct interval x)
{
	return ptx_type_bits(i->type) == 64 && !ptx_type_is_signed(i->type) && !interval_is_none(x) &&
	       x.low < 0;
}

static struct interval quotient(struct bounds *b, const struct ptx_inst *i, const struct operands *o)
{
	struct interval x = number(b, o->a, i), y = number(b, o->b, i);
	if (is_half_known(i, y) || (is_half_known(i, x) && i->op == PTX_OP_DIV))
		return INTERVAL_ALL;
	if (is_half_known(i, x))
		x = (struct interval){0, INT64_MAX};
	return i->op == PTX_OP_DIV ? interval_divide(x, y) : interval_remainder(x, y);
}

static struct interval convert(struct bounds *b, const struct ptx_inst *i, uint32_t block)
{
	unsigned to = ptx_type_bits(i->type), from = ptx_type_bits(i->type2);
	unsigned in = i->dst[0].kind == PTX_OPND_VALUE ? b->p->f->values[i->dst[0].index].bits : to;
	bool is_signed = ptx_type_is_signed(i->type), lost = false;
	if (ptx_type_is_float(i->type) || to < 8 || i->nsrc != 1)
		return INTERVAL_ALL;
	if (ptx_type_is_float(i->type2) || i->flags & PTX_F_SAT || from < 8)
		return in > to ? interval_as(INTERVAL_ALL, to, is_signed, &lost) : INTERVAL_ALL;
	struct interval x = bounds_of_operand(b, &i->src[0], block, from);
	if (to > from || in > to)
		x = interval_as(x, from, ptx_type_is_signed(i->type2), &b->lost);
	return in > to ? interval_as(x, to, is_signed, &b->lost) : x;
}

/* The field's length in bits, when the instruction says it. */
static struct interval bit_field(struct bounds *b, const struct ptx_inst *i, uint32_t block)
{
	struct interval n = bounds_of_operand(b, &i->src[2], block, 32);
	if (!interval_is_one(n) || n.low < 1 || n.low > 31)
		return INTERVAL_ALL;
	if (ptx_type_is_signed(i->type))
		return (struct interval){-(INT64_C(1) << (n.low - 1)), (INT64_C(1) << (n.low - 1)) - 1};
	return (struct interval){0, (INT64_C(1) << n.low) - 1};
}

static struct interval calculate(struct bounds *b, const struct ptx_inst *i, const struct operands *o)
{
	switch (i->op) {
	case PTX_OP_ADD: return interval_add(o->a, o->b);
	case PTX_OP_SUB: return interval_subtract(o->a, o->b);
	case PTX_OP_MUL: return multiply(b, i, o);
	case PTX_OP_MAD: return interval_add(multiply(b, i, o), o->c);
	case PTX_OP_NEG: return interval_subtract(interval_one(0), o->a);
	case PTX_OP_NOT: return interval_subtract(interval_one(-1), o->a);
	case PTX_OP_SHL: return shift_left(b, i, o);
	case PTX_OP_SHR: return shift_right(b, i, o);
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR: return bitwise(b, i, o);
	case PTX_OP_MIN:
	case PTX_OP_MAX: return i->nsrc == 2 ? least_or_greatest(b, i, o) : INTERVAL_ALL;
	case PTX_OP_ABS: return absolute(b, i, o);
	case PTX_OP_DIV:
	case PTX_OP_REM: return quotient(b, i, o);
	default: return INTERVAL_ALL;
	}
}

static struct interval arithmetic(struct bounds *b, const struct ptx_inst *i, uint32_t block)
{
	unsigned bits = ptx_type_bits(i->type);
	bool packed = i->type == PTX_U16X2 || i->type == PTX_S16X2;
	struct operands o = {INTERVAL_ALL, INTERVAL_ALL, INTERVAL_ALL};
	if (ptx_type_is_float(i->type) || packed || bits < 16 || bits > 64 ||
	    i->flags & (PTX_F_SAT | PTX_F_RELU | PTX_F_CARRY_IN))
		return INTERVAL_ALL;
	if (i->nsrc > 0)
		o.a = bounds_of_operand(b, &i->src[0], block, bits);
	if (i->nsrc > 1)
		o.b = bounds_of_operand(b, &i->src[1], block, bits);
	if (i->nsrc > 2)
		o.c = bounds_of_operand(b, &i->src[2], block, i->flags & PTX_F_WIDE ? 2 * bits : bits);
	return calculate(b, i, &o);
}

struct interval bounds_of_result(struct bounds *b, const struct ptx_inst *i, uint32_t block, unsigned k)
{
	uint32_t value = i->dst[k].index;
	unsigned bits = b->p->f->values[value].bits;
	switch (i->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU: return load(b, i, k, bits);
	case PTX_OP_MOV:
		if (i->nsrc != 1 || i->ndst != 1)
			return INTERVAL_ALL;
		if (i->src[0].kind == PTX_OPND_SREG)
			return special_register(b, i->src[0].index);
		return bounds_of_operand(b, &i->src[0], block, bits);
	case PTX_OP_CVTA:
		return i->space == PTX_SPACE_GLOBAL ? bounds_of_operand(b, &i->src[0], block, bits)
						    : INTERVAL_ALL;
	case PTX_OP_CVT: return convert(b, i, block);
	case PTX_OP_SELP: {
		struct interval x = bounds_of_operand(b, &i->src[0], block, bits),
				y = bounds_of_operand(b, &i->src[1], block, bits);
		return interval_union(x, y);
	}
	case PTX_OP_BFE: return i->nsrc == 3 ? bit_field(b, i, block) : INTERVAL_ALL;
	default: return k ? INTERVAL_ALL : arithmetic(b, i, block);
	}
}
