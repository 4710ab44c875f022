/* SPDX-License-Identifier: Apache-2.0
 *
 * Video instructions, scalar and SIMD: PTX ISA 9.7.18, from its pseudocode. The selectors of operands go round from
 * form to form, so that each meets many operations.
 */
#include "form.h"

#include <string.h>

enum { VADD, VSUB, VAVRG, VABSDIFF, VMIN, VMAX, VSHL, VSHR, VSET, VMAD };
static const char *const names[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin",
				    "vmax", "vshl", "vshr",  "vset",     "vmad"};
static const char *const cmps[] = {"eq", "ne", "lt", "le", "gt", "ge"};
static const char *const types[] = {"u32", "s32"};
enum { NO_OP2, ADD2, MIN2, MAX2 };
static const char *const op2s[] = {"", ".add", ".min", ".max"};
/* parts of a 32-bit register: all of it, a byte, a half */
static const char *const parts[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};

struct video {
	int op, cmp, op2;
	bool d_signed, a_signed, b_signed, sat, wrap, plus_one, neg_product, neg_c;
	unsigned shr;
	unsigned a_part, b_part, d_part; /* scalar */
	unsigned lanes;                  /* SIMD: 2 or 4 */
	const char *mask, *a_sel, *b_sel;
};

static struct video pool[2048];
static unsigned used;

static unsigned part_bits(unsigned part)
{
	return part == 0 ? 32 : part <= 4 ? 8 : 16;
}

static unsigned part_shift(unsigned part)
{
	return part == 0 ? 0 : part <= 4 ? (part - 1) * 8 : (part - 5) * 16;
}

static i128 extend(uint64_t v, unsigned bits, bool is_signed)
{
	v = low_bits(v, bits);
	return is_signed && v >> (bits - 1) ? (i128)v - ((i128)1 << bits) : (i128)v;
}

static i128 limit(i128 v, unsigned bits, bool is_signed)
{
	i128 hi = ((i128)1 << (bits - is_signed)) - 1, lo = is_signed ? -hi - 1 : 0;

	return v < lo ? lo : v > hi ? hi : v;
}

static i128 core(const struct video *x, i128 a, i128 b)
{
	switch (x->op) {
	case VADD: return a + b;
	case VSUB: return a - b;
	case VAVRG: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
	case VABSDIFF: return a < b ? b - a : a - b;
	case VMIN: return a < b ? a : b;
	case VMAX: return a > b ? a : b;
	case VSHL: return a * ((i128)1 << b);
	case VSHR: return a >> b;
	default: break;
	}
	switch (x->cmp) {
	case 0: return a == b;
	case 1: return a != b;
	case 2: return a < b;
	case 3: return a <= b;
	case 4: return a > b;
	default: return a >= b;
	}
}

static i128 second(int op2, i128 t, i128 c)
{
	return op2 == ADD2 ? t + c : op2 == MIN2 ? (t < c ? t : c) : op2 == MAX2 ? (t > c ? t : c) : t;
}

static bool fits(i128 v, unsigned bits)
{
	return v >= -((i128)1 << (bits - 1)) && v < (i128)1 << (bits - 1);
}

static void ref_scalar(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct video *x = f->arg;
	i128 a = extend(in[0] >> part_shift(x->a_part), part_bits(x->a_part), x->a_signed),
	     b = extend(in[1] >> part_shift(x->b_part), part_bits(x->b_part), x->b_signed), t;
	uint64_t c = in[2], mask = low_bits(~0ull, part_bits(x->d_part)) << part_shift(x->d_part);
	bool d_signed = x->d_signed && x->op != VSET;

	if (x->op == VSHL || x->op == VSHR)
		b = x->wrap ? b & 31 : b > 32 ? 32 : b;
	t = core(x, a, b);
	/* A shift's result of more than the 34 bits of the description, and one of more than 33 bits that min or max
	 * sees, are not defined by it. */
	if ((!fits(t, 34) && (x->sat || x->op2 >= MIN2)) || (!x->sat && !fits(t, 33) && x->op2 >= MIN2))
		out->kind = WANT_ANY;
	if (x->sat)
		t = limit(t, part_bits(x->d_part), d_signed);
	t = second(x->op2, t, extend(c, 32, d_signed));
	if (x->d_part)
		out->bits = ((uint64_t)t << part_shift(x->d_part) & mask) | (c & 0xffffffff & ~mask);
	else
		out->bits = low_bits((uint64_t)t, 32);
}

