/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer instructions against the ISA's definitions written out in C, bit by
 * bit where the ISA does, on all pairs of edge values and on random ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/device_interp/op_runner.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

/* Operands as they are in registers (zero above their width), width and sign of the type. */
struct in {
	uint64_t a, b, c, e;
	unsigned bits;
	bool sign;
};
typedef uint64_t (*reference)(const struct in *i);

static s128 val(uint64_t v, const struct in *i)
{
	return i->sign ? (s128)op_sign(v, i->bits) : (s128)op_mask(v, i->bits);
}
#define A val(i->a, i)
#define B val(i->b, i)
#define C val(i->c, i)
#define REF(name, expr)                          \
	static uint64_t name(const struct in *i) \
	{                                        \
		return (uint64_t)(expr);         \
	}
REF(r_add, i->a + i->b)
REF(r_sub, i->a - i->b)
REF(r_mul_lo, i->a * i->b)
REF(r_mul_hi, i->sign ? (u128)(A *B) >> i->bits : ((u128)i->a * i->b) >> i->bits)
REF(r_mul_wide, A *B)
REF(r_mad_lo, i->a * i->b + i->c)
REF(r_mad_hi, r_mul_hi(i) + i->c)
REF(r_mad_wide, (u128)(A *B) + i->c)
REF(r_sad, i->c + (uint64_t)(A < B ? B - A : A - B))
REF(r_div, B == 0 ? ~0ull : (uint64_t)(A / B))
REF(r_rem, B == 0 ? ~0ull : (uint64_t)(A % B))
REF(r_abs, A < 0 ? -A : A)
REF(r_neg, -A)
REF(r_min, A < B ? A : B)
REF(r_max, A > B ? A : B)
REF(r_and, i->a & i->b)
REF(r_or, i->a | i->b)
REF(r_xor, i->a ^ i->b)
REF(r_not, ~i->a)
REF(r_cnot, i->a == 0)
REF(r_min_relu, (A < B ? A : B) < 0 ? 0 : (A < B ? A : B))
REF(r_max_relu, (A > B ? A : B) < 0 ? 0 : (A > B ? A : B))

static uint64_t clamp32(s128 v)
{
	return (uint64_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}
REF(r_add_sat, clamp32(A + B))
REF(r_sub_sat, clamp32(A - B))
REF(r_mad_hi_sat, clamp32(((A * B) >> 32) + C))

static s128 low24(uint64_t v, const struct in *i)
{
	return i->sign ? (s128)op_sign(v, 24) : (s128)op_mask(v, 24);
}
REF(r_mul24_lo, low24(i->a, i) * low24(i->b, i))
REF(r_mul24_hi, (low24(i->a, i) * low24(i->b, i)) >> 16)
REF(r_mad24_lo, (u128)(low24(i->a, i) * low24(i->b, i)) + i->c)
REF(r_mad24_hi, (u128)((low24(i->a, i) * low24(i->b, i)) >> 16) + i->c)

/* shifts clamp the amount at the width */
REF(r_shl, i->b >= i->bits ? 0 : i->a << i->b)
static uint64_t r_shr(const struct in *i)
{
	uint64_t n = i->b > 63 ? 63 : i->b;

	return i->sign ? (uint64_t)(op_sign(i->a, i->bits) >> n) : i->b >= i->bits ? 0 : i->a >> n;
}

static uint64_t bit(uint64_t v, unsigned n)
{
	return v >> n & 1;
}

static uint64_t r_popc(const struct in *i)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < i->bits; k++)
		n += bit(i->a, k);
	return n;
}

static uint64_t r_clz(const struct in *i)
{
	unsigned n = 0;

	while (n < i->bits && !bit(i->a, i->bits - 1 - n))
		n++;
	return n;
}

static uint64_t r_bfind(const struct in *i)
{
	uint64_t a = i->sign && A < 0 ? ~i->a : i->a;

	for (int k = (int)i->bits - 1; k >= 0; k--)
		if (bit(a, (unsigned)k))
			return (uint64_t)k;
	return ~0ull;
}
REF(r_bfind_shift, r_bfind(i) == ~0ull ? ~0ull : i->bits - 1 - r_bfind(i))

static uint64_t r_brev(const struct in *i)
{
	uint64_t r = 0;

	for (unsigned k = 0; k < i->bits; k++)
		r |= bit(i->a, k) << (i->bits - 1 - k);
	return r;
}

