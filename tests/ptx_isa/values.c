/* SPDX-License-Identifier: Apache-2.0
 *
 * values: the input values of a form by operand letter: edges first, then all combinations as far as they
 * fit, then random ones. The sequence is fixed, so that a failure can be repeated.
 */
#include "values.h"

#include <string.h>

#define POOL(name, ...) static const uint64_t name[] = {__VA_ARGS__}

POOL(int16, 0, 1, 2, 3, 7, 0x55, 0x7f, 0x80, 0xff, 0x100, 0x5555, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xaaaa,
     0xfffe, 0xffff);
POOL(int32, 0, 1, 2, 3, 7, 31, 32, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x12345678, 0x55555555,
     0x7fffffff, 0x7ffffffe, 0x80000000, 0x80000001, 0xaaaaaaaa, 0xdeadbeef, 0xfffffffe, 0xffffffff);
POOL(int64, 0, 1, 2, 3, 63, 64, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
     0x123456789abcdef0, 0x5555555555555555, 0x7fffffffffffffff, 0x7ffffffffffffffe, 0x8000000000000000,
     0x8000000000000001, 0xaaaaaaaaaaaaaaaa, 0xfffffffffffffffe, 0xffffffffffffffff);
POOL(int8, 0, 1, 2, 0x3f, 0x7e, 0x7f, 0x80, 0x81, 0xaa, 0xfe, 0xff, 0xffffff80, 0xffffffff, 0x17f, 0x100);
POOL(shifts, 0, 1, 2, 7, 8, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256, 257, 287,
     0x80000000, 0xffffffe0, 0xffffffff);
POOL(lanes, 0, 1, 2, 3, 5, 8, 15, 16, 17, 24, 29, 30, 31);
POOL(u24, 0, 1, 2, 255, 256, 0xffff, 0x10000, 0x123456, 0x7fffff, 0x800000, 0xabcdef, 0xfffffe, 0xffffff);
POOL(s24, 0, 1, 2, 255, 0xffff, 0x10000, 0x123456, 0x7ffffe, 0x7fffff, 0xff800000, 0xff800001, 0xffabcdef,
     0xffff0000, 0xfffffffe, 0xffffffff);
POOL(preds, 0, 1);
/* zeros, subnormals, smallest normals, near one, halves (ties), integer bounds, largest, infinities, NaNs */
POOL(f16s, 0x0000, 0x8000, 0x0001, 0x8001, 0x0002, 0x03ff, 0x83ff, 0x0200, 0x0400, 0x8400, 0x0401, 0x1000,
     0x3400, 0x3555, 0x3800, 0xb800, 0x3bff, 0x3c00, 0xbc00, 0x3c01, 0x3e00, 0x4000, 0x4100, 0xc100, 0x4248,
     0x5bf0, 0x6400, 0x7bff, 0xfbff, 0x7bfe, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0x7fff, 0x6bff, 0x1400);
POOL(bf16s, 0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x807f, 0x0040, 0x0080, 0x8080, 0x0081, 0x3eab, 0x3f00,
     0xbf00, 0x3f7f, 0x3f80, 0xbf80, 0x3f81, 0x3fc0, 0x4000, 0x4020, 0xc020, 0x4049, 0x437f, 0x4f00, 0x7f7f,
     0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0x7fff, 0x1000, 0x2f80);
POOL(f32s, 0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00000003, 0x007fffff, 0x807fffff, 0x00400000,
     0x00800000, 0x80800000, 0x00800001, 0x0c000000, 0x33800000, 0x34000000, 0x3effffff, 0x3f000000,
     0xbf000000, 0x3f000001, 0x3f7fffff, 0x3f800000, 0xbf800000, 0x3f800001, 0x3fc00000, 0xbfc00000,
     0x40000000, 0x40200000, 0xc0200000, 0x40490fdb, 0x3eaaaaab, 0x42fe0000, 0x437f0000, 0x46fffe00,
     0x477fe000, 0x477ff000, 0x4b000001, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4f800000,
     0x5f000000, 0xdf000000, 0x5f800000, 0x7e800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
     0x7fc00000, 0xffc00001, 0x7f800001, 0x7fffffff);
