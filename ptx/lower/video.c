/* SPDX-License-Identifier: Apache-2.0
 *
 * Video instructions, PTX ISA 9.7.18: of one byte, half-word or word (vadd ... vset, vmad), and of two half-words or four
 * bytes at once (vadd2 ... vset4). Intermediate results have more bits than any of them needs; LLVM takes back
 * what isn't used.
 */
#include "ptx/lower/writer.h"

#include <string.h>

enum primary { ADD, SUB, ABSDIFF, MIN, MAX, SHL, SHR, SET, AVRG, MAD, NONE };

static const struct {
	uint16_t op[3]; /* of one part, of two, of four; 0: there is none */
	enum primary primary;
} operations[] = {
	{{PTX_OP_VADD, PTX_OP_VADD2, PTX_OP_VADD4}, ADD},
	{{PTX_OP_VSUB, PTX_OP_VSUB2, PTX_OP_VSUB4}, SUB},
	{{PTX_OP_VABSDIFF, PTX_OP_VABSDIFF2, PTX_OP_VABSDIFF4}, ABSDIFF},
	{{PTX_OP_VMIN, PTX_OP_VMIN2, PTX_OP_VMIN4}, MIN},
	{{PTX_OP_VMAX, PTX_OP_VMAX2, PTX_OP_VMAX4}, MAX},
	{{PTX_OP_VSET, PTX_OP_VSET2, PTX_OP_VSET4}, SET},
	{{0, PTX_OP_VAVRG2, PTX_OP_VAVRG4}, AVRG},
	{{PTX_OP_VSHL}, SHL},
	{{PTX_OP_VSHR}, SHR},
	{{PTX_OP_VMAD}, MAD},
};

/* A source: which of its parts, and how they are extended. */
struct source {
	struct ir v; /* 32 bits, of pairs and quads the 64 of b and a */
	unsigned select;
	bool is_signed;
};

struct video {
	enum primary primary;
	unsigned parts; /* 1, 2, 4 */
	struct source a, b;
	struct ir c;
	unsigned select; /* of the result */
	bool is_signed;  /* the result */
	unsigned wide;   /* bits of intermediate results */
};

static bool find(const struct ptx_inst *i, struct video *x)
{
	for (size_t k = 0; k < sizeof(operations) / sizeof(operations[0]); k++)
		for (unsigned n = 0; n < 3; n++)
			if (operations[k].op[n] == i->op && i->op) {
				x->primary = operations[k].primary;
				x->parts = 1u << n;
				return true;
			}
	return false;
}

static unsigned part_bits(unsigned select)
{
	return !select ? 32 : select & PTX_SELECT_HALVES ? 16 : 8;
}

/* Part k of what the source names. */
static struct ir part(struct lower *l, const struct video *x, const struct source *s, unsigned k)
{
	unsigned have = x->parts == 1 ? 32 : 64, bits = part_bits(s->select);
	struct ir v = s->v;

	if (s->select && PTX_SELECT_DIGIT(s->select, k))
		v = ir_op(l, "lshr i%u %s, %u", have, v.s, PTX_SELECT_DIGIT(s->select, k) * bits);
	return ir_resize(l, ir_resize(l, v, have, bits, false), bits, x->wide, s->is_signed);
}

static struct ir of_two(struct lower *l, const struct video *x, const char *op, struct ir a, struct ir b)
{
	return ir_op(l, "%s i%u %s, %s", op, x->wide, a.s, b.s);
}

static struct ir larger(struct lower *l, const struct video *x, const char *which, struct ir a, struct ir b)
{
	return ir_op(l, "call i%u @llvm.s%s.i%u(i%u %s, i%u %s)", x->wide, which, x->wide, x->wide, a.s,
		     x->wide, b.s);
}

/* Half of the sum, rounded away from zero at halves: (9.7.18.2, vavrg). */
static struct ir average(struct lower *l, const struct video *x, struct ir a, struct ir b)
{
	struct ir sum = of_two(l, x, "add", a, b);
	struct ir up = ir_op(l, "icmp sge i%u %s, 0", x->wide, sum.s);

	sum = of_two(l, x, "add", sum, ir_resize(l, up, 1, x->wide, false));
	return of_two(l, x, "ashr", sum, ir_text("1"));
}

/* Of .clamp at most 32, of .wrap its lowest five bits. */
static struct ir shift_count(struct lower *l, const struct video *x, struct ir b)
{
	if (l->i->flags & PTX_F_WRAP)
		return of_two(l, x, "and", b, ir_text("31"));
	return ir_op(l, "call i%u @llvm.umin.i%u(i%u %s, i%u 32)", x->wide, x->wide, x->wide, b.s, x->wide);
}

static struct ir compared(struct lower *l, const struct video *x, struct ir a, struct ir b)
{
	static const char *const conditions[] = {[PTX_EQ] = "eq",  [PTX_NE] = "ne",  [PTX_LT] = "slt",
						 [PTX_LE] = "sle", [PTX_GT] = "sgt", [PTX_GE] = "sge"};

