/* SPDX-License-Identifier: Apache-2.0
 *
 * What the lanes of a warp do together, PTX ISA 9.7.9.6, 9.7.13.7 to .11. A warp is 32 lanes: on a target with
 * waves of 64, the half of the wave that the lane is in. ds_bpermute reads another lane's register.
 */
#include "ptx/lower/writer.h"

/* The bits of this warp's lanes that are active and for which p holds. */
static struct ir ballot(struct lower *l, const char *p)
{
	if (l->target->wave == 32)
		return ir_op(l, "call i32 @llvm.amdgcn.ballot.i32(i1 %s)", p);
	struct ir all = ir_op(l, "call i64 @llvm.amdgcn.ballot.i64(i1 %s)", p);
	struct ir half = ir_op(l, "and i32 %s, 32", wave_lane(l).s);
	all = ir_op(l, "lshr i64 %s, %s", all.s, ir_resize(l, half, 32, 64, false).s);
	return ir_op(l, "trunc i64 %s to i32", all.s);
}

/* The value that lane `from` of this warp has. */
static struct ir value_of_lane(struct lower *l, struct ir v, struct ir from)
{
	if (l->target->wave == 64)
		from = ir_op(l, "or i32 %s, %s", from.s, ir_op(l, "and i32 %s, 32", wave_lane(l).s).s);
	return ir_op(l, "call i32 @llvm.amdgcn.ds.bpermute(i32 %s, i32 %s)",
		     ir_op(l, "shl i32 %s, 2", from.s).s, v.s);
}

/* Active lanes, of those that the member mask names where there is one. */
static struct ir members(struct lower *l, const struct ptx_operand *mask)
{
	struct ir active = ballot(l, "true");

	return mask ? ir_op(l, "and i32 %s, %s", active.s, read_bits(l, mask, 32).s) : active;
}

static bool lower_vote(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir m = members(l, i->nsrc > 1 ? &i->src[1] : NULL);
	struct ir b = ir_op(l, "and i32 %s, %s", ballot(l, read_bits(l, &i->src[0], 1).s).s, m.s);
	struct ir any = ir_op(l, "icmp ne i32 %s, 0", b.s), all = ir_op(l, "icmp eq i32 %s, %s", b.s, m.s);

	if (i->sub == PTX_SUB_BALLOT)
		write_bits(l, &i->dst[0], b, 32, false);
	else if (i->sub == PTX_SUB_UNI)
		write_bits(l, &i->dst[0], ir_op(l, "or i1 %s, %s", all.s, ir_op(l, "xor i1 %s, 1", any.s).s),
			   1, false);
	else
		write_bits(l, &i->dst[0], i->sub == PTX_SUB_ALL ? all : any, 1, false);
	return true;
}

/* The lane to read, and whether it is in range, by the ISA's own formulas (9.7.9.6). */
static struct ir source_lane(struct lower *l, struct ir lane, struct ir *in_range)
{
	const struct ptx_inst *i = l->i;
	struct ir b = ir_op(l, "and i32 %s, 31", read_bits(l, &i->src[1], 32).s);
	struct ir c = read_bits(l, &i->src[2], 32);
	struct ir clamp = ir_op(l, "and i32 %s, 31", c.s);
	struct ir segment = ir_op(l, "and i32 %s, 31", ir_op(l, "lshr i32 %s, 8", c.s).s);
	struct ir rest = ir_op(l, "xor i32 %s, 31", segment.s);
	struct ir least = ir_op(l, "and i32 %s, %s", lane.s, segment.s);
	struct ir most = ir_op(l, "or i32 %s, %s", least.s, ir_op(l, "and i32 %s, %s", clamp.s, rest.s).s);
	struct ir j;

	switch (i->sub) {
	case PTX_SUB_UP: j = ir_op(l, "sub i32 %s, %s", lane.s, b.s); break;
	case PTX_SUB_DOWN: j = ir_op(l, "add i32 %s, %s", lane.s, b.s); break;
	case PTX_SUB_BFLY: j = ir_op(l, "xor i32 %s, %s", lane.s, b.s); break;
	default: j = ir_op(l, "or i32 %s, %s", least.s, ir_op(l, "and i32 %s, %s", b.s, rest.s).s); break;
	}
	*in_range = ir_op(l, "icmp %s i32 %s, %s", i->sub == PTX_SUB_UP ? "sge" : "sle", j.s, most.s);
	return ir_op(l, "select i1 %s, i32 %s, i32 %s", in_range->s, j.s, lane.s);
}

static bool lower_shfl(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir in_range, a = read_bits(l, &i->src[0], 32);
	struct ir from = source_lane(l, warp_lane(l), &in_range);

	write_bits(l, &i->dst[0], value_of_lane(l, a, from), 32, false);
	if (i->ndst > 1)
		write_bits(l, &i->dst[1], in_range, 1, false);
	return true;
}

static struct ir bit_of_lane(struct lower *l, struct ir mask, unsigned lane)
{
	return ir_op(l, "icmp ne i32 %s, 0", ir_op(l, "and i32 %s, %u", mask.s, 1u << lane).s);
}

