/* SPDX-License-Identifier: Apache-2.0
 *
 * f32 and f64: PTX ISA 9.7.3, all but the approximations. Arithmetic by MPFR in each rounding mode.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <string.h>

static const char *const modes[] = {"rn", "rz", "rm", "rp"};

static struct float_mods mods_of(const struct form *f)
{
	return (struct float_mods){.rnd = (mpfr_rnd_t)f->k[1], .ftz = f->k[2] & 1, .sat = f->k[2] & 2};
}

/* k[0] operation, k[1] rounding, k[2] bit 0 .ftz, bit 1 .sat */
static void ref_arith(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format fmt = letter_format(f->outs[0]);
	struct float_mods m = mods_of(f);

	float_op((enum float_op)f->k[0], fmt, fmt, &m, in, out);
}

static const struct arith_row {
	const char *op;
	enum float_op id;
	unsigned nsrc;
	bool sat, default_rounding;
} arith[] = {
	{"add", OP_ADD, 2, true, true},   {"sub", OP_SUB, 2, true, true},
	{"mul", OP_MUL, 2, true, true},   {"fma", OP_FMA, 3, true, false},
	{"mad", OP_FMA, 3, true, false},  {"div", OP_DIV, 2, false, false},
	{"rcp", OP_RCP, 1, false, false}, {"sqrt", OP_SQRT, 1, false, false},
};

static void add_arith(struct suite *s, const struct arith_row *r, const char *mode, unsigned bits, bool is64)
{
	static const char *const operands[] = {"", "%1", "%1, %2", "%1, %2, %3"};
	static const char *const sigs[][4] = {{"", "f=f", "f=ff", "f=fff"}, {"", "D=D", "D=DD", "D=DDD"}};
	const char *ftz = bits & 1 ? ".ftz" : "", *sat = bits & 2 ? ".sat" : "", *type = is64 ? "f64" : "f32";
	const char *dot = mode ? "." : "";
	struct form *f;

	f = form_add(s, sigs[is64][r->nsrc], ref_arith,
		     text_of("%s%s%s%s%s.%s %%0, %s;", r->op, dot, mode ? mode : "", ftz, sat, type,
			     operands[r->nsrc]),
		     "%s%s%s%s%s.%s", r->op, dot, mode ? mode : "", ftz, sat, type);
	f->k[0] = r->id;
	f->k[1] = mode ? rounding_of(mode) : MPFR_RNDN;
	f->k[2] = bits;
}

static void add_ariths(struct suite *s)
{
	for (unsigned i = 0; i < sizeof(arith) / sizeof(arith[0]); i++) {
		const struct arith_row *r = &arith[i];

		for (unsigned m = r->default_rounding ? 0 : 1; m < 5; m++) {
			const char *mode = m ? modes[m - 1] : NULL;

			for (unsigned bits = 0; bits < (r->sat ? 4u : 2u); bits++)
				add_arith(s, r, mode, bits, false);
			add_arith(s, r, mode, 0, true);
		}
	}
}

/* k[0]: 1 = max; k[1]: .NaN; k[2]: .ftz; k[3]: .xorsign.abs */
static void ref_minmax(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format fmt = letter_format(f->outs[0]);
	uint64_t a = f->k[2] ? flush(fmt, in[0]) : in[0], b = f->k[2] ? flush(fmt, in[1]) : in[1];
	uint64_t top = sign_bit(fmt), sign = (a ^ b) & top;
	bool nan_a = is_nan(fmt, a), nan_b = is_nan(fmt, b), a_less;

	if ((nan_a && nan_b) || (f->k[1] && (nan_a || nan_b))) {
		out->bits = format_info(fmt)->canonical_nan;
		/* "canonical NaN" is said of .NaN only */
		out->kind = f->k[1] ? WANT_CANONICAL : WANT_BITS;
		return;
	}
	if (f->k[3]) {
		a &= ~top;
		b &= ~top;
	}
	/* Signed magnitude as an order, in which -0 < +0. */
	a_less = (a & top ? -(i128)(a & ~top) - 1 : (i128)a) < (b & top ? -(i128)(b & ~top) - 1 : (i128)b);
	if (nan_a)
		out->bits = b;
	else if (nan_b)
		out->bits = a;
	else
		out->bits = a_less != (f->k[0] != 0) ? a : b;
	if (f->k[3])
		out->bits = (out->bits & ~top) | sign;
}

static void add_minmax(struct suite *s)
{
	static const char *const names[] = {"min", "max"};

	for (unsigned k = 0; k < 2; k++) {
		for (unsigned m = 0; m < 8; m++) {
			const char *ftz = m & 1 ? ".ftz" : "", *nan = m & 2 ? ".NaN" : "",
				   *xs = m & 4 ? ".xorsign.abs" : "";
			struct form *f =
				form_add(s, "f=ff", ref_minmax,
					 text_of("%s%s%s%s.f32 %%0, %%1, %%2;", names[k], ftz, nan, xs),
					 "%s%s%s%s.f32", names[k], ftz, nan, xs);

			f->k[0] = k;
			f->k[1] = !!(m & 2);
			f->k[2] = m & 1;
			f->k[3] = !!(m & 4);
		}
		form_add(s, "D=DD", ref_minmax, text_of("%s.f64 %%0, %%1, %%2;", names[k]), "%s.f64",
			 names[k])
			->k[0] = k;
	}
}

