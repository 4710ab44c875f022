/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt, PTX ISA 9.7.9.21, and cvt.pack. What LLVM's conversions do (to nearest, between integers, f16, f32 and f64) they do;
 * the small formats and other roundings are the device library's, by way of f32 or f64.
 */
#include "ptx/lower/device_calls.h"
#include "ptx/lower/writer.h"

static bool is_integer(enum ptx_type t)
{
	return ir_type(t) && ir_type(t)[0] == 'i' && t != PTX_PRED && t != PTX_B128;
}

/* ---- the small formats, of which registers hold one or two */

static const struct small {
	enum ptx_type type;
	uint8_t count, bits;
	enum ct_format format;
	enum ptx_type element; /* one that LLVM has, or PTX_TYPE_NONE */
} smalls[] = {
	{PTX_F16, 1, 16, CT_F16, PTX_F16},
	{PTX_F16X2, 2, 16, CT_F16, PTX_F16},
	{PTX_BF16, 1, 16, CT_BF16, PTX_BF16},
	{PTX_BF16X2, 2, 16, CT_BF16, PTX_BF16},
	{PTX_TF32, 1, 32, CT_TF32, PTX_TYPE_NONE},
	{PTX_E4M3X2, 2, 8, CT_E4M3, PTX_TYPE_NONE},
	{PTX_E5M2X2, 2, 8, CT_E5M2, PTX_TYPE_NONE},
	{PTX_E2M1X2, 2, 4, CT_E2M1, PTX_TYPE_NONE},
	{PTX_E2M3X2, 2, 8, CT_E2M3, PTX_TYPE_NONE},
	{PTX_E3M2X2, 2, 8, CT_E3M2, PTX_TYPE_NONE},
	{PTX_UE8M0X2, 2, 8, CT_UE8M0, PTX_TYPE_NONE},
};

static const struct small *small_of(enum ptx_type t)
{
	for (size_t k = 0; k < sizeof(smalls) / sizeof(smalls[0]); k++)
		if (smalls[k].type == t)
			return &smalls[k];
	return NULL;
}

static bool is_nearest(const struct lower *l)
{
	return l->i->rnd == PTX_RND_NONE || l->i->rnd == PTX_RN || l->i->rnd >= PTX_RNI;
}

static unsigned rounding(const struct lower *l)
{
	return is_nearest(l) ? PTX_RN : l->i->rnd;
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

/* ---- to integers */

/* Clamps to what the destination can hold, in a type that holds either. */
static struct ir clamp(struct lower *l, struct ir v, unsigned bits, bool is_signed, enum ptx_type to)
{
	unsigned digits = ptx_type_bits(to) - ptx_type_is_signed(to);
	uint64_t most = digits == 64 ? UINT64_MAX : (1ull << digits) - 1;
	unsigned wide = is_signed && ptx_type_bits(to) < bits ? bits
			: bits < 64 && ptx_type_bits(to) < 64 ? 64
							      : 128;

	v = ir_resize(l, v, bits, wide, is_signed);
	v = ir_op(l, "call i%u @llvm.smin.i%u(i%u %s, i%u %s)", wide, wide, wide, v.s, wide,
		  ir_int(most, 64).s);
	v = ir_op(l, "call i%u @llvm.smax.i%u(i%u %s, i%u %lld)", wide, wide, wide, v.s, wide,
		  ptx_type_is_signed(to) ? -1 - (long long)most : 0);
	return ir_resize(l, v, wide, ptx_type_bits(to), false);
}

static bool integer_to_integer(struct lower *l, enum ptx_type to, enum ptx_type from)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(from);
	struct ir v = read_bits(l, &i->src[0], bits);

	v = i->flags & PTX_F_SAT ? clamp(l, v, bits, ptx_type_is_signed(from), to)
				 : ir_resize(l, v, bits, ptx_type_bits(to), ptx_type_is_signed(from));
	write_typed(l, &i->dst[0], v, to);
	return true;
}

/* The source as LLVM's float; bf16 as f32. Only subnormals of f32 are flushed here. */
static struct ir float_source(struct lower *l, enum ptx_type *from)
{
	struct ir v = *from == PTX_F32 ? read_float(l, &l->i->src[0], PTX_F32)
				       : read_typed(l, &l->i->src[0], *from);

	if (*from != PTX_BF16)
		return v;
	*from = PTX_F32;
	return ir_extend(l, v, PTX_BF16);
}

/* Out of range clamps; NaN gives 0, or the highest bit when the source is f64 or the result has 64 bits (Integer
 * Notes). */
