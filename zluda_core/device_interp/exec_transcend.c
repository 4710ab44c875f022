/* SPDX-License-Identifier: Apache-2.0
 *
 * The approximate functions of PTX ISA 9.7.3 (and f16 kinds of 9.7.4). The ISA
 * gives error bounds only; here they are computed in double precision and
 * rounded once, so a result is within half an ulp (and libm's error) of the
 * true value: inside every bound, or spread over it by option "approx". Double-precision rcp and rsqrt .approx.ftz
 * look at, and give, the upper 32 bits only.
 */
#include <math.h>

#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/lane.h"
#include "zluda_core/device_interp/spread.h"

#define KEEP(x) (x)

static inline float canonical(float f)
{
	return f != f ? f32_from(0x7fffffff) : f;
}

static inline double value(const struct warp *w, double exact, const struct spread *s)
{
	return spreads(w) ? spread(w, exact, s) : exact;
}

static inline float out(double r)
{
	return canonical((float)r);
}

/* Bounds of docs/precision.md, less half an ulp that rounding takes. */
#define F32_FUNCTION(N, EXPR, ...)                                                 \
	static double fn_##N(double v)                                             \
	{                                                                          \
		return EXPR;                                                       \
	}                                                                          \
	static const struct spread spread_##N = {__VA_ARGS__};                     \
	static const struct xinst *N##_f32(struct warp *w, const struct xinst *i)  \
	{                                                                          \
		float *d = cell(w, i->o[0]);                                       \
		const float *a = cell(w, i->o[1]);                                 \
                                                                                   \
		FOR_LANES(l, w->exec)                                              \
		d[l] = out(value(w, fn_##N(a[l]), &spread_##N));                   \
		return i + 1;                                                      \
	}                                                                          \
	static const struct xinst *N##_f32z(struct warp *w, const struct xinst *i) \
	{                                                                          \
		float *d = cell(w, i->o[0]);                                       \
		const float *a = cell(w, i->o[1]);                                 \
                                                                                   \
		FOR_LANES(l, w->exec)                                              \
		d[l] = flush32(out(value(w, fn_##N(flush32(a[l])), &spread_##N))); \
		return i + 1;                                                      \
	}

#define FUNCTION(N, EXPR, ...)                                                      \
	F32_FUNCTION(N, EXPR, __VA_ARGS__)                                          \
	static const struct xinst *N##_small(struct warp *w, const struct xinst *i) \
	{                                                                           \
		return small_function(w, i, fn_##N);                                \
	}

/* f16, bf16 and their pairs: u bit 0 bf16, bit 1 pair, bit 2 ftz. */
static uint32_t small_one(double (*fn)(double), uint16_t v, uint32_t u)
{
	if (u & 4)
		v = u & 1 ? (v & 0x7f80 ? v : v & 0x8000) : f16_flush(v);
	double x = u & 1 ? (double)bf16_to_f32(v) : (double)f16_to_f32(v);
	uint16_t r = (uint16_t)float_round(u & 1 ? FMT_BF16 : FMT_F16, fn(x), PTX_RN, false);

	if (u & 4)
		r = u & 1 ? (r & 0x7f80 ? r : r & 0x8000) : f16_flush(r);
	return r;
}

static const struct xinst *small_function(struct warp *w, const struct xinst *i, double (*fn)(double))
{
	if (i->u & 2) {
		uint32_t *d = cell(w, i->o[0]);
		const uint32_t *a = cell(w, i->o[1]);

		FOR_LANES(l, w->exec)
		d[l] = small_one(fn, (uint16_t)a[l], i->u) | small_one(fn, (uint16_t)(a[l] >> 16), i->u)
								     << 16;
	} else {
		uint16_t *d = cell(w, i->o[0]);
		const uint16_t *a = cell(w, i->o[1]);

		FOR_LANES(l, w->exec)
		d[l] = (uint16_t)small_one(fn, a[l], i->u);
	}
	return i + 1;
}

FUNCTION(sin, sin(v), .op = 1, .absolute = 0x1p-21, .limit = 1)
FUNCTION(cos, cos(v), .op = 2, .absolute = 0x1p-21, .limit = 1)
FUNCTION(lg2, log2(v), .op = 3, .relative = 0x1p-23)
FUNCTION(ex2, exp2(v), .op = 4, .relative = 0x1p-24)
FUNCTION(tanh, tanh(v), .op = 5, .relative = 0x1.cp-12, .limit = 1)
F32_FUNCTION(rsqrt, 1 / sqrt(v), .op = 6, .relative = 0x1p-24)

/* rcp, sqrt, div: exact, but for that option. */
#define EXACT1(N, IN, OUT, EXPR, WIDE, ...)                                           \
	static const struct spread spread_##N = {__VA_ARGS__};                        \
	static const struct xinst *N(struct warp *w, const struct xinst *i)           \
	{                                                                             \
		float *d = cell(w, i->o[0]);                                          \
		const float *a = cell(w, i->o[1]);                                    \
                                                                                      \
		if (spreads(w)) {                                                     \
			FOR_LANES(l, w->exec)                                         \
			{                                                             \
				double x = (double)IN(a[l]);                          \
				d[l] = OUT(out(spread(w, WIDE, &spread_##N)));        \
			}                                                             \
		} else {                                                              \
			LANES_STORE(float, float x = IN(a[l]), OUT(canonical(EXPR))); \
		}                                                                     \
		return i + 1;                                                         \
	}
EXACT1(rcp_f32, KEEP, KEEP, 1 / x, 1 / x, .op = 7, .relative = 0x1p-25)
EXACT1(rcp_f32z, flush32, flush32, 1 / x, 1 / x, .op = 7, .relative = 0x1p-25)
EXACT1(sqrt_f32, KEEP, KEEP, sqrtf(x), sqrt(x), .op = 8, .relative = 0x1p-24)
EXACT1(sqrt_f32z, flush32, flush32, sqrtf(x), sqrt(x), .op = 8, .relative = 0x1p-24)

/* div.approx: for 2^126 < |y| < 2^128 the quotient is 0, or NaN when x is infinite (ISA 9.7.3, div). */
static inline float div_approx(float x, float y)
{
	float ay = fabsf(y);

	if (ay > 0x1p126f && ay < INFINITY)
		return isinf(x) ? NAN : x != x ? x : copysignf(0, x) * copysignf(1, y);
	return x / y;
}

static const struct spread spread_div = {.op = 9, .relative = 0x1.8p-24};

/* Two ulp are promised of both; outside the range of div.approx its quotient is a zero, which does not move. */
#define DIV(N, IN, OUT, EXPR)                                                                             \
	static const struct xinst *N(struct warp *w, const struct xinst *i)                               \
	{                                                                                                 \
		float *d = cell(w, i->o[0]);                                                              \
		const float *a = cell(w, i->o[1]), *b = cell(w, i->o[2]);                                 \
                                                                                                          \
		if (spreads(w)) {                                                                         \
			FOR_LANES(l, w->exec)                                                             \
			{                                                                                 \
				float x = IN(a[l]), y = IN(b[l]), q = EXPR;                               \
				bool moves = isfinite(q) && q != 0;                                       \
				d[l] = OUT(moves ? out(spread(w, (double)x / (double)y, &spread_div))     \
						 : canonical(q));                                         \
			}                                                                                 \
		} else {                                                                                  \
			LANES_STORE(float, float x = IN(a[l]); float y = IN(b[l]), OUT(canonical(EXPR))); \
		}                                                                                         \
		return i + 1;                                                                             \
	}
DIV(div_full_f32, KEEP, KEEP, x / y)
DIV(div_full_f32z, flush32, flush32, x / y)
DIV(div_approx_f32, KEEP, KEEP, div_approx(x, y))
DIV(div_approx_f32z, flush32, flush32, div_approx(x, y))

#define UPPER(v) f64_from(f64_bits(v) & 0xffffffff00000000ull)

static inline double flush64(double v)
{
	uint64_t u = f64_bits(v);

	return f64_from(u & 0x7ff0000000000000ull ? u : u & 1ull << 63);
}
/* The canonical NaN of these two is 0x7fffffff00000000. */
static inline double upper_result(double v)
{
	return v != v ? f64_from(0x7fffffff00000000ull) : UPPER(v);
}
DEF1(rcp_approx_f64, double, double, upper_result(flush64(1 / flush64(UPPER(x)))))
DEF1(rsqrt_approx_f64z, double, double, upper_result(flush64(1 / sqrt(flush64(UPPER(x))))))
DEF1(rsqrt_approx_f64, double, double, 1 / sqrt(x))

#define F32_FN(OP, N)                                   \
	ROW(OP, F32, "w:w", N##_f32, OK(PTX_F_APPROX)), \
		ROW(OP, F32, "w:w", N##_f32z, NEED(PTX_F_FTZ), OK(PTX_F_APPROX))
#define SMALL_FN(OP, N)                                                                      \
	ROW(OP, F16, "h:h", N##_small, OK(PTX_F_APPROX), .u = 0),                            \
		ROW(OP, F16X2, "w:w", N##_small, OK(PTX_F_APPROX), .u = 2),                  \
		ROW(OP, BF16, "h:h", N##_small, OK(PTX_F_APPROX), .u = 1),                   \
		ROW(OP, BF16X2, "w:w", N##_small, OK(PTX_F_APPROX), .u = 3),                 \
		ROW(OP, F16, "h:h", N##_small, NEED(PTX_F_FTZ), OK(PTX_F_APPROX), .u = 4),   \
		ROW(OP, F16X2, "w:w", N##_small, NEED(PTX_F_FTZ), OK(PTX_F_APPROX), .u = 6), \
		ROW(OP, BF16, "h:h", N##_small, NEED(PTX_F_FTZ), OK(PTX_F_APPROX), .u = 5),  \
		ROW(OP, BF16X2, "w:w", N##_small, NEED(PTX_F_FTZ), OK(PTX_F_APPROX), .u = 7)

static const struct exec_row rows[] = {
	F32_FN(SIN, sin),
	F32_FN(COS, cos),
	F32_FN(LG2, lg2),
	F32_FN(EX2, ex2),
	F32_FN(TANH, tanh),
	F32_FN(RSQRT, rsqrt),
	ROW(RCP, F32, "w:w", rcp_f32, NEED(PTX_F_APPROX)),
	ROW(RCP, F32, "w:w", rcp_f32z, NEED(PTX_F_APPROX | PTX_F_FTZ)),
	ROW(SQRT, F32, "w:w", sqrt_f32, NEED(PTX_F_APPROX)),
	ROW(SQRT, F32, "w:w", sqrt_f32z, NEED(PTX_F_APPROX | PTX_F_FTZ)),
	ROW(DIV, F32, "w:ww", div_full_f32, NEED(PTX_F_FULL)),
	ROW(DIV, F32, "w:ww", div_full_f32z, NEED(PTX_F_FULL | PTX_F_FTZ)),
	ROW(DIV, F32, "w:ww", div_approx_f32, NEED(PTX_F_APPROX)),
	ROW(DIV, F32, "w:ww", div_approx_f32z, NEED(PTX_F_APPROX | PTX_F_FTZ)),
	SMALL_FN(SIN, sin),
	SMALL_FN(COS, cos),
	SMALL_FN(LG2, lg2),
	SMALL_FN(EX2, ex2),
	SMALL_FN(TANH, tanh),
	ROW(RCP, F64, "d:d", rcp_approx_f64, NEED(PTX_F_APPROX | PTX_F_FTZ)),
	ROW(RSQRT, F64, "d:d", rsqrt_approx_f64z, NEED(PTX_F_APPROX | PTX_F_FTZ)),
	ROW(RSQRT, F64, "d:d", rsqrt_approx_f64, NEED(PTX_F_APPROX)),
};

const struct exec_family EXEC_FAMILY(exec_transcend) = {rows, sizeof(rows) / sizeof(rows[0])};
