/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt between integers, f16, f32 and f64, PTX ISA 9.7.9.21.
 */
#include "ptx/lower/writer.h"

static bool is_plain_float(enum ptx_type t)
{
	return t == PTX_F16 || t == PTX_F32 || t == PTX_F64;
}

static bool is_integer(enum ptx_type t)
{
	return ir_type(t) && ir_type(t)[0] == 'i' && t != PTX_PRED && t != PTX_B128;
}

/* Clamps to what the destination can hold, in a type that holds either. */
static struct ir clamp(struct lower *l, struct ir v, unsigned bits, enum ptx_type to)
{
	bool is_signed = ptx_type_is_signed(to);
	unsigned digits = ptx_type_bits(to) - is_signed;
	uint64_t most = digits == 64 ? UINT64_MAX : (1ull << digits) - 1;

	v = ir_resize(l, v, bits, 128, ptx_type_is_signed(l->i->type2));
	v = ir_op(l, "call i128 @llvm.smin.i128(i128 %s, i128 %s)", v.s, ir_int(most, 64).s);
	v = is_signed ? ir_op(l, "call i128 @llvm.smax.i128(i128 %s, i128 %lld)", v.s, -1 - (long long)most)
		      : ir_op(l, "call i128 @llvm.smax.i128(i128 %s, i128 0)", v.s);
	return ir_resize(l, v, 128, ptx_type_bits(to), false);
}

static bool integer_to_integer(struct lower *l, enum ptx_type to, enum ptx_type from)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(from);
	struct ir v = read_bits(l, &i->src[0], bits);

	v = i->flags & PTX_F_SAT ? clamp(l, v, bits, to)
				 : ir_resize(l, v, bits, ptx_type_bits(to), ptx_type_is_signed(from));
	write_typed(l, &i->dst[0], v, to);
	return true;
}

static const char *rounding_function(enum ptx_rounding r)
{
	switch (r) {
	case PTX_RNI: return "roundeven";
	case PTX_RZI: return "trunc";
	case PTX_RMI: return "floor";
	case PTX_RPI: return "ceil";
	default: return NULL;
	}
}

static struct ir round_to_integer(struct lower *l, struct ir v, enum ptx_type t)
{
	const char *name = rounding_function(l->i->rnd);

	return name ? ir_op(l, "call %s @llvm.%s.%s(%s %s)", ir_type(t), name, ir_suffix(t), ir_type(t), v.s)
		    : v;
}

/* Out of range clamps; NaN gives 0, or the highest bit when the source is f64 or the result has 64 bits (Integer
 * Notes). */
static bool float_to_integer(struct lower *l, enum ptx_type to, enum ptx_type from)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(to);

	if (from == PTX_F64 && bits < 32)
		return lower_refuse(l, "f64 to an integer of less than 32 bits");
	struct ir v = read_float(l, &i->src[0], from);
	struct ir nan = ir_op(l, "fcmp uno %s %s, 0.0", ir_type(from), v.s);
	v = round_to_integer(l, v, from);
	v = ir_op(l, "call i%u @llvm.fpto%ci.sat.i%u.%s(%s %s)", bits, ptx_type_is_signed(to) ? 's' : 'u',
		  bits, ir_suffix(from), ir_type(from), v.s);
	if (from == PTX_F64 || bits == 64)
		v = ir_op(l, "select i1 %s, i%u %s, i%u %s", nan.s, bits, ir_int(1ull << (bits - 1), bits).s,
			  bits, v.s);
	write_typed(l, &i->dst[0], v, to);
	return true;
}

static bool finish_float(struct lower *l, struct ir v, enum ptx_type to)
{
	if (l->i->flags & PTX_F_FTZ && to == PTX_F32)
		v = flush(l, v, to);
	if (l->i->flags & PTX_F_SAT)
		v = saturate(l, v, to);
	write_typed(l, &l->i->dst[0], v, to);
	return true;
}

static bool integer_to_float(struct lower *l, enum ptx_type to, enum ptx_type from)
{
	struct ir v = read_typed(l, &l->i->src[0], from);

	if (l->i->rnd != PTX_RN && l->i->rnd != PTX_RND_NONE)
		return lower_refuse(l, "rounding other than to nearest even");
	v = ir_op(l, "%s %s %s to %s", ptx_type_is_signed(from) ? "sitofp" : "uitofp", ir_type(from), v.s,
		  ir_type(to));
	return finish_float(l, v, to);
}

static bool float_to_float(struct lower *l, enum ptx_type to, enum ptx_type from)
{
	const struct ptx_inst *i = l->i;
	unsigned have = ptx_type_bits(from), want = ptx_type_bits(to);

	if (i->rnd == PTX_RZ || i->rnd == PTX_RM || i->rnd == PTX_RP || i->rnd == PTX_RNA || i->rnd == PTX_RS)
		return lower_refuse(l, "rounding other than to nearest even");
	struct ir v = read_float(l, &i->src[0], from);
	v = round_to_integer(l, v, from);
	if (have != want)
		v = ir_op(l, "%s %s %s to %s", have > want ? "fptrunc" : "fpext", ir_type(from), v.s,
			  ir_type(to));
	return finish_float(l, v, to);
}

bool lower_convert(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	enum ptx_type to = i->type, from = i->type2;

	if (i->op != PTX_OP_CVT)
		return false;
	if (i->nsrc != 1 || (!is_integer(to) && !is_plain_float(to)) ||
	    (!is_integer(from) && !is_plain_float(from)) || i->flags & (PTX_F_RELU | PTX_F_SATFINITE))
		return lower_refuse(l, "conversion of .%s to .%s", ptx_type_name(from), ptx_type_name(to));
	if (is_integer(to))
		return is_integer(from) ? integer_to_integer(l, to, from) : float_to_integer(l, to, from);
	return is_integer(from) ? integer_to_float(l, to, from) : float_to_float(l, to, from);
}
