/* SPDX-License-Identifier: Apache-2.0
 *
 * Integer arithmetic, PTX ISA 9.7.1 and 9.7.2 (extended precision).
 */
#include "zluda_core/device_interp/lane.h"

typedef unsigned __int128 u128;
typedef __int128 s128;

/* add, sub, mul.lo, mad.lo, neg wrap: one handler per width, computed unsigned. */
#define WRAP_OPS(W, T)                                   \
	DEF2(add_##W, T, T, T, x + y)                    \
	DEF2(sub_##W, T, T, T, x - y)                    \
	DEF2(mul_lo_##W, T, T, T, (uint64_t)x *y)        \
	DEF3(mad_lo_##W, T, T, T, T, (uint64_t)x *y + z) \
	DEF1(neg_##W, T, T, 0u - x)
WRAP_OPS(16, uint16_t)
WRAP_OPS(32, uint32_t)
WRAP_OPS(64, uint64_t)

/* Operations that depend on the sign. T the type, D twice as wide, U the unsigned type. */
static inline uint64_t div_u(uint64_t x, uint64_t y)
{
	return y ? x / y
		 : ~0ull; /* division by zero is unspecified by the ISA; NVIDIA's code gives all ones */
}

static inline uint64_t rem_u(uint64_t x, uint64_t y)
{
	return y ? x % y : ~0ull;
}

static inline int64_t div_s(int64_t x, int64_t y)
{
	if (y == 0)
		return -1;
	return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static inline int64_t rem_s(int64_t x, int64_t y)
{
	if (y == 0)
		return -1;
	return y == -1 ? 0 : x % y;
}

#define SIGN_OPS(N, T, U, D, BITS, DIV, REM)                               \
	DEF2(mul_hi_##N, T, T, T, (D)((D)x * (D)y) >> BITS)                \
	DEF3(mad_hi_##N, T, T, T, T, (U)((D)((D)x * (D)y) >> BITS) + (U)z) \
	DEF2(div_##N, T, T, T, DIV(x, y))                                  \
	DEF2(rem_##N, T, T, T, REM(x, y))                                  \
	DEF2(min_##N, T, T, T, x < y ? x : y)                              \
	DEF2(max_##N, T, T, T, x > y ? x : y)                              \
	DEF3(sad_##N, T, T, T, T, (U)z + (x < y ? (U)y - (U)x : (U)x - (U)y))
SIGN_OPS(u16, uint16_t, uint16_t, uint32_t, 16, div_u, rem_u)
SIGN_OPS(s16, int16_t, uint16_t, int32_t, 16, div_s, rem_s)
SIGN_OPS(u32, uint32_t, uint32_t, uint64_t, 32, div_u, rem_u)
SIGN_OPS(s32, int32_t, uint32_t, int64_t, 32, div_s, rem_s)
SIGN_OPS(u64, uint64_t, uint64_t, u128, 64, div_u, rem_u)
SIGN_OPS(s64, int64_t, uint64_t, s128, 64, div_s, rem_s)

#define WIDE_OPS(N, T, D, U)                    \
	DEF2(mul_wide_##N, D, T, T, (D)x *(D)y) \
	DEF3(mad_wide_##N, D, T, T, D, (U)((D)x * (D)y) + (U)z)
WIDE_OPS(u16, uint16_t, uint32_t, uint32_t)
WIDE_OPS(s16, int16_t, int32_t, uint32_t)
WIDE_OPS(u32, uint32_t, uint64_t, uint64_t)
WIDE_OPS(s32, int32_t, int64_t, uint64_t)

DEF1(abs_s16, uint16_t, int16_t, x < 0 ? 0u - (uint16_t)x : (uint16_t)x)
DEF1(abs_s32, uint32_t, int32_t, x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
DEF1(abs_s64, uint64_t, int64_t, x < 0 ? 0u - (uint64_t)x : (uint64_t)x)

static inline int32_t sat_s32(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}
DEF2(add_sat_s32, int32_t, int32_t, int32_t, sat_s32((int64_t)x + y))
DEF2(sub_sat_s32, int32_t, int32_t, int32_t, sat_s32((int64_t)x - y))
DEF3(mad_hi_sat_s32, int32_t, int32_t, int32_t, int32_t, sat_s32((((int64_t)x * y) >> 32) + z))
DEF2(min_relu_s32, int32_t, int32_t, int32_t, (x < y ? x : y) < 0 ? 0 : (x < y ? x : y))
DEF2(max_relu_s32, int32_t, int32_t, int32_t, (x > y ? x : y) < 0 ? 0 : (x > y ? x : y))

/* 24-bit products: the 48-bit product's low 32 bits, or bits 47..16. */
static inline int64_t product24_s(int32_t x, int32_t y)
{
	return ((int64_t)(int32_t)((uint32_t)x << 8) >> 8) * ((int64_t)(int32_t)((uint32_t)y << 8) >> 8);
}

static inline uint64_t product24_u(uint32_t x, uint32_t y)
{
	return (uint64_t)(x & 0xffffff) * (y & 0xffffff);
}
DEF2(mul24_lo_u32, uint32_t, uint32_t, uint32_t, product24_u(x, y))
DEF2(mul24_hi_u32, uint32_t, uint32_t, uint32_t, product24_u(x, y) >> 16)
DEF2(mul24_lo_s32, int32_t, int32_t, int32_t, product24_s(x, y))
DEF2(mul24_hi_s32, int32_t, int32_t, int32_t, product24_s(x, y) >> 16)
DEF3(mad24_lo_u32, uint32_t, uint32_t, uint32_t, uint32_t, product24_u(x, y) + z)
DEF3(mad24_hi_u32, uint32_t, uint32_t, uint32_t, uint32_t, (product24_u(x, y) >> 16) + z)
DEF3(mad24_lo_s32, int32_t, int32_t, int32_t, int32_t, (uint32_t)product24_s(x, y) + (uint32_t)z)
DEF3(mad24_hi_s32, int32_t, int32_t, int32_t, int32_t, (uint32_t)(product24_s(x, y) >> 16) + (uint32_t)z)
DEF3(mad24_hi_sat_s32, int32_t, int32_t, int32_t, int32_t,
     sat_s32((int32_t)(product24_s(x, y) >> 16) + (int64_t)z))

/* dp4a, dp2a: signedness of a and b is two letters. */
#define BYTE(T, v, n) ((int32_t)(T)((v) >> (8 * (n))))
#define DOT4(TA, TB)                                                                        \
	(z + (uint32_t)(BYTE(TA, x, 0) * BYTE(TB, y, 0) + BYTE(TA, x, 1) * BYTE(TB, y, 1) + \
			BYTE(TA, x, 2) * BYTE(TB, y, 2) + BYTE(TA, x, 3) * BYTE(TB, y, 3)))
#define DOT2(TA, TB, LOW)                                    \
	(z + (uint32_t)((int32_t)(TA)(x)*BYTE(TB, y, LOW)) + \
	 (uint32_t)((int32_t)(TA)(x >> 16) * BYTE(TB, y, LOW + 1)))
#define DOT_OPS(N, TA4, TA2, TB)                                                    \
	DEF3(dp4a_##N, uint32_t, uint32_t, uint32_t, uint32_t, DOT4(TA4, TB))       \
	DEF3(dp2a_lo_##N, uint32_t, uint32_t, uint32_t, uint32_t, DOT2(TA2, TB, 0)) \
	DEF3(dp2a_hi_##N, uint32_t, uint32_t, uint32_t, uint32_t, DOT2(TA2, TB, 2))
DOT_OPS(uu, uint8_t, uint16_t, uint8_t)
DOT_OPS(us, uint8_t, uint16_t, int8_t)
DOT_OPS(su, int8_t, int16_t, uint8_t)
DOT_OPS(ss, int8_t, int16_t, int8_t)

/* Two 16-bit halves in 32 bits. */
#define HALVES(T, OP) \
	((uint32_t)(uint16_t)OP((T)x, (T)y) | (uint32_t)(uint16_t)OP((T)(x >> 16), (T)(y >> 16)) << 16)
#define PAIR_ADD(x, y)      ((x) + (y))
#define PAIR_MIN(x, y)      ((x) < (y) ? (x) : (y))
#define PAIR_MAX(x, y)      ((x) > (y) ? (x) : (y))
#define PAIR_MIN_RELU(x, y) (PAIR_MIN(x, y) < 0 ? 0 : PAIR_MIN(x, y))
#define PAIR_MAX_RELU(x, y) (PAIR_MAX(x, y) < 0 ? 0 : PAIR_MAX(x, y))
DEF2(add_x2, uint32_t, uint32_t, uint32_t, HALVES(uint16_t, PAIR_ADD))
DEF2(min_u16x2, uint32_t, uint32_t, uint32_t, HALVES(uint16_t, PAIR_MIN))
DEF2(max_u16x2, uint32_t, uint32_t, uint32_t, HALVES(uint16_t, PAIR_MAX))
DEF2(min_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, PAIR_MIN))
DEF2(max_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, PAIR_MAX))
DEF2(min_relu_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, PAIR_MIN_RELU))
DEF2(max_relu_s16x2, uint32_t, uint32_t, uint32_t, HALVES(int16_t, PAIR_MAX_RELU))

/* Carry chains. One handler: u says what is computed. Sources a, b[, c]; carry in and out are predicates. */
enum { CARRY_SUB = 1, CARRY_MUL_LO = 2, CARRY_MUL_HI = 4, CARRY_IN = 8, CARRY_OUT = 16, CARRY_SIGNED = 32 };

#define PRODUCT_HI(S, T, D, SD, BITS, x, y) \
	((S) ? (T)((SD)((SD)(x) * (SD)(y)) >> (BITS)) : (T)((D)(x) * (D)(y) >> (BITS)))

#define CARRY_OPS(W, T, D, TS, SD)                                                                       \
	static inline T carry_addend_##W(uint32_t u, T x, T y)                                           \
	{                                                                                                \
		if (u & CARRY_MUL_LO)                                                                    \
			return x * y;                                                                    \
		return PRODUCT_HI(u & CARRY_SIGNED, T, D, SD, W, u & CARRY_SIGNED ? (D)(SD)(TS)x : (D)x, \
				  u & CARRY_SIGNED ? (D)(SD)(TS)y : (D)y);                               \
	}                                                                                                \
	static const struct xinst *carry_##W(struct warp *w, const struct xinst *i)                      \
	{                                                                                                \
		const uint32_t u = i->u, nd = u & CARRY_OUT ? 2 : 1;                                     \
		const bool mul = u & (CARRY_MUL_LO | CARRY_MUL_HI);                                      \
		T *d = cell(w, i->o[0]);                                                                 \
		const T *a = cell(w, i->o[nd]), *b = cell(w, i->o[nd + 1]);                              \
		const T *c = mul ? cell(w, i->o[nd + 2]) : NULL;                                         \
		const uint32_t in = u & CARRY_IN ? pred_load(w, i->o[nd + (mul ? 3 : 2)]) : 0;           \
		uint32_t out = 0;                                                                        \
                                                                                                         \
		FOR_LANES(l, w->exec)                                                                    \
		{                                                                                        \
			T x = mul ? carry_addend_##W(u, a[l], b[l]) : a[l], y = mul ? c[l] : b[l];       \
			D sum = u & CARRY_SUB ? (D)x - y - LANE_ON(in, l) : (D)x + y + LANE_ON(in, l);   \
                                                                                                         \
			d[l] = (T)sum;                                                                   \
			out |= (uint32_t)(sum >> W & 1) << l;                                            \
		}                                                                                        \
		if (u & CARRY_OUT)                                                                       \
			pred_store(w, i->o[1], out);                                                     \
		return i + 1;                                                                            \
	}
CARRY_OPS(32, uint32_t, uint64_t, int32_t, int64_t)
CARRY_OPS(64, uint64_t, u128, int64_t, s128)

#define CARRY_ROWS(T, W, C, S)                                                                           \
	ROW(ADD, T, C "p:" C C, carry_##W, NEED(PTX_F_CC), .u = CARRY_OUT),                              \
		ROW(SUB, T, C "p:" C C, carry_##W, NEED(PTX_F_CC), .u = CARRY_OUT | CARRY_SUB),          \
		ROW(ADDC, T, C "p:" C C "p", carry_##W, NEED(PTX_F_CC | PTX_F_CARRY_IN),                 \
		    .u = CARRY_OUT | CARRY_IN),                                                          \
		ROW(ADDC, T, C ":" C C "p", carry_##W, NEED(PTX_F_CARRY_IN), .u = CARRY_IN),             \
		ROW(SUBC, T, C "p:" C C "p", carry_##W, NEED(PTX_F_CC | PTX_F_CARRY_IN),                 \
		    .u = CARRY_OUT | CARRY_IN | CARRY_SUB),                                              \
		ROW(SUBC, T, C ":" C C "p", carry_##W, NEED(PTX_F_CARRY_IN), .u = CARRY_IN | CARRY_SUB), \
		ROW(MAD, T, C "p:" C C C, carry_##W, NEED(PTX_F_CC | PTX_F_LO),                          \
		    .u = CARRY_OUT | CARRY_MUL_LO | (S)),                                                \
		ROW(MAD, T, C "p:" C C C, carry_##W, NEED(PTX_F_CC | PTX_F_HI),                          \
		    .u = CARRY_OUT | CARRY_MUL_HI | (S)),                                                \
		ROW(MADC, T, C "p:" C C C "p", carry_##W, NEED(PTX_F_CC | PTX_F_CARRY_IN | PTX_F_LO),    \
		    .u = CARRY_OUT | CARRY_IN | CARRY_MUL_LO | (S)),                                     \
		ROW(MADC, T, C "p:" C C C "p", carry_##W, NEED(PTX_F_CC | PTX_F_CARRY_IN | PTX_F_HI),    \
		    .u = CARRY_OUT | CARRY_IN | CARRY_MUL_HI | (S)),                                     \
		ROW(MADC, T, C ":" C C C "p", carry_##W, NEED(PTX_F_CARRY_IN | PTX_F_LO),                \
		    .u = CARRY_IN | CARRY_MUL_LO | (S)),                                                 \
		ROW(MADC, T, C ":" C C C "p", carry_##W, NEED(PTX_F_CARRY_IN | PTX_F_HI),                \
		    .u = CARRY_IN | CARRY_MUL_HI | (S))

#define INT_ROWS(T, N, W, C)                                                                           \
	ROW(ADD, T, C ":" C C, add_##W), ROW(SUB, T, C ":" C C, sub_##W),                              \
		ROW(MUL, T, C ":" C C, mul_lo_##W, NEED(PTX_F_LO)),                                    \
		ROW(MUL, T, C ":" C C, mul_hi_##N, NEED(PTX_F_HI)),                                    \
		ROW(MAD, T, C ":" C C C, mad_lo_##W, NEED(PTX_F_LO)),                                  \
		ROW(MAD, T, C ":" C C C, mad_hi_##N, NEED(PTX_F_HI)), ROW(DIV, T, C ":" C C, div_##N), \
		ROW(REM, T, C ":" C C, rem_##N), ROW(MIN, T, C ":" C C, min_##N),                      \
		ROW(MAX, T, C ":" C C, max_##N), ROW(SAD, T, C ":" C C C, sad_##N)

#define WIDE_ROWS(T, N, C, D)                                   \
	ROW(MUL, T, D ":" C C, mul_wide_##N, NEED(PTX_F_WIDE)), \
		ROW(MAD, T, D ":" C C D, mad_wide_##N, NEED(PTX_F_WIDE))

#define DOT_ROWS(A, B, N)                                                                             \
	ROW(DP4A, A, "w:www", dp4a_##N, .match = MATCH_TYPE | MATCH_TYPE2, .type2 = PTX_##B),         \
		ROW(DP2A, A, "w:www", dp2a_lo_##N, NEED(PTX_F_LO), .match = MATCH_TYPE | MATCH_TYPE2, \
		    .type2 = PTX_##B),                                                                \
		ROW(DP2A, A, "w:www", dp2a_hi_##N, NEED(PTX_F_HI), .match = MATCH_TYPE | MATCH_TYPE2, \
		    .type2 = PTX_##B)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct exec_row rows[] = {
	INT_ROWS(U16, u16, 16, "h"),
	INT_ROWS(S16, s16, 16, "h"),
	INT_ROWS(U32, u32, 32, "w"),
	INT_ROWS(S32, s32, 32, "w"),
	INT_ROWS(U64, u64, 64, "d"),
	INT_ROWS(S64, s64, 64, "d"),
	WIDE_ROWS(U16, u16, "h", "w"),
	WIDE_ROWS(S16, s16, "h", "w"),
	WIDE_ROWS(U32, u32, "w", "d"),
	WIDE_ROWS(S32, s32, "w", "d"),
	CARRY_ROWS(U32, 32, "w", 0),
	CARRY_ROWS(S32, 32, "w", CARRY_SIGNED),
	CARRY_ROWS(B32, 32, "w", 0),
	CARRY_ROWS(U64, 64, "d", 0),
	CARRY_ROWS(S64, 64, "d", CARRY_SIGNED),
	CARRY_ROWS(B64, 64, "d", 0),
	ROW(ADD, S32, "w:ww", add_sat_s32, NEED(PTX_F_SAT)),
	ROW(SUB, S32, "w:ww", sub_sat_s32, NEED(PTX_F_SAT)),
	ROW(MAD, S32, "w:www", mad_hi_sat_s32, NEED(PTX_F_SAT | PTX_F_HI)),
	ROW(MIN, S32, "w:ww", min_relu_s32, NEED(PTX_F_RELU)),
	ROW(MAX, S32, "w:ww", max_relu_s32, NEED(PTX_F_RELU)),
	ROW(ABS, S16, "h:h", abs_s16),
	ROW(ABS, S32, "w:w", abs_s32),
	ROW(ABS, S64, "d:d", abs_s64),
	ROW(NEG, S16, "h:h", neg_16),
	ROW(NEG, S32, "w:w", neg_32),
	ROW(NEG, S64, "d:d", neg_64),
	ROW(MUL24, U32, "w:ww", mul24_lo_u32, NEED(PTX_F_LO)),
	ROW(MUL24, U32, "w:ww", mul24_hi_u32, NEED(PTX_F_HI)),
	ROW(MUL24, S32, "w:ww", mul24_lo_s32, NEED(PTX_F_LO)),
	ROW(MUL24, S32, "w:ww", mul24_hi_s32, NEED(PTX_F_HI)),
	ROW(MAD24, U32, "w:www", mad24_lo_u32, NEED(PTX_F_LO)),
	ROW(MAD24, U32, "w:www", mad24_hi_u32, NEED(PTX_F_HI)),
	ROW(MAD24, S32, "w:www", mad24_lo_s32, NEED(PTX_F_LO)),
	ROW(MAD24, S32, "w:www", mad24_hi_s32, NEED(PTX_F_HI)),
	ROW(MAD24, S32, "w:www", mad24_hi_sat_s32, NEED(PTX_F_HI | PTX_F_SAT)),
	DOT_ROWS(U32, U32, uu),
	DOT_ROWS(U32, S32, us),
	DOT_ROWS(S32, U32, su),
	DOT_ROWS(S32, S32, ss),
	ROW(ADD, U16X2, "w:ww", add_x2),
	ROW(ADD, S16X2, "w:ww", add_x2),
	ROW(MIN, U16X2, "w:ww", min_u16x2),
	ROW(MAX, U16X2, "w:ww", max_u16x2),
	ROW(MIN, S16X2, "w:ww", min_s16x2),
	ROW(MAX, S16X2, "w:ww", max_s16x2),
	ROW(MIN, S16X2, "w:ww", min_relu_s16x2, NEED(PTX_F_RELU)),
	ROW(MAX, S16X2, "w:ww", max_relu_s16x2, NEED(PTX_F_RELU)),
};
#pragma GCC diagnostic pop

const struct exec_family EXEC_FAMILY(exec_int) = {rows, sizeof(rows) / sizeof(rows[0])};
