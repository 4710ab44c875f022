/* SPDX-License-Identifier: Apache-2.0
 *
 * f16, bf16 and their pairs, PTX ISA 9.7.4 and 9.7.5. A sum or product of two
 * small floats is exact, or rounds harmlessly, in f32 (f16) and in double
 * (bf16): 24 >= 2*11+2 and 53 >= 2*8+2 bits. fma goes through round-to-odd in
 * double, so that its last step is the only rounding.
 */
#include <math.h>

#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

enum {
	HALF_BF16 = 1,
	HALF_PAIR = 2,
	HALF_FTZ = 4,
	HALF_SAT = 8,
	HALF_RELU = 16,
	HALF_NAN = 32,
	HALF_XORSIGN = 64,
	HALF_OOB = 128
};

/* x * y + z in double, the last bit odd when inexact (Boldo and Melquiond, "Emulation of FMA"). */
static double fma_odd(double x, double y, double z)
{
	double p = x * y, s = p + z; /* p is exact */

	if (!isfinite(s))
		return s;
	double t = s - p, e = (p - (s - t)) + (z - t);
	uint64_t u = f64_bits(s);

	if (e != 0 && !(u & 1))
		u += (e > 0) == (s > 0) ? 1 : -1ull;
	return f64_from(u);
}

static inline double value(uint16_t h, uint32_t u)
{
	if (u & HALF_FTZ)
		h = f16_flush(h);
	return u & HALF_BF16 ? (double)bf16_to_f32(h) : (double)f16_to_f32(h);
}

static inline uint16_t result(double r, uint32_t u)
{
	uint16_t h;

	if (u & HALF_SAT)
		r = r > 0 ? (r < 1 ? r : 1) : 0;
	if ((u & HALF_RELU) && r <= 0)
		r = 0;
	h = u & HALF_BF16 ? (uint16_t)float_round(FMT_BF16, r, PTX_RN, false) : f16_from_f64(r);
	return u & HALF_FTZ ? f16_flush(h) : h;
}

static inline uint16_t add_one(uint16_t x, uint16_t y, uint16_t z, uint32_t u)
{
	(void)z;
	return result(value(x, u) + value(y, u), u);
}

static inline uint16_t sub_one(uint16_t x, uint16_t y, uint16_t z, uint32_t u)
{
	(void)z;
	return result(value(x, u) - value(y, u), u);
}

static inline uint16_t mul_one(uint16_t x, uint16_t y, uint16_t z, uint32_t u)
{
	(void)z;
	return result(value(x, u) * value(y, u), u);
}

/* The NaN that copies through tensor maps put where there is no tensor: with .oob it makes the result zero. */
#define OOB_NAN 0xffff

static inline uint16_t fma_one(uint16_t x, uint16_t y, uint16_t z, uint32_t u)
{
	if ((u & HALF_OOB) && (x == OOB_NAN || y == OOB_NAN || z == OOB_NAN))
		return 0;
	return result(fma_odd(value(x, u), value(y, u), value(z, u)), u);
}

static inline bool is_nan(uint16_t h, uint32_t u)
{
	return (h & 0x7fff) > (u & HALF_BF16 ? 0x7f80 : 0x7c00);
}

/* Order of the bit patterns as numbers, -0 below +0. */
static inline int32_t order(uint16_t h)
{
	return h & 0x8000 ? -1 - (int32_t)(h & 0x7fff) : (int32_t)h;
}

static inline uint16_t min_max(uint16_t x, uint16_t y, uint32_t u, bool max)
{
	uint16_t sign = (x ^ y) & 0x8000, r;

	if (u & HALF_FTZ) {
		x = f16_flush(x);
		y = f16_flush(y);
	}
	if (u & HALF_XORSIGN) {
		x &= 0x7fff;
		y &= 0x7fff;
	}
	if (is_nan(x, u) || is_nan(y, u)) {
		if ((u & HALF_NAN) || (is_nan(x, u) && is_nan(y, u)))
			return 0x7fff;
		r = is_nan(x, u) ? y : x;
	} else {
		r = (order(x) < order(y)) != max ? x : y;
	}
	return u & HALF_XORSIGN ? (r & 0x7fff) | sign : r;
}

static inline uint16_t min_one(uint16_t x, uint16_t y, uint16_t z, uint32_t u)
{
	(void)z;
	return min_max(x, y, u, false);
}

