/* SPDX-License-Identifier: Apache-2.0
 *
 * Video instructions, PTX ISA 9.7.18: of one byte, half-word or word (vadd ... vset,
 * vmad) and of two half-words or four bytes at once (vadd2 ... vset4). Parts of
 * registers are named by ptx_operand.select.
 */
#include <string.h>

#include "zluda_core/device_interp/lane.h"

typedef __int128 i128;

enum primary { V_ADD, V_SUB, V_ABSDIFF, V_MIN, V_MAX, V_SHL, V_SHR, V_SET, V_AVRG, V_MAD };

struct video {
	uint8_t op;    /* enum primary */
	uint8_t parts; /* 1, 2 or 4 */
	bool a_signed, b_signed, d_signed;
	uint16_t a_select, b_select, d_select;
	bool sat, wrap, plus_one, negate_product, negate_c;
	uint8_t second; /* PTX_SUB_ADD, MIN, MAX or NONE */
	uint8_t cmp, shift;
	uint32_t d, a, b, c; /* cells; c may be OPERAND_NONE */
};

/* `bits` of v from bit `at` on, extended. */
static int64_t extract(uint64_t v, unsigned at, unsigned bits, bool is_signed)
{
	const uint64_t u = v >> at & ((1ull << bits) - 1);

	return is_signed && u >> (bits - 1) ? (int64_t)(u | ~0ull << bits) : (int64_t)u;
}

static unsigned part_bits(uint16_t select)
{
	return !select ? 32 : select & PTX_SELECT_HALVES ? 16 : 8;
}

/* Part i of what `select` names in the 64 bits v. */
static int64_t part(uint64_t v, uint16_t select, unsigned i, bool is_signed)
{
	const unsigned bits = part_bits(select);

	return extract(v, select ? PTX_SELECT_DIGIT(select, i) * bits : 0, bits, is_signed);
}

static bool compare(unsigned cmp, int64_t a, int64_t b)
{
	switch (cmp) {
	case PTX_EQ: return a == b;
	case PTX_NE: return a != b;
	case PTX_LT: return a < b;
	case PTX_LE: return a <= b;
	case PTX_GT: return a > b;
	default: return a >= b;
	}
}

/* tb of a shift is clamped to 32 or wrapped to five bits. */
static unsigned shift_count(const struct video *x, int64_t b)
{
	return x->wrap ? (unsigned)b & 31 : b > 32 ? 32 : (unsigned)b;
}

static i128 compute(const struct video *x, int64_t a, int64_t b)
{
	switch ((enum primary)x->op) {
	case V_ADD: return a + b;
	case V_SUB: return a - b;
	case V_ABSDIFF: return a > b ? a - b : b - a;
	case V_MIN: return a < b ? a : b;
	case V_MAX: return a > b ? a : b;
	case V_SHL: return (i128)a * ((i128)1 << shift_count(x, b));
	case V_SHR: return a >> shift_count(x, b);
	case V_SET: return compare(x->cmp, a, b);
	default: return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
	}
}

static int64_t clamp(i128 v, unsigned bits, bool is_signed)
{
	const i128 max = ((i128)1 << (is_signed ? bits - 1 : bits)) - 1, min = is_signed ? -max - 1 : 0;

	return (int64_t)(v > max ? max : v < min ? min : v);
}

static i128 second_operation(const struct video *x, i128 v, uint32_t c)
{
	const i128 other = x->d_signed ? (int64_t)(int32_t)c : (int64_t)c;

	switch (x->second) {
	case PTX_SUB_ADD: return v + other;
	case PTX_SUB_MIN: return v < other ? v : other;
	case PTX_SUB_MAX: return v > other ? v : other;
	default: return v;
	}
}

static uint32_t scalar(const struct video *x, uint32_t a, uint32_t b, uint32_t c)
{
	const unsigned bits = part_bits(x->d_select), at = PTX_SELECT_DIGIT(x->d_select, 0) * bits;
	const i128 full =
		compute(x, part(a, x->a_select, 0, x->a_signed), part(b, x->b_select, 0, x->b_signed));
	const i128 v = second_operation(x, x->sat ? clamp(full, bits, x->d_signed) : full, c);

	if (bits == 32)
		return (uint32_t)v;
	const uint32_t mask = ((1u << bits) - 1) << at;

	return ((uint32_t)v << at & mask) | (c & ~mask);
}