static uint64_t r_bfe(const struct in *i)
{
	const unsigned msb = i->bits - 1, pos = i->b & 0xff, len = i->c & 0xff;
	uint64_t fill = 0, d = 0;

	if (i->sign && len)
		fill = bit(i->a, pos + len - 1 < msb ? pos + len - 1 : msb);
	for (unsigned k = 0; k <= msb; k++)
		d |= (k < len && pos + k <= msb ? bit(i->a, pos + k) : fill) << k;
	return d;
}

static uint64_t r_bfi(const struct in *i)
{
	const unsigned msb = i->bits - 1, pos = i->c & 0xff, len = i->e & 0xff;
	uint64_t f = i->b;

	for (unsigned k = 0; k < len && pos + k <= msb; k++)
		f = (f & ~(1ull << (pos + k))) | bit(i->a, k) << (pos + k);
	return f;
}

static uint64_t r_fns(const struct in *i)
{
	int64_t pos = (int64_t)i->b, offset = op_sign(i->c, 32), inc = offset > 0 ? 1 : -1;
	uint64_t count = (uint64_t)(offset > 0 ? offset : -offset) - 1;

	if (pos > 31)
		return ~0ull;
	if (offset == 0)
		return bit(i->a, (unsigned)pos) ? (uint64_t)pos : ~0ull;
	for (; pos >= 0 && pos < 32; pos += inc)
		if (bit(i->a, (unsigned)pos) && count-- == 0)
			return (uint64_t)pos;
	return ~0ull;
}

static uint64_t szext(const struct in *i, bool clamp)
{
	unsigned n = clamp && i->b > 32 ? 32 : clamp ? (unsigned)i->b : (unsigned)(i->b & 31);

	if (n == 0)
		return 0;
	return i->sign ? (uint64_t)op_sign(i->a, n) : op_mask(i->a, n);
}
REF(r_szext_clamp, szext(i, true))
REF(r_szext_wrap, szext(i, false))

static uint64_t bmsk(const struct in *i, bool clamp)
{
	uint64_t first = clamp ? i->a : i->a & 31, n = clamp ? i->b : i->b & 31, d = 0;

	for (uint64_t k = 0; k < 32; k++)
		d |= (uint64_t)(k >= first && k - first < n) << k;
	return d;
}
REF(r_bmsk_clamp, bmsk(i, true))
REF(r_bmsk_wrap, bmsk(i, false))

static uint64_t byte(uint64_t v, unsigned n, bool sign)
{
	return sign ? (uint64_t)op_sign(v >> (8 * n) & 0xff, 8) : v >> (8 * n) & 0xff;
}

static uint64_t dot(const struct in *i, bool sa, bool sb)
{
	uint64_t d = i->c;

	for (unsigned k = 0; k < 4; k++)
		d += byte(i->a, k, sa) * byte(i->b, k, sb);
	return d;
}
REF(r_dp4a_uu, dot(i, false, false))
REF(r_dp4a_us, dot(i, false, true))
REF(r_dp4a_su, dot(i, true, false))
REF(r_dp4a_ss, dot(i, true, true))

static uint64_t dot2(const struct in *i, bool sa, bool sb, unsigned low)
{
	uint64_t d = i->c;

	for (unsigned k = 0; k < 2; k++) {
		uint64_t half = i->a >> (16 * k) & 0xffff;

		d += (sa ? (uint64_t)op_sign(half, 16) : half) * byte(i->b, low + k, sb);
	}
	return d;
}
REF(r_dp2a_lo_uu, dot2(i, false, false, 0))
REF(r_dp2a_hi_us, dot2(i, false, true, 2))
REF(r_dp2a_lo_ss, dot2(i, true, true, 0))
REF(r_dp2a_hi_su, dot2(i, true, false, 2))

/* The 64-bit value b:a, shifted. */
static uint64_t shf(const struct in *i, bool left, bool wrap)
{
	uint64_t v = i->b << 32 | i->a;
	unsigned n = wrap ? i->c & 31 : i->c > 32 ? 32 : (unsigned)i->c;

	return left ? (n == 32 ? v << 32 : v << n) >> 32 : v >> n;
}
REF(r_shf_lw, shf(i, true, true))
REF(r_shf_lc, shf(i, true, false))
REF(r_shf_rw, shf(i, false, true))
REF(r_shf_rc, shf(i, false, false))

