/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/uniform.h"

struct fact fact_uniform(enum ptx_level base)
{
	return base == PTX_LEVEL_THREAD ? fact_none()
					: (struct fact){.kind = FACT_KNOWN, .base = (uint8_t)base};
}

struct fact fact_none(void)
{
	return (struct fact){.kind = FACT_NONE};
}

static struct fact top(void)
{
	return (struct fact){.kind = FACT_TOP};
}

static struct fact constant(int64_t v)
{
	return (struct fact){.kind = FACT_KNOWN, .has_constant = true, .constant = v};
}

bool fact_is_uniform(const struct fact *x)
{
	return x->kind == FACT_KNOWN && !(x->stride[0] | x->stride[1] | x->stride[2] | x->stride[3]);
}

enum ptx_level fact_level(const struct fact *x)
{
	if (x->kind == FACT_TOP)
		return PTX_LEVEL_GRID;
	return fact_is_uniform(x) ? (enum ptx_level)x->base : PTX_LEVEL_THREAD;
}

static bool same_strides(const struct fact *a, const struct fact *b)
{
	return a->stride[0] == b->stride[0] && a->stride[1] == b->stride[1] && a->stride[2] == b->stride[2] &&
	       a->stride[3] == b->stride[3];
}

bool fact_same(const struct fact *a, const struct fact *b)
{
	return a->kind == b->kind && a->base == b->base && a->may_wrap == b->may_wrap &&
	       a->has_constant == b->has_constant && a->constant == b->constant && same_strides(a, b);
}

struct fact fact_union(const struct fact *a, const struct fact *b)
{
	if (a->kind == FACT_TOP)
		return *b;
	if (b->kind == FACT_TOP)
		return *a;
	if (a->kind == FACT_NONE || b->kind == FACT_NONE || !same_strides(a, b))
		return fact_none();
	struct fact r = *a;
	r.base = a->base > b->base ? a->base : b->base;
	r.may_wrap = a->may_wrap || b->may_wrap;
	r.has_constant = a->has_constant && b->has_constant && a->constant == b->constant;
	if (!r.has_constant)
		r.constant = 0;
	return r;
}

struct fact fact_spread(const struct fact *x, enum ptx_level level)
{
	if (x->kind != FACT_KNOWN || x->has_constant || level <= x->base)
		return *x;
	if (level == PTX_LEVEL_THREAD)
		return fact_none();
	struct fact r = *x;
	r.base = (uint8_t)level;
	return r;
}

static int64_t sign_extend(uint64_t v, unsigned bits)
{
	return bits && bits < 64 ? (int64_t)(v << (64 - bits)) >> (64 - bits) : (int64_t)v;
}

/* Level at which a special register is the same; 4 + axis: it is a position. Those that change while one
 * looks (clocks, the multiprocessor's number) vary. */
static unsigned sreg_level(const struct uniform *u, uint32_t r)
{
	bool whole_rows = u->f->reqntid[0] && u->f->reqntid[0] % 32 == 0;
	switch (r) {
	case PTX_SREG_TID_X: return 4 + PTX_AXIS_X;
	case PTX_SREG_TID_Y: return whole_rows ? PTX_LEVEL_WARP : 4 + PTX_AXIS_Y;
	case PTX_SREG_TID_Z: return whole_rows ? PTX_LEVEL_WARP : 4 + PTX_AXIS_Z;
	case PTX_SREG_LANEID: return 4 + PTX_AXIS_LANE;
	case PTX_SREG_TID_W:
	case PTX_SREG_NTID_X:
	case PTX_SREG_NTID_Y:
	case PTX_SREG_NTID_Z:
	case PTX_SREG_NTID_W:
	case PTX_SREG_NWARPID:
	case PTX_SREG_CTAID_W:
	case PTX_SREG_NCTAID_X:
	case PTX_SREG_NCTAID_Y:
	case PTX_SREG_NCTAID_Z:
	case PTX_SREG_NCTAID_W:
	case PTX_SREG_GRIDID:
	case PTX_SREG_IS_EXPLICIT_CLUSTER:
	case PTX_SREG_TOTAL_SMEM_SIZE:
	case PTX_SREG_AGGR_SMEM_SIZE:
	case PTX_SREG_DYNAMIC_SMEM_SIZE:
	case PTX_SREG_CURRENT_GRAPH_EXEC: return PTX_LEVEL_GRID;
	case PTX_SREG_CTAID_X:
	case PTX_SREG_CTAID_Y:
	case PTX_SREG_CTAID_Z: return PTX_LEVEL_BLOCK;
	case PTX_SREG_WARPID: return PTX_LEVEL_WARP;
	default: break;
	}
	if (r >= PTX_SREG_CLUSTERID_X && r <= PTX_SREG_CLUSTER_NCTARANK)
		return PTX_LEVEL_BLOCK;
	if ((r >= PTX_SREG_ENVREG0 && r <= PTX_SREG_ENVREG31) ||
	    (r >= PTX_SREG_RESERVED_SMEM_OFFSET_BEGIN && r <= PTX_SREG_RESERVED_SMEM_OFFSET_1))
		return PTX_LEVEL_GRID;
	return PTX_LEVEL_THREAD;
}

