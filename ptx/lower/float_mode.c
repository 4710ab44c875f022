/* SPDX-License-Identifier: Apache-2.0
 *
 * Subnormals and saturation. AMD's modes hold for a whole kernel, .ftz for one instruction: the mode flushes only when
 * each f32 operation of the kernel does; else flushing is written out.
 */
#include "ptx/lower/writer.h"

static bool computes_in_f32(enum ptx_type t)
{
	return t == PTX_F32 || t == PTX_F32X2 || t == PTX_BF16 || t == PTX_BF16X2;
}

/* Conversions whose operand or result can be no subnormal f32, or for which one is like zero. */
static bool converts_alike(const struct ptx_inst *i)
{
	bool to_integer = !ptx_type_is_float(i->type), from_integer = !ptx_type_is_float(i->type2);

	if (i->type == PTX_F16 || i->type2 == PTX_F16)
		return i->rnd == PTX_RND_NONE || i->rnd == PTX_RN;
	return from_integer || (to_integer && (i->rnd == PTX_RNI || i->rnd == PTX_RZI));
}

/* Whether it matters to the instruction if subnormals of f32 count as zeros. What moves bits or looks at them does so in
 * either mode. */
static bool uses_f32_mode(const struct ptx_inst *i)
{
	switch (i->op) {
	case PTX_OP_MOV:
	case PTX_OP_LD:
	case PTX_OP_LDU:
	case PTX_OP_ST:
	case PTX_OP_SELP:
	case PTX_OP_CALL:
	case PTX_OP_ST_ASYNC:
	case PTX_OP_ATOM: /* atomic.c, and the device library's matrices and textures, are right in both */
	case PTX_OP_RED:
	case PTX_OP_RED_ASYNC:
	case PTX_OP_TEX ... PTX_OP_SUQ:
	case PTX_OP_WMMA_LOAD ... PTX_OP_MOVMATRIX:
	case PTX_OP_ABS:
	case PTX_OP_NEG:
	case PTX_OP_COPYSIGN:
	case PTX_OP_TESTP: return false;
	case PTX_OP_SLCT: return i->type2 == PTX_F32;
	case PTX_OP_CVT:
		if (converts_alike(i))
			return false;
		/* fallthrough */
	default:
		return computes_in_f32(i->type) || computes_in_f32(i->type2) || computes_in_f32(i->type3) ||
		       computes_in_f32(i->type4);
	}
}

/* Rounded otherwise than to nearest is done by the device library, which is written for the mode that keeps them; LLVM's
 * division loses remainders in the other one. */
static bool needs_subnormals(const struct ptx_inst *i)
{
	return uses_f32_mode(i) &&
	       (!(i->flags & PTX_F_FTZ) || i->rnd == PTX_RZ || i->rnd == PTX_RM || i->rnd == PTX_RP ||
		computes_in_f32(i->type) != (i->type == PTX_F32) || i->op == PTX_OP_TANH ||
		(i->op == PTX_OP_DIV && !(i->flags & (PTX_F_APPROX | PTX_F_FULL))));
}

/* Of the kernel with all that it may call. */
bool kernel_flushes(const struct lower *l)
{
	bool any = false;

	for (uint32_t n = 0; n < l->norder; n++) {
		const struct ptx_func *f = l->m->funcs[l->order[n]];
		for (uint32_t k = 0; k < f->ninsts; k++) {
			if (needs_subnormals(&f->insts[k]))
				return false;
			any |= uses_f32_mode(&f->insts[k]);
		}
	}
	return any;
}

/* A constant of type t, once for each of a vector's elements. */
struct ir ir_splat(enum ptx_type t, const char *element, const char *value)
{
	return ir_type(t)[0] == '<' ? ir_text("<%s %s, %s %s>", element, value, element, value)
				    : ir_text("%s", value);
}

/* What a subnormal is, as bits: the integers of the format's width, its exponent's mask, its sign. */
static const struct layout {
	enum ptx_type type;
	const char *integers, *integer, *condition, *exponent, *sign;
} layouts[] = {
	{PTX_F16, "i16", "i16", "i1", "31744", "-32768"},
	{PTX_F16X2, "<2 x i16>", "i16", "<2 x i1>", "31744", "-32768"},
	{PTX_BF16, "i16", "i16", "i1", "32640", "-32768"},
	{PTX_BF16X2, "<2 x i16>", "i16", "<2 x i1>", "32640", "-32768"},
	{PTX_F32, "i32", "i32", "i1", "2139095040", "-2147483648"},
	{PTX_F32X2, "<2 x i32>", "i32", "<2 x i1>", "2139095040", "-2147483648"},
	{PTX_F64, "i64", "i64", "i1", "9218868437227405312", "-9223372036854775808"},
};

