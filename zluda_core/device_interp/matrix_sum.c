/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of products as hardware may make them. PTX ISA 9.7.14.5.14 leaves open the
 * order of a sum and the rounding of what lies between; known hardware adds
 * several products at once, aligned to the largest term with the rest cut off.
 * A seed picks one such way for each shape and type, as if it were another GPU:
 * the spread of the results over seeds is what a program may rely on.
 */
#include <math.h>

#include "zluda_core/device_interp/half.h"
#include "zluda_core/device_interp/matrix.h"

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void sum_model_draw(struct sum_model *s, uint64_t seed, const struct matrix_op *x)
{
	static const uint8_t groups[] = {1, 2, 4, 8, 16, MATRIX_SUM_MAX};
	uint64_t state = seed ^ ((uint64_t)x->m << 48 | (uint64_t)x->n << 40 | (uint64_t)x->k << 24 |
				 (uint64_t)x->a->type << 16 | (uint64_t)x->dtype << 8 | x->ctype);

	s->count = x->stored_k;
	for (unsigned k = 0; k < s->count; k++)
		s->order[k] = (uint8_t)k;
	for (unsigned k = s->count; k > 1; k--) {
		const unsigned j = (unsigned)(next(&state) % k);
		const uint8_t t = s->order[k - 1];

		s->order[k - 1] = s->order[j];
		s->order[j] = t;
	}
	s->group = groups[next(&state) % sizeof(groups)];
	s->c_last = next(&state) & 1;
	s->extra = (unsigned)(next(&state) % 4);
	s->nearest = next(&state) & 1;
	/* With f16 accumulators sums need f16's precision only, unless the products are of 8-bit floats. */
	s->half = (next(&state) & 1) && x->ctype == PTX_F16 && x->dtype == PTX_F16 && x->a->type == PTX_F16;
}

/* To f32 or f16: nearest even, or towards zero; what is too large is infinite. */
static double round_sum(const struct sum_model *s, double v)
{
	const enum small_format f = s->half ? FMT_F16 : FMT_F32;

	if (!isfinite(v))
		return v;
	const double nearest = float_value(f, float_round(f, v, PTX_RN, false));

	return s->nearest || isinf(nearest) ? nearest : float_value(f, float_round(f, v, PTX_RZ, false));
}

/* Terms that are not all finite add up as in IEEE 754, whatever the order. */
static double add_special(const double *terms, unsigned n)
{
	double sum = 0;

	for (unsigned k = 0; k < n; k++)
		if (!isfinite(terms[k]))
			sum += terms[k];
	return sum;
}

/* All at once: aligned to the largest, cut off behind f32's bits and `extra` more, then added exactly. */
static double add_aligned(const struct sum_model *s, const double *terms, unsigned n)
{
	double largest = 0, sum = 0;
	bool special = false, negative = true;
	int exponent;

	for (unsigned k = 0; k < n; k++) {
		special |= !isfinite(terms[k]);
		largest = fmax(largest, fabs(terms[k]));
		negative &= signbit(terms[k]) != 0;
	}
	if (special)
		return add_special(terms, n);
	if (largest == 0)
		return negative ? -0.0 : 0.0;
	frexp(largest, &exponent); /* largest < 2^exponent */
	const double unit = ldexp(1, exponent - 24 - (int)s->extra);

	for (unsigned k = 0; k < n; k++)
		sum += trunc(terms[k] / unit); /* below 2^27 each: exact */
	return round_sum(s, sum * unit);
}

double sum_model_add(const struct sum_model *s, const double *products, double c)
{
	double terms[MATRIX_SUM_MAX + 1], sum = s->c_last ? 0 : c;
	bool first = s->c_last;

	for (unsigned k = 0; k < s->count;) {
		unsigned n = 0;

		if (!first)
			terms[n++] = sum;
		for (unsigned g = 0; g < s->group && k < s->count; g++)
			terms[n++] = products[s->order[k++]];
		sum = add_aligned(s, terms, n);
		first = false;
	}
	if (!s->c_last)
		return sum;
	terms[0] = sum;
	terms[1] = c;
	return add_aligned(s, terms, 2);
}
