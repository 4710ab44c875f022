/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that are a row of text. Sources, by letter:
 *
 *	t  the operation's type		i  its width as an integer	h  32 bits	p  predicate
 *	w  twice its width		u  the second type
 *
 * and likewise the destination. In the text, one instruction a line:
 *
 *	$a $b $c $d  sources		$r  the result			$1 ... $9  temporaries
 *	$T  the type's name		$t  as a suffix of intrinsics	$I  the integer of its width
 *	$W  the integer of twice its width
 *	$n $m $w  width, width - 1, twice the width - 1
 *	$o  the rounding, a number (enum ptx_rounding)
 *	$x  source b as a shift amount of type $I, at most $m
 *
 * Floating-point sources and results are flushed, and results saturated, as the instruction says.
 */
#include "ptx/lower/writer.h"

#include <stdlib.h>
#include <string.h>

struct expansion {
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

static enum ptx_type letter_type(const struct ptx_inst *i, char letter)
{
	unsigned bits = ptx_type_bits(i->type);

	switch (letter) {
	case 'i': return bits_type(bits);
	case 'h': return PTX_B32;
	case 'p': return PTX_PRED;
	case 'w': return bits_type(2 * bits);
	case 'u': return i->type2;
	default: return i->type;
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

/* What a `$` and this letter stand for. */
static struct ir meaning(struct lower *l, struct expansion *e, char c)
{
	enum ptx_type t = l->i->type;
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

/* In a kernel whose mode flushes, arithmetic does it by itself; what is done on bits or may be folded to them doesn't. */
static bool mode_flushes(const struct lower *l)
{
	switch (l->i->op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_MUL:
	case PTX_OP_MAD:
	case PTX_OP_FMA: return l->flushes;
	default: return false;
	}
}

static void expand(struct lower *l, const struct rule *r)
{
	bool by_mode = mode_flushes(l);
	struct expansion e = {0};
	const struct ptx_inst *i = l->i;

	for (unsigned k = 0; r->src[k]; k++) {
		enum ptx_type t = letter_type(i, r->src[k]);
		e.src[k] = ptx_type_is_float(t) && !by_mode ? read_float(l, &i->src[k], t)
							    : read_typed(l, &i->src[k], t);
	}
	for (const char *line = r->text; line;) {
		const char *end = strchr(line, '\n');
		expand_line(l, &e, line, end ? (size_t)(end - line) : strlen(line));
		line = end ? end + 1 : NULL;
	}
	enum ptx_type t = letter_type(i, r->dst);
	if (i->flags & PTX_F_FTZ && ptx_type_is_float(t) && !by_mode)
		e.result = flush(l, e.result, t);
	if (i->flags & PTX_F_SAT && ptx_type_is_float(t))
		e.result = saturate(l, e.result, t);
	write_typed(l, &i->dst[0], e.result, t);
}

bool lower_by_rule(struct lower *l, const struct rule *rules, size_t n)
{
	const struct ptx_inst *i = l->i;

	for (size_t k = 0; k < n; k++) {
		const struct rule *r = &rules[k];
		if (r->op != i->op || !(r->types >> i->type & 1) || (i->flags & r->need) != r->need ||
		    i->flags & r->refuse || strlen(r->src) != i->nsrc || i->ndst != 1)
			continue;
		expand(l, r);
		return true;
	}
	return false;
}
