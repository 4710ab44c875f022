/* SPDX-License-Identifier: Apache-2.0
 *
 * values: operands of a sweep: all of them, or a seeded sample: special values, the neighbourhood of every power of
 * two, ties, cancellations, numbers where the function varies, and anything.
 */
#include "sweep.h"

#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t values_all(const struct group *g)
{
	return g->nin == 1 && g->bits <= 32 ? 1ull << g->bits : 0;
}

static uint64_t special(enum float_format f, unsigned i)
{
	const struct format_info *n = format_info(f);
	uint64_t inf = ((1ull << n->exponent) - 1) << n->mantissa, one = (uint64_t)n->bias << n->mantissa;
	const uint64_t v[] = {0,
			      1,
			      2,
			      (1ull << n->mantissa) - 1,
			      1ull << n->mantissa,
			      (1ull << n->mantissa) + 1,
			      one - 1,
			      one,
			      one + 1,
			      one + (1ull << n->mantissa),
			      one - (1ull << n->mantissa),
			      inf - 1,
			      inf,
			      inf + 1,
			      inf | (1ull << (n->mantissa - 1)),
			      sign_bit(f) - 1};

	return v[i % 16] | (i & 16 ? sign_bit(f) : 0);
}

/* Any exponent, with few bits, a run of ones, or any mantissa. */
static uint64_t spread(enum float_format f, uint64_t r)
{
	const struct format_info *n = format_info(f);
	uint64_t e = (r >> 32) % (1u << n->exponent), m = mix(r), s = r >> 63 ? sign_bit(f) : 0;

	switch (r & 3) {
	case 0: m = (m & 3) - 1; break;
	case 1: m &= ~0ull << (m >> 58) % (n->mantissa + 1); break;
	case 2: m |= (1ull << (m >> 58) % (n->mantissa + 1)) - 1; break;
	default: break;
	}
	return s | e << n->mantissa | low_bits(m, n->mantissa);
}

/* Near 1, so that sums cancel and nothing overflows. */
static uint64_t moderate(enum float_format f, uint64_t r)
{
	const struct format_info *n = format_info(f);
	uint64_t e = (uint64_t)n->bias - 6 + (r >> 40) % 12;

	return (r >> 63 ? sign_bit(f) : 0) | e << n->mantissa | low_bits(mix(r), n->mantissa);
}

/* Uniform in where the function is interesting. */
static uint64_t ordinary(const struct group *g, uint64_t r)
{
	static const double width[] = {[FN_SIN] = 100 * M_PI, [FN_COS] = 100 * M_PI, [FN_EX2] = 150,
				       [FN_TANH] = 10,        [FN_LG2] = 4,          [FN_FMA] = 0};
	double w = g->fn < sizeof(width) / sizeof(width[0]) ? width[g->fn] : 0, v;
	float single;
	uint32_t bits;

	if (g->format != FORMAT_F32 || w == 0)
		return moderate(g->format, r);
	v = ((double)(r >> 11) / 9007199254740992.0 * 2 - 1) * (r & 1 ? w : w / 50);
	single = (float)(g->fn == FN_LG2 ? fabs(v) : v);
	memcpy(&bits, &single, 4);
	return bits;
}

static uint64_t element(const struct group *g, uint64_t r)
{
	switch (r >> 61) {
	case 0: return special(g->format, (unsigned)(r >> 20));
	case 1:
	case 2: return spread(g->format, r);
	case 3:
	case 4: return low_bits(mix(r), g->bits);
	default: return ordinary(g, mix(r));
	}
}

static uint64_t integer_element(const struct group *g, uint64_t r)
{
	/* around every power of two, half-way points of few bits, anything */
	unsigned at = (unsigned)(r >> 50) % g->bits;
	uint64_t v = mix(r);

	if (r >> 62 == 0)
		v = (1ull << at) + (r & 3) - 1;
	else if (r >> 62 == 1)
		v = (low_bits(v, 9 + (unsigned)(v >> 59)) | 1) << at;
	return low_bits(r >> 61 & 1 ? -v : v, g->bits);
}

/* A divisor whose reciprocal lies next to the middle of two numbers of the format, and a dividend with any significand or
 * the one of powers of two. Of f32, those whose reciprocal's last bit depends on where an iteration starts. */
static void hard_quotient(const struct group *g, uint64_t r, uint64_t *in)
{
	static const uint32_t f32[] = {0x7fffff, 0x7ffffd, 0x07cc45, 0x109909, 0x186799, 0x20ddd1,
				       0x2b8be1, 0x50ac19, 0x50dd0d, 0x525d25, 0x5c23dd, 0x5e86a9,
				       0x605475, 0x6e4bc5, 0x700ff1, 0x7fffff};
	const struct format_info *n = format_info(g->format);
	uint64_t keep = ~low_bits(~0ull, n->mantissa);

	in[1] = (in[1] & keep) |
		(g->format == FORMAT_F32 ? f32[r >> 16 & 15] : low_bits(~0ull, n->mantissa) - (r >> 16 & 1));
	if (r & 32)
		in[0] &= keep;
	in[0] = low_bits(in[0], n->bits);
	in[1] = low_bits(in[1], n->bits);
}

