/* SPDX-License-Identifier: Apache-2.0
 *
 * elements: see elements.h.
 */
#include "elements.h"

#include <stdlib.h>
#include <string.h>

static const struct etype types[] = {
	{"f16", 16, FORMAT_F16, true, 0},  {"bf16", 16, FORMAT_BF16, true, 0},
	{"tf32", 32, FORMAT_F32, true, 0}, {"f32", 32, FORMAT_F32, true, 0},
	{"f64", 64, FORMAT_F64, true, 0},  {"e4m3", 8, FORMAT_E4M3, true, 0},
	{"e5m2", 8, FORMAT_E5M2, true, 0}, {"e2m3", 8, FORMAT_E2M3, true, 0},
	{"e3m2", 8, FORMAT_E3M2, true, 0}, {"e2m1", 8, FORMAT_E2M1, true, 2},
	{"s8", 8, FORMAT_NONE, true, 0},   {"u8", 8, FORMAT_NONE, false, 0},
	{"s4", 4, FORMAT_NONE, true, 0},   {"u4", 4, FORMAT_NONE, false, 0},
	{"b1", 1, FORMAT_NONE, false, 0},  {"s32", 32, FORMAT_NONE, true, 0},
};

const struct etype *etype_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	abort();
}

uint64_t hash_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t x =
		a * 0x9e3779b97f4a7c15ull + b * 0xc2b2ae3d27d4eb4full + c * 0x165667b19e3779f9ull + d + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t etype_bits(const struct etype *t, long double v, mpfr_rnd_t rnd, bool sat)
{
	uint64_t bits;
	mpfr_t x;

	if (t->format == FORMAT_NONE) {
		i128 n = (i128)v;

		return low_bits((uint64_t)(sat ? clamp_to(int_type_find("s32"), n) : n), t->bits);
	}
	mpfr_init2(x, 64);
	mpfr_set_ld(x, v, MPFR_RNDN);
	bits = encode(t->format, x, rnd) << t->shift;
	mpfr_clear(x);
	return bits;
}

uint64_t etype_pick(const struct etype *t, uint64_t h)
{
	if (t->format == FORMAT_NONE)
		return low_bits(h, t->bits);
	return etype_bits(t, (long double)((int)(h % 7) - 3), MPFR_RNDN, false);
}

long double etype_value(const struct etype *t, uint64_t bits)
{
	if (t->format != FORMAT_NONE)
		return (long double)to_double(t->format,
					      low_bits(bits >> t->shift, format_info(t->format)->bits));
	bits = low_bits(bits, t->bits);
	if (t->is_signed && bits >> (t->bits - 1))
		return (long double)bits - (long double)(1ull << t->bits);
	return (long double)bits;
}
