/* SPDX-License-Identifier: Apache-2.0
 *
 * What the lanes of a warp do together, PTX ISA 9.7.9.6, 9.7.13.7 to .11. A warp is 32 lanes: on a target with
 * waves of 64, the half of the wave that the lane is in. ds_bpermute reads another lane's register.
 */
#include "ptx/lower/warp.h"

struct ir warp_ballot(struct lower *l, struct ir p)
{
	if (l->target->wave == 32)
		return ir_op(l, "call i32 @llvm.amdgcn.ballot.i32(i1 %s)", p.s);
	struct ir all = ir_op(l, "call i64 @llvm.amdgcn.ballot.i64(i1 %s)", p.s);
	struct ir half = ir_op(l, "and i32 %s, 32", wave_lane(l).s);
	all = ir_op(l, "lshr i64 %s, %s", all.s, ir_resize(l, half, 32, 64, false).s);
	return ir_op(l, "trunc i64 %s to i32", all.s);
}

struct ir warp_value_of_lane(struct lower *l, struct ir v, struct ir from)
{
	if (l->target->wave == 64)
		from = ir_op(l, "or i32 %s, %s", from.s, ir_op(l, "and i32 %s, 32", wave_lane(l).s).s);
	return ir_op(l, "call i32 @llvm.amdgcn.ds.bpermute(i32 %s, i32 %s)",
		     ir_op(l, "shl i32 %s, 2", from.s).s, v.s);
}

static bool has_members(const struct ptx_inst *i)
{
	return i->flags & PTX_F_SYNC || i->op == PTX_OP_REDUX || i->op == PTX_OP_ELECT ||
	       i->op == PTX_OP_BAR_WARP_SYNC;
}

unsigned warp_source_count(const struct ptx_inst *i)
{
	return i->nsrc - has_members(i);
}

unsigned warp_source_bits(const struct ptx_inst *i, unsigned k)
{
	if (i->op == PTX_OP_VOTE)
		return 1;
	return i->op == PTX_OP_MATCH && !k ? ptx_type_bits(i->type) : 32;
}

unsigned warp_result_bits(const struct ptx_inst *i, unsigned k)
{
	return k || (i->op == PTX_OP_VOTE && i->sub != PTX_SUB_BALLOT) ? 1 : 32;
}

unsigned warp_result_count(const struct ptx_inst *i)
{
	return i->op != PTX_OP_BAR_WARP_SYNC;
}

static bool compute_vote(struct lower *l, struct warp_values *v)
{
	struct ir m = v->members;
	struct ir b = ir_op(l, "and i32 %s, %s", warp_ballot(l, v->src[0]).s, m.s);
	struct ir any = ir_op(l, "icmp ne i32 %s, 0", b.s), all = ir_op(l, "icmp eq i32 %s, %s", b.s, m.s);

	switch (l->i->sub) {
	case PTX_SUB_BALLOT: v->dst[0] = b; break;
	case PTX_SUB_UNI:
		v->dst[0] = ir_op(l, "or i1 %s, %s", all.s, ir_op(l, "xor i1 %s, 1", any.s).s);
		break;
	default: v->dst[0] = l->i->sub == PTX_SUB_ALL ? all : any; break;
	}
	return true;
}