static struct fact sreg(const struct uniform *u, uint32_t r)
{
	unsigned level = sreg_level(u, r);
	if (level < 4)
		return fact_uniform((enum ptx_level)level);
	struct fact x = constant(0);
	x.stride[level - 4] = 1;
	return x;
}

struct fact fact_of_operand(const struct uniform *u, const struct ptx_operand *o, unsigned bits)
{
	switch (o->kind) {
	case PTX_OPND_VALUE: return o->index ? u->facts[o->index] : constant(0);
	case PTX_OPND_IMM: return constant(sign_extend(o->imm, bits));
	case PTX_OPND_SREG: return sreg(u, o->index);
	case PTX_OPND_SYMBOL:
	case PTX_OPND_FUNC:
	case PTX_OPND_PARAM: return fact_uniform(PTX_LEVEL_GRID);
	default: return fact_none();
	}
}

static bool set_stride(struct fact *r, unsigned axis, int64_t v)
{
	r->stride[axis] = (int32_t)v;
	return v >= INT32_MIN && v <= INT32_MAX;
}

static struct fact sum(const struct fact *a, const struct fact *b, int sign, unsigned bits)
{
	struct fact r = {.kind = FACT_KNOWN};
	if (a->kind == FACT_TOP || b->kind == FACT_TOP)
		return top();
	if (a->kind == FACT_NONE || b->kind == FACT_NONE)
		return fact_none();
	for (unsigned k = 0; k < PTX_AXES; k++)
		if (!set_stride(&r, k, (int64_t)a->stride[k] + sign * (int64_t)b->stride[k]))
			return fact_none();
	r.base = a->base > b->base ? a->base : b->base;
	r.may_wrap = a->may_wrap || b->may_wrap;
	r.has_constant = a->has_constant && b->has_constant;
	if (r.has_constant)
		r.constant = sign_extend(sign > 0 ? (uint64_t)a->constant + (uint64_t)b->constant
						  : (uint64_t)a->constant - (uint64_t)b->constant,
					 bits);
	return r;
}

static bool is_constant(const struct fact *x)
{
	return x->has_constant && fact_is_uniform(x);
}

static struct fact product(const struct fact *a, const struct fact *b, unsigned bits)
{
	if (a->kind == FACT_TOP || b->kind == FACT_TOP)
		return top();
	if (a->kind == FACT_NONE || b->kind == FACT_NONE)
		return fact_none();
	if (is_constant(a)) {
		const struct fact *swap = a;
		a = b;
		b = swap;
	}
	if (!is_constant(b)) /* a uniform factor that isn't known would need strides that aren't numbers */
		return fact_is_uniform(a) && fact_is_uniform(b)
			       ? fact_uniform(a->base > b->base ? a->base : b->base)
			       : fact_none();
	struct fact r = *a;
	for (unsigned k = 0; k < PTX_AXES; k++) {
		int64_t v;
		if (__builtin_mul_overflow((int64_t)a->stride[k], b->constant, &v) || !set_stride(&r, k, v))
			return fact_none();
	}
	r.constant = sign_extend((uint64_t)a->constant * (uint64_t)b->constant, bits);
	return r;
}

/* A narrower value as one of more bits. Its sum is that of the wider numbers unless it wrapped around. */
static struct fact widen(const struct fact *x, unsigned from, bool is_signed)
{
	static const int64_t last[PTX_AXES] = {1023, 1023, 63, 31}; /* a block's largest positions */
	struct fact r = *x;
	if (x->kind != FACT_KNOWN || from >= 64)
		return r;
	if (x->has_constant && !is_signed && from < 64)
		r.constant = (int64_t)((uint64_t)x->constant & ((UINT64_C(1) << from) - 1));
	if (fact_is_uniform(x))
		return r;
	int64_t low = r.constant, high = r.constant;
	for (unsigned k = 0; k < PTX_AXES; k++) {
		low += x->stride[k] < 0 ? x->stride[k] * last[k] : 0;
		high += x->stride[k] > 0 ? x->stride[k] * last[k] : 0;
	}
	int64_t limit = INT64_C(1) << (is_signed ? from - 1 : from);
	if (!x->has_constant || high >= limit || low < (is_signed ? -limit : 0))
		r.may_wrap = true;
	return r;
}