POOL(f64s, 0, 0x8000000000000000, 1, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
     0x8010000000000001, 0x36a0000000000000, 0x3690000000000000, 0x380fffffe0000000, 0x380fffffffffffff,
     0x3810000000000000, 0x3e60000000000000, 0x3fdfffffffffffff, 0x3fe0000000000000, 0xbfe0000000000000,
     0x3fefffffffffffff, 0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001, 0x3ff0000010000000,
     0x3ff0000030000000, 0x3ff8000000000000, 0xbff8000000000000, 0x4000000000000000, 0x4004000000000000,
     0x400921fb54442d18, 0x3fd5555555555555, 0x40effffffff00000, 0x41dfffffffc00000, 0x41e0000000000000,
     0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0x41f0000000000000, 0x43dfffffffffffff,
     0x43e0000000000000, 0xc3e0000000000000, 0x43efffffffffffff, 0x43f0000000000000, 0x47efffffe0000000,
     0x47effffff0000000, 0x47f0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000,
     0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001);

static const struct pool {
	char letter;
	char reg;
	uint8_t bits, element_bits;
	const uint64_t *v;
	unsigned n;
} pools[] = {
#define ROW(letter, reg, bits, elem, p)                                \
	{                                                              \
		letter, reg, bits, elem, p, sizeof(p) / sizeof((p)[0]) \
	}
	ROW('h', 'h', 16, 16, int16),  ROW('w', 'w', 32, 32, int32), ROW('d', 'd', 64, 64, int64),
	ROW('b', 'w', 32, 32, int8),   ROW('p', 'p', 1, 1, preds),   ROW('e', 'h', 16, 16, f16s),
	ROW('g', 'h', 16, 16, bf16s),  ROW('E', 'w', 32, 16, f16s),  ROW('G', 'w', 32, 16, bf16s),
	ROW('f', 'w', 32, 32, f32s),   ROW('F', 'd', 64, 32, f32s),  ROW('D', 'd', 64, 64, f64s),
	ROW('s', 'w', 32, 32, shifts), ROW('m', 'w', 32, 32, lanes), ROW('t', 'w', 32, 32, s24),
	ROW('u', 'w', 32, 32, u24),    ROW('q', 'h', 16, 16, int16), ROW('x', 'h', 16, 16, int16),
#undef ROW
};

