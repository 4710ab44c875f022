/* SPDX-License-Identifier: Apache-2.0
 *
 * Approximations: PTX ISA 9.7.3.8 to 9.7.3.22 and 9.7.4.9, 9.7.4.10. Results must lie within the stated error
 * of the exact value (MPFR, 200 bits), and the tables of special inputs hold exactly.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <math.h>
#include <string.h>

/* Bits of computation: sin of 1e38 needs the argument's reduction only, which MPFR does itself. */
#define PRECISION 200

enum fn { RCP, SQRT, RSQRT, SIN, COS, LG2, EX2, TANH, DIV };
/* How the document states the error. */
enum bound { ULP, RELATIVE, ABSOLUTE };

struct approx {
	const char *text;
	enum fn fn;
	enum bound bound;
	double error; /* ulps, or the error itself */
	const char *sig;
	bool ftz;
	/* Results for -Inf, -0, +0, +Inf; "n" is NaN, "i" and "I" are -Inf and +Inf, "z" and "Z" -0 and +0,
	 * "1" and "m" 1 and -1. */
	const char *special;
};

#define P2(e) exp2(e)

static uint64_t special_bits(enum float_format fmt, char c)
{
	const struct format_info *i = format_info(fmt);
	uint64_t inf = ((1ull << i->exponent) - 1) << i->mantissa, one = (uint64_t)i->bias << i->mantissa;

	switch (c) {
	case 'n': return i->canonical_nan;
	case 'i': return inf | sign_bit(fmt);
	case 'I': return inf;
	case 'z': return sign_bit(fmt);
	case '1': return one;
	case 'm': return one | sign_bit(fmt);
	default: return 0;
	}
}

static void exact(enum fn fn, mpfr_t r, const mpfr_t a, const mpfr_t b)
{
	switch (fn) {
	case RCP: mpfr_ui_div(r, 1, a, MPFR_RNDN); break;
	case SQRT: mpfr_sqrt(r, a, MPFR_RNDN); break;
	case RSQRT: mpfr_rec_sqrt(r, a, MPFR_RNDN); break;
	case SIN: mpfr_sin(r, a, MPFR_RNDN); break;
	case COS: mpfr_cos(r, a, MPFR_RNDN); break;
	case LG2: mpfr_log2(r, a, MPFR_RNDN); break;
	case EX2: mpfr_exp2(r, a, MPFR_RNDN); break;
	case TANH: mpfr_tanh(r, a, MPFR_RNDN); break;
	case DIV: mpfr_div(r, a, b, MPFR_RNDN); break;
	}
}

/* [value - error, value + error], widened to all that the format may make of it. */
static void set_range(enum float_format fmt, const mpfr_t value, const mpfr_t error, bool ftz, struct want *w)
{
	const struct format_info *i = format_info(fmt);
	double min_normal = ldexp(1, 1 - i->bias), max = ldexp(2 - ldexp(1, -(int)i->mantissa), i->bias);
	mpfr_t t;

	mpfr_init2(t, 53);
	mpfr_sub(t, value, error, MPFR_RNDD);
	w->lo = mpfr_get_d(t, MPFR_RNDD);
	mpfr_add(t, value, error, MPFR_RNDU);
	w->hi = mpfr_get_d(t, MPFR_RNDU);
	mpfr_clear(t);
	w->kind = WANT_RANGE;
	/* Beyond the largest number is infinity; with flushing, below the smallest normal one is zero. */
	if (w->hi > max)
		w->hi = INFINITY;
	if (w->lo < -max)
		w->lo = -INFINITY;
	if (w->lo > max)
		w->lo = max;
	if (w->hi < -max)
		w->hi = -max;
	if (ftz && w->lo > 0 && w->lo < min_normal)
		w->lo = 0;
	if (ftz && w->hi < 0 && w->hi > -min_normal)
		w->hi = 0;
}

