/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversions, PTX ISA 9.7.9: cvt, cvt.pack. Common pairs have vector handlers;
 * everything else goes through one description (struct cvt_spec), one rounding
 * routine (half.c) and lane by lane.
 *
 * Float to integer saturates, NaN gives 0. Narrow results are extended to the
 * register as the destination type's sign says (decode does that).
 */
#include <math.h>

#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

/* Integer to integer: width of the result, type of the source. */
#define TO_ALL(S, TS)                   \
	DEF1(to8_##S, uint8_t, TS, x)   \
	DEF1(to16_##S, uint16_t, TS, x) \
	DEF1(to32_##S, uint32_t, TS, x) \
	DEF1(to64_##S, uint64_t, TS, x)
TO_ALL(u8, uint8_t)
TO_ALL(s8, int8_t)
TO_ALL(u16, uint16_t)
TO_ALL(s16, int16_t)
TO_ALL(u32, uint32_t)
TO_ALL(s32, int32_t)
TO_ALL(u64, uint64_t)
TO_ALL(s64, int64_t)
DEF1(to128_u64, unsigned __int128, uint64_t, x)
DEF1(to64_u128, uint64_t, unsigned __int128, x)

#define INT_FLOAT(S, TS)                        \
	DEF1(f32_from_##S, float, TS, (float)x) \
	DEF1(f64_from_##S, double, TS, (double)x)
INT_FLOAT(u8, uint8_t)
INT_FLOAT(s8, int8_t)
INT_FLOAT(u16, uint16_t)
INT_FLOAT(s16, int16_t)
INT_FLOAT(u32, uint32_t)
INT_FLOAT(s32, int32_t)
INT_FLOAT(u64, uint64_t)
INT_FLOAT(s64, int64_t)

/* Float to integer towards zero. */
/* NaN gives 0, but 1 << (bits - 1) when the source is f64 or the result has 64 bits (ISA 9.7.9.21, Integer
 * Notes). */
#define TRUNC_S(T, x, LO, HI, NAN_)  ((x) >= -(LO) ? ((x) < (LO) ? (T)(x) : HI) : (x) != (x) ? NAN_ : -HI - 1)
#define TRUNC_U(T, x, LIM, HI, NAN_) ((x) > 0 ? ((x) < (LIM) ? (T)(x) : HI) : (x) != (x) ? NAN_ : 0)
DEF1(s32_from_f32, int32_t, float, TRUNC_S(int32_t, x, 0x1p31f, INT32_MAX, 0))
DEF1(s32_from_f64, int32_t, double, TRUNC_S(int32_t, x, 0x1p31, INT32_MAX, INT32_MIN))
DEF1(s64_from_f32, int64_t, float, TRUNC_S(int64_t, x, 0x1p63f, INT64_MAX, INT64_MIN))
DEF1(s64_from_f64, int64_t, double, TRUNC_S(int64_t, x, 0x1p63, INT64_MAX, INT64_MIN))
DEF1(u32_from_f32, uint32_t, float, TRUNC_U(uint32_t, x, 0x1p32f, UINT32_MAX, 0))
DEF1(u32_from_f64, uint32_t, double, TRUNC_U(uint32_t, x, 0x1p32, UINT32_MAX, 1u << 31))
DEF1(u64_from_f32, uint64_t, float, TRUNC_U(uint64_t, x, 0x1p64f, UINT64_MAX, 1ull << 63))
DEF1(u64_from_f64, uint64_t, double, TRUNC_U(uint64_t, x, 0x1p64, UINT64_MAX, 1ull << 63))

static inline float canonical(float r)
{
	return r != r ? f32_from(0x7fffffff) : r;
}
DEF1(f64_from_f32, double, float, (double)x)
DEF1(f32_from_f64, float, double, canonical((float)x))
DEF1(f32_from_f16, float, uint16_t, canonical(f16_to_f32(x)))
DEF1(f16_from_f32_rn, uint16_t, float, f16_from_f32(x))
DEF1(f32_from_bf16, float, uint16_t, canonical(bf16_to_f32(x)))
DEF1(bf16_from_f32_rn, uint16_t, float, bf16_from_f32(x))
DEF2(f16x2_from_f32, uint32_t, float, float, (uint32_t)f16_from_f32(x) << 16 | f16_from_f32(y))
DEF2(bf16x2_from_f32, uint32_t, float, float, (uint32_t)bf16_from_f32(x) << 16 | bf16_from_f32(y))

/* The general case
 * ---------------------------------------------------------------------------------------------- */
enum num_class { NUM_INT, NUM_FLOAT };

struct num_type {
	uint8_t type, bits, cls;
	bool sign;
	int8_t format; /* enum small_format; -1 = f64 or integer */
	uint8_t count; /* values packed in the register */
};

static const struct num_type num_types[] = {
	{PTX_U8, 8, NUM_INT, false, -1, 1},
	{PTX_S8, 8, NUM_INT, true, -1, 1},
	{PTX_U16, 16, NUM_INT, false, -1, 1},
	{PTX_S16, 16, NUM_INT, true, -1, 1},
	{PTX_U32, 32, NUM_INT, false, -1, 1},
	{PTX_S32, 32, NUM_INT, true, -1, 1},
	{PTX_U64, 64, NUM_INT, false, -1, 1},
	{PTX_S64, 64, NUM_INT, true, -1, 1},
	{PTX_F16, 16, NUM_FLOAT, true, FMT_F16, 1},
	{PTX_BF16, 16, NUM_FLOAT, true, FMT_BF16, 1},
	{PTX_F32, 32, NUM_FLOAT, true, FMT_F32, 1},
	{PTX_F64, 64, NUM_FLOAT, true, -1, 1},
	{PTX_TF32, 32, NUM_FLOAT, true, FMT_TF32, 1},
	{PTX_F16X2, 16, NUM_FLOAT, true, FMT_F16, 2},
	{PTX_BF16X2, 16, NUM_FLOAT, true, FMT_BF16, 2},
	{PTX_E4M3X2, 8, NUM_FLOAT, true, FMT_E4M3, 2},
	{PTX_E5M2X2, 8, NUM_FLOAT, true, FMT_E5M2, 2},
	{PTX_E2M1X2, 4, NUM_FLOAT, true, FMT_E2M1, 2},
	{PTX_E2M3X2, 8, NUM_FLOAT, true, FMT_E2M3, 2},
	{PTX_E3M2X2, 8, NUM_FLOAT, true, FMT_E3M2, 2},
	{PTX_UE8M0X2, 8, NUM_FLOAT, false, -1, 2},
};

struct cvt_spec {
	const struct num_type *d, *s;
	uint8_t rnd, nsrc;
	uint32_t flags;
};

static const struct num_type *num_type(unsigned t)
{
	for (unsigned k = 0; k < sizeof(num_types) / sizeof(num_types[0]); k++)
		if (num_types[k].type == t)
			return &num_types[k];
	return NULL;
}

/* ue8m0: 2^(x - 127), 255 a NaN (OCP microscaling formats). Magnitudes count; 0 and what is smaller than 2^-127 is 0, what
 * is larger than 2^127 the largest with .satfinite, else NaN. */
static double ue8m0_value(uint64_t bits)
{
	return bits == 0xff ? NAN : ldexp(1, (int)bits - 127);
}

static uint64_t ue8m0_round(double v, unsigned rnd, bool satfinite)
{
	int e;

	if (v != v)
		return 0xff;
	v = fabs(v);
	if (v <= 0x1p-127)
		return 0;
	if (v < INFINITY) {
		double m = frexp(v, &e); /* m in [0.5, 1) */

		e += 126 + (rnd == PTX_RP && m > 0.5);
		if (e <= 254)
			return (uint64_t)e;
	}
	return satfinite ? 254 : 0xff;
}

static double float_of(const struct num_type *t, uint64_t bits, uint32_t flags)
{
	double v;

	if (t->type == PTX_UE8M0X2)
		return ue8m0_value(bits);
	if (t->format < 0)
		return f64_from(bits);
	if (t->format == FMT_TF32)
		return (double)f32_from((uint32_t)bits);
	v = float_value((enum small_format)t->format, (uint32_t)bits);
	if ((flags & PTX_F_FTZ) && t->format == FMT_F32 && fabs(v) < 0x1p-126)
		v = copysign(0, v);
	return v;
}

static double round_integer(double v, unsigned rnd)
{
	switch (rnd) {
	case PTX_RNI:
	case PTX_RN: return nearbyint(v);
	case PTX_RMI:
	case PTX_RM: return floor(v);
	case PTX_RPI:
	case PTX_RP: return ceil(v);
	default: return trunc(v);
	}
}

static uint64_t int_from_float(const struct num_type *d, const struct num_type *s, double v, unsigned rnd)
{
	if (v != v)
		return s->bits == 64 || d->bits == 64 ? 1ull << (d->bits - 1) : 0;
	v = round_integer(v, rnd);
	if (d->sign) {
		double lim = ldexp(1, d->bits - 1);
		int64_t max = (int64_t)(~0ull >> (65 - d->bits));

		return (uint64_t)(v >= lim ? max : v < -lim ? -max - 1 : (int64_t)v);
	}
	if (v <= 0)
		return 0;
	return v >= ldexp(1, d->bits) ? ~0ull >> (64 - d->bits) : (uint64_t)v;
}

static uint64_t float_result(const struct num_type *d, double v, const struct cvt_spec *c)
{
	uint32_t r;

	if (c->rnd >= PTX_RNI && v == v && !isinf(v))
		v = copysign(round_integer(v, c->rnd), v);
	if (c->flags & PTX_F_SAT)
		v = v > 0 ? (v < 1 ? v : 1) : 0;
	if ((c->flags & PTX_F_RELU) && v <= 0)
		v = 0;
	if (d->type == PTX_UE8M0X2)
		return ue8m0_round(v, c->rnd, c->flags & PTX_F_SATFINITE);
	if (d->format < 0)
		return v != v ? 0x7ff8000000000000ull : f64_bits(v);
	r = float_round((enum small_format)d->format, v, c->rnd >= PTX_RNI || !c->rnd ? PTX_RN : c->rnd,
			c->flags & PTX_F_SATFINITE);
	if (d->format == FMT_TF32 && v == v)
		r <<= 13;
	if ((c->flags & PTX_F_FTZ) && d->format == FMT_F32 && !(r & 0x7f800000))
		r &= 0x80000000;
	return r;
}

static uint64_t sign_extend(uint64_t v, unsigned bits, bool sign)
{
	if (bits == 64)
		return v;
	v &= (1ull << bits) - 1;
	return sign && v >> (bits - 1) ? v | ~0ull << bits : v;
}

static uint64_t int_saturate(const struct num_type *d, const struct num_type *s, uint64_t v)
{
	bool negative = s->sign && (int64_t)v < 0;
	uint64_t max = d->sign ? ~0ull >> (65 - d->bits) : ~0ull >> (64 - d->bits);

	if (!negative)
		return v > max ? max : v;
	if (!d->sign)
		return 0;
	return (int64_t)v < -(int64_t)max - 1 ? ~max : v;
}

static uint64_t float_from_int(const struct cvt_spec *c, uint64_t v)
{
	bool negative = c->s->sign && (int64_t)v < 0;
	struct big_float big = {.sign = negative, .sig = negative ? 0 - v : v};
	unsigned rnd = c->rnd ? c->rnd : PTX_RN;

	if (c->flags & PTX_F_SAT)
		big = (struct big_float){.sig = !negative && v};
	return c->d->format < 0
		       ? float_pack64(&big, rnd)
		       : float_pack(&float_formats[c->d->format], &big, rnd, c->flags & PTX_F_SATFINITE);
}

/* One value; bits of the source in, bits of the result out. */
static uint64_t convert(const struct cvt_spec *c, uint64_t bits)
{
	const struct num_type *d = c->d, *s = c->s;

	if (s->cls == NUM_INT) {
		uint64_t v = sign_extend(bits, s->bits, s->sign);

		if (d->cls == NUM_FLOAT)
			return float_from_int(c, v);
		return c->flags & PTX_F_SAT ? int_saturate(d, s, v) : v;
	}
	double v = float_of(s, s->bits < 64 ? bits & ((1ull << s->bits) - 1) : bits, c->flags);

	return d->cls == NUM_INT ? int_from_float(d, s, v, c->rnd) : float_result(d, v, c);
}

static uint64_t load_bits(const void *p, unsigned bits, uint32_t l)
{
	switch (bits) {
	case 8: return ((const uint8_t *)p)[l];
	case 16: return ((const uint16_t *)p)[l];
	case 32: return ((const uint32_t *)p)[l];
	default: return ((const uint64_t *)p)[l];
	}
}

static void store_bits(void *p, unsigned bits, uint32_t l, uint64_t v)
{
	switch (bits) {
	case 8: ((uint8_t *)p)[l] = (uint8_t)v; break;
	case 16: ((uint16_t *)p)[l] = (uint16_t)v; break;
	case 32: ((uint32_t *)p)[l] = (uint32_t)v; break;
	default: ((uint64_t *)p)[l] = v; break;
	}
}

static const struct xinst *cvt_any(struct warp *w, const struct xinst *i)
{
	const struct cvt_spec *c = (const void *)(uintptr_t)i->imm;
	const unsigned sbits = c->s->bits * c->s->count, dbits = c->d->bits * c->d->count;
	void *d = cell(w, i->o[0]);
	const void *a = cell(w, i->o[1]);

	FOR_LANES(l, w->exec)
	{
		uint64_t x = load_bits(a, sbits, l), r;

		if (c->d->count == 1) {
			r = convert(c, x);
		} else if (c->nsrc == 2) { /* a is the upper half, b the lower */
			uint64_t y = load_bits(cell(w, i->o[2]), sbits, l);
			uint64_t mask = (1ull << c->d->bits) - 1;

			r = (convert(c, x) & mask) << c->d->bits | (convert(c, y) & mask);
		} else {
			uint64_t mask = (1ull << c->d->bits) - 1;

			r = (convert(c, x >> c->s->bits) & mask) << c->d->bits | (convert(c, x) & mask);
		}
		store_bits(d, dbits, l, r);
	}
	return i + 1;
}

static int emit_cvt(struct decode *c, const struct exec_row *row)
{
	const struct ptx_inst *in = c->in;
	const struct num_type *d = num_type(in->type), *s = num_type(in->type2);
	struct dest out;
	uint32_t pos[2];
	int rc = 0;

	if (!d || !s || in->rnd == PTX_RS || in->nsrc > 2 || (d->count == 1 && s->count != 1) ||
	    (d->count == 2 && s->count == 1 && in->nsrc != 2))
		return refuse(c, "this conversion is not executed");
	struct cvt_spec *spec = arena_zalloc(&c->program->arena, sizeof(*spec));
	if (!spec)
		return refuse(c, "out of memory");
	*spec = (struct cvt_spec){d, s, in->rnd, in->nsrc, in->flags};
	for (unsigned k = 0; k < in->nsrc && !rc; k++)
		rc = source(c, &in->src[k], s->bits * s->count, s->sign, &pos[k]);
	if (!rc)
		rc = dest(c, &in->dst[0], d->bits * d->count, d->cls == NUM_INT && d->sign, &out);
	if (rc)
		return rc;
	struct xinst *x = emit(c, row->fn);
	if (!x)
		return refuse(c, "out of memory");
	x->o[0] = out.pos;
	for (unsigned k = 0; k < in->nsrc; k++)
		x->o[1 + k] = pos[k];
	x->imm = (int64_t)(uintptr_t)spec;
	return dest_done(c, &out);
}

/* cvt.pack.sat: two s32 saturated to u = bits << 1 | sign and packed, c's low bits above them. */
static uint32_t pack_one(int32_t v, unsigned bits, bool sign)
{
	int32_t max = (int32_t)((1u << (bits - sign)) - 1), min = sign ? -max - 1 : 0;

	return (uint32_t)(v > max ? max : v < min ? min : v) & ((1u << bits) - 1);
}

static const struct xinst *cvt_pack(struct warp *w, const struct xinst *i)
{
	const unsigned bits = i->u >> 1;
	uint32_t *d = cell(w, i->o[0]);
	const int32_t *a = cell(w, i->o[1]), *b = cell(w, i->o[2]);
	const uint32_t *c = bits < 16 ? cell(w, i->o[3]) : NULL;

	FOR_LANES(l, w->exec)
	{
		uint32_t r = pack_one(a[l], bits, i->u & 1) << bits | pack_one(b[l], bits, i->u & 1);

		d[l] = c ? r | c[l] << (2 * bits) : r;
	}
	return i + 1;
}

exec_fn cvt_resize(unsigned from, unsigned to, bool sign)
{
	static const struct {
		uint8_t from, to;
		exec_fn u, s;
	} table[] = {
		{8, 16, to16_u8, to16_s8},       {8, 32, to32_u8, to32_s8},
		{8, 64, to64_u8, to64_s8},       {16, 8, to8_u16, to8_u16},
		{16, 32, to32_u16, to32_s16},    {16, 64, to64_u16, to64_s16},
		{32, 8, to8_u32, to8_u32},       {32, 16, to16_u32, to16_u32},
		{32, 64, to64_u32, to64_s32},    {64, 8, to8_u64, to8_u64},
		{64, 16, to16_u64, to16_u64},    {64, 32, to32_u64, to32_u64},
		{64, 128, to128_u64, to128_u64}, {128, 64, to64_u128, to64_u128},
		{8, 8, to8_u8, to8_u8},          {16, 16, to16_u16, to16_u16},
		{32, 32, to32_u32, to32_u32},    {64, 64, to64_u64, to64_u64},
	};

	for (unsigned k = 0; k < sizeof(table) / sizeof(table[0]); k++)
		if (table[k].from == from && table[k].to == to)
			return sign ? table[k].s : table[k].u;
	return NULL;
}

#define CVT(D, S, SIG, FN, ...) \
	ROW(CVT, D, SIG, FN, .match = MATCH_TYPE | MATCH_TYPE2, .type2 = PTX_##S, ##__VA_ARGS__)
#define CVT_INTS(S, N, C)                                                                                    \
	CVT(U8, S, "b:" C, to8_##N), CVT(S8, S, "b:" C, to8_##N), CVT(U16, S, "h:" C, to16_##N),             \
		CVT(S16, S, "h:" C, to16_##N), CVT(U32, S, "w:" C, to32_##N), CVT(S32, S, "w:" C, to32_##N), \
		CVT(U64, S, "d:" C, to64_##N), CVT(S64, S, "d:" C, to64_##N),                                \
		CVT(F32, S, "w:" C, f32_from_##N, OK(PTX_F_FTZ)), CVT(F64, S, "d:" C, f64_from_##N)
#define RZI(D, S, SIG, FN) \
	ROW(CVT, D, SIG, FN, .match = MATCH_TYPE | MATCH_TYPE2 | MATCH_RND, .type2 = PTX_##S, .rnd = PTX_RZI)
#define PACK(T, BITS, SIGN, SIG)                                                            \
	ROW(CVT_PACK, T, SIG, cvt_pack, NEED(PTX_F_SAT), .match = MATCH_TYPE | MATCH_TYPE2, \
	    .type2 = PTX_S32, .u = (BITS) << 1 | (SIGN))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct exec_row rows[] = {
	CVT_INTS(U8, u8, "b"),
	CVT_INTS(S8, s8, "b"),
	CVT_INTS(U16, u16, "h"),
	CVT_INTS(S16, s16, "h"),
	CVT_INTS(U32, u32, "w"),
	CVT_INTS(S32, s32, "w"),
	CVT_INTS(U64, u64, "d"),
	CVT_INTS(S64, s64, "d"),
	RZI(S32, F32, "w:w", s32_from_f32),
	RZI(S32, F64, "w:d", s32_from_f64),
	RZI(S64, F32, "d:w", s64_from_f32),
	RZI(S64, F64, "d:d", s64_from_f64),
	RZI(U32, F32, "w:w", u32_from_f32),
	RZI(U32, F64, "w:d", u32_from_f64),
	RZI(U64, F32, "d:w", u64_from_f32),
	RZI(U64, F64, "d:d", u64_from_f64),
	CVT(F64, F32, "d:w", f64_from_f32),
	CVT(F32, F64, "w:d", f32_from_f64),
	CVT(F32, F16, "w:h", f32_from_f16),
	CVT(F16, F32, "h:w", f16_from_f32_rn),
	CVT(F32, BF16, "w:h", f32_from_bf16),
	CVT(BF16, F32, "h:w", bf16_from_f32_rn),
	CVT(F16X2, F32, "w:ww", f16x2_from_f32),
	CVT(BF16X2, F32, "w:ww", bf16x2_from_f32),
	PACK(U16, 16, 0, "w:ww"),
	PACK(S16, 16, 1, "w:ww"),
	PACK(U8, 8, 0, "w:www"),
	PACK(S8, 8, 1, "w:www"),
	PACK(U4, 4, 0, "w:www"),
	PACK(S4, 4, 1, "w:www"),
	PACK(U2, 2, 0, "w:www"),
	PACK(S2, 2, 1, "w:www"),
	{.op = PTX_OP_CVT,
	 .ok = PTX_F_FTZ | PTX_F_SAT | PTX_F_SATFINITE | PTX_F_RELU,
	 .any_rnd = true,
	 .sig = "",
	 .fn = cvt_any,
	 .emit = emit_cvt},
};
#pragma GCC diagnostic pop

const struct exec_family EXEC_FAMILY(exec_cvt) = {rows, sizeof(rows) / sizeof(rows[0])};