static uint64_t r_prmt(const struct in *i)
{
	uint64_t v = i->b << 32 | i->a, d = 0;

	for (unsigned k = 0; k < 4; k++) {
		unsigned sel = i->c >> (4 * k) & 15;
		uint64_t x = v >> (8 * (sel & 7)) & 0xff;

		d |= (sel & 8 ? (x >> 7) * 0xff : x) << (8 * k);
	}
	return d;
}

static uint64_t lop(const struct in *i, unsigned table)
{
	uint64_t d = 0;

	for (unsigned k = 0; k < 32; k++)
		d |= (uint64_t)(table >> (bit(i->a, k) << 2 | bit(i->b, k) << 1 | bit(i->c, k)) & 1) << k;
	return d;
}
REF(r_lop_96, lop(i, 0x96))
REF(r_lop_e8, lop(i, 0xe8))
REF(r_lop_1b, lop(i, 0x1b))
REF(r_lop_01, lop(i, 0x01))
REF(r_lop_80, lop(i, 0x80))

static uint64_t halves(const struct in *i, int64_t (*f)(int64_t, int64_t), bool sign)
{
	uint64_t d = 0;

	for (unsigned k = 0; k < 2; k++) {
		uint64_t x = i->a >> (16 * k) & 0xffff, y = i->b >> (16 * k) & 0xffff;

		d |= (uint64_t)(f(sign ? op_sign(x, 16) : (int64_t)x, sign ? op_sign(y, 16) : (int64_t)y) &
				0xffff)
		     << (16 * k);
	}
	return d;
}

static int64_t add64(int64_t x, int64_t y)
{
	return x + y;
}

static int64_t min64(int64_t x, int64_t y)
{
	return x < y ? x : y;
}

static int64_t max64(int64_t x, int64_t y)
{
	return x > y ? x : y;
}
REF(r_add_x2, halves(i, add64, true))
REF(r_min_u16x2, halves(i, min64, false))
REF(r_max_u16x2, halves(i, max64, false))
REF(r_min_s16x2, halves(i, min64, true))
REF(r_max_s16x2, halves(i, max64, true))

REF(r_eq, A == B)
REF(r_ne, A != B)
REF(r_lt, A < B)
REF(r_le, A <= B)
REF(r_gt, A > B)
REF(r_ge, A >= B)
REF(r_set_lt, A < B ? ~0ull : 0)
REF(r_set_ge_f32, A >= B ? 0x3f800000 : 0)
REF(r_lt_and, A < B && i->c)
REF(r_lt_or, A < B || i->c)
REF(r_lt_xor, (A < B) != (i->c != 0))
REF(r_selp, i->c ? i->a : i->b)
REF(r_slct, op_sign(i->c, 32) >= 0 ? i->a : i->b)

/* Two words of a multi-word sum: low words a, b; high words c, e. */
static u128 pair(uint64_t lo, uint64_t hi, unsigned bits)
{
	return lo | (u128)hi << bits;
}
REF(r_addc, (pair(i->a, i->c, i->bits) + pair(i->b, i->e, i->bits)) >> i->bits)
REF(r_subc, (pair(i->a, i->c, i->bits) - pair(i->b, i->e, i->bits)) >> i->bits)
/* high word of a * b + (e:c) by mad.lo.cc, madc.hi */
REF(r_madc, ((u128)i->a * i->b + pair(i->c, i->e, i->bits)) >> i->bits)