static void ref_vmad(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct video *x = f->arg;
	i128 a = extend(in[0] >> part_shift(x->a_part), part_bits(x->a_part), x->a_signed),
	     b = extend(in[1] >> part_shift(x->b_part), part_bits(x->b_part), x->b_signed), t = a * b;
	bool is_signed = x->a_signed || x->b_signed || x->neg_product || x->neg_c;
	i128 c = extend(in[2], 32, is_signed);

	/* -c of a number that is unsigned by its kind but signed by the pseudocode */
	if (x->neg_c && !x->a_signed && !x->b_signed && in[2] >> 31)
		out->kind = WANT_ANY;
	t = (x->neg_product ? -t : t) + (x->neg_c ? -c : c) + x->plus_one;
	t >>= x->shr;
	if (x->sat)
		t = limit(t, 32, is_signed);
	out->bits = low_bits((uint64_t)t, 32);
}

/* Element `which` of the eight bytes, or four halves, of {b, a}. */
static i128 pick(const struct video *x, const uint64_t *in, unsigned which, bool is_signed)
{
	unsigned bits = 32 / x->lanes;
	uint64_t both = low_bits(in[0], 32) | in[1] << 32;

	return extend(both >> (which * bits), bits, is_signed);
}

/* Digit i, from the right, of a selector such as "h32" or "b7654". */
static unsigned digit(const char *sel, unsigned i)
{
	return (unsigned)(sel[strlen(sel) - 1 - i] - '0');
}

static void ref_simd(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct video *x = f->arg;
	unsigned bits = 32 / x->lanes;
	const char *a_sel = *x->a_sel       ? x->a_sel
			    : x->lanes == 2 ? "10"
					    : "3210",
		   *b_sel = *x->b_sel       ? x->b_sel
			    : x->lanes == 2 ? "32"
					    : "7654";
	uint64_t d = x->op2 ? in[2] : 0;

	for (unsigned i = 0; i < x->lanes; i++) {
		bool chosen = !*x->mask || strchr(x->mask, '0' + (int)i);
		i128 t = core(x, pick(x, in, digit(a_sel, i), x->a_signed),
			      pick(x, in, digit(b_sel, i), x->b_signed));

		if (x->sat)
			t = limit(t, bits, x->d_signed);
		if (x->op2)
			d += chosen ? (uint64_t)t : 0;
		else
			d |= low_bits(chosen ? (uint64_t)t : in[2] >> (i * bits), bits) << (i * bits);
	}
	out->bits = low_bits(d, 32);
}

static struct form *add(struct suite *s, const struct video *model, lane_ref ref, const char *opcode,
			bool third)
{
	struct video *x = &pool[used++ % 2048];
	struct form *f;

	*x = *model;
	f = form_add(s, "w=www", ref,
		     text_of("%s %%0%s%s, %s%%1%s%s, %%2%s%s%s%s;", opcode, parts[x->d_part], x->mask,
			     x->neg_product ? "-" : "", parts[x->a_part], x->a_sel, parts[x->b_part],
			     x->b_sel, third ? x->neg_c ? ", -" : ", " : "", third ? "%3" : ""),
		     "%s d%s%s a%s%s b%s%s%s%s", opcode, parts[x->d_part], x->mask, parts[x->a_part],
		     x->a_sel, parts[x->b_part], x->b_sel, x->neg_product ? " -(a*b)" : "",
		     x->neg_c ? " -c" : "");
	f->arg = x;
	f->most = 512;
	return f;
}

/* Each with a second operation, then merged into a part of c. */
static void scalar(struct suite *s, struct video x, const char *stem, const char *tail)
{
	for (x.op2 = NO_OP2; x.op2 <= MAX2; x.op2++) {
		x.a_part = used % 7;
		x.b_part = used / 7 % 7;
		add(s, &x, ref_scalar, text_of("%s%s%s", stem, tail, op2s[x.op2]), x.op2);
	}
	x.op2 = NO_OP2;
	x.d_part = 1 + used % 6;
	x.a_part = used % 7;
	x.b_part = used / 7 % 7;
	add(s, &x, ref_scalar, text_of("%s%s", stem, tail), true);
}