/* All operands the same among some threads: so is the result. */
static struct fact pure(const struct uniform *u, const struct ptx_inst *i, unsigned first)
{
	enum ptx_level level = PTX_LEVEL_GRID;
	for (unsigned k = first; k < i->nsrc; k++) {
		struct fact x = fact_of_operand(u, &i->src[k], 64);
		if (x.kind == FACT_TOP)
			return x;
		level = fact_level(&x) > level ? fact_level(&x) : level;
	}
	return fact_uniform(level);
}

static struct fact at_least(struct fact x, enum ptx_level level)
{
	if (x.kind != FACT_TOP && fact_level(&x) < level)
		return fact_uniform(level);
	return x.kind == FACT_TOP || fact_is_uniform(&x) ? x : fact_none();
}

/* Other threads may write between the reads of two warps, and a generic address may be in the thread's own
 * memory. */
static struct fact load(const struct uniform *u, const struct ptx_inst *i)
{
	struct fact a = fact_of_operand(u, &i->src[0], 64);
	bool weak = i->sem == PTX_SEM_NONE || i->sem == PTX_WEAK;
	bool no_local = u->f->is_entry && !u->f->local_bytes;
	bool generic = i->space == PTX_SPACE_GENERIC;
	if (a.kind == FACT_TOP)
		return a;
	if (!fact_is_uniform(&a) || !weak || i->space == PTX_SPACE_LOCAL || (generic && !no_local))
		return fact_none();
	if (i->space == PTX_SPACE_PARAM)
		return u->f->is_entry && i->src[0].kind != PTX_OPND_SYMBOL ? fact_uniform(fact_level(&a))
									   : fact_none();
	if (i->space == PTX_SPACE_CONST || i->flags & PTX_F_NC || i->op == PTX_OP_LDU)
		return fact_uniform(fact_level(&a));
	return at_least(fact_uniform(fact_level(&a)), PTX_LEVEL_WARP);
}

/* Operations of the lanes of a warp together: with a member mask that is the same for all of them. */
static struct fact collective(const struct uniform *u, const struct ptx_inst *i, unsigned mask)
{
	if (mask >= i->nsrc)
		return fact_none();
	struct fact m = fact_of_operand(u, &i->src[mask], 32);
	if (m.kind == FACT_TOP)
		return m;
	return fact_level(&m) <= PTX_LEVEL_WARP ? fact_uniform(PTX_LEVEL_WARP) : fact_none();
}

static struct fact shuffle(const struct uniform *u, const struct ptx_inst *i, unsigned k)
{
	struct fact v = fact_of_operand(u, &i->src[0], 32), lane = fact_of_operand(u, &i->src[1], 32),
		    c = fact_of_operand(u, &i->src[2], 32);
	if (v.kind == FACT_TOP || lane.kind == FACT_TOP || c.kind == FACT_TOP)
		return top();
	bool one_lane = i->sub == PTX_SUB_IDX && fact_level(&lane) <= PTX_LEVEL_WARP && is_constant(&c) &&
			c.constant == 0x1f;
	if (one_lane || (k == 0 && fact_level(&v) <= PTX_LEVEL_WARP))
		return fact_uniform(PTX_LEVEL_WARP);
	return fact_none();
}

static struct fact arithmetic(const struct uniform *u, const struct ptx_inst *i)
{
	unsigned bits = ptx_type_bits(i->type);
	bool wide = i->flags & PTX_F_WIDE, is_signed = ptx_type_is_signed(i->type);
	struct fact a = fact_of_operand(u, &i->src[0], bits), b = fact_of_operand(u, &i->src[1], bits);
	if (i->op == PTX_OP_ADD || i->op == PTX_OP_SUB)
		return sum(&a, &b, i->op == PTX_OP_ADD ? 1 : -1, bits);
	if (i->op == PTX_OP_SHL) {
		if (b.kind == FACT_TOP || !is_constant(&b) || (uint64_t)b.constant >= (bits < 31 ? bits : 31))
			return b.kind == FACT_TOP ? b : pure(u, i, 0);
		b.constant = INT64_C(1) << b.constant;
	}
	if (wide) {
		a = widen(&a, bits, is_signed);
		b = widen(&b, bits, is_signed);
		bits *= 2;
	}
	struct fact p = product(&a, &b, bits);
	if (i->op != PTX_OP_MAD)
		return p;
	struct fact c = fact_of_operand(u, &i->src[2], bits);
	return sum(&p, &c, 1, bits);
}

