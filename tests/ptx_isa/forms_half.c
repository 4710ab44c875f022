/* SPDX-License-Identifier: Apache-2.0
 *
 * f16 and bf16, scalar and packed: PTX ISA 9.7.4.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

#include <string.h>

static const struct half {
	const char *name;
	char letter;
	enum float_format fmt;
	bool packed;
} halves[] = {
	{"f16", 'e', FORMAT_F16, false},
	{"f16x2", 'E', FORMAT_F16, true},
	{"bf16", 'g', FORMAT_BF16, false},
	{"bf16x2", 'G', FORMAT_BF16, true},
};

/* One element: k[0] operation, k[1] modifiers: 1 ftz, 2 sat, 4 relu, 8 NaN, 16 xorsign.abs */
typedef void (*element_ref)(const struct form *f, enum float_format fmt, const uint64_t *in,
			    struct want *out);

enum { FTZ = 1, SAT = 2, RELU = 4, NAN_ = 8, XORSIGN = 16 };

static void element_arith(const struct form *f, enum float_format fmt, const uint64_t *in, struct want *out)
{
	struct float_mods m = {
		.rnd = MPFR_RNDN, .ftz = f->k[1] & FTZ, .sat = f->k[1] & SAT, .relu = f->k[1] & RELU};

	float_op((enum float_op)f->k[0], fmt, fmt, &m, in, out);
}

/* k[0]: 1 = max */
static void element_minmax(const struct form *f, enum float_format fmt, const uint64_t *in, struct want *out)
{
	bool ftz = f->k[1] & FTZ, nan_a, nan_b;
	uint64_t a = ftz ? flush(fmt, in[0]) : in[0], b = ftz ? flush(fmt, in[1]) : in[1],
		 sign = (a ^ b) & 0x8000;
	int key_a, key_b;

	nan_a = is_nan(fmt, a);
	nan_b = is_nan(fmt, b);
	if ((nan_a && nan_b) || ((f->k[1] & NAN_) && (nan_a || nan_b))) {
		out->bits = format_info(fmt)->canonical_nan;
		out->kind = f->k[1] & NAN_ ? WANT_CANONICAL : WANT_BITS;
		return;
	}
	if (f->k[1] & XORSIGN) {
		a &= 0x7fff;
		b &= 0x7fff;
	}
	key_a = a & 0x8000 ? -(int)(a & 0x7fff) - 1 : (int)a;
	key_b = b & 0x8000 ? -(int)(b & 0x7fff) - 1 : (int)b;
	out->bits = nan_a ? b : nan_b ? a : (key_a < key_b) != (f->k[0] != 0) ? a : b;
	if (f->k[1] & XORSIGN)
		out->bits = (out->bits & 0x7fff) | sign;
}

/* k[0]: neg */
static void element_sign(const struct form *f, enum float_format fmt, const uint64_t *in, struct want *out)
{
	uint64_t v = f->k[1] & FTZ ? flush(fmt, in[0]) : in[0];

	out->bits = f->k[0] ? v ^ 0x8000 : v & 0x7fff;
}

/* Out of bounds: an operand that is a special NaN makes the result +0 (5.5, Tensors); which one is not said. */
static void element_oob(const struct form *f, enum float_format fmt, const uint64_t *in, struct want *out)
{
	if (is_nan(fmt, in[0]) || is_nan(fmt, in[1]) || is_nan(fmt, in[2]))
		out->kind = WANT_ANY;
	else
		element_arith(f, fmt, in, out);
}

static const element_ref oob_ref = element_oob, arith_ref = element_arith, minmax_ref = element_minmax,
			 sign_ref = element_sign;

