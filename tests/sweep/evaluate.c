/* SPDX-License-Identifier: Apache-2.0
 *
 * evaluate: exact results by MPFR, and what the ISA makes of them: flushing, saturation, NaNs, the special values.
 */
#include "sweep.h"

#include <stdlib.h>

#define BITS 64

static mpfr_t x[3], r;
static bool ready;

static void open_numbers(void)
{
	if (ready)
		return;
	ready = true;
	mpfr_inits2(BITS, x[0], x[1], x[2], r, (mpfr_ptr)0);
}

void evaluate_free(void)
{
	if (ready)
		mpfr_clears(x[0], x[1], x[2], r, (mpfr_ptr)0);
	ready = false;
	mpfr_free_cache();
	mpfr_mp_memory_cleanup();
}

static int compute(enum fn fn)
{
	switch (fn) {
	case FN_RCP: return mpfr_ui_div(r, 1, x[0], MPFR_RNDZ);
	case FN_SQRT: return mpfr_sqrt(r, x[0], MPFR_RNDZ);
	case FN_RSQRT: return mpfr_rec_sqrt(r, x[0], MPFR_RNDZ);
	case FN_SIN: return mpfr_sin(r, x[0], MPFR_RNDZ);
	case FN_COS: return mpfr_cos(r, x[0], MPFR_RNDZ);
	case FN_LG2: return mpfr_log2(r, x[0], MPFR_RNDZ);
	case FN_EX2: return mpfr_exp2(r, x[0], MPFR_RNDZ);
	case FN_TANH: return mpfr_tanh(r, x[0], MPFR_RNDZ);
	case FN_ADD: return mpfr_add(r, x[0], x[1], MPFR_RNDZ);
	case FN_SUB: return mpfr_sub(r, x[0], x[1], MPFR_RNDZ);
	case FN_MUL: return mpfr_mul(r, x[0], x[1], MPFR_RNDZ);
	case FN_DIV: return mpfr_div(r, x[0], x[1], MPFR_RNDZ);
	case FN_FMA: return mpfr_fma(r, x[0], x[1], x[2], MPFR_RNDZ);
	default: return 0;
	}
}

/* Zeros: an exact sum of zero is -0 only when rounding down (IEEE 754, 6.3); MPFR toward zero gives +0 unless both are
 * negative; the mode's part is in signed_zero. The reciprocal square root of -0 is -Inf (9.7.3.16). */
static struct exact function(const struct group *g, const uint64_t *in)
{
	struct exact e;

	if (g->fn == FN_MOVE || g->fn == FN_NEG || g->fn == FN_ABS) {
		e = g->format == FORMAT_NONE ? exact_of_int(as_int(g->integer, in[0]))
					     : exact_of_bits(g->format, in[0]);
		e.negative = g->fn == FN_ABS ? false : e.negative != (g->fn == FN_NEG);
		return e;
	}
	open_numbers();
	for (unsigned i = 0; i < g->nin; i++)
		decode(g->format, in[i], x[i]);
	e = exact_of_mpfr(r, compute(g->fn));
	if (g->fn == FN_RSQRT && is_zero(g->format, in[0]))
		e.negative = in[0] & sign_bit(g->format);
	return e;
}

/* .ftz of arithmetic is for f32 and f16; that of cvt "applies only to single precision (.f32) numbers" (9.7.9.21). */
static bool flushes(enum fn fn, enum float_format f)
{
	return f == FORMAT_F32 || (f == FORMAT_F16 && fn != FN_MOVE);
}

void evaluate(const struct group *g, const uint64_t *in, struct evaluation *e)
{
	uint64_t flushed[3] = {0};
	bool differ = false;

	if (g->fn == FN_MIN || g->fn == FN_MAX)
		return;
	e->value = function(g, in);
	e->same = true;
	if (!flushes(g->fn, g->format))
		return;
	for (unsigned i = 0; i < g->nin; i++) {
		flushed[i] = flush(g->format, in[i]);
		differ |= flushed[i] != in[i];
	}
	e->same = !differ;
	if (differ)
		e->flushed = function(g, flushed);
}

/* An exact sum that is zero with operands that are not both zero of one sign: minus zero when rounding down. */
static void signed_zero(const struct group *g, const struct sweep_form *f, const uint64_t *in,
			struct exact *e)
{
	uint64_t s = sign_bit(g->format), a = in[0], b = in[1];

	if (e->m || e->nan || e->inf || e->sticky || f->mode != RM)
		return;
	if (g->fn == FN_FMA) {
		a = in[0] ^ in[1];
		b = in[2];
	}
	if (g->fn == FN_SUB)
		b ^= s;
	if (g->fn == FN_ADD || g->fn == FN_SUB || g->fn == FN_FMA)
		e->negative = ((a ^ b) & s) != 0 || (a & b & s);
}

/* Below: 9.7.3.3 and the like. "[0.0, 1.0], NaN results are flushed to +0.0f"; .relu: "clamps the result to 0 if
 * negative, NaN result is converted to canonical NaN". Whether -0 becomes +0 is open. */
static void modify(const struct sweep_form *f, struct verdict *v)
{
	enum float_format fmt = f->format;
	const struct format_info *i = format_info(fmt);
	uint64_t one = (uint64_t)i->bias << i->mantissa, top = sign_bit(fmt);

	if (f->flags & SATFINITE && is_inf(fmt, v->bits))
		v->bits--;
	if (f->flags & SAT && is_nan(fmt, v->bits))
		v->bits = 0;
	else if (f->flags & (SAT | RELU) && v->bits & top && !is_nan(fmt, v->bits)) {
		v->alternative = top;
		v->second = is_zero(fmt, v->bits);
		v->bits = 0;
	} else if (f->flags & SAT && v->bits > one) {
		v->bits = one;
	}
}

