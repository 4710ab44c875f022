/* SPDX-License-Identifier: Apache-2.0
 *
 * f32 and f64 arithmetic, PTX ISA 9.7.3. Compiled with -frounding-math and
 * -ffp-contract=off; directed rounding is set around a handler by exec_round.
 *
 * f32: subnormals are kept unless .ftz; every NaN result is 0x7fffffff. .sat
 * clamps to [0,1] and turns NaN into +0.
 */
#include <math.h>

#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"

#define KEEP(x) (x)

static inline float out_f32(float r)
{
	return r != r ? f32_from(0x7fffffff) : r;
}

static inline float out_f32z(float r)
{
	return out_f32(flush32(r));
}

static inline float out_f32s(float r)
{
	return r > 0 ? (r < 1 ? r : 1) : 0;
}

static inline float out_f32zs(float r)
{
	return out_f32s(flush32(r));
}

/* N suffix, T type, IN and OUT what happens to operands and result. */
#define ARITH(N, T, IN, OUT, FMA, SQRT)            \
	DEF2(add_##N, T, T, T, OUT(IN(x) + IN(y))) \
	DEF2(sub_##N, T, T, T, OUT(IN(x) - IN(y))) \
	DEF2(mul_##N, T, T, T, OUT(IN(x) * IN(y))) \
	DEF3(fma_##N, T, T, T, T, OUT(FMA(IN(x), IN(y), IN(z))))
#define ARITH2(N, T, IN, OUT, SQRT)                \
	DEF2(div_##N, T, T, T, OUT(IN(x) / IN(y))) \
	DEF1(rcp_##N, T, T, OUT(1 / IN(x)))        \
	DEF1(sqrt_##N, T, T, OUT(SQRT(IN(x))))
ARITH(f32, float, KEEP, out_f32, __builtin_fmaf, )
ARITH(f32z, float, flush32, out_f32z, __builtin_fmaf, )
ARITH(f32s, float, KEEP, out_f32s, __builtin_fmaf, )
ARITH(f32zs, float, flush32, out_f32zs, __builtin_fmaf, )
ARITH(f64, double, KEEP, KEEP, __builtin_fma, )
ARITH2(f32, float, KEEP, out_f32, sqrtf)
ARITH2(f32z, float, flush32, out_f32z, sqrtf)
ARITH2(f64, double, KEEP, KEEP, sqrt)

/* sm_100: sum and fma of f16 or bf16 sources in f32. */
#define MIXED(N, LOAD, OUTN, OUT)                                     \
	DEF2(add_##N##OUTN, float, uint16_t, float, OUT(LOAD(x) + y)) \
	DEF2(sub_##N##OUTN, float, uint16_t, float, OUT(LOAD(x) - y)) \
	DEF3(fma_##N##OUTN, float, uint16_t, uint16_t, float, OUT(__builtin_fmaf(LOAD(x), LOAD(y), z)))
MIXED(mix16, f16_to_f32, , out_f32)
MIXED(mix16, f16_to_f32, s, out_f32s)
MIXED(mixb16, bf16_to_f32, , out_f32)
MIXED(mixb16, bf16_to_f32, s, out_f32s)

/* min, max: a NaN loses unless .NaN; -0 < +0. .xorsign.abs: of magnitudes, with the product's sign. */
static inline bool less_f32(float x, float y)
{
	return x < y || (x == y && (f32_bits(x) >> 31) > (f32_bits(y) >> 31));
}

static inline bool less_f64(double x, double y)
{
	return x < y || (x == y && (f64_bits(x) >> 63) > (f64_bits(y) >> 63));
}

static inline float min_f32(float x, float y)
{
	return x != x ? y : y != y ? x : less_f32(y, x) ? y : x;
}

static inline float max_f32(float x, float y)
{
	return x != x ? y : y != y ? x : less_f32(x, y) ? y : x;
}

static inline float min_nan_f32(float x, float y)
{
	return x != x || y != y ? NAN : less_f32(y, x) ? y : x;
}

static inline float max_nan_f32(float x, float y)
{
	return x != x || y != y ? NAN : less_f32(x, y) ? y : x;
}

static inline float xorsign(float r, float x, float y)
{
	return r != r ? r : f32_from((f32_bits(r) & 0x7fffffff) | ((f32_bits(x) ^ f32_bits(y)) & 0x80000000));
}
static inline float flush_abs(float x)
{
	return fabsf(flush32(x));
}

/* Of three: the first two, then the third (9.7.3.11). */
#define MINMAX3(OP, N, IN, TWO, OUT) \
	DEF3(OP##3_f32_##N, float, float, float, float, OUT(TWO(TWO(IN(x), IN(y)), IN(z))))
#define MINMAX(OP)                                                                                       \
	DEF2(OP##_f32_k, float, float, float, out_f32(OP##_f32(x, y)))                                   \
	DEF2(OP##_f32_z, float, float, float, out_f32z(OP##_f32(flush32(x), flush32(y))))                \
	DEF2(OP##_f32_n, float, float, float, out_f32(OP##_nan_f32(x, y)))                               \
	DEF2(OP##_f32_zn, float, float, float, out_f32z(OP##_nan_f32(flush32(x), flush32(y))))           \
	DEF2(OP##_f32_x, float, float, float, out_f32(xorsign(OP##_f32(fabsf(x), fabsf(y)), x, y)))      \
	DEF2(OP##_f32_zx, float, float, float,                                                           \
	     out_f32(xorsign(OP##_f32(fabsf(flush32(x)), fabsf(flush32(y))), x, y)))                     \
	DEF2(OP##_f32_nx, float, float, float, out_f32(xorsign(OP##_nan_f32(fabsf(x), fabsf(y)), x, y))) \
	DEF2(OP##_f32_znx, float, float, float,                                                          \
	     out_f32(xorsign(OP##_nan_f32(fabsf(flush32(x)), fabsf(flush32(y))), x, y)))                 \
	MINMAX3(OP, k, KEEP, OP##_f32, out_f32)                                                          \
	MINMAX3(OP, z, flush32, OP##_f32, out_f32z)                                                      \
	MINMAX3(OP, n, KEEP, OP##_nan_f32, out_f32)                                                      \
	MINMAX3(OP, zn, flush32, OP##_nan_f32, out_f32z)                                                 \
	MINMAX3(OP, a, fabsf, OP##_f32, out_f32)                                                         \
	MINMAX3(OP, za, flush_abs, OP##_f32, out_f32z)                                                   \
	MINMAX3(OP, na, fabsf, OP##_nan_f32, out_f32)                                                    \
	MINMAX3(OP, zna, flush_abs, OP##_nan_f32, out_f32z)
MINMAX(min)
MINMAX(max)
DEF2(min_f64, double, double, double, x != x ? y : y != y ? x : less_f64(y, x) ? y : x)
DEF2(max_f64, double, double, double, x != x ? y : y != y ? x : less_f64(x, y) ? y : x)

DEF1(abs_f32, uint32_t, uint32_t, x & 0x7fffffff)
DEF1(neg_f32, uint32_t, uint32_t, x ^ 0x80000000)
DEF1(abs_f32z, float, float, fabsf(flush32(x)))
DEF1(neg_f32z, float, float, -flush32(x))
DEF1(abs_f64, uint64_t, uint64_t, x & ~(1ull << 63))
DEF1(neg_f64, uint64_t, uint64_t, x ^ (1ull << 63))
DEF2(copysign_f32, uint32_t, uint32_t, uint32_t, (y & 0x7fffffff) | (x & 0x80000000))
DEF2(copysign_f64, uint64_t, uint64_t, uint64_t, (y & ~(1ull << 63)) | (x & (1ull << 63)))

/* f32x2 (sm_100): two f32 in 64 bits. */
static inline uint64_t pair(float lo, float hi)
{
	return f32_bits(lo) | (uint64_t)f32_bits(hi) << 32;
}
#define LOW(v)  f32_from((uint32_t)(v))
#define HIGH(v) f32_from((uint32_t)((v) >> 32))
#define PAIR_OPS(N, IN, OUT)                                                     \
	DEF2(add_f32x2##N, uint64_t, uint64_t, uint64_t,                         \
	     pair(OUT(IN(LOW(x)) + IN(LOW(y))), OUT(IN(HIGH(x)) + IN(HIGH(y))))) \
	DEF2(sub_f32x2##N, uint64_t, uint64_t, uint64_t,                         \
	     pair(OUT(IN(LOW(x)) - IN(LOW(y))), OUT(IN(HIGH(x)) - IN(HIGH(y))))) \
	DEF2(mul_f32x2##N, uint64_t, uint64_t, uint64_t,                         \
	     pair(OUT(IN(LOW(x)) * IN(LOW(y))), OUT(IN(HIGH(x)) * IN(HIGH(y))))) \
	DEF3(fma_f32x2##N, uint64_t, uint64_t, uint64_t, uint64_t,               \
	     pair(OUT(__builtin_fmaf(IN(LOW(x)), IN(LOW(y)), IN(LOW(z)))),       \
		  OUT(__builtin_fmaf(IN(HIGH(x)), IN(HIGH(y)), IN(HIGH(z))))))
PAIR_OPS(, KEEP, out_f32)
PAIR_OPS(z, flush32, out_f32z)

#define R                            .rounds = true
#define ARITH_ROW(OP, T, SIG, FN, F) ROW(OP, T, SIG, FN, R, F)
#define F32_ROWS(N, F)                                                                             \
	ARITH_ROW(ADD, F32, "w:ww", add_##N, F), ARITH_ROW(SUB, F32, "w:ww", sub_##N, F),          \
		ARITH_ROW(MUL, F32, "w:ww", mul_##N, F), ARITH_ROW(FMA, F32, "w:www", fma_##N, F), \
		ARITH_ROW(MAD, F32, "w:www", fma_##N, F)
#define MINMAX_ROWS(OP, N)                                                                             \
	ROW(OP, F32, "w:ww", N##_f32_k), ROW(OP, F32, "w:ww", N##_f32_z, NEED(PTX_F_FTZ)),             \
		ROW(OP, F32, "w:ww", N##_f32_n, NEED(PTX_F_NAN)),                                      \
		ROW(OP, F32, "w:ww", N##_f32_zn, NEED(PTX_F_FTZ | PTX_F_NAN)),                         \
		ROW(OP, F32, "w:ww", N##_f32_x, NEED(PTX_F_XORSIGN_ABS)),                              \
		ROW(OP, F32, "w:ww", N##_f32_zx, NEED(PTX_F_XORSIGN_ABS | PTX_F_FTZ)),                 \
		ROW(OP, F32, "w:ww", N##_f32_nx, NEED(PTX_F_XORSIGN_ABS | PTX_F_NAN)),                 \
		ROW(OP, F32, "w:ww", N##_f32_znx, NEED(PTX_F_XORSIGN_ABS | PTX_F_NAN | PTX_F_FTZ)),    \
		ROW(OP, F32, "w:www", N##3_f32_k), ROW(OP, F32, "w:www", N##3_f32_z, NEED(PTX_F_FTZ)), \
		ROW(OP, F32, "w:www", N##3_f32_n, NEED(PTX_F_NAN)),                                    \
		ROW(OP, F32, "w:www", N##3_f32_zn, NEED(PTX_F_FTZ | PTX_F_NAN)),                       \
		ROW(OP, F32, "w:www", N##3_f32_a, NEED(PTX_F_ABS)),                                    \
		ROW(OP, F32, "w:www", N##3_f32_za, NEED(PTX_F_FTZ | PTX_F_ABS)),                       \
		ROW(OP, F32, "w:www", N##3_f32_na, NEED(PTX_F_NAN | PTX_F_ABS)),                       \
		ROW(OP, F32, "w:www", N##3_f32_zna, NEED(PTX_F_FTZ | PTX_F_NAN | PTX_F_ABS)),          \
		ROW(OP, F64, "d:dd", N##_f64)

#define MIXED_ROW(OP, SIG, FN, T2, F) \
	ROW(OP, F32, SIG, FN, .match = MATCH_TYPE | MATCH_TYPE2, .type2 = PTX_##T2, R, F)
#define MIXED_ROWS(N, T2, F)                                                            \
	MIXED_ROW(ADD, "w:hw", add_##N, T2, F), MIXED_ROW(SUB, "w:hw", sub_##N, T2, F), \
		MIXED_ROW(FMA, "w:hhw", fma_##N, T2, F)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct exec_row rows[] = {
	MIXED_ROWS(mix16, F16, OK(0)),
	MIXED_ROWS(mix16s, F16, NEED(PTX_F_SAT)),
	MIXED_ROWS(mixb16, BF16, OK(0)),
	MIXED_ROWS(mixb16s, BF16, NEED(PTX_F_SAT)),
	F32_ROWS(f32, OK(0)),
	F32_ROWS(f32z, NEED(PTX_F_FTZ)),
	F32_ROWS(f32s, NEED(PTX_F_SAT)),
	F32_ROWS(f32zs, NEED(PTX_F_FTZ | PTX_F_SAT)),
	ROW(ADD, F64, "d:dd", add_f64, R),
	ROW(SUB, F64, "d:dd", sub_f64, R),
	ROW(MUL, F64, "d:dd", mul_f64, R),
	ROW(FMA, F64, "d:ddd", fma_f64, R),
	ROW(MAD, F64, "d:ddd", fma_f64, R),
	ROW(DIV, F32, "w:ww", div_f32, R),
	ROW(DIV, F32, "w:ww", div_f32z, R, NEED(PTX_F_FTZ)),
	ROW(DIV, F64, "d:dd", div_f64, R),
	ROW(RCP, F32, "w:w", rcp_f32, R),
	ROW(RCP, F32, "w:w", rcp_f32z, R, NEED(PTX_F_FTZ)),
	ROW(RCP, F64, "d:d", rcp_f64, R),
	ROW(SQRT, F32, "w:w", sqrt_f32, R),
	ROW(SQRT, F32, "w:w", sqrt_f32z, R, NEED(PTX_F_FTZ)),
	ROW(SQRT, F64, "d:d", sqrt_f64, R),
	MINMAX_ROWS(MIN, min),
	MINMAX_ROWS(MAX, max),
	ROW(ABS, F32, "w:w", abs_f32),
	ROW(ABS, F32, "w:w", abs_f32z, NEED(PTX_F_FTZ)),
	ROW(ABS, F64, "d:d", abs_f64),
	ROW(NEG, F32, "w:w", neg_f32),
	ROW(NEG, F32, "w:w", neg_f32z, NEED(PTX_F_FTZ)),
	ROW(NEG, F64, "d:d", neg_f64),
	ROW(COPYSIGN, F32, "w:ww", copysign_f32),
	ROW(COPYSIGN, F64, "d:dd", copysign_f64),
	ROW(ADD, F32X2, "d:dd", add_f32x2, R),
	ROW(ADD, F32X2, "d:dd", add_f32x2z, R, NEED(PTX_F_FTZ)),
	ROW(SUB, F32X2, "d:dd", sub_f32x2, R),
	ROW(SUB, F32X2, "d:dd", sub_f32x2z, R, NEED(PTX_F_FTZ)),
	ROW(MUL, F32X2, "d:dd", mul_f32x2, R),
	ROW(MUL, F32X2, "d:dd", mul_f32x2z, R, NEED(PTX_F_FTZ)),
	ROW(FMA, F32X2, "d:ddd", fma_f32x2, R),
	ROW(FMA, F32X2, "d:ddd", fma_f32x2z, R, NEED(PTX_F_FTZ)),
};
#pragma GCC diagnostic pop

const struct exec_family EXEC_FAMILY(exec_float) = {rows, sizeof(rows) / sizeof(rows[0])};