#define ALL        "u16 s16 u32 s32 u64 s64"
#define SIGNED_ALL "s16 s32 s64"
#define BITS_ALL   "b16 b32 b64"
static const struct row {
	const char *text; /* $ stands for the type */
	const char *types, *shape;
	reference ref;
} rows[] = {
	{"add.$ d, a, b;", ALL, "t:tt", r_add},
	{"sub.$ d, a, b;", ALL, "t:tt", r_sub},
	{"mul.lo.$ d, a, b;", ALL, "t:tt", r_mul_lo},
	{"mul.hi.$ d, a, b;", ALL, "t:tt", r_mul_hi},
	{"mul.wide.$ d, a, b;", "u16 s16 u32 s32", "2:tt", r_mul_wide},
	{"mad.lo.$ d, a, b, c;", ALL, "t:ttt", r_mad_lo},
	{"mad.hi.$ d, a, b, c;", ALL, "t:ttt", r_mad_hi},
	{"mad.wide.$ d, a, b, c;", "u16 s16 u32 s32", "2:tt2", r_mad_wide},
	{"sad.$ d, a, b, c;", ALL, "t:ttt", r_sad},
	{"div.$ d, a, b;", ALL, "t:tt", r_div},
	{"rem.$ d, a, b;", ALL, "t:tt", r_rem},
	{"abs.$ d, a;", SIGNED_ALL, "t:t", r_abs},
	{"neg.$ d, a;", SIGNED_ALL, "t:t", r_neg},
	{"min.$ d, a, b;", ALL, "t:tt", r_min},
	{"max.$ d, a, b;", ALL, "t:tt", r_max},
	{"min.relu.$ d, a, b;", "s32", "t:tt", r_min_relu},
	{"max.relu.$ d, a, b;", "s32", "t:tt", r_max_relu},
	{"add.sat.$ d, a, b;", "s32", "t:tt", r_add_sat},
	{"sub.sat.$ d, a, b;", "s32", "t:tt", r_sub_sat},
	{"mad.hi.sat.$ d, a, b, c;", "s32", "t:ttt", r_mad_hi_sat},
	{"mul24.lo.$ d, a, b;", "u32 s32", "t:tt", r_mul24_lo},
	{"mul24.hi.$ d, a, b;", "u32 s32", "t:tt", r_mul24_hi},
	{"mad24.lo.$ d, a, b, c;", "u32 s32", "t:ttt", r_mad24_lo},
	{"mad24.hi.$ d, a, b, c;", "u32 s32", "t:ttt", r_mad24_hi},
	{"add.$ d, a, b;", "u16x2 s16x2", "4:44", r_add_x2},
	{"min.$ d, a, b;", "u16x2", "4:44", r_min_u16x2},
	{"max.$ d, a, b;", "u16x2", "4:44", r_max_u16x2},
	{"min.$ d, a, b;", "s16x2", "4:44", r_min_s16x2},
	{"max.$ d, a, b;", "s16x2", "4:44", r_max_s16x2},
	{"add.cc.$ d, a, b; addc.$ d, c, e;", "u32 s32 u64 s64", "t:tttt", r_addc},
	{"sub.cc.$ d, a, b; subc.$ d, c, e;", "u32 s32 u64 s64", "t:tttt", r_subc},
	{"mad.lo.cc.$ d, a, b, c; madc.hi.$ d, a, b, e;", "u32 u64", "t:tttt", r_madc},
	{"popc.$ d, a;", "b32 b64", "4:t", r_popc},
	{"clz.$ d, a;", "b32 b64", "4:t", r_clz},
	{"bfind.$ d, a;", "u32 s32 u64 s64", "4:t", r_bfind},
	{"bfind.shiftamt.$ d, a;", "u32 s32 u64 s64", "4:t", r_bfind_shift},
	{"fns.$ d, a, b, c;", "b32", "t:ttt", r_fns},
	{"brev.$ d, a;", "b32 b64", "t:t", r_brev},
	{"bfe.$ d, a, b, c;", "u32 s32 u64 s64", "t:t44", r_bfe},
	{"bfi.$ d, a, b, c, e;", "b32 b64", "t:tt44", r_bfi},
	{"szext.clamp.$ d, a, b;", "u32 s32", "t:tt", r_szext_clamp},
	{"szext.wrap.$ d, a, b;", "u32 s32", "t:tt", r_szext_wrap},
	{"bmsk.clamp.$ d, a, b;", "b32", "t:tt", r_bmsk_clamp},
	{"bmsk.wrap.$ d, a, b;", "b32", "t:tt", r_bmsk_wrap},
	{"dp4a.u32.u32 d, a, b, c;", "u32", "t:ttt", r_dp4a_uu},
	{"dp4a.u32.s32 d, a, b, c;", "u32", "t:ttt", r_dp4a_us},
	{"dp4a.s32.u32 d, a, b, c;", "u32", "t:ttt", r_dp4a_su},
	{"dp4a.s32.s32 d, a, b, c;", "u32", "t:ttt", r_dp4a_ss},
	{"dp2a.lo.u32.u32 d, a, b, c;", "u32", "t:ttt", r_dp2a_lo_uu},
	{"dp2a.hi.u32.s32 d, a, b, c;", "u32", "t:ttt", r_dp2a_hi_us},
	{"dp2a.lo.s32.s32 d, a, b, c;", "u32", "t:ttt", r_dp2a_lo_ss},
	{"dp2a.hi.s32.u32 d, a, b, c;", "u32", "t:ttt", r_dp2a_hi_su},
	{"and.$ d, a, b;", BITS_ALL, "t:tt", r_and},
	{"or.$ d, a, b;", BITS_ALL, "t:tt", r_or},
	{"xor.$ d, a, b;", BITS_ALL, "t:tt", r_xor},
	{"not.$ d, a;", BITS_ALL, "t:t", r_not},
	{"cnot.$ d, a;", BITS_ALL, "t:t", r_cnot},
	{"shl.$ d, a, b;", BITS_ALL, "t:t4", r_shl},
	{"shr.$ d, a, b;", BITS_ALL " " ALL, "t:t4", r_shr},
	{"shf.l.wrap.$ d, a, b, c;", "b32", "t:ttt", r_shf_lw},
	{"shf.l.clamp.$ d, a, b, c;", "b32", "t:ttt", r_shf_lc},
	{"shf.r.wrap.$ d, a, b, c;", "b32", "t:ttt", r_shf_rw},
	{"shf.r.clamp.$ d, a, b, c;", "b32", "t:ttt", r_shf_rc},
	{"prmt.$ d, a, b, c;", "b32", "t:ttt", r_prmt},
	{"lop3.$ d, a, b, c, 0x96;", "b32", "t:ttt", r_lop_96},
	{"lop3.$ d, a, b, c, 0xe8;", "b32", "t:ttt", r_lop_e8},
	{"lop3.$ d, a, b, c, 0x1b;", "b32", "t:ttt", r_lop_1b},
	{"lop3.$ d, a, b, c, 0x01;", "b32", "t:ttt", r_lop_01},
	{"lop3.$ d, a, b, c, 0x80;", "b32", "t:ttt", r_lop_80},
	{"setp.eq.$ dp, a, b;", ALL " " BITS_ALL, "p:tt", r_eq},
	{"setp.ne.$ dp, a, b;", ALL " " BITS_ALL, "p:tt", r_ne},
	{"setp.lt.$ dp, a, b;", ALL, "p:tt", r_lt},
	{"setp.le.$ dp, a, b;", ALL, "p:tt", r_le},
	{"setp.gt.$ dp, a, b;", ALL, "p:tt", r_gt},
	{"setp.ge.$ dp, a, b;", ALL, "p:tt", r_ge},
	{"setp.lo.$ dp, a, b;", "u16 u32 u64", "p:tt", r_lt},
	{"setp.ls.$ dp, a, b;", "u16 u32 u64", "p:tt", r_le},
	{"setp.hi.$ dp, a, b;", "u16 u32 u64", "p:tt", r_gt},
	{"setp.hs.$ dp, a, b;", "u16 u32 u64", "p:tt", r_ge},
	{"setp.lt.and.$ dp, a, b, cp;", "s32", "p:ttp", r_lt_and},
	{"setp.lt.or.$ dp, a, b, cp;", "s32", "p:ttp", r_lt_or},
	{"setp.lt.xor.$ dp, a, b, cp;", "s32", "p:ttp", r_lt_xor},
	{"{ .reg .pred t; setp.ge.$ t|dp, a, b; }", "s32 u64", "p:tt", r_lt},
	{"set.lt.u32.$ d, a, b;", "u16 s32 s64", "4:tt", r_set_lt},
	{"set.ge.f32.$ d, a, b;", "s32", "4:tt", r_set_ge_f32},
	{"selp.$ d, a, b, cp;", "b16 b32 b64 u32 s64", "t:ttp", r_selp},
	{"slct.$.s32 d, a, b, c;", "b16 b32 b64 u32", "t:tt4", r_slct},
};