static inline uint16_t max_one(uint16_t x, uint16_t y, uint16_t z, uint32_t u)
{
	(void)z;
	return min_max(x, y, u, true);
}

static inline uint16_t abs_one(uint16_t x, uint16_t y, uint16_t z, uint32_t u)
{
	(void)y;
	(void)z;
	return (u & HALF_FTZ ? f16_flush(x) : x) & 0x7fff;
}

static inline uint16_t neg_one(uint16_t x, uint16_t y, uint16_t z, uint32_t u)
{
	(void)y;
	(void)z;
	return (u & HALF_FTZ ? f16_flush(x) : x) ^ 0x8000;
}

/* NS sources; for one and two the others repeat the last. */
#define HALF_OP(N, NS)                                                                    \
	static const struct xinst *N##_half(struct warp *w, const struct xinst *i)        \
	{                                                                                 \
		uint16_t *d = cell(w, i->o[0]);                                           \
		const uint16_t *a = cell(w, i->o[1]), *b = cell(w, i->o[NS > 1 ? 2 : 1]), \
			       *c = cell(w, i->o[NS > 2 ? 3 : 1]);                        \
		const uint32_t u = i->u;                                                  \
                                                                                          \
		FOR_LANES(l, w->exec)                                                     \
		d[l] = N##_one(a[l], b[l], c[l], u);                                      \
		return i + 1;                                                             \
	}                                                                                 \
	static const struct xinst *N##_pair(struct warp *w, const struct xinst *i)        \
	{                                                                                 \
		uint32_t *d = cell(w, i->o[0]);                                           \
		const uint32_t *a = cell(w, i->o[1]), *b = cell(w, i->o[NS > 1 ? 2 : 1]), \
			       *c = cell(w, i->o[NS > 2 ? 3 : 1]);                        \
		const uint32_t u = i->u;                                                  \
                                                                                          \
		FOR_LANES(l, w->exec)                                                     \
		d[l] = N##_one((uint16_t)a[l], (uint16_t)b[l], (uint16_t)c[l], u) |       \
		       (uint32_t)N##_one((uint16_t)(a[l] >> 16), (uint16_t)(b[l] >> 16),  \
					 (uint16_t)(c[l] >> 16), u)                       \
			       << 16;                                                     \
		return i + 1;                                                             \
	}
HALF_OP(add, 2)
HALF_OP(sub, 2)
HALF_OP(mul, 2)
HALF_OP(fma, 3)
HALF_OP(min, 2)
HALF_OP(max, 2)
HALF_OP(abs, 1)
HALF_OP(neg, 1)

/* The common forms, f16 to nearest: vector code where the processor converts halves. */
static inline uint16_t add_f16_fast(uint16_t x, uint16_t y)
{
	return f16_from_f32(f16_to_f32(x) + f16_to_f32(y));
}

static inline uint16_t sub_f16_fast(uint16_t x, uint16_t y)
{
	return f16_from_f32(f16_to_f32(x) - f16_to_f32(y));
}