static bool float_to_integer(struct lower *l, enum ptx_type to, enum ptx_type from)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(to), wide = from == PTX_F64 && bits < 32 ? 32 : bits;
	bool of_f64 = from == PTX_F64;
	struct ir v = float_source(l, &from);
	struct ir nan = ir_op(l, "fcmp uno %s %s, 0.0", ir_type(from), v.s);

	v = round_to_integer(l, v, from);
	v = ir_op(l, "call i%u @llvm.fpto%ci.sat.i%u.%s(%s %s)", wide, ptx_type_is_signed(to) ? 's' : 'u',
		  wide, ir_suffix(from), ir_type(from), v.s);
	if (wide != bits)
		v = clamp(l, v, wide, ptx_type_is_signed(to), to);
	if (of_f64 || bits == 64)
		v = ir_op(l, "select i1 %s, i%u %s, i%u %s", nan.s, bits, ir_int(1ull << (bits - 1), bits).s,
			  bits, v.s);
	write_typed(l, &i->dst[0], v, to);
	return true;
}

/* ---- to f32, f64 and small formats */

static bool finish_float(struct lower *l, struct ir v, enum ptx_type to)
{
	if (l->i->flags & PTX_F_FTZ && to == PTX_F32)
		v = flush(l, v, to);
	if (l->i->flags & PTX_F_SAT)
		v = saturate(l, v, to);
	write_typed(l, &l->i->dst[0], v, to);
	return true;
}

/* Bits of the small format, in 32, of a value that f32 holds (or holds rounded to odd). */
static struct ir narrow(struct lower *l, struct ir v, const struct small *f)
{
	unsigned flags =
		(l->i->flags & PTX_F_SATFINITE ? CT_SATFINITE : 0) | (l->i->flags & PTX_F_RELU ? CT_RELU : 0);
	struct ir half;

	if (f->element == PTX_F16 && is_nearest(l) && !flags) {
		half = ir_op(l, "fptrunc float %s to half", v.s);
		return ir_resize(l, ir_op(l, "bitcast half %s to i16", half.s), 16, 32, false);
	}
	if (f->element == PTX_BF16 && is_nearest(l) && !flags)
		return ir_op(l, "call i32 @ct_bf16(float %s)", v.s);
	return ir_op(l, "call i32 @ct_narrow(float %s, i32 %u, i32 %u, i32 %u)", v.s, f->format, rounding(l),
		     flags);
}

/* An integer as f64: exact, or rounded to odd. */
static struct ir integer_as_f64(struct lower *l, enum ptx_type from)
{
	struct ir v = read_typed(l, &l->i->src[0], from);
	char sign = ptx_type_is_signed(from) ? 's' : 'u';

	if (ptx_type_bits(from) == 64)
		return ir_op(l, "call double @ct_odd_f64_of_%c64(i64 %s)", sign, v.s);
	return ir_op(l, "%citofp %s %s to double", sign, ir_type(from), v.s);
}

static bool directed_integer_to_f64(struct lower *l, enum ptx_type from)
{
	char sign = ptx_type_is_signed(from) ? 's' : 'u';

	if (ptx_type_bits(from) < 64)
		return finish_float(l, integer_as_f64(l, from), PTX_F64);
	struct ir v = read_bits(l, &l->i->src[0], 64);
	return finish_float(
		l, ir_op(l, "call double @ct_f64_of_%c64(i64 %s, i32 %u)", sign, v.s, rounding(l)), PTX_F64);
}

static bool write_small(struct lower *l, struct ir v, const struct small *f)
{
	struct ir bits = narrow(l, v, f);

	if (!f->element) {
		write_bits(l, &l->i->dst[0], bits, f->bits, false);
		return true;
	}
	bits = ir_op(l, "bitcast i16 %s to %s", ir_resize(l, bits, 32, 16, false).s, ir_type(f->type));
	return finish_float(l, bits, f->type);
}

static bool integer_to_float(struct lower *l, enum ptx_type to, enum ptx_type from)
{
	struct ir v;

	if (is_nearest(l) && to != PTX_BF16) {
		v = read_typed(l, &l->i->src[0], from);
		v = ir_op(l, "%citofp %s %s to %s", ptx_type_is_signed(from) ? 's' : 'u', ir_type(from), v.s,
			  ir_type(to));
		return finish_float(l, v, to);
	}
	if (to == PTX_F64)
		return directed_integer_to_f64(l, from);
	v = integer_as_f64(l, from);
	if (to != PTX_F32)
		return write_small(l, ir_op(l, "call float @ct_odd_f32(double %s)", v.s), small_of(to));
	return finish_float(l, ir_op(l, "call float @ct_f32_of_f64(double %s, i32 %u)", v.s, rounding(l)),
			    to);
}