static const struct layout *layout_of(enum ptx_type t)
{
	for (size_t k = 0; k < sizeof(layouts) / sizeof(layouts[0]); k++)
		if (layouts[k].type == t)
			return &layouts[k];
	return NULL;
}

enum { CLASS_SUBNORMAL = 0x90 }; /* of LLVM's is.fpclass */

static struct ir is_subnormal(struct lower *l, struct ir v, struct ir bits, enum ptx_type t,
			      const struct layout *f)
{
	if (t == PTX_F32 || t == PTX_F16)
		return ir_op(l, "call i1 @llvm.is.fpclass.%s(%s %s, i32 %u)", ir_suffix(t), ir_type(t), v.s,
			     CLASS_SUBNORMAL);
	struct ir exponent =
		ir_op(l, "and %s %s, %s", f->integers, bits.s, ir_splat(t, f->integer, f->exponent).s);
	return ir_op(l, "icmp eq %s %s, zeroinitializer", f->integers, exponent.s);
}

/* Below the smallest normal number it becomes a zero with the sign of v (ISA 9.7.3). Right in either mode, and not
 * foldable away. */
struct ir flush(struct lower *l, struct ir v, enum ptx_type t)
{
	const struct layout *f = layout_of(t);

	if (!f) {
		lower_refuse(l, ".ftz of .%s", ptx_type_name(t));
		return v;
	}
	struct ir bits = ir_op(l, "bitcast %s %s to %s", ir_type(t), v.s, f->integers);
	struct ir small = is_subnormal(l, v, bits, t, f);
	struct ir zero = ir_op(l, "and %s %s, %s", f->integers, bits.s, ir_splat(t, f->integer, f->sign).s);
	struct ir r = ir_op(l, "select %s %s, %s %s, %s %s", f->condition, small.s, f->integers, zero.s,
			    f->integers, bits.s);

	return ir_op(l, "bitcast %s %s to %s", f->integers, r.s, ir_type(t));
}

/* To [0, 1]; NaN becomes +0 (ISA 9.7.3, .sat). */
struct ir saturate(struct lower *l, struct ir v, enum ptx_type t)
{
	const char *type = ir_type(t);
	const struct layout *f = layout_of(t);

	if (!f) {
		lower_refuse(l, ".sat of .%s", ptx_type_name(t));
		return v;
	}
	struct ir one = ir_splat(t, t == PTX_F16X2 ? "half" : "float", "1.0");
	struct ir above = ir_op(l, "fcmp ogt %s %s, zeroinitializer", type, v.s);
	struct ir r =
		ir_op(l, "select %s %s, %s %s, %s zeroinitializer", f->condition, above.s, type, v.s, type);
	struct ir over = ir_op(l, "fcmp ogt %s %s, %s", type, r.s, one.s);

	return ir_op(l, "select %s %s, %s %s, %s %s", f->condition, over.s, type, one.s, type, r.s);
}

/* What a flushing instruction has computed needn't be flushed again. */
static bool is_flushed(const struct lower *l, const struct ptx_operand *o)
{
	uint32_t def = o->kind == PTX_OPND_VALUE ? l->f->values[o->index].def : PTX_NONE;

	if (def == PTX_NONE)
		return false;
	const struct ptx_inst *i = &l->f->insts[def];
	return i->flags & PTX_F_FTZ && i->type == PTX_F32 && i->ndst == 1 && !i->guarded &&
	       i->op != PTX_OP_SET;
}

/* Comparisons obey the mode. */
static bool compares_by_mode(const struct lower *l)
{
	return l->flushes && (l->i->op == PTX_OP_SETP || l->i->op == PTX_OP_SET || l->i->op == PTX_OP_SLCT);
}

struct ir read_float(struct lower *l, const struct ptx_operand *o, enum ptx_type t)
{
	struct ir v = read_typed(l, o, t);

	if (!(l->i->flags & PTX_F_FTZ) || (t == PTX_F32 && (is_flushed(l, o) || compares_by_mode(l))))
		return v;
	return flush(l, v, t);
}