static struct exact integral(const struct sweep_form *f, struct exact e)
{
	bool negative = e.negative;

	if (e.nan || e.inf || e.exponent >= 0)
		return e;
	e = exact_of_int(exact_to_int(&e, (enum rounding)(f->integral - 1)));
	e.negative = negative;
	return e;
}

static void floating(const struct group *g, const struct sweep_form *f, struct exact e, struct verdict *v)
{
	bool tiny;

	if (f->integral)
		e = integral(f, e);
	/* formats without NaN take their largest number (9.7.9.21) */
	if (e.nan && !is_nan(f->format, format_info(f->format)->canonical_nan)) {
		v->bits = sign_bit(f->format) - 1;
		return;
	}
	v->bits = exact_round(f->format, &e, f->mode, &tiny);
	if (f->flags & FTZ && flushes(g->fn, f->format)) {
		uint64_t z = flush(f->format, v->bits);

		/* rounded up to the smallest normal number: whether it counts as subnormal isn't said */
		if (tiny && z == v->bits && !is_zero(f->format, v->bits)) {
			v->second = true;
			v->alternative = v->bits & sign_bit(f->format);
		}
		v->bits = z;
	}
	modify(f, v);
}

/* "zero if source is not .f64 and destination is not .s64, .u64; otherwise 1 << (BitWidth(dst) - 1)" (9.7.9.21) */
static void integer(const struct group *g, const struct sweep_form *f, const struct exact *e,
		    struct verdict *v)
{
	const struct int_type *t = f->integer;

	if (e->nan)
		v->bits = g->format != FORMAT_F64 && t->bits != 64 ? 0 : 1ull << (t->bits - 1);
	else
		v->bits = low_bits((uint64_t)clamp_to(t, exact_to_int(e, f->mode)), t->bits);
}

/* 9.7.3.11: of a number and a NaN the number; with .NaN the canonical NaN; +0.0 > -0.0; .xorsign.abs compares
 * magnitudes and gives the product's sign. */
static void extreme(const struct group *g, const struct sweep_form *f, const uint64_t *in, struct verdict *v)
{
	enum float_format fmt = g->format;
	uint64_t s = sign_bit(fmt), a[2], sign = (in[0] ^ in[1]) & s;
	bool nan0, nan1;

	for (unsigned i = 0; i < 2; i++) {
		a[i] = f->flags & FTZ ? flush(fmt, in[i]) : in[i];
		a[i] &= f->flags & XORSIGN ? ~s : ~0ull;
	}
	nan0 = is_nan(fmt, a[0]);
	nan1 = is_nan(fmt, a[1]);
	if ((nan0 && nan1) || (f->flags & NAN_MOD && (nan0 || nan1))) {
		v->bits = format_info(fmt)->canonical_nan;
		return;
	}
	int64_t p = a[0] & s ? -(int64_t)(a[0] & ~s) - 1 : (int64_t)a[0],
		q = a[1] & s ? -(int64_t)(a[1] & ~s) - 1 : (int64_t)a[1];

	v->bits = nan0 ? a[1] : nan1 ? a[0] : (p < q) == (g->fn == FN_MIN) ? a[0] : a[1];
	if (f->flags & XORSIGN)
		v->bits = (v->bits & ~s) | sign;
}

/* 9.7.3.8: div.approx for divisors outside [2^-126, 2^126] */
static bool approx_division(const struct sweep_form *f, const uint64_t *in, struct verdict *v)
{
	uint64_t b = in[1] & 0x7fffffff;

	if (f->opcode[4] != 'a' || is_nan(FORMAT_F32, in[0]) || is_nan(FORMAT_F32, in[1]))
		return false;
	if (b > 0x7e800000 && b < 0x7f800000) {
		v->bits = is_inf(FORMAT_F32, in[0]) ? 0x7fffffff : (in[0] ^ in[1]) & 0x80000000;
		v->value.nan = true; /* no error to measure */
		return true;
	}
	v->open = b < 0x00800000 || b == 0x7f800000;
	return v->open;
}

static void approximate(const struct group *g, const struct sweep_form *f, const uint64_t *in,
			const struct exact *e, struct verdict *v)
{
	v->value = *e;
	if (g->fn == FN_DIV && approx_division(f, in, v))
		return;
	v->bits = exact_round(f->format, e, RN, NULL);
	if (f->flags & FTZ && flushes(g->fn, f->format))
		v->bits = flush(f->format, v->bits);
}

void verdict_of(const struct group *g, const struct sweep_form *f, const uint64_t *in,
		const struct evaluation *ev, struct verdict *v)
{
	struct exact e = f->flags & FTZ && !ev->same ? ev->flushed : ev->value;

	*v = (struct verdict){0};
	if (g->fn == FN_MIN || g->fn == FN_MAX) {
		extreme(g, f, in, v);
	} else if (f->kind != EXACT) {
		approximate(g, f, in, &e, v);
	} else if (f->format == FORMAT_NONE) {
		integer(g, f, &e, v);
	} else {
		uint64_t args[3];

		for (unsigned i = 0; i < g->nin; i++)
			args[i] =
				f->flags & FTZ && flushes(g->fn, g->format) ? flush(g->format, in[i]) : in[i];
		if (g->format != FORMAT_NONE)
			signed_zero(g, f, args, &e);
		floating(g, f, e, v);
	}
}
