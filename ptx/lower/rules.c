/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that are a row of text. Sources, by letter:
 *
 *	t  the operation's type		i  its width as an integer	h  32 bits	p  predicate
 *	w  twice its width		u  the second type		U  the second type, extended to the first
 *	x  the operation's type, a small float, extended to f32, which is then the type of the text
 *
 * and likewise the destination; `x` rounds to nearest, `e` cuts what has no bits beyond the type's. In the text, one
 * instruction a line:
 *
 *	$a $b $c $d  sources		$r  the result			$1 ... $9  temporaries
 *	$T  the type's name		$t  as a suffix of intrinsics	$I  the integer of its width
 *	$W  the integer of twice its width
 *	$n $m $w  width, width - 1, twice the width - 1
 *	$o  the rounding, a number (enum ptx_rounding)
 *	$f  " contract" where the operation may be fused with another, as PTX allows and options ask for, else nothing
 *	$q  the canonical NaN		$k  the small float 0xffff as an integer $I
 *	$x  source b as a shift amount of type $I, at most $m
 *
 * Floating-point sources and results are flushed, and results saturated, as the instruction says. A row of a scalar
 * type serves the type's pairs too, element by element, where they have no row.
 */
#include "ptx/lower/writer.h"

#include <stdlib.h>
#include <string.h>

struct expansion {
	enum ptx_type type; /* of the operation, or of a pair's elements */
	enum ptx_type text; /* of the text: f32 where sources are extended */
	struct ir src[4], temps[10], shift, result;
	bool has_temp[10], has_shift;
};

static enum ptx_type bits_type(unsigned bits)
{
	return bits == 1    ? PTX_PRED
	       : bits == 8  ? PTX_B8
	       : bits == 16 ? PTX_B16
	       : bits == 32 ? PTX_B32
	       : bits == 64 ? PTX_B64
			    : PTX_B128;
}

static enum ptx_type letter_type(const struct lower *l, enum ptx_type t, char letter)
{
	unsigned bits = ptx_type_bits(t);

	switch (letter) {
	case 'i': return bits_type(bits);
	case 'h': return PTX_B32;
	case 'p': return PTX_PRED;
	case 'w': return bits_type(2 * bits);
	case 'u':
	case 'U': return l->i->type2;
	default: return t;
	}
}

static struct ir shift_amount(struct lower *l, struct expansion *e, unsigned bits)
{
	if (!e->has_shift) {
		struct ir least = ir_op(l, "call i32 @llvm.umin.i32(i32 %s, i32 %u)", e->src[1].s, bits - 1);
		e->shift = ir_resize(l, least, 32, bits, false);
	}
	e->has_shift = true;
	return e->shift;
}

/* 0x7fff and 0x7fffffff, as LLVM writes them: f32 as a double. */
static const char *canonical_nan(enum ptx_type t)
{
	switch (t) {
	case PTX_F16: return "0xH7FFF";
	case PTX_BF16: return "0xR7FFF";
	case PTX_F32: return "0x7FFFFFFFE0000000";
	default: return "0x7FFFFFFFFFFFFFFF";
	}
}

static bool may_be_fused(const struct lower *l)
{
	return l->contractible && l->i >= l->f->insts && l->i < l->f->insts + l->f->ninsts &&
	       l->contractible[l->i - l->f->insts];
}

/* What a `$` and this letter stand for. */
static struct ir meaning(struct lower *l, struct expansion *e, char c)
{
	enum ptx_type t = e->text;
	unsigned bits = ptx_type_bits(t);

	switch (c) {
	case 'a' ... 'd': return e->src[c - 'a'];
	case '1' ... '9': return e->temps[c - '0'];
	case 'T': return ir_text("%s", ir_type(t));
	case 't': return ir_text("%s", ir_suffix(t));
	case 'I': return ir_text("i%u", bits);
	case 'W': return ir_text("i%u", 2 * bits);
	case 'n': return ir_text("%u", bits);
	case 'm': return ir_text("%u", bits - 1);
	case 'w': return ir_text("%u", 2 * bits - 1);
	case 'f': return ir_text("%s", may_be_fused(l) ? " contract" : "");
	case 'q': return ir_text("%s", canonical_nan(t));
	case 'k': return ir_text("%d", t == PTX_F32 ? -65536 : -1);
	case 'o': return ir_text("%u", l->i->rnd);
	default: return shift_amount(l, e, bits);
	}
}

/* One line, "$1 = ..." or "$r = ...". */
static void expand_line(struct lower *l, struct expansion *e, const char *line, size_t n)
{
	char text[512];
	size_t used = 0;
	char name = line[1];

	for (const char *p = line + 5; p < line + n && used < sizeof(text) - 64; p++) {
		if (*p == '$')
			used += (size_t)sprintf(text + used, "%s", meaning(l, e, *++p).s);
		else
			text[used++] = *p;
	}
	text[used] = 0;
	struct ir v = ir_op(l, "%s", text);
	if (name == 'r')
		e->result = v;
	else
		e->temps[name - '0'] = v;
}

/* In a kernel whose mode flushes, arithmetic and AMD's estimates do it by themselves; what is done on bits or may be folded to
 * them doesn't. */