/* Operands of f32 whose quotient lies as near as any to the middle of two numbers: divisor * middle is +-1 modulo a power of
 * two. Half of the dividends are from 2^-103 to 2^-102, where a remainder has bits below the smallest subnormal. */
static void quotient_next_to_middle(uint64_t r, uint64_t *in)
{
	uint32_t divisor = (uint32_t)(1u << 23 | low_bits(r >> 8, 23) | 1), middle = divisor;
	uint32_t exponent = r & 64 ? 24 : 2 + (uint32_t)(r >> 48) % 250;
	uint64_t dividend;

	for (unsigned i = 0; i < 4; i++)
		middle *= 2 - divisor * middle; /* its inverse (Newton) */
	middle &= (1u << 25) - 1;
	if (middle < 1u << 24)
		middle = (1u << 25) - middle;
	dividend = ((uint64_t)divisor * middle + (1u << 24)) >> 25;
	if (dividend < 1u << 23)
		dividend *= 2;
	in[0] = (r >> 32 & 1) << 31 | exponent << 23 | low_bits(dividend, 23);
	in[1] = (r >> 33 & 1) << 31 | (1 + (exponent + 318 - (r >> 34 & 127)) % 254) << 23 |
		low_bits(divisor, 23);
}

/* Operands that make a product, sum or quotient lie half-way, just beside, or vanish. */
static void make_hard(const struct group *g, uint64_t r, uint64_t *in)
{
	const struct format_info *n = format_info(g->format);
	uint64_t s = sign_bit(g->format), half = n->mantissa / 2 + 1;
	struct group product = *g;
	struct evaluation e;

	if (g->fn == FN_MUL || g->fn == FN_FMA) {
		/* odd significands whose lengths add up to one bit more than the format has */
		uint64_t rest = n->mantissa + 2 - half;

		in[0] = (in[0] & ~low_bits(~0ull, n->mantissa)) | (low_bits(mix(r), (unsigned)half - 1) | 1)
									  << (n->mantissa - half + 1);
		in[1] = (in[1] & ~low_bits(~0ull, n->mantissa)) |
			(low_bits(mix(r + 1), (unsigned)rest - 1) | 1) << (n->mantissa - rest + 1);
		in[0] = low_bits(in[0], n->bits);
		in[1] = low_bits(in[1], n->bits);
	}
	if (g->fn == FN_ADD || g->fn == FN_SUB) {
		/* b nearly -a, or a half of a's last place */
		uint64_t e0 = in[0] >> n->mantissa & ((1u << n->exponent) - 1);

		in[1] = r & 4 ? in[0] ^ s
			      : (r & s) | (e0 > n->mantissa + 1 ? e0 - n->mantissa - 1 : 0) << n->mantissa;
		in[1] = low_bits(in[1] + (r >> 8 & 1), n->bits);
	}
	if (g->fn == FN_FMA && r & 8) {
		product.fn = FN_MUL;
		product.nin = 2;
		evaluate(&product, in, &e);
		in[2] = exact_round(g->format, &e.value, RN, NULL) ^ s;
		in[2] = low_bits(in[2] + (r >> 8 & 1), n->bits);
	} else if (g->fn == FN_FMA) {
		in[2] = (r & s) | (r >> 16 & 1 ? 1 : 0);
	}
	if (g->fn == FN_DIV && g->format == FORMAT_F32 && r & 64)
		quotient_next_to_middle(mix(r), in);
	else if (g->fn == FN_DIV && r & 16)
		hard_quotient(g, r, in);
	else if (g->fn == FN_DIV)
		in[1] = (in[0] & ~low_bits(~0ull, n->mantissa)) |
			low_bits(in[0] + (r >> 8 & 7) - 3, n->mantissa);
}

void sweep_values(const struct group *g, bool all, uint64_t index, uint64_t *in)
{
	if (all) {
		in[0] = index;
		return;
	}
	for (unsigned i = 0; i < g->nin; i++) {
		uint64_t r = mix(index * 4 + i);

		if (g->format == FORMAT_NONE)
			in[i] = integer_element(g, r);
		else if (index < 1ull << (5 * g->nin))
			in[i] = special(g->format, (unsigned)(index >> (5 * i)));
		else
			in[i] = element(g, r);
	}
	if (g->nin > 1 && index >= 1ull << (5 * g->nin) && index % 4 == 0)
		make_hard(g, mix(~index), in);
}