/* k[0]: neg; k[2]: .ftz */
static void ref_sign(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format fmt = letter_format(f->outs[0]);
	uint64_t v = f->k[2] ? flush(fmt, in[0]) : in[0];

	out->bits = f->k[0] ? v ^ sign_bit(fmt) : v & ~sign_bit(fmt);
}

static void ref_copysign(const struct form *f, const uint64_t *in, struct want *out)
{
	uint64_t top = sign_bit(letter_format(f->outs[0]));

	out->bits = (in[0] & top) | (in[1] & ~top);
	out->kind = WANT_CANONICAL;
}

enum property { FINITE, INFINITE, NUMBER, NOTANUMBER, NORMAL, SUBNORMAL };
static void ref_testp(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format fmt = letter_format(f->ins[0]);
	bool nan = is_nan(fmt, in[0]), inf = is_inf(fmt, in[0]), sub = is_subnormal(fmt, in[0]);

	switch ((enum property)f->k[0]) {
	case FINITE: out->bits = !nan && !inf; break;
	case INFINITE: out->bits = inf; break;
	case NUMBER: out->bits = !nan; break;
	case NOTANUMBER: out->bits = nan; break;
	case NORMAL: out->bits = !nan && !inf && !sub; break;
	case SUBNORMAL: out->bits = sub; break;
	}
}

static void add_unary(struct suite *s)
{
	static const char *const tests[] = {"finite",     "infinite", "number",
					    "notanumber", "normal",   "subnormal"};
	static const char *const names[] = {"abs", "neg"};

	for (unsigned i = 0; i < 6; i++) {
		form_add(s, "p=f", ref_testp, text_of("testp.%s.f32 %%0, %%1;", tests[i]), "testp.%s.f32",
			 tests[i])
			->k[0] = i;
		form_add(s, "p=D", ref_testp, text_of("testp.%s.f64 %%0, %%1;", tests[i]), "testp.%s.f64",
			 tests[i])
			->k[0] = i;
	}
	for (unsigned k = 0; k < 2; k++) {
		form_add(s, "f=f", ref_sign, text_of("%s.f32 %%0, %%1;", names[k]), "%s.f32", names[k])
			->k[0] = k;
		struct form *f = form_add(s, "f=f", ref_sign, text_of("%s.ftz.f32 %%0, %%1;", names[k]),
					  "%s.ftz.f32", names[k]);

		f->k[0] = k;
		f->k[2] = 1;
		form_add(s, "D=D", ref_sign, text_of("%s.f64 %%0, %%1;", names[k]), "%s.f64", names[k])
			->k[0] = k;
	}
	form_add(s, "f=ff", ref_copysign, "copysign.f32 %0, %1, %2;", "copysign.f32");
	form_add(s, "D=DD", ref_copysign, "copysign.f64 %0, %1, %2;", "copysign.f64");
}

/* Constants: 64-bit literals are converted to the operation's type; 0f and 0d give exact bits (4.5.2). */
static void ref_constant(const struct form *f, const uint64_t *in, struct want *out)
{
	uint64_t args[2] = {in[0], (uint64_t)f->k[3]};
	enum float_format fmt = letter_format(f->outs[0]);
	struct float_mods m = {.rnd = MPFR_RNDN};

	float_op(OP_ADD, fmt, fmt, &m, args, out);
}

static void add_constants(struct suite *s)
{
	form_add(s, "f=f", ref_constant, "add.rn.f32 %0, %1, 0f3dcccccd;", "add.rn.f32 with 0f")->k[3] =
		0x3dcccccd;
	form_add(s, "f=f", ref_constant, "add.rn.f32 %0, %1, 0.1;", "add.rn.f32 with 0.1")->k[3] = 0x3dcccccd;
	form_add(s, "f=f", ref_constant, "add.rn.f32 %0, %1, 1.5e3;", "add.rn.f32 with 1.5e3")->k[3] =
		0x44bb8000;
	form_add(s, "f=f", ref_constant, "add.rn.f32 %0, %1, -2.5;", "add.rn.f32 with -2.5")->k[3] =
		0xc0200000;
	form_add(s, "f=f", ref_constant, "add.rn.f32 %0, %1, 0d3fb999999999999a;", "add.rn.f32 with 0d")
		->k[3] = 0x3dcccccd;
	form_add(s, "D=D", ref_constant, "add.rn.f64 %0, %1, 0.1;", "add.rn.f64 with 0.1")->k[3] =
		0x3fb999999999999a;
	form_add(s, "D=D", ref_constant, "add.rn.f64 %0, %1, 0d3ff0000000000001;", "add.rn.f64 with 0d")
		->k[3] = 0x3ff0000000000001;
	form_add(s, "D=D", ref_constant, "add.rn.f64 %0, %1, 0f3dcccccd;", "add.rn.f64 with 0f")->k[3] =
		0x3fb99999a0000000;
}