static bool mode_flushes(const struct lower *l)
{
	const struct ptx_inst *i = l->i;

	if (!l->flushes || i->type != PTX_F32)
		return false;
	switch (i->op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_MUL:
	case PTX_OP_MAD:
	case PTX_OP_FMA: return true;
	case PTX_OP_DIV:
	case PTX_OP_RCP:
	case PTX_OP_SQRT:
	case PTX_OP_RSQRT:
	case PTX_OP_EX2:
	case PTX_OP_LG2:
	case PTX_OP_COS: return i->flags & (PTX_F_APPROX | PTX_F_FULL);
	default: return false;
	}
}

static enum ptx_type element_type(enum ptx_type pair)
{
	return pair == PTX_F16X2    ? PTX_F16
	       : pair == PTX_BF16X2 ? PTX_BF16
	       : pair == PTX_F32X2  ? PTX_F32
				    : pair;
}

/* A small float's value as f32. */
struct ir ir_extend(struct lower *l, struct ir v, enum ptx_type t)
{
	if (t == PTX_F16)
		return ir_op(l, "fpext half %s to float", v.s);
	if (t != PTX_BF16)
		return v;
	struct ir bits = ir_resize(l, ir_op(l, "bitcast bfloat %s to i16", v.s), 16, 32, false);
	return ir_op(l, "bitcast i32 %s to float", ir_op(l, "shl i32 %s, 16", bits.s).s);
}

/* And back; `exact`: the value has no more bits. */
struct ir ir_shorten(struct lower *l, struct ir v, enum ptx_type t, bool exact)
{
	struct ir bits;

	if (t == PTX_F16)
		return ir_op(l, "fptrunc float %s to half", v.s);
	if (t != PTX_BF16)
		return v;
	bits = exact ? ir_op(l, "lshr i32 %s, 16", ir_op(l, "bitcast float %s to i32", v.s).s)
		     : ir_op(l, "call i32 @ct_bf16(float %s)", v.s);
	return ir_op(l, "bitcast i16 %s to bfloat", ir_resize(l, bits, 32, 16, false).s);
}

/* Source k of element n, of the type that its letter says. */
static struct ir source(struct lower *l, const struct expansion *e, char letter, unsigned k, unsigned n)
{
	const struct ptx_operand *o = &l->i->src[k];
	bool is_part = l->i->type != e->type && (letter == 't' || letter == 'x');
	enum ptx_type t = is_part ? l->i->type : letter_type(l, e->type, letter);
	bool flushes = ptx_type_is_float(t) && !mode_flushes(l) && (letter != 'U' || t == PTX_F32);
	struct ir v = flushes ? read_float(l, o, t) : read_typed(l, o, t);

	if (is_part)
		v = ir_op(l, "extractelement %s %s, i32 %u", ir_type(t), v.s, n);
	return letter == 'x' ? ir_extend(l, v, e->type) : letter == 'U' ? ir_extend(l, v, t) : v;
}

/* The result of element n, of type letter_type(dst). */
static struct ir expand(struct lower *l, const struct rule *r, enum ptx_type type, unsigned n)
{
	struct expansion e = {.type = type, .text = r->src[0] == 'x' ? PTX_F32 : type};
	const struct ptx_inst *i = l->i;
	enum ptx_type t = letter_type(l, type, r->dst);

	for (unsigned k = 0; r->src[k]; k++)
		e.src[k] = source(l, &e, r->src[k], k, n);
	for (const char *line = r->text; line;) {
		const char *end = strchr(line, '\n');
		expand_line(l, &e, line, end ? (size_t)(end - line) : strlen(line));
		line = end ? end + 1 : NULL;
	}
	if (r->dst == 'x' || r->dst == 'e')
		e.result = ir_shorten(l, e.result, type, r->dst == 'e');
	if (i->flags & PTX_F_FTZ && ptx_type_is_float(t) && !mode_flushes(l))
		e.result = flush(l, e.result, t);
	if (i->flags & PTX_F_SAT && ptx_type_is_float(t))
		e.result = saturate(l, e.result, t);
	return e.result;
}

static bool matches(const struct lower *l, const struct rule *r, enum ptx_type t)
{
	const struct ptx_inst *i = l->i;

	return r->op == i->op && r->types >> t & 1 && (i->flags & r->need) == r->need &&
	       !(i->flags & r->refuse) && strlen(r->src) == i->nsrc && i->ndst == 1;
}

static const struct rule *find(const struct lower *l, const struct rule *rules, size_t n, enum ptx_type t)
{
	for (size_t k = 0; k < n; k++)
		if (matches(l, &rules[k], t))
			return &rules[k];
	return NULL;
}

bool lower_by_rule(struct lower *l, const struct rule *rules, size_t n)
{
	enum ptx_type t = l->i->type, part = element_type(t);
	const struct rule *r = find(l, rules, n, t);

	if (r) {
		write_typed(l, &l->i->dst[0], expand(l, r, t, 0), letter_type(l, t, r->dst));
		return true;
	}
	r = part == t ? NULL : find(l, rules, n, part);
	if (!r)
		return false;
	struct ir low = expand(l, r, part, 0), high = expand(l, r, part, 1);
	struct ir v = ir_op(l, "insertelement %s poison, %s %s, i32 0", ir_type(t), ir_type(part), low.s);
	v = ir_op(l, "insertelement %s %s, %s %s, i32 1", ir_type(t), v.s, ir_type(part), high.s);
	write_typed(l, &l->i->dst[0], v, t);
	return true;
}
