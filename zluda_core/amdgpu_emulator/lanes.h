/* SPDX-License-Identifier: Apache-2.0
 *
 * lanes: what a VALU op's row (valu.def) computes with, and the arithmetic that
 * C does not have. Included by valu_lanes.c, which is compiled per instruction
 * set of the host. Meanings are those of the ISA documents' pseudocode.
 */
#ifndef CUTRACE_AMDGPU_LANES_H
#define CUTRACE_AMDGPU_LANES_H

#include <math.h>

#include "base/half.h"
#include "zluda_core/amdgpu_emulator/insn.h"

/* Sources and result of one op for all lanes: 32-bit elements, or 64-bit ones for 64-bit types. */
struct lanes {
	const void *a, *b, *c;
	void *r;
	unsigned n;
	uint64_t in, out; /* masks */
	bool clamp;
	uint8_t ieee; /* enum minmax_nan */
	uint8_t neg_lo;
	uint32_t seed; /* of estimates; 0: none is moved */
};

/* NaNs in V_MIN, V_MAX and their kin: MODE.IEEE off and on, and RDNA 4, which has no such bit. */
enum minmax_nan { NAN_LOSES, NAN_SIGNALS, NAN_IS_QUIETED };

static inline bool nan32(float f)
{
	return f != f;
}

static inline bool snan32(float f)
{
	uint32_t u = f32_bits(f);
	return (u & 0x7f800000) == 0x7f800000 && (u & 0x3fffff) && !(u & 0x400000);
}

static inline float quiet32(float f)
{
	return f32_from(f32_bits(f) | 0x400000);
}

static inline bool snan64(double f)
{
	uint64_t u = f64_bits(f);
	return f != f && !(u >> 51 & 1);
}

static inline double quiet64(double f)
{
	return f64_from(f64_bits(f) | 1ull << 51);
}

/* V_MIN/MAX_*: with MODE.IEEE a signalling NaN wins, a quiet one loses; -0 is less than +0. RDNA 4 ISA, V_MIN_NUM_F32:
 * of two NaNs the first one, made quiet. */
#define MINMAX(name, T, snan, quiet, cmp, pick_a)               \
	static inline T name(T a, T b, unsigned nan)            \
	{                                                       \
		if (nan == NAN_SIGNALS && snan(a))              \
			return quiet(a);                        \
		if (nan == NAN_SIGNALS && snan(b))              \
			return quiet(b);                        \
		if (nan == NAN_IS_QUIETED && a != a && b != b)  \
			return quiet(a);                        \
		if (b != b)                                     \
			return a;                               \
		if (a != a)                                     \
			return b;                               \
		return a cmp b || (a == b && (pick_a)) ? a : b; \
	}
MINMAX(max_f32, float, snan32, quiet32, >, !signbit(a))
MINMAX(min_f32, float, snan32, quiet32, <, signbit(a))
MINMAX(max_f64, double, snan64, quiet64, >, !signbit(a))
MINMAX(min_f64, double, snan64, quiet64, <, signbit(a))

/* V_MAXIMUM/MINIMUM_*: IEEE 754-2019 maximum, minimum: any NaN wins. */
#define EXTREMUM(name, T, quiet, cmp, pick_a)                   \
	static inline T name(T a, T b)                          \
	{                                                       \
		if (a != a)                                     \
			return quiet(a);                        \
		if (b != b)                                     \
			return quiet(b);                        \
		return a cmp b || (a == b && (pick_a)) ? a : b; \
	}
EXTREMUM(maximum_f32, float, quiet32, >, !signbit(a))
EXTREMUM(minimum_f32, float, quiet32, <, signbit(a))
EXTREMUM(maximum_f64, double, quiet64, >, !signbit(a))
EXTREMUM(minimum_f64, double, quiet64, <, signbit(a))

static inline float med3_f32(float a, float b, float c, unsigned ieee)
{
	if (nan32(a) || nan32(b) || nan32(c))
		return min_f32(min_f32(a, b, ieee), c, ieee);
	float m = max_f32(max_f32(a, b, ieee), c, ieee);
	return m == a ? max_f32(b, c, ieee) : m == b ? max_f32(a, c, ieee) : max_f32(a, b, ieee);
}

#define MED3(T, name)                                     \
	static inline T name(T a, T b, T c)               \
	{                                                 \
		T lo = a < b ? a : b, hi = a < b ? b : a; \
		return c < lo ? lo : c > hi ? hi : c;     \
	}
MED3(uint32_t, med3_u)
MED3(int32_t, med3_i)

/* Conversions saturate; NaN gives 0. */
#define TO_INT(name, F, I, low, high, min, max)                                      \
	static inline I name(F f)                                                    \
	{                                                                            \
		return f != f ? 0 : f <= (low) ? (min) : f >= (high) ? (max) : (I)f; \
	}