/* "NaN payloads are supported for double-precision instructions" (9.7.3): the one NaN among the operands comes out, quiet.
 * k[0]: which operand it is. */
static void ref_payload(const struct form *f, const uint64_t *in, struct want *out)
{
	out->bits = in[f->k[0]] | 1ull << 51;
	out->kind = WANT_CANONICAL;
}

static void fill_payload(const struct form *f, unsigned t, uint64_t *in)
{
	uint64_t payload = (t + 1) * 0x9e3779b97f4a7c15ull >> 13;

	for (unsigned i = 0; f->ins[i]; i++)
		in[i] = 0x3ff0000000000000 + ((uint64_t)t << (40 + i));
	in[f->k[0]] = 0x7ff0000000000000 | low_bits(payload, 52) | 1 | (t & 1 ? 1ull << 63 : 0);
}

static void add_payloads(struct suite *s)
{
	static const struct {
		const char *op, *sig;
	} rows[] = {{"add.rn.f64", "D=DD"}, {"sub.rz.f64", "D=DD"},  {"mul.rm.f64", "D=DD"},
		    {"div.rn.f64", "D=DD"}, {"fma.rp.f64", "D=DDD"}, {"rcp.rn.f64", "D=D"},
		    {"sqrt.rn.f64", "D=D"}};
	static const char *const operands[] = {"%1", "%1, %2", "%1, %2, %3"};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned k = 0; rows[i].sig[2 + k]; k++) {
			struct form *f = form_add(
				s, rows[i].sig, ref_payload,
				text_of("%s %%0, %s;", rows[i].op, operands[strlen(rows[i].sig) - 3]),
				"%s of a NaN in operand %u", rows[i].op, k + 1);

			f->fill = fill_payload;
			f->ntuples = 64;
			f->k[0] = (long)k;
		}
}

/* (0 - a) * b: the difference of two positive zeros is +0 (IEEE 754, 6.3), not -a. */
static void ref_zero_minus(const struct form *f, const uint64_t *in, struct want *out)
{
	if (f->ins[0] == 'D') {
		double a, b, r;

		memcpy(&a, &in[0], 8);
		memcpy(&b, &in[1], 8);
		r = (0.0 - a) * b;
		memcpy(&out->bits, &r, 8);
	} else if (f->ins[0] == 'f') {
		float a, b, r;

		memcpy(&a, &in[0], 4);
		memcpy(&b, &in[1], 4);
		r = (0.0f - a) * b;
		memcpy(&out->bits, &r, 4);
	} else {
		_Float16 a, b, r;

		memcpy(&a, &in[0], 2);
		memcpy(&b, &in[1], 2);
		r = (_Float16)((float)(_Float16)(0.0f - (float)a) * (float)b);
		memcpy(&out->bits, &r, 2);
	}
}

static void add_zero_minus(struct suite *s)
{
	static const struct {
		const char *sig, *type, *zero, *one;
	} rows[] = {{"f=ff", "f32", "0f00000000", "0fBF800000"},
		    {"D=DD", "f64", "0d0000000000000000", "0dBFF0000000000000"}};

	for (unsigned i = 0; i < 2; i++) {
		const char *t = rows[i].type, *zero = rows[i].zero;

		form_add(s, rows[i].sig, ref_zero_minus,
			 text_of("{ .reg .%s t; sub.rn.%s t, %s, %%1; mul.rn.%s %%0, t, %%2; }", t, t, zero,
				 t),
			 "0 - a times b, %s", t);
		form_add(s, rows[i].sig, ref_zero_minus,
			 text_of("{ .reg .%s t; neg.%s t, %%1; add.rn.%s t, t, %s; mul.rn.%s %%0, t, %%2; }",
				 t, t, t, zero, t),
			 "-a + 0 times b, %s", t);
		form_add(s, rows[i].sig, ref_zero_minus,
			 text_of("{ .reg .%s t; fma.rn.%s t, %%1, %s, %s; mul.rn.%s %%0, t, %%2; }", t, t,
				 rows[i].one, zero, t),
			 "a times -1 + 0 times b, %s", t);
	}
	form_add(s, "e=ee", ref_zero_minus,
		 "{ .reg .b16 z, t; mov.b16 z, 0; sub.rn.f16 t, z, %1; mul.rn.f16 %0, t, %2; }",
		 "0 - a times b, f16");
}

void forms_float(struct suite *s)
{
	add_ariths(s);
	add_minmax(s);
	add_unary(s);
	add_constants(s);
	add_payloads(s);
	add_zero_minus(s);
}