/* From f16, bf16 (as f32), f32 or f64. */
static bool float_to_float(struct lower *l, enum ptx_type to, enum ptx_type from)
{
	const struct small *f = small_of(to);
	bool flags = l->i->flags & (PTX_F_SATFINITE | PTX_F_RELU);
	struct ir v = float_source(l, &from);
	unsigned have = ptx_type_bits(from), want = ptx_type_bits(to);

	v = round_to_integer(l, v, from);
	if (f && (to != PTX_F16 || !is_nearest(l) || flags)) {
		if (from != PTX_F32)
			v = from == PTX_F16 ? ir_extend(l, v, from)
					    : ir_op(l, "call float @ct_odd_f32(double %s)", v.s);
		return write_small(l, v, f);
	}
	if (from == PTX_F64 && to == PTX_F32 && !is_nearest(l))
		v = ir_op(l, "call float @ct_f32_of_f64(double %s, i32 %u)", v.s, rounding(l));
	else if (have != want)
		v = ir_op(l, "%s %s %s to %s", have > want ? "fptrunc" : "fpext", ir_type(from), v.s,
			  ir_type(to));
	return finish_float(l, v, to);
}

/* ---- pairs */

/* Element k of the source, as f32. */
static struct ir pair_element(struct lower *l, enum ptx_type from, unsigned k)
{
	const struct ptx_inst *i = l->i;
	const struct small *f = small_of(from);

	if (!f) /* two registers, the upper half first */
		return read_float(l, &i->src[1 - k], PTX_F32);
	struct ir v = read_bits(l, &i->src[0], f->count * f->bits);
	v = ir_resize(l, v, f->count * f->bits, 32, false);
	v = k ? ir_op(l, "lshr i32 %s, %u", v.s, f->bits) : v;
	if (!f->element) {
		v = ir_op(l, "and i32 %s, %u", v.s, (1u << f->bits) - 1);
		return ir_op(l, "call float @ct_widen(i32 %s, i32 %u)", v.s, f->format);
	}
	v = ir_op(l, "bitcast i16 %s to %s", ir_resize(l, v, 32, 16, false).s, ir_type(f->element));
	return ir_extend(l, v, f->element);
}

static bool to_pair(struct lower *l, const struct small *f, enum ptx_type from)
{
	struct ir low = narrow(l, pair_element(l, from, 0), f), high = narrow(l, pair_element(l, from, 1), f);
	unsigned bits = 2 * f->bits;

	high = ir_op(l, "shl i32 %s, %u", high.s, f->bits);
	struct ir both = ir_op(l, "or i32 %s, %s", low.s, high.s);
	write_bits(l, &l->i->dst[0], ir_resize(l, both, 32, bits, false), bits, false);
	return true;
}

/* ---- */

static bool is_scalar_float(enum ptx_type t)
{
	return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64;
}

static bool lower_cvt(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	enum ptx_type to = i->type, from = i->type2;
	const struct small *f = small_of(to), *s = small_of(from);

	if (i->rnd == PTX_RS)
		return lower_refuse(l, "stochastic rounding");
	if (f && f->count == 2 && ((from == PTX_F32 && i->nsrc == 2) || (s && s->count == 2 && i->nsrc == 1)))
		return to_pair(l, f, from);
	if (i->nsrc != 1 || (!is_integer(to) && !is_scalar_float(to) && to != PTX_TF32) ||
	    (!is_integer(from) && !is_scalar_float(from)))
		return lower_refuse(l, "conversion of .%s to .%s", ptx_type_name(from), ptx_type_name(to));
	if (is_integer(to))
		return is_integer(from) ? integer_to_integer(l, to, from) : float_to_integer(l, to, from);
	return is_integer(from) ? integer_to_float(l, to, from) : float_to_float(l, to, from);
}

/* cvt.pack: a and b saturated, c's bits above them. */
static bool lower_pack(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	unsigned bits = ptx_type_bits(i->type);
	struct ir high = clamp(l, read_bits(l, &i->src[0], 32), 32, true, i->type);
	struct ir low = clamp(l, read_bits(l, &i->src[1], 32), 32, true, i->type);

	high = ir_op(l, "shl i32 %s, %u", ir_resize(l, high, bits, 32, false).s, bits);
	struct ir r = ir_op(l, "or i32 %s, %s", high.s, ir_resize(l, low, bits, 32, false).s);
	if (i->nsrc == 3) {
		struct ir c = ir_op(l, "shl i32 %s, %u", read_bits(l, &i->src[2], 32).s, 2 * bits);
		r = ir_op(l, "or i32 %s, %s", r.s, c.s);
	}
	write_bits(l, &i->dst[0], r, 32, false);
	return true;
}

bool lower_convert(struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_CVT: return lower_cvt(l);
	case PTX_OP_CVT_PACK: return lower_pack(l);
	default: return false;
	}
}
