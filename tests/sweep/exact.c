/* SPDX-License-Identifier: Apache-2.0
 *
 * exact: see exact.h.
 */
#include "exact.h"

#include <math.h>
#include <stdio.h>

static struct exact normalised(uint64_t m, int exponent, bool negative)
{
	struct exact x = {.m = m, .exponent = exponent, .negative = negative};

	if (m) {
		int shift = __builtin_clzll(m);

		x.m <<= shift;
		x.exponent -= shift;
	}
	return x;
}

struct exact exact_of_bits(enum float_format f, uint64_t bits)
{
	const struct format_info *i = format_info(f);
	bool negative = bits & sign_bit(f);
	int e = (int)(bits >> i->mantissa & ((1u << i->exponent) - 1));
	uint64_t m = low_bits(bits, i->mantissa);

	if (is_nan(f, bits))
		return (struct exact){.nan = true};
	if (is_inf(f, bits))
		return (struct exact){.inf = true, .negative = negative};
	if (e)
		m |= 1ull << i->mantissa;
	return normalised(m, (e ? e : 1) - i->bias - (int)i->mantissa, negative);
}

struct exact exact_of_int(i128 v)
{
	return normalised((uint64_t)(v < 0 ? -v : v), 0, v < 0);
}

struct exact exact_of_mpfr(const mpfr_t r, int t)
{
	struct exact x = {.negative = mpfr_signbit(r), .sticky = t != 0};
	int e;

	if (mpfr_nan_p(r)) {
		x.nan = true;
	} else if (mpfr_inf_p(r)) {
		x.inf = true;
	} else if (!mpfr_zero_p(r)) {
		long double v = frexpl(fabsl(mpfr_get_ld(r, MPFR_RNDZ)), &e);

		x.m = (uint64_t)ldexpl(v, 64);
		x.exponent = e - 64;
	}
	return x;
}

/* m >> drop, rounded; drop may exceed 64. */
static uint64_t shift_round(const struct exact *x, int drop, enum rounding mode)
{
	uint64_t q = drop >= 64 ? 0 : x->m >> drop, half, rem;
	int order; /* of the rest and one half */
	bool rest;

	if (drop <= 0)
		return x->m; /* formats have fewer than 64 bits, so nothing is left to round */
	half = drop > 64 ? 0 : 1ull << (drop - 1);
	rem = drop >= 64 ? x->m : low_bits(x->m, (unsigned)drop);
	rest = rem || x->sticky;
	order = drop > 64 ? -1 : rem < half ? -1 : rem > half || x->sticky ? 1 : 0;
	switch (mode) {
	case RN: return q + (order > 0 || (order == 0 && q & 1));
	case RNA: return q + (order >= 0);
	case RM: return q + (rest && x->negative);
	case RP: return q + (rest && !x->negative);
	default: return q;
	}
}

static uint64_t largest(enum float_format f)
{
	uint64_t inf = ((1ull << format_info(f)->exponent) - 1) << format_info(f)->mantissa;

	if (f == FORMAT_E4M3)
		return 0x7e; /* 0x7f is the NaN */
	return is_inf(f, inf) ? inf - 1 : sign_bit(f) - 1;
}

static uint64_t overflow(enum float_format f, bool negative, enum rounding mode)
{
	bool to_inf = mode == RN || mode == RNA || (mode == RP && !negative) || (mode == RM && negative);

	return largest(f) + (to_inf && is_inf(f, largest(f) + 1));
}

uint64_t exact_round(enum float_format f, const struct exact *x, enum rounding mode, bool *tiny)
{
	const struct format_info *i = format_info(f);
	uint64_t sign = x->negative ? sign_bit(f) : 0, q;
	int e = x->exponent + 63, emin = 1 - i->bias, shortage = e < emin ? emin - e : 0;

	if (tiny)
		*tiny = !x->nan && !x->inf && x->m && e < emin;
	if (x->nan)
		return i->canonical_nan;
	if (x->inf)
		return sign | (largest(f) + is_inf(f, largest(f) + 1));
	if (!x->m)
		return sign;
	if (e > i->bias + 1)
		return sign | overflow(f, x->negative, mode);
	q = shift_round(x, 63 - (int)i->mantissa + shortage, mode);
	/* a carry out of the significand becomes the next exponent by itself */
	if (!shortage)
		q += ((uint64_t)(e + i->bias) << i->mantissa) - (1ull << i->mantissa);
	return sign | (q > largest(f) ? overflow(f, x->negative, mode) : q);
}

i128 exact_to_int(const struct exact *x, enum rounding mode)
{
	i128 v;

	if (!x->m && !x->inf)
		return 0;
	if (x->inf || x->exponent + 63 >= 100)
		v = (i128)1 << 100;
	else
		v = x->exponent >= 0 ? (i128)x->m << x->exponent : (i128)shift_round(x, -x->exponent, mode);
	return x->negative ? -v : v;
}

long double exact_value(const struct exact *x)
{
	long double v = x->nan ? NAN : x->inf ? INFINITY : ldexpl((long double)x->m, x->exponent);

	return x->negative ? -v : v;
}

static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	return *s ^= *s << 17;
}

unsigned exact_agrees_with_mpfr(unsigned samples)
{
	static const mpfr_rnd_t modes[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};
	uint64_t seed = 88172645463325252ull;
	unsigned bad = 0;
	mpfr_t v;

	mpfr_init2(v, 53);
	for (unsigned n = 0; n < samples; n++) {
		static const enum float_format to[] = {FORMAT_F16,  FORMAT_BF16, FORMAT_F32,
						       FORMAT_TF32, FORMAT_E5M2, FORMAT_F64};
		uint64_t r = next(&seed), m = next(&seed);
		enum float_format f = to[r % 6];
		int spread = format_info(f)->bias + (int)format_info(f)->mantissa + 4;
		/* many values are half-way, or nearly, between numbers of few bits */
		uint64_t bits = (r >> 8 & 1) << 63 |
				(uint64_t)(1023 - spread / 2 * 2 + (int)(r >> 16) % (2 * spread)) % 2047
					<< 52;

		bits |= m >> 12 & (m & 1 ? ~0ull : ~0ull << (m >> 1 & 63) % 52);
		decode(FORMAT_F64, bits, v);
		for (unsigned k = 0; k < 4; k++) {
			struct exact x = exact_of_bits(FORMAT_F64, bits);
			uint64_t a = exact_round(f, &x, (enum rounding)k, NULL), b = encode(f, v, modes[k]);

			if (a != b && !bad++)
				printf("rounding disagrees with MPFR: %#llx to format %d, mode %u: %#llx, "
				       "MPFR %#llx\n",
				       (unsigned long long)bits, f, k, (unsigned long long)a,
				       (unsigned long long)b);
		}
	}
	mpfr_clear(v);
	return bad;
}