TO_INT(f32_to_i32, float, int32_t, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX)
TO_INT(f32_to_u32, float, uint32_t, 0, 0x1p32f, 0, UINT32_MAX)
TO_INT(f64_to_i32, double, int32_t, -0x1p31, 2147483647.0, INT32_MIN, INT32_MAX)
TO_INT(f64_to_u32, double, uint32_t, 0, 4294967295.0, 0, UINT32_MAX)
TO_INT(f32_to_i16, float, int32_t, -32768.0f, 32767.0f, -32768, 32767)
TO_INT(f32_to_u16, float, uint32_t, 0, 65535.0f, 0, 65535)
TO_INT(f32_to_u8, float, uint32_t, 0, 255.0f, 0, 255)

static inline uint32_t clamp_i(int64_t v, int64_t lo, int64_t hi)
{
	return (uint32_t)(v < lo ? lo : v > hi ? hi : v);
}

/* Round to nearest integer, ties to even, whatever MODE says. */
static inline double rndne(double x)
{
	double r = trunc(x), d = fabs(x - r);

	if (d > 0.5 || (d == 0.5 && fmod(r, 2) != 0))
		r += copysign(1, x);
	return r == 0 ? copysign(0, x) : r;
}

static inline uint32_t pack16(uint32_t lo, uint32_t hi)
{
	return (lo & 0xffff) | hi << 16;
}

static inline uint32_t snorm16(float f)
{
	return (uint16_t)f32_to_i16((float)rndne((f != f ? 0 : f < -1 ? -1 : f > 1 ? 1 : f) * 32767.0));
}

static inline uint32_t unorm16(float f)
{
	return f32_to_u16((float)rndne((f != f || f < 0 ? 0 : f > 1 ? 1 : f) * 65535.0));
}

static inline uint16_t f16_of(double f)
{
	_Float16 h = (_Float16)f;
	uint16_t u;

	memcpy(&u, &h, 2);
	return u;
}

/* Toward zero: drop the bits below binary16's, then convert exactly; too large becomes the largest. */
static inline uint16_t f16_toward_zero(float f)
{
	uint32_t u = f32_bits(f), e = u >> 23 & 255;
	unsigned drop = e >= 113 ? 13 : e >= 102 ? 13 + (113 - e) : 24;

	if (e == 255)
		return f16_of((double)f);
	if (e >= 143)
		return (uint16_t)((u >> 16 & 0x8000) | 0x7bff);
	if (drop > 23)
		return (uint16_t)(u >> 16 & 0x8000);
	return f16_of((double)f32_from(u & ~((1u << drop) - 1)));
}

static inline float half_round(float f)
{
	return f16_to_f32(f16_of((double)f));
}

/* V_FRACT never reaches 1; NaNs pass. */
static inline float below_one(float f, float most)
{
	return f > most ? most : f;
}

static inline float half_of(uint32_t v, unsigned high)
{
	return f16_to_f32((uint16_t)(high ? v >> 16 : v));
}

static inline uint32_t bfe_u(uint32_t a, uint32_t b, uint32_t c)
{
	return (a >> (b & 31)) & ((1u << (c & 31)) - 1);
}

static inline int32_t bfe_i(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t n = c & 31, v = bfe_u((uint32_t)((int32_t)a >> (b & 31)), 0, c);
	return n ? (int32_t)(v << (32 - n)) >> (32 - n) : 0;
}

static inline uint32_t brev32(uint32_t v)
{
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(v);
}

static inline uint32_t cls32(uint32_t v)
{
	uint32_t x = (int32_t)v < 0 ? ~v : v;
	return x ? (uint32_t)__builtin_clz(x) : ~0u;
}

static inline int32_t i24(uint32_t v)
{
	return (int32_t)(v << 8) >> 8;
}

static inline uint32_t perm_byte(uint64_t data, uint32_t sel)
{
	if (sel >= 13)
		return 0xff;
	if (sel == 12)
		return 0;
	if (sel >= 8)
		return data >> (16 * (sel - 8) + 15) & 1 ? 0xff : 0;
	return (uint32_t)(data >> (8 * sel)) & 0xff;
}

static inline uint32_t perm(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t data = (uint64_t)a << 32 | b;
	uint32_t r = 0;

	for (unsigned i = 0; i < 32; i += 8)
		r |= perm_byte(data, c >> i & 0xff) << i;
	return r;
}

static inline uint32_t sad_u8(uint32_t a, uint32_t b, bool masked)
{
	uint32_t r = 0;

	for (unsigned i = 0; i < 32; i += 8) {
		uint32_t x = a >> i & 255, y = b >> i & 255;
		if (!masked || y)
			r += x > y ? x - y : y - x;
	}
	return r;
}