static void error_of(const struct approx *x, enum float_format fmt, const mpfr_t value, double bound,
		     mpfr_t error)
{
	const struct format_info *i = format_info(fmt);

	if (x->bound == ABSOLUTE) {
		mpfr_set_d(error, bound, MPFR_RNDU);
	} else if (x->bound == RELATIVE) {
		mpfr_mul_d(error, value, bound, MPFR_RNDA);
		mpfr_abs(error, error, MPFR_RNDU);
		/* Below the normal numbers no relative error can be held: one unit there. */
		if (mpfr_get_exp(value) - 1 < 1 - i->bias) {
			mpfr_set_ui_2exp(error, 1, 1 - i->bias - (long)i->mantissa, MPFR_RNDU);
		}
	} else {
		long e = mpfr_zero_p(value) ? 1 - i->bias : mpfr_get_exp(value) - 1;

		if (e < 1 - i->bias)
			e = 1 - i->bias;
		mpfr_set_d(error, bound, MPFR_RNDU);
		mpfr_mul_2si(error, error, e - (long)i->mantissa, MPFR_RNDU);
	}
}

/* The bound for this argument; negative where there is none. */
static double bound_for(const struct approx *x, const mpfr_t a)
{
	double v = fabs(mpfr_get_d(a, MPFR_RNDN));

	if (x->fn == SIN || x->fn == COS) {
		if (v <= 2 * M_PI)
			return x->error;
		return v <= 100 * M_PI ? P2(-14.7) : -1;
	}
	return x->error;
}

static void ref_approx(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct approx *x = f->arg;
	enum float_format fmt = letter_format(f->outs[0]);
	uint64_t a = x->ftz ? flush(fmt, in[0]) : in[0];
	bool negative = a & sign_bit(fmt);
	mpfr_t v, r, error;
	struct approx y = *x;
	double bound;

	if (is_nan(fmt, a)) {
		out->bits = format_info(fmt)->canonical_nan;
		return;
	}
	if (is_inf(fmt, a) || is_zero(fmt, a)) {
		out->bits = special_bits(
			fmt, x->special[is_inf(fmt, a) ? (negative ? 0 : 3) : (negative ? 1 : 2)]);
		return;
	}
	mpfr_inits2(PRECISION, v, r, error, (mpfr_ptr)0);
	decode(fmt, a, v);
	exact(x->fn, r, v, v);
	bound = bound_for(x, v);
	if (x->fn == LG2 && mpfr_cmp_d(v, 0.5) > 0 && mpfr_cmp_ui(v, 2) < 0)
		y.bound = ABSOLUTE;
	if (mpfr_nan_p(r)) {
		out->bits = format_info(fmt)->canonical_nan;
	} else if (bound < 0) {
		out->kind = WANT_ANY;
	} else {
		if (x->fn == EX2 && x->bound == ULP) {
			/* "from the correctly rounded result" */
			uint64_t rounded = encode(fmt, r, MPFR_RNDN);

			decode(fmt, rounded, r);
		}
		error_of(&y, fmt, r, bound, error);
		if (mpfr_inf_p(r))
			out->bits = special_bits(fmt, mpfr_signbit(r) ? 'i' : 'I');
		else
			set_range(fmt, r, error, x->ftz, out);
	}
	mpfr_clears(v, r, error, (mpfr_ptr)0);
}

/* Packed halves: each within the bound. Range comparison takes one element, so the form unpacks the result
 * itself. */
static void ref_approx2(const struct form *f, const uint64_t *in, struct want *out)
{
	struct form one = *f;

	one.outs = f->outs[0] == 'e' ? "e" : "g";
	for (unsigned i = 0; i < 2; i++) {
		uint64_t x = in[0] >> (16 * i) & 0xffff;

		ref_approx(&one, &x, &out[i]);
	}
}

/* div.full: 2 ulp everywhere. div.approx: 2 ulp for |b| in [2^-126, 2^126]; beyond that zero, or NaN for
 * infinite a. k[0]: approx */