static inline uint16_t mul_f16_fast(uint16_t x, uint16_t y)
{
	return f16_from_f32(f16_to_f32(x) * f16_to_f32(y));
}
#define FAST_OP(N)                                                      \
	DEF2(N##_f16, uint16_t, uint16_t, uint16_t, N##_f16_fast(x, y)) \
	DEF2(N##_f16x2, uint32_t, uint32_t, uint32_t,                   \
	     N##_f16_fast((uint16_t)x, (uint16_t)y) |                   \
		     (uint32_t)N##_f16_fast((uint16_t)(x >> 16), (uint16_t)(y >> 16)) << 16)
FAST_OP(add)
FAST_OP(sub)
FAST_OP(mul)

/* One row for each set of flags that the ISA allows. */
#define H(OP, T, N, FLAGS, U)  ROW(OP, T, "h:hh", N##_half, NEED(FLAGS), .u = (U))
#define H2(OP, T, N, FLAGS, U) ROW(OP, T, "w:ww", N##_pair, NEED(FLAGS), .u = (U) | HALF_PAIR)
#define BOTH(OP, N, FLAGS, U)  H(OP, F16, N, FLAGS, U), H2(OP, F16X2, N, FLAGS, U)
#define ARITH_ROWS(OP, N)                                                                                   \
	ROW(OP, F16, "h:hh", N##_f16), ROW(OP, F16X2, "w:ww", N##_f16x2), BOTH(OP, N, PTX_F_FTZ, HALF_FTZ), \
		BOTH(OP, N, PTX_F_SAT, HALF_SAT), BOTH(OP, N, PTX_F_FTZ | PTX_F_SAT, HALF_FTZ | HALF_SAT),  \
		H(OP, BF16, N, 0, HALF_BF16), H2(OP, BF16X2, N, 0, HALF_BF16)
#define F3(T, SIG, FN, FLAGS, U) ROW(FMA, T, SIG, FN, NEED(FLAGS), .u = (U))
#define FMA_BOTH(FLAGS, U)       F3(F16, "h:hhh", fma_half, FLAGS, U), F3(F16X2, "w:www", fma_pair, FLAGS, U)
#define FMA_BOTH_BF(FLAGS, U)                                \
	F3(BF16, "h:hhh", fma_half, FLAGS, (U) | HALF_BF16), \
		F3(BF16X2, "w:www", fma_pair, FLAGS, (U) | HALF_BF16)
#define MINMAX_FLAGS(OP, N, T1, T2, FLAGS, U)                                                               \
	H(OP, T1, N, FLAGS, U), H2(OP, T2, N, FLAGS, U), H(OP, T1, N, (FLAGS) | PTX_F_NAN, (U) | HALF_NAN), \
		H2(OP, T2, N, (FLAGS) | PTX_F_NAN, (U) | HALF_NAN),                                         \
		H(OP, T1, N, (FLAGS) | PTX_F_XORSIGN_ABS, (U) | HALF_XORSIGN),                              \
		H2(OP, T2, N, (FLAGS) | PTX_F_XORSIGN_ABS, (U) | HALF_XORSIGN),                             \
		H(OP, T1, N, (FLAGS) | PTX_F_NAN | PTX_F_XORSIGN_ABS, (U) | HALF_NAN | HALF_XORSIGN),       \
		H2(OP, T2, N, (FLAGS) | PTX_F_NAN | PTX_F_XORSIGN_ABS, (U) | HALF_NAN | HALF_XORSIGN)
#define MINMAX_ROWS(OP, N)                                                                           \
	MINMAX_FLAGS(OP, N, F16, F16X2, 0, 0), MINMAX_FLAGS(OP, N, F16, F16X2, PTX_F_FTZ, HALF_FTZ), \
		MINMAX_FLAGS(OP, N, BF16, BF16X2, 0, HALF_BF16)
#define SIGN_ROWS(OP, N)                                                                                \
	ROW(OP, F16, "h:h", N##_half), ROW(OP, F16X2, "w:w", N##_pair), ROW(OP, BF16, "h:h", N##_half), \
		ROW(OP, BF16X2, "w:w", N##_pair),                                                       \
		ROW(OP, F16, "h:h", N##_half, NEED(PTX_F_FTZ), .u = HALF_FTZ),                          \
		ROW(OP, F16X2, "w:w", N##_pair, NEED(PTX_F_FTZ), .u = HALF_FTZ)

static const struct exec_row rows[] = {
	ARITH_ROWS(ADD, add),
	ARITH_ROWS(SUB, sub),
	ARITH_ROWS(MUL, mul),
	FMA_BOTH(0, 0),
	FMA_BOTH(PTX_F_FTZ, HALF_FTZ),
	FMA_BOTH(PTX_F_SAT, HALF_SAT),
	FMA_BOTH(PTX_F_FTZ | PTX_F_SAT, HALF_FTZ | HALF_SAT),
	FMA_BOTH(PTX_F_RELU, HALF_RELU),
	FMA_BOTH(PTX_F_FTZ | PTX_F_RELU, HALF_FTZ | HALF_RELU),
	FMA_BOTH_BF(0, 0),
	FMA_BOTH_BF(PTX_F_RELU, HALF_RELU),
	FMA_BOTH(PTX_F_OOB, HALF_OOB),
	FMA_BOTH(PTX_F_OOB | PTX_F_RELU, HALF_OOB | HALF_RELU),
	FMA_BOTH_BF(PTX_F_OOB, HALF_OOB),
	FMA_BOTH_BF(PTX_F_OOB | PTX_F_RELU, HALF_OOB | HALF_RELU),
	MINMAX_ROWS(MIN, min),
	MINMAX_ROWS(MAX, max),
	SIGN_ROWS(ABS, abs),
	SIGN_ROWS(NEG, neg),
};

const struct exec_family EXEC_FAMILY(exec_half) = {rows, sizeof(rows) / sizeof(rows[0])};
