/* SPDX-License-Identifier: Apache-2.0
 *
 * cvt to and from the 8-bit formats e4m3 and e5m2: PTX ISA 9.7.9.21, and the formats as published by OCP
 * (OFP8): e4m3 has no infinities, one NaN of each sign, largest value 448; e5m2 is like f16 with 2 bits of
 * mantissa, largest value 57344.
 */
#include "form.h"
#include "reference.h"
#include "values.h"

/* One value with .rn.satfinite{.relu}: out of range becomes the largest of its sign, NaN stays NaN. */
static uint64_t narrow(enum float_format dst, const mpfr_t x, bool relu, bool *nan)
{
	uint64_t largest = dst == FORMAT_E4M3 ? 0x7e : 0x7b, v = encode(dst, x, MPFR_RNDN), sign = v & 0x80;

	*nan = mpfr_nan_p(x);
	if (*nan)
		return 0x7f;
	if (relu && sign)
		return 0;
	return (v & 0x7f) > largest ? sign | largest : v;
}

/* k[0]: source format, k[1]: .relu. Two operands of f32, or one of packed f16; the first or upper goes to the
 * upper byte. */
static void ref_to_fp8(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format dst = letter_format(f->outs[0]), src = (enum float_format)f->k[0];
	bool nan[2];
	mpfr_t x;

	mpfr_init2(x, 53);
	for (unsigned i = 0; i < 2; i++) {
		decode(src, src == FORMAT_F32 ? in[1 - i] : in[0] >> (16 * i) & 0xffff, x);
		out->bits |= narrow(dst, x, f->k[1], &nan[i]) << (8 * i);
	}
	/* A negative zero under .relu: either zero. */
	if (f->k[1])
		out->kind = WANT_ZERO;
	mpfr_clear(x);
}

/* k[1]: .relu */
static void ref_from_fp8(const struct form *f, const uint64_t *in, struct want *out)
{
	enum float_format src = letter_format(f->ins[0]);
	mpfr_t x;

	mpfr_init2(x, 53);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t v;

		decode(src, in[0] >> (8 * i) & 0xff, x);
		v = encode(FORMAT_F16, x, MPFR_RNDN);
		if (f->k[1] && v & 0x8000 && !mpfr_nan_p(x))
			v = 0;
		out->bits |= v << (16 * i);
	}
	if (f->k[1])
		out->kind = WANT_ZERO;
	mpfr_clear(x);
}

/* Every byte in both places. */
static void fill_bytes(const struct form *f, unsigned t, uint64_t *in)
{
	(void)f;
	in[0] = (t & 0xff) << 8 | ((t * 37 + 11) & 0xff);
}

/* Every f16 twice. */
static void fill_f16(const struct form *f, unsigned t, uint64_t *in)
{
	(void)f;
	in[0] = (uint64_t)t << 16 | (~t & 0xffff);
}

/* f32 values dense where the formats live: 8-bit values, the midpoints between them and their neighbours. */
static void fill_f32(const struct form *f, unsigned t, uint64_t *in)
{
	enum float_format dst = letter_format(f->outs[0]);

	for (unsigned i = 0; i < 2; i++) {
		unsigned k = i ? t * 13 + 5 : t;
		uint32_t base = k / 5 % 256, step = dst == FORMAT_E4M3 ? 1u << 20 : 1u << 21;
		mpfr_t x;
		uint32_t v;

		mpfr_init2(x, 53);
		decode(dst, base == 0x7f || base == 0xff ? base - 1 : base, x);
		v = (uint32_t)encode(FORMAT_F32, x, MPFR_RNDN);
		mpfr_clear(x);
		v += (uint32_t[]){0, 1, step / 2, step / 2 - 1, step / 2 + 1}[k % 5];
		in[i] = k % 97 == 0 ? 0x7fc00000 : k % 89 == 0 ? 0xff800000 : k % 83 == 0 ? 0x7f7fffff : v;
	}
}

void forms_narrow(struct suite *s)
{
	static const struct {
		const char *name, *pair, *half, *back;
	} types[] = {{"e4m3x2", "q=ff", "q=E", "E=q"}, {"e5m2x2", "x=ff", "x=E", "E=x"}};

	for (unsigned i = 0; i < 2; i++)
		for (long relu = 0; relu < 2; relu++) {
			const char *r = relu ? ".relu" : "", *n = types[i].name;
			struct form *f;

			f = form_add(s, types[i].pair, ref_to_fp8,
				     text_of("cvt.rn.satfinite%s.%s.f32 %%0, %%1, %%2;", r, n),
				     "cvt.rn.satfinite%s.%s.f32", r, n);
			f->k[0] = FORMAT_F32;
			f->k[1] = relu;
			f->fill = fill_f32;
			f->ntuples = 4096;
			f = form_add(s, types[i].half, ref_to_fp8,
				     text_of("cvt.rn.satfinite%s.%s.f16x2 %%0, %%1;", r, n),
				     "cvt.rn.satfinite%s.%s.f16x2", r, n);
			f->k[0] = FORMAT_F16;
			f->k[1] = relu;
			f->fill = fill_f16;
			f->ntuples = 65536;
			f = form_add(s, types[i].back, ref_from_fp8,
				     text_of("cvt.rn%s.f16x2.%s %%0, %%1;", r, n), "cvt.rn%s.f16x2.%s", r, n);
			f->k[1] = relu;
			f->fill = fill_bytes;
			f->ntuples = 256;
		}
}