/* Results that the mask doesn't name are c's parts, or with .add count nothing. */
static uint32_t simd(const struct video *x, uint32_t a, uint32_t b, uint32_t c)
{
	const uint64_t both = a | (uint64_t)b << 32;
	const unsigned bits = 32u / x->parts;
	const uint32_t part_mask = (1u << bits) - 1;
	uint32_t merged = c, sum = c, named = 0;

	for (unsigned k = 0; k < PTX_SELECT_DIGITS(x->d_select); k++)
		named |= 1u << PTX_SELECT_DIGIT(x->d_select, k);
	for (unsigned i = 0; i < x->parts; i++) {
		i128 v = compute(x, part(both, x->a_select, i, x->a_signed),
				 part(both, x->b_select, i, x->b_signed));

		if (!(named >> i & 1))
			continue;
		if (x->sat)
			v = clamp(v, bits, x->d_signed);
		sum += (uint32_t)v;
		merged = (merged & ~(part_mask << (bits * i))) | ((uint32_t)v & part_mask) << (bits * i);
	}
	return x->second == PTX_SUB_ADD ? sum : merged;
}

/* 9.7.18.1.3: the intermediate has 128 bits. */
static uint32_t multiply_add(const struct video *x, uint32_t a, uint32_t b, uint32_t c)
{
	const bool final_signed = x->a_signed || x->b_signed || x->negate_product || x->negate_c;
	const uint32_t addend = x->negate_c && !x->negate_product && !x->plus_one ? ~c : c;
	const bool one = x->plus_one || x->negate_product || x->negate_c;
	i128 v = (i128)part(a, x->a_select, 0, x->a_signed) * part(b, x->b_select, 0, x->b_signed);

	if (x->negate_product && !x->plus_one)
		v = ~v;
	v += (final_signed ? (i128)(int32_t)addend : (i128)addend) + one;
	v >>= x->shift;
	return (uint32_t)(x->sat ? clamp(v, 32, final_signed) : (int64_t)v);
}

static const struct xinst *video(struct warp *w, const struct xinst *i)
{
	const struct video *x = (const void *)(uintptr_t)i->imm;
	const uint32_t *a = cell(w, x->a), *b = cell(w, x->b);
	const uint32_t *c = x->c == OPERAND_NONE ? NULL : cell(w, x->c);
	uint32_t *d = cell(w, x->d);

	FOR_LANES(l, w->exec)
	{
		const uint32_t z = c ? c[l] : 0;

		d[l] = x->op == V_MAD  ? multiply_add(x, a[l], b[l], z)
		       : x->parts == 1 ? scalar(x, a[l], b[l], z)
				       : simd(x, a[l], b[l], z);
	}
	return i + 1;
}

/* What a SIMD instruction takes when nothing is named: ISA 9.7.18.2. */
static uint16_t default_select(unsigned parts, bool of_b)
{
	const unsigned first = of_b ? parts : 0;
	unsigned s = (parts == 2 ? PTX_SELECT_HALVES : 0) | parts << 12;

	for (unsigned k = 0; k < parts; k++)
		s |= (first + k) << (3 * k);
	return (uint16_t)s;
}

static void read_video(const struct ptx_inst *in, const struct exec_row *row, struct video *x)
{
	const bool typed = row->u != V_SET; /* vset has no type of the result: it is unsigned */
	const unsigned at = typed ? in->type2 : in->type, bt = typed ? in->type3 : in->type2;

	x->op = (uint8_t)row->u;
	x->parts = in->op >= PTX_OP_VADD4 ? 4 : in->op >= PTX_OP_VADD2 ? 2 : 1;
	x->d_signed = typed && in->type == PTX_S32;
	x->a_signed = at == PTX_S32;
	x->b_signed = bt == PTX_S32;
	x->a_select = in->src[0].select;
	x->b_select = in->src[1].select;
	x->d_select = in->dst[0].select;
	if (x->parts > 1) {
		x->a_select = x->a_select ? x->a_select : default_select(x->parts, false);
		x->b_select = x->b_select ? x->b_select : default_select(x->parts, true);
		x->d_select = x->d_select ? x->d_select : default_select(x->parts, false);
	}
	x->sat = in->flags & PTX_F_SAT;
	x->wrap = in->flags & PTX_F_WRAP;
	x->second = in->sub;
	x->cmp = in->cmp;
}

static int read_vmad(struct decode *c, struct video *x)
{
	const struct ptx_inst *in = c->in;

	x->plus_one = strstr(in->mods, ".po");
	x->shift = strstr(in->mods, ".shr15") ? 15 : strstr(in->mods, ".shr7") ? 7 : 0;
	x->negate_product = in->src[0].negate != in->src[1].negate;
	x->negate_c = in->src[2].negate;
	if (x->plus_one && (in->src[0].negate || in->src[1].negate || x->negate_c))
		return refuse(c, "with .po no operand has a minus (ISA 9.7.18.1.3)");
	if (x->negate_product && x->negate_c)
		return refuse(c, "the product and c can't both have a minus (ISA 9.7.18.1.3)");
	return 0;
}

/* Parts that are there: one byte or half-word; of a SIMD instruction as many as it has, taken from both sources, or a
 * mask of its results. */