static const struct pool *pool_of(char letter)
{
	for (unsigned i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		if (pools[i].letter == letter)
			return &pools[i];
	return &pools[0];
}

char letter_reg(char letter)
{
	return pool_of(letter)->reg;
}

unsigned letter_bits(char letter)
{
	return pool_of(letter)->bits;
}

enum float_format letter_format(char letter)
{
	switch (letter) {
	case 'e':
	case 'E': return FORMAT_F16;
	case 'g':
	case 'G': return FORMAT_BF16;
	case 'f':
	case 'F': return FORMAT_F32;
	case 'D': return FORMAT_F64;
	case 'q': return FORMAT_E4M3;
	case 'x': return FORMAT_E5M2;
	default: return FORMAT_NONE;
	}
}

static uint64_t rng(uint64_t *s)
{
	/* xorshift64* */
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1dull;
}

/* Value `i` of the pool; packed formats take a neighbour for the upper half. */
static uint64_t pool_value(const struct pool *p, unsigned i)
{
	uint64_t v = p->v[i % p->n];

	if (p->bits != p->element_bits)
		v |= p->v[(i * 7 + 3) % p->n] << p->element_bits;
	return v;
}

/* A floating value whose exponent is near 0, near the subnormal numbers, near half of that (products become
 * subnormal), or anything: so that operands interact and results round. */
/* A mantissa that is, or nearly is, half-way between two numbers of a narrower format: double rounding shows
 * there. */
static uint64_t near_tie(uint64_t r, unsigned bits)
{
	static const uint8_t widths[] = {1, 2, 3, 7, 10, 23};
	unsigned keep = widths[(r >> 8) % 6];
	uint64_t m;

	if (keep + 1 >= bits)
		return r >> 16;
	m = (low_bits(r >> 16, keep) << 1 | 1) << (bits - keep - 1);
	return m + (r >> 4) % 3 - 1;
}

static uint64_t random_element(enum float_format fmt, uint64_t *seed)
{
	const struct format_info *i = format_info(fmt);
	uint64_t r = rng(seed), top = (1ull << i->exponent) - 1, e, sign = r >> 60 & 1 ? sign_bit(fmt) : 0;

	switch (r >> 61) {
	case 0: e = r >> 50 & top; break;
	case 1: e = (r >> 50) % (i->mantissa + 2u); break;
	case 2: e = (uint64_t)i->bias / 2 + (r >> 50) % (2 * i->mantissa); break;
	default: e = (uint64_t)i->bias - 6 + (r >> 50) % 12; break;
	}
	/* long runs of zeros and ones meet ties */
	uint64_t m = rng(seed);

	m = r >> 55 & 1 ? m : r >> 54 & 1 ? m & m << 7 & m << 13 : m | m << 5 | m << 11;
	if ((r >> 40) % 4 == 0)
		m = near_tie(m, i->mantissa);
	return sign | (e > top ? top : e) << i->mantissa | low_bits(m, i->mantissa);
}

static uint64_t random_value(const struct pool *p, uint64_t *seed)
{
	enum float_format fmt = letter_format(p->letter);
	uint64_t r;

	if (fmt != FORMAT_NONE && p->bits != 8 && p->letter != 'q' && p->letter != 'x') {
		r = random_element(fmt, seed);
		return p->bits == p->element_bits ? r : r | random_element(fmt, seed) << p->element_bits;
	}
	r = rng(seed);
	if (p->letter == 'm')
		return r % 32;
	if (p->letter == 's')
		return r % 70;
	if (p->letter == 't')
		return (uint32_t)((int32_t)((uint32_t)r << 8) >> 8);
	if (p->letter == 'u')
		return r & 0xffffff;
	/* integers near half-way between floating-point numbers */
	if (r >> 62 == 0 && p->bits >= 32) {
		static const uint8_t widths[] = {9, 12, 25, 54};
		unsigned n = widths[r >> 60 & 3], at = (unsigned)(r >> 40) % (p->bits > n ? p->bits - n : 1);

		return low_bits(((low_bits(r, n) | 1) << at) + (r >> 50) % 3 - 1, p->bits);
	}
	return low_bits(r, p->bits);
}

/* fma: the product lies half-way between two numbers, the addend is far below it and decides. */
static void tie(const char *ins, unsigned t, uint64_t *in)
{
	enum float_format fmt = letter_format(ins[0]);
	const struct format_info *i = format_info(fmt);
	unsigned half = (i->mantissa + 2) / 2, other = i->mantissa + 2 - half;

	if (strlen(ins) != 3 || strspn(ins, "fDeg") != 3 || ins[0] != ins[2])
		return;
	/* odd significands of `half` and `other` bits; exponents so that the product is near 1 */
	for (unsigned k = 0; k < 2; k++) {
		unsigned n = k ? other : half;
		uint64_t m = (low_bits(in[k], n - 1) | 1) << (i->mantissa - n + 1);

		in[k] = (in[k] & sign_bit(fmt)) | (uint64_t)i->bias << i->mantissa | low_bits(m, i->mantissa);
	}
	in[2] = t / 8 % 4 == 0 ? 0 : t / 8 % 4 == 1 ? 1 : 1ull << i->mantissa;
	in[2] |= t & 64 ? sign_bit(fmt) : 0;
}

/* fma: an addend that nearly cancels the product. */
static void cancel(const char *ins, unsigned t, uint64_t *in)
{
	enum float_format fmt = letter_format(ins[0]);
	struct float_mods m = {.rnd = MPFR_RNDN};
	struct want w = {0};

	if (strlen(ins) != 3 || strspn(ins, "fDeg") != 3 || ins[0] != ins[2])
		return;
	float_op(OP_MUL, fmt, fmt, &m, in, &w);
	in[2] = low_bits((w.bits ^ sign_bit(fmt)) + t / 8 % 3, format_info(fmt)->bits);
}

void values_of(const char *ins, unsigned t, unsigned total, uint64_t *in)
{
	uint64_t seed = 0x9e3779b97f4a7c15ull * (t + 1), product = 1;
	unsigned tuple = t;

	for (const char *c = ins; *c; c++)
		product *= pool_of(*c)->n;
	for (unsigned i = 0; ins[i]; i++) {
		const struct pool *p = pool_of(ins[i]);

		if (product <= total && t < product) {
			in[i] = pool_value(p, t % p->n);
			t /= p->n;
		} else if (product > total && t < total / 4 * 3) {
			in[i] = pool_value(p, (unsigned)(rng(&seed) >> 20));
		} else {
			in[i] = random_value(p, &seed);
		}
	}
	if (tuple % 8 == 3)
		tie(ins, tuple, in);
	if (tuple % 8 == 7)
		cancel(ins, tuple, in);
}

unsigned values_count(const char *ins)
{
	uint64_t product = 1;

	for (const char *c = ins; *c; c++)
		product *= pool_of(*c)->n;
	if (product > 1536)
		return 4096;
	return (unsigned)(product + 512 + 31) / 32 * 32;
}