struct type {
	char name[8];
	unsigned bits;
	bool sign;
};

static struct type type_of(const char *s, size_t n)
{
	struct type t = {.bits = (unsigned)strtoul(s + 1, NULL, 10), .sign = s[0] == 's'};

	memcpy(t.name, s, n);
	if (strchr(t.name, 'x'))
		t.bits = 32;
	return t;
}

static void expand(char *out, size_t size, const char *text, const char *type)
{
	size_t n = 0;

	for (; *text && n + 8 < size; text++)
		n += (size_t)(*text == '$' ? snprintf(out + n, size - n, "%s", type)
					   : snprintf(out + n, size - n, "%c", *text));
}

#define PAIRS (OP_EDGES * OP_EDGES)
#define CASES (PAIRS + 1024)

static uint64_t values[OP_SOURCES][CASES], got[CASES];

static void make_values(const struct row *r, unsigned bits)
{
	for (uint32_t k = 0; k < CASES; k++) {
		for (unsigned s = 0; s < strlen(r->shape) - 2; s++) {
			unsigned w = op_width(r->shape[2 + s], bits);
			uint32_t edge = k >= PAIRS ? OP_EDGES
					: s == 0   ? k % OP_EDGES
					: s == 1   ? k / OP_EDGES
						   : (uint32_t)op_random() % 32;

			values[s][k] = r->shape[2 + s] == 'p' ? op_random() & 1 : op_integer(w, edge);
		}
	}
}