static int check_select(struct decode *c, const struct video *x, uint16_t select, bool is_dst)
{
	const bool halves = select & PTX_SELECT_HALVES;
	const unsigned n = PTX_SELECT_DIGITS(select),
		       limit = (halves ? 2 : 4) * (x->parts > 1 && !is_dst ? 2 : 1);

	if (!select)
		return 0;
	if ((x->parts > 1 && halves != (x->parts == 2)) || (is_dst ? n > x->parts : n != x->parts))
		return refuse(c, "it takes %u %s here", x->parts, x->parts == 4 ? "bytes" : "parts");
	for (unsigned k = 0; k < n; k++)
		if (PTX_SELECT_DIGIT(select, k) >= limit)
			return refuse(c, "there are parts 0 to %u here", limit - 1);
	return 0;
}

static int check_video(struct decode *c, const struct video *x)
{
	const struct ptx_inst *in = c->in;
	const bool has_c = in->nsrc > 2;

	if (x->op == V_SET && !x->cmp)
		return refuse(c, "it needs a comparison");
	if (x->op != V_SET && x->cmp)
		return refuse(c, "it compares nothing");
	if (x->cmp > PTX_GE)
		return refuse(c, "it compares by eq, ne, lt, le, gt or ge");
	if (x->parts == 1 && x->op != V_MAD && has_c != (x->second || x->d_select))
		return refuse(c, "a third source goes with .add, .min, .max or a part of the result");
	if (x->second && x->second != PTX_SUB_ADD &&
	    (x->parts > 1 || (x->second != PTX_SUB_MIN && x->second != PTX_SUB_MAX)))
		return refuse(c, "it has no such second operation");
	if (x->parts == 1 && x->second && x->d_select)
		return refuse(c, "a second operation and a part of the result exclude each other");
	if ((x->op == V_SHL || x->op == V_SHR) && !(in->flags & (PTX_F_WRAP | PTX_F_CLAMP)))
		return refuse(c, "it needs .clamp or .wrap");
	return 0;
}

static int emit_video(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	struct video *x = arena_zalloc(&c->program->arena, sizeof(*x));
	struct dest d;
	int rc = 0;

	if (!x)
		return refuse(c, "out of memory");
	read_video(in, row, x);
	rc = check_select(c, x, x->a_select, false);
	if (!rc)
		rc = check_select(c, x, x->b_select, false);
	if (!rc)
		rc = check_select(c, x, x->d_select, true);
	if (!rc)
		rc = x->op == V_MAD ? read_vmad(c, x) : check_video(c, x);
	x->c = OPERAND_NONE;
	if (!rc)
		rc = source(c, &in->src[0], 32, false, &x->a);
	if (!rc)
		rc = source(c, &in->src[1], 32, false, &x->b);
	if (!rc && in->nsrc > 2)
		rc = source(c, &in->src[2], 32, false, &x->c);
	if (!rc)
		rc = dest(c, &in->dst[0], 32, false, &d);
	if (rc)
		return rc;
	x->d = d.pos;
	struct xinst *i = emit(c, video);
	if (!i)
		return refuse(c, "out of memory");
	i->imm = (int64_t)(uintptr_t)x;
	return dest_done(c, &d);
}

#define VIDEO(OP, P)                                                                      \
	{                                                                                 \
		.op = PTX_OP_##OP, .ok = PTX_F_SAT | PTX_F_WRAP | PTX_F_CLAMP, .sig = "", \
		.emit = emit_video, .u = P                                                \
	}
static const struct exec_row rows[] = {
	VIDEO(VADD, V_ADD),         VIDEO(VADD2, V_ADD),         VIDEO(VADD4, V_ADD),
	VIDEO(VSUB, V_SUB),         VIDEO(VSUB2, V_SUB),         VIDEO(VSUB4, V_SUB),
	VIDEO(VABSDIFF, V_ABSDIFF), VIDEO(VABSDIFF2, V_ABSDIFF), VIDEO(VABSDIFF4, V_ABSDIFF),
	VIDEO(VMIN, V_MIN),         VIDEO(VMIN2, V_MIN),         VIDEO(VMIN4, V_MIN),
	VIDEO(VMAX, V_MAX),         VIDEO(VMAX2, V_MAX),         VIDEO(VMAX4, V_MAX),
	VIDEO(VSET, V_SET),         VIDEO(VSET2, V_SET),         VIDEO(VSET4, V_SET),
	VIDEO(VAVRG2, V_AVRG),      VIDEO(VAVRG4, V_AVRG),       VIDEO(VSHL, V_SHL),
	VIDEO(VSHR, V_SHR),         VIDEO(VMAD, V_MAD),
};

const struct exec_family exec_video = {rows, sizeof(rows) / sizeof(rows[0])};