static void ref_div(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct approx *x = f->arg;
	uint64_t a = x->ftz ? flush(FORMAT_F32, in[0]) : in[0], b = x->ftz ? flush(FORMAT_F32, in[1]) : in[1];
	uint32_t mag = b & 0x7fffffff;
	struct float_mods m = {.rnd = MPFR_RNDN};
	uint64_t args[2] = {a, b};
	mpfr_t v, d, r, error;

	float_op(OP_DIV, FORMAT_F32, FORMAT_F32, &m, args, out);
	if (is_nan(FORMAT_F32, a) || is_nan(FORMAT_F32, b))
		return;
	if (f->k[0] && mag > 0x7e800000 && mag < 0x7f800000) { /* 2^126 < |b| < 2^128 */
		out->bits = is_inf(FORMAT_F32, a) ? 0x7fffffff : (a ^ b) & 0x80000000;
		return;
	}
	if (f->k[0] && (mag < 0x00800000 || mag == 0x7f800000)) {
		out->kind = WANT_ANY; /* subnormal, zero or infinite b: nothing is said */
		return;
	}
	if (is_inf(FORMAT_F32, a) || is_inf(FORMAT_F32, b) || is_zero(FORMAT_F32, a) ||
	    is_zero(FORMAT_F32, b))
		return;
	mpfr_inits2(PRECISION, v, d, r, error, (mpfr_ptr)0);
	decode(FORMAT_F32, a, v);
	decode(FORMAT_F32, b, d);
	exact(DIV, r, v, d);
	error_of(x, FORMAT_F32, r, x->error, error);
	set_range(FORMAT_F32, r, error, x->ftz, out);
	mpfr_clears(v, d, r, error, (mpfr_ptr)0);
}

/* Gross approximations: the upper word only; no bound is stated, so only the special inputs and the zero
 * lower word are certain, and that 20 bits of mantissa leave a relative error that can't reach 2^-16. */
static void ref_gross(const struct form *f, const uint64_t *in, struct want *out)
{
	const struct approx *x = f->arg;
	uint64_t a = flush(FORMAT_F64, in[0] & 0xffffffff00000000);
	struct form g = *f;
	struct approx y = *x;

	y.ftz = true;
	g.arg = &y;
	if (is_nan(FORMAT_F64, in[0])) {
		/* a NaN by the lower word alone is an infinity here */
		out->bits = 0x7fffffff00000000;
		out->kind = is_nan(FORMAT_F64, a) ? WANT_CANONICAL : WANT_ANY;
		return;
	}
	ref_approx(&g, &a, out);
	if (is_nan(FORMAT_F64, out->bits) && out->kind == WANT_BITS)
		return;
	if (out->kind == WANT_BITS)
		out->kind = WANT_CANONICAL;
	/* flushed results */
	if (out->kind == WANT_RANGE && (fabs(out->lo) < 0x1p-1021 || fabs(out->hi) < 0x1p-1021))
		out->kind = WANT_ANY;
}

static void ref_low_word_zero(const struct form *f, const uint64_t *in, struct want *out)
{
	(void)f;
	(void)in;
	out->bits = 0;
}

#define DOUBLE_ROW(op, fn, bound, error, special)                     \
	{op ".f32", fn, bound, error, "f=f", false, special},         \
	{                                                             \
		op ".ftz.f32", fn, bound, error, "f=f", true, special \
	}

static const struct approx rows[] = {
	DOUBLE_ROW("rcp.approx", RCP, ULP, 1, "ziIZ"),
	DOUBLE_ROW("sqrt.approx", SQRT, RELATIVE, 0x1p-23, "nzZI"),
	DOUBLE_ROW("rsqrt.approx", RSQRT, RELATIVE, 1.2793e-7 /* 2^-22.9 */, "niIZ"),
	DOUBLE_ROW("sin.approx", SIN, ABSOLUTE, 6.7435e-7 /* 2^-20.5 */, "nzZn"),
	DOUBLE_ROW("cos.approx", COS, ABSOLUTE, 6.7435e-7, "n11n"),
	DOUBLE_ROW("lg2.approx", LG2, RELATIVE, 0x1p-22, "niiI"),
	DOUBLE_ROW("ex2.approx", EX2, ULP, 2, "Z11I"),
	{"tanh.approx.f32", TANH, RELATIVE, 0x1p-11, "f=f", false, "mzZ1"},
	{"tanh.approx.f16", TANH, ABSOLUTE, 4.92665e-4 /* 2^-10.987 */, "e=e", false, "mzZ1"},
	{"tanh.approx.bf16", TANH, ABSOLUTE, 0x1p-8, "g=g", false, "mzZ1"},
	{"ex2.approx.f16", EX2, RELATIVE, 1.04666e-3 /* 2^-9.9 */, "e=e", false, "Z11I"},
	{"ex2.approx.ftz.bf16", EX2, RELATIVE, 0x1p-7, "g=g", true, "Z11I"},
	/* emulated in software; no bound is stated: this only catches gross mistakes */
	{"rsqrt.approx.f64", RSQRT, RELATIVE, 0x1p-48, "D=D", false, "niIZ"},
};