static void check_row(struct test_device *t, const struct row *r, const struct type *type)
{
	const uint64_t *src[OP_SOURCES] = {values[0], values[1], values[2], values[3]};
	unsigned out = r->shape[0] == 'p' ? 1 : op_width(r->shape[0], type->bits);
	char text[200];

	expand(text, sizeof(text), r->text, type->name);
	make_values(r, type->bits);
	op_run(t, text, r->shape, type->bits, src, got, CASES);
	for (uint32_t k = 0; k < CASES; k++) {
		struct in i = {values[0][k], values[1][k], values[2][k],
			       values[3][k], type->bits,   type->sign};
		uint64_t want = op_mask(r->ref(&i), out);

		if (op_mask(got[k], out) != want)
			fail_msg("%s a=%llx b=%llx c=%llx e=%llx: %llx, expected %llx", text,
				 (unsigned long long)i.a, (unsigned long long)i.b, (unsigned long long)i.c,
				 (unsigned long long)i.e, (unsigned long long)op_mask(got[k], out),
				 (unsigned long long)want);
	}
}

static void integer_instructions(void **state)
{
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		for (const char *p = rows[r].types; *p;) {
			size_t n = strcspn(p, " ");
			struct type type = type_of(p, n);

			check_row(&t, &rows[r], &type);
			p += n;
			while (*p == ' ')
				p++;
		}
	}
	test_close(&t);
}

/* Modes of prmt, ISA 9.7.9.7: rows of the table for c = 0..3, with a = 03020100, b = 07060504. */
static void prmt_modes(void **state)
{
	static const struct {
		const char *mode;
		uint32_t want[4];
	} modes[] = {
		{"f4e", {0x03020100, 0x04030201, 0x05040302, 0x06050403}},
		{"b4e", {0x05060700, 0x06070001, 0x07000102, 0x00010203}},
		{"rc8", {0x00000000, 0x01010101, 0x02020202, 0x03030303}},
		{"ecl", {0x03020100, 0x03020101, 0x03020202, 0x03030303}},
		{"ecr", {0x00000000, 0x01010100, 0x02020100, 0x03020100}},
		{"rc16", {0x01000100, 0x03020302, 0x01000100, 0x03020302}},
	};
	uint64_t a[4], b[4], c[4], d[4];
	struct test_device t;

	(void)state;
	test_open(&t, "workers=1");
	for (unsigned k = 0; k < 4; k++) {
		a[k] = 0x03020100;
		b[k] = 0x07060504;
		c[k] = k;
	}
	for (unsigned m = 0; m < 6; m++) {
		const uint64_t *src[OP_SOURCES] = {a, b, c};
		char text[64];

		snprintf(text, sizeof(text), "prmt.b32.%s d, a, b, c;", modes[m].mode);
		op_run(&t, text, "4:444", 32, src, d, 4);
		for (unsigned k = 0; k < 4; k++)
			if (d[k] != modes[m].want[k])
				fail_msg("%s c=%u: %llx, expected %x", text, k, (unsigned long long)d[k],
					 modes[m].want[k]);
	}
	test_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integer_instructions),
		cmocka_unit_test(prmt_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