	return ir_resize(l, ir_op(l, "icmp %s i%u %s, %s", conditions[l->i->cmp], x->wide, a.s, b.s), 1,
			 x->wide, false);
}

static struct ir compute(struct lower *l, const struct video *x, struct ir a, struct ir b)
{
	switch (x->primary) {
	case ADD: return of_two(l, x, "add", a, b);
	case SUB: return of_two(l, x, "sub", a, b);
	case ABSDIFF:
		a = of_two(l, x, "sub", a, b);
		return ir_op(l, "call i%u @llvm.abs.i%u(i%u %s, i1 false)", x->wide, x->wide, x->wide, a.s);
	case MIN: return larger(l, x, "min", a, b);
	case MAX: return larger(l, x, "max", a, b);
	case SHL: return of_two(l, x, "shl", a, shift_count(l, x, b));
	case SHR: return of_two(l, x, "ashr", a, shift_count(l, x, b));
	case SET: return compared(l, x, a, b);
	default: return average(l, x, a, b);
	}
}

static struct ir saturated(struct lower *l, const struct video *x, struct ir v, unsigned bits, bool is_signed)
{
	long long most = (1ll << (is_signed ? bits - 1 : bits)) - 1;

	v = larger(l, x, "min", v, ir_text("%lld", most));
	return larger(l, x, "max", v, ir_text("%lld", is_signed ? -most - 1 : 0));
}

static struct ir result_of(struct lower *l, const struct video *x, unsigned k, unsigned bits)
{
	struct ir v = compute(l, x, part(l, x, &x->a, k), part(l, x, &x->b, k));

	return l->i->flags & PTX_F_SAT ? saturated(l, x, v, bits, x->is_signed) : v;
}

/* .add, .min, .max with c. */
static struct ir second_operation(struct lower *l, const struct video *x, struct ir v)
{
	struct ir c;

	if (!l->i->sub)
		return v;
	c = ir_resize(l, x->c, 32, x->wide, x->is_signed);
	switch (l->i->sub) {
	case PTX_SUB_ADD: return of_two(l, x, "add", v, c);
	case PTX_SUB_MIN: return larger(l, x, "min", v, c);
	default: return larger(l, x, "max", v, c);
	}
}

/* `to` with its part at bit `at` replaced by v's lowest bits. */
static struct ir inserted(struct lower *l, struct ir to, struct ir v, unsigned at, unsigned bits)
{
	uint32_t mask = (bits == 32 ? UINT32_MAX : (1u << bits) - 1) << at;

	v = ir_op(l, "and i32 %s, %u", ir_op(l, "shl i32 %s, %u", v.s, at).s, mask);
	return ir_op(l, "or i32 %s, %s", ir_op(l, "and i32 %s, %u", to.s, ~mask).s, v.s);
}

/* With a part named, the result is c with this part replaced. */
static struct ir scalar(struct lower *l, const struct video *x)
{
	unsigned bits = part_bits(x->select);
	struct ir v = second_operation(l, x, result_of(l, x, 0, bits));

	v = ir_resize(l, v, x->wide, 32, false);
	return bits == 32 ? v : inserted(l, x->c, v, PTX_SELECT_DIGIT(x->select, 0) * bits, bits);
}

/* Results that the mask doesn't name are c's parts, or with .add count nothing. */
static struct ir simd(struct lower *l, const struct video *x)
{
	unsigned bits = 32 / x->parts, named = 0;
	struct ir r = x->c;

	for (unsigned k = 0; k < PTX_SELECT_DIGITS(x->select); k++)
		named |= 1u << PTX_SELECT_DIGIT(x->select, k);
	for (unsigned k = 0; k < x->parts; k++) {
		if (!(named >> k & 1))
			continue;
		struct ir v = ir_resize(l, result_of(l, x, k, bits), x->wide, 32, false);
		r = l->i->sub == PTX_SUB_ADD ? ir_op(l, "add i32 %s, %s", r.s, v.s)
					     : inserted(l, r, v, bits * k, bits);
	}
	return r;
}

/* vmad (9.7.18.1.3): a * b + c, with one more for .po; a minus is a complement and that one. */
static struct ir multiply_add(struct lower *l, const struct video *x)
{
	const struct ptx_inst *i = l->i;
	bool one = strstr(i->mods, ".po"), minus_c = i->src[2].negate;
	bool minus_product = i->src[0].negate != i->src[1].negate;
	bool is_signed = x->a.is_signed || x->b.is_signed || minus_product || minus_c;
	unsigned shift = strstr(i->mods, ".shr15") ? 15 : strstr(i->mods, ".shr7") ? 7 : 0;
	struct ir v = of_two(l, x, "mul", part(l, x, &x->a, 0), part(l, x, &x->b, 0)), c = x->c;