static const struct approx packed[] = {
	{"tanh.approx.f16x2", TANH, ABSOLUTE, 4.92665e-4, "ee=E", false, "mzZ1"},
	{"tanh.approx.bf16x2", TANH, ABSOLUTE, 0x1p-8, "gg=G", false, "mzZ1"},
	{"ex2.approx.f16x2", EX2, RELATIVE, 1.04666e-3, "ee=E", false, "Z11I"},
	{"ex2.approx.ftz.bf16x2", EX2, RELATIVE, 0x1p-7, "gg=G", true, "Z11I"},
};

static const struct approx divisions[] = {
	{"div.full.f32", DIV, ULP, 2, "f=ff", false, ""},
	{"div.full.ftz.f32", DIV, ULP, 2, "f=ff", true, ""},
	{"div.approx.f32", DIV, ULP, 2, "f=ff", false, ""},
	{"div.approx.ftz.f32", DIV, ULP, 2, "f=ff", true, ""},
};

static const struct approx gross[] = {
	{"rcp.approx.ftz.f64", RCP, RELATIVE, 0x1p-16, "D=D", true, "ziIZ"},
	{"rsqrt.approx.ftz.f64", RSQRT, RELATIVE, 0x1p-16, "D=D", true, "niIZ"},
};

/* Arguments where the functions have their ranges: ordinary numbers of both signs besides the edges. */
static void fill_ordinary(const struct form *f, unsigned t, uint64_t *in)
{
	uint64_t raw[2];
	unsigned n = (unsigned)strlen(f->ins);

	values_of(f->ins, t % 2048, 2048, raw);
	for (unsigned i = 0; i < n; i++) {
		in[i] = raw[i];
		if (t >= 2048 && f->ins[i] == 'f') {
			float v = (float)((double)(uint32_t)(raw[i] * 2654435761u) / 4294967296.0 *
						  (t & 1 ? 40 : 640) -
					  (t & 1 ? 20 : 320));
			uint32_t bits;

			memcpy(&bits, &v, 4);
			in[i] = bits;
		}
	}
}

static void add(struct suite *s, const struct approx *x, lane_ref ref)
{
	bool two = x->fn == DIV;
	struct form *f = form_add(
		s, x->sig, ref, text_of(two ? "%s %%0, %%1, %%2;" : "%s %%0, %%1;", x->text), "%s", x->text);

	f->arg = x;
	f->fill = fill_ordinary;
	f->ntuples = 4096;
}

void forms_approx(struct suite *s)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add(s, &rows[i], ref_approx);
	for (unsigned i = 0; i < 4; i++) {
		add(s, &divisions[i], ref_div);
		s->forms[s->n - 1].k[0] = i >= 2;
	}
	for (unsigned i = 0; i < 4; i++) {
		struct form *f = form_add(
			s, packed[i].sig, ref_approx2,
			text_of("{ .reg .b32 r; %s r, %%2; mov.b32 {%%0, %%1}, r; }", packed[i].text), "%s",
			packed[i].text);

		f->arg = &packed[i];
	}
	for (unsigned i = 0; i < 2; i++) {
		struct form *f;

		add(s, &gross[i], ref_gross);
		f = form_add(s, "w=D", ref_low_word_zero,
			     text_of("{ .reg .b64 r; .reg .b32 h; %s r, %%1; mov.b64 {%%0, h}, r; }",
				     gross[i].text),
			     "%s: lower word is zero", gross[i].text);
		f->arg = &gross[i];
	}
}