static void add_scalars(struct suite *s)
{
	for (int op = VADD; op <= VSHR; op++)
		for (unsigned m = 0; op != VAVRG && m < 16; m++) {
			struct video x = {.op = op,
					  .mask = "",
					  .a_sel = "",
					  .b_sel = "",
					  .d_signed = m & 1,
					  .a_signed = m & 2,
					  .b_signed = m & 4,
					  .sat = m & 8};

			if (op < VSHL) {
				scalar(s, x,
				       text_of("%s.%s.%s.%s", names[op], types[x.d_signed], types[x.a_signed],
					       types[x.b_signed]),
				       x.sat ? ".sat" : "");
				continue;
			}
			x.b_signed = false;
			x.wrap = m & 4;
			scalar(s, x, text_of("%s.%s.%s.u32", names[op], types[x.d_signed], types[x.a_signed]),
			       text_of("%s%s", x.sat ? ".sat" : "", x.wrap ? ".wrap" : ".clamp"));
		}
	for (unsigned m = 0; m < 24; m++) {
		struct video x = {.op = VSET,
				  .mask = "",
				  .a_sel = "",
				  .b_sel = "",
				  .cmp = (int)m / 4,
				  .a_signed = m & 1,
				  .b_signed = m & 2};

		scalar(s, x, text_of("vset.%s.%s", types[x.a_signed], types[x.b_signed]),
		       text_of(".%s", cmps[x.cmp]));
	}
}

/* `signs`: 0 none, 1 product negated, 2 c negated, 3 plus one */
static void add_vmad(struct suite *s, unsigned m, unsigned signs, unsigned scale, bool sat)
{
	struct video x = {.op = VMAD,
			  .mask = "",
			  .a_sel = "",
			  .b_sel = "",
			  .a_signed = m & 1,
			  .b_signed = m & 2,
			  .neg_product = signs == 1,
			  .neg_c = signs == 2,
			  .plus_one = signs == 3,
			  .sat = sat,
			  .shr = scale == 1   ? 7
				 : scale == 2 ? 15
					      : 0};

	/* the destination's type has no part in the result (9.7.18.1.3) */
	x.d_signed = used & 1;
	x.a_part = used % 7;
	x.b_part = used / 7 % 7;
	add(s, &x, ref_vmad,
	    text_of("vmad.%s.%s.%s%s%s%s", types[x.d_signed], types[x.a_signed], types[x.b_signed],
		    x.plus_one ? ".po" : "", sat ? ".sat" : "",
		    scale == 1   ? ".shr7"
		    : scale == 2 ? ".shr15"
				 : ""),
	    true);
}

static const char *const masks2[] = {"", ".h0", ".h1", ".h10"}, *const sels2[] = {"",     ".h10", ".h32",
										  ".h01", ".h22", ".h13",
										  ".h30"};
static const char *const masks4[] = {"",    ".b0",  ".b1",  ".b10",  ".b2",  ".b20",  ".b21",  ".b210",
				     ".b3", ".b30", ".b31", ".b310", ".b32", ".b320", ".b321", ".b3210"};
static const char *const sels4[] = {"", ".b3210", ".b7654", ".b0123", ".b7777", ".b4062", ".b5173"};

static void simd(struct suite *s, struct video x, const char *stem, const char *tail)
{
	x.mask = x.lanes == 2 ? masks2[used % 4] : masks4[used % 16];
	x.a_sel = x.lanes == 2 ? sels2[used % 7] : sels4[used % 7];
	x.b_sel = x.lanes == 2 ? sels2[used / 7 % 7] : sels4[used / 7 % 7];
	add(s, &x, ref_simd, text_of("%s%s", stem, tail), true);
}

static void add_simd(struct suite *s, unsigned lanes)
{
	for (int op = VADD; op <= VMAX; op++)
		for (unsigned m = 0; m < 24; m++) {
			struct video x = {.op = op,
					  .lanes = lanes,
					  .d_signed = m & 1,
					  .a_signed = m & 2,
					  .b_signed = m & 4,
					  .sat = m / 8 == 1,
					  .op2 = m / 8 == 2 ? ADD2 : NO_OP2};

			simd(s, x,
			     text_of("%s%u.%s.%s.%s", names[op], lanes, types[x.d_signed], types[x.a_signed],
				     types[x.b_signed]),
			     x.sat ? ".sat" : op2s[x.op2]);
		}
	for (unsigned m = 0; m < 48; m++) {
		struct video x = {.op = VSET,
				  .lanes = lanes,
				  .a_signed = m & 1,
				  .b_signed = m & 2,
				  .op2 = m & 4 ? ADD2 : NO_OP2,
				  .cmp = (int)m / 8};

		simd(s, x,
		     text_of("vset%u.%s.%s.%s", lanes, types[x.a_signed], types[x.b_signed], cmps[x.cmp]),
		     op2s[x.op2]);
	}
}

void forms_video(struct suite *s)
{
	used = 0;
	add_scalars(s);
	for (unsigned m = 0; m < 4; m++)
		for (unsigned signs = 0; signs < 4; signs++)
			for (unsigned scale = 0; scale < 3; scale++) {
				for (unsigned k = 0; k < 4; k++)
					add_vmad(s, m, signs, scale, k & 2);
			}
	add_simd(s, 2);
	add_simd(s, 4);
}