	if (minus_product)
		v = of_two(l, x, "sub", ir_text("0"), v);
	c = ir_resize(l, minus_c ? ir_op(l, "xor i32 %s, -1", c.s) : c, 32, x->wide, is_signed);
	v = of_two(l, x, "add", v, c);
	if (one || minus_c)
		v = of_two(l, x, "add", v, ir_text("1"));
	v = of_two(l, x, "ashr", v, ir_text("%u", shift));
	if (i->flags & PTX_F_SAT)
		v = saturated(l, x, v, 32, is_signed);
	return ir_resize(l, v, x->wide, 32, false);
}

/* What an instruction of several parts takes when nothing is named: all of a, all of b. */
static unsigned all_parts(unsigned parts, unsigned first)
{
	unsigned s = (parts == 2 ? PTX_SELECT_HALVES : 0) | parts << 12;

	for (unsigned k = 0; k < parts; k++)
		s |= (first + k) << (3 * k);
	return s;
}

/* Without its minus, which is vmad's to apply. */
static struct ir magnitude(struct lower *l, const struct ptx_operand *o)
{
	struct ptx_operand plain = *o;

	plain.negate = false;
	return read_bits(l, &plain, 32);
}

static void read_sources(struct lower *l, struct video *x)
{
	const struct ptx_inst *i = l->i;
	bool typed = x->primary != SET; /* vset has no type of the result: it is unsigned */
	unsigned parts = x->parts;

	x->is_signed = typed && i->type == PTX_S32;
	x->a = (struct source){magnitude(l, &i->src[0]), i->src[0].select,
			       (typed ? i->type2 : i->type) == PTX_S32};
	x->b = (struct source){magnitude(l, &i->src[1]), i->src[1].select,
			       (typed ? i->type3 : i->type2) == PTX_S32};
	x->c = i->nsrc > 2 ? magnitude(l, &i->src[2]) : ir_text("0");
	x->select = i->dst[0].select;
	x->wide = x->primary == SHL || x->primary == MAD ? 128 : 64;
	if (parts == 1)
		return;
	struct ir high = ir_op(l, "shl i64 %s, 32", ir_resize(l, x->b.v, 32, 64, false).s);
	x->a.v = x->b.v = ir_op(l, "or i64 %s, %s", ir_resize(l, x->a.v, 32, 64, false).s, high.s);
	x->a.select = x->a.select ? x->a.select : all_parts(parts, 0);
	x->b.select = x->b.select ? x->b.select : all_parts(parts, parts);
	x->select = x->select ? x->select : all_parts(parts, 0);
}

/* Parts that are there: one; of several as many as it has, taken from both sources, or a mask of its results. */
static bool valid_select(const struct video *x, unsigned select, bool is_result)
{
	bool halves = select & PTX_SELECT_HALVES;
	unsigned n = PTX_SELECT_DIGITS(select),
		 limit = (halves ? 2 : 4) * (x->parts > 1 && !is_result ? 2 : 1);

	if (!select)
		return true;
	if ((x->parts > 1 && halves != (x->parts == 2)) || (is_result ? n > x->parts : n != x->parts))
		return false;
	for (unsigned k = 0; k < n; k++)
		if (PTX_SELECT_DIGIT(select, k) >= limit)
			return false;
	return true;
}

static bool valid(const struct ptx_inst *i, const struct video *x)
{
	bool minus = i->src[0].negate || i->src[1].negate;

	if (!valid_select(x, i->src[0].select, false) || !valid_select(x, i->src[1].select, false) ||
	    !valid_select(x, i->dst[0].select, true))
		return false;
	if (x->primary == MAD)
		return !(strstr(i->mods, ".po") && (minus || i->src[2].negate)) &&
		       !(i->src[0].negate != i->src[1].negate && i->src[2].negate);
	if ((x->primary == SET) != (i->cmp != 0) || i->cmp > PTX_GE)
		return false;
	if ((x->primary == SHL || x->primary == SHR) && !(i->flags & (PTX_F_WRAP | PTX_F_CLAMP)))
		return false;
	if (x->parts > 1)
		return !i->sub || i->sub == PTX_SUB_ADD;
	return (i->nsrc > 2) == (i->sub || i->dst[0].select) && !(i->sub && i->dst[0].select) &&
	       (!i->sub || i->sub == PTX_SUB_ADD || i->sub == PTX_SUB_MIN || i->sub == PTX_SUB_MAX);
}

bool lower_video(struct lower *l)
{
	const struct ptx_inst *i = l->i;
	struct video x = {0};

	if (!find(i, &x))
		return false;
	if (!valid(i, &x))
		return lower_refuse(l, "modifiers and parts that don't go together (ISA 9.7.18)");
	read_sources(l, &x);
	struct ir r = x.primary == MAD ? multiply_add(l, &x) : x.parts == 1 ? scalar(l, &x) : simd(l, &x);
	write_bits(l, &i->dst[0], r, 32, false);
	return true;
}