static void ref_half(const struct form *f, const uint64_t *in, struct want *out)
{
	element_ref element = *(const element_ref *)f->arg;
	enum float_format fmt = letter_format(f->outs[0]);
	unsigned n = letter_bits(f->outs[0]) / 16;
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		uint64_t x[3] = {0};
		struct want w = {.mask = UINT64_MAX};

		for (unsigned k = 0; f->ins[k]; k++)
			x[k] = in[k] >> (16 * i) & 0xffff;
		element(f, fmt, x, &w);
		out->bits |= w.bits << (16 * i);
		any |= w.kind == WANT_ANY;
		if (w.kind != WANT_BITS && out->kind != WANT_ZERO)
			out->kind = w.kind;
	}
	/* One kind serves both halves: the laxer. */
	if (any)
		out->kind = WANT_ANY;
}

static void add(struct suite *s, const struct half *h, const char *op, unsigned nsrc, const element_ref *ref,
		long k0, long mods)
{
	static const char *const operands[] = {"", "%1", "%1, %2", "%1, %2, %3"};
	char sig[8] = {h->letter, '=', h->letter, nsrc > 1 ? h->letter : 0, nsrc > 2 ? h->letter : 0};
	struct form *f = form_add(s, sig, ref_half, text_of("%s.%s %%0, %s;", op, h->name, operands[nsrc]),
				  "%s.%s", op, h->name);

	f->arg = ref;
	f->k[0] = k0;
	f->k[1] = mods;
}

static void add_arith(struct suite *s, const struct half *h)
{
	static const struct {
		const char *op;
		enum float_op id;
	} ops[] = {{"add", OP_ADD}, {"sub", OP_SUB}, {"mul", OP_MUL}};
	bool is_f16 = h->fmt == FORMAT_F16;

	for (unsigned i = 0; i < 3; i++) {
		add(s, h, ops[i].op, 2, &arith_ref, ops[i].id, 0);
		add(s, h, text_of("%s.rn", ops[i].op), 2, &arith_ref, ops[i].id, 0);
		for (long m = FTZ; is_f16 && m <= (FTZ | SAT); m++)
			for (unsigned rn = 0; rn < 2; rn++)
				add(s, h,
				    text_of("%s%s%s%s", ops[i].op, rn ? ".rn" : "", m & FTZ ? ".ftz" : "",
					    m & SAT ? ".sat" : ""),
				    2, &arith_ref, ops[i].id, m);
	}
	for (long m = 0; m <= (FTZ | RELU); m++) {
		if (!is_f16 && (m & (FTZ | SAT)))
			continue;
		add(s, h,
		    text_of("fma.rn%s%s%s", m & FTZ ? ".ftz" : "", m & SAT ? ".sat" : "",
			    m & RELU ? ".relu" : ""),
		    3, &arith_ref, OP_FMA, m);
	}
}

static void add_oob(struct suite *s, const struct half *h)
{
	add(s, h, "fma.rn.oob", 3, &oob_ref, OP_FMA, 0);
	add(s, h, "fma.rn.oob.relu", 3, &oob_ref, OP_FMA, RELU);
}

static void add_others(struct suite *s, const struct half *h)
{
	static const char *const minmax[] = {"min", "max"}, *const sign[] = {"abs", "neg"};
	bool is_f16 = h->fmt == FORMAT_F16;

	for (long k = 0; k < 2; k++) {
		for (long m = 0; m < 8; m++) {
			long mods = (m & 1 ? FTZ : 0) | (m & 2 ? NAN_ : 0) | (m & 4 ? XORSIGN : 0);

			if (!is_f16 && (mods & FTZ))
				continue;
			add(s, h,
			    text_of("%s%s%s%s", minmax[k], m & 1 ? ".ftz" : "", m & 2 ? ".NaN" : "",
				    m & 4 ? ".xorsign.abs" : ""),
			    2, &minmax_ref, k, mods);
		}
		add(s, h, sign[k], 1, &sign_ref, k, 0);
		if (is_f16)
			add(s, h, text_of("%s.ftz", sign[k]), 1, &sign_ref, k, FTZ);
	}
}

void forms_half(struct suite *s)
{
	for (unsigned i = 0; i < 4; i++) {
		add_arith(s, &halves[i]);
		add_oob(s, &halves[i]);
		add_others(s, &halves[i]);
	}
}