static bool is_affine_op(const struct ptx_inst *i)
{
	bool integer = !ptx_type_is_float(i->type) && ptx_type_bits(i->type) >= 16 && i->type != PTX_U16X2 &&
		       i->type != PTX_S16X2;
	uint32_t odd = PTX_F_SAT | PTX_F_CARRY_IN | PTX_F_HI;
	return integer && !(i->flags & odd) &&
	       (i->op == PTX_OP_ADD || i->op == PTX_OP_SUB || i->op == PTX_OP_MUL || i->op == PTX_OP_MAD ||
		i->op == PTX_OP_SHL);
}

static struct fact convert(const struct uniform *u, const struct ptx_inst *i)
{
	unsigned to = ptx_type_bits(i->type), from = ptx_type_bits(i->type2);
	bool integers = !ptx_type_is_float(i->type) && !ptx_type_is_float(i->type2) && to >= 8 && from >= 8;
	if (!integers || i->nsrc != 1 || i->flags & PTX_F_SAT)
		return pure(u, i, 0);
	struct fact x = fact_of_operand(u, &i->src[0], from);
	if (x.kind != FACT_KNOWN)
		return x;
	x.constant = x.has_constant ? sign_extend((uint64_t)x.constant, from) : 0;
	if (to > from)
		return widen(&x, from, ptx_type_is_signed(i->type2));
	x.constant = x.has_constant ? sign_extend((uint64_t)x.constant, to) : 0;
	/* the register may be wider than the result: then the result is extended into it */
	if (i->dst[0].kind == PTX_OPND_VALUE && u->f->values[i->dst[0].index].bits > to)
		return fact_is_uniform(&x) ? fact_uniform(x.base) : fact_none();
	return x;
}

static struct fact select(const struct uniform *u, const struct ptx_inst *i)
{
	unsigned bits = ptx_type_bits(i->type);
	struct fact a = fact_of_operand(u, &i->src[0], bits), b = fact_of_operand(u, &i->src[1], bits),
		    p = fact_of_operand(u, &i->src[2], 1);
	if (a.kind == FACT_TOP || b.kind == FACT_TOP || p.kind == FACT_TOP)
		return top();
	struct fact r = fact_union(&a, &b);
	return fact_spread(&r, fact_level(&p));
}

static bool is_pure(uint16_t op)
{
	return op <= PTX_OP_SHR || (op >= PTX_OP_VADD && op <= PTX_OP_VSET4) || op == PTX_OP_MOV ||
	       op == PTX_OP_PRMT || op == PTX_OP_CVT || op == PTX_OP_CVT_PACK || op == PTX_OP_CVTA ||
	       op == PTX_OP_ISSPACEP || op == PTX_OP_MAPA || op == PTX_OP_GETCTARANK || op == PTX_OP_TXQ ||
	       op == PTX_OP_SUQ || op == PTX_OP_ISTYPEP || op == PTX_OP_CREATEPOLICY_FRACTIONAL ||
	       op == PTX_OP_CREATEPOLICY_RANGE || op == PTX_OP_CREATEPOLICY_CVT ||
	       op == PTX_OP_MBARRIER_PENDING_COUNT;
}

struct fact fact_of_result(const struct uniform *u, const struct ptx_inst *i, unsigned k)
{
	switch (i->op) {
	case PTX_OP_MOV:
	case PTX_OP_CVTA:
		return i->nsrc == 1 && i->ndst == 1 ? fact_of_operand(u, &i->src[0], ptx_type_bits(i->type))
						    : pure(u, i, 0);
	case PTX_OP_CVT: return convert(u, i);
	case PTX_OP_SELP: return select(u, i);
	case PTX_OP_LD:
	case PTX_OP_LDU: return load(u, i);
	case PTX_OP_TEX:
	case PTX_OP_TLD4: return at_least(pure(u, i, 0), PTX_LEVEL_WARP);
	case PTX_OP_SHFL: return i->nsrc >= 3 ? shuffle(u, i, k) : fact_none();
	case PTX_OP_VOTE: return i->flags & PTX_F_SYNC ? collective(u, i, 1) : fact_none();
	case PTX_OP_REDUX: return collective(u, i, 1);
	case PTX_OP_MATCH: return i->sub == PTX_SUB_ALL ? collective(u, i, 1) : fact_none();
	case PTX_OP_ELECT: return k == 0 ? collective(u, i, 0) : fact_none();
	case PTX_OP_ACTIVEMASK: return fact_uniform(PTX_LEVEL_WARP);
	case PTX_OP_BAR:
	case PTX_OP_BARRIER: return i->nsrc == 2 ? fact_uniform(PTX_LEVEL_BLOCK) : fact_none();
	default: break;
	}
	if (is_affine_op(i))
		return arithmetic(u, i);
	return is_pure(i->op) ? pure(u, i, 0) : fact_none();
}