static inline uint32_t lerp_u8(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t r = 0;

	for (unsigned i = 0; i < 32; i += 8)
		r |= (((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1) << i;
	return r;
}

static inline int64_t dot(uint32_t a, uint32_t b, unsigned bits, bool sign_a, bool sign_b)
{
	int64_t r = 0;

	for (unsigned i = 0; i < 32; i += bits) {
		uint32_t ua = a << (32 - bits - i), ub = b << (32 - bits - i);
		int64_t x = sign_a ? (int32_t)ua >> (32 - bits) : (int64_t)(ua >> (32 - bits));
		int64_t y = sign_b ? (int32_t)ub >> (32 - bits) : (int64_t)(ub >> (32 - bits));
		r += x * y;
	}
	return r;
}

/* ---- estimates: any result within the stated error, picked by the seed and the value; 0: the nearest one */

static inline uint64_t mix(double v, uint32_t seed)
{
	uint64_t h = (f64_bits(v) + seed) * 0x9e3779b97f4a7c15ull;

	return h ^ h >> 29;
}

/* One of the two neighbours of the exact value. What is exact stays so: the documents' examples are (V_EXP_F32 of 0 is 1, V_RSQ_F32
 * of 4 is 0.5). */
static inline float estimate_f32(double v, uint32_t seed)
{
	float r = (float)v;
	uint32_t u = f32_bits(r), e = u >> 23 & 255;

	if (!seed || (double)r == v || e < 2 || e > 253 || !(mix(v, seed) >> 40 & 1))
		return r;
	return f32_from((double)fabsf(r) < fabs(v) ? u + 1 : u - 1);
}

static inline double estimate_f64(double v, uint32_t seed)
{
	uint64_t u = f64_bits(v), e = u >> 52 & 2047;

	if (!seed || e < 2 || e > 2044)
		return v;
	return f64_from(u + (mix(v, seed) >> 34) - (1u << 29));
}

/* Moved by up to a hundredth of an ULP of binary16 before it is rounded. */
static inline double estimate_f16(double v, uint32_t seed)
{
	double ulp = isfinite(v) && v != 0 ? ldexp(1, (ilogb(v) < -14 ? -14 : ilogb(v)) - 10) : 0;

	return seed ? v + ulp * 0.01 * ((double)(mix(v, seed) >> 40 & 0xffff) / 32768 - 1) : v;
}

/* V_SIN/V_COS take revolutions; the argument is reduced exactly before it is scaled. Beyond 256 they give 0 and 1. */
static inline double sin_turns(double x)
{
	return isinf(x) ? NAN : fabs(x) > 256 ? 0 : sin(2 * M_PI * (x - rint(x)));
}

static inline double cos_turns(double x)
{
	return isinf(x) ? NAN : fabs(x) > 256 ? 1 : cos(2 * M_PI * (x - rint(x)));
}

static inline int exponent32(float f)
{
	return f32_bits(f) >> 23 & 255;
}

static inline int exponent64(double f)
{
	return f64_bits(f) >> 52 & 2047;
}

static inline float ldexp_f32(float f, int e)
{
	return (float)ldexp((double)f, e > 400 ? 400 : e < -400 ? -400 : e);
}

/* V_DIV_SCALE: brings a division's operands to where no step of it over- or underflows. The documents scale by +64 in
 * the case of a huge denominator and a tiny quotient, too, which would overflow; by -64 the quotient comes out right. */
static inline float div_scale_f32(float a, float b, float c, uint64_t *vcc)
{
	bool tiny_reciprocal = fabs(1.0 / (double)b) < 0x1p-126;
	bool tiny_quotient = fabs((double)c / (double)b) < 0x1p-126;

	*vcc = 0;
	if (b == 0 || c == 0)
		return NAN;
	if (exponent32(c) - exponent32(b) >= 96) {
		*vcc = 1;
		return a == b ? ldexp_f32(a, 64) : a;
	}
	if (exponent32(b) == 0)
		return ldexp_f32(a, 64);
	if (tiny_reciprocal && tiny_quotient) {
		*vcc = 1;
		return a == b ? ldexp_f32(a, -64) : a;
	}
	if (tiny_reciprocal)
		return ldexp_f32(a, -64);
	if (tiny_quotient) {
		*vcc = 1;
		return a == c ? ldexp_f32(a, 64) : a;
	}
	return exponent32(c) <= 23 ? ldexp_f32(a, 64) : a;
}

static inline double div_scale_f64(double a, double b, double c, uint64_t *vcc)
{
	bool tiny_reciprocal = fabs(1.0 / b) < 0x1p-1022;
	bool tiny_quotient = fabs(c / b) < 0x1p-1022;

	*vcc = 0;
	if (b == 0 || c == 0)
		return NAN;
	if (exponent64(c) - exponent64(b) >= 768) {
		*vcc = 1;
		return a == b ? ldexp(a, 128) : a;
	}
	if (exponent64(b) == 0)
		return ldexp(a, 128);
	if (tiny_reciprocal && tiny_quotient) {
		*vcc = 1;
		return a == b ? ldexp(a, -128) : a;
	}
	if (tiny_reciprocal)
		return ldexp(a, -128);
	if (tiny_quotient) {
		*vcc = 1;
		return a == c ? ldexp(a, 128) : a;
	}
	return exponent64(c) <= 53 ? ldexp(a, 128) : a;
}

/* V_DIV_FMAS: a fused multiply-add that undoes V_DIV_SCALE, and rounds once, after that: a quotient may be denormal.
 * Which way shows in the size of the scaled quotient. */
static inline float div_fmas_f32(float a, float b, float c, bool scaled)
{
	if (!scaled || a != a || b != b || c != c || isinf(c))
		return fmaf(a, b, c);
	__float128 exact = (__float128)a * (__float128)b + (__float128)c;
	return (float)(exact * (__float128)(exponent32(c) > 127 ? 0x1p64 : 0x1p-64));
}

static inline double div_fmas_f64(double a, double b, double c, bool scaled)
{
	if (!scaled || a != a || b != b || c != c || isinf(c))
		return fma(a, b, c);
	__float128 exact = (__float128)a * (__float128)b + (__float128)c;
	return (double)(exact * (__float128)(exponent64(c) > 1023 ? 0x1p128 : 0x1p-128));
}

/* V_DIV_FIXUP(quotient, denominator, numerator): the special cases of a division. The documents' test for overflow can
 * never hold (a finite denominator's exponent is not all ones); a quotient beyond the scaled range arrives as a NaN. */
#define DIV_FIXUP(name, T, quiet, nan_value, huge, tiny, is_tiny, is_huge) \
	static inline T name(T q, T d, T n)                                \
	{                                                                  \
		T sign = signbit(d) != signbit(n) ? -1 : 1;                \
		if (n != n)                                                \
			return quiet(n);                                   \
		if (d != d)                                                \
			return quiet(d);                                   \
		if ((d == 0 && n == 0) || (isinf(d) && isinf(n)))          \
			return nan_value;                                  \
		if (d == 0 || isinf(n))                                    \
			return sign * (T)INFINITY;                         \
		if (isinf(d) || n == 0)                                    \
			return sign * (T)0;                                \
		if (is_tiny)                                               \
			return sign * (tiny) * (tiny);                     \
		if (is_huge)                                               \
			return sign * (huge) * (huge);                     \
		return sign < 0 ? -(T)fabs(q) : (T)fabs(q);                \
	}
DIV_FIXUP(div_fixup_f32, float, quiet32, f32_from(0xffc00000), 0x1p120f, 0x1p-120f,
	  exponent32(n) - exponent32(d) < -150, q != q)
DIV_FIXUP(div_fixup_f64, double, quiet64, f64_from(0xfff8ull << 48), 0x1p1000, 0x1p-1000,
	  exponent64(n) - exponent64(d) < -1075, q != q)
DIV_FIXUP(div_fixup_f16, float, quiet32, f32_from(0xffc00000), 0x1p120f, 0x1p-120f, false, false)

/* V_CMP_CLASS: bit per class, in this order: sNaN, qNaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf. */
static inline bool class_of(uint64_t bits, unsigned man, unsigned width, uint32_t wanted)
{
	uint64_t m = bits & ((1ull << man) - 1), e = bits >> man & ((1ull << (width - 1 - man)) - 1);
	uint64_t all = (1ull << (width - 1 - man)) - 1;
	bool neg = bits >> (width - 1) & 1;
	unsigned k;

	if (e == all && m)
		k = m >> (man - 1) & 1;
	else if (e == all)
		k = neg ? 2 : 9;
	else if (e)
		k = neg ? 3 : 8;
	else if (m)
		k = neg ? 4 : 7;
	else
		k = neg ? 5 : 6;
	return wanted >> k & 1;
}

/* V_TRIG_PREOP_F64: 53 bits of 2/pi, from bit S1*53 on, corrected for large exponents. 2/pi's first 1,248 bits. */
static inline double trig_preop(double a, uint32_t segment)
{
	static const uint32_t two_over_pi[] = {
		0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
		0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
		0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
		0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
		0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
		0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20,
	};
	int shift = (int)(segment & 31) * 53, e = exponent64(a), scale;
	uint64_t bits = 0;

	if (e > 1077)
		shift += e - 1077;
	for (int i = shift; i < shift + 53; i++)
		bits = bits << 1 | (i < 1201 ? two_over_pi[i / 32] >> (31 - i % 32) & 1 : 0);
	scale = -53 - shift;
	if (e >= 1968)
		scale += 128;
	return ldexp((double)bits, scale);
}

#endif