/* The lane to read, and whether it is in range, by the ISA's own formulas (9.7.9.6). */
static struct ir source_lane(struct lower *l, const struct warp_values *v, struct ir lane,
			     struct ir *in_range)
{
	const struct ptx_inst *i = l->i;
	struct ir b = ir_op(l, "and i32 %s, 31", v->src[1].s), c = v->src[2];
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

static bool compute_shfl(struct lower *l, struct warp_values *v)
{
	struct ir from = source_lane(l, v, warp_lane(l), &v->dst[1]);

	v->dst[0] = warp_value_of_lane(l, v->src[0], from);
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

/* min and max of f32 (ISA 9.7.13.13): NaN inputs are left out, or with .NaN decide; with .abs of magnitudes. A lane that
 * takes no part has a value that loses. */
static bool compute_redux_float(struct lower *l, struct warp_values *v)
{
	const struct ptx_inst *i = l->i;
	bool max = i->sub == PTX_SUB_MAX, nan = i->flags & PTX_F_NAN;
	uint32_t loses = !nan ? 0x7fffffff : max ? 0xff800000 : 0x7f800000;
	struct ir a = v->src[0], best = ir_int(loses, 32);

	if (i->flags & PTX_F_ABS)
		a = ir_op(l, "and i32 %s, 2147483647", a.s);
	for (unsigned k = 0; k < 32; k++) {
		struct ir other = warp_value_of_lane(l, a, ir_int(k, 32));
		other = ir_op(l, "select i1 %s, i32 %s, i32 %u", bit_of_lane(l, v->members, k).s, other.s,
			      loses);
		best = ir_op(l, "call i32 @ct_redux_f32(i32 %s, i32 %s, i32 %d, i32 %d)", best.s, other.s,
			     max, nan);
	}
	v->dst[0] = best;
	return true;
}

static bool compute_redux(struct lower *l, struct warp_values *v)
{
	const struct ptx_inst *i = l->i;
	struct reduction r;

	if (ptx_type_is_float(i->type))
		return compute_redux_float(l, v);
	if (ptx_type_bits(i->type) != 32 || !reduction_of(i, &r))
		return lower_refuse(l, "redux of .%s", ptx_type_name(i->type));
	struct ir sum = ir_int(r.identity, 32);
	for (unsigned k = 0; k < 32; k++) {
		struct ir other = warp_value_of_lane(l, v->src[0], ir_int(k, 32));
		other = ir_op(l, "select i1 %s, i32 %s, i32 %u", bit_of_lane(l, v->members, k).s, other.s,
			      r.identity);
		sum = reduce(l, &r, sum, other);
	}
	v->dst[0] = sum;
	return true;
}

/* Whether lane k has this lane's value, which has `bits`. */
static struct ir equals_lane(struct lower *l, struct ir a, unsigned bits, unsigned k)
{
	struct ir lo = bits == 64 ? ir_op(l, "trunc i64 %s to i32", a.s) : a;
	struct ir same = ir_op(l, "icmp eq i32 %s, %s", lo.s, warp_value_of_lane(l, lo, ir_int(k, 32)).s);

	if (bits == 32)
		return same;
	struct ir hi = ir_op(l, "trunc i64 %s to i32", ir_op(l, "lshr i64 %s, 32", a.s).s);
	struct ir also = ir_op(l, "icmp eq i32 %s, %s", hi.s, warp_value_of_lane(l, hi, ir_int(k, 32)).s);
	return ir_op(l, "and i1 %s, %s", same.s, also.s);
}

static bool compute_match(struct lower *l, struct warp_values *v)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(i->type);
	struct ir m = v->members, same = ir_text("0");

	for (unsigned k = 0; k < 32; k++) {
		struct ir bit = ir_op(l, "select i1 %s, i32 %u, i32 0", equals_lane(l, v->src[0], bits, k).s,
				      1u << k);
		same = ir_op(l, "or i32 %s, %s", same.s, bit.s);
	}
	same = ir_op(l, "and i32 %s, %s", same.s, m.s);
	v->dst[0] = same;
	if (i->sub == PTX_SUB_ANY)
		return true;
	v->dst[1] = ir_op(l, "icmp eq i32 %s, %s", same.s, m.s);
	v->dst[0] = ir_op(l, "select i1 %s, i32 %s, i32 0", v->dst[1].s, m.s);
	return true;
}

/* The lowest of the members is the leader. */
static bool compute_elect(struct lower *l, struct warp_values *v)
{
	v->dst[0] = ir_op(l, "call i32 @llvm.cttz.i32(i32 %s, i1 false)", v->members.s);
	v->dst[1] = ir_op(l, "icmp eq i32 %s, %s", v->dst[0].s, warp_lane(l).s);
	return true;
}

/* Memory of the members is ordered by it (9.7.13.7). */
static bool compute_nothing(struct lower *l)
{
	ir_line(l, "fence syncscope(\"wavefront\") acq_rel");
	ir_line(l, "call void @llvm.amdgcn.wave.barrier()");
	return true;
}

bool warp_compute(struct lower *l, struct warp_values *v)
{
	switch (l->i->op) {
	case PTX_OP_SHFL: return compute_shfl(l, v);
	case PTX_OP_VOTE: return compute_vote(l, v);
	case PTX_OP_REDUX: return compute_redux(l, v);
	case PTX_OP_MATCH: return compute_match(l, v);
	case PTX_OP_ELECT: return compute_elect(l, v);
	default: return compute_nothing(l);
	}
}

static bool lower_operation(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct warp_values v = {.members = warp_ballot(l, ir_text("true"))};

	if (has_members(i))
		v.members = ir_op(l, "and i32 %s, %s", v.members.s, read_bits(l, &i->src[i->nsrc - 1], 32).s);
	for (unsigned k = 0; k < warp_source_count(i); k++)
		v.src[k] = read_bits(l, &i->src[k], warp_source_bits(i, k));
	if (!warp_compute(l, &v))
		return false;
	for (unsigned k = 0; k < i->ndst; k++)
		write_bits(l, &i->dst[k], v.dst[k], warp_result_bits(i, k), false);
	return true;
}

bool lower_warp(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_ACTIVEMASK:
		write_bits(l, &l->i->dst[0], warp_ballot(l, ir_text("true")), 32, false);
		return true;
	case PTX_OP_SHFL:
	case PTX_OP_VOTE:
	case PTX_OP_REDUX:
	case PTX_OP_MATCH:
	case PTX_OP_ELECT:
	case PTX_OP_BAR_WARP_SYNC: return lower_operation(l);
	default: return false;
	}
}