struct reduction {
	const char *op; /* of LLVM, two operands */
	uint32_t identity;
};

static bool reduction_of(const struct ptx_inst *i, struct reduction *r)
{
	bool is_signed = i->type == PTX_S32;

	switch (i->sub) {
	case PTX_SUB_ADD: *r = (struct reduction){"add", 0}; return true;
	case PTX_SUB_AND: *r = (struct reduction){"and", UINT32_MAX}; return true;
	case PTX_SUB_OR: *r = (struct reduction){"or", 0}; return true;
	case PTX_SUB_XOR: *r = (struct reduction){"xor", 0}; return true;
	case PTX_SUB_MIN: *r = (struct reduction){"min", is_signed ? INT32_MAX : UINT32_MAX}; return true;
	case PTX_SUB_MAX: *r = (struct reduction){"max", is_signed ? 1u << 31 : 0}; return true;
	default: return false;
	}
}

static struct ir reduce(struct lower *l, const struct reduction *r, struct ir a, struct ir b)
{
	char sign = l->i->type == PTX_S32 ? 's' : 'u';

	switch (r->op[0]) {
	case 'm': return ir_op(l, "call i32 @llvm.%c%s.i32(i32 %s, i32 %s)", sign, r->op, a.s, b.s);
	default: return ir_op(l, "%s i32 %s, %s", r->op, a.s, b.s);
	}
}

static bool lower_redux(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct reduction r;

	if (ptx_type_bits(i->type) != 32 || ptx_type_is_float(i->type) || !reduction_of(i, &r))
		return lower_refuse(l, "redux of .%s", ptx_type_name(i->type));
	struct ir m = members(l, &i->src[1]), a = read_bits(l, &i->src[0], 32), sum = ir_int(r.identity, 32);
	for (unsigned k = 0; k < 32; k++) {
		struct ir v = value_of_lane(l, a, ir_int(k, 32));
		v = ir_op(l, "select i1 %s, i32 %s, i32 %u", bit_of_lane(l, m, k).s, v.s, r.identity);
		sum = reduce(l, &r, sum, v);
	}
	write_bits(l, &i->dst[0], sum, 32, false);
	return true;
}

/* Whether lane k has this lane's value, which has `bits`. */
static struct ir equals_lane(struct lower *l, struct ir a, unsigned bits, unsigned k)
{
	struct ir lo = bits == 64 ? ir_op(l, "trunc i64 %s to i32", a.s) : a;
	struct ir same = ir_op(l, "icmp eq i32 %s, %s", lo.s, value_of_lane(l, lo, ir_int(k, 32)).s);

	if (bits == 32)
		return same;
	struct ir hi = ir_op(l, "trunc i64 %s to i32", ir_op(l, "lshr i64 %s, 32", a.s).s);
	struct ir also = ir_op(l, "icmp eq i32 %s, %s", hi.s, value_of_lane(l, hi, ir_int(k, 32)).s);
	return ir_op(l, "and i1 %s, %s", same.s, also.s);
}

static bool lower_match(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(i->type);
	struct ir m = members(l, &i->src[1]), a = read_bits(l, &i->src[0], bits), same = ir_text("0");

	for (unsigned k = 0; k < 32; k++) {
		struct ir bit =
			ir_op(l, "select i1 %s, i32 %u, i32 0", equals_lane(l, a, bits, k).s, 1u << k);
		same = ir_op(l, "or i32 %s, %s", same.s, bit.s);
	}
	same = ir_op(l, "and i32 %s, %s", same.s, m.s);
	if (i->sub == PTX_SUB_ANY) {
		write_bits(l, &i->dst[0], same, 32, false);
		return true;
	}
	struct ir all = ir_op(l, "icmp eq i32 %s, %s", same.s, m.s);
	write_bits(l, &i->dst[0], ir_op(l, "select i1 %s, i32 %s, i32 0", all.s, m.s), 32, false);
	if (i->ndst > 1)
		write_bits(l, &i->dst[1], all, 1, false);
	return true;
}

/* The lowest of the members is the leader. */
static bool lower_elect(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct ir leader = ir_op(l, "call i32 @llvm.cttz.i32(i32 %s, i1 false)", members(l, &i->src[0]).s);

	write_bits(l, &i->dst[0], leader, 32, false);
	if (i->ndst > 1)
		write_bits(l, &i->dst[1], ir_op(l, "icmp eq i32 %s, %s", leader.s, warp_lane(l).s), 1, false);
	return true;
}

bool lower_warp(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_SHFL: return lower_shfl(l);
	case PTX_OP_VOTE: return lower_vote(l);
	case PTX_OP_ACTIVEMASK: write_bits(l, &l->i->dst[0], ballot(l, "true"), 32, false); return true;
	case PTX_OP_REDUX: return lower_redux(l);
	case PTX_OP_MATCH: return lower_match(l);
	case PTX_OP_ELECT: return lower_elect(l);
	default: return false;
	}
}
